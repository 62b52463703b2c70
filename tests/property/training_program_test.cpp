// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "tests/support/program_interpreter.h"
#include "tests/support/workload_fixtures.h"
#include "workloads/schedule/training_program.h"

namespace lockstep {
namespace {

std::int64_t pick(std::initializer_list<std::int64_t> values) { return *rc::gen::elementOf(std::vector<std::int64_t>(values)); }

struct RandomPlan {
  JobSpec job;
  std::int64_t gpus = 1;
};

RandomPlan random_plan() {
  JobSpec job;
  job.seq_len = 64;
  job.tp = pick({1, 2, 4});
  job.pp = pick({1, 2, 3, 4});
  job.virtual_stages = job.pp > 1 ? pick({1, 1, 2, 3}) : 1;
  const std::int64_t dp = pick({1, 2, 3});
  const std::int64_t layers = job.virtual_stages > 1 ? job.pp * job.virtual_stages * *rc::gen::inRange<std::int64_t>(1, 3)
                                                     : job.pp + *rc::gen::inRange<std::int64_t>(0, 5);
  job.model = test::tiny(layers);
  job.model.has_tied_embeddings = *rc::gen::arbitrary<bool>();
  job.gradient_accumulation =
      job.virtual_stages > 1 ? job.pp * *rc::gen::inRange<std::int64_t>(1, 4) : *rc::gen::inRange<std::int64_t>(1, 9);
  job.strategy = *rc::gen::element(Strategy::kDdp, Strategy::kFsdp);
  job.recompute = *rc::gen::element(Recompute::kNone, Recompute::kSelective, Recompute::kFull);
  job.prefetch = *rc::gen::inRange<std::int64_t>(0, 4);
  job.sequence_parallel = job.tp > 1 && *rc::gen::arbitrary<bool>();
  job.scatter_gather = !job.sequence_parallel && *rc::gen::arbitrary<bool>();
  job.overlap_grad_reduce = *rc::gen::arbitrary<bool>();
  job.bucket_size = Bytes(*rc::gen::inRange<std::int64_t>(1, 2'000'000));
  job.first_bucket_size = Bytes(*rc::gen::inRange<std::int64_t>(1, 2'000'000));
  return {.job = job, .gpus = job.tp * job.pp * dp};
}

// Every rank of every plan reaches its end, every message and collective finds its partners with equal sizes (the interpreter
// checks them), and every micro-batch is computed once forward and once backward: the flops of all ranks of a replica are the
// whole model's, whatever the cut.
RC_GTEST_PROP(TrainingProgramProperty, EveryPlanRunsToItsEndAndComputesEverythingOnce, ()) {
  const RandomPlan random = random_plan();
  const TrainingProgram program(test::plan_of(random.job, random.gpus), test::ideal_gpu());
  test::ProgramInterpreter run(program);
  RC_ASSERT(run.run());
  RC_ASSERT(run.unmatched() == 0u);

  std::vector<std::int64_t> runs(program.kernels().kernels.size(), 0);
  for (std::uint32_t r = 0; r < program.world_size(); ++r) {
    for (const Op& op : run.ops(Rank(r), Stream::kCompute)) {
      if (op.kind == OpKind::kCompute) ++runs[op.kernel.index()];
    }
  }
  const TrainingPlan& plan = program.plan();
  const std::int64_t passes = plan.micro_batches * plan.replicas() * plan.tp();
  const std::int64_t again = random.job.recompute == Recompute::kFull ? 2 : 1;
  for (const ModelPart part : {ModelPart::kAttention, ModelPart::kMlp}) {
    RC_ASSERT(runs[part_kernel_id(part, true).index()] == again * passes * random.job.model.layers);
    RC_ASSERT(runs[part_kernel_id(part, false).index()] == passes * random.job.model.layers);
  }
  for (const ModelPart part : {ModelPart::kEmbedding, ModelPart::kHead}) {
    RC_ASSERT(runs[part_kernel_id(part, true).index()] == passes);
    RC_ASSERT(runs[part_kernel_id(part, false).index()] == passes);
  }
  for (std::int64_t stage = 0; stage < plan.pp(); ++stage) {
    RC_ASSERT(runs[optimizer_kernel_id(stage).index()] == plan.replicas() * plan.tp());
  }
}

// Longer messages and collectives never make a step shorter: the program is a monotone system.
RC_GTEST_PROP(TrainingProgramProperty, ASlowerNetworkNeverShortensTheStep, ()) {
  const RandomPlan random = random_plan();
  const TrainingProgram program(test::plan_of(random.job, random.gpus), test::ideal_gpu());
  std::int64_t previous = 0;
  for (const std::int64_t picos_per_byte : {0, 1, 10, 100}) {
    test::ProgramInterpreter run(program, [&](const Op& op) { return op.bytes * picos_per_byte; });
    RC_ASSERT(run.run());
    RC_ASSERT(run.end_time() >= previous);
    previous = run.end_time();
  }
}

}  // namespace
}  // namespace lockstep
