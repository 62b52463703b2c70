// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "tests/support/program_interpreter.h"
#include "tests/support/workload_fixtures.h"
#include "workloads/model/flops.h"
#include "workloads/model/memory.h"
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
  const std::int64_t dp = pick({1, 2, 3, 4});
  const std::int64_t layers = job.virtual_stages > 1 ? job.pp * job.virtual_stages * *rc::gen::inRange<std::int64_t>(1, 3)
                                                     : job.pp + *rc::gen::inRange<std::int64_t>(0, 5);
  job.model = test::tiny(layers);
  job.model.has_tied_embeddings = *rc::gen::arbitrary<bool>();
  job.gradient_accumulation =
      job.virtual_stages > 1 ? job.pp * *rc::gen::inRange<std::int64_t>(1, 4) : *rc::gen::inRange<std::int64_t>(1, 9);
  job.strategy = *rc::gen::element(Strategy::kDdp, Strategy::kFsdp);
  if (job.strategy == Strategy::kFsdp && dp % 2 == 0 && *rc::gen::arbitrary<bool>()) job.shard_group = 2;
  job.distributed_optimizer = job.strategy == Strategy::kDdp && *rc::gen::arbitrary<bool>();
  job.overlap_param_gather = *rc::gen::arbitrary<bool>();
  job.recompute = *rc::gen::element(Recompute::kNone, Recompute::kSelective, Recompute::kFull);
  job.prefetch = *rc::gen::inRange<std::int64_t>(0, 4);
  job.sequence_parallel = job.tp > 1 && *rc::gen::arbitrary<bool>();
  job.tp_overlap = *rc::gen::element(TpOverlap::kNone, TpOverlap::kBackward);
  job.scatter_gather = !job.sequence_parallel && *rc::gen::arbitrary<bool>();
  job.overlap_grad_reduce = *rc::gen::arbitrary<bool>();
  job.bucket_size = Bytes(*rc::gen::inRange<std::int64_t>(1, 2'000'000));
  job.first_bucket_size = Bytes(*rc::gen::inRange<std::int64_t>(1, 2'000'000));
  return {.job = job, .gpus = job.tp * job.pp * dp};
}

// Every weight a rank holds has its gradient reduced once, and with a distributed optimizer comes back once: 4 bytes and 2, padded to
// equal shards bucket by bucket.
void check_updates(const test::ProgramInterpreter& run, const TrainingPlan& plan, Rank rank) {
  if (plan.job.strategy != Strategy::kDdp || plan.replicas() == 1) return;
  const auto total = [&](Stream stream) {
    std::int64_t bytes = 0;
    std::int64_t count = 0;
    for (const Op& op : run.ops(rank, stream)) {
      if (op.kind != OpKind::kCollective) continue;
      bytes += op.bytes;
      ++count;
    }
    return std::pair(bytes, count);
  };
  const std::int64_t weights = stage_parameters(plan, plan.layout.coordinates(rank).pp);
  const auto [reduced, buckets] = total(Stream::kDpReduce);
  const auto [gathered, gathers] = total(Stream::kDpGather);
  const std::int64_t padding = plan.job.distributed_optimizer ? 4 * buckets * (plan.replicas() - 1) : 0;
  RC_ASSERT(reduced >= 4 * weights);
  RC_ASSERT(reduced <= 4 * weights + padding);
  RC_ASSERT(gathered == (plan.job.distributed_optimizer ? reduced / 2 : 0));
  RC_ASSERT(gathers == (plan.job.distributed_optimizer ? buckets : 0));
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
  for (std::uint32_t r = 0; r < program.world_size(); ++r) check_updates(run, plan, Rank(r));
  const std::int64_t passes = plan.micro_batches * plan.replicas() * plan.tp();
  const std::int64_t again = random.job.recompute == Recompute::kFull ? 2 : 1;
  for (const ModelPart part : {ModelPart::kAttention, ModelPart::kMlp}) {
    RC_ASSERT(runs[part_kernel_id(part, true).index()] == again * passes * random.job.model.layers);
    RC_ASSERT(runs[part_kernel_id(part, false).index()] == passes * random.job.model.layers);
    RC_ASSERT(runs[weight_gradient_kernel_id(part).index()] == (plan.splits_backward() ? passes * random.job.model.layers : 0));
  }
  for (const ModelPart part : {ModelPart::kEmbedding, ModelPart::kHead}) {
    RC_ASSERT(runs[part_kernel_id(part, true).index()] == passes);
    RC_ASSERT(runs[part_kernel_id(part, false).index()] == passes);
  }
  for (std::int64_t stage = 0; stage < plan.pp(); ++stage) {
    RC_ASSERT(runs[optimizer_kernel_id(stage).index()] == plan.replicas() * plan.tp());
  }
}

