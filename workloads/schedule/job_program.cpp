// SPDX-License-Identifier: Apache-2.0
#include "workloads/schedule/job_program.h"

#include "workloads/schedule/profile_program.h"
#include "workloads/schedule/training_program.h"

namespace lockstep {

std::unique_ptr<Program> make_program(const TrainingPlan& plan, const GpuPerformance& gpu) {
  if (plan.has_profile()) return std::make_unique<ProfileProgram>(plan);
  return std::make_unique<TrainingProgram>(plan, gpu);
}

}  // namespace lockstep
