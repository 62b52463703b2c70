// SPDX-License-Identifier: Apache-2.0
// What the host adds to an operation: fuse() and Kernel::host in the runtime. Times in ms.
#include <gtest/gtest.h>

#include "sim/network/flow_network.h"
#include "sim/runtime/runtime.h"
#include "tests/support/script_program.h"
#include "tests/support/workload_fixtures.h"
#include "topology/network.h"
#include "workloads/kernels/roofline.h"

namespace lockstep {
namespace {

using test::ScriptProgram;

constexpr double kPort = 100e9;  // byte/s

Duration us(std::int64_t n) { return Duration::micros(n); }

// 1 TB/s, 1 ms for an operation of the framework.
GpuPerformance slowly_started_gpu() {
  GpuPerformance gpu = test::ideal_gpu();
  gpu.host.launch_s = 1e-3;
  return gpu;
}

KernelWork kernel(double gpu_ms, double operations) {
  KernelWork work = memory_kernel("k", gpu_ms * 1e9);
  work.operations = operations;
  return work;
}

// 3 on the GPU and 4 operations of 1 on the host: the root of 3^2 + 4^2 is 5, of which 5 - 3 = 2 are the host's.
TEST(HostCosts, AnOperationTakesTheRootOfTheSquares) {
  const KernelWork parts[] = {kernel(3, 4)};
  const Kernel k = fuse("k", parts, slowly_started_gpu());
  EXPECT_EQ(k.time, us(5000));
  EXPECT_EQ(k.host, us(2000));
}

// Kernels of 2 + 1 + 0 that take 0 + 1 + 3 to start: sums first, for the host runs ahead inside an operation; one by one it were
// 2 + 1.414 + 3.
TEST(HostCosts, KernelsOfAnOperationAddUpBeforeTheyAreCompared) {
  const KernelWork parts[] = {kernel(2, 0), kernel(1, 1), kernel(0, 3)};
  EXPECT_EQ(fuse("k", parts, slowly_started_gpu()).time, us(5000));
}

// Of 8 and 6, 10: the smaller of the two adds 2, where the larger alone would have hidden it.
TEST(HostCosts, AHostFasterThanTheGpuAddsAPart) {
  const KernelWork parts[] = {kernel(8, 6)};
  EXPECT_EQ(fuse("k", parts, slowly_started_gpu()).host, us(2000));
}

// A launch that waits for the GPU hides nothing: 3 and 4 are 7.
TEST(HostCosts, LaunchesThatWaitComeOnTop) {
  GpuPerformance gpu = slowly_started_gpu();
  gpu.host.is_synchronous = true;
  const KernelWork parts[] = {kernel(3, 4)};
  EXPECT_EQ(fuse("k", parts, gpu).time, us(7000));
  EXPECT_EQ(fuse("k", parts, gpu).host, us(4000));
}

// The time is that on the GPU to the picosecond; the range of time holds both.
TEST(HostCosts, AHostWithoutCostsAddsNothing) {
  const KernelWork parts[] = {memory_kernel("a", 1234567891)};
  const Kernel k = fuse("k", parts, test::ideal_gpu());
  EXPECT_EQ(k.time, kernel_duration(kernel_seconds(test::ideal_gpu(), parts[0])));
  EXPECT_EQ(k.host, Duration());
  const KernelWork endless[] = {kernel(1e20, 1)};
  EXPECT_EQ(fuse("k", endless, slowly_started_gpu()).host, Duration());
}

// A box of 8 GPUs without latencies. Slow-downs by rank, per mille.
RuntimeResult run(const ScriptProgram& program, double comm_slowdown, std::vector<std::int64_t> slowdowns) {
  const Network net(
      {.nodes = 1, .server = NvSwitchServer({.gpus = 8, .nics = 0, .nvlink = Wire::pure(Rate::bytes_per_second(kPort), {})})});
  const Router router(net, RoutingPolicy::kStatic, 0);
  std::vector<EndpointId> placement;
  for (std::uint32_t r = 0; r < program.world_size(); ++r) placement.push_back(EndpointId(r));
  const PlacedJob placed = place_job(program, placement, router, std::move(slowdowns));
  const Partition partition = coarsest_partition(placed);
  const ReducedJob job(placed, partition);
  FlowNetwork network(job.link_capacities());
  CollectiveTuning tuning;
  tuning.nvlink = Rate::bytes_per_second(kPort);
  return run_program({.program = program,
                      .job = job,
                      .network = network,
                      .tunings = {tuning, tuning, tuning},
                      .comm_slowdown = comm_slowdown});
}

double ms(const RuntimeResult& r, TimeClass c) { return 1e3 * r.jobs[0].breakdown_s[static_cast<std::size_t>(c)]; }

// Three of 5, 2 of each the host's: 9 compute, 6 host.
TEST(HostCosts, ARunTellsThePartOfTheHost) {
  ScriptProgram p(1);
  const KernelId k = p.started_by_host(us(5000), us(2000));
  for (int i = 0; i < 3; ++i) p.compute(0, k);
  const RuntimeResult r = run(p, 0, {});
  EXPECT_EQ(r.step_time, us(15'000));
  EXPECT_DOUBLE_EQ(ms(r, TimeClass::kCompute), 9);
  EXPECT_DOUBLE_EQ(ms(r, TimeClass::kHost), 6);
}

// A GPU that takes a quarter longer takes 5 for 4, and 2.5 of that for the 2 of the host.
TEST(HostCosts, TheHostOfASlowGpuIsAsSlow) {
  ScriptProgram p(1);
  p.compute(0, p.started_by_host(us(4000), us(2000)));
  const RuntimeResult r = run(p, 0, {250});
  EXPECT_EQ(r.step_time, us(5000));
  EXPECT_DOUBLE_EQ(ms(r, TimeClass::kHost), 2.5);
}

// An all-reduce of 100 MB over 2 ranks takes 100 MB / 100 GB/s = 1, in which a kernel of 4 does .5 at half speed: 1 + 3.5 = 4.5 in all,
// of which 1 is the host's still.
TEST(HostCosts, ACollectiveSlowsTheKernelAndNotItsHost) {
  ScriptProgram p(2);
  const CommId all = p.comm_of_all();
  const KernelId k = p.started_by_host(us(4000), us(1000));
  for (std::uint32_t r = 0; r < 2; ++r) {
    p.collective(r, Stream::kTp, CollectiveKind::kAllReduce, all, 100'000'000);
    p.compute(r, k);
  }
  const RuntimeResult r = run(p, 1, {});
  EXPECT_NEAR(static_cast<double>(r.step_time.picos()), 4.5e9, 2);  // a transfer ends within a picosecond, rounded up
  EXPECT_DOUBLE_EQ(ms(r, TimeClass::kHost), 1);
  EXPECT_DOUBLE_EQ(ms(r, TimeClass::kCompute) + ms(r, TimeClass::kHost), r.step_time.seconds() * 1e3);
}

}  // namespace
}  // namespace lockstep
