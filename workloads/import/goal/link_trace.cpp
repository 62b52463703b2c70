// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>

#include <algorithm>
#include <numeric>
#include <tuple>

#include "workloads/import/goal/trace.h"

namespace lockstep::detail {
namespace {

class Linker {
 public:
  Linker(Trace& trace, const std::string& file, Diagnostics& d) : t_(trace), file_(file), d_(d) {}

  void number_cpus() {
    std::vector<std::uint32_t> order(t_.size());
    std::iota(order.begin(), order.end(), 0u);
    const auto key = [this](std::uint32_t op) { return std::pair(t_.rank[op], t_.cpu[op]); };
    std::sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) { return key(a) < key(b); });
    std::pair<std::uint32_t, std::uint32_t> last;
    for (const std::uint32_t op : order) {
      if (t_.cpus == 0 || key(op) != last) ++t_.cpus;
      last = key(op);
      t_.cpu[op] = t_.cpus - 1;
    }
  }

  void pair_messages() {
    t_.channel.assign(t_.size(), 0);
    std::vector<std::uint32_t> order;
    for (std::uint32_t op = 0; op < t_.size(); ++op) {
      if (t_.kind[op] != TraceKind::kCompute) order.push_back(op);
    }
    std::sort(order.begin(), order.end(), [this](std::uint32_t a, std::uint32_t b) {
      return std::tuple(ends(a), t_.kind[a], t_.amount[a], a) < std::tuple(ends(b), t_.kind[b], t_.amount[b], b);
    });
    t_.channel_begin = {0};
    for (std::size_t i = 0; i < order.size();) {
      std::size_t end = i;
      while (end < order.size() && ends(order[end]) == ends(order[i])) ++end;
      add_channel({order.data() + i, end - i});
      i = end;
    }
  }

  void sort_edges(const std::vector<TraceEdge>& edges) {
    t_.waits.assign(t_.size(), 0);
    t_.successor_begin.assign(t_.size() + 1, 0);
    for (const TraceEdge& e : edges) ++t_.successor_begin[e.before + 1];
    for (std::size_t op = 0; op < t_.size(); ++op) t_.successor_begin[op + 1] += t_.successor_begin[op];
    t_.successor.resize(edges.size());
    std::vector<std::size_t> next(t_.successor_begin.begin(), t_.successor_begin.end() - 1);
    for (const TraceEdge& e : edges) {
      t_.successor[next[e.before]++] = {e.after, e.at_begin};
      ++t_.waits[e.after];
    }
  }

  void find_circle() {
    std::vector<std::uint32_t> waits = t_.waits;
    std::vector<std::uint32_t> free;
    for (std::uint32_t op = 0; op < t_.size(); ++op) {
      if (waits[op] == 0) free.push_back(op);
    }
    std::size_t done = 0;
    for (; done < free.size(); ++done) {
      for (const Trace::Successor& s : t_.successors(free[done])) {
        if (--waits[s.op] == 0) free.push_back(s.op);
      }
    }
    if (done == t_.size()) return;
    const auto stuck = std::find_if(waits.begin(), waits.end(), [](std::uint32_t n) { return n > 0; });
    const auto op = static_cast<std::uint32_t>(stuck - waits.begin());
    d_.error({file_, static_cast<int>(t_.line[op]), 1}, {},
             fmt::format("{} operations wait for each other in a circle, or for one that does: the first is {}",
                         t_.size() - done, t_.name(op)),
             "none of them could ever begin");
  }

 private:
  // Source, destination, tag.
  [[nodiscard]] std::tuple<std::uint32_t, std::uint32_t, std::uint32_t> ends(std::uint32_t op) const {
    const bool sends = t_.kind[op] == TraceKind::kSend;
    return {sends ? t_.rank[op] : t_.peer[op], sends ? t_.peer[op] : t_.rank[op], t_.tag[op]};
  }

  // Sends first, both by size.
  void add_channel(std::span<const std::uint32_t> ops) {
    const auto receive =
        std::find_if(ops.begin(), ops.end(), [this](std::uint32_t op) { return t_.kind[op] == TraceKind::kReceive; });
    const auto sends = static_cast<std::size_t>(receive - ops.begin());
    const std::size_t receives = ops.size() - sends;
    const auto [from, to, tag] = ends(ops.front());
    if (sends != receives && d_.error_count() < kMostTraceErrors) {
      const std::uint32_t op = sends > receives ? ops.front() : ops[sends];
      d_.error({file_, static_cast<int>(t_.line[op]), 1}, {},
               fmt::format("{} sends from rank {} to {} with tag {}, but {} receives", sends, from, to, tag, receives),
               "every message needs both");
    }
    for (std::size_t i = 0; sends == receives && i < sends; ++i) {
      if (t_.amount[ops[i]] == t_.amount[ops[sends + i]] || d_.error_count() >= kMostTraceErrors) continue;
      d_.error({file_, static_cast<int>(t_.line[ops[sends + i]]), 1}, {},
               fmt::format("no send from rank {} with tag {} is of {} bytes, as this receive is", from, tag,
                           t_.amount[ops[sends + i]]));
      break;
    }
    const auto channel = static_cast<std::uint32_t>(t_.channel_begin.size() - 1);
    for (const std::uint32_t op : ops) t_.channel[op] = channel;
    for (std::size_t i = 0; i < sends; ++i) t_.bytes += t_.amount[ops[i]];
    t_.messages += static_cast<std::int64_t>(sends);
    t_.channel_begin.push_back(t_.channel_begin.back() + sends);
  }

  Trace& t_;
  const std::string& file_;
  Diagnostics& d_;
};

}  // namespace

void link_trace(Trace& trace, const std::vector<TraceEdge>& edges, const std::string& file, Diagnostics& d) {
  Linker linker(trace, file, d);
  linker.number_cpus();
  linker.pair_messages();
  linker.sort_edges(edges);
  linker.find_circle();
}

}  // namespace lockstep::detail
