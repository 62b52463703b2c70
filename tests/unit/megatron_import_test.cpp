// SPDX-License-Identifier: Apache-2.0
// What arguments of Megatron-LM mean as a job; the defaults are those of its arguments.py.
#include <gtest/gtest.h>

#include "workloads/import/megatron/job_import.h"

namespace lockstep {
namespace {

constexpr const char* kDense =
    "pretrain_gpt.py --num-layers 32 --hidden-size 4096 --num-attention-heads 32 --seq-length 2048 --micro-batch-size 1 "
    "--global-batch-size 64 --vocab-size 50257 --bf16 ";

struct Imported {
  JobSpec job;
  Diagnostics d;
  [[nodiscard]] std::string errors() const {
    std::string text;
    for (const Diagnostic& item : d.items()) {
      if (item.severity == Severity::kError) text += item.path + " " + item.message + "; ";
    }
    return text;
  }
};

Imported imported(const std::string& text, const LaunchSettings& settings = {}) {
  Imported out;
  ReadContext context(out.d);
  const std::optional<Launch> launch = launch_of_script(text, "s.sh", settings, out.d);
  if (launch) out.job = import_job(*launch, context);
  return out;
}

TEST(MegatronImport, AbsentArgumentsHaveMegatronsDefaults) {
  const Imported i = imported(kDense);
  EXPECT_EQ(i.errors(), "");
  EXPECT_EQ(i.job.model.ffn, 4 * 4096);
  EXPECT_EQ(i.job.model.kv_heads, 32);
  EXPECT_EQ(i.job.model.vocab, 50'304);  // 50,257 padded to a multiple of 128 x tp 1: 393 x 128
  EXPECT_EQ(i.job.model.norm, NormKind::kLayer);
  EXPECT_TRUE(i.job.model.has_linear_biases && i.job.model.has_tied_embeddings && i.job.model.has_dropout);
  EXPECT_FALSE(i.job.model.is_gated);
  EXPECT_EQ(i.job.model.positions, PositionKind::kLearned);
  EXPECT_EQ(i.job.model.max_positions, 2048);
  EXPECT_FALSE(i.job.overlap_grad_reduce);
  EXPECT_EQ(i.job.grad_dtype, DataType::kFp32);
}

TEST(MegatronImport, SwigluWidthIsTwoThirdsRoundedDownTo64) {
  // 4 x 4096 x 2 / 3 = 10,922; / 64 = 170 whole times: 10,880.
  EXPECT_EQ(imported(std::string(kDense) + "--swiglu").job.model.ffn, 10'880);
}

TEST(MegatronImport, PipelineSplits) {
  const std::string plan = "--tensor-model-parallel-size 2 --pipeline-model-parallel-size 4 ";
  // 32 layers / (4 stages x 2 layers) = 4 chunks; block recompute of one layer in each of them: 4 a stage.
  const Imported v = imported(kDense + plan +
                              "--num-layers-per-virtual-pipeline-stage 2 --recompute-granularity full "
                              "--recompute-method block --recompute-num-layers 1");
  EXPECT_EQ(v.job.virtual_stages, 4);
  EXPECT_EQ(v.job.recompute_layers, 4);
  EXPECT_EQ(v.job.model.vocab, 50'432);  // multiple of 256: 197 x 256
  // 32 - 7 - 5 = 20 layers for two stages.
  const Imported ends = imported(kDense + plan + "--decoder-first-pipeline-num-layers 7 --decoder-last-pipeline-num-layers 5");
  EXPECT_EQ(ends.job.stages, (std::vector<std::int64_t>{7, 10, 10, 5}));
}

TEST(MegatronImport, ExpertLayersByFrequency) {
  EXPECT_EQ(layer_pattern("([0]*3+[1]*2)"), (std::vector<std::int64_t>{0, 0, 0, 1, 1}));
  EXPECT_EQ(layer_pattern("2"), std::vector<std::int64_t>());
  EXPECT_EQ(layer_pattern("[1]*99999999"), std::vector<std::int64_t>());
  const Imported i = imported(std::string(kDense) +
                              "--num-experts 8 --moe-layer-freq '([0]*3+[1]*29)' --moe-ffn-hidden-size 512 "
                              "--tensor-model-parallel-size 2 --expert-model-parallel-size 4");
  EXPECT_EQ(i.errors(), "");
  ASSERT_TRUE(i.job.model.moe);
  EXPECT_EQ(i.job.model.moe->dense_layers, 3);
  EXPECT_EQ(i.job.model.moe->interval, 1);
  EXPECT_EQ(i.job.model.moe->top_k, 2);
  EXPECT_EQ(i.job.ep, 4);
  EXPECT_EQ(i.job.expert_tp, 2);  // as tp, unless told otherwise
}

TEST(MegatronImport, WorldOfLaunchers) {
  EXPECT_EQ(imported(std::string("torchrun --nproc_per_node 8 --nnodes=4 ") + kDense).job.gpus, 32);
  EXPECT_EQ(imported(std::string("#SBATCH --nodes=6\n#SBATCH --gres=gpu:4\nsrun python ") + kDense).job.gpus, 24);
  EXPECT_EQ(imported(std::string("mpirun -np 16 python ") + kDense).job.gpus, 16);
  EXPECT_EQ(imported(std::string("python ") + kDense).job.gpus, std::nullopt);
}

TEST(MegatronImport, DeepspeedConfigurationOfTheScript) {
  const Imported i =
      imported(std::string("cat <<E > ds.json\n{\"zero_optimization\": {\"stage\": 2}, \"train_batch_size\": 128}\nE\n") +
               "deepspeed --num_gpus 8 pretrain_gpt.py --num-layers 2 --hidden-size 64 --num-attention-heads 2 --seq-length 64 "
               "--micro-batch-size 1 --vocab-size 128 --bf16 --deepspeed --deepspeed_config ds.json");
  EXPECT_EQ(i.errors(), "");
  EXPECT_EQ(i.job.strategy, Strategy::kZero2);
  EXPECT_EQ(i.job.global_batch, 128);
  EXPECT_EQ(i.job.software.framework, Framework::kDeepspeed);
}

TEST(MegatronImport, NamesWhatItCannotKnow) {
  const std::string open =
      "pretrain_gpt.py --num-layers $L --hidden-size 64 --num-attention-heads 2 --seq-length 64 --micro-batch-size 1 --bf16";
  EXPECT_EQ(
      imported(open).errors(),
      "--num-layers is $L, which is not known here; --vocab-size is missing: the vocabulary is known to the tokenizer alone; ");
  EXPECT_EQ(imported(open, {{"L", "2"}}).job.model.layers, 2);
  EXPECT_NE(imported("ls").errors(), "");
  EXPECT_NE(imported(std::string(kDense) + "--cp-comm-type a2a+p2p --context-parallel-size 2").errors(), "");
}

}  // namespace
}  // namespace lockstep
