// SPDX-License-Identifier: Apache-2.0
// A job from the arguments of Megatron-LM, Megatron-DeepSpeed or GPT-NeoX, with the defaults of that software where an argument is absent:
// its LayerNorm, biases, dropout, tied embeddings and gradients reduced after the backward pass are not Lockstep's defaults.
//
// Derived: ffn (4 x hidden; with SwiGLU 4 x hidden x 2/3, rounded down to 64), the vocabulary padded to a multiple of
// make-vocab-size-divisible-by x tp, virtual_stages = layers / (pp x layers per virtual stage), gpus = nodes x processes per node,
// expert_tp = tp. Source: megatron/training/arguments.py, validate_args().
//
// Not imported: pipeline layouts other than even ones and those with --decoder-first/last-pipeline-num-layers, encoder-decoder models.
#pragma once

#include <string>

#include "workloads/import/megatron/launch.h"
#include "workloads/import/megatron/launch_reader.h"
#include "workloads/parallel/job.h"

namespace lockstep {

// What is wrong goes to the context, which knows afterwards where every key of the job came from.
[[nodiscard]] JobSpec import_job(const Launch& launch, ReadContext& context);

// Its parts.
void import_geometry(LaunchReader& arguments, JobSpec& job);
void import_experts(LaunchReader& arguments, JobSpec& job);
void import_plan(LaunchReader& arguments, JobSpec& job);
void import_pipeline(LaunchReader& arguments, JobSpec& job);  // after the geometry: needs the number of layers
void import_data_parallelism(LaunchReader& arguments, JobSpec& job);
void import_numerics(LaunchReader& arguments, JobSpec& job);
// DeepSpeed's configuration, written by the script or beside it, as arguments ("zero-stage", "micro-batch-size") before all others.
[[nodiscard]] Launch with_deepspeed_config(const Launch& launch, Diagnostics& d);

// Whether the training is DeepSpeed's.
[[nodiscard]] bool is_deepspeed(LaunchReader& arguments);

// "([0]*3+[1]*58)" or "[1,0,1]": one number a layer; empty when it is neither.
[[nodiscard]] std::vector<std::int64_t> layer_pattern(std::string_view text);

}  // namespace lockstep
