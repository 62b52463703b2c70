// SPDX-License-Identifier: Apache-2.0
// How published training rows become jobs: what cells say, what blank cells mean, and which rows are one.
#include <gtest/gtest.h>

#include <cmath>

#include "sim/experiment/training_rows/job_of_row.h"
#include "sim/experiment/training_rows/measured_step.h"
#include "sim/experiment/training_rows/plan_cells.h"
#include "sim/experiment/training_rows/rank_correlation.h"
#include "tests/support/shipped.h"
#include "workloads/parallel/stage.h"

namespace lockstep {
namespace {

using Cells = std::vector<std::pair<std::string, std::string>>;

TrainingRow row(const Cells& cells) {
  TrainingRow r;
  r.source = "own";
  r.line = 2;
  for (const auto& [column, value] : cells) r.set(column, value);
  return r;
}

// GPT of 22B on one node, as any file may have it.
TrainingRow gpt(const Cells& more = {}) {
  TrainingRow r = row({{"source", "own"},
                       {"model", "GPT 22B"},
                       {"layers", "48"},
                       {"hidden", "6144"},
                       {"heads", "64"},
                       {"ffn", "24576"},
                       {"vocab", "51200"},
                       {"seq_len", "2048"},
                       {"gpu_type", "A100-80GB"},
                       {"n_gpus", "8"},
                       {"tp", "8"},
                       {"global_batch", "4"},
                       {"micro_batch", "4"},
                       {"iteration_time_s", "1.42"}});
  for (const auto& [column, value] : more) r.set(column, value);
  return r;
}

const TrainingRules& rules() {
  static const TrainingRules r = [] {
    Diagnostics d;
    TrainingRules read = read_training_rules(test::shipped(), d);
    if (d.has_errors()) throw std::runtime_error(test::messages(d));
    return read;
  }();
  return r;
}

RowJob job(const TrainingRow& r) { return job_of_row(r, rules(), test::shipped()); }

TEST(TrainingRow, BlankWordsSayNothingAndRangesTheirLargerEnd) {
  const TrainingRow r = row({{"vpp", "n/a"},
                             {"ep", "NA"},
                             {"recompute", "not stated"},
                             {"n_gpus", "128-512"},
                             {"fabric", "not stated; system DGX-H100"}});
  EXPECT_TRUE(r.is_blank("vpp") && r.is_blank("ep") && r.is_blank("recompute") && r.is_blank("tp"));
  EXPECT_EQ(r.integer("n_gpus"), 512);
  EXPECT_FALSE(r.is_blank("fabric"));  // its words name a system
}

TEST(TrainingRow, NotesHoldNumbersBehindTheirKeys) {
  const TrainingRow r = row({{"notes", "columns: FSDP=64; GA=16; logged throughput(samples/s)=1.972; grad_accum=4"}});
  EXPECT_EQ(r.noted("FSDP"), 64);
  EXPECT_EQ(r.noted("GA"), 16);
  EXPECT_EQ(r.noted("throughput(samples/s)"), 1.972);
  EXPECT_FALSE(r.noted("accum").has_value());  // a part of another word
}

TEST(TrainingRow, TwoValuesInItsCellsAreTwoRows) {
  const TrainingRow r = row({{"model", "DeepSeekV3 (tokendrop)"},
                             {"tp", "2 (4)"},
                             {"pp", "8"},
                             {"dtype", "FP8-CS (FP8-MX)"},
                             {"tokens_per_s_per_gpu", "729 (578)"},
                             {"notes", "FSDP=64 (0); GA=1 (32)"}});
  const std::vector<TrainingRow> two = split_cells(r);
  ASSERT_EQ(two.size(), 2u);
  EXPECT_EQ(two[0].integer("tp"), 2);
  EXPECT_EQ(two[1].integer("tp"), 4);
  EXPECT_EQ(two[1].integer("pp"), 8);
  EXPECT_EQ(two[1].text("dtype"), "FP8-MX");
  EXPECT_EQ(two[1].number("tokens_per_s_per_gpu"), 578);
  EXPECT_EQ(two[0].noted("FSDP"), 64);
  EXPECT_EQ(two[1].noted("FSDP"), 0);
  EXPECT_EQ(two[1].noted("GA"), 32);
  EXPECT_EQ(two[0].text("model"), "DeepSeekV3 (tokendrop)");
  EXPECT_EQ(split_cells(row({{"tflops_per_gpu", "338 (330)"}, {"tokens_per_s_per_gpu", "1297"}})).size(),
            1u);  // one time, two conventions
}

TEST(TrainingRow, IsPrintedTwiceWhereNothingContradicts) {
  EXPECT_TRUE(is_repeat(gpt(), gpt({{"pp", "1"}})));  // blank says nothing
  EXPECT_FALSE(is_repeat(gpt(), gpt({{"tp", "4"}})));
  EXPECT_FALSE(is_repeat(gpt(), gpt({{"iteration_time_s", "1.43"}})));
}

// dp = 32 / (4 x 2 x 2) = 2; 64 sequences in 8 passes of 2 replicas: micro-batches of 4.
TEST(PlanCells, DpFillsTheGpusAndTheNotedAccumulationGivesTheMicroBatch) {
  const PlanCells c = plan_cells(row({{"n_gpus", "32"},
                                      {"seq_len", "4096"},
                                      {"tp", "4"},
                                      {"pp", "2"},
                                      {"cp", "2"},
                                      {"global_batch", "64"},
                                      {"notes", "GA=8"}}));
  EXPECT_EQ(c.missing, "");
  EXPECT_EQ(c.dp, 2);
  EXPECT_EQ(c.micro_batch, 4);
  EXPECT_EQ(c.global_batch, 64);
}

TEST(PlanCells, WhatCannotBeToldIsNotGuessed) {
  const Cells base = {{"n_gpus", "8"}, {"seq_len", "2048"}, {"global_batch", "64"}};
  EXPECT_EQ(plan_cells(row(base)).missing, "tp is not published");
  TrainingRow sharded = row(base);
  sharded.set("zero_stage", "FSDP FULL_SHARD");
  EXPECT_EQ(plan_cells(sharded).missing, "");
  EXPECT_TRUE(plan_cells(sharded).shards_weights);
  sharded.set("zero_stage", "FSDP SHARD_GRAD_OP");
  EXPECT_TRUE(plan_cells(sharded).shards_gradients && !plan_cells(sharded).shards_weights);
  TrainingRow odd = row(base);
  odd.set("tp", "3");
  EXPECT_EQ(plan_cells(odd).missing, "tp 3 x pp 1 x cp 1 does not divide 8 GPUs");
  odd.set("tp", "0");
  EXPECT_EQ(plan_cells(odd).missing, "tp is 0, and must be positive");
}

TEST(PlanCells, ALaunchScriptNamesThePlan) {
  const PlanCells c = plan_cells(row({{"n_gpus", "16"},
                                      {"seq_len", "8192"},
                                      {"global_batch", "8"},
                                      {"notes", "grad_accum=4; config=config_XD670_2x8x4xtp4pp1cp2.sh; for LoRA"}}));
  EXPECT_EQ(c.missing, "");
  EXPECT_EQ(c.tp, 4);
  EXPECT_EQ(c.cp, 2);
  EXPECT_EQ(c.micro_batch, 1);  // 8 sequences, dp 2, 4 passes
}

// 1538 of a plan that makes 1536: 2 of 1538 is under 1 %. 100 of one that makes 96 is not.
TEST(PlanCells, ABatchThatBarelyMissesItsPlanIsRounded) {
  const Cells plan = {{"n_gpus", "96"}, {"seq_len", "2048"}, {"tp", "2"}, {"pp", "4"}, {"micro_batch", "4"}};
  TrainingRow r = row(plan);
  r.set("global_batch", "1538");
  EXPECT_EQ(plan_cells(r).global_batch, 1536);
  r.set("global_batch", "100");
  EXPECT_EQ(plan_cells(r).global_batch, 100);
}

TEST(RowSoftware, IsWhatTheRowSaysThenWhatItsWordsSayThenTheYearOfTheGpu) {
  EXPECT_EQ(software_of(gpt({{"framework", "pytorch"}, {"released", "2024-02"}}), rules()).released, "2024-02");
  const RowSoftware container = software_of(gpt({{"notes", "container 26.04.01 NeMo Container; task Pre-Training"}}), rules());
  EXPECT_EQ(container.framework, "megatron");
  EXPECT_EQ(container.released, "2026-04");
  EXPECT_TRUE(container.is_stated);
  const RowSoftware unknown = software_of(gpt({{"gpu_type", "H100"}, {"zero_stage", "FSDP FULL_SHARD"}}), rules());
  EXPECT_EQ(unknown.framework, "pytorch");
  EXPECT_EQ(unknown.released, "2024-06");
  EXPECT_FALSE(unknown.is_stated);
}

TEST(JobOfRow, DoesWhatItsSoftwareDidWhereTheRowIsBlank) {
  const JobSpec old = job(gpt({{"released", "2021-04"}, {"framework", "megatron"}})).plan.job;
  EXPECT_EQ(old.recompute, Recompute::kFull);
  EXPECT_EQ(old.attention, AttentionKernel::kUnfused);
  EXPECT_FALSE(old.sequence_parallel);
  EXPECT_FALSE(old.overlap_grad_reduce);
  EXPECT_EQ(old.precision, DataType::kBf16);
  const JobSpec newer =
      job(gpt({{"gpu_type", "H100"}, {"released", "2024-06"}, {"framework", "megatron"}, {"dtype", "FP8"}})).plan.job;
  EXPECT_EQ(newer.recompute, Recompute::kNone);
  EXPECT_TRUE(newer.sequence_parallel);
  EXPECT_EQ(newer.tp_overlap, TpOverlap::kPipelined);
  EXPECT_EQ(newer.precision, DataType::kFp8);
  // Eight bits are no choice on a GPU without them.
  EXPECT_EQ(job(gpt({{"dtype", "FP8"}})).plan.job.precision, DataType::kBf16);
}

TEST(JobOfRow, CellsGoBeforeDefaults) {
  const JobSpec j =
      job(gpt({{"recompute", "selective(attn)"}, {"seq_parallel", "yes"}, {"released", "2021-04"}, {"dtype", "fp16"}}))
          .plan.job;
  EXPECT_EQ(j.recompute, Recompute::kSelective);
  EXPECT_TRUE(j.sequence_parallel);
  EXPECT_EQ(j.precision, DataType::kFp16);
}

TEST(JobOfRow, AColumnNamedAsAKeyOfTheJobSetsIt) {
  EXPECT_EQ(job(gpt({{"job.execution", "cuda_graphs"}})).plan.job.execution, Execution::kCudaGraphs);
  EXPECT_NE(job(gpt({{"job.execution", "magic"}})).refusal.find("execution"), std::string::npos);
}

// Frozen weights have no gradients: 22B parameters, but adapters of rank 16 at attention alone are stored and reduced. Per layer and rank at
// tp 8, which cuts all four: A of q/k/v 6144 x 16, B 3 x 6144 x 16, A and B of the output 6144 x 16 each: 16 x 6144 x 6 / 8 = 73,728; 48 layers.
TEST(JobOfRow, LoraTrainsAdaptersAlone) {
  const RowJob lora = job(gpt({{"model", "GPT LoRA r16"}}));
  EXPECT_EQ(lora.refusal, "");
  EXPECT_EQ(lora.plan.job.lora->rank, 16);
  EXPECT_EQ(trained_stage_parameters(lora.plan, 0), 48 * 73'728);
  EXPECT_EQ(part_of(gpt({{"model", "GPT LoRA r16"}}), lora), RowPart::kLora);
}

TEST(JobOfRow, TakesTheMakeOfALayerFromTheFamilyAndItsSizesFromTheRow) {
  const TransformerSpec m = job(gpt({{"model", "LLAMA9_40B"}, {"kv_heads", "8"}, {"ffn", "16384"}})).plan.job.model;
  EXPECT_TRUE(m.is_gated);
  EXPECT_EQ(m.kv_heads, 8);
  EXPECT_EQ(m.head_dim, 96);  // 6144 / 64
  EXPECT_EQ(m.layers, 48);
  // Without a name the shape decides: a plain MLP is four times as wide, with as many key and value heads as heads.
  EXPECT_FALSE(job(gpt({{"model", ""}})).plan.job.model.is_gated);
  EXPECT_TRUE(job(gpt({{"model", ""}, {"ffn", "16384"}})).plan.job.model.is_gated);
  EXPECT_EQ(job(gpt({{"model", "LLAMA"}, {"hidden", ""}})).refusal, "layers, hidden size and heads are not published");
}

TEST(JobOfRow, TheClusterIsThatOfTheWordsOrTheServersOwn) {
  const ClusterSpec one = job(gpt()).cluster;
  EXPECT_EQ(one.gpus(), 8);
  const Cells two = {{"n_gpus", "16"}, {"gpus_per_node", "8"}, {"global_batch", "8"}};
  TrainingRow r = gpt(two);
  EXPECT_EQ(job(r).cluster.name, "2 x dgx-a100, ib-8x200");
  r.set("fabric", "4x Omni-Path 100G per node, NVLink3");
  EXPECT_EQ(job(r).cluster.name, "2 x dgx-a100, opa-4x100");
  r.set("fabric", "Storage: 2x ConnectX-7 IB NDR 400Gb/s, Compute: 4x ConnectX-6 IB HDR 200Gb/s");
  EXPECT_EQ(job(r).cluster.name, "2 x dgx-a100, ib-4x200");
  // Four GPUs of each node take part: the others are left out, so that the nodes are full.
  const ClusterSpec half = job(gpt({{"n_gpus", "16"}, {"gpus_per_node", "4"}, {"global_batch", "8"}})).cluster;
  EXPECT_EQ(half.node_count(), 4);
  EXPECT_EQ(half.server->gpus, 4);
}

// "LoRA r8" says the rank; a bare word, and a recipe that calls its task so, mean that of the MLPerf benchmark. Fine-tuning of all weights next
// to LoRA in one table is none.
TEST(JobOfRow, TrainsAdaptersWhereTheRowSaysLora) {
  const auto lora = [](const Cells& cells) {
    const RowJob of_row = job(gpt(cells));
    EXPECT_EQ(of_row.refusal, "");
    return of_row.plan.job.lora ? of_row.plan.job.lora->rank : 0;
  };
  EXPECT_EQ(lora({{"model", "GPT 22B LoRA r8"}}), 8);
  EXPECT_EQ(lora({{"model", "GPT 22B LORA"}}), 16);
  EXPECT_EQ(lora({{"notes", "container 26.06; task LoRA Performance; dropless"}}), 16);
  EXPECT_EQ(lora({{"model", "GPT 22B SFT"}, {"notes", "tokens/s of LoRA rows are 4x"}}), 0);
}

// 4 sequences of 2048 tokens; 8 GPUs at 1000 tokens/s each take 1.024 s. A log of 4 samples/s says 1 s, near the printed 1.42 s; one of
// 8000 counts tokens.
TEST(MeasuredStep, PrefersTheLogThenTheTimeThenTheTokens) {
  const auto seconds = [](const TrainingRow& r) { return job(r).measured_s; };
  EXPECT_DOUBLE_EQ(seconds(gpt()), 1.42);
  EXPECT_DOUBLE_EQ(seconds(gpt({{"notes", "logged throughput(samples/s)=4; x"}})), 1.0);
  EXPECT_DOUBLE_EQ(seconds(gpt({{"notes", "logged throughput(samples/s)=8000; x"}})), 1.42);
  EXPECT_DOUBLE_EQ(seconds(gpt({{"iteration_time_s", ""}, {"tokens_per_s_per_gpu", "1000"}})), 1.024);
  EXPECT_EQ(job(gpt({{"iteration_time_s", ""}})).refusal, "no time of a step, tokens per second or TFLOP/s");
}

// Ranks 1 2 3 4 against 1 2 4 3: 1 - 6 x (1 + 1) / (4 x 15) = 0.8. With a tie, (1 2.5 2.5 4) against (1 2 3 4): 4.5 / sqrt(4.5 x 5).
TEST(RankCorrelation, ComparesOrdersOnly) {
  EXPECT_DOUBLE_EQ(*rank_correlation({1, 20, 300, 4000}, {5, 6, 8, 7}), 0.8);
  EXPECT_DOUBLE_EQ(*rank_correlation({1, 2, 2, 4}, {1, 2, 3, 4}), 4.5 / std::sqrt(22.5));
  EXPECT_FALSE(rank_correlation({1, 1}, {1, 2}).has_value());
}

TEST(Corrections, ApplyOnlyToTheCellTheyAreAbout) {
  TrainingRow r = row({{"layers", "106"}, {"heads", "96"}});
  r.source = "bloom-bigscience";
  r.line = 120;
  EXPECT_EQ(correct(r, rules()), "");
  EXPECT_EQ(r.integer("layers"), 84);
  EXPECT_EQ(r.integer("heads"), 96);  // was not blank
  TrainingRow right = row({{"layers", "84"}});
  right.source = "bloom-bigscience";
  right.line = 120;
  EXPECT_EQ(correct(right, rules()), "");
  EXPECT_EQ(right.remark, "");
}

}  // namespace
}  // namespace lockstep
