// SPDX-License-Identifier: Apache-2.0
// Small systems with their algebra: links by capacity, entities by the links they use, and the levels that must come out. Every claim is
// checked with the local re-solve forced, with the global filling forced, and with the choice left to the solver.
#include "sim/network/max_min/max_min_solver.h"

#include <gtest/gtest.h>

#include "sim/network/max_min/reference_filling.h"

namespace lockstep::max_min {
namespace {

LinkId l(std::uint32_t i) { return LinkId(i); }

class MaxMin : public ::testing::TestWithParam<Strategy> {
 protected:
  MaxMinSolver system(const std::vector<std::int64_t>& capacities) {
    std::vector<Rate> rates;
    for (const std::int64_t c : capacities) rates.push_back(Rate::units(c));
    return MaxMinSolver(rates, GetParam(), AuditScope::kEverything);
  }
  static EntityId add(MaxMinSolver& s, const std::vector<LinkShare>& shares) { return s.add(shares); }
};

std::string strategy_name(const ::testing::TestParamInfo<Strategy>& info) {
  switch (info.param) {
    case Strategy::kAuto:
      return "Auto";
    case Strategy::kLocal:
      return "Local";
    case Strategy::kGlobal:
      return "Global";
  }
  return {};
}

INSTANTIATE_TEST_SUITE_P(Strategies, MaxMin, ::testing::Values(Strategy::kAuto, Strategy::kLocal, Strategy::kGlobal),
                         strategy_name);

// One link of 10, three equals -> floor(10 / 3) = 3 each; the unit that is left goes to nobody.
TEST_P(MaxMin, RoundsSharesDownAndLeavesTheRest) {
  MaxMinSolver s = system({10});
  const EntityId a = add(s, {{l(0), 1}});
  const EntityId b = add(s, {{l(0), 1}});
  const EntityId c = add(s, {{l(0), 1}});
  s.solve();
  EXPECT_EQ(s.level(a), 3);
  EXPECT_EQ(s.level(b), 3);
  EXPECT_EQ(s.level(c), 3);
  EXPECT_EQ(s.load(l(0)), 9);
}

// Weights 1 and 3 on a link of 100 -> level 25, rates 25 and 75: fairness is on the level.
TEST_P(MaxMin, SharesByWeight) {
  MaxMinSolver s = system({100});
  const EntityId light = add(s, {{l(0), 1}});
  const EntityId heavy = add(s, {{l(0), 3}});
  s.solve();
  EXPECT_EQ(s.level(light), 25);
  EXPECT_EQ(s.level(heavy), 25);
  EXPECT_EQ(s.load(l(0)), 100);
}

// A ring of 4 members with two of its edges on link 0 (90) and one on link 1 (40): min(90 / 2, 40 / 1) = 40, load 80 and 40.
TEST_P(MaxMin, AnEntityMovesAtItsSlowestMember) {
  MaxMinSolver s = system({90, 40});
  const EntityId ring = add(s, {{l(0), 2}, {l(1), 1}});
  s.solve();
  EXPECT_EQ(s.level(ring), 40);
  EXPECT_EQ(s.load(l(0)), 80);
  EXPECT_EQ(s.bottleneck(ring), l(1));
}

// A on link 0 (10) alone, B on links 0 and 1 (4): B is held at 4 by link 1, A takes what B leaves, 6.
TEST_P(MaxMin, GivesWhatOneCannotUseToTheOther) {
  MaxMinSolver s = system({10, 4});
  const EntityId a = add(s, {{l(0), 1}});
  const EntityId b = add(s, {{l(0), 1}, {l(1), 1}});
  s.solve();
  EXPECT_EQ(s.level(b), 4);
  EXPECT_EQ(s.level(a), 6);
}

// Capacities 11 {A, B}, 5 {B}, 11 {A, Z}. With Z: link 0 would allow 5, link 2 allows 5, all at 5. Z ends: link 0 still offers
// floor(11 / 2) = 5 to both A and B and link 1 gives B 5, so A = B = 5. A test for saturation alone would raise A to 6: link 0 has a
// unit left over which belongs to nobody.
TEST_P(MaxMin, ARoundedOffRestIsNotGivenAwayWhenAnotherLinkOpens) {
  MaxMinSolver s = system({11, 5, 11});
  const EntityId a = add(s, {{l(0), 1}, {l(2), 1}});
  const EntityId b = add(s, {{l(0), 1}, {l(1), 1}});
  const EntityId z = add(s, {{l(2), 1}});
  s.solve();
  EXPECT_EQ(s.level(z), 5);
  s.remove(z);
  s.solve();
  EXPECT_EQ(s.level(a), 5);
  EXPECT_EQ(s.level(b), 5);
}

// Capacities 2 {A, C} and 12 {B, C}: C = A = 1, B = 11. A ends: C rises to 2 on link 0, so B must fall to 10 although nothing of
// B's was touched.
TEST_P(MaxMin, AnEntityThatRisesPushesDownOthersElsewhere) {
  MaxMinSolver s = system({2, 12});
  const EntityId a = add(s, {{l(0), 1}});
  const EntityId b = add(s, {{l(1), 1}});
  const EntityId c = add(s, {{l(0), 1}, {l(1), 1}});
  s.solve();
  EXPECT_EQ(s.level(a), 1);
  EXPECT_EQ(s.level(c), 1);
  EXPECT_EQ(s.level(b), 11);
  s.remove(a);
  s.solve();
  EXPECT_EQ(s.level(c), 2);
  EXPECT_EQ(s.level(b), 10);
}

// Links 0 and 1 of 7 with {A, B} and {A, C}: both freeze at floor(7 / 2) = 3 in one round. Freezing link 0 first and looking again at
// link 1 would offer C 7 - 3 = 4.
TEST_P(MaxMin, LinksAtTheSameLevelFreezeInOneRound) {
  MaxMinSolver s = system({7, 7});
  const EntityId a = add(s, {{l(0), 1}, {l(1), 1}});
  const EntityId b = add(s, {{l(0), 1}});
  const EntityId c = add(s, {{l(1), 1}});
  s.solve();
  EXPECT_EQ(s.level(a), 3);
  EXPECT_EQ(s.level(b), 3);
  EXPECT_EQ(s.level(c), 3);
}

// A dead link holds its entities at 0 and leaves the others alone; when it comes back, they move.
TEST_P(MaxMin, ADeadLinkStallsOnlyItsEntities) {
  MaxMinSolver s = system({0, 50});
  const EntityId stalled = add(s, {{l(0), 1}, {l(1), 1}});
  const EntityId other = add(s, {{l(1), 1}});
  s.solve();
  EXPECT_EQ(s.level(stalled), 0);
  EXPECT_EQ(s.level(other), 50);
  s.set_capacity(l(0), 20);
  s.solve();
  EXPECT_EQ(s.level(stalled), 20);
  EXPECT_EQ(s.level(other), 30);
}

// A cap of 9 on a weight of 2 is a private link: level floor(9 / 2) = 4, rate 8; the neighbour takes the other 92.
TEST_P(MaxMin, ARateCapIsAPrivateLink) {
  MaxMinSolver s = system({100});
  const LinkId cap = s.add_private_link(9);
  const EntityId capped = s.add(std::vector<LinkShare>{{l(0), 2}}, {cap, 2});
  const EntityId other = add(s, {{l(0), 1}});
  s.solve();
  EXPECT_EQ(s.level(capped), 4);
  EXPECT_EQ(s.level(other), 92);
  s.remove(capped);
  s.release_private_link(cap);
  s.solve();
  EXPECT_EQ(s.level(other), 100);
  EXPECT_EQ(s.add_private_link(1), cap);  // recycled
}

// 900 GB/s with 4,096 members of weight 4,096, the largest rates and coefficients in use: 900e9 x 65536 / 4096^2 = 3,515,625,000.
TEST_P(MaxMin, HoldsTheLargestRatesTimesCoefficients) {
  const Rate nvlink = Rate::bytes_per_second(900e9);
  MaxMinSolver s = system({nvlink.units()});
  const EntityId e = add(s, {{l(0), std::int64_t{4096} * 4096}});
  s.solve();
  EXPECT_EQ(s.level(e), 3'515'625'000);
}

TEST_P(MaxMin, RefusesCapacitiesThatAreNone) {
  EXPECT_THROW((void)system({-1}), InternalError);
  EXPECT_THROW((void)system({kNoLevel}), InternalError);
  MaxMinSolver s = system({10});
  EXPECT_THROW(s.set_capacity(l(0), -1), InternalError);
}

TEST_P(MaxMin, RefusesCoefficientsWhoseSumLeavesInt64) {
  MaxMinSolver s = system({10});
  constexpr std::int64_t kHalf = std::int64_t{1} << 62;
  (void)add(s, {{l(0), kHalf}});
  EXPECT_THROW((void)add(s, {{l(0), kHalf}}), InternalError);
}

// Everything that changed since the last call is reported, so that clocks and meters can follow.
TEST_P(MaxMin, ReportsMovedEntitiesAndReloadedLinks) {
  MaxMinSolver s = system({10, 4});
  const EntityId a = add(s, {{l(0), 1}});
  s.solve();
  s.clear_changes();
  const EntityId b = add(s, {{l(1), 1}});
  s.solve();
  EXPECT_EQ(std::vector<EntityId>(s.moved().begin(), s.moved().end()), std::vector<EntityId>{b});
  EXPECT_EQ(std::vector<LinkId>(s.reloaded().begin(), s.reloaded().end()), std::vector<LinkId>{l(1)});
  EXPECT_EQ(s.level(a), 10);
}

// The audit is no decoration: one unit too much for a group is refused with the numbers.
TEST_P(MaxMin, TheAuditNoticesOneUnitTooMuch) {
  MaxMinSolver s = system({10});
  (void)add(s, {{l(0), 1}});
  s.solve();
  EXPECT_NO_THROW(s.audit_everything());
  EXPECT_THROW(s.inject_excess(l(0)), InternalError);
}

// Entities on disjoint links: a local re-solve looks at the newcomer alone, however many others there are.
TEST(MaxMinLocality, SolvesOnlyAroundTheChange) {
  MaxMinSolver s(std::vector<Rate>(1000, Rate::gbps(100)), Strategy::kAuto, AuditScope::kEverything);
  for (std::uint32_t i = 0; i < 999; ++i) (void)s.add(std::vector<LinkShare>{{l(i), 1}});
  s.solve();
  const std::int64_t before = s.counts().entities_solved;
  (void)s.add(std::vector<LinkShare>{{l(999), 1}});
  s.solve();
  EXPECT_EQ(s.counts().entities_solved - before, 1);
  EXPECT_EQ(s.counts().global_fills, 0);
}

// 30 sources x 30 sinks, all pairs, ending in a scattered order: one end changes most levels, so the solver fills globally instead.
TEST(MaxMinLocality, FallsBackOnDenseTraffic) {
  MaxMinSolver s(std::vector<Rate>(60, Rate::gbps(100)), Strategy::kAuto, AuditScope::kTouched);
  std::vector<EntityId> entities;
  for (std::uint32_t i = 0; i < 30; ++i) {
    for (std::uint32_t j = 30; j < 60; ++j) entities.push_back(s.add(std::vector<LinkShare>{{l(i), 1}, {l(j), 1}}));
  }
  s.solve();
  for (std::size_t i = 0; i < entities.size(); ++i) {
    s.remove(entities[(i * 467) % entities.size()]);  // 467 and 900 have no common factor
    s.solve();
  }
  EXPECT_GT(s.counts().global_fills, 100);
}

// The reference itself: two rounds by hand. Links 6 {A, B, C}, 10 {C, D}: round 1 at 2 freezes A, B, C; then D gets 8.
TEST(ReferenceFilling, FreezesRoundByRound) {
  const std::vector<std::int64_t> capacities = {6, 10};
  const std::vector<std::vector<LinkShare>> entities = {{{l(0), 1}}, {{l(0), 1}}, {{l(0), 1}, {l(1), 1}}, {{l(1), 1}}};
  EXPECT_EQ(reference_filling(capacities, entities), (std::vector<std::int64_t>{2, 2, 2, 8}));
}

}  // namespace
}  // namespace lockstep::max_min
