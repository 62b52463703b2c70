// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>

#include <algorithm>

#include "workloads/import/megatron/job_import.h"

namespace lockstep {
namespace {

void import_precision(LaunchReader& a, JobSpec& job) {
  const LaunchArgument* bf16 = a.find("bf16");
  const LaunchArgument* fp16 = a.find("fp16");
  const LaunchArgument* fp8 = a.find({"fp8-format", "fp8"});
  const LaunchArgument* fp8_flag = a.find({"fp8-hybrid", "fp8-e4m3"});
  const LaunchArgument* recipe = a.find("fp8-recipe");
  const LaunchArgument* fp4 = a.find({"fp4-format", "fp4"});
  for (const char* detail : {"fp4-recipe", "fp4-param-gather", "fp8-param-gather", "first-last-layers-bf16",
                             "num-layers-at-start-in-bf16", "num-layers-at-end-in-bf16", "no-fp8-wgrad", "fp8-param"}) {
    (void)a.find(detail);
  }
  const std::string scales = a.text(recipe, "delayed");
  if (LaunchReader::is_set(fp4)) {
    a.set(job.precision, DataType::kNvfp4, "precision", fp4);
  } else if (LaunchReader::is_set(fp8) || LaunchReader::is_set(fp8_flag)) {
    a.set(job.precision, scales == "mxfp8" ? DataType::kMxfp8 : DataType::kFp8, "precision",
          recipe != nullptr ? recipe
          : fp8 != nullptr  ? fp8
                            : fp8_flag);
    if (scales == "blockwise") a.warning(*recipe, "scales of blocks are those of whole tensors here");
  } else if (LaunchReader::is_set(bf16)) {
    a.set(job.precision, DataType::kBf16, "precision", bf16);
  } else {
    a.set(job.precision, LaunchReader::is_set(fp16) ? DataType::kFp16 : DataType::kFp32, "precision", fp16);
  }
}

// Megatron-LM keeps and reduces gradients in the type of the weights, except that bf16 implies fp32 unless told otherwise.
void import_gradients(LaunchReader& a, JobSpec& job) {
  const LaunchArgument* wide = a.find("accumulate-allreduce-grads-in-fp32");
  const LaunchArgument* narrow = a.find("grad-reduce-in-bf16");
  const bool is_fp16 = job.precision == DataType::kFp16;
  const bool is_wide = LaunchReader::is_set(wide) || !(is_fp16 || LaunchReader::is_set(narrow));
  a.set(job.grad_dtype, is_wide ? DataType::kFp32 : DataType::kBf16, "grad_dtype", is_wide ? wide : narrow);
}

void import_recompute(LaunchReader& a, JobSpec& job) {
  const LaunchArgument* old = a.find({"checkpoint-activations", "activations-checkpoint-granularity"});
  const LaunchArgument* activations = a.find("recompute-activations");
  const LaunchArgument* granularity = a.find("recompute-granularity");
  const LaunchArgument* method = a.find({"recompute-method", "activations-checkpoint-method"});
  const LaunchArgument* layers = a.find({"recompute-num-layers", "checkpoint-num-layers"});
  const LaunchArgument* modules = a.find("recompute-modules");
  for (const char* detail : {"distribute-saved-activations", "partition-activations", "distribute-checkpointed-activations"}) {
    if (const LaunchArgument* spread = a.find(detail); LaunchReader::is_set(spread) && job.tp > 1) {
      a.warning(*spread, "kept activations are not spread over tensor-parallel ranks here");
    }
  }
  const std::string kind = a.text(granularity);
  if (kind == "full" || (granularity == nullptr && LaunchReader::is_set(old))) {
    a.set(job.recompute, Recompute::kFull, "recompute", granularity != nullptr ? granularity : old);
    if (a.text(method) != "block") return;
    const std::int64_t chunks = std::max<std::int64_t>(1, job.virtual_stages);  // of each chunk
    if (layers != nullptr) a.set(job.recompute_layers, chunks * a.integer(layers, 1, 0), "recompute_layers", layers);
  } else if (kind == "selective" || LaunchReader::is_set(activations)) {
    const LaunchArgument* from = kind == "selective" ? granularity : activations;
    const bool has_core = modules == nullptr || std::any_of(modules->values.begin(), modules->values.end(),
                                                            [](const LaunchWord& w) { return w.text == "core_attn"; });
    a.set(job.recompute, has_core ? Recompute::kSelective : Recompute::kNone, "recompute", has_core ? from : modules);
    if (modules != nullptr && (modules->values.size() > 1 || !has_core)) {
      a.warning(*modules, "of the modules only core_attn is recomputed here");
    }
  } else if (granularity != nullptr && kind != "none" && !kind.empty()) {
    a.error(*granularity, fmt::format("'{}' is not modelled", kind), "full or selective");
  }
}

// Transformer Engine, the default of Megatron-LM since 2024, picks a fused kernel; what came before it had none unless asked.
void import_attention(LaunchReader& a, JobSpec& job) {
  const LaunchArgument* flash = a.find({"use-flash-attn", "use-flash-attn-v1", "use-flash-attn-triton"});
  const LaunchArgument* second = a.find({"use-flash-attn-v2"});
  const LaunchArgument* backend = a.find("attention-backend");
  const LaunchArgument* configured = a.find("attention-config");  // GPT-NeoX
  const LaunchArgument* implementation = a.find("transformer-impl");
  const bool is_old = is_deepspeed(a) || a.find({"checkpoint-activations", "model-parallel-size"}) != nullptr ||
                      a.text(implementation) == "local" || a.find("use-legacy-models") != nullptr;
  const std::string name = a.text(backend);
  const bool is_flash_config =
      configured != nullptr && std::any_of(configured->values.begin(), configured->values.end(),
                                           [](const LaunchWord& w) { return w.text.find("flash") != std::string::npos; });
  if (LaunchReader::is_set(second)) return a.set(job.attention, AttentionKernel::kFlash2, "attention", second);
  const bool is_fused =
      !name.empty() ? name != "unfused" && name != "local" : LaunchReader::is_set(flash) || is_flash_config || !is_old;
  a.set(job.attention, is_fused ? AttentionKernel::kFlash : AttentionKernel::kUnfused, "attention",
        backend != nullptr ? backend
        : flash != nullptr ? flash
                           : implementation);
}

}  // namespace

void import_numerics(LaunchReader& a, JobSpec& job) {
  import_precision(a, job);
  import_gradients(a, job);
  import_recompute(a, job);
  import_attention(a, job);
  const LaunchArgument* graphs = a.find({"enable-cuda-graph", "external-cuda-graph", "cuda-graph-impl", "cuda-graph-scope"});
  const std::string kind = a.text(graphs != nullptr && !graphs->values.empty() ? graphs : nullptr);
  (void)a.find({"cuda-graph-warmup-steps", "cuda-graph-num-warmup-steps"});
  if (LaunchReader::is_set(graphs) && kind != "none") a.set(job.execution, Execution::kCudaGraphs, "execution", graphs);
}

}  // namespace lockstep
