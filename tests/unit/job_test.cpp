// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <filesystem>
#include <numeric>

#include "base/config_library.h"
#include "base/field_table.h"
#include "sim/experiment/scenario.h"
#include "tests/support/workload_fixtures.h"
#include "workloads/import/model_document.h"
#include "workloads/parallel/job.h"

namespace lockstep {
namespace {

std::string all_text(const Diagnostics& d) {
  std::string text;
  for (const Diagnostic& item : d.items()) text += to_text(item) + "\n";
  return text;
}

class Jobs : public testing::Test {
 protected:
  // What a job file says is wrong, without a cluster.
  std::string faults(const std::string& text) {
    Diagnostics d;
    const std::optional<Document> document = Document::parse(text, "job.yaml", d);
    if (document) {
      ReadContext context(d, &library_);
      JobSpec job;
      job_fields().read_document(*document, job, context);
    }
    return all_text(d);
  }

  // What a plan on `gpus` GPUs is told.
  static std::string plan_faults(const JobSpec& job, const ClusterSize& cluster) {
    Diagnostics d;
    (void)resolve_plan(
        job, cluster,
        [](std::string_view) {
          return Position{"job.yaml", 3, 5};
        },
        d);
    return all_text(d);
  }

  std::optional<TransformerSpec> model(const std::string& text, const std::string& file, Diagnostics& d) {
    const std::optional<Document> document = Document::parse(text, file, d, DocumentFormat::kJson);
    if (!document) return std::nullopt;
    ReadContext context(d, &library_);
    TransformerSpec m;
    if (!read_model(*document, m, context, "")) return std::nullopt;
    return m;
  }

