// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "tests/support/workload_fixtures.h"
#include "topology/hardware/gpu_spec.h"
#include "workloads/kernels/transformer_kernels.h"
#include "workloads/model/flops.h"

namespace lockstep {
namespace {

using test::plan_of;

double flops(const TrainingPlan& plan, ModelPart part, Direction d) {
  double sum = 0;
  for (const KernelWork& w : part_kernels(plan, part, d)) sum += w.flops;
  return sum;
}

const KernelWork& find(const std::vector<KernelWork>& works, const std::string& name) {
  for (const KernelWork& w : works) {
    if (name == w.name) return w;
  }
  throw std::runtime_error("no kernel " + name);
}

// 1 PFLOP/s, 1 TB/s. 2 x 1000^3 flops take 2 us, 3 x 1000^2 x 2 bytes 6 us: memory decides. At 10000^3 it is 2 ms against
// 0.6 ms: arithmetic does.
TEST(Roofline, TheSlowerOfArithmeticAndMemoryDecides) {
  const GpuPerformance gpu = test::ideal_gpu();
  EXPECT_DOUBLE_EQ(kernel_seconds(gpu, gemm("g", {.m = 1e3, .n = 1e3, .k = 1e3})), 6e-6);
  EXPECT_DOUBLE_EQ(kernel_seconds(gpu, gemm("g", {.m = 1e4, .n = 1e4, .k = 1e4})), 2e-3);
}

// Asymptote 0.8, K0 = 64: an inner product of 64 reaches 0.4, one of 192 reaches 0.6.
TEST(Roofline, ShortInnerProductsAreSlower) {
  GpuPerformance gpu = test::ideal_gpu();
  gpu.gemm_efficiency = 0.8;
  gpu.gemm_costs.ramp_k = 64;
  EXPECT_DOUBLE_EQ(efficiency(gpu, gemm("g", {.m = 1, .n = 1, .k = 64})), 0.4);
  EXPECT_DOUBLE_EQ(efficiency(gpu, gemm("g", {.m = 1, .n = 1, .k = 192})), 0.6);
}

// Half of the memory rate doubles the time of a memory-bound kernel; attention runs at its own share of the peak, backward at
// a share of that: 1e12 flops at 0.5 take 2 ms, at 0.5 x 0.8 2.5 ms.
TEST(Roofline, EveryClassHasItsEfficiency) {
  GpuPerformance gpu = test::ideal_gpu();
  gpu.hbm_efficiency = 0.5;
  gpu.attention_efficiency = 0.5;
  gpu.attention_backward_ratio = 0.8;
  EXPECT_DOUBLE_EQ(kernel_seconds(gpu, memory_kernel("m", 1e9)), 2e-3);
  EXPECT_DOUBLE_EQ(kernel_seconds(gpu, {"a", KernelClass::kAttentionForward, 1e12}), 2e-3);
  EXPECT_DOUBLE_EQ(kernel_seconds(gpu, {"a", KernelClass::kAttentionBackward, 1e12}), 2.5e-3);
}

TEST(Roofline, AFusedOperationAddsUpItsKernels) {
  const std::vector<KernelWork> parts = {memory_kernel("a", 1e9), gemm("b", {.m = 1e4, .n = 1e4, .k = 1e4})};
  const Kernel k = fuse("both", parts, test::ideal_gpu());
  EXPECT_EQ(k.flops, 2e12);
  EXPECT_EQ(k.bytes, 1e9 + 6e8);
  EXPECT_EQ(k.time, Duration::micros(1000 + 2000));
}

// 10^30 bytes at the ideal GPU's memory rate take longer than time lasts: such a kernel fills the whole range.
TEST(Roofline, AKernelBeyondTheRangeOfTimeFillsIt) {
  const KernelWork parts[] = {memory_kernel("endless", 1e30)};
  EXPECT_EQ(fuse("endless", parts, test::ideal_gpu()).time, Instant::never() - Instant());
}

TEST(Roofline, ConstantsComeFromTheGpu) {
  GpuSpec spec;
  spec.peak.bf16 = FlopRate{989e12};
  spec.hbm = Rate::bytes_per_second(3.35e12);
  spec.efficiency.gemm = {0.744};
  spec.efficiency.comm_slowdown = {0.18};
  const GpuPerformance gpu = performance_of(spec);
  EXPECT_EQ(gpu.peak_flops, 989e12);
  EXPECT_NEAR(gpu.hbm_bytes_per_s, 3.35e12, 1);
  EXPECT_EQ(gpu.gemm_efficiency, 0.744);
  EXPECT_EQ(gpu.comm_slowdown, 0.18);
}

// What the kernels of a micro-batch execute is what the model's formula counts, forward once and backward twice, except the
// fused core, whose backward is 2.5 times its forward; tp cuts it evenly.
TEST(TransformerKernels, ExecutedFlopsAreTheModelsFlops) {
  for (const std::int64_t tp : {1, 4}) {
    JobSpec job;
    job.model = test::llama3_8b();
    job.seq_len = 2048;
    job.micro_batch = 2;
    job.tp = tp;
    const TrainingPlan plan = plan_of(job, tp);
    const ForwardFlops f = forward_flops(job.model, 2, 2048);
    const double share = 1.0 / static_cast<double>(tp);
    const double attention = f.attention_projections + f.attention_core;
    EXPECT_DOUBLE_EQ(32 * flops(plan, ModelPart::kAttention, Direction::kForward), share * attention);
    EXPECT_DOUBLE_EQ(32 * flops(plan, ModelPart::kAttention, Direction::kBackward),
                     share * (2 * f.attention_projections + 2.5 * f.attention_core));
    EXPECT_DOUBLE_EQ(32 * flops(plan, ModelPart::kMlp, Direction::kForward), share * f.mlp);
    EXPECT_DOUBLE_EQ(32 * flops(plan, ModelPart::kMlp, Direction::kBackward), share * 2 * f.mlp);
    EXPECT_DOUBLE_EQ(flops(plan, ModelPart::kHead, Direction::kForward), share * f.logits);
    EXPECT_DOUBLE_EQ(flops(plan, ModelPart::kHead, Direction::kBackward), share * 2 * f.logits);
  }
}

// Splitting backward moves a product to another kernel and leaves the sum alone.
TEST(TransformerKernels, SplittingBackwardKeepsItsFlops) {
  JobSpec job;
  job.model = test::llama3_8b();
  job.seq_len = 2048;
  job.tp = 4;
  const TrainingPlan whole = plan_of(job, 4);
  job.tp_overlap = TpOverlap::kBackward;
  const TrainingPlan split = plan_of(job, 4);
  for (const ModelPart part : {ModelPart::kAttention, ModelPart::kMlp, ModelPart::kHead}) {
    EXPECT_GT(flops(split, part, Direction::kWeightGradient), 0);
    EXPECT_EQ(flops(whole, part, Direction::kWeightGradient), 0);
    EXPECT_DOUBLE_EQ(flops(split, part, Direction::kBackward) + flops(split, part, Direction::kWeightGradient),
                     flops(whole, part, Direction::kBackward));
  }
}

// The unfused core computes the whole square: twice the causal half, in backward twice that again; selective recompute adds
// its forward to backward. Its scores, 2 s^2 a b bytes, are written by the first product.
TEST(TransformerKernels, UnfusedAttentionComputesTheSquareAndWritesTheScores) {
  JobSpec job;
  job.model = test::gpt(48, 6144, 64);
  job.seq_len = 2048;
  job.tp = 8;
  job.attention = AttentionKernel::kUnfused;
  const TrainingPlan plan = plan_of(job, 8);
  const ForwardFlops f = forward_flops(job.model, 1, 2048);
  EXPECT_DOUBLE_EQ(48 * 8 * flops(plan, ModelPart::kAttention, Direction::kForward),
                   f.attention_projections + 2 * f.attention_core);
  EXPECT_DOUBLE_EQ(48 * 8 * flops(plan, ModelPart::kAttention, Direction::kBackward),
                   2 * f.attention_projections + 4 * f.attention_core);
  job.recompute = Recompute::kSelective;
  EXPECT_DOUBLE_EQ(48 * 8 * flops(plan_of(job, 8), ModelPart::kAttention, Direction::kBackward),
                   2 * f.attention_projections + 6 * f.attention_core);
  const std::vector<KernelWork> forward = part_kernels(plan, ModelPart::kAttention, Direction::kForward);
  const double scores = 2048.0 * 2048 * 8 * 2;
  EXPECT_EQ(find(forward, "attention_scores").bytes, scores + 2 * (2048.0 * 768 * 2));
  EXPECT_EQ(find(forward, "softmax").bytes, 2 * scores);
  EXPECT_EQ(find(forward, "attention_dropout").bytes, 2.5 * scores);
}

// ALiBi is written over the scores and read by the product that adds to it: as much traffic as fused softmax, forward alone.
TEST(TransformerKernels, AlibiWritesAndReadsTheScores) {
  JobSpec job;
  job.model = test::gpt(48, 6144, 64);
  job.model.positions = PositionKind::kAlibi;
  job.seq_len = 2048;
  job.attention = AttentionKernel::kUnfused;
  const std::vector<KernelWork> forward = part_kernels(plan_of(job, 1), ModelPart::kAttention, Direction::kForward);
  EXPECT_EQ(find(forward, "alibi").bytes, find(forward, "softmax").bytes);
  for (const KernelWork& w : part_kernels(plan_of(job, 1), ModelPart::kAttention, Direction::kBackward)) {
    EXPECT_STRNE(w.name, "alibi");
  }
}

// Passes over s h values of 2 bytes. Forward input, branch and sum are one kernel: 3. Backward two gradients are added up, 3; with a bias its
// gradient is summed, 1; with dropout its gradient is a kernel, 2, and a mask of a byte.
TEST(TransformerKernels, ResidualsAddUpGradients) {
  const double pass = 2048.0 * 6144 * 2;
  const auto bytes = [&](bool has_biases, bool has_dropout, Direction d) {
    JobSpec job;
    job.model = test::gpt(48, 6144, 64);
    job.model.has_linear_biases = has_biases;
    job.model.has_dropout = has_dropout;
    job.seq_len = 2048;
    double sum = 0;
    for (const KernelWork& w : part_kernels(plan_of(job, 1), ModelPart::kMlp, d)) {
      if (w.name == std::string("residual") || w.name == std::string("dropout_mask")) sum += w.bytes;
    }
    return sum / pass;
  };
  EXPECT_DOUBLE_EQ(bytes(false, false, Direction::kForward), 3);
  EXPECT_DOUBLE_EQ(bytes(true, true, Direction::kForward), 3.5);
  EXPECT_DOUBLE_EQ(bytes(false, false, Direction::kBackward), 3);
  EXPECT_DOUBLE_EQ(bytes(true, false, Direction::kBackward), 4);
  EXPECT_DOUBLE_EQ(bytes(true, true, Direction::kBackward), 6.5);
}

// Norms and residuals of a tensor-parallel rank work on the whole sequence, with sequence parallelism on its part.
TEST(TransformerKernels, SequenceParallelismCutsNormsByTp) {
  JobSpec job;
  job.model = test::llama3_8b();
  job.seq_len = 2048;
  job.tp = 4;
  const auto norm_bytes = [](const TrainingPlan& p) {
    return find(part_kernels(p, ModelPart::kMlp, Direction::kForward), "norm").bytes;
  };
  EXPECT_EQ(norm_bytes(plan_of(job, 4)), 2048.0 * 4096 * 2 * 2);
  job.sequence_parallel = true;
  EXPECT_EQ(norm_bytes(plan_of(job, 4)), 2048.0 * 4096 * 2 * 2 / 4);
}

// Adam moves gradient (4 or 2), master weight and moments in and out (24), weight out (2).
TEST(TransformerKernels, AdamMovesThirtyBytesPerParameter) {
  JobSpec job;
  job.model = test::llama3_8b();
  job.seq_len = 128;
  EXPECT_EQ(optimizer_kernels(plan_of(job, 1), 1000).front().bytes, 30'000);
  job.grad_dtype = DataType::kBf16;
  EXPECT_EQ(optimizer_kernels(plan_of(job, 1), 1000).front().bytes, 28'000);
}

}  // namespace
}  // namespace lockstep
