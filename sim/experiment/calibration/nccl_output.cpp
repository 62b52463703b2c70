// SPDX-License-Identifier: Apache-2.0
#include "sim/experiment/calibration/nccl_output.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <filesystem>
#include <set>
#include <utility>

#include "base/quantity.h"
#include "sim/experiment/collective_names.h"

namespace lockstep {
namespace {

struct Word {
  std::string_view text;
  std::size_t at = 0;  // in the line
};

std::vector<Word> words_of(std::string_view line) {
  std::vector<Word> words;
  std::size_t at = 0;
  while (true) {
    at = line.find_first_not_of(" \t", at);
    if (at == std::string_view::npos) return words;
    const std::size_t end = std::min(line.find_first_of(" \t", at), line.size());
    words.push_back({line.substr(at, end - at), at});
    at = end;
  }
}

bool is_integer(std::string_view s) {
  return !s.empty() && std::all_of(s.begin(), s.end(), [](unsigned char c) { return std::isdigit(c) != 0; });
}

// Of the first word that names a program of nccl-tests: "/opt/nccl-tests/build/all_reduce_perf", "all_reduce_perf_mpi".
std::optional<CollectiveKind> program_in(const std::vector<Word>& words) {
  for (const Word& w : words) {
    const std::size_t perf = w.text.find("_perf");
    if (perf == std::string_view::npos) continue;
    const std::size_t slash = w.text.rfind('/', perf);
    const std::size_t begin = slash == std::string_view::npos ? 0 : slash + 1;
    if (const auto kind = collective_named_within(w.text.substr(begin, perf - begin))) return kind;
  }
  return {};
}

class LogReader {
 public:
  LogReader(const std::string& file, Diagnostics& d) : file_(file), d_(d) {}

  void line(std::string_view text) {
    ++line_;
    if (!text.empty() && text.back() == '\r') text.remove_suffix(1);
    const std::size_t hash = text.find('#');
    const std::vector<Word> words = words_of(hash == std::string_view::npos ? text : text.substr(hash + 1));
    if (const auto kind = program_in(words_of(text))) {
      // "Collective test concluded: all_reduce_perf" is said of the table above.
      const bool is_end = text.find("concluded") != std::string_view::npos;
      if (!is_end) kind_ = kind;
      if (is_end && !table_.kind) table_.kind = kind;
    }
    if (hash != std::string_view::npos) {
      read_comment(words);
    } else if (columns_after_size_ > 0) {
      read_row(words);
    }
  }

  std::vector<NcclTable> finish() {
    end_table();
    const auto of_file = collective_named_within(std::filesystem::path(file_).filename().string());
    for (std::size_t i = 0; i < tables_.size(); ++i) {
      NcclTable& t = tables_[i];
      if (tables_.size() > 1) t.name = fmt::format("{} table {}", t.name, i + 1);
      if (!t.kind) {
        t.kind = of_file;
        t.is_kind_guessed = true;
      }
    }
    if (tables_.empty()) {
      d_.error({file_, 0, 0}, {}, "has no table of nccl-tests",
               "a line '# size count type ... time algbw busbw ...' with rows below it is expected");
    }
    return std::move(tables_);
  }

 private:
  void read_comment(const std::vector<Word>& words) {
    const auto has = [&words](std::string_view w) {
      return std::any_of(words.begin(), words.end(), [w](const Word& x) { return x.text == w; });
    };
    if (!words.empty() && words.front().text == "nThread") {
      end_table();
      forget_ranks();
    } else if (has("size") && has("time") && has("busbw")) {
      end_table();
      begin_table(words);
    } else if (words.size() > 5 && words.front().text == "Rank") {
      read_rank(words);
    }
  }

  // "Rank 0 Group 0 Pid 4242 on node-1 device 0 [0x07] NVIDIA A100-SXM4-80GB"
  void read_rank(const std::vector<Word>& words) {
    if (words[1].text == "0" && ranks_ > 0) {
      end_table();
      forget_ranks();
    }
    for (std::size_t i = 2; i + 1 < words.size(); ++i) {
      if (words[i].text != "on") continue;
      ++ranks_;
      hosts_.insert(std::string(words[i + 1].text));
      std::size_t name = i + 2;
      while (name < words.size() && words[name].text.back() != ']') ++name;
      if (!gpu_name_.empty()) return;
      for (++name; name < words.size(); ++name) {
        gpu_name_ += fmt::format("{}{}", gpu_name_.empty() ? "" : " ", words[name].text);
      }
      return;
    }
  }

  void begin_table(const std::vector<Word>& words) {
    const auto time = std::find_if(words.begin(), words.end(), [](const Word& w) { return w.text == "time"; });
    columns_after_size_ = static_cast<std::size_t>(time - words.begin()) - 1;
    columns_from_time_ = static_cast<std::size_t>(words.end() - time);
    const auto busbw = std::find_if(time, words.end(), [](const Word& w) { return w.text == "busbw"; });
    has_wrong_ = busbw != words.end() && busbw + 1 != words.end() && (busbw + 1)->text == "#wrong";
    table_ = {.name = std::filesystem::path(file_).filename().string(),
              .position = {file_, line_, 1},
              .kind = std::exchange(kind_, {})};
    has_warned_wrong_ = false;
  }

