// SPDX-License-Identifier: Apache-2.0
// Llama-3.2 1B, data parallel over two nodes with BF16 gradients: DDP against a distributed optimizer, whose exposed time can be written
// down.
//
// Ring over n = 16 GPUs on 2 nodes, C NICs each at payload rate r: a gather or scatter of S bytes takes t(S) = a + T + sqrt(fill T), T = (n-1)/n S / (C r), an
// all-reduce as good as 2 t(S), but for one fill of 2 T instead of two of T; a is launch, base and n-1 steps, 14 inside nodes and one between, and fill the pipeline. With W bytes of weights and as many of gradients, and nothing overlapped:
//
//   DDP                      exposed 2 t(W), optimizer on all weights
//   distributed optimizer    exposed t(W) + t(W), optimizer on 1/n of them
//
// Overlapped, layers hide the buckets between the ends (a layer computes 2 ms forward and gathers 0.3 ms). Exposed are the bucket that
// forward needs first, which is the one backward finishes last, with B bytes: t(B) at the start and t(B) at the end.
#include <gtest/gtest.h>

#include <cmath>

#include <algorithm>

#include "sim/experiment/job_run.h"
#include "tests/support/shipped.h"
#include "workloads/schedule/buckets.h"

namespace lockstep {
namespace {

RunResult run(std::vector<std::string> sets) {
  sets.insert(sets.begin(), {"cluster=dgx-h100", "cluster.nodes=2"});
  const Scenario s = test::scenario("llama3.2-1b-ddp", sets);
  return run_job(s.spec.cluster, s.plan, {.compares_with_ideal = false});
}

double dp_seconds(const RunResult& r) { return r.breakdown_s[static_cast<std::size_t>(TimeClass::kDp)]; }

// t(S) on eight NICs of 400 Gbps, or on NVLink where that is slower; of an all-reduce, which passes twice and fills its pipeline once.
double ring_seconds(double bytes, int passes = 1) {
  const ClusterSpec cluster = test::cluster("dgx-h100", {"nodes=2"});
  const double n = 16;
  const NetworkSpec& net = *cluster.network;
  const NvlinkSpec& nvlink = *cluster.server->gpu.nvlink;
  const double nics = net.nic_rate.bytes_per_second() * net.payload_efficiency.value * cluster.ports_per_node();
  const double port = nvlink.payload().bytes_per_second() * (1 - nvlink.ring_drain.value / n);
  // Simple: 14 steps inside nodes, 3 us each at least, and one between them.
  const double latency = 8e-6 + 8.4e-6 + passes * (14 * 3e-6 + 14e-6);
  const double transfer = passes * (n - 1) / n * bytes / std::min(nics, port);
  const double fill = cluster.tuning.of(GpuGeneration::kHopper).fill.seconds() + net.pipeline_fill.seconds();
  return latency + transfer + std::sqrt(fill * transfer);
}

double bytes_of_busiest_link(const RunResult& r) { return static_cast<double>(r.links.at(0).bytes); }

const std::string kOneBucket = "job.bucket_size=100 GB";

TEST(DistributedOptimizerOnTwoNodes, SendsWhatDdpSends) {
  const RunResult ddp = run({});
  const RunResult sharded = run({"job.distributed_optimizer=true"});
  EXPECT_NEAR(bytes_of_busiest_link(sharded) / bytes_of_busiest_link(ddp), 1, 1e-6);  // padding to 16 shards aside
}

TEST(DistributedOptimizerOnTwoNodes, WithoutOverlapExposesAScatterAndAGatherOfEverything) {
  const Scenario s = test::scenario("llama3.2-1b-ddp", {});
  const double weights = 2.0 * static_cast<double>(parameter_count(s.spec.job->model));
  const RunResult sharded =
      run({"job.distributed_optimizer=true", "job.overlap_grad_reduce=false", "job.overlap_param_gather=false", kOneBucket});
  EXPECT_NEAR(dp_seconds(sharded) / (2 * ring_seconds(weights)), 1, 0.02) << dp_seconds(sharded);
  const RunResult ddp = run({"job.overlap_grad_reduce=false", kOneBucket, "job.first_bucket_size=100 GB"});
  EXPECT_NEAR(dp_seconds(ddp) / ring_seconds(weights, 2), 1, 0.02) << dp_seconds(ddp);
}

TEST(DistributedOptimizerOnTwoNodes, OverlappedExposesTheBucketAtTheEnds) {
  const RunResult r = run({"job.distributed_optimizer=true"});
  const Scenario s =
      test::scenario("llama3.2-1b-ddp", {"cluster=dgx-h100", "cluster.nodes=2", "job.distributed_optimizer=true"});
  const auto last = static_cast<double>(gradient_buckets(s.plan, 0).back().bytes);
  EXPECT_NEAR(dp_seconds(r) / (2 * ring_seconds(last)), 1, 0.02) << dp_seconds(r) << " s, bucket " << last;
}

}  // namespace
}  // namespace lockstep
