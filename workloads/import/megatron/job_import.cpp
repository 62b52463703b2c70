// SPDX-License-Identifier: Apache-2.0
#include "workloads/import/megatron/job_import.h"

namespace lockstep {

JobSpec import_job(const Launch& launch, ReadContext& context) {
  const Launch complete = with_deepspeed_config(launch, context.diagnostics());
  LaunchReader arguments(complete, context);
  JobSpec job;
  import_plan(arguments, job);
  import_geometry(arguments, job);
  import_experts(arguments, job);
  import_pipeline(arguments, job);
  import_numerics(arguments, job);
  import_data_parallelism(arguments, job);
  arguments.warn_about_the_rest();
  return job;
}

}  // namespace lockstep
