// SPDX-License-Identifier: Apache-2.0
// VGG-16 known by its gradient bytes and its time per image, data parallel over two nodes of eight GPUs and one slow NIC each.
//
// 64 images take F forward and B backward in 16 equal parts; a ring all-reduce of S bytes over n = 16 GPUs and one NIC of rate r takes
// a(S) = 2 (n-1)/n S / r. The last part is ready, and leaves, after B/16. Where the network decides it never rests from then on:
//
//   with overlap     F + B/16 + a(all)        without overlap     F + B + a(all)
//
// and one node hides all but a part of B.
#include <gtest/gtest.h>

#include "sim/experiment/job_run.h"
#include "tests/support/shipped.h"

namespace lockstep {
namespace {

RunResult vgg(std::vector<std::string> assignments) {
  Diagnostics d;
  ReadContext context(d, &test::shipped());
  const auto s = load_scenario({.cluster = "dgx-a100", .job = "vgg-16", .assignments = std::move(assignments)}, context);
  if (!s) throw std::runtime_error(test::messages(d));
  return run_job(s->spec.cluster, s->plan, {.compares_with_ideal = false});
}

constexpr double kImageSeconds = 4.167e-3;
constexpr double kForward = 64 * kImageSeconds / 3;
constexpr double kBackward = 2 * kForward;
constexpr double kGradientBytes = 4.0 * 138'357'544;

class ProfileOnSlowEthernet : public ::testing::TestWithParam<int> {};

TEST_P(ProfileOnSlowEthernet, IsWhatComesFirstAndThenTheNetwork) {
  const int gbps = GetParam();
  const double all = 2 * (15.0 / 16) * kGradientBytes / (gbps * 1e9 / 8 * 0.94);
  const std::string network = "cluster.network=tcp-1x" + std::to_string(gbps);
  const RunResult with = vgg({"cluster.nodes=2", network});
  EXPECT_NEAR(with.step_time_s / (kForward + kBackward / 16 + all), 1, 0.01);
  const RunResult without = vgg({"cluster.nodes=2", network, "job.overlap_grad_reduce=false"});
  EXPECT_NEAR(without.step_time_s / (kForward + kBackward + all), 1, 0.01);
}

INSTANTIATE_TEST_SUITE_P(Gbps, ProfileOnSlowEthernet, ::testing::Values(1, 5, 10));

// 64 images on each of 8 or 16 GPUs: with a(all) well above F + B two nodes do fewer images a second than one.
TEST(Profile, TwoNodesAreSlowerThanOneOnSlowEthernet) {
  const double one = *vgg({"cluster.nodes=1"}).samples_per_s;
  EXPECT_LT(*vgg({"cluster.nodes=2", "cluster.network=tcp-1x10"}).samples_per_s, one);
  EXPECT_GT(*vgg({"cluster.nodes=2", "cluster.network=ib-8x100"}).samples_per_s, 1.9 * one);
}

}  // namespace
}  // namespace lockstep
