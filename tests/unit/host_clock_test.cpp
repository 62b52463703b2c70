// SPDX-License-Identifier: Apache-2.0
// The host that starts kernels: sim/runtime/host_clock.h. Times in ms.
#include "sim/runtime/host_clock.h"

#include <gtest/gtest.h>

#include <functional>

#include "sim/network/flow_network.h"
#include "sim/runtime/runtime.h"
#include "tests/support/script_program.h"
#include "topology/network.h"

namespace lockstep {
namespace {

using test::ScriptProgram;

constexpr std::int64_t kMiB = std::int64_t{1} << 20;
constexpr double kPort = 100e9;  // byte/s

Duration ms(std::int64_t n) { return Duration::micros(1000 * n); }
Instant at(std::int64_t n) { return Instant() + ms(n); }

// One box of 8 GPUs without latencies.
RuntimeResult run(const ScriptProgram& program, std::optional<std::uint64_t> tie_seed = {}) {
  const Network net(
      {.nodes = 1, .server = NvSwitchServer({.gpus = 8, .nics = 0, .nvlink = Wire::pure(Rate::bytes_per_second(kPort), {})})});
  const Router router(net, RoutingPolicy::kStatic, 0);
  std::vector<EndpointId> placement;
  for (std::uint32_t r = 0; r < program.world_size(); ++r) placement.push_back(EndpointId(r));
  const PlacedJob placed = place_job(program, placement, router);
  const Partition partition = coarsest_partition(placed);
  const ReducedJob job(placed, partition);
  FlowNetwork network(job.link_capacities());
  CollectiveTuning tuning;
  tuning.nvlink = Rate::bytes_per_second(kPort);
  return run_program(
      {.program = program, .job = job, .network = network, .tunings = {tuning, tuning, tuning}, .tie_seed = tie_seed});
}

double of(const RuntimeResult& r, TimeClass c) { return r.jobs[0].breakdown_s[static_cast<std::size_t>(c)]; }

// The host adds up what it starts; it is never more than 20 ms ahead, and where it waits for the GPU it is not ahead at all.
TEST(HostClock, RunsAheadOfTheGpuAndWaitsForIt) {
  HostClock host;
  EXPECT_EQ(host.start(at(0), ms(2)), at(2));
  EXPECT_EQ(host.start(at(10), ms(2)), at(4));
  EXPECT_EQ(host.lead(at(10)), ms(0) - ms(6));
  EXPECT_EQ(host.start(at(100), ms(2)), at(82));  // 80 is 20 before 100
  host.synchronise(at(101));
  EXPECT_EQ(host.start(at(101), ms(2)), at(103));
  EXPECT_EQ(host.lead(at(101)), ms(2));
}

// Three kernels of 1 on the GPU and 2 on the host end at 2, 4, 6: 1 of every 2 is waiting for the host.
TEST(HostClock, ShortKernelsTakeAsLongAsStartingThem) {
  ScriptProgram p(1);
  const KernelId k = p.started_by_host(ms(1), ms(2));
  for (int i = 0; i < 3; ++i) p.compute(0, k);
  const RuntimeResult r = run(p);
  EXPECT_EQ(r.step_time, ms(6));
  EXPECT_DOUBLE_EQ(of(r, TimeClass::kCompute), 3e-3);
  EXPECT_DOUBLE_EQ(of(r, TimeClass::kHost), 3e-3);
}

// One of 10 is started within 1; the host then starts three short ones by 10, when the GPU comes to them: 10 + 3.
TEST(HostClock, ALongKernelHidesTheStartOfThoseBehindIt) {
  ScriptProgram p(1);
  p.compute(0, p.started_by_host(ms(10), ms(1)));
  const KernelId k = p.started_by_host(ms(1), ms(3));
  for (int i = 0; i < 3; ++i) p.compute(0, k);
  const RuntimeResult r = run(p);
  EXPECT_EQ(r.step_time, ms(13));
  EXPECT_DOUBLE_EQ(of(r, TimeClass::kHost), 0);
}

// Two kernels of 1 that take the host 4 each, an all-reduce of 1.05 between them: the host goes on meanwhile, 8 in all and not 9.05.
TEST(HostClock, ACollectiveHidesBehindTheHost) {
  ScriptProgram p(2);
  const CommId all = p.comm_of_all();
  const KernelId k = p.started_by_host(ms(1), ms(4));
  for (std::uint32_t r = 0; r < 2; ++r) {
    p.compute(r, k);
    p.wait(r, Stream::kTp, Stream::kCompute, 1);
    p.collective(r, Stream::kTp, CollectiveKind::kAllReduce, all, 100 * kMiB);
    p.wait(r, Stream::kCompute, Stream::kTp, 2);
    p.compute(r, k);
  }
  const RuntimeResult r = run(p);
  EXPECT_EQ(r.step_time, ms(8));
  EXPECT_NEAR(of(r, TimeClass::kTp), 100.0 * kMiB / kPort, 1e-11);
  EXPECT_NEAR(of(r, TimeClass::kCompute) + of(r, TimeClass::kTp) + of(r, TimeClass::kHost), 8e-3, 1e-11);
  EXPECT_EQ(run(p, 7).totals.fingerprint, r.totals.fingerprint);
}

// A kernel of 10 lets the host run ahead, a message that came long ago stops it at 10 all the same: 5 more to start the next one.
TEST(HostClock, AMessageFromAnotherStageStopsTheHost) {
  ScriptProgram p(2);
  p.send(0, 1, kMiB);
  p.compute(1, p.started_by_host(ms(10), ms(1)));
  p.receive(1, 0, kMiB);
  p.wait(1, Stream::kCompute, Stream::kPpRecvPrev, 1);
  p.compute(1, p.started_by_host(ms(1), ms(5)));
  EXPECT_EQ(run(p).step_time, ms(15));
}

// An operation that awaits the GPU is started after the 10 before it.
TEST(HostClock, AnOperationThatAwaitsTheGpuIsStartedAfterIt) {
  ScriptProgram p(1);
  p.compute(0, p.started_by_host(ms(10), ms(1)));
  p.compute(0, p.started_by_host(ms(1), ms(5), true));
  EXPECT_EQ(run(p).step_time, ms(15));
}

}  // namespace
}  // namespace lockstep
