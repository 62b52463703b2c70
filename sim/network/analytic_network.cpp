// SPDX-License-Identifier: Apache-2.0
#include "sim/network/analytic_network.h"

#include <algorithm>

#include "sim/engine/later.h"
#include "sim/network/group_clocks.h"

namespace lockstep {
namespace {

constexpr std::int64_t kUnlimited = std::numeric_limits<std::int64_t>::max();

// The first whole picosecond at which `work` is done, never() beyond the range of time.
Instant end_of(Int128 work, std::int64_t level, Instant since) {
  if (level == 0) return Instant::never();
  return later(since, ceil_div(work, Int128{level}));
}

}  // namespace

AnalyticNetwork::AnalyticNetwork(std::span<const Rate> capacities) : ledger_(capacities) {}

void AnalyticNetwork::start(Instant now, const TransferSpec& spec) {
  const TransferId id = ledger_.open(spec);
  if (id.index() >= states_.size()) states_.resize(id.index() + 1);
  State& state = states_[id.index()];
  state.phase = Phase::kLatency;
  state.work = GroupClocks::work_of(spec.bytes, spec.weight);
  if (spec.latency > Duration{}) {
    state.end = later(now, spec.latency);
    events_.push(state.end, id);
  } else {
    run_on(id, now);
  }
}

std::int64_t AnalyticNetwork::level_alone(const TransferSpec& spec) const {
  std::int64_t level = spec.rate_cap > Rate{} ? spec.rate_cap.units() / spec.weight : kUnlimited;
  for (const LinkShare& s : spec.alone.empty() ? spec.shares : spec.alone) {
    level = std::min(level, ledger_.capacity(s.link) / s.coefficient);
  }
  return level;
}

void AnalyticNetwork::run_on(TransferId id, Instant now) {
  State& state = states_[id.index()];
  state.phase = Phase::kMoving;
  state.since = now;
  state.level = level_alone(ledger_.spec(id));
  if (state.level == kUnlimited) state.work = 1;
  state.end = end_of(state.work, state.level == kUnlimited ? 1 : state.level, now);
  if (!state.end.is_never()) events_.push(state.end, id);
}

void AnalyticNetwork::set_capacity(Instant now, LinkId link, Rate capacity) {
  LOCKSTEP_CHECK(link.index() < ledger_.link_count(), "there is no link {}", link.value());
  LOCKSTEP_CHECK(capacity >= Rate{}, "link {} cannot have capacity {}", link.value(), capacity.units());
  changed_.clear();
  for (std::size_t i = 0; i < states_.size(); ++i) {
    State& state = states_[i];
    if (state.phase != Phase::kMoving) continue;
    const TransferSpec& spec = ledger_.spec(TransferId::from_index(i));
    if (std::none_of(spec.shares.begin(), spec.shares.end(), [&](const LinkShare& s) { return s.link == link; })) continue;
    state.work -= static_cast<Int128>(state.level) * (now - state.since).picos();
    meter(spec, state, now);
    // One that ends at this very instant ends: its last byte has moved.
    if (state.end != now) changed_.push_back(TransferId::from_index(i));
  }
  ledger_.set_capacity(link, capacity.units(), now);
  for (const TransferId id : changed_) run_on(id, now);
}

void AnalyticNetwork::reroute(Instant now, const RouteOfToken& route_of, std::vector<std::uint64_t>& moved) {
  for (std::size_t i = 0; i < states_.size(); ++i) {
    State& state = states_[i];
    const TransferId id = TransferId::from_index(i);
    const TransferSpec& spec = ledger_.spec(id);
    if (state.phase == Phase::kFree || spec.shares.empty()) continue;
    const NewRoute route = route_of(spec.token);
    if (!route.is_other_than(spec.shares)) continue;
    if (state.phase == Phase::kMoving) {
      if (state.end == now) continue;
      state.work -= static_cast<Int128>(state.level) * (now - state.since).picos();
      meter(spec, state, now);
    }
    ledger_.reroute(id, route, state.work);
    if (state.phase == Phase::kMoving) run_on(id, now);
    moved.push_back(spec.token);
  }
}

void AnalyticNetwork::advance(Instant now, std::vector<Completion>& out) {
  while (true) {
    const TransferId id = events_.pop_due(now);
    if (id.is_none()) break;
    State& state = states_[id.index()];
    if (state.end != now) continue;
    if (state.phase == Phase::kLatency) {
      run_on(id, now);
    } else if (state.phase == Phase::kMoving) {
      state.phase = Phase::kFree;
      meter(ledger_.spec(id), state, now);
      out.push_back(ledger_.close(id));
    }
  }
}

void AnalyticNetwork::meter(const TransferSpec& spec, State& state, Instant now) {
  for (const LinkShare& s : spec.shares)
    ledger_.add_load(s.link, static_cast<Int128>(s.coefficient) * state.level, now - state.since);
  state.since = now;
}

void AnalyticNetwork::settle(Instant) {}

Instant AnalyticNetwork::next_event() const { return events_.next(); }

LinkUsage AnalyticNetwork::usage(LinkId link, Instant now) const { return ledger_.usage(link, now); }

std::string AnalyticNetwork::describe_pending(const LinkNames& name) const {
  for (std::size_t i = 0; i < states_.size(); ++i) {
    if (states_[i].phase == Phase::kFree || !states_[i].end.is_never()) continue;
    const TransferSpec& spec = ledger_.spec(TransferId::from_index(i));
    const auto dead = std::find_if(spec.shares.begin(), spec.shares.end(),
                                   [this](const LinkShare& s) { return ledger_.capacity(s.link) == 0; });
    const bool is_stopped = states_[i].phase == Phase::kMoving && states_[i].level == 0 && dead != spec.shares.end();
    return fmt::format("transfer {} of {} bytes {}", spec.token, spec.bytes,
                       is_stopped ? "is stopped by " + name(dead->link) : "ends beyond the range of time");
  }
  return "nothing is moving";
}

void AnalyticNetwork::save(Instant now, NetworkCheckpoint& out) const {
  out.at = now;
  out.pending.clear();
  for (std::size_t i = 0; i < states_.size(); ++i) {
    const State& s = states_[i];
    if (s.phase == Phase::kFree) continue;
    const std::uint64_t token = ledger_.spec(TransferId::from_index(i)).token;
    out.pending.push_back(
        {token, static_cast<std::uint32_t>(s.phase), (s.end - now).picos(), s.level, ledger_.moved(TransferId::from_index(i))});
  }
  std::sort(out.pending.begin(), out.pending.end(), [](const auto& a, const auto& b) { return a.token < b.token; });
  ledger_.save(now, out.totals);
}

void AnalyticNetwork::repeat(const NetworkCheckpoint& then, const NetworkCheckpoint& now, std::int64_t times) {
  const Duration shift = (now.at - then.at) * times;
  events_.postpone(shift);
  for (State& s : states_) {
    if (s.phase == Phase::kFree) continue;
    if (!s.end.is_never()) s.end = s.end + shift;
    s.since = s.since + shift;
  }
  ledger_.repeat(then, now, times);
}

void AnalyticNetwork::finish(Instant now) const { ledger_.check_finished(now, describe_pending()); }

}  // namespace lockstep
