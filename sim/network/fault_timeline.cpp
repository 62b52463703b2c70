// SPDX-License-Identifier: Apache-2.0
#include "sim/network/fault_timeline.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "base/check.h"
#include "base/hash.h"
#include "sim/engine/later.h"

namespace lockstep {
namespace {

constexpr Instant kStart;

}  // namespace

FaultTimeline::FaultTimeline(const FaultStates& states, const Network& healthy, Duration reroute_after)
    : faults_(states.faults()), noticed_(states.noticed()), states_(states.states()), reroute_after_(reroute_after) {
  const Network usual = states.network(healthy, 0);
  for (const LinkFault& l : states.links()) {
    const FaultSpec& f = faults_[l.fault];
    if (!f.is_timed()) continue;
    const Link link = healthy.link(l.link);
    if (links_.empty() || links_.back().link != l.link) {
      links_.push_back({.link = l.link, .usual = usual.link(l.link).capacity, .faults = {}, .left = {}});
    }
    links_.back().faults.push_back(l.fault);
    links_.back().left.push_back(f.is_failure() ? Rate::units(0) : link.capacity.scaled(f.rate->value));
  }
}

const FaultTimeline::TimedLink* FaultTimeline::find(LinkId link) const {
  const auto at = std::lower_bound(links_.begin(), links_.end(), link, [](const TimedLink& t, LinkId l) { return t.link < l; });
  return at != links_.end() && at->link == link ? &*at : nullptr;
}

std::vector<LinkId> FaultTimeline::links() const {
  std::vector<LinkId> out;
  for (const TimedLink& l : links_) out.push_back(l.link);
  return out;
}

std::span<const std::uint32_t> FaultTimeline::faults_of(LinkId link) const {
  const TimedLink* t = find(link);
  return t != nullptr ? std::span<const std::uint32_t>(t->faults) : std::span<const std::uint32_t>();
}

std::optional<Duration> FaultTimeline::age(std::uint32_t fault, Instant t) const {
  const FaultSpec& f = faults_[fault];
  const Duration since = (t - kStart) - f.from.value_or(Duration());
  if (since < Duration()) return std::nullopt;
  return f.every ? Duration::picos(since.picos() % f.every->picos()) : since;
}

bool FaultTimeline::is_on(std::uint32_t fault, Instant t) const {
  const FaultSpec& f = faults_[fault];
  const std::optional<Duration> since = age(fault, t);
  return since && (!f.until || *since < *f.until - f.from.value_or(Duration()));
}

Rate FaultTimeline::capacity(LinkId link, Instant t) const {
  const TimedLink* timed = find(link);
  LOCKSTEP_CHECK(timed != nullptr, "link {} does not change", link.value());
  Rate least = timed->usual;
  for (std::size_t i = 0; i < timed->faults.size(); ++i) {
    if (is_on(timed->faults[i], t)) least = std::min(least, timed->left[i]);
  }
  return least;
}

std::uint64_t FaultTimeline::colour(LinkId link) const {
  const TimedLink* timed = find(link);
  std::uint64_t sum = 0;
  for (std::size_t i = 0; timed != nullptr && i < timed->faults.size(); ++i) {
    const FaultSpec& f = faults_[timed->faults[i]];
    const auto word = [](const std::optional<Duration>& d) { return d ? static_cast<std::uint64_t>(d->picos()) + 1 : 0; };
    sum += hash_words({static_cast<std::uint64_t>(timed->left[i].units()), word(f.from), word(f.until), word(f.every)});
  }
  return sum;
}

std::size_t FaultTimeline::state(Instant t) const {
  FaultSet set;
  for (const std::uint32_t f : noticed_) {
    if (is_on(f, t) && *age(f, t) >= reroute_after_) set.push_back(f);
  }
  const auto at = std::lower_bound(states_.begin(), states_.end(), set);
  LOCKSTEP_CHECK(at != states_.end() && *at == set, "a state of faults at {} ps that nobody foresaw", t.picos());
  return static_cast<std::size_t>(at - states_.begin());
}

bool FaultTimeline::is_to_end(std::uint32_t fault, Instant t, Instant since) const {
  const FaultSpec& f = faults_[fault];
  return f.until && is_on(fault, t) && (!f.every || *age(fault, t) >= t - since);
}

Instant FaultTimeline::next_change(std::uint32_t fault, Instant t) const {
  const FaultSpec& f = faults_[fault];
  const Duration from = f.from.value_or(Duration());
  // The last beginning up to t, or the first one.
  Instant begin = kStart + from;
  if (const std::optional<Duration> since = age(fault, t)) begin = kStart + ((t - kStart) - *since);
  const auto first_after = [&](Instant b) {
    Instant first = Instant::never();
    const auto consider = [&](Instant when) {
      if (when > t) first = std::min(first, when);
    };
    consider(b);
    const bool is_noticed = !f.until || reroute_after_ < *f.until - from;
    if (f.is_failure() && is_noticed) consider(later(b, reroute_after_));
    if (f.until) consider(later(b, *f.until - from));
    return first;
  };
  const Instant here = first_after(begin);
  return here.is_never() && f.every ? later(begin, *f.every) : here;
}

std::string FaultTimeline::describe(LinkId link, Instant t) const {
  for (const std::uint32_t f : faults_of(link)) {
    if (faults_[f].is_failure() && is_on(f, t)) return "failed at " + to_text((t - kStart) - *age(f, t));
  }
  return {};
}

FaultClock::FaultClock(const FaultTimeline& timeline, std::vector<LinkInUse> links, bool has_detours)
    : timeline_(&timeline), has_detours_(has_detours) {
  for (const LinkInUse& l : links) {
    const std::span<const std::uint32_t> of_link = timeline.faults_of(l.link);
    if (of_link.empty()) continue;
    links_.push_back(l);
    faults_.insert(faults_.end(), of_link.begin(), of_link.end());
  }
  std::sort(faults_.begin(), faults_.end());
  const std::vector<std::uint32_t> in_use = faults_;
  if (has_detours) faults_.insert(faults_.end(), timeline.noticed().begin(), timeline.noticed().end());
  std::sort(faults_.begin(), faults_.end());
  faults_.erase(std::unique(faults_.begin(), faults_.end()), faults_.end());
  for (const std::uint32_t f : faults_) is_in_use_.push_back(std::binary_search(in_use.begin(), in_use.end(), f));
  rerouted_.assign(faults_.size(), 0);
  // WHY at 0: the model begins with the usual capacities, whatever is broken at the start.
  next_ = faults_.empty() ? Instant::never() : kStart;
  capacities_.assign(links_.size(), Rate::units(-1));
}

Instant FaultClock::next_after(Instant t) const {
  Instant next = Instant::never();
  for (const std::uint32_t f : faults_) next = std::min(next, timeline_->next_change(f, t));
  return next;
}

bool FaultClock::is_any_to_end() const {
  return std::any_of(faults_.begin(), faults_.end(),
                     [this](std::uint32_t f) { return timeline_->is_to_end(f, now_, *idle_since_); });
}

Instant FaultClock::next_of_all(Instant event, bool is_in_flight) {
  if (!event.is_never()) {
    idle_since_.reset();
    idle_changes_ = 0;
    return std::min(event, next_);
  }
  if (!is_in_flight) return event;
  if (!idle_since_) idle_since_ = now_;
  if (!is_any_to_end()) ++idle_changes_;
  return idle_changes_ <= kMostIdleChanges ? next_ : event;
}

bool FaultClock::apply(Instant now, NetworkModel& network) {
  LOCKSTEP_CHECK(now == next_, "faults at {} ps, applied at {} ps", next_.picos(), now.picos());
  now_ = now;
  next_ = next_after(now);
  for (std::size_t i = 0; i < links_.size(); ++i) {
    const Rate capacity = timeline_->capacity(links_[i].link, now);
    if (capacity == capacities_[i]) continue;
    network.set_capacity(now, links_[i].in_model, capacity);
    capacities_[i] = capacity;
  }
  const std::size_t before = state_;
  if (has_detours_) state_ = timeline_->state(now);
  changed_.clear();
  const FaultSet& old = timeline_->noticed_in(before);
  const FaultSet& present = timeline_->noticed_in(state_);
  std::set_symmetric_difference(old.begin(), old.end(), present.begin(), present.end(), std::back_inserter(changed_));
  return state_ != before;
}

void FaultClock::count_rerouted(std::int64_t transfers) {
  for (std::size_t i = 0; i < faults_.size(); ++i) {
    if (std::binary_search(changed_.begin(), changed_.end(), faults_[i])) rerouted_[i] += transfers;
  }
}

std::vector<FaultEffect> FaultClock::effects(Instant end) const {
  std::vector<FaultEffect> out;
  for (std::size_t i = 0; i < faults_.size(); ++i) {
    const FaultSpec& f = timeline_->faults()[faults_[i]];
    const Instant first = kStart + f.from.value_or(Duration());
    if (first > end || (!is_in_use_[i] && rerouted_[i] == 0)) continue;
    const std::int64_t times = f.every ? (end - first).picos() / f.every->picos() + 1 : 1;
    out.push_back({.fault = faults_[i], .first = first, .times = times, .rerouted = rerouted_[i]});
  }
  return out;
}

std::string FaultClock::describe(LinkId in_model) const {
  for (const LinkInUse& l : links_) {
    if (l.in_model == in_model) return timeline_->describe(l.link, now_);
  }
  return {};
}

}  // namespace lockstep
