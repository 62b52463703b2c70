// SPDX-License-Identifier: Apache-2.0
#include "sim/runtime/trace_run.h"

#include <fmt/core.h>

#include <algorithm>
#include <deque>
#include <functional>
#include <queue>

#include "base/check.h"
#include "base/hash.h"
#include "sim/engine/event_queue.h"

namespace lockstep {
namespace {

constexpr std::uint32_t kNone = 0xffff'ffff;

class TraceRun {
 public:
  TraceRun(const Trace& trace, double scale, const Router& router, NetworkModel& network)
      : t_(trace),
        scale_(scale),
        router_(router),
        network_(network),
        waits_(trace.waits),
        has_cpu_(trace.size(), false),
        slot_(trace.size(), 0),
        begun_(trace.channel_begin.size(), {0, 0}),
        receiver_(static_cast<std::size_t>(trace.messages), kNone),
        is_there_(static_cast<std::size_t>(trace.messages), false),
        cpus_(trace.cpus) {
    result_.finish.resize(trace.ranks);
    result_.compute.resize(trace.ranks);
  }

  TraceResult run() {
    for (std::uint32_t op = 0; op < t_.size(); ++op) {
      if (waits_[op] == 0) ready_.push(op);
    }
    begin_ready();
    network_.settle(now_);
    while (step()) {
    }
    if (ended_ < t_.size()) throw SimulationError(who_waits());
    network_.finish(now_);
    return std::move(result_);
  }

 private:
  struct Cpu {
    bool is_busy = false;
    std::deque<std::uint32_t> queue;
  };
  struct Begun {
    std::uint32_t sends = 0;
    std::uint32_t receives = 0;
  };

  // Everything of the next instant; false when there is none.
  bool step() {
    const Instant next = std::min(computed_.next_time(), network_.next_event());
    if (next.is_never()) return false;
    now_ = next;
    arrived_.clear();
    network_.advance(now_, arrived_);
    for (const Completion& c : arrived_) arrive(static_cast<std::uint32_t>(c.token));
    while (computed_.next_time() == now_) {
      const std::uint32_t op = computed_.pop().payload;
      free_cpu(op);
      end(op);
    }
    begin_ready();
    network_.settle(now_);
    return true;
  }

  // WHY lowest first: a key of the trace orders what begins at one instant, not the order in which the network reports.
  void begin_ready() {
    while (!ready_.empty()) {
      const std::uint32_t op = ready_.top();
      ready_.pop();
      if (t_.kind[op] == TraceKind::kReceive) {
        receive(op);
      } else if (take_cpu(op)) {
        if (t_.kind[op] == TraceKind::kSend) {
          send(op);
        } else {
          compute(op);
        }
      }
    }
  }

  bool take_cpu(std::uint32_t op) {
    if (has_cpu_[op]) return true;
    Cpu& cpu = cpus_[t_.cpu[op]];
    if (cpu.is_busy) return cpu.queue.push_back(op), false;
    cpu.is_busy = true;
    return has_cpu_[op] = true;
  }

  void free_cpu(std::uint32_t op) {
    Cpu& cpu = cpus_[t_.cpu[op]];
    cpu.is_busy = !cpu.queue.empty();
    if (cpu.queue.empty()) return;
    const std::uint32_t next = cpu.queue.front();
    cpu.queue.pop_front();
    has_cpu_[next] = true;
    ready_.push(next);
  }

  [[nodiscard]] Duration time_of(std::uint32_t op) const {
    constexpr std::int64_t kPicosPerNano = 1'000;
    if (scale_ == 1) return Duration::picos(t_.amount[op] * kPicosPerNano);
    const double picos = static_cast<double>(t_.amount[op]) * static_cast<double>(kPicosPerNano) * scale_ + 0.5;
    constexpr double kMostPicos = 9e18;
    if (!(picos < kMostPicos))
      throw SimulationError(fmt::format("{} computes beyond the range of time (106 days)", t_.name(op)));
    return Duration::picos(static_cast<std::int64_t>(picos));
  }

  void compute(std::uint32_t op) {
    begin(op);
    const Duration time = time_of(op);
    result_.compute[t_.rank[op]] = result_.compute[t_.rank[op]] + time;
    if (time == Duration()) {
      free_cpu(op);
      end(op);
    } else {
      computed_.push(now_ + time, EventClass::kEnd, op);
    }
  }

