// SPDX-License-Identifier: Apache-2.0
// Low-rank adapters on frozen weights, by hand: what is computed, reduced, updated and kept.
#include "workloads/model/adapters.h"

#include <gtest/gtest.h>

#include "tests/support/program_interpreter.h"
#include "tests/support/workload_fixtures.h"
#include "workloads/kernels/transformer_kernels.h"
#include "workloads/model/flops.h"
#include "workloads/model/memory.h"
#include "workloads/parallel/stage.h"
#include "workloads/schedule/training_program.h"

namespace lockstep {
namespace {

using test::ideal_gpu;
using test::plan_of;
using test::ProgramInterpreter;

// Tokens 128, hidden 256, q 256, k and v 128 each, feed-forward 512, gated. Adapters of rank 8 beside attention:
// 8 (256 + 512) + 8 (256 + 256) = 10,240 parameters a layer.
constexpr std::int64_t kTokens = 128;
constexpr std::int64_t kLayer = 10'240;

JobSpec tiny_job(std::int64_t layers, LoraTargets targets = LoraTargets::kAttention) {
  JobSpec job;
  job.model = test::tiny(layers);
  job.seq_len = kTokens;
  job.lora = LoraSpec{.rank = 8, .targets = targets};
  return job;
}

JobSpec trained_whole(JobSpec job) {
  job.lora.reset();
  return job;
}

double flops(const TrainingPlan& plan, ModelPart part, Direction d) {
  double sum = 0;
  for (const KernelWork& w : part_kernels(plan, part, d)) sum += w.flops;
  return sum;
}

double operations(const TrainingPlan& plan, ModelPart part, Direction d) {
  double sum = 0;
  for (const KernelWork& w : part_kernels(plan, part, d)) sum += w.operations;
  return sum;
}

std::int64_t bytes_of(const ProgramInterpreter& run, Stream stream, CollectiveKind kind) {
  std::int64_t sum = 0;
  for (const Op& op : run.ops(Rank(0), stream)) {
    if (op.kind == OpKind::kCollective && op.collective == kind) sum += op.bytes;
  }
  return sum;
}

std::string faults(const JobSpec& job, std::int64_t gpus) {
  Diagnostics d;
  (void)resolve_plan(
      job, gpus, [](std::string_view) { return Position{}; }, d);
  std::string text;
  for (const Diagnostic& item : d.items()) text += item.path + ": " + item.message + "; " + item.hint + "\n";
  return text;
}

// Llama 2 70B: h = 8192, q, k and v 8192 + 2 x 1024, feed-forward 28672. A layer has 16 (8192 + 10240) + 16 (8192 + 8192) = 557,056
// beside attention; beside the feed-forward part 16 (8192 + 2 x 28672) + 16 (28672 + 8192) = 1,638,400.
TEST(Adapters, ParametersOfTheMlperfBenchmark) {
  const TransformerSpec model = test::llama3_70b();
  EXPECT_EQ(adapter_parameter_count(model, {.rank = 16, .targets = LoraTargets::kAttention}), 44'564'480);
  EXPECT_EQ(adapter_parameter_count(model, {.rank = 16, .targets = LoraTargets::kMlp}), 80 * 1'638'400);
  EXPECT_EQ(adapter_parameter_count(model, {.rank = 16, .targets = LoraTargets::kAllLinear}), 44'564'480 + 131'072'000);
}

// Queries straight, k and v through 512 + 32: q 256 to 8 x 96, kv_down 256 to 544, kv_up 512 to 8 x 128, output 8 x 64 to 256.
// In and out sum to 1024 + 800 + 1536 + 768 = 4128 a unit of rank.
TEST(Adapters, EveryProjectionOfLatentAttentionHasOne) {
  TransformerSpec model = test::tiny(1);
  model.mla = MlaSpec{.q_rank = 0, .kv_rank = 512, .nope_dim = 64, .rope_dim = 32, .v_dim = 64};
  EXPECT_EQ(adapter_parameter_count(model, {.rank = 8}), 8 * 4128);
  EXPECT_EQ(adapter_count(model, {.rank = 8}, ModelPart::kAttention), 4);
}

// Every adapter matrix is cut by one of its sides: half on each of two ranks.
TEST(Adapters, TensorParallelismCutsParametersAndProducts) {
  JobSpec job = tiny_job(1, LoraTargets::kAllLinear);
  const TrainingPlan one = plan_of(job, 1);
  const TrainingPlan plain = plan_of(trained_whole(job), 1);
  job.tp = 2;
  const TrainingPlan two = plan_of(job, 2);
  const TrainingPlan plain_two = plan_of(trained_whole(job), 2);
  EXPECT_EQ(2 * trained_layer_parameters(two, false), trained_layer_parameters(one, false));
  for (const ModelPart part : {ModelPart::kAttention, ModelPart::kMlp}) {
    const double whole = flops(one, part, Direction::kForward) - flops(plain, part, Direction::kForward);
    const double half = flops(two, part, Direction::kForward) - flops(plain_two, part, Direction::kForward);
    EXPECT_EQ(2 * half, whole);
    EXPECT_GT(whole, 0);
  }
}

// Backward of frozen products is the gradient of their input: as much as forward. The table of the embedding has none.
TEST(LoraKernels, FrozenWeightsHaveNoGradient) {
  const TrainingPlan plan = plan_of(tiny_job(1), 1);
  for (const ModelPart part : {ModelPart::kMlp, ModelPart::kHead}) {
    EXPECT_EQ(flops(plan, part, Direction::kBackward), flops(plan, part, Direction::kForward));
  }
  EXPECT_TRUE(part_kernels(plan, ModelPart::kEmbedding, Direction::kBackward).empty());
  const TrainingPlan plain = plan_of(trained_whole(plan.job), 1);
  // Two products less, each of which is added to what other micro-batches left.
  EXPECT_EQ(operations(plan, ModelPart::kMlp, Direction::kBackward),
            operations(plain, ModelPart::kMlp, Direction::kBackward) - 4);
}

// Projections 2 T 256 (512 + 256), core T s (256 + 256) forward and 2.5 times that backward, adapters 2 T x 10,240 and twice that. Forward an
// adapter is three kernels: A, B, the sum. Backward eight operations (of which the gradients of A and B are two each), less the four of the
// frozen products' weights.
TEST(LoraKernels, AdaptersRunBesideTheirProducts) {
  const TrainingPlan plan = plan_of(tiny_job(1), 1);
  const TrainingPlan plain = plan_of(trained_whole(plan.job), 1);
  const double projections = 2.0 * kTokens * 256 * (512 + 256);
  const double core = 1.0 * kTokens * kTokens * 512;
  const double adapters = 2.0 * kTokens * kLayer;
  const ModelPart part = ModelPart::kAttention;
  EXPECT_EQ(flops(plan, part, Direction::kForward), projections + core + adapters);
  EXPECT_EQ(flops(plan, part, Direction::kBackward), projections + 2.5 * core + 2 * adapters);
  EXPECT_EQ(operations(plan, part, Direction::kForward), operations(plain, part, Direction::kForward) + 2 * 3);
  EXPECT_EQ(operations(plan, part, Direction::kBackward), operations(plain, part, Direction::kBackward) + 2 * 8 - 2 * 2);
}

// In 8 bits an activation of 16 bits is read twice and written as rows and columns, 4 + 2 bytes; with frozen weights rows alone, 4 + 1.
TEST(LoraKernels, FrozenProductsConvertRowsAlone) {
  JobSpec job = tiny_job(1);
  job.precision = DataType::kFp8;
  const auto converted = [](const JobSpec& j) {
    return part_kernels(plan_of(j, 1), ModelPart::kMlp, Direction::kForward).at(1).bytes;
  };
  EXPECT_EQ(converted(job), kTokens * 256 * 5);
  EXPECT_EQ(converted(trained_whole(job)), kTokens * 256 * 6);
}

// Every slice of a part, and nothing apart from backward: frozen weights have no gradient to compute beside a collective.
TEST(LoraKernels, NothingIsSplitOffBackward) {
  JobSpec job = tiny_job(1);
  job.tp = 2;
  job.tp_overlap = TpOverlap::kBackward;
  const TrainingPlan plan = plan_of(job, 2);
  EXPECT_FALSE(plan.splits_backward());
  for (const ModelPart part : kModelParts) EXPECT_TRUE(part_kernels(plan, part, Direction::kWeightGradient).empty());
}

// Gradients of 4 bytes and weights of 2, of the adapters of 4 layers alone, once a step.
TEST(LoraProgram, AdaptersAloneAreReducedAndGathered) {
  JobSpec job = tiny_job(4);
  job.gradient_accumulation = 3;
  for (const bool is_sharded : {false, true}) {
    job.distributed_optimizer = is_sharded;
    const TrainingProgram program(plan_of(job, 4), ideal_gpu());
    ProgramInterpreter run(program);
    ASSERT_TRUE(run.run());
    EXPECT_EQ(run.unmatched(), 0u);
    EXPECT_EQ(bytes_of(run, Stream::kDpReduce, CollectiveKind::kAllReduce), is_sharded ? 0 : 4 * 4 * kLayer);
    EXPECT_EQ(bytes_of(run, Stream::kDpReduce, CollectiveKind::kReduceScatter), is_sharded ? 4 * 4 * kLayer : 0);
    EXPECT_EQ(bytes_of(run, Stream::kDpGather, CollectiveKind::kAllGather), is_sharded ? 2 * 4 * kLayer : 0);
    EXPECT_EQ(stage_optimizer_parameters(program.plan(), 0), 4 * kLayer / (is_sharded ? 4 : 1));
  }
}

// Of each of 3 micro-batches: layers come twice with their adapters, embedding and head once; adapters' gradients leave.
TEST(LoraProgram, FullShardGathersFrozenWeightsAndScattersAdapters) {
  JobSpec job = tiny_job(4);
  job.strategy = Strategy::kFsdp;
  job.gradient_accumulation = 3;
  const TrainingProgram program(plan_of(job, 4), ideal_gpu());
  ProgramInterpreter run(program);
  ASSERT_TRUE(run.run());
  const std::int64_t layer = layer_parameters(job.model, 0) + kLayer;  // divides by 4
  const std::int64_t root = 2 * 1024 * 256 + 256;
  EXPECT_EQ(bytes_of(run, Stream::kDpGather, CollectiveKind::kAllGather), 3 * 2 * (2 * 4 * layer + root));
  EXPECT_EQ(bytes_of(run, Stream::kDpReduce, CollectiveKind::kReduceScatter), 3 * 4 * 4 * kLayer);
}

// Two gathers and two scatters a layer and direction, and none of saved inputs: adapters keep theirs gathered, frozen weights need none. The
// embedding scatters forward and has no backward; the head gathers forward and scatters backward.
TEST(LoraProgram, SavedInputsAreNotGatheredAgain) {
  JobSpec job = tiny_job(4);
  job.tp = 2;
  job.sequence_parallel = true;
  for (const TpOverlap overlap : {TpOverlap::kNone, TpOverlap::kBackward}) {
    job.tp_overlap = overlap;
    const TrainingProgram program(plan_of(job, 2), ideal_gpu());
    ProgramInterpreter run(program);
    ASSERT_TRUE(run.run());
    const std::int64_t hidden_state = kTokens * 256 * 2;
    EXPECT_EQ(bytes_of(run, Stream::kTp, CollectiveKind::kAllGather), (4 * 4 + 1) * hidden_state);
    EXPECT_EQ(bytes_of(run, Stream::kTp, CollectiveKind::kReduceScatter), (4 * 4 + 2) * hidden_state);
  }
}

// A frozen embedding has no gradient to add up with that of its copy.
TEST(LoraProgram, ATiedEmbeddingIsNotReduced) {
  JobSpec job = tiny_job(4);
  job.model.has_tied_embeddings = true;
  job.pp = 2;
  for (const bool is_frozen : {true, false}) {
    const TrainingProgram program(plan_of(is_frozen ? job : trained_whole(job), 2), ideal_gpu());
    ProgramInterpreter run(program);
    ASSERT_TRUE(run.run());
    EXPECT_EQ(run.ops(Rank(0), Stream::kTie).empty(), is_frozen);
  }
}

// P weights and A of adapters: 2 (P + A), 4 A and 12 A bytes. In 8 bits two casts of the layers take the place of their 16-bit weights.
TEST(LoraMemory, FrozenWeightsHaveNoGradientsAndNoOptimizer) {
  JobSpec job = tiny_job(4);
  const std::int64_t frozen = parameter_count(job.model);
  const std::int64_t adapters = 4 * kLayer;
  const MemoryBytes ddp = stage_memory(plan_of(job, 4), 0);
  EXPECT_EQ(ddp.parameters, 2 * (frozen + adapters));
  EXPECT_EQ(ddp.gradients, 4 * adapters);
  EXPECT_EQ(ddp.optimizer, 12 * adapters);
  job.precision = DataType::kFp8;
  EXPECT_EQ(stage_memory(plan_of(job, 4), 0).parameters, ddp.parameters);
  job.precision = DataType::kBf16;
  job.strategy = Strategy::kFsdp;
  const MemoryBytes fsdp = stage_memory(plan_of(job, 4), 0);
  EXPECT_EQ(fsdp.parameters, 2 * (frozen + adapters) / 4);
  EXPECT_EQ(fsdp.gradients, adapters);
  EXPECT_EQ(fsdp.optimizer, 3 * adapters);
}

// A token of a layer keeps two norm inputs, q, k, v and the core's output, both branches of the gated part, and a statistic of 4 bytes for
// each of 8 heads. Besides what products of trained weights read: their two inputs and the product of the branches; or adapters: the
// input of q, k and v (the core's output is there), and 8 values between A and B of two.
TEST(LoraMemory, OnlyAdaptersKeepWhatTheyRead) {
  const JobSpec job = tiny_job(1);
  const std::int64_t kept = 2 * 256 + (256 + 2 * 128 + 256) + 2 * 512;
  EXPECT_EQ(layer_activation_bytes(plan_of(job, 1)), kTokens * (2 * (kept + 256 + 2 * 8) + 4 * 8));
  EXPECT_EQ(layer_activation_bytes(plan_of(trained_whole(job), 1)), kTokens * (2 * (kept + 2 * 256 + 512) + 4 * 8));
  JobSpec all = job;
  all.lora->targets = LoraTargets::kAllLinear;
  EXPECT_EQ(layer_activation_bytes(plan_of(all, 1)), kTokens * (2 * (kept + 2 * 256 + 512 + 4 * 8) + 4 * 8));
}

// Llama 3 70B: layers 80 x 855,638,016 and logits 128,256 x 8192 weights: 4 FLOPs a weight and token is 278.0 G, and Megatron Bridge publishes
// 2086 TFLOP/s at 7481 tokens/s a GPU, 278.8 G, for LoRA on packed short sequences, whose attention cores are small.
TEST(LoraFlops, FrozenWeightsCountFourATokenAndAdaptersSix) {
  JobSpec job;
  job.model = test::llama3_70b();
  job.seq_len = 4096;
  job.lora = LoraSpec{};
  const double tokens = 4096;
  const double weights = 80.0 * 855'638'016 + 128'256.0 * 8192;
  const double core = 80.0 * tokens * tokens * 64 * 128 * 2;
  const StepFlops step = step_flops(plan_of(job, 1));
  EXPECT_DOUBLE_EQ(step.model, 4 * tokens * weights + 3 * core + 6 * tokens * 44'564'480);
  EXPECT_NEAR((step.model - 3 * core - 6 * tokens * 44'564'480) / tokens, 2086e12 / 7481, 1e9);
  job.recompute = Recompute::kFull;
  const StepFlops again = step_flops(plan_of(job, 1));
  EXPECT_DOUBLE_EQ(again.hardware - again.model, 2 * tokens * (80.0 * 855'638'016 + 44'564'480) + core);
}

TEST(LoraPlan, NamesWhatMakesNoSense) {
  JobSpec job = tiny_job(2);
  job.lora->rank = 257;
  EXPECT_EQ(faults(job, 1),
            "lora.rank: adapters of rank 257 are wider than a projection of 256; at most 256; 8 to 64 are usual\n");
  job = tiny_job(2, LoraTargets::kMlp);
  job.model.moe = MoeSpec{.experts = 4, .top_k = 2, .ffn = 128};
  EXPECT_EQ(faults(job, 1), "lora.targets: adapters of experts are not modelled; targets: attention\n");
  job = tiny_job(2);
  job.pp = 2;
  job.schedule = PipelineSchedule::kZeroBubbleH1;
  EXPECT_EQ(faults(job, 2),
            "schedule: frozen weights have no gradients to move into bubbles; schedule: 1f1b or gpipe, or no lora\n");
  job = JobSpec{};
  job.profile = ProfileSpec{.gradient_bytes = Bytes(1000), .time_per_sample = Duration::micros(1)};
  job.lora = LoraSpec{};
  EXPECT_EQ(faults(job, 1),
            "lora: a profile is a whole model on one GPU: its gradients are given; leave it out, or give a model\n");
}

}  // namespace
}  // namespace lockstep
