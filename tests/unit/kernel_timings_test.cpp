// SPDX-License-Identifier: Apache-2.0
// Measured kernels in the place of modelled ones: which they replace, by how much a step changes, and what is wrong with a file. All numbers
// of the files are made up.
#include <gtest/gtest.h>

#include "sim/experiment/job_run.h"
#include "sim/experiment/tune/plan_bound.h"
#include "tests/support/document_text.h"
#include "tests/support/shipped.h"
#include "tests/support/workload_fixtures.h"
#include "workloads/kernels/performance.h"
#include "workloads/kernels/timed_kernels.h"
#include "workloads/schedule/training_program.h"

namespace lockstep {
namespace {

using Table = std::shared_ptr<const KernelTimings>;

Table table(const std::string& text) {
  Diagnostics d;
  auto out = std::make_shared<const KernelTimings>(parse_kernel_timings(text, "t.csv", d));
  if (!d.items().empty()) ADD_FAILURE() << test::all_text(d);
  return out;
}

std::string faults(const std::string& text) {
  Diagnostics d;
  (void)parse_kernel_timings(text, "t.csv", d);
  return test::all_text(d);
}

// One layer of 256 wide, 128 tokens a micro-batch, three of them. Products (m, n, k), forward, then those of the gradients of X and W:
//   qkv     128 x 512 x 256     128 x 256 x 512     256 x 512 x 128
//   output  128 x 256 x 256     128 x 256 x 256     256 x 256 x 128
//   up      128 x 1024 x 256    128 x 256 x 1024    256 x 1024 x 128
//   down    128 x 256 x 512     128 x 512 x 256     512 x 256 x 128
//   logits  128 x 2000 x 256    128 x 256 x 2000    256 x 2000 x 128
TrainingPlan one_layer(DataType precision = DataType::kBf16) {
  JobSpec job;
  job.model = test::tiny(1);
  job.model.vocab = 2000;
  job.seq_len = 128;
  job.gradient_accumulation = 3;
  job.precision = precision;
  return test::plan_of(job, 1);
}

GpuPerformance gpu_with(const std::string& text, DataType precision = DataType::kBf16) {
  GpuPerformance gpu = test::ideal_gpu();
  gpu.measured = {.table = table(text), .linear = precision, .other = DataType::kBf16};
  return gpu;
}

// Of a GPU alone whose host costs nothing the bound is the step.
double step(const GpuPerformance& gpu, const TrainingPlan& plan = one_layer()) { return cost_of(plan, gpu, {1, 1, 1}).bound_s; }

double modelled(const GemmShape& shape) { return kernel_seconds(test::ideal_gpu(), gemm("g", shape)); }

constexpr double kPicos = 1e-12;
const std::string kProduct = "kernel,m,n,k,batch,precision,time\n";
const std::string kPart = "part,direction,tokens,tp,precision,time\n";

// Up runs once a micro-batch: the step grows by 3 x (1 ms - the model's time), whichever way round C is written.
TEST(KernelTimings, AStepChangesByTheDifferenceTimesTheCount) {
  const double more = 3 * (1e-3 - modelled({.m = 128, .n = 1024, .k = 256}));
  const double before = step(test::ideal_gpu());
  EXPECT_NEAR(step(gpu_with(kProduct + "gemm,128,1024,256,,,1 ms\n")) - before, more, 20 * kPicos);
  EXPECT_NEAR(step(gpu_with(kProduct + "gemm,1024,128,256,1,bf16,1000 us\n")) - before, more, 20 * kPicos);
  EXPECT_EQ(step(gpu_with(kProduct + "gemm,128,1024,255,,,1 ms\n")), before);
  EXPECT_EQ(step(gpu_with(kProduct + "gemm,128,1024,256,2,,1 ms\n")), before);
  EXPECT_EQ(step(gpu_with(kProduct + "gemm,128,1024,256,,fp16,1 ms\n")), before);
}

// Fifteen products in twelve shapes (output and its gradient of X; down and qkv's; down's and qkv): every row of the table that is written is
// a kernel, and with its own times, which have six digits, the step is what it was.
TEST(KernelTimings, AWrittenTableChangesNothing) {
  for (const DataType precision : {DataType::kBf16, DataType::kFp8}) {
    const TrainingPlan plan = one_layer(precision);
    GpuPerformance gpu = gpu_with(kProduct, precision);
    const std::string text = product_times(plan, gpu);
    gpu.measured.table = table(text);
    EXPECT_EQ(gpu.measured.table->rows.size(), 12u) << text;
    const TimingUse use = timing_use(plan, gpu);
    EXPECT_EQ(std::count(use.rows.begin(), use.rows.end(), false), 0);
    EXPECT_NEAR(step(gpu, plan), step(test::ideal_gpu(), plan), 2e-6 * step(test::ideal_gpu(), plan));
  }
}

// 256 x 512 x 128 is W's gradient of qkv, transposed that of down, which has a row of its own where there is one.
TEST(KernelTimings, TheTransposedProductCountsWhereNoRowHasTheOrder) {
  const double before = step(test::ideal_gpu());
  const double model = modelled({.m = 256, .n = 512, .k = 128});
  const double exposed = modelled({.m = 256, .n = 512, .k = 128, .out = 8});  // 32-bit gradients, read and written
  EXPECT_GT(exposed, model);
  EXPECT_NEAR(step(gpu_with(kProduct + "gemm,256,512,128,,,1 ms\n")) - before, 3 * 2 * (1e-3 - exposed), 20 * kPicos);
  EXPECT_NEAR(step(gpu_with(kProduct + "gemm,256,512,128,,,1 ms\ngemm,512,256,128,,,2 ms\n")) - before,
              3 * (1e-3 + 2e-3 - 2 * exposed), 20 * kPicos);
}

// In an FP8 job logits stay in 16 bits. A row of the precision goes before one of any.
TEST(KernelTimings, PrecisionIsThatOfTheProduct) {
  const TrainingPlan plan = one_layer(DataType::kFp8);
  const GpuPerformance gpu = gpu_with(
      kProduct + "gemm,128,1024,256,,,3 ms\ngemm,128,1024,256,,fp8,2 ms\ngemm,128,2000,256,,bf16,5 ms\n", DataType::kFp8);
  EXPECT_DOUBLE_EQ(kernel_seconds(gpu, linear("up", {.m = 128, .n = 1024, .k = 256})), 2e-3);
  EXPECT_DOUBLE_EQ(kernel_seconds(gpu, gemm("g", {.m = 128, .n = 1024, .k = 256})), 3e-3);
  EXPECT_DOUBLE_EQ(kernel_seconds(gpu, gemm("logits", {.m = 128, .n = 2000, .k = 256})), 5e-3);
  EXPECT_LT(kernel_seconds(gpu, linear("l", {.m = 128, .n = 2000, .k = 256})), 1e-3);
  EXPECT_EQ(timing_use(plan, gpu).products, 2);
  EXPECT_EQ(timing_use(plan, gpu).rows, (std::vector<bool>{false, true, true}));
}

// The operation takes what was measured, products inside it too, and what the host adds stays: sqrt(3^2 + 4^2) = 5.
TEST(KernelTimings, APartIsTheWholeOperation) {
  const GpuPerformance gpu = gpu_with("kernel,m,n,k,part,direction,time\n,,,,mlp,forward,3 ms\ngemm,128,1024,256,,,1 ms\n");
  const std::vector<KernelWork> works = timed_part_kernels(one_layer(), ModelPart::kMlp, Direction::kForward, gpu);
  EXPECT_NEAR(fuse("mlp", works, gpu).time.seconds(), 3e-3, 2 * kPicos);
  double operations = 0;
  for (const KernelWork& w : works) operations += w.operations;
  GpuPerformance slow = gpu;
  slow.host.launch_s = 4e-3 / operations;
  EXPECT_NEAR(fuse("mlp", works, slow).time.seconds(), 5e-3, 2 * kPicos);
  const TimingUse use = timing_use(one_layer(), gpu);
  EXPECT_EQ(use.parts, 1);
  EXPECT_EQ(use.products, 0);
  EXPECT_EQ(use.rows, (std::vector<bool>{true, true}));
}

// Entry, middle and exit beside collectives add up to the operation.
TEST(KernelTimings, SlicesShareThePart) {
  JobSpec job;
  job.model = test::tiny(2);
  job.seq_len = 128;
  job.tp = 2;
  job.sequence_parallel = true;
  job.tp_overlap = TpOverlap::kPipelined;
  const TrainingPlan plan = test::plan_of(job, 2);
  const GpuPerformance gpu = gpu_with(kPart + "attention,forward,,,,1 ms\n");
  const TrainingProgram program(plan, gpu);
  double sum = 0;
  for (const OverlapSlice slice : kOverlapSlices) {
    const double time = program.kernels()[slice_kernel_id(ModelPart::kAttention, slice, true)].time.seconds();
    EXPECT_GT(time, 0);
    sum += time;
  }
  EXPECT_NEAR(sum, 1e-3, 4 * kPicos);
}

TEST(KernelTimings, OfRowsOfAPartTheOneThatSaysMoreCounts) {
  const GpuPerformance gpu =
      gpu_with(kPart + "mlp,forward,,,,1 ms\nmlp,forward,128,,,2 ms\nmlp,forward,128,2,,3 ms\nmlp,forward,64,1,,4 ms\n");
  const MeasuredKernels& m = gpu.measured;
  EXPECT_EQ(m.part(ModelPart::kMlp, Direction::kForward, 128, 1), 1u);
  EXPECT_EQ(m.part(ModelPart::kMlp, Direction::kForward, 128, 2), 2u);
  EXPECT_EQ(m.part(ModelPart::kMlp, Direction::kForward, 64, 1), 3u);
  EXPECT_EQ(m.part(ModelPart::kMlp, Direction::kForward, 256, 1), 0u);
  EXPECT_EQ(m.part(ModelPart::kMlp, Direction::kBackward, 128, 1), std::nullopt);
}

// A dense model has no experts, a plan whose backward is one pass no weight gradients apart.
TEST(KernelTimings, RowsOfNoKernelAreFound) {
  const GpuPerformance gpu =
      gpu_with("part,direction,time\nexperts,forward,1 ms\nmlp,weight_gradient,1 ms\nhead,backward,1 ms\n");
  EXPECT_EQ(timing_use(one_layer(), gpu).rows, (std::vector<bool>{false, false, true}));
  EXPECT_EQ(timing_use(one_layer(), gpu).parts, 1);
}

// On 16 GPUs: 16 equal ranks are one class, and one by one they take the same time. Four layers and one micro-batch, no host: forward
// of every layer grows by 1 s less the model's time.
TEST(KernelTimings, AreTheSameWithAndWithoutSymmetry) {
  Scenario scenario = test::scenario("llama3.2-1b-ddp", {"cluster.nodes=2", "job.model.layers=4"});
  scenario.spec.cluster.software = {};
  const auto run = [&](bool uses_symmetry) {
    return run_job(scenario.spec.cluster, scenario.plan,
                   {.network = NetworkKind::kFlow, .uses_symmetry = uses_symmetry, .compares_with_ideal = false});
  };
  const RunResult before = run(true);
  EXPECT_FALSE(before.kernel_timings);
  const GpuPerformance gpu = performance_of(*scenario.spec.cluster.server, {}, scenario.plan.job);
  double modelled = 0;
  for (const KernelWork& w : part_kernels(scenario.plan, ModelPart::kMlp, Direction::kForward, gpu.kernels)) {
    modelled += kernel_seconds(gpu, w);
  }
  scenario.plan.job.kernel_timings = table(kPart + "mlp,forward,,,,1 s\nmoe,forward,,,,1 s\n");
  const RunResult one = run(true);
  const RunResult all = run(false);
  EXPECT_EQ(one.step_time_s, all.step_time_s);
  EXPECT_EQ(one.breakdown_s, all.breakdown_s);
  const double count = 4.0 * static_cast<double>(scenario.plan.micro_batches);
  EXPECT_NEAR(one.step_time_s - before.step_time_s, count * (1 - modelled), 1e-9 * count);
  ASSERT_TRUE(one.kernel_timings);
  EXPECT_EQ(one.kernel_timings->file, "t.csv");
  EXPECT_EQ(one.kernel_timings->rows, 2);
  EXPECT_EQ(one.kernel_timings->unused_rows, 1);
  EXPECT_EQ(one.kernel_timings->products, 0);
  EXPECT_EQ(one.kernel_timings->parts, 1);
}

TEST(KernelTimings, FaultsNameTheirPlace) {
  EXPECT_EQ(faults(kProduct + "gemm,128,x,256,,,1 ms\n"), "t.csv:2:10: error: n: 'x' is not a number\n");
  EXPECT_EQ(faults(kProduct + "gemm,128,0,256,,,1 ms\n"),
            "t.csv:2:10: error: n: '0' is out of range (1 to 9007199254740992)\n");
  EXPECT_EQ(faults(kProduct + "gemm,128,,256,,,1 ms\n"), "t.csv:2:10: error: n: the value is missing\n");
  EXPECT_EQ(faults(kProduct + "gemm,1,2,3,,,0 ms\n"),
            "t.csv:2:14: error: time: a time of 0 ms (a kernel takes more than no time)\n");
  EXPECT_EQ(
      faults(kProduct + "gemm,1,2,3,,bf61,1 ms\n"),
      "t.csv:2:13: error: precision: 'bf61' is not one of the choices (did you mean 'bf16'? one of bf16, fp16, fp32, fp8, "
      "mxfp8, nvfp4)\n");
  EXPECT_EQ(
      faults(kPart + "attention,forwards,,,,1 ms\n"),
      "t.csv:2:11: error: direction: 'forwards' is not one of the choices (did you mean 'forward'? one of forward, backward, "
      "weight_gradient)\n");
  EXPECT_EQ(faults(kProduct + "attention,1,2,3,,,1 ms\n"),
            "t.csv:2:1: error: kernel: there is no kernel 'attention' (gemm; parts of the model have columns of their own: "
            "part,direction,time)\n");
}

TEST(KernelTimings, EveryColumnHasAMeaning) {
  EXPECT_EQ(faults("kernel,m,n,k,tmie\n"),
            "t.csv:1:1: error: there is no meaning for a column 'tmie' (did you mean 'time'?)\n"
            "t.csv:1:1: error: there is no column 'time' (kernel,m,n,k[,batch][,precision],time or "
            "part,direction[,tokens][,tp][,precision],time)\n");
  EXPECT_EQ(faults("time,k,n,m,kernel\n1 ms,3,2,1,gemm\n"), "");
  EXPECT_EQ(faults("kernel,m,n,k,part,direction,time\ngemm,1,2,3,mlp,forward,1 ms\n"),
            "t.csv:2:12: error: part: the row has a kernel besides (a row is a matrix product or a part of the model)\n");
  EXPECT_EQ(faults("kernel,m,n,k,part,direction,time\n,1,,,mlp,forward,1 ms\n"),
            "t.csv:2:2: error: m: is of a matrix product, and this is a part of the model (leave it blank)\n");
}

TEST(KernelTimings, ARowTwiceNeedsTheSameTime) {
  EXPECT_EQ(faults(kProduct + "gemm,1,2,3,,,1 ms\ngemm,1,2,3,1,,1000 us\ngemm,1,2,3,,bf16,2 ms\ngemm,1,2,3,2,,2 ms\n"), "");
  EXPECT_EQ(faults(kProduct + "gemm,1,2,3,,,1 ms\n\ngemm,1,2,3,1,,2 ms\n"),
            "t.csv:4:15: error: time: gemm 1 x 2 x 3 has another time on line 2 (one row for each kernel)\n");
  EXPECT_EQ(faults(kPart + "mlp,forward,,,,1 ms\nmlp,forward,64,,,2 ms\nmlp,forward,,,,2 ms\n"),
            "t.csv:4:16: error: time: mlp forward has another time on line 2 (one row for each kernel)\n");
}

}  // namespace
}  // namespace lockstep
