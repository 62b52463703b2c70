// SPDX-License-Identifier: Apache-2.0
// Shipped scenarios with and without symmetry, as they are and scaled to 2,048 GPUs: every number of the result is the same.
#include <gtest/gtest.h>

#include "tests/support/random_scenarios.h"

namespace lockstep {
namespace {

constexpr std::int64_t kMostGpus = 2'048;

void expect_same(const Scenario& s) {
  for (const NetworkKind network : {NetworkKind::kFlow, NetworkKind::kAnalytic}) {
    const auto run = [&](bool uses_symmetry) {
      return run_job(s.spec.cluster, s.plan,
                     {.network = network, .seed = 3, .uses_symmetry = uses_symmetry, .compares_with_ideal = false});
    };
    EXPECT_EQ(test::first_difference(run(true), run(false)), "") << s.spec.cluster.gpus() << " GPUs";
  }
}

std::vector<std::string> names(bool (*is_wanted)(const Scenario&)) {
  std::vector<std::string> out;
  for (const ConfigEntry& e : test::shipped().entries("scenario")) {
    if (is_wanted(test::scenario(e.name))) out.push_back(e.name);
  }
  return out;
}

std::string test_name(const ::testing::TestParamInfo<std::string>& of) {
  std::string name = of.param;
  for (char& c : name) c = std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
  return name;
}

class ShippedScenario : public ::testing::TestWithParam<std::string> {};

TEST_P(ShippedScenario, IsTheSameWithoutSymmetry) { expect_same(test::scenario(GetParam())); }

INSTANTIATE_TEST_SUITE_P(AsItIs, ShippedScenario, ::testing::ValuesIn(names([](const Scenario& s) {
                           return s.spec.job && s.spec.cluster.gpus() <= kMostGpus;
                         })),
                         test_name);

class ScaledScenario : public ::testing::TestWithParam<std::string> {};

TEST_P(ScaledScenario, IsTheSameWithoutSymmetry) {
  const Scenario s = test::scenario(GetParam());
  const std::int64_t nodes = kMostGpus / s.spec.cluster.server->gpus;
  for (const std::string routing : {"spray", "ecmp"}) {
    SCOPED_TRACE(routing);
    expect_same(test::scenario(GetParam(), {"cluster.nodes=" + std::to_string(nodes), "cluster.routing=" + routing}));
  }
}

INSTANTIATE_TEST_SUITE_P(On2048Gpus, ScaledScenario, ::testing::ValuesIn(names([](const Scenario& s) {
                           return s.spec.job && s.spec.job->dp.is_auto() && kMostGpus % (s.spec.job->tp * s.spec.job->pp) == 0;
                         })),
                         test_name);

}  // namespace
}  // namespace lockstep
