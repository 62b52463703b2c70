// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>

#include <charconv>
#include <istream>
#include <limits>
#include <map>
#include <optional>

#include "workloads/import/goal/trace.h"

namespace lockstep {
namespace {

bool is_word_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-' || c == '.';
}

// Words, numbers and the signs { } : of a stream, with their places.
class Tokens {
 public:
  explicit Tokens(std::istream& in) : in_(in) { buffer_.resize(1 << 16); }

  // Empty at the end.
  const std::string& next() {
    word_.clear();
    skip_blanks();
    line_ = here_line_;
    column_ = here_column_;
    const int c = peek();
    if (c < 0) return word_;
    if (!is_word_char(static_cast<char>(c))) return word_.push_back(take()), word_;
    while (peek() >= 0 && is_word_char(static_cast<char>(peek()))) word_.push_back(take());
    return word_;
  }
  [[nodiscard]] int line() const { return line_; }
  [[nodiscard]] int column() const { return column_; }

 private:
  int peek() {
    if (at_ == end_) {
      in_.read(buffer_.data(), static_cast<std::streamsize>(buffer_.size()));
      end_ = static_cast<std::size_t>(in_.gcount());
      at_ = 0;
      if (end_ == 0) return -1;
    }
    return static_cast<unsigned char>(buffer_[at_]);
  }
  char take() {
    const char c = static_cast<char>(peek());
    ++at_;
    if (c == '\n') {
      ++here_line_;
      here_column_ = 1;
    } else {
      ++here_column_;
    }
    return c;
  }
  void skip_blanks() {
    for (int c = peek(); c >= 0; c = peek()) {
      if (c == '#') {
        skip_line();
      } else if (c == '/') {
        take();
        if (peek() == '*') {
          skip_comment();
        } else {
          skip_line();
        }
      } else if (c == ' ' || c == '\t' || c == '\n' || c == '\r') {
        take();
      } else {
        return;
      }
    }
  }
  void skip_line() {
    while (peek() >= 0 && peek() != '\n') take();
  }
  void skip_comment() {
    take();
    char before = ' ';
    while (peek() >= 0) {
      const char c = take();
      if (before == '*' && c == '/') return;
      before = c;
    }
  }

  std::istream& in_;
  std::vector<char> buffer_;
  std::size_t at_ = 0;
  std::size_t end_ = 0;
  std::string word_;
  int here_line_ = 1;
  int here_column_ = 1;
  int line_ = 1;
  int column_ = 1;
};

class GoalReader {
 public:
  GoalReader(std::istream& in, const std::string& file, Diagnostics& d) : tokens_(in), file_(file), d_(d) {}

  Trace read() {
    word_ = tokens_.next();
    if (word_ != "num_ranks")
      return fault(fmt::format("num_ranks is expected, not '{}'", word_), "num_ranks 2"), std::move(trace_);
    advance();
    const std::int64_t ranks = number("a number of ranks", 1, 1 << 24);
    trace_.ranks = static_cast<std::uint32_t>(ranks);
    is_seen_.assign(trace_.ranks, false);
    while (is_good() && !word_.empty()) read_rank();
    if (is_good() && d_.error_count() == 0) detail::link_trace(trace_, edges_, file_, d_);
    return std::move(trace_);
  }

 private:
  [[nodiscard]] bool is_good() const { return !is_lost_ && d_.error_count() < kMostTraceErrors; }
  void advance() { word_ = tokens_.next(); }
  void fault(std::string message, std::string hint = {}) {
    d_.error({file_, tokens_.line(), tokens_.column()}, {}, std::move(message), std::move(hint));
  }
  // What follows cannot be understood any more.
  void lost(std::string message, std::string hint = {}) {
    fault(std::move(message), std::move(hint));
    is_lost_ = true;
  }
  bool expect(const char* what) {
    if (is_lost_) return false;
    if (word_ == what) return advance(), true;
    lost(word_.empty() ? fmt::format("the file ends where '{}' is expected", what)
                       : fmt::format("'{}' is expected, not '{}'", what, word_));
    return false;
  }

  std::int64_t number(const char* what, std::int64_t lowest, std::int64_t highest, const char* unit = "") {
    if (is_lost_) return lowest;
    std::int64_t value = 0;
    const char* end = word_.data() + word_.size();
    const auto [stop, error] = std::from_chars(word_.data(), end, value);
    const std::string_view rest(stop, static_cast<std::size_t>(end - stop));
    if (error == std::errc::invalid_argument || (!rest.empty() && rest != unit)) {
      lost(fmt::format("'{}' is not {}", word_, what));
      return lowest;
    }
    if (error != std::errc() || value < lowest || value > highest) {
      fault(fmt::format("{} is out of range for {}", word_, what), fmt::format("{} to {}", lowest, highest));
      value = lowest;
    }
    advance();
    return value;
  }

