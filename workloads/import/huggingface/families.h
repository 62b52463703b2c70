// SPDX-License-Identifier: Apache-2.0
// One function per model_type of Hugging Face transformers that fills a TransformerSpec. What they know beyond the keys are the defaults
// of each class of transformers and the shape of its layers (modeling_*.py of that class).
#pragma once

#include <vector>

#include "workloads/import/huggingface/config_reader.h"
#include "workloads/model/transformer.h"

namespace lockstep::huggingface {

struct Family {
  const char* model_type;
  void (*read)(ConfigReader&, TransformerSpec&);
};

// RMSNorm, gate, rotary: Llama and what came of it.
[[nodiscard]] const std::vector<Family>& llama_families();
// LayerNorm and no gate: GPT and its kin.
[[nodiscard]] const std::vector<Family>& gpt_families();
// With experts.
[[nodiscard]] const std::vector<Family>& expert_families();

}  // namespace lockstep::huggingface
