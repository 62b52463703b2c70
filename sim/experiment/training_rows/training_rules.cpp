// SPDX-License-Identifier: Apache-2.0
#include "sim/experiment/training_rows/job_of_row.h"

namespace lockstep {

std::string training_row_rules() {
  return "rows of whole training steps that say how long a step took (iteration time, tokens per second or TFLOP/s), the "
         "number of GPUs, the sequence "
         "length, tp (1 where weights or gradients are sharded), a batch, and layers, hidden size and heads (in cells, or by "
         "the name of one model). "
         "Blank cells: pp, cp, ep, vpp are 1; dp fills the GPUs; micro_batch is what the noted accumulation leaves, else 1; "
         "global_batch is one pass; "
         "dtype is bf16 (fp16 on V100), 8 bits only on GPUs that have them; zero_stage, recompute, seq_parallel and every "
         "overlap are what the "
         "row's framework did by default at its release (validation/training/rules: software.csv, defaults.csv); vocabulary "
         "and the make of a layer are those of "
         "the shipped model of the family (models.csv); the network is the server's own InfiniBand; a column job.KEY sets that "
         "key of the job. Rows that contradict "
         "themselves are "
         "corrected or left out by corrections.csv; a run that is printed twice counts once; a line with two values in its "
         "cells is two rows";
}

}  // namespace lockstep