  void send(std::uint32_t op) {
    begin(op);
    slot_[op] = begun_[t_.channel[op]].sends++;
    if (t_.peer[op] == t_.rank[op]) {
      arrive(op);
    } else {
      const Route& route = route_of(t_.rank[op], t_.peer[op]);
      network_.start(now_, {.shares = route.shares,
                            .alone = {},
                            .weight = router_.weight(),
                            .bytes = t_.amount[op],
                            .latency = route.latency,
                            .token = op});
    }
    free_cpu(op);
    end(op);
  }

  void receive(std::uint32_t op) {
    begin(op);
    const std::size_t message = t_.channel_begin[t_.channel[op]] + begun_[t_.channel[op]].receives++;
    receiver_[message] = op;
    if (is_there_[message]) end(op);
  }

  void arrive(std::uint32_t send) {
    const std::size_t message = t_.channel_begin[t_.channel[send]] + slot_[send];
    is_there_[message] = true;
    if (receiver_[message] != kNone) end(receiver_[message]);
  }

  void begin(std::uint32_t op) {
    ++result_.events;
    release(op, true);
  }

  void end(std::uint32_t op) {
    ++result_.events;
    ++ended_;
    result_.fingerprint +=
        hash_words({op, static_cast<std::uint64_t>(t_.amount[op]), static_cast<std::uint64_t>(now_.picos())});
    result_.finish[t_.rank[op]] = std::max(result_.finish[t_.rank[op]], now_);
    result_.makespan = std::max(result_.makespan, now_);
    release(op, false);
  }

  void release(std::uint32_t op, bool at_begin) {
    for (const Trace::Successor& s : t_.successors(op)) {
      if (s.at_begin == at_begin && --waits_[s.op] == 0) ready_.push(s.op);
    }
  }

  const Route& route_of(std::uint32_t from, std::uint32_t to) {
    const std::uint64_t pair = (std::uint64_t{from} << 32) | to;
    const std::uint32_t known = route_index_.find(pair);
    if (known != FlatIndex::kAbsent) return routes_[known];
    routes_.emplace_back();
    router_.add({.from = EndpointId(from), .to = EndpointId(to)}, pair, routes_.back());
    Router::finish(routes_.back());
    route_index_.insert(pair, static_cast<std::uint32_t>(routes_.size() - 1));
    return routes_.back();
  }

  // The receives that wait for messages nobody sends; everything else waits for them.
  [[nodiscard]] std::string who_waits() const {
    constexpr std::size_t kMostNamed = 5;
    std::string text = fmt::format("{} of {} operations never end, and nothing else happens after {:.12g} s",
                                   t_.size() - ended_, t_.size(), now_.seconds());
    if (network_.in_flight() > 0) return text + ": " + network_.describe_pending();
    std::size_t named = 0;
    for (std::size_t m = 0; m < receiver_.size() && named < kMostNamed; ++m) {
      const std::uint32_t op = receiver_[m];
      if (op == kNone || is_there_[m]) continue;
      text += fmt::format("{}{} waits for a message from rank {} with tag {}", named == 0 ? ": " : "; ", t_.name(op),
                          t_.peer[op], t_.tag[op]);
      ++named;
    }
    return text;
  }

  const Trace& t_;
  double scale_;
  const Router& router_;
  NetworkModel& network_;
  std::vector<std::uint32_t> waits_;
  std::vector<bool> has_cpu_;
  std::vector<std::uint32_t> slot_;      // by send: its place among the sends of its channel
  std::vector<Begun> begun_;             // by channel
  std::vector<std::uint32_t> receiver_;  // by message
  std::vector<bool> is_there_;
  std::vector<Cpu> cpus_;
  std::priority_queue<std::uint32_t, std::vector<std::uint32_t>, std::greater<>> ready_;
  EventQueue<std::uint32_t> computed_;
  FlatIndex route_index_;
  std::deque<Route> routes_;  // a transfer keeps a view of its route
  std::vector<Completion> arrived_;
  Instant now_;
  std::size_t ended_ = 0;
  TraceResult result_;
};

}  // namespace

TraceResult run_trace(const Trace& trace, double compute_scale, const Router& router, NetworkModel& network) {
  LOCKSTEP_CHECK(trace.ranks <= router.network().endpoint_count(), "a trace of {} ranks on {} endpoints", trace.ranks,
                 router.network().endpoint_count());
  return TraceRun(trace, compute_scale, router, network).run();
}

}  // namespace lockstep
