// SPDX-License-Identifier: Apache-2.0
// Idle time and memory of the pipeline schedules against their papers, with equal stages and free messages.
#include <gtest/gtest.h>

#include "tests/support/pipeline_executor.h"
#include "workloads/parallel/schedule_kind.h"
#include "workloads/schedule/pipeline_table.h"

namespace lockstep {
namespace {

using test::PassTimes;
using test::PipelineExecutor;

PipelineExecutor::Order order_of(const PipelineShape& shape) {
  const PipelineTable table(shape);
  PipelineExecutor::Order out(static_cast<std::size_t>(shape.stages));
  for (std::int64_t stage = 0; stage < shape.stages; ++stage) {
    for (std::int64_t i = 0; i < action_count(shape); ++i) {
      out[static_cast<std::size_t>(stage)].push_back(table.is_empty() ? pipeline_action(shape, stage, i) : table.at(stage, i));
    }
  }
  return out;
}

PipelineExecutor run(const PipelineShape& shape, PassTimes times) {
  return {order_of(shape), times, shape.schedule, shape.chunks};
}

std::string text_of(const PipelineShape& shape, std::int64_t stage) {
  std::string text;
  const PipelineExecutor::Order order = order_of(shape);
  for (const PipelineAction& a : order[static_cast<std::size_t>(stage)]) {
    if (!text.empty()) text += ' ';
    text += "FBW"[static_cast<std::size_t>(a.pass)] + std::to_string(a.micro_batch);
  }
  return text;
}

// GPipe holds everything and idles as 1F1B does: (p - 1)(F + B), B with its weight gradients.
TEST(PipelineSchedule, GpipeIdlesAsOneForwardOneBackwardAndHoldsAllMicroBatches) {
  for (const std::int64_t p : {2, 4, 7}) {
    for (const std::int64_t m : {1, 3, 8, 20}) {
      const PipelineShape shape{.stages = p, .micro_batches = m, .schedule = PipelineSchedule::kGpipe};
      const PassTimes times{.forward = 10, .backward = 20};
      const PipelineExecutor done = run(shape, times);
      EXPECT_EQ(done.makespan(), (m + p - 1) * 30) << p << " stages, " << m;
      for (std::int64_t stage = 0; stage < p; ++stage) {
        EXPECT_EQ(done.most_held(stage, false), m);
        EXPECT_EQ(peak_in_flight(shape, stage), m);
      }
    }
  }
  const PipelineShape shape{.stages = 2, .micro_batches = 3, .schedule = PipelineSchedule::kGpipe};
  EXPECT_EQ(text_of(shape, 0), "F0 F1 F2 B0 B1 B2");
}

// Qi et al. 2023, arXiv 2401.10241, figure 2: four stages, eight micro-batches; the last stage lays its first W three micro-batches late.
TEST(PipelineSchedule, ZeroBubbleH1IsOneForwardOneBackwardWithLateWeightGradients) {
  const PipelineShape shape{.stages = 4, .micro_batches = 6, .schedule = PipelineSchedule::kZeroBubbleH1};
  EXPECT_EQ(text_of(shape, 0), "F0 F1 F2 F3 B0 W0 F4 B1 W1 F5 B2 W2 B3 W3 B4 W4 B5 W5");
  EXPECT_EQ(text_of(shape, 3), "F0 B0 F1 B1 F2 B2 F3 B3 W0 F4 B4 W1 F5 B5 W2 W3 W4 W5");
  const PipelineShape few{.stages = 4, .micro_batches = 2, .schedule = PipelineSchedule::kZeroBubbleH1};
  EXPECT_EQ(text_of(few, 0), "F0 F1 B0 W0 B1 W1");
  EXPECT_EQ(text_of(few, 1), "F0 F1 B0 B1 W0 W1");
  EXPECT_EQ(text_of(few, 3), "F0 B0 F1 B1 W0 W1");
}

// Idle (p - 1)(F + B - W) in its table 2, for W no longer than F and B; p micro-batches are held, as by the first stage of 1F1B.
TEST(PipelineSchedule, ZeroBubbleH1IdlesForForwardAndBackwardLessWeightGradient) {
  for (const std::int64_t p : {2, 3, 4, 8}) {
    for (const std::int64_t m : {2 * p, 5 * p}) {
      for (const PassTimes times : {PassTimes{10, 10, 10}, PassTimes{10, 12, 9}}) {
        const PipelineShape shape{.stages = p, .micro_batches = m, .schedule = PipelineSchedule::kZeroBubbleH1};
        const PipelineExecutor done = run(shape, times);
        const std::int64_t work = m * (times.forward + times.backward + times.weight);
        EXPECT_EQ(done.longest_stage() - work, (p - 1) * (times.forward + times.backward - times.weight)) << p << ", " << m;
        for (std::int64_t stage = 0; stage < p; ++stage) {
          EXPECT_EQ(done.most_held(stage, true), p);
          EXPECT_EQ(peak_in_flight(shape, stage), p);
        }
      }
    }
  }
}

// Idle (p - 1)(F + B - 2W) from a stage's first pass to its last; 2p - 1 micro-batches are held.
TEST(PipelineSchedule, ZeroBubbleH2IdlesNotAtAllWhenPassesAreEqual) {
  for (const std::int64_t p : {2, 3, 4, 8}) {
    for (const std::int64_t m : {2 * p, 5 * p}) {
      const PipelineShape shape{.stages = p, .micro_batches = m, .schedule = PipelineSchedule::kZeroBubbleH2};
      const PipelineExecutor done = run(shape, {10, 10, 10});
      EXPECT_EQ(done.longest_stage(), 30 * m) << p << ", " << m;
      for (std::int64_t stage = 0; stage < p; ++stage) {
        EXPECT_EQ(done.most_held(stage, true), 2 * p - 1);
        EXPECT_EQ(peak_in_flight(shape, stage), 2 * p - 1);
      }
    }
  }
}

// Qi et al. 2024, arXiv 2405.15362. Work is 6m passes of a chunk; 1F1B idles 6(p - 1) of them and holds 2p chunks.
// zb_v: the last stage waits p - 1 passes for its first micro-batch and never again, at the memory of 1F1B.
// v_half: 3p - 4, half of 1F1B's, at p + 1 or p + 2 chunks; v_min: 4p - 5 (or - 3), two thirds, at 2p/3 + 2.
TEST(PipelineSchedule, TheVIdlesForASixthAHalfAndTwoThirdsAtTwoOneAndTwoThirdsChunksAStage) {
  for (std::int64_t p = 3; p <= 12; ++p) {
    for (const std::int64_t m : {2 * p, 5 * p}) {
      const auto idle = [&](PipelineSchedule s) {
        return run({.stages = p, .micro_batches = m, .chunks = 2, .schedule = s}, {1, 1, 1}).makespan() - 6 * m;
      };
      const auto held = [&](PipelineSchedule s) {
        const PipelineShape shape{.stages = p, .micro_batches = m, .chunks = 2, .schedule = s};
        const PipelineExecutor done = run(shape, {1, 1, 1});
        std::int64_t most = 0;
        for (std::int64_t i = 0; i < p; ++i) most = std::max(most, done.most_held(i, true));
        EXPECT_EQ(peak_in_flight(shape, 0), most) << to_text(s) << ", p " << p;
        return most;
      };
      EXPECT_EQ(idle(PipelineSchedule::kZeroBubbleV), p - 1) << "p " << p << ", m " << m;
      EXPECT_EQ(held(PipelineSchedule::kZeroBubbleV), 2 * p);
      EXPECT_EQ(idle(PipelineSchedule::kVHalf), 3 * p - 4) << "p " << p << ", m " << m;
      EXPECT_EQ(held(PipelineSchedule::kVHalf), p + (p % 2 == 0 ? 2 : 1));
      EXPECT_EQ(idle(PipelineSchedule::kVMin), 4 * p - (p % 3 == 0 ? 3 : 5)) << "p " << p << ", m " << m;
      EXPECT_LE(held(PipelineSchedule::kVMin), (2 * p + 2) / 3 + 2);
    }
  }
}

// DeepSeek-AI 2024, arXiv 2412.19437, table 2: (p/2 - 1)(F&B + B - 3W), B the whole backward b + W and F&B a forward beside a backward that
// hand on what they made when both have ended; one after the other that is (p/2 - 1)(F + 2b - W). Here F and b hand on at once, which takes
// b off: (p/2 - 1)(F + b - W) for equal passes, and for others no more than the paper's. Held: p + 1.
TEST(PipelineSchedule, DualPipeIdlesAsItsPaperSaysLessWhatIsHandedOnAtOnce) {
  for (const std::int64_t p : {2, 4, 8, 16}) {
    for (const std::int64_t m : {2 * p, 4 * p}) {
      for (const PassTimes t : {PassTimes{10, 10, 10}, PassTimes{10, 12, 9}}) {
        const PipelineShape shape{.stages = p, .micro_batches = m, .chunks = 2, .schedule = PipelineSchedule::kDualPipe};
        const PipelineExecutor done = run(shape, t);
        const std::int64_t idle = done.makespan() - m * (t.forward + t.backward + t.weight);
        const std::int64_t least = (p / 2 - 1) * (t.forward + t.backward - t.weight);
        if (t.forward == t.backward) {
          EXPECT_EQ(idle, least) << p << ", " << m;
        }
        EXPECT_GE(idle, least) << p << ", " << m;
        EXPECT_LE(idle, least + (p / 2 - 1) * t.backward) << p << ", " << m;
        for (std::int64_t stage = 0; stage < p; ++stage) {
          EXPECT_EQ(done.most_held(stage, true), p + 1);
          EXPECT_EQ(peak_in_flight(shape, stage), p + 1);
        }
      }
    }
  }
}

// Whatever the number of micro-batches: every pass once, nobody waits for ever, no more held than the limit.
TEST(PipelineSchedule, TheVRunsWithAnyNumberOfMicroBatches) {
  for (const PipelineSchedule s : {PipelineSchedule::kZeroBubbleV, PipelineSchedule::kVHalf, PipelineSchedule::kVMin}) {
    for (std::int64_t p = 2; p <= 9; ++p) {
      for (std::int64_t m = 1; m <= 20; ++m) {
        const PipelineShape shape{.stages = p, .micro_batches = m, .chunks = 2, .schedule = s};
        const PipelineExecutor done = run(shape, {3, 4, 2});
        for (std::int64_t i = 0; i < p; ++i) EXPECT_LE(done.most_held(i, true), peak_in_flight(shape, i)) << to_text(s);
      }
    }
  }
}

// The middle of a long table repeats: all but a part that does not grow with the micro-batches.
TEST(PipelineSchedule, TablesAreSteadyInTheMiddle) {
  for (const PipelineSchedule s :
       {PipelineSchedule::kZeroBubbleV, PipelineSchedule::kVHalf, PipelineSchedule::kVMin, PipelineSchedule::kDualPipe}) {
    const auto irregular = [&](std::int64_t m, std::int64_t stage) {
      const PipelineShape shape{.stages = 4, .micro_batches = m, .chunks = 2, .schedule = s};
      const PipelineTable table(shape);
      return action_count(shape) - (table.steady(stage).end - table.steady(stage).begin);
    };
    for (std::int64_t stage = 0; stage < 4; ++stage) {
      EXPECT_EQ(irregular(200, stage), irregular(100, stage)) << to_text(s) << ' ' << stage;
      EXPECT_LT(irregular(100, stage), 150);
    }
  }
}

// With fewer micro-batches than stages every order is still complete and runs to its end.
TEST(PipelineSchedule, FewMicroBatchesRunToo) {
  for (const PipelineSchedule s :
       {PipelineSchedule::kGpipe, PipelineSchedule::kZeroBubbleH1, PipelineSchedule::kZeroBubbleH2}) {
    for (std::int64_t p = 2; p <= 6; ++p) {
      for (std::int64_t m = 1; m <= 14; ++m) {
        const PipelineShape shape{.stages = p, .micro_batches = m, .schedule = s};
        const PipelineExecutor done = run(shape, {3, 4, 2});
        for (std::int64_t stage = 0; stage < p; ++stage) {
          EXPECT_EQ(done.most_held(stage, splits_passes(s)), peak_in_flight(shape, stage))
              << to_text(s) << ' ' << p << ' ' << m;
        }
      }
    }
  }
}

}  // namespace
}  // namespace lockstep
