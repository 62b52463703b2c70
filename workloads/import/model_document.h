// SPDX-License-Identifier: Apache-2.0
// A model from a document: our own YAML (kind: model) or a config.json of Hugging Face transformers.
//
// A config.json is read by its model_type (workloads/import/huggingface), under all names that its keys have there and with the defaults
// of that class; of a multimodal model the text model is read (text_config). Not modelled, and said so: sliding windows and local
// attention (a warning); layers without attention, odd placements of experts, other model types (an error).
#pragma once

#include <string>
#include <vector>

#include "base/document.h"
#include "base/read_context.h"
#include "workloads/model/transformer.h"

namespace lockstep {

// Errors go to the context; false if there were any. Works as a FieldTable loader.
bool read_model(const Document& document, TransformerSpec& out, ReadContext& context, const std::string& path);

// Values of model_type that read_model() knows.
[[nodiscard]] std::vector<std::string> known_model_types();

}  // namespace lockstep
