// SPDX-License-Identifier: Apache-2.0
// Sources: arguments.py of Megatron-LM (NVIDIA), of Megatron-DeepSpeed (Microsoft, BigScience) and GPT-NeoX's argument classes.
#include <algorithm>
#include <array>

#include "workloads/import/megatron/launch_reader.h"

namespace lockstep {
namespace {

constexpr auto kFamilies = std::to_array<std::string_view>({
    "lr",           "log",           "save",          "load",          "train-",         "eval",          "tensorboard",
    "wandb",        "adam",          "data",          "tokenizer",     "vocab-file",     "merge-file",    "init-method",
    "weight-decay", "clip-grad",     "ckpt",          "dist-ckpt",     "rdzv",           "master",        "node-rank",
    "timing",       "no-load",       "no-save",       "exit-",         "moe-aux-loss",   "moe-z-loss",    "min-lr",
    "override-",    "use-checkpoint", "async-",       "auto-detect",   "loss-scale",     "initial-loss",  "min-loss",
    "hysteresis",   "start-weight",  "end-weight",    "sgd",           "rotary-",        "no-async-save", "valid-",
    "test-",        "split",         "seed",          "one-logger",    "profile",        "pytorch-profiler", "nccl-communicator",
    "distributed-", "mock-",         "num-workers",   "dataloader",    "reset-",         "eod-",          "create-attention",
    "no-create-attention", "attention-softmax-in-fp32", "hf-",          "fp8-amax",       "fp8-margin",    "fp8-interval",
    "check-",       "fim-"});

constexpr auto kNames = std::to_array<std::string_view>({
    "use-mcore-models", "transformer-impl", "optimizer", "manual-gc", "manual-gc-interval", "no-bias-gelu-fusion",
    "no-bias-swiglu-fusion", "no-bias-dropout-fusion", "no-masked-softmax-fusion", "no-rope-fusion",
    "no-gradient-accumulation-fusion", "cross-entropy-loss-fusion", "cross-entropy-fusion-impl", "norm-epsilon",
    "layernorm-epsilon", "rms-norm-eps", "use-rope-scaling", "rope-scaling-factor", "apply-layernorm-1p",
    "apply-query-key-layer-scaling", "moe-router-load-balancing-type", "moe-router-dtype", "moe-router-score-function",
    "moe-router-topk-scaling-factor", "moe-router-pre-softmax", "moe-router-num-groups", "moe-router-group-topk",
    "moe-router-bias-update-rate", "moe-permute-fusion", "moe-router-fusion", "moe-grouped-gemm", "moe-per-layer-logging",
    "moe-input-jitter-eps", "mscale", "mscale-all-dim", "mtp-loss-scaling-factor", "qk-clip", "use-cpu-initialization",
    "perform-initialization", "no-initialization", "finetune", "dist-url", "local-rank", "rank", "world-size",
    "deepspeed-activation-checkpointing", "steps-per-print", "wall-clock-breakdown", "gradient-clipping",
    "checkpoint-factor", "keep-last-n-checkpoints", "synchronize-each-layer", "warmup", "decay-lr-to", "launcher",
    "output-layer-init-method", "output-layer-parallelism", "rotary-pct", "scaled-upper-triang-masked-softmax-fusion",
    "bias-gelu-fusion", "rope-fusion", "layernorm-fusion", "activation-dropout", "skip-train", "do-train", "do-valid",
    "no-one-logger", "disable-mem-efficient-fused-layernorm", "use-legacy-models", "rampup-batch-size", "barrier-with-L1-time",
    "retro-workdir", "position-interpolation-factor", "seq-len-interpolation-factor", "inference-batch-times-seqlen-threshold",
    "overlap-p2p-communication-warmup-flush", "config-logger-dir"});

}  // namespace

bool has_no_effect_on_speed(std::string_view name) {
  return std::any_of(kFamilies.begin(), kFamilies.end(), [&](std::string_view f) { return name.starts_with(f); }) ||
         std::find(kNames.begin(), kNames.end(), name) != kNames.end();
}

}  // namespace lockstep
