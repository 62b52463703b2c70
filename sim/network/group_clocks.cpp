// SPDX-License-Identifier: Apache-2.0
#include "sim/network/group_clocks.h"

#include <algorithm>

#include "base/units.h"

namespace lockstep {
namespace {

constexpr std::int64_t kNeverPs = std::numeric_limits<std::int64_t>::max();

}  // namespace

Int128 GroupClocks::work_of(std::int64_t bytes, std::int64_t weight) {
  LOCKSTEP_CHECK(bytes >= 0 && weight > 0, "a transfer of {} bytes with weight {}", bytes, weight);
  const Int128 units = static_cast<Int128>(bytes) * Rate::kUnitsPerBytePerSecond * kPicosPerSecond;
  return std::max<Int128>(1, weight == 1 ? units : ceil_div(units, Int128{weight}));
}

GroupClocks::Group& GroupClocks::group(LinkId id) {
  if (id.index() >= groups_.size()) groups_.resize(id.index() + 1);
  return groups_[id.index()];
}

void GroupClocks::mark(LinkId id) {
  Group& g = group(id);
  if (g.is_stale) return;
  g.is_stale = true;
  stale_.push_back(id);
}

GroupClocks::Group& GroupClocks::advanced(LinkId id, Instant now) {
  Group& g = group(id);
  if (now.picos() == g.since_ps) return g;
  g.clock += static_cast<Int128>(g.rate) * (now.picos() - g.since_ps);
  g.since_ps = now.picos();
  LOCKSTEP_CHECK(g.ends.empty() || g.rate == 0 || g.clock - g.rate < g.ends.front().clock,
                 "a transfer held by link {} should have ended before {} ps", id.value(), now.picos());
  return g;
}

void GroupClocks::insert(EntityId e, LinkId id, Int128 work, Instant now) {
  if (e.index() >= members_.size()) members_.resize(e.index() + 1);
  Group& g = advanced(id, now);
  if (g.ends.empty()) g.clock = 0;
  mark(id);
  push_end(g, id, {g.clock + work, e});
}

void GroupClocks::move(EntityId e, LinkId id, Instant now) {
  const Member old = members_[e.index()];
  if (old.group == id) return;
  mark(old.group);
  Group& from = advanced(old.group, now);
  const Int128 work = remove_end(from, old.position).clock - from.clock;
  insert(e, id, work, now);
}

void GroupClocks::remove(EntityId e, Instant now) {
  const Member old = members_[e.index()];
  mark(old.group);
  remove_end(advanced(old.group, now), old.position);
  members_[e.index()].group = LinkId::none();
}

void GroupClocks::set_rate(LinkId id, std::int64_t level, Instant now) {
  Group& g = advanced(id, now);
  g.rate = level;
  g.is_stale = false;
  schedule(id, g, first_end_ps(g));
}

Instant GroupClocks::next() const { return schedule_.empty() ? Instant::never() : Instant::picos(schedule_.front().ps); }

GroupClocks::EntityId GroupClocks::pop_due(Instant now) {
  if (schedule_.empty() || schedule_.front().ps > now.picos()) return EntityId::none();
  LOCKSTEP_CHECK(schedule_.front().ps == now.picos(), "a transfer ended at {} ps, but time moved on to {} ps",
                 schedule_.front().ps, now.picos());
  const LinkId id = schedule_.front().group;
  Group& g = advanced(id, now);
  const EntityId e = remove_end(g, 0).entity;
  members_[e.index()].group = LinkId::none();
  // WHY no division here: as long as the next one is due as well, the group keeps its place at the top.
  if (g.ends.empty() || g.ends.front().clock > g.clock) schedule(id, g, first_end_ps(g));
  return e;
}

Int128 GroupClocks::remaining_work(EntityId e, Instant now) const {
  const Member& m = members_[e.index()];
  const Group& g = groups_[m.group.index()];
  return g.ends[m.position].clock - g.clock - static_cast<Int128>(g.rate) * (now.picos() - g.since_ps);
}

void GroupClocks::postpone(Duration by) {
  for (Group& g : groups_) g.since_ps = checked_add(g.since_ps, by.picos());
  for (Wakeup& w : schedule_) w.ps = checked_add(w.ps, by.picos());
}

void GroupClocks::audit(Instant now) const {
  for (std::size_t i = 0; i < groups_.size(); ++i) {
    const Group& g = groups_[i];
    if (g.ends.empty()) continue;
    const Int128 clock = g.clock + static_cast<Int128>(g.rate) * (now.picos() - g.since_ps);
    LOCKSTEP_CHECK(g.ends.front().clock > clock, "a member of group {} should have ended before {} ps", i, now.picos());
    const std::int64_t planned = g.slot == kUnscheduled ? kNeverPs : schedule_[g.slot].ps;
    LOCKSTEP_CHECK(planned == first_end_ps(g), "group {} ends first at {} ps but is woken at {} ps", i, first_end_ps(g),
                   planned);
  }
}

void GroupClocks::inject_lost_wakeup(LinkId group) { schedule(group, groups_[group.index()], kNeverPs); }

std::int64_t GroupClocks::first_end_ps(const Group& g) const {
  if (g.ends.empty() || g.rate == 0) return kNeverPs;
  const UInt128 work = static_cast<UInt128>(std::max<Int128>(0, g.ends.front().clock - g.clock));
  const UInt128 rate = static_cast<UInt128>(g.rate);
  const UInt128 wait = (work + rate - 1) / rate;
  return wait >= static_cast<UInt128>(kNeverPs - g.since_ps) ? kNeverPs : g.since_ps + static_cast<std::int64_t>(wait);
}

// The heap of ends of a group; members know their position, so that they can leave from the middle.

void GroupClocks::push_end(Group& g, LinkId id, Target t) {
  members_[t.entity.index()].group = id;
  g.ends.emplace_back();
  sift_end_up(g, static_cast<std::uint32_t>(g.ends.size() - 1), t);
}

GroupClocks::Target GroupClocks::remove_end(Group& g, std::uint32_t position) {
  const Target removed = g.ends[position];
  const Target last = g.ends.back();
  g.ends.pop_back();
  if (position < g.ends.size()) {
    if (position > 0 && last.clock < g.ends[(position - 1) / 2].clock) {
      sift_end_up(g, position, last);
    } else {
      sift_end_down(g, position, last);
    }
  }
  return removed;
}

void GroupClocks::place_end(Group& g, std::uint32_t position, const Target& t) {
  g.ends[position] = t;
  members_[t.entity.index()].position = position;
}

void GroupClocks::sift_end_up(Group& g, std::uint32_t position, const Target& t) {
  while (position > 0) {
    const std::uint32_t parent = (position - 1) / 2;
    if (g.ends[parent].clock <= t.clock) break;
    place_end(g, position, g.ends[parent]);
    position = parent;
  }
  place_end(g, position, t);
}

void GroupClocks::sift_end_down(Group& g, std::uint32_t position, const Target& t) {
  const auto size = static_cast<std::uint32_t>(g.ends.size());
  while (2 * position + 1 < size) {
    std::uint32_t child = 2 * position + 1;
    if (child + 1 < size && g.ends[child + 1].clock < g.ends[child].clock) ++child;
    if (t.clock <= g.ends[child].clock) break;
    place_end(g, position, g.ends[child]);
    position = child;
  }
  place_end(g, position, t);
}

// The schedule of groups. A group without an end within the range of time is not in it.

void GroupClocks::schedule(LinkId id, Group& g, std::int64_t ps) {
  if (ps == kNeverPs) {
    if (g.slot == kUnscheduled) return;
    const std::uint32_t slot = g.slot;
    g.slot = kUnscheduled;
    const Wakeup last = schedule_.back();
    schedule_.pop_back();
    if (slot < schedule_.size()) sift_wakeup(slot, last);
    return;
  }
  if (g.slot == kUnscheduled) {
    g.slot = static_cast<std::uint32_t>(schedule_.size());
    schedule_.push_back({ps, id});
  } else if (schedule_[g.slot].ps == ps) {
    return;
  }
  sift_wakeup(g.slot, {ps, id});
}

void GroupClocks::place_wakeup(std::uint32_t slot, const Wakeup& w) {
  schedule_[slot] = w;
  groups_[w.group.index()].slot = slot;
}

void GroupClocks::sift_wakeup(std::uint32_t slot, const Wakeup& w) {
  const auto earlier = [](const Wakeup& a, const Wakeup& b) { return a.ps != b.ps ? a.ps < b.ps : a.group < b.group; };
  const auto size = static_cast<std::uint32_t>(schedule_.size());
  while (slot > 0 && earlier(w, schedule_[(slot - 1) / 4])) {
    place_wakeup(slot, schedule_[(slot - 1) / 4]);
    slot = (slot - 1) / 4;
  }
  while (4 * slot + 1 < size) {
    std::uint32_t child = 4 * slot + 1;
    const std::uint32_t end = std::min(child + 4, size);
    for (std::uint32_t c = child + 1; c < end; ++c) {
      if (earlier(schedule_[c], schedule_[child])) child = c;
    }
    if (!earlier(schedule_[child], w)) break;
    place_wakeup(slot, schedule_[child]);
    slot = child;
  }
  place_wakeup(slot, w);
}

}  // namespace lockstep
