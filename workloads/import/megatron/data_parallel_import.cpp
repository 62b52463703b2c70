// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>

#include "workloads/import/megatron/job_import.h"

namespace lockstep {
namespace {

// DeepSpeed's ZeRO, in its stages.
void import_zero(LaunchReader& a, JobSpec& job) {
  const LaunchArgument* stage = a.find("zero-stage");
  const LaunchArgument* overlap = a.find("overlap-comm");
  const LaunchArgument* offload = a.find("offload-optimizer-device");
  const std::int64_t level = a.integer(stage, 0, 0);
  if (level == 1) a.set(job.distributed_optimizer, true, "distributed_optimizer", stage);
  if (level == 2) a.set(job.strategy, Strategy::kZero2, "strategy", stage);
  if (level == 3) a.set(job.strategy, Strategy::kFsdp, "strategy", stage);
  if (level > 3) a.error(*stage, fmt::format("there is no stage {}", level), "0 to 3");
  if (level < 3) a.set(job.overlap_grad_reduce, LaunchReader::is_set(overlap), "overlap_grad_reduce", overlap);
  if (level == 1) a.set(job.overlap_param_gather, false, "overlap_param_gather", stage);
  if (offload != nullptr && a.text(offload) == "cpu") a.set(job.optimizer_offload, Fraction{1}, "optimizer_offload", offload);
}

}  // namespace

void import_data_parallelism(LaunchReader& a, JobSpec& job) {
  a.set(job.software.framework, is_deepspeed(a) ? Framework::kDeepspeed : Framework::kMegatron, "software.framework", nullptr);
  const LaunchArgument* distributed = a.find("use-distributed-optimizer");
  const LaunchArgument* reduce = a.find({"overlap-grad-reduce", "delay-grad-reduce"});
  const LaunchArgument* gather = a.find("overlap-param-gather");
  const LaunchArgument* fsdp = a.find({"use-torch-fsdp2", "use-megatron-fsdp", "use-custom-fsdp"});
  const LaunchArgument* sharding = a.find("data-parallel-sharding-strategy");
  const LaunchArgument* bucket = a.find("ddp-bucket-size");
  const LaunchArgument* offload = a.find({"optimizer-cpu-offload", "cpu-optimizer"});
  const LaunchArgument* share = a.find("optimizer-offload-fraction");
  for (const char* detail :
       {"ddp-num-buckets", "ddp-average-in-collective", "align-grad-reduce", "align-param-gather",
        "overlap-param-gather-with-optimizer-step", "ddp-impl", "DDP-impl", "use-contiguous-buffers-in-local-ddp",
        "check-for-nan-in-loss-and-grad", "no-check-for-nan-in-loss-and-grad", "grad-reduce-in-bf16",
        "accumulate-allreduce-grads-in-fp32", "no-zero-stage"}) {
    (void)a.find(detail);
  }
  if (is_deepspeed(a)) return import_zero(a, job);
  const std::string kind = LaunchReader::is_set(fsdp) ? a.text(sharding, "optim_grads_params") : "no_shard";
  if (kind == "optim_grads_params") {
    a.set(job.strategy, Strategy::kFsdp, "strategy", sharding != nullptr ? sharding : fsdp);
    return;
  }
  if (kind == "optim_grads") a.set(job.strategy, Strategy::kZero2, "strategy", sharding);
  const bool is_distributed = LaunchReader::is_set(distributed) || kind == "optim";
  if (is_distributed && job.strategy == Strategy::kDdp) {
    a.set(job.distributed_optimizer, true, "distributed_optimizer", kind == "optim" ? sharding : distributed);
    a.set(job.overlap_param_gather, LaunchReader::is_set(gather), "overlap_param_gather", gather);
  }
  const bool overlaps = reduce != nullptr && reduce->name == "overlap-grad-reduce" && LaunchReader::is_set(reduce);
  a.set(job.overlap_grad_reduce, overlaps, "overlap_grad_reduce", reduce);
  if (bucket != nullptr) {
    const std::int64_t bytes = job.grad_dtype == DataType::kFp32 ? 4 : 2;
    a.set(job.bucket_size, Bytes(bytes * a.integer(bucket, 1)), "bucket_size", bucket);
  }
  if (LaunchReader::is_set(offload)) {
    a.set(job.optimizer_offload, Fraction{a.number(share, 1.0)}, "optimizer_offload", share != nullptr ? share : offload);
  }
}

}  // namespace lockstep
