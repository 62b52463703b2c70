// SPDX-License-Identifier: Apache-2.0
#include "topology/hardware/software_spec.h"

#include <algorithm>
#include <cctype>

#include "base/field_table.h"
#include "topology/hardware/limits.h"

namespace lockstep {
namespace {

constexpr Duration kLongestHostTime = Duration::micros(60'000'000);

bool is_month(const std::string& text) {
  if (text.size() != 7 || text[4] != '-') return false;
  for (const std::size_t i : {0u, 1u, 2u, 3u, 5u, 6u}) {
    if (text[i] < '0' || text[i] > '9') return false;
  }
  const int month = (text[5] - '0') * 10 + (text[6] - '0');
  return month >= 1 && month <= 12;
}

const FieldTable<SoftwareRelease>& release_fields() {
  static const FieldTable<SoftwareRelease> table = [] {
    FieldTable<SoftwareRelease> t;
    t.field("launch", &SoftwareRelease::launch)
        .range(Duration(), kLongestHostTime)
        .doc("host time of one operation of the framework, from Python to the start of its kernel");
    t.field("expert_part", &SoftwareRelease::expert_part)
        .range(Duration(), kLongestHostTime)
        .doc("host time that an expert layer takes besides in forward, for counts of tokens that come to the host");
    t.field("expert_launch", &SoftwareRelease::expert_launch)
        .range(Duration(), kLongestHostTime)
        .doc("host time that an expert layer takes besides in forward for each expert that a rank holds");
    t.field("step", &SoftwareRelease::step)
        .range(Duration(), kLongestHostTime)
        .doc("host time of an optimizer step besides its operations");
    t.field("compiled", &SoftwareRelease::compiled).range({0}, {1}).doc("share of host time left with execution: compiled");
    t.field("cuda_graphs", &SoftwareRelease::cuda_graphs)
        .range({0}, {1})
        .doc("share of host time left with execution: cuda_graphs");
    t.field("synchronous", &SoftwareRelease::synchronous)
        .doc("every launch waits until the GPU is done, so that host time comes on top (CUDA_LAUNCH_BLOCKING=1)");
    t.choice("attention", &SoftwareRelease::attention,
             {{"unfused", AttentionGeneration::kUnfused, "scores go through memory"},
              {"flash1", AttentionGeneration::kFlash1, "FlashAttention of 2022"},
              {"flash2", AttentionGeneration::kFlash2, "FlashAttention-2 of 2023"},
              {"flash3", AttentionGeneration::kFlash3, "FlashAttention-3 and cuDNN of 2024"}})
        .doc("newest attention kernel it has");
    t.field("fuses_accumulation", &SoftwareRelease::fuses_accumulation)
        .doc(
            "gradients of weights are added to those of other micro-batches by the product that makes them, not by a kernel "
            "behind it");
    t.field("fuses_pointwise", &SoftwareRelease::fuses_pointwise)
        .doc(
            "activation with its bias, rotation, dropout with the residual and RMSNorm are one kernel each, also in eager "
            "mode");
    t.field("loss_bytes", &SoftwareRelease::loss_bytes)
        .range(0, 1'000)
        .doc("memory traffic of the loss per logit, in bytes: all passes over 16- and 32-bit values, forward and backward");
    t.field("fused_softmax_limit", &SoftwareRelease::fused_softmax_limit)
        .range(0, 1 << 24)
        .unit("tokens")
        .doc("longest sequence whose unfused attention scales, masks and normalises scores in one kernel; 0: never");
    return t;
  }();
  return table;
}

void check_months(const std::map<std::string, SoftwareRelease>& releases, const char* framework, Section& at) {
  if (releases.empty()) at.error(framework, "has no releases", "one at least, like 2024-01: {launch: 10 us}");
  for (const auto& [month, release] : releases) {
    if (!is_month(month)) at.error(framework, "'" + month + "' is no year and month", "like 2024-06");
  }
}

}  // namespace

const FieldTable<SoftwareHistory>& software_fields() {
  static const FieldTable<SoftwareHistory> table = [] {
    FieldTable<SoftwareHistory> t("software");
    t.field("name", &SoftwareHistory::name).doc("how reports call it; the file name when absent");
    t.named("megatron", &SoftwareHistory::megatron, release_fields())
        .doc("Megatron-LM, Megatron Core and NeMo by year and month of the release");
    t.named("pytorch", &SoftwareHistory::pytorch, release_fields()).doc("PyTorch's own DDP and FSDP, by year and month");
    t.named("deepspeed", &SoftwareHistory::deepspeed, release_fields()).doc("DeepSpeed and its Megatron, by year and month");
    t.validate([](const SoftwareHistory& h, Section& at) {
      check_months(h.megatron, "megatron", at);
      check_months(h.pytorch, "pytorch", at);
      check_months(h.deepspeed, "deepspeed", at);
    });
    return t;
  }();
  return table;
}

}  // namespace lockstep
