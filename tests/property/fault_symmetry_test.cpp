// SPDX-License-Identifier: Apache-2.0
// Failures between switches in the middle of a step, noticed while transfers are under way: one for all equals and everyone for himself
// give the same integers, whatever is rerouted and however often.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <sstream>

#include "tests/support/random_scenarios.h"

namespace lockstep {
namespace {

RunResult run(const test::RandomScenario& s, bool uses_symmetry) {
  return run_job(s.cluster, s.plan,
                 {.network = s.network,
                  .seed = s.seed,
                  .tie_seed = uses_symmetry ? std::nullopt : std::optional<std::uint64_t>(s.seed),
                  .uses_symmetry = uses_symmetry,
                  .compares_with_ideal = false});
}

std::vector<LinkId> trunks_of(const Network& net) {
  std::vector<LinkId> out;
  for (std::size_t l = net.first_fabric_link().index(); l < net.link_count(); ++l) {
    const LinkId id = LinkId::from_index(l);
    if (net.link(id).from >= net.first_switch() && net.link(id).to >= net.first_switch()) out.push_back(id);
  }
  return out;
}

// Dead from somewhere in the step on, for a part of it.
FaultSpec draw_failure(const Network& net, const std::vector<LinkId>& trunks, std::int64_t step_ps) {
  const LinkId link = trunks[static_cast<std::size_t>(test::draw(0, std::ssize(trunks) - 1))];
  FaultSpec f{.state = FaultState::kFailed};
  if (test::draw_chance(3)) {
    f.switch_name = net.name(net.link(link).to);
  } else {
    f.link = net.name(link);
  }
  const Duration from = Duration::picos(step_ps / 100 * test::draw(0, 99));
  const Duration lasts = Duration::picos(1 + step_ps / 100 * test::draw_one({1, 5, 30}));
  f.from = from;
  f.until = from + lasts;
  // Up for three quarters of a period at least: of three failures some time is left when none is there, or a collective of equal rates never ends.
  if (test::draw_chance(3))
    f.every = lasts + lasts + lasts + lasts + Duration::picos(1 + step_ps / 100 * test::draw_one({2, 20}));
  return f;
}

TEST(FaultSymmetry, WhatIsReroutedIsTheSameForAllEquals) {
  std::int64_t runs = 0;
  std::int64_t rerouted = 0;
  const auto property = [&] {
    test::RandomScenario s = test::draw_scenario();
    s.cluster.faults.clear();
    const Network net = build_healthy_network(s.cluster);
    const std::vector<LinkId> trunks = trunks_of(net);
    RC_PRE(!trunks.empty());
    const auto step_ps = static_cast<std::int64_t>(run(s, true).step_time_s * 1e12);
    for (std::int64_t n = test::draw(1, 3); n > 0; --n) s.cluster.faults.push_back(draw_failure(net, trunks, step_ps));
    s.cluster.reroute_after = Duration::picos(step_ps / 1000 * test::draw_one({0, 1, 20}));
    RC_LOG() << test::to_yaml(s);
    const RunResult classes = run(s, true);
    RC_ASSERT(test::first_difference(classes, run(s, false)) == "");
    ++runs;
    rerouted += std::any_of(classes.faults.begin(), classes.faults.end(), [](const FaultReport& f) { return f.rerouted > 0; });
  };
  rc::detail::TestParams params = rc::detail::configuration().testParams;
  params.maxSuccess = 150;
  params.maxSize = 100;
  const rc::detail::TestResult result = rc::detail::checkTestable(property, rc::detail::TestMetadata(), params);
  std::ostringstream message;
  rc::detail::printResultMessage(result, message);
  ASSERT_TRUE(result.is<rc::detail::SuccessResult>()) << message.str();
  EXPECT_GT(rerouted, runs / 5);
  std::printf("in %lld of %lld runs transfers were rerouted\n", static_cast<long long>(rerouted), static_cast<long long>(runs));
}

}  // namespace
}  // namespace lockstep