  void read_rank() {
    if (!expect("rank")) return;
    const std::int64_t rank = number("a rank", 0, trace_.ranks - 1);
    if (is_seen_[static_cast<std::size_t>(rank)]) fault(fmt::format("rank {} is given twice", rank));
    is_seen_[static_cast<std::size_t>(rank)] = true;
    rank_ = static_cast<std::uint32_t>(rank);
    labels_.clear();
    waiting_.clear();
    if (!expect("{")) return;
    while (is_good() && word_ != "}") read_statement();
    if (!expect("}")) return;
    for (const Waiting& w : waiting_) resolve(w);
  }

  void read_statement() {
    const int line = tokens_.line();
    const int column = tokens_.column();
    if (word_ == "send" || word_ == "recv" || word_ == "calc" || word_ == "loclop") return read_operation({}, line);
    const std::string label = word_;
    if (label.empty()) return lost("the file ends inside a rank", "} is missing");
    advance();
    if (word_ == ":") {
      advance();
      if (!labels_.emplace(label, static_cast<std::uint32_t>(trace_.size())).second) {
        d_.error({file_, line, column}, {}, fmt::format("the label {} is given twice in rank {}", label, rank_));
      }
      return read_operation(label, line);
    }
    if (word_ != "requires" && word_ != "irequires")
      return lost(fmt::format("after {} comes ':', requires or irequires, not '{}'", label, word_));
    const bool at_begin = word_ == "irequires";
    advance();
    waiting_.push_back({label, word_, at_begin, line, column});
    advance();
  }

  void read_operation(const std::string& label, int line) {
    const std::string kind = word_;
    if (kind != "send" && kind != "recv" && kind != "calc" && kind != "loclop") {
      return lost(fmt::format("'{}' is no operation", kind), "send, recv or calc");
    }
    advance();
    constexpr std::int64_t kMostBytes = std::int64_t{1} << 50;
    constexpr std::int64_t kMostNanoseconds = std::int64_t{1} << 52;  // 52 days
    const bool computes = kind == "calc" || kind == "loclop";
    const std::int64_t amount =
        computes ? number("a time in nanoseconds", 0, kMostNanoseconds) : number("a size like 8b", 0, kMostBytes, "b");
    std::int64_t peer = rank_;
    if (!computes && expect(kind == "send" ? "to" : "from")) peer = number("a rank", 0, trace_.ranks - 1);
    std::int64_t tag = 0;
    std::int64_t cpu = 0;
    while (is_good() && (word_ == "tag" || word_ == "cpu" || word_ == "nic")) {
      const std::string option = word_;
      advance();
      const std::int64_t value = number("a number", 0, std::numeric_limits<std::uint32_t>::max() - 1);
      if (option == "tag") tag = value;
      if (option == "cpu") cpu = value;
    }
    trace_.kind.push_back(computes ? TraceKind::kCompute : kind == "send" ? TraceKind::kSend : TraceKind::kReceive);
    trace_.rank.push_back(rank_);
    trace_.peer.push_back(static_cast<std::uint32_t>(peer));
    trace_.amount.push_back(amount);
    trace_.tag.push_back(static_cast<std::uint32_t>(tag));
    trace_.cpu.push_back(static_cast<std::uint32_t>(cpu));
    trace_.line.push_back(static_cast<std::uint32_t>(line));
    trace_.labels += label;
    trace_.label_begin.push_back(trace_.labels.size());
  }

  struct Waiting {
    std::string after;
    std::string before;
    bool at_begin = false;
    int line = 0;
    int column = 0;
  };
  void resolve(const Waiting& w) {
    for (const std::string& label : {w.after, w.before}) {
      if (labels_.contains(label)) continue;
      d_.error({file_, w.line, w.column}, {}, fmt::format("rank {} has no operation '{}'", rank_, label));
      return;
    }
    edges_.push_back({labels_[w.before], labels_[w.after], w.at_begin});
  }

  Tokens tokens_;
  const std::string& file_;
  Diagnostics& d_;
  Trace trace_;
  std::vector<detail::TraceEdge> edges_;
  std::vector<bool> is_seen_;
  std::uint32_t rank_ = 0;
  std::map<std::string, std::uint32_t, std::less<>> labels_;  // of this rank
  std::vector<Waiting> waiting_;
  std::string word_;
  bool is_lost_ = false;
};

}  // namespace

std::string Trace::name(std::uint32_t op) const {
  const std::string_view given = label(op);
  return given.empty() ? fmt::format("rank {} (line {})", rank[op], line[op])
                       : fmt::format("rank {}: {} (line {})", rank[op], given, line[op]);
}

Trace read_goal(std::istream& in, const std::string& file, Diagnostics& d) { return GoalReader(in, file, d).read(); }

}  // namespace lockstep