  ConfigLibrary library_{{LOCKSTEP_TEST_CONFIGS}};
};

JobSpec llama70b() {
  JobSpec job;
  job.model = test::llama3_70b();
  job.seq_len = 8192;
  return job;
}

TEST_F(Jobs, EveryShippedScenarioResolves) {
  const std::vector<ConfigEntry> entries = library_.entries("scenario");
  ASSERT_GE(entries.size(), 8u);
  for (const ConfigEntry& entry : entries) {
    Diagnostics d;
    ReadContext context(d, &library_);
    const std::optional<Scenario> scenario =
        load_scenario({.file = entry.file, .cluster = {}, .job = {}, .assignments = {}}, context);
    ASSERT_TRUE(scenario) << entry.name << "\n" << all_text(d);
    std::int64_t ranks = scenario->spec.job ? scenario->plan.layout.world_size() : 0;
    for (const ScheduledJob& job : scenario->jobs) ranks += job.plan.layout.world_size();
    EXPECT_EQ(ranks, scenario->spec.cluster.gpus()) << entry.name;
    EXPECT_EQ(scenario->spec.name, entry.name);
  }
}

TEST_F(Jobs, AssignmentsReachTheClusterAndTheJob) {
  Diagnostics d;
  ReadContext context(d, &library_);
  const std::optional<Scenario> scenario =
      load_scenario({.file = {},
                     .cluster = "dgx-h100",
                     .job = "llama3-70b-tp8-pp4",
                     .assignments = {"cluster.nodes=8", "job.pp=2", "job.model.layers=40"}},
                    context);
  ASSERT_TRUE(scenario) << all_text(d);
  EXPECT_EQ(scenario->plan.layout.sizes().dp, 4u);  // 64 GPUs / (8 x 2)
  EXPECT_EQ(scenario->plan.stage_layers, (std::vector<std::int64_t>{20, 20}));
}

// 8 x 3 does not divide the 64 GPUs of eight nodes; the message points at the assignment or the file that said so.
TEST_F(Jobs, FaultsOfAPlanArePlacedWhereTheValueWasWritten) {
  Diagnostics d;
  ReadContext context(d, &library_);
  EXPECT_FALSE(load_scenario({.file = {},
                              .cluster = "dgx-h100",
                              .job = "llama3-70b-tp8-pp4",
                              .assignments = {"cluster.nodes=8", "job.pp=3", "job.tp=6"}},
                             context));
  const std::string text = all_text(d);
  EXPECT_NE(text.find("--set job.tp=6"), std::string::npos) << text;
  EXPECT_NE(text.find("job.tp: 64 attention heads are not divisible by tp 6"), std::string::npos) << text;
  EXPECT_NE(text.find("64 GPUs are not divisible by tp 6 x pp 3 = 18"), std::string::npos) << text;
}

TEST_F(Jobs, UnknownPathsAreErrorsWithASuggestion) {
  Diagnostics d;
  ReadContext context(d, &library_);
  EXPECT_FALSE(load_scenario(
      {.file = {}, .cluster = "dgx-h100", .job = "llama3-8b-fsdp", .assignments = {"job.sequence_paralel=true"}}, context));
  EXPECT_NE(all_text(d).find("sequence_parallel"), std::string::npos) << all_text(d);
}

TEST_F(Jobs, AJobFileIsCheckedKeyByKey) {
  EXPECT_EQ(faults("kind: job\nmodel: llama3-8b\nseq_len: 8192\n"), "");
  const std::string text = faults(
      "kind: job\nmodel: llama3-9b\nseq_len: 010\nmicro_batch: 0\ntp: eight\ndp: 0\nstrategy: zero\nbucket_size: 25\n"
      "sequence_parallel: NO\nheads: 4\n");
  for (const char* expected : {"job.yaml:2:", "did you mean 'llama3-8b'", "job.yaml:3:", "job.yaml:4:", "job.yaml:5:",
                               "job.yaml:6:", "job.yaml:7:", "job.yaml:8:", "job.yaml:9:", "job.yaml:10:"}) {
    EXPECT_NE(text.find(expected), std::string::npos) << expected << " in\n" << text;
  }
}

TEST_F(Jobs, AModelMayBeWrittenInline) {
  EXPECT_EQ(faults("kind: job\nseq_len: 128\nmodel: {layers: 2, hidden: 64, heads: 4, kv_heads: 2, head_dim: 16, ffn: 128, "
                   "vocab: 256}\n"),
            "");
  EXPECT_NE(faults("kind: job\nseq_len: 128\nmodel: {layers: 2, hidden: 64, heads: 4, kv_heads: 3, head_dim: 16, ffn: 128, "
                   "vocab: 256}\n")
                .find("4 query heads do not share 3 key/value heads evenly"),
            std::string::npos);
}

TEST_F(Jobs, AProductThatIsNotTheGpuCountSaysWhatWouldBe) {
  JobSpec job = llama70b();
  job.tp = 8;
  job.pp = 4;
  job.dp = 3;
  EXPECT_NE(plan_faults(job, 128).find(
                "tp 8 x pp 4 x dp 3 = 96 GPUs, but the cluster has 128: the job must fill the cluster (dp 4 or "
                "dp: auto, or gpus: 96)"),
            std::string::npos)
      << plan_faults(job, 128);
  EXPECT_NE(plan_faults(job, 64).find("the job is larger than the cluster"), std::string::npos);
  job.dp = AutoCount();
  EXPECT_NE(plan_faults(job, 16).find("the job is larger than the cluster"), std::string::npos);
  EXPECT_NE(plan_faults(job, 48).find("48 GPUs are not divisible by tp 8 x pp 4 = 32"), std::string::npos);
}

TEST_F(Jobs, PlansThatCannotBeCutSayWhy) {
  JobSpec job = llama70b();
  job.tp = 3;
  EXPECT_NE(plan_faults(job, 3).find("job.yaml:3:5: error: tp: 64 attention heads are not divisible by tp 3"),
            std::string::npos);
  job = llama70b();
  job.pp = 81;
  EXPECT_NE(plan_faults(job, 81).find("80 layers are fewer than 81 pipeline stages"), std::string::npos);
  job = llama70b();
  job.global_batch = 10;
  EXPECT_NE(plan_faults(job, 4).find("10 sequences are not divisible by micro_batch 1 x dp 4 = 4 (8 is)"), std::string::npos)
      << plan_faults(job, 4);
  job = llama70b();
  job.pp = 2;
  job.stages = {40, 39};
  EXPECT_NE(plan_faults(job, 2).find("the stages hold 79 layers, the model has 80"), std::string::npos);
  job.stages = {40};
  EXPECT_NE(plan_faults(job, 2).find("1 entries for pp 2"), std::string::npos);
  job = llama70b();
  job.pp = 4;
  job.virtual_stages = 2;
  job.gradient_accumulation = 6;
  EXPECT_NE(plan_faults(job, 4).find("multiple of pp 4 micro-batches, not 6"), std::string::npos);
  job = llama70b();
  job.shard_group = 4;
  EXPECT_NE(plan_faults(job, 8).find("shard_group: ddp does not shard weights (strategy: fsdp, or no shard_group)"),
            std::string::npos);
  job.strategy = Strategy::kFsdp;
  EXPECT_EQ(plan_faults(job, 8), "");
  EXPECT_NE(plan_faults(job, 6).find("6 data-parallel ranks are no multiple of shard_group 4 (shard_group 2 divides them)"),
            std::string::npos)
      << plan_faults(job, 6);
  job = llama70b();
  job.placement.endpoints = {0, 0};
  EXPECT_NE(plan_faults(job, 2).find("endpoint 0 is named twice"), std::string::npos);
  job.placement.endpoints = {0, 2};
  EXPECT_NE(plan_faults(job, 2).find("the cluster has no endpoint 2"), std::string::npos);
}

// 8 KV heads: 16 ranks copy them, 12 neither divide nor copy them.
TEST_F(Jobs, FewerKvHeadsThanRanksAreNoError) {
  JobSpec job = llama70b();
  job.tp = 16;
  EXPECT_EQ(plan_faults(job, 16), "");
  job.model.heads = 60;
  job.model.kv_heads = 5;
  job.tp = 12;
  EXPECT_NE(plan_faults(job, 12).find("tp 12 is no multiple of 5 KV heads"), std::string::npos) << plan_faults(job, 12);
}

// A micro-batch beyond 64-bit byte counts is the user's error, not an overflow.
TEST_F(Jobs, AbsurdSizesAreUserErrors) {
  JobSpec job = llama70b();
  job.seq_len = 1 << 24;
  job.micro_batch = 65'536;
  job.attention = AttentionKernel::kUnfused;
  EXPECT_NE(plan_faults(job, 1).find("bytes of activations"), std::string::npos);
  EXPECT_NE(plan_faults(job, 1).find("a micro-batch takes"), std::string::npos);
  job = llama70b();
  job.model.ffn = 1 << 22;
  job.model.layers = 10'000;
  job.model.hidden = 1 << 20;
  EXPECT_NE(plan_faults(job, 1).find("e+17 parameters (at most 1e15)"), std::string::npos) << plan_faults(job, 1);
}

// 126 layers on 16 stages: 7, then 8 fourteen times, then 7. 32 on 3: 34 units with embedding and head: 11, 12, 11.
TEST_F(Jobs, EmbeddingAndHeadCountAsLayersWhereLayersDoNotDivide) {
  const std::vector<std::int64_t> stages = default_stage_layers(126, 16);
  EXPECT_EQ(stages.front(), 7);
  EXPECT_EQ(stages.back(), 7);
  EXPECT_EQ(stages[1], 8);
  EXPECT_EQ(stages[14], 8);
  EXPECT_EQ(default_stage_layers(32, 3), (std::vector<std::int64_t>{10, 12, 10}));
  EXPECT_EQ(default_stage_layers(80, 4), (std::vector<std::int64_t>{20, 20, 20, 20}));
  EXPECT_EQ(default_stage_layers(5, 4), (std::vector<std::int64_t>{1, 2, 1, 1}));
  for (std::int64_t layers = 1; layers < 40; ++layers) {
    for (std::int64_t p = 1; p <= layers; ++p) {
      const std::vector<std::int64_t> split = default_stage_layers(layers, p);
      EXPECT_EQ(std::accumulate(split.begin(), split.end(), std::int64_t{0}), layers);
      EXPECT_GE(*std::min_element(split.begin(), split.end()), 1);
    }
  }
}

constexpr const char* kQwen3 =
    R"({"model_type": "qwen3", "hidden_size": 4096, "intermediate_size": 12288, "num_hidden_layers": 36,
 "num_attention_heads": 32, "num_key_value_heads": 8, "head_dim": 128, "vocab_size": 151936, "tie_word_embeddings": false,
 "sliding_window": null, "attention_bias": false, "max_position_embeddings": 40960})";

