// SPDX-License-Identifier: Apache-2.0
#include "sim/experiment/traffic.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/hash.h"
#include "sim/engine/event_queue.h"
#include "sim/engine/process_usage.h"
#include "sim/experiment/traffic_order.h"

namespace lockstep {

TrafficRoutes::TrafficRoutes(const TrafficTable& table, const Router& router) : weight_(router.weight()) {
  FlatIndex seen;  // (src, dst, path) by hash; a collision only costs a second copy
  struct Key {
    EndpointId src;
    EndpointId dst;
    std::int64_t path;
    bool operator==(const Key&) const = default;
  };
  std::vector<Key> keys;  // by span
  of_row_.reserve(table.size());
  Route route;
  for (std::size_t row = 0; row < table.size(); ++row) {
    const Key key{table.src[row], table.dst[row], table.path[row]};
    const std::uint64_t hash = hash_words({key.src.value(), key.dst.value(), static_cast<std::uint64_t>(key.path)});
    const bool may_share = key.path != TrafficTable::kRouted;
    const std::uint32_t known = may_share ? seen.find(hash) : FlatIndex::kAbsent;
    if (known != FlatIndex::kAbsent && keys[known] == key) {
      of_row_.push_back(known);
      continue;
    }
    route.shares.clear();
    route.latency = {};
    const Hop hop{.from = key.src, .to = key.dst};
    if (may_share) {
      router.add_on_path(hop, key.path, route);
    } else {
      router.add(hop, row, route);
    }
    Router::finish(route);
    of_row_.push_back(append(route));
    keys.push_back(key);
    if (may_share && known == FlatIndex::kAbsent) seen.insert(hash, of_row_.back());
  }
}

std::uint32_t TrafficRoutes::append(const Route& route) {
  spans_.push_back({shares_.size(), static_cast<std::uint32_t>(route.shares.size()), route.latency});
  shares_.insert(shares_.end(), route.shares.begin(), route.shares.end());
  return static_cast<std::uint32_t>(spans_.size() - 1);
}

namespace {

class TrafficRun {
 public:
  TrafficRun(const TrafficTable& table, const TrafficRoutes& routes, NetworkModel& network, TrafficDetours* detours,
             const LinkNames& link_name)
      : table_(table),
        routes_(routes),
        network_(network),
        detours_(detours),
        link_name_(link_name),
        successors_(table),
        waits_(table.size()) {
    result_.start.resize(table.size());
    result_.end.resize(table.size());
  }

  TrafficResult run() {
    const double cpu_begin = process_cpu_seconds();
    for (std::size_t row = 0; row < table_.size(); ++row) {
      waits_[row] = static_cast<std::uint32_t>(table_.after(row).size());
      if (waits_[row] == 0) independent_.push_back(static_cast<std::uint32_t>(row));
    }
    std::stable_sort(independent_.begin(), independent_.end(),
                     [this](std::uint32_t a, std::uint32_t b) { return table_.not_before[a] < table_.not_before[b]; });
    while (step()) {
    }
    if (completed_ < table_.size()) {
      throw SimulationError(fmt::format("{} of {} flows never end, and nothing else happens after {:.12g} s: {}",
                                        table_.size() - completed_, table_.size(), now_.seconds(),
                                        network_.describe_pending(link_name_)));
    }
    network_.finish(now_);
    result_.makespan = now_;
    if (detours_ != nullptr) result_.faults = detours_->clock().effects(now_);
    result_.solver_cpu_s = process_cpu_seconds() - cpu_begin;
    return std::move(result_);
  }

 private:
  // Everything of the next instant; false when there is none.
  bool step() {
    Instant next = std::min({next_independent(), released_.next_time(), network_.next_event()});
    if (detours_ != nullptr) next = detours_->clock().next_of_all(next, network_.in_flight() > 0);
    if (next.is_never()) return false;
    now_ = next;
    if (detours_ != nullptr && detours_->clock().next() == now_) change_network();
    completions_.clear();
    network_.advance(now_, completions_);
    for (const Completion& c : completions_) complete(static_cast<std::uint32_t>(c.token));
    while (released_.next_time() == now_) start(released_.pop().payload);
    while (next_independent() == now_) start(independent_[independent_begin_++]);
    network_.settle(now_);
    return true;
  }

  void change_network() {
    if (!detours_->clock().apply(now_, network_)) return;
    std::vector<std::uint64_t> moved;
    network_.reroute(
        now_,
        [this](std::uint64_t row) {
          return NewRoute{present_routes().shares(row), {}};
        },
        moved);
    detours_->clock().count_rerouted(static_cast<std::int64_t>(moved.size()));
  }
  [[nodiscard]] const TrafficRoutes& present_routes() const {
    return detours_ == nullptr ? routes_ : detours_->present(routes_);
  }

  [[nodiscard]] Instant next_independent() const {
    if (independent_begin_ == independent_.size()) return Instant::never();
    return Instant() + table_.not_before[independent_[independent_begin_]];
  }

  void start(std::uint32_t row) {
    result_.start[row] = now_;
    ++result_.events;
    network_.start(now_, {.shares = present_routes().shares(row),
                          .weight = routes_.weight(),
                          .bytes = table_.bytes[row],
                          .latency = routes_.latency(row),
                          .token = row});
  }

  void complete(std::uint32_t row) {
    result_.end[row] = now_;
    ++result_.events;
    ++completed_;
    result_.fingerprint +=
        hash_words({row, static_cast<std::uint64_t>(table_.bytes[row]), static_cast<std::uint64_t>(now_.picos())});
    for (const std::uint32_t next : successors_.of(row)) {
      if (--waits_[next] > 0) continue;
      released_.push(std::max(now_, Instant() + table_.not_before[next]), EventClass::kBegin, next);
    }
  }

  const TrafficTable& table_;
  const TrafficRoutes& routes_;
  NetworkModel& network_;
  TrafficDetours* detours_;
  const LinkNames& link_name_;
  Successors successors_;
  std::vector<std::uint32_t> waits_;        // predecessors that have not completed
  std::vector<std::uint32_t> independent_;  // rows that wait for nobody, by time
  std::size_t independent_begin_ = 0;       // those before have started
  EventQueue<std::uint32_t> released_;      // rows whose predecessors have completed
  std::vector<Completion> completions_;
  Instant now_;
  std::size_t completed_ = 0;
  TrafficResult result_;
};

}  // namespace

TrafficDetours::TrafficDetours(const TrafficTable& table, const Detours& detours)
    : clock_([&] {
        std::vector<FaultClock::LinkInUse> links;
        for (const LinkId l : detours.timeline().links()) links.push_back({.link = l, .in_model = l});
        return FaultClock(detours.timeline(), std::move(links), !detours.routers().empty());
      }()) {
  for (const Router* router : detours.routers()) routes_.emplace_back(table, *router);
}

TrafficResult run_traffic(const TrafficTable& table, const TrafficRoutes& routes, NetworkModel& network,
                          TrafficDetours* detours, const LinkNames& link_name) {
  return TrafficRun(table, routes, network, detours, link_name).run();
}

}  // namespace lockstep
