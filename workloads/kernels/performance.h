// SPDX-License-Identifier: Apache-2.0
// What the kernels of one job reach on one GPU: peaks by the data types of the job, efficiencies of the hardware file, kernels and host
// costs of the release of its software.
//
// Matrix products of layers' weights (KernelClass::kLinear) run in the job's precision: 16 bits, TF32 for 32-bit jobs, FP8 or FP4 where
// asked. Attention cores and logits stay in 16 bits (Megatron-LM and Transformer Engine leave them so). Everything on tensor cores is
// slowed by efficiency.sustained. AttentionKernel::kFlash is the newest fused kernel that both the release and the GPU have.
// Heads between 64 and 128 wide reach a share of that of 128 in proportion, narrower ones fall further in proportion to their width.
// Not modelled: clocks that change during a step.
#pragma once

#include "topology/hardware/gpu_spec.h"
#include "topology/hardware/software_spec.h"
#include "workloads/kernels/roofline.h"
#include "workloads/parallel/job.h"
#include "workloads/parallel/plan.h"

namespace lockstep {

struct ServerSpec;  // topology/hardware/server_spec.h

// PRE: check_kernels() finds no fault.
[[nodiscard]] GpuPerformance performance_of(const ServerSpec& server, const SoftwareHistory& software, const JobSpec& job);
// In a server that says no more than its GPU.
[[nodiscard]] GpuPerformance performance_of(const GpuSpec& gpu, const SoftwareHistory& software, const JobSpec& job);

// The newest release of the job's framework that is not after job.software.released; the oldest known where that is older still. A
// default-made one (which costs the host nothing) when the history is empty.
[[nodiscard]] SoftwareRelease release_of(const SoftwareHistory& software, const JobSpec& job);

// Dense data-sheet peak of the data type that the matrix products of layers run in: what MFU is a share of.
[[nodiscard]] double linear_peak(const GpuSpec& gpu, const JobSpec& job);

// Reports what the job asks of GPU and software that they do not have; true when there is nothing.
bool check_kernels(const JobSpec& job, const GpuSpec& gpu, const SoftwareHistory& software, const ReportFault& report);

}  // namespace lockstep
