// SPDX-License-Identifier: Apache-2.0
#include "sim/network/flow_network.h"

#include <algorithm>
#include <optional>

#include "sim/engine/later.h"

namespace lockstep {

FlowNetwork::FlowNetwork(std::span<const Rate> capacities, FlowOptions options)
    : options_(options),
      solver_(capacities, options.strategy, options.audit),
      clocks_(capacities.size()),
      ledger_(capacities) {}

void FlowNetwork::start(Instant now, const TransferSpec& spec) {
  expect_settled_before(now);
  const TransferId id = ledger_.open(spec);
  if (id.index() >= states_.size()) states_.resize(id.index() + 1);
  states_[id.index()] = State{};
  if (id.index() < left_.size()) left_[id.index()] = 0;
  if (spec.latency == Duration{}) {
    begin(id, now);
  } else {
    delays_.push(later(now, spec.latency), id);
  }
}

void FlowNetwork::begin(TransferId id, Instant now) {
  const TransferSpec& spec = ledger_.spec(id);
  State& state = states_[id.index()];
  const bool capped = spec.rate_cap > Rate{};
  if (spec.shares.empty() && !capped) {
    state.phase = Phase::kUnlimited;
    delays_.push(later(now, Duration::picos(1)), id);
    return;
  }
  state.phase = Phase::kMoving;
  if (capped) state.private_link = solver_.add_private_link(spec.rate_cap.units());
  add_entity(id);
}

void FlowNetwork::add_entity(TransferId id) {
  const TransferSpec& spec = ledger_.spec(id);
  State& state = states_[id.index()];
  state.entity = solver_.add(spec.shares, {state.private_link, spec.weight});
  if (state.entity.index() >= transfer_of_.size()) transfer_of_.resize(state.entity.index() + 1);
  transfer_of_[state.entity.index()] = id;
}

void FlowNetwork::set_capacity(Instant now, LinkId link, Rate capacity) {
  LOCKSTEP_CHECK(link.index() < ledger_.link_count(), "there is no link {}", link.value());
  expect_settled_before(now);
  solver_.set_capacity(link, capacity.units());
  ledger_.set_capacity(link, capacity.units(), now);
}

void FlowNetwork::reroute(Instant now, const RouteOfToken& route_of, std::vector<std::uint64_t>& moved) {
  expect_settled_before(now);
  const auto another = [&](TransferId id) -> std::optional<NewRoute> {
    const TransferSpec& spec = ledger_.spec(id);
    if (spec.shares.empty()) return std::nullopt;
    const NewRoute route = route_of(spec.token);
    return route.is_other_than(spec.shares) ? std::optional(route) : std::nullopt;
  };
  delays_.for_each([&](Instant, TransferId id) {
    if (states_[id.index()].phase != Phase::kLatency) return;
    const TransferSpec& spec = ledger_.spec(id);
    if (const std::optional<NewRoute> route = another(id)) {
      ledger_.reroute(id, *route, GroupClocks::work_of(spec.bytes, spec.weight));
      moved.push_back(spec.token);
    }
  });
  for (std::size_t i = 0; i < states_.size(); ++i) {
    const TransferId id = TransferId::from_index(i);
    State& state = states_[i];
    if (state.entity.is_none()) continue;
    const Int128 left = clocks_.remaining_work(state.entity, now);
    const std::optional<NewRoute> route = another(id);
    if (left <= 0 || !route) continue;
    ledger_.reroute(id, *route, left);
    clocks_.remove(state.entity, now);
    solver_.remove(state.entity);
    if (left_.size() < states_.size()) left_.resize(states_.size(), 0);
    left_[i] = left;
    add_entity(id);
    moved.push_back(ledger_.spec(id).token);
  }
}

Int128 FlowNetwork::work_to_do(TransferId id) const {
  if (id.index() < left_.size() && left_[id.index()] > 0) return left_[id.index()];
  const TransferSpec& spec = ledger_.spec(id);
  return GroupClocks::work_of(spec.bytes, spec.weight);
}

void FlowNetwork::advance(Instant now, std::vector<Completion>& out) {
  expect_settled_before(now);
  while (true) {
    const TransferId id = delays_.pop_due(now);
    if (id.is_none()) break;
    if (states_[id.index()].phase == Phase::kLatency) {
      begin(id, now);
    } else if (!drops_completion()) {
      out.push_back(ledger_.close(id));
    }
  }
  while (true) {
    const EntityId e = clocks_.pop_due(now);
    if (e.is_none()) break;
    const TransferId id = transfer_of_[e.index()];
    if (drops_completion()) {
      ledger_.lose(id);
    } else {
      out.push_back(ledger_.close(id, solver_.incidences(e)));
    }
    take_entity(id);
  }
}

void FlowNetwork::take_entity(TransferId id) {
  State& state = states_[id.index()];
  solver_.remove(state.entity);
  if (!state.private_link.is_none()) solver_.release_private_link(state.private_link);
  state.entity = EntityId::none();
  state.private_link = LinkId::none();
}

bool FlowNetwork::drops_completion() {
  if (options_.fault != FlowFault::kDropCompletion || faults_injected_ > 0 || completions_++ < options_.fault_at) return false;
  ++faults_injected_;
  return true;
}

void FlowNetwork::settle(Instant now) {
  expect_settled_before(now);
  if (!solver_.has_changes()) return;
  solver_.solve();
  follow_changes(now);
  if (options_.audit == max_min::AuditScope::kEverything) clocks_.audit(now);
  if (options_.fault != FlowFault::kNone) inject_fault();
}

void FlowNetwork::follow_changes(Instant now) {
  for (const EntityId e : solver_.moved()) {
    const LinkId group = solver_.bottleneck(e);
    if (!clocks_.contains(e)) {
      clocks_.insert(e, group, work_to_do(transfer_of_[e.index()]), now);
    } else {
      clocks_.move(e, group, now);
    }
  }
  for (const LinkId g : solver_.relevelled()) clocks_.mark(g);
  clocks_.refresh(now, [this](LinkId g) { return solver_.group_level(g); });
  for (const LinkId l : solver_.reloaded()) {
    if (l.index() < ledger_.link_count()) ledger_.set_load(l, solver_.load(l), now);  // others are rate caps
  }
  solver_.clear_changes();
}

Instant FlowNetwork::next_event() const {
  LOCKSTEP_CHECK(!solver_.has_changes(), "next_event() before settle() at {} ps", batch_.picos());
  return std::min(delays_.next(), clocks_.next());
}

LinkUsage FlowNetwork::usage(LinkId link, Instant now) const { return ledger_.usage(link, now); }

std::string FlowNetwork::describe_pending(const LinkNames& name) const {
  constexpr int kNamed = 5;
  std::string text;
  int left = kNamed;
  for (std::size_t i = 0; i < states_.size() && left > 0; ++i) {
    const State& state = states_[i];
    if (state.entity.is_none()) continue;
    const TransferSpec& spec = ledger_.spec(TransferId::from_index(i));
    const LinkId bottleneck = solver_.bottleneck(state.entity);
    text +=
        fmt::format("{}transfer {} of {} bytes {} {}", left == kNamed ? "" : "; ", spec.token, spec.bytes,
                    solver_.level(state.entity) == 0 ? "is stopped by" : "does not end within the range of time, held back by",
                    bottleneck.index() < ledger_.link_count() ? name(bottleneck) : "its rate limit");
    --left;
  }
  if (!text.empty()) return text;
  return in_flight() > 0 ? "what is under way ends beyond the range of time (about 106 days)" : "nothing is moving";
}

void FlowNetwork::save(Instant now, NetworkCheckpoint& out) const {
  LOCKSTEP_CHECK(!solver_.has_changes(), "a checkpoint before settle() at {} ps", now.picos());
  out.at = now;
  out.pending.clear();
  const auto add = [&](TransferId id, Int128 left) {
    const auto phase = static_cast<std::uint32_t>(states_[id.index()].phase);
    out.pending.push_back({ledger_.spec(id).token, phase, left, 0, ledger_.moved(id)});
  };
  delays_.for_each([&](Instant when, TransferId id) { add(id, (when - now).picos()); });
  // Levels need no saving: they follow from which transfers move.
  for (std::size_t i = 0; i < states_.size(); ++i) {
    if (!states_[i].entity.is_none()) add(TransferId::from_index(i), clocks_.remaining_work(states_[i].entity, now));
  }
  std::sort(out.pending.begin(), out.pending.end(), [](const auto& a, const auto& b) { return a.token < b.token; });
  ledger_.save(now, out.totals);
}

void FlowNetwork::repeat(const NetworkCheckpoint& then, const NetworkCheckpoint& now, std::int64_t times) {
  const Duration shift = (now.at - then.at) * times;
  delays_.postpone(shift);
  clocks_.postpone(shift);
  ledger_.repeat(then, now, times);
  batch_ = now.at + shift;
}

void FlowNetwork::finish(Instant now) const { ledger_.check_finished(now, describe_pending()); }

void FlowNetwork::inject_fault() {
  if (faults_injected_ > 0 || solver_.counts().solves <= options_.fault_at) return;
  if (clocks_.next().is_never() || options_.fault == FlowFault::kDropCompletion) return;
  ++faults_injected_;
  const LinkId victim = clocks_.next_group();
  if (options_.fault == FlowFault::kExcessRate) solver_.inject_excess(victim);
  if (options_.fault == FlowFault::kLoseWakeup) clocks_.inject_lost_wakeup(victim);
}

void FlowNetwork::expect_settled_before(Instant now) {
  LOCKSTEP_CHECK(now >= batch_, "time runs backwards from {} ps to {} ps", batch_.picos(), now.picos());
  LOCKSTEP_CHECK(now == batch_ || !solver_.has_changes(), "changes at {} ps were not settled before {} ps", batch_.picos(),
                 now.picos());
  batch_ = now;
}

}  // namespace lockstep