  // Columns from the right are the times; what stands between the size and them may be blank in old versions.
  void read_row(const std::vector<Word>& all) {
    std::size_t first = 0;
    while (first < all.size() && first < 3 && !is_integer(all[first].text)) ++first;
    const std::size_t words = all.size() - first;
    const bool is_row = words >= 3 && is_integer(all[first].text) && is_integer(all[first + 1].text) &&
                        std::isalpha(static_cast<unsigned char>(all[first + 2].text.front())) != 0;
    if (!is_row) return;
    const auto refuse = [&](const Word& w, const std::string& why) {
      d_.warning({file_, line_, static_cast<int>(w.at) + 1}, {}, why, "the row is not read");
    };
    if (words > columns_after_size_ + 1 + columns_from_time_ || words < columns_from_time_ + 3) {
      return refuse(all[first], fmt::format("looks like a row of the table, but has {} of {} columns", words,
                                            columns_after_size_ + 1 + columns_from_time_));
    }
    const std::size_t time_at = all.size() - columns_from_time_;
    const Parsed<std::int64_t> bytes = parse_int(all[first].text);
    const Parsed<double> time = parse_double(all[time_at].text);
    if (!bytes || *bytes.value > kMostTableBytes) {
      return refuse(all[first], fmt::format("'{}' is not a number of bytes up to 16 TiB", all[first].text));
    }
    if (!time || !is_measurable(*time.value * 1e-6)) {
      return refuse(all[time_at], fmt::format("'{}' is not a time in microseconds", all[time_at].text));
    }
    table_.rows.push_back({.bytes = *bytes.value, .seconds = *time.value * 1e-6, .line = line_});
    note_factor(all, time_at);
    note_wrong(all, time_at);
  }

  void note_wrong(const std::vector<Word>& all, std::size_t time_at) {
    if (!has_wrong_ || has_warned_wrong_) return;
    const Word& w = all[time_at + 3];
    const Parsed<double> wrong = parse_double(w.text);
    if (!wrong || *wrong.value <= 0) return;
    has_warned_wrong_ = true;
    d_.warning({file_, line_, static_cast<int>(w.at) + 1}, {}, fmt::format("the check found {} wrong results", w.text),
               "what is measured of a broken machine does not tell of others");
  }

  // busbw / algbw, of the row where rounding harms least.
  void note_factor(const std::vector<Word>& all, std::size_t time_at) {
    const Parsed<double> algbw = parse_double(all[time_at + 1].text);
    const Parsed<double> busbw = parse_double(all[time_at + 2].text);
    if (!algbw || !busbw || *algbw.value <= most_algbw_) return;
    constexpr double kHalfDigit = 0.005;  // bandwidths have two decimals
    most_algbw_ = *algbw.value;
    table_.factor = *busbw.value / *algbw.value;
    table_.factor_rounding = kHalfDigit * (1 + table_.factor) / *algbw.value;
    table_.factor_position = {file_, line_, static_cast<int>(all[time_at + 2].at) + 1};
  }

  void end_table() {
    columns_after_size_ = 0;
    most_algbw_ = 0;
    if (table_.rows.empty()) return;
    table_.gpus = ranks_;
    table_.nodes = static_cast<int>(hosts_.size());
    table_.gpu_name = gpu_name_;
    if (!table_.kind && table_.factor - table_.factor_rounding > 1) {
      table_.kind = CollectiveKind::kAllReduce;
      table_.is_kind_guessed = true;
    }
    if (table_.gpus == 0 && table_.kind == CollectiveKind::kAllReduce) guess_gpus();
    tables_.push_back(std::move(table_));
    table_ = {};
  }

  // The factor of all_reduce is 2 (n - 1) / n; it tells n where rounding leaves one number.
  void guess_gpus() {
    const double least = 2 - table_.factor - table_.factor_rounding;
    const double most = 2 - table_.factor + table_.factor_rounding;
    constexpr double kMostGuessed = 1024;
    if (table_.factor <= 0 || least < 2 / kMostGuessed || std::lround(2 / least) != std::lround(2 / most)) return;
    table_.gpus = static_cast<int>(std::lround(2 / least));
    table_.are_gpus_guessed = true;
  }

  void forget_ranks() {
    ranks_ = 0;
    hosts_.clear();
    gpu_name_.clear();
  }

  const std::string& file_;
  Diagnostics& d_;
  int line_ = 0;
  std::optional<CollectiveKind> kind_;
  int ranks_ = 0;
  std::set<std::string> hosts_;
  std::string gpu_name_;
  std::size_t columns_after_size_ = 0;  // before the times; 0: no table is open
  std::size_t columns_from_time_ = 0;
  double most_algbw_ = 0;
  bool has_wrong_ = false;
  bool has_warned_wrong_ = false;
  NcclTable table_;
  std::vector<NcclTable> tables_;
};

}  // namespace

std::vector<NcclTable> read_nccl_log(std::string_view text, const std::string& file, Diagnostics& d) {
  LogReader reader(file, d);
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    reader.line(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return reader.finish();
}

}  // namespace lockstep