std::int64_t extreme(std::int64_t highest) {
  const std::int64_t size = *rc::gen::inRange<std::int64_t>(0, 63);
  return std::clamp<std::int64_t>((std::int64_t{1} << size) - *rc::gen::inRange<std::int64_t>(0, 2), 1, highest);
}

// Whatever a job file may hold within the ranges of its keys either is refused with a reason or can be built: no overflow, no
// broken invariant, no empty answer.
RC_GTEST_PROP(TrainingPlanProperty, ExtremeJobsAreRefusedOrBuilt, ()) {
  JobSpec job;
  job.model = {.name = "extreme",
               .layers = extreme(10'000),
               .hidden = extreme(1 << 20),
               .heads = extreme(65'536),
               .head_dim = extreme(65'536),
               .ffn = extreme(1 << 22),
               .vocab = extreme(100'000'000)};
  job.model.kv_heads = *rc::gen::element(job.model.heads, extreme(65'536));
  job.seq_len = extreme(1 << 24);
  job.micro_batch = extreme(65'536);
  if (*rc::gen::arbitrary<bool>()) job.global_batch = extreme(std::int64_t{1} << 40);
  if (*rc::gen::arbitrary<bool>()) job.gradient_accumulation = extreme(1'000'000);
  job.tp = std::min<std::int64_t>(extreme(1 << 20), *rc::gen::element<std::int64_t>(1, 8, 1 << 20));
  job.pp = std::min<std::int64_t>(extreme(1 << 20), *rc::gen::element<std::int64_t>(1, 8, 1 << 20));
  job.virtual_stages = *rc::gen::element<std::int64_t>(1, 1, 2, 10'000);
  job.strategy = *rc::gen::element(Strategy::kDdp, Strategy::kFsdp);
  job.distributed_optimizer = *rc::gen::arbitrary<bool>();
  job.attention = *rc::gen::element(AttentionKernel::kFlash, AttentionKernel::kUnfused);
  job.recompute = *rc::gen::element(Recompute::kNone, Recompute::kSelective, Recompute::kFull);
  const std::int64_t gpus = std::max<std::int64_t>(1, job.tp * job.pp) * *rc::gen::inRange<std::int64_t>(1, 5);

  std::int64_t faults = 0;
  const std::optional<TrainingPlan> plan =
      resolve_plan(job, gpus, [&](std::string_view, const std::string&, const std::string&) { ++faults; });
  RC_ASSERT(plan.has_value() == (faults == 0));
  if (!plan) return;
  RC_ASSERT(peak_memory(*plan).total() > 0);
  RC_ASSERT(step_flops(*plan).model > 0);
  RC_ASSERT(gradient_buckets(*plan, 0).front().bytes > 0);
  const TrainingProgram program(*plan, test::ideal_gpu());
  // Of each of seven parts forward, backward, gradients of weights, and three slices both ways; the optimizer of each stage.
  RC_ASSERT(program.kernels().kernels.size() == static_cast<std::size_t>(7 * (3 + 3 * 2) + plan->pp()));
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
