// SPDX-License-Identifier: Apache-2.0
#include "sim/runtime/runtime.h"

#include <gtest/gtest.h>

#include <numeric>

#include "base/diagnostics.h"
#include "sim/network/flow_network.h"
#include "sim/network/ideal_network.h"
#include "tests/support/script_program.h"
#include "topology/network.h"

namespace lockstep {
namespace {

using test::ScriptProgram;

constexpr std::int64_t kMiB = std::int64_t{1} << 20;
constexpr double kPort = 100e9;  // NVLink port, byte/s

// One box of 8 GPUs; latencies of the collectives are zero so that the algebra stays plain.
struct Box {
  Network net = Network(
      {.nodes = 1, .server = NvSwitchServer({.gpus = 8, .nics = 0, .nvlink = Wire::pure(Rate::bytes_per_second(kPort), {})})});
  Router router{net, RoutingPolicy::kStatic, 0};
  std::vector<EndpointId> placement;

  explicit Box(std::size_t ranks) {
    for (std::size_t i = 0; i < ranks; ++i) placement.push_back(EndpointId::from_index(i));
  }
  template <class Model>
  RuntimeResult run(const Program& program, double slowdown = 0, std::optional<std::uint64_t> tie_seed = {}) const {
    const PlacedJob placed = place_job(program, placement, router);
    const Partition partition = coarsest_partition(placed);
    EXPECT_TRUE(is_equitable(placed, partition));
    const ReducedJob job(placed, partition);
    if constexpr (std::is_same_v<Model, IdealNetwork>) {
      IdealNetwork ideal;
      return run_on(ideal, program, job, slowdown, tie_seed);
    } else {
      Model network(job.link_capacities());
      return run_on(network, program, job, slowdown, tie_seed);
    }
  }
  static RuntimeResult run_on(NetworkModel& network, const Program& program, const ReducedJob& job, double slowdown,
                              std::optional<std::uint64_t> tie_seed) {
    CollectiveTuning tuning;
    tuning.nvlink = Rate::bytes_per_second(kPort);
    return run_program({.program = program,
                        .job = job,
                        .network = network,
                        .tunings = {tuning, tuning, tuning},
                        .comm_slowdown = slowdown,
                        .tie_seed = tie_seed});
  }
  RuntimeResult flow(const Program& program, double slowdown = 0, std::optional<std::uint64_t> tie_seed = {}) const {
    return run<FlowNetwork>(program, slowdown, tie_seed);
  }
};

double of(const RuntimeResult& r, TimeClass c) { return r.jobs[0].breakdown_s[static_cast<std::size_t>(c)]; }

// Two kernels one after the other: 3 + 4 ms, all of it compute.
TEST(Runtime, KernelsOfAStreamRunInOrder) {
  const Box box(1);
  ScriptProgram p(1);
  p.compute(0, p.kernel(Duration::micros(3000)));
  p.compute(0, p.kernel(Duration::micros(4000)));
  const RuntimeResult r = box.flow(p);
  EXPECT_EQ(r.step_time, Duration::micros(7000));
  EXPECT_DOUBLE_EQ(of(r, TimeClass::kCompute), 7e-3);
}

// all_reduce of S on 2 GPUs moves S over each port: S / B. 100 MiB at 100 GB/s = 1.048576 ms, all of it waited for.
TEST(Runtime, ABlockingCollectiveIsExposed) {
  const Box box(2);
  ScriptProgram p(2);
  const CommId all = p.comm_of_all();
  for (std::uint32_t r = 0; r < 2; ++r) {
    p.collective(r, Stream::kTp, CollectiveKind::kAllReduce, all, 100 * kMiB);
    p.wait(r, Stream::kCompute, Stream::kTp, 1);
  }
  const RuntimeResult r = box.flow(p);
  EXPECT_NEAR(r.step_time.seconds(), 100.0 * kMiB / kPort, 1e-11);
  EXPECT_NEAR(of(r, TimeClass::kTp), 100.0 * kMiB / kPort, 1e-11);
  EXPECT_EQ(r.totals.collectives, 1);
}

// Halving and doubling on 8 GPUs: S/2 + S/4 + S/8 out and back, six stages. Two of them at a time share every port in every stage, so each takes
// twice as long; ranks see one collective from the first stage to the last.
TEST(Runtime, StagesRunOneAfterAnotherAndShareLinks) {
  const Box box(8);
  const auto run = [&box](int collectives) {
    ScriptProgram p(8);
    p.run_by(Algorithm::kHalvingDoubling);
    const CommId tp = p.comm_of_all();
    const CommId dp = p.comm_of_all();
    for (std::uint32_t r = 0; r < 8; ++r) {
      p.collective(r, Stream::kTp, CollectiveKind::kAllReduce, tp, 80 * kMiB);
      if (collectives > 1) p.collective(r, Stream::kDpReduce, CollectiveKind::kAllReduce, dp, 80 * kMiB);
      p.wait(r, Stream::kCompute, Stream::kTp, 1);
    }
    return box.flow(p, 0, 7);
  };
  const double alone = 1.75 * 80 * kMiB / kPort;
  EXPECT_NEAR(run(1).step_time.seconds(), alone, 1e-11);
  EXPECT_NEAR(of(run(1), TimeClass::kTp), alone, 1e-11);
  EXPECT_NEAR(run(2).step_time.seconds(), 2 * alone, 1e-11);
  EXPECT_EQ(run(1).totals.collectives, 1);
  EXPECT_EQ(run(1).totals.events, 6 + 8 + 8);  // transfers; collectives and waits of the ranks
}

// A reduce_scatter leaves trees to all_reduce and runs as a ring, 7/8 S; asked for alone, nothing is left for a tree, and that is a mistake.
TEST(Runtime, AForcedAlgorithmLeavesTheRestToRings) {
  const Box box(8);
  const auto program = [](bool with_all_reduce) {
    ScriptProgram p(8);
    p.run_by(Algorithm::kTree);
    if (!with_all_reduce) p.limit_kinds(CollectiveKind::kReduceScatter);
    const CommId all = p.comm_of_all();
    for (std::uint32_t r = 0; r < 8; ++r) {
      p.collective(r, Stream::kTp, CollectiveKind::kReduceScatter, all, 80 * kMiB);
      if (with_all_reduce) p.collective(r, Stream::kTp, CollectiveKind::kAllReduce, all, 80 * kMiB);
    }
    return p;
  };
  // The chain of a tree takes 2 S.
  EXPECT_NEAR(box.flow(program(true)).step_time.seconds(), (0.875 + 2) * 80 * kMiB / kPort, 1e-11);
  try {
    static_cast<void>(box.flow(program(false)));
    FAIL() << "no error";
  } catch (const UserError& e) {
    EXPECT_NE(std::string(e.what()).find(
                  "no collective of this job can run by the algorithm 'tree' (tree does all_reduce, broadcast and "
                  "reduce; ring can do all of them"),
              std::string::npos)
        << e.what();
  }
}

// A TP and a DP collective of the same ranks share the port: together (S1 + S2) / B, not the sum of two times at full rate and not their maximum;
// beside a longer kernel both are hidden, so the step is the kernel.
TEST(Runtime, TensorAndDataParallelTrafficShareThePortAndOverlapCompute) {
  const Box box(2);
  const auto program = [](Duration kernel) {
    ScriptProgram p(2);
    const CommId tp = p.comm_of_all();
    const CommId dp = p.comm_of_all();
    const KernelId k = p.kernel(kernel);
    for (std::uint32_t r = 0; r < 2; ++r) {
      p.collective(r, Stream::kTp, CollectiveKind::kAllReduce, tp, 100 * kMiB);
      p.collective(r, Stream::kDpReduce, CollectiveKind::kAllReduce, dp, 50 * kMiB);
      p.compute(r, k);
      p.wait(r, Stream::kCompute, Stream::kTp, 1);
      p.wait(r, Stream::kCompute, Stream::kDpReduce, 1);
    }
    return p;
  };
  const double both = 150.0 * kMiB / kPort;
  EXPECT_NEAR(box.flow(program(Duration::micros(1))).step_time.seconds(), both, 1e-11);
  EXPECT_EQ(box.flow(program(Duration::micros(5000))).step_time, Duration::micros(5000));
}

// slow-down 1 (half speed) while a collective of time T = 1.048576 ms is in flight: in T a kernel of 2 ms does T/2 of its work, the
// rest at full speed: end = T + (2 ms - T/2).
TEST(Runtime, AKernelIsSlowerWhileACollectiveIsInFlight) {
  const Box box(2);
  ScriptProgram p(2);
  const CommId all = p.comm_of_all();
  const KernelId k = p.kernel(Duration::micros(2000));
  for (std::uint32_t r = 0; r < 2; ++r) {
    p.collective(r, Stream::kDpReduce, CollectiveKind::kAllReduce, all, 100 * kMiB);
    p.compute(r, k);
  }
  const double t = 100.0 * kMiB / kPort;
  EXPECT_NEAR(box.flow(p, 1.0).step_time.seconds(), t + (2e-3 - t / 2), 1e-11);
  EXPECT_EQ(box.flow(p, 0.0).step_time, Duration::micros(2000));
}

// Rank 0 computes 1 ms and sends 100 MiB; rank 1 waits: 1 ms of bubble (nothing in flight), then S/B + latency of pp.
TEST(Runtime, AReceiverWaitsInABubbleUntilTheMessageIsOnItsWay) {
  const Box box(2);
  ScriptProgram p(2);
  p.compute(0, p.kernel(Duration::micros(1000)));
  p.wait(0, Stream::kPpSendNext, Stream::kCompute, 1);
  p.send(0, 1, 100 * kMiB);
  p.receive(1, 0, 100 * kMiB);
  p.wait(1, Stream::kCompute, Stream::kPpRecvPrev, 1);
  const RuntimeResult r = box.flow(p);
  const double transfer = 100.0 * kMiB / kPort;
  EXPECT_NEAR(r.step_time.seconds(), 1e-3 + transfer, 1e-11);
  EXPECT_NEAR(of(r, TimeClass::kBubble), 0.5e-3, 1e-11);  // mean over two ranks
  EXPECT_NEAR(of(r, TimeClass::kCompute), 0.5e-3, 1e-11);
  EXPECT_NEAR(of(r, TimeClass::kPp), transfer, 1e-11);  // the sender waits for the end of the step as well
  EXPECT_EQ(r.totals.messages, 1);
}

// A message that arrives before its receive is posted is kept for it.
TEST(Runtime, AnEarlyMessageWaitsForItsReceiver) {
  const Box box(2);
  ScriptProgram p(2);
  p.send(0, 1, kMiB);
  p.compute(1, p.kernel(Duration::micros(1000)));
  p.wait(1, Stream::kPpRecvPrev, Stream::kCompute, 1);
  p.receive(1, 0, kMiB);
  p.wait(1, Stream::kCompute, Stream::kPpRecvPrev, 2);
  EXPECT_EQ(box.flow(p).step_time, Duration::micros(1000));
}

// Every picosecond of a rank has one class.
TEST(Runtime, TheBreakdownSumsToTheStep) {
  const Box box(4);
  ScriptProgram p(4);
  const CommId all = p.comm_of_all();
  const CommId pair = p.comm({Rank(0), Rank(1)});
  for (std::uint32_t r = 0; r < 4; ++r) {
    p.compute(r, p.kernel(Duration::micros(100 * (r + 1))));
    p.wait(r, Stream::kDpReduce, Stream::kCompute, 1);
    p.collective(r, Stream::kDpReduce, CollectiveKind::kReduceScatter, all, 10 * kMiB);
    if (r < 2) p.collective(r, Stream::kTp, CollectiveKind::kAllGather, pair, 3 * kMiB);
    p.compute(r, p.kernel(Duration::micros(50)));
    p.wait(r, Stream::kCompute, Stream::kDpReduce, 2);
  }
  const RuntimeResult r = box.flow(p, 0.18);
  EXPECT_NEAR(std::accumulate(r.jobs[0].breakdown_s.begin(), r.jobs[0].breakdown_s.end(), 0.0), r.step_time.seconds(), 1e-12);
}

// Law 3: the order among simultaneous events is nobody's business.
TEST(Runtime, ShuffledTiesGiveTheSameRun) {
  const Box box(8);
  ScriptProgram p(8);
  const CommId all = p.comm_of_all();
  std::vector<CommId> pairs;
  for (std::uint32_t r = 0; r < 8; r += 2) pairs.push_back(p.comm({Rank(r), Rank(r + 1)}));
  const KernelId k = p.kernel(Duration::micros(100));
  for (std::uint32_t r = 0; r < 8; ++r) {
    for (int i = 0; i < 20; ++i) {
      p.compute(r, k);
      p.collective(r, Stream::kTp, CollectiveKind::kAllReduce, pairs[r / 2], (1 + i % 3) * kMiB);
      p.wait(r, Stream::kCompute, Stream::kTp, i + 1);
      if (i % 5 == 0) p.collective(r, Stream::kDpReduce, CollectiveKind::kAllReduce, all, 7 * kMiB);
    }
    p.wait(r, Stream::kCompute, Stream::kDpReduce, 4);
  }
  const RuntimeResult plain = box.flow(p, 0.18);
  for (std::uint64_t seed = 1; seed < 20; ++seed) {
    const RuntimeResult shuffled = box.flow(p, 0.18, seed);
    EXPECT_EQ(shuffled.step_time, plain.step_time);
    EXPECT_EQ(shuffled.totals.fingerprint, plain.totals.fingerprint);
    EXPECT_EQ(shuffled.jobs[0].breakdown_s, plain.jobs[0].breakdown_s);
  }
}

// On the ideal network only kernels cost time (and a picosecond a transfer).
TEST(Runtime, TheIdealNetworkCostsAPicosecondATransfer) {
  const Box box(2);
  ScriptProgram p(2);
  const CommId all = p.comm_of_all();
  for (std::uint32_t r = 0; r < 2; ++r) {
    p.collective(r, Stream::kTp, CollectiveKind::kAllReduce, all, 100 * kMiB);
    p.wait(r, Stream::kCompute, Stream::kTp, 1);
    p.compute(r, p.kernel(Duration::micros(10)));
  }
  IdealNetwork ideal;
  EXPECT_EQ(box.run<IdealNetwork>(p).step_time, Duration::micros(10) + Duration::picos(1));
}

TEST(Runtime, AMissingMemberIsNamed) {
  const Box box(2);
  ScriptProgram p(2);
  const CommId all = p.comm_of_all();
  p.collective(0, Stream::kTp, CollectiveKind::kAllReduce, all, kMiB);
  p.compute(1, p.kernel(Duration::micros(1)));
  try {
    (void)box.flow(p);
    FAIL() << "a collective without all members must not end well";
  } catch (const SimulationError& e) {
    EXPECT_NE(std::string(e.what()).find("rank 0 stream tp waits for: all_reduce of 1048576 bytes"), std::string::npos)
        << e.what();
  }
}

// Two kernels of 5 x 10^18 ps: the second would end at 10^19 ps, and time ends at 2^63 - 1 = 9.22 x 10^18. The run fails with that reason.
TEST(Runtime, AKernelThatEndsBeyondTheRangeOfTimeIsNamed) {
  const Box box(1);
  ScriptProgram p(1);
  const KernelId k = p.kernel(Duration::picos(5'000'000'000'000'000'000));
  p.compute(0, k);
  p.compute(0, k);
  try {
    (void)box.flow(p);
    FAIL() << "a kernel beyond the range of time must not end";
  } catch (const SimulationError& e) {
    EXPECT_NE(std::string(e.what()).find("rank 0 stream compute waits for: kernel 0, which ends beyond the range of time"),
              std::string::npos)
        << e.what();
  }
}

TEST(Runtime, MembersMustAgreeOnTheCollective) {
  const Box box(2);
  ScriptProgram p(2);
  const CommId all = p.comm_of_all();
  p.collective(0, Stream::kTp, CollectiveKind::kAllReduce, all, kMiB);
  p.collective(1, Stream::kTp, CollectiveKind::kAllReduce, all, 2 * kMiB);
  EXPECT_THROW((void)box.flow(p), SimulationError);
}

TEST(Runtime, AReceiveWithoutSenderIsNamed) {
  const Box box(2);
  ScriptProgram p(2);
  p.receive(1, 0, kMiB);
  try {
    (void)box.flow(p);
    FAIL() << "an unmatched receive must not end well";
  } catch (const SimulationError& e) {
    EXPECT_NE(std::string(e.what()).find("receive of 1048576 bytes from rank 0"), std::string::npos) << e.what();
  }
}

}  // namespace
}  // namespace lockstep
