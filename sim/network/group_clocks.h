// SPDX-License-Identifier: Apache-2.0
// When transfers end. All members of a group (max_min: the entities frozen by one link) move at the same level, so they share
// one virtual clock, the integral of the level over picoseconds. Moving b bytes at weight w takes
//
//   work = max(1, ceil(b x 2^16 x 10^12 / w))            level x picoseconds
//
// of that clock (a rate unit is 2^-16 byte/s); a member ends at the first whole picosecond at which its clock has advanced by its work.
// The 1 makes a transfer of no bytes end one picosecond after it began, and never on a dead link. A change of level costs one
// rescheduled event per group; a member that changes groups takes its remaining work along. All of it is exact in 128 bits
// (work < 2^120, clock < 2^63 level x 2^63 ps), so no tick depends on how members were grouped.
#pragma once

#include <cstdint>
#include <vector>

#include "base/time.h"
#include "sim/network/max_min/share_table.h"

namespace lockstep {

class GroupClocks {
 public:
  using EntityId = max_min::EntityId;

  // PRE: bytes >= 0, weight > 0.
  [[nodiscard]] static Int128 work_of(std::int64_t bytes, std::int64_t weight);

  explicit GroupClocks(std::size_t groups) : groups_(groups) {}

  // The entity begins in `group` with `work` to do. insert(), move() and mark() make groups stale; they must be refreshed
  // before time passes.
  void insert(EntityId e, LinkId group, Int128 work, Instant now);
  void move(EntityId e, LinkId group, Instant now);
  // The entity leaves before its end. PRE: contains(e).
  void remove(EntityId e, Instant now);
  [[nodiscard]] bool contains(EntityId e) const { return e.index() < members_.size() && !members_[e.index()].group.is_none(); }
  [[nodiscard]] LinkId group_of(EntityId e) const { return members_[e.index()].group; }
  // The level of the group has changed.
  void mark(LinkId group);
  // From now on the clocks of stale groups advance by level_of(group) a picosecond.
  template <class LevelOf>
  void refresh(Instant now, const LevelOf& level_of) {
    for (const LinkId g : stale_) set_rate(g, level_of(g), now);
    stale_.clear();
  }

  // The earliest end among all members, never() when there is none within the range of time.
  [[nodiscard]] Instant next() const;
  // The group that next() belongs to. PRE: next() is not never().
  [[nodiscard]] LinkId next_group() const { return schedule_.front().group; }
  // Removes a member that ends at `now`, none when there is none. Throws InternalError when one should have ended before.
  [[nodiscard]] EntityId pop_due(Instant now);
  [[nodiscard]] Int128 remaining_work(EntityId e, Instant now) const;

  // Everything happens this much later.
  void postpone(Duration by);

  // Proves that every member ends later than `now` and that its group is scheduled for its first end. O(members).
  void audit(Instant now) const;
  // Fault injection for tests: forgets to schedule the group.
  void inject_lost_wakeup(LinkId group);

 private:
  static constexpr std::uint32_t kUnscheduled = ~std::uint32_t{0};

  struct Target {
    Int128 clock = 0;
    EntityId entity;
  };
  struct Group {
    Int128 clock = 0;  // at `since`
    std::int64_t since_ps = 0;
    std::int64_t rate = 0;
    std::vector<Target> ends;           // min-heap by clock
    std::uint32_t slot = kUnscheduled;  // in schedule_
    bool is_stale = false;
  };
  struct Member {
    LinkId group;                // none: not in flight
    std::uint32_t position = 0;  // in ends
  };
  struct Wakeup {
    std::int64_t ps = 0;
    LinkId group;
  };

  Group& group(LinkId id);
  Group& advanced(LinkId id, Instant now);
  void set_rate(LinkId id, std::int64_t level, Instant now);
  void push_end(Group& g, LinkId id, Target t);
  Target remove_end(Group& g, std::uint32_t position);
  void place_end(Group& g, std::uint32_t position, const Target& t);
  void sift_end_up(Group& g, std::uint32_t position, const Target& t);
  void sift_end_down(Group& g, std::uint32_t position, const Target& t);
  [[nodiscard]] std::int64_t first_end_ps(const Group& g) const;
  void schedule(LinkId id, Group& g, std::int64_t ps);
  void place_wakeup(std::uint32_t slot, const Wakeup& w);
  void sift_wakeup(std::uint32_t slot, const Wakeup& w);

  std::vector<Group> groups_;     // by link
  std::vector<Member> members_;   // by entity
  std::vector<Wakeup> schedule_;  // min-heap by (ps, group), four children a node
  std::vector<LinkId> stale_;
};

}  // namespace lockstep
