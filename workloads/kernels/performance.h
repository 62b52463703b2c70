// SPDX-License-Identifier: Apache-2.0
// What the kernels of one job reach on one GPU: peaks by the data types of the job, efficiencies of the hardware file.
//
// Matrix products of layers' weights (KernelClass::kLinear) run in the job's precision: 16 bits, TF32 for 32-bit jobs, FP8 or FP4 where
// asked. Attention cores and logits stay in 16 bits (Megatron-LM and Transformer Engine leave them so). Everything on tensor cores is
// slowed by efficiency.sustained. Not modelled: clocks that change during a step.
#pragma once

#include "workloads/kernels/roofline.h"
#include "workloads/parallel/job.h"
#include "workloads/parallel/plan.h"

namespace lockstep {

// PRE: check_kernels() finds no fault.
[[nodiscard]] GpuPerformance performance_of(const GpuSpec& gpu, const JobSpec& job);

// Dense data-sheet peak of the data type that the matrix products of layers run in: what MFU is a share of.
[[nodiscard]] double linear_peak(const GpuSpec& gpu, const JobSpec& job);

// Reports what the job asks of a GPU that it does not have; true when there is nothing.
bool check_kernels(const JobSpec& job, const GpuSpec& gpu, const ReportFault& report);

}  // namespace lockstep
