// SPDX-License-Identifier: Apache-2.0
// The waterfall adds up, its terms have the values that algebra gives where only one effect is at work, and each kernel is told apart
// into what it is made of.
#include "sim/experiment/explain/waterfall.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>

#include "sim/experiment/explain/kernel_parts.h"
#include "sim/experiment/explain/kernel_runs.h"
#include "sim/experiment/job_run.h"
#include "tests/support/shipped.h"
#include "tests/support/workload_fixtures.h"
#include "workloads/kernels/performance.h"
#include "workloads/model/flops.h"
#include "workloads/schedule/job_program.h"

namespace lockstep {
namespace {

RunResult run_of(const ClusterSpec& cluster, const TrainingPlan& plan, NetworkKind network) {
  return run_job(cluster, plan, {.network = network, .compares_with_ideal = false});
}

Waterfall waterfall(const Scenario& s, NetworkKind network = NetworkKind::kAnalytic) {
  const RunResult run = run_of(s.spec.cluster, s.plan, network);
  const std::optional<ClusterSpec> even = without_slow_parts(s.spec.cluster);
  const Duration step = Duration::from_seconds(run.step_time_s);
  if (!even) return waterfall_of(s.spec.cluster, s.plan, run, step);
  return waterfall_of(*even, s.plan, run_of(*even, s.plan, network), step);
}

double seconds(const Waterfall& w, Loss loss) { return w.time(loss).seconds(); }

void expect_sound(const Waterfall& w) {
  Duration sum;
  for (const WaterfallTerm& t : w.terms) sum += t.time;
  EXPECT_EQ(sum, w.step);
  for (const WaterfallTerm& t : w.terms) {
    // What is left over is rounding: every kernel of a rank by half a picosecond, sums of doubles by 1e-15 of the step each.
    const double least = t.loss == Loss::kStragglers ? -0.01 * w.step.seconds() : -1e-9 * w.step.seconds();
    EXPECT_GE(t.time.seconds(), least) << to_text(t.loss);
  }
  EXPECT_LE(seconds(w, Loss::kOther), 1e-9 * w.step.seconds());
}

// Two stages of `layers` wide layers on one node of GPUs that lose nothing: full efficiency, free memory, free host. Vocabulary and norms
// are too small to matter.
Scenario pipeline(const std::string& stages, std::int64_t micro_batches) {
  Scenario s = test::scenario(
      "llama3.2-1b-ddp", {"cluster.nodes=1", "job.model.layers=4", "job.model.hidden=8192", "job.model.ffn=32768",
                          "job.model.heads=64", "job.model.head_dim=128", "job.model.vocab=1024", "job.seq_len=1024",
                          "job.pp=2", "job.stages=" + stages, "job.gradient_accumulation=" + std::to_string(micro_batches)});
  GpuSpec& gpu = s.spec.cluster.server->gpu;
  gpu.efficiency = {
      .gemm = {1}, .attention = {.flash1 = Fraction{1}, .flash2 = Fraction{1}, .flash3 = Fraction{1}}, .hbm = {1}};
  gpu.hbm = Rate::bytes_per_second(1e14);
  s.spec.cluster.software = {};
  return s;
}

constexpr std::int64_t kMostGpus = 2048;  // the larger ones are the same jobs on more nodes

TEST(Waterfall, AddsUpOnEveryShippedScenario) {
  int explained = 0;
  for (const ConfigEntry& e : test::shipped().entries("scenario")) {
    SCOPED_TRACE(e.name);
    const Scenario s = test::scenario(e.name);
    if (!s.jobs.empty() || size_of(s.spec.cluster).gpus > kMostGpus) continue;
    const Waterfall w = waterfall(s);
    expect_sound(w);
    EXPECT_EQ(w.has_flops(), !s.plan.has_profile());
    ++explained;
  }
  EXPECT_GE(explained, 18);
}

TEST(Waterfall, EndsAtTheMfuOfTheRun) {
  const Scenario s = test::scenario("llama3-8b-fsdp");
  const Waterfall w = waterfall(s);
  const RunResult run = run_of(s.spec.cluster, s.plan, NetworkKind::kAnalytic);
  EXPECT_DOUBLE_EQ(*w.mfu_after(0), 1);
  EXPECT_NEAR(*w.mfu_after(w.terms.size() - 1), *run.mfu, 1e-9);
  for (std::size_t i = 1; i < w.terms.size(); ++i) EXPECT_LE(*w.mfu_after(i), *w.mfu_after(i - 1) + 1e-9);
}

// A GPU without losses on an infinite network: what a fused core multiplies again in backward (2.5 instead of 2 times its forward) is all
// that attention costs beyond the model's FLOPs, and matrix products cost nothing.
TEST(Waterfall, OfAnIdealGpuHasTheFlopsThatTheModelDoesNotCount) {
  Scenario s = pipeline("[2,2]", 8);
  const Waterfall w = waterfall(s, NetworkKind::kIdeal);
  expect_sound(w);
  const ForwardFlops forward = forward_flops(s.plan.job.model, s.plan.global_batch, s.plan.job.seq_len);
  const double rate = linear_peak(s.spec.cluster.server->gpu, s.plan.job) * 8;
  EXPECT_NEAR(seconds(w, Loss::kIdeal), 3 * forward.total() / rate, 1e-9);
  EXPECT_NEAR(seconds(w, Loss::kAttention), 0.5 * forward.attention_core / rate, 1e-9);
  for (const Loss none : {Loss::kProductRate, Loss::kRecompute, Loss::kHost, Loss::kInterference, Loss::kStragglers, Loss::kTp,
                          Loss::kCp, Loss::kEp, Loss::kPp, Loss::kDp}) {
    EXPECT_NEAR(seconds(w, none), 0, 1e-9) << to_text(none);
  }
}

// p stages of equal work, m micro-batches: a rank computes m of m + p - 1 slots, so bubble / compute = (p - 1) / m = 1 / 8.
// Embedding, head and memory add a little to one stage.
TEST(Waterfall, HasTheBubbleOfAnEvenPipeline) {
  const Waterfall w = waterfall(pipeline("[2,2]", 8), NetworkKind::kIdeal);
  const double compute = w.step.seconds() - seconds(w, Loss::kBubble) - seconds(w, Loss::kImbalance);
  EXPECT_NEAR(seconds(w, Loss::kBubble) / compute, 1.0 / 8, 0.005);
  EXPECT_LT(seconds(w, Loss::kImbalance) / compute, 0.03);
}

// 3 layers and 1: the mean is 2, the slower stage has 1 more: imbalance / compute = 1 / 2.
TEST(Waterfall, HasTheImbalanceOfUnequalStages) {
  const Waterfall w = waterfall(pipeline("[3,1]", 16), NetworkKind::kIdeal);
  const double compute = w.step.seconds() - seconds(w, Loss::kBubble) - seconds(w, Loss::kImbalance);
  EXPECT_NEAR(seconds(w, Loss::kImbalance) / compute, 0.5, 0.02);
}

// Full recomputation runs the forward of all layers once more: hardware FLOPs beyond the model's, at the peak.
TEST(Waterfall, HasTheFlopsOfRecomputation) {
  Scenario s = pipeline("[2,2]", 8);
  s.plan.job.recompute = Recompute::kFull;
  const Waterfall w = waterfall(s, NetworkKind::kIdeal);
  expect_sound(w);
  const StepFlops flops = step_flops(s.plan);
  const double rate = linear_peak(s.spec.cluster.server->gpu, s.plan.job) * 8;
  EXPECT_NEAR(seconds(w, Loss::kRecompute) / ((flops.hardware - flops.model) / rate), 1, 0.05);
  s.plan.job.recompute = Recompute::kNone;
  EXPECT_EQ(seconds(waterfall(s, NetworkKind::kIdeal), Loss::kRecompute), 0);
}

// Every GPU takes a tenth longer, and there is nothing but compute: a tenth of the step without is lost.
TEST(Waterfall, HasTheTimeOfSlowGpus) {
  Scenario s = pipeline("[2,2]", 8);
  s.spec.cluster.stragglers = StragglerSpec{.share = {1}, .slowdown = {0.1}};
  const Waterfall w = waterfall(s, NetworkKind::kIdeal);
  expect_sound(w);
  EXPECT_NEAR(seconds(w, Loss::kStragglers) / (w.step.seconds() - seconds(w, Loss::kStragglers)), 0.1, 1e-6);
}

// Kernels that are started for nothing leave nobody waiting; starting them takes longer where they are started one by one.
TEST(Waterfall, HasNoHostTimeWhereStartingIsFree) {
  Scenario s = test::scenario("llama3.2-1b-ddp", {"cluster.nodes=1", "job.seq_len=256", "job.micro_batch=1"});
  const double eager = seconds(waterfall(s), Loss::kHost);
  s.plan.job.execution = Execution::kCudaGraphs;
  const double recorded = seconds(waterfall(s), Loss::kHost);
  EXPECT_GT(eager, 10 * recorded);
  s.spec.cluster.software = {};
  EXPECT_EQ(seconds(waterfall(s), Loss::kHost), 0);
}

TEST(Waterfall, OfAProfileHasNoFlops) {
  const Waterfall w = waterfall(test::scenario("field-vgg-16-p3dn"));
  expect_sound(w);
  EXPECT_EQ(w.terms.front().loss, Loss::kCompute);
  EXPECT_FALSE(w.mfu_after(0));
}

// The parts of every kernel add up to its time, rounded to a picosecond, whatever has parts of its own: experts, tensor parallelism that
// overlaps, latent attention, cores that are not fused.
TEST(KernelParts, AddUpToTheKernels) {
  const std::vector<std::vector<std::string>> plans = {{"job.tp=4", "job.sequence_parallel=true", "job.tp_overlap=pipelined"},
                                                       {"job.attention=unfused", "job.recompute=selective"},
                                                       {"job.tp=2", "job.tp_overlap=backward"},
                                                       {"job.pp=2", "job.schedule=zb_h1"},
                                                       {"job.lora.rank=16"},
                                                       {"job.model=mixtral-8x7b", "job.ep=8"},
                                                       {"job.model=deepseek-v3", "job.ep=8", "job.pp=1"}};
  for (const std::vector<std::string>& assignments : plans) {
    SCOPED_TRACE(assignments.front());
    const Scenario s = test::scenario("llama3.2-1b-ddp", assignments);
    const GpuPerformance gpu = performance_of(s.spec.cluster.server->gpu, s.spec.cluster.software, s.plan.job);
    const std::unique_ptr<Program> program = make_program(s.plan, gpu);
    const std::vector<KernelParts> parts = kernel_parts(s.plan, gpu);
    ASSERT_EQ(parts.size(), program->kernels().kernels.size());
    for (std::size_t k = 0; k < parts.size(); ++k) {
      const Kernel& kernel = program->kernels().kernels[k];
      EXPECT_NEAR(parts[k].total(), (kernel.time - kernel.host).seconds(), 1e-12) << kernel.name;
      EXPECT_LE(parts[k].product_limit, parts[k].product * (1 + 1e-12)) << kernel.name;
      EXPECT_EQ(parts[k].owner == KernelOwner::kHead, kernel.name.starts_with("head")) << kernel.name;
      EXPECT_EQ(parts[k].owner == KernelOwner::kOptimizer, kernel.name.starts_with("optimizer")) << kernel.name;
    }
  }
}

class PlainCount final : public OpSink {
 public:
  explicit PlainCount(std::size_t kernels) : runs(kernels, 0) {}
  void push(Stream, const Op& op) override {
    if (op.kind == OpKind::kCompute) ++runs[op.kernel.index()];
  }
  std::vector<std::int64_t> runs;
};

// What repeats is multiplied: the same as counting all of it.
TEST(KernelRuns, AreThoseOfTheWholeProgram) {
  for (const char* name : {"llama3-70b-3d", "llama3-8b-fsdp", "gpt-175b-a100", "field-vgg-16-p3dn"}) {
    const Scenario s = test::scenario(name);
    const std::unique_ptr<Program> program =
        make_program(s.plan, performance_of(s.spec.cluster.server->gpu, s.spec.cluster.software, s.plan.job));
    std::int64_t ranks = 0;
    std::vector<std::uint32_t> roles;
    const std::vector<RoleRuns> counted = kernel_runs(*program);
    for (std::uint32_t r = 0; r < program->world_size(); ++r) {
      const std::uint32_t role = program->role(Rank(r));
      if (std::find(roles.begin(), roles.end(), role) != roles.end()) continue;
      PlainCount all(program->kernels().kernels.size());
      ProgramCursor cursor;
      while (program->expand(Rank(r), cursor, all)) {
      }
      EXPECT_EQ(all.runs, counted.at(roles.size()).runs) << name << " role " << role;
      ranks += counted[roles.size()].ranks;
      roles.push_back(role);
    }
    EXPECT_EQ(counted.size(), roles.size());
    EXPECT_EQ(ranks, program->world_size());
  }
}

}  // namespace
}  // namespace lockstep
