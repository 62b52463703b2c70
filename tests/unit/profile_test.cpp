// SPDX-License-Identifier: Apache-2.0
// Jobs by measurement: what a file may say, what ranks do, what a run reports.
#include "workloads/model/profile.h"

#include <gtest/gtest.h>

#include <numeric>

#include "sim/experiment/job_run.h"
#include "tests/support/program_interpreter.h"
#include "tests/support/shipped.h"
#include "tests/support/workload_fixtures.h"
#include "workloads/schedule/profile_program.h"

namespace lockstep {
namespace {

constexpr std::int64_t kMB = 1'000'000;

// Ten parts of 10 MB; 3 ms a sample, of which 1 forward; four samples at once.
JobSpec ten_parts() {
  JobSpec job;
  job.name = "ten parts";
  job.profile = ProfileSpec{.gradient_bytes = Bytes(100 * kMB), .time_per_sample = Duration::micros(3000), .layers = 10};
  job.micro_batch = 4;
  job.first_bucket_size = Bytes(1 * kMB);
  job.bucket_size = Bytes(25 * kMB);
  return job;
}

std::string faults(const std::string& text) {
  Diagnostics d;
  if (const auto document = Document::parse(text, "job.yaml", d)) {
    ReadContext context(d, &test::shipped());
    JobSpec job;
    job_fields().read_document(*document, job, context);
  }
  return test::messages(d);
}

std::string plan_faults(const JobSpec& job, std::int64_t gpus) {
  std::string text;
  (void)resolve_plan(job, gpus, [&](std::string_view key, std::string message, std::string hint) {
    text += std::string(key) + ": " + message + " (" + hint + ")\n";
  });
  return text;
}

TEST(Profile, AJobComputesAModelOrAProfile) {
  EXPECT_EQ(faults("kind: job\nprofile: {gradient_bytes: 100 MB, time_per_sample: 3 ms}\n"), "");
  EXPECT_EQ(faults("kind: job\nprofile: {gradient_bytes: 100 MB, time_per_sample: 3 ms}\nmodel: llama3-8b\n"),
            "job.yaml:2:10: error: profile: a job computes a model or a profile, not both (leave one of them out)\n");
  EXPECT_EQ(faults("kind: job\nprofile: {gradient_bytes: 100 MB, time_per_sample: 3 ms}\nseq_len: 128\n"),
            "job.yaml:3:10: error: seq_len: a profile has samples, not sequences of tokens (leave it out)\n");
  const std::string neither = faults("kind: job\nmicro_batch: 2\n");
  EXPECT_NE(neither.find("job.yaml:1:1: error: model: the key 'model' is missing"), std::string::npos) << neither;
  EXPECT_NE(neither.find("job.yaml:1:1: error: seq_len: the key 'seq_len' is missing"), std::string::npos) << neither;
}

TEST(Profile, PartsMustAddUp) {
  EXPECT_EQ(
      faults("kind: job\nprofile: {time_per_sample: 3 ms}\n"),
      "job.yaml:2:10: error: profile.gradient_bytes: nothing says how many bytes of gradients there are (gradient_bytes: 4 B x "
      "parameters for 32-bit gradients, or layer_bytes)\n");
  EXPECT_EQ(
      faults("kind: job\nprofile: {time_per_sample: 3 ms, gradient_bytes: 5 MB, layer_bytes: [1 MB, 3 MB]}\n"),
      "job.yaml:2:69: error: profile.layer_bytes: the parts hold 4 MB, gradient_bytes says 5 MB (they must add up, or leave "
      "gradient_bytes out)\n");
  EXPECT_EQ(faults("kind: job\nprofile: {time_per_sample: 3 ms, layers: 2, layer_bytes: [1 MB, 3 MB]}\n"),
            "job.yaml:2:42: error: profile.layers: layer_bytes lists the parts already (give one of the two)\n");
  EXPECT_EQ(faults("kind: job\nprofile: {gradient_bytes: 1 MB}\n"),
            "job.yaml:2:10: error: profile.time_per_sample: the key 'time_per_sample' is missing (forward and backward of one "
            "sample on one GPU at this micro_batch, compute only)\n");
}

TEST(Profile, IsDataParallelOnly) {
  JobSpec job = ten_parts();
  EXPECT_EQ(plan_faults(job, 8), "");
  job.tp = 2;
  job.strategy = Strategy::kFsdp;
  job.recompute = Recompute::kFull;
  EXPECT_EQ(plan_faults(job, 8),
            "tp: a profile is a whole model on one GPU: it cannot be cut (tp: 1, or a model)\n"
            "strategy: a profile is a whole model on one GPU: it cannot be sharded (strategy: ddp, or a model)\n"
            "recompute: a profile is a whole model on one GPU: its time is as measured (recompute: none, or a model)\n");
}

// Equal parts share what does not divide: 10 bytes in 4 parts.
TEST(Profile, EqualPartsSumToTheWhole) {
  ProfileSpec p{.gradient_bytes = Bytes(10), .time_per_sample = Duration::micros(1), .layers = 4};
  EXPECT_EQ(p.part_bytes(), (std::vector<std::int64_t>{3, 3, 2, 2}));
  p.layers.reset();
  EXPECT_EQ(p.parts(), kEqualParts);
  const std::vector<std::int64_t> bytes = p.part_bytes();
  EXPECT_EQ(std::accumulate(bytes.begin(), bytes.end(), std::int64_t{0}), 10);
}

// Parts of 10 MB from the last to the first: the first bucket is full with one, the others with three: 1 + 3 + 3 + 3. They leave after
// backward of parts 9, 6, 3 and 0 of the last micro-batch only, and the step ends with the fixed time after the last.
TEST(Profile, BucketsLeaveWhenTheyAreFull) {
  JobSpec job = ten_parts();
  job.gradient_accumulation = 2;
  job.profile->fixed_time = Duration::micros(700);
  const ProfileProgram program(test::plan_of(job, 4));
  test::ProgramInterpreter run(program);
  ASSERT_TRUE(run.run());
  std::vector<std::int64_t> bytes;
  std::vector<std::int64_t> after;
  for (const Op& op : run.ops(Rank(3), Stream::kDpReduce)) {
    if (op.kind == OpKind::kCollective) bytes.push_back(op.bytes);
    if (op.kind == OpKind::kWait) after.push_back(op.wait_count);
  }
  EXPECT_EQ(bytes, (std::vector<std::int64_t>{10 * kMB, 30 * kMB, 30 * kMB, 30 * kMB}));
  EXPECT_EQ(after, (std::vector<std::int64_t>{30 + 1, 30 + 4, 30 + 7, 30 + 10}));
  // The interpreter's collectives take no time: two micro-batches of four samples, and what is fixed.
  EXPECT_EQ(run.end_time(), Duration::micros(2 * 4 * 3000 + 700).picos());
}

// Without overlap all buckets follow the last kernel.
TEST(Profile, BucketsFollowBackwardWithoutOverlap) {
  JobSpec job = ten_parts();
  job.overlap_grad_reduce = false;
  const ProfileProgram program(test::plan_of(job, 4));
  test::ProgramInterpreter run(program);
  ASSERT_TRUE(run.run());
  for (const Op& op : run.ops(Rank(0), Stream::kDpReduce)) {
    if (op.kind != OpKind::kWait) continue;
    EXPECT_EQ(op.wait_count, 20);
  }
}

// A third of 3 ms over ten parts, four samples: 0.4 ms forward, 0.8 ms backward.
TEST(Profile, AThirdOfTheTimeIsForwardUnlessItSaysOtherwise) {
  JobSpec job = ten_parts();
  const auto times = [&job] {
    const ProfileProgram program(test::plan_of(job, 1));
    return std::pair(program.kernels()[KernelId(0)].time, program.kernels()[KernelId(1)].time);
  };
  EXPECT_EQ(times(), std::pair(Duration::micros(400), Duration::micros(800)));
  job.profile->forward_share = Fraction{0.25};
  EXPECT_EQ(times(), std::pair(Duration::micros(300), Duration::micros(900)));
}

// Samples and money have a meaning; tokens, FLOPs and memory have none.
TEST(Profile, RunsReportSamplesAndNothingThatNeedsAModel) {
  const Scenario s = [] {
    Diagnostics d;
    ReadContext context(d, &test::shipped());
    return load_scenario({.cluster = "dgx-a100", .job = "vgg-16", .assignments = {"cluster.nodes=1"}}, context).value();
  }();
  const RunResult r = run_job(s.spec.cluster, s.plan, {});
  EXPECT_NEAR(*r.samples_per_s * r.step_time_s, 8 * 64, 1e-9);
  EXPECT_FALSE(r.tokens_per_s || r.mfu || r.hfu || r.tflops_per_gpu || r.memory);
  EXPECT_TRUE(r.fits());
  ASSERT_TRUE(r.cost);
  EXPECT_FALSE(r.cost->usd_per_million_tokens);
  EXPECT_EQ(r.plan, "dp 8, 1 x 64 samples per replica");
}

// One node needs no network, and is in a rack and a pod of its own.
TEST(Profile, RunsOnANodeWithoutANetwork) {
  Diagnostics d;
  ReadContext context(d, &test::shipped());
  const auto document =
      Document::parse("kind: scenario\ncluster: {nodes: 1, server: dgx-a100}\njob: bert-large\n", "one-node.yaml", d);
  const auto s = read_scenario(document.value(), context);
  ASSERT_TRUE(s) << test::messages(d);
  const RunResult r = run_job(s->spec.cluster, s->plan, {});
  ASSERT_EQ(r.locality.size(), 1u);
  EXPECT_EQ(r.locality[0].racks, 1);
  EXPECT_EQ(r.locality[0].pods, 1);
}

// What --show-config prints reads back as the same job.
TEST(Profile, PrintedJobsReadBack) {
  for (const char* name : {"vgg-16", "bert-large", "llama3-8b-fsdp"}) {
    Diagnostics d;
    ReadContext context(d, &test::shipped());
    const auto document = test::shipped().open("job", name, {}, {}, d);
    ASSERT_TRUE(document);
    JobSpec job;
    ASSERT_TRUE(job_fields().read_document(*document, job, context)) << test::messages(d);
    ConfigPrinter first;
    job_fields().print(job, first);
    JobSpec again;
    const auto printed = Document::parse("kind: job\n" + first.text(), "printed.yaml", d);
    ASSERT_TRUE(printed && job_fields().read_document(*printed, again, context)) << test::messages(d);
    ConfigPrinter second;
    job_fields().print(again, second);
    EXPECT_EQ(first.text(), second.text());
  }
}

// Published parameters, 4 bytes each (BERT's mixed-precision gradients 2).
TEST(Profile, ShippedJobsExchangeTheirPublishedParameters) {
  const std::tuple<const char*, std::int64_t, std::int64_t> published[] = {
      {"vgg-16", 138'357'544, 4}, {"resnet-50", 25'557'032, 4}, {"bert-large", 336'226'108, 2}};
  for (const auto& [name, parameters, bytes] : published) {
    Diagnostics d;
    ReadContext context(d, &test::shipped());
    const auto document = test::shipped().open("job", name, {}, {}, d);
    ASSERT_TRUE(document);
    JobSpec job;
    ASSERT_TRUE(job_fields().read_document(*document, job, context)) << test::messages(d);
    const std::vector<std::int64_t> parts = job.profile->part_bytes();
    EXPECT_EQ(std::accumulate(parts.begin(), parts.end(), std::int64_t{0}), parameters * bytes) << name;
  }
}

}  // namespace
}  // namespace lockstep