TEST_F(Jobs, HuggingFaceConfigsAreModels) {
  Diagnostics d;
  const std::optional<TransformerSpec> qwen = model(kQwen3, "models/Qwen3-8B/config.json", d);
  ASSERT_TRUE(qwen) << all_text(d);
  EXPECT_EQ(parameter_count(*qwen), 8'190'735'360);
  EXPECT_EQ(qwen->name, "Qwen3-8B");
  // Absent: one KV head per query head, head_dim = 4096 / 32. Llama 2 7B.
  const std::optional<TransformerSpec> llama = model(
      R"({"model_type": "llama", "hidden_size": 4096, "intermediate_size": 11008, "num_hidden_layers": 32, "num_attention_heads": 32,
          "head_dim": null, "vocab_size": 32000})",
      "llama.json", d);
  ASSERT_TRUE(llama) << all_text(d);
  EXPECT_EQ(parameter_count(*llama), 6'738'415'616);
}

TEST_F(Jobs, FaultsOfAConfigAreNamedByTheirKeys) {
  Diagnostics d;
  EXPECT_FALSE(model(R"({"model_type": "llama", "hidden_size": -4, "num_hidden_layers": 2})", "config.json", d));
  EXPECT_NE(all_text(d).find("'-4' is no number from 1 to"), std::string::npos);
  EXPECT_NE(all_text(d).find("intermediate_size: is missing"), std::string::npos);
}

}  // namespace
}  // namespace lockstep
