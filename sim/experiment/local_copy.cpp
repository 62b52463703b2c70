// SPDX-License-Identifier: Apache-2.0
#include "sim/experiment/local_copy.h"

#include <fmt/core.h>

#include "base/check.h"

namespace lockstep {

std::vector<CollectiveRow> run_local_copy(const CollectiveRequest& request, const GpuPerformance& gpu) {
  LOCKSTEP_CHECK(request.members.size() == 1, "a copy on {} GPUs", request.members.size());
  std::vector<CollectiveRow> rows;
  for (const std::int64_t size : request.sizes) {
    const Duration time = kernel_duration(kernel_seconds(gpu, memory_kernel("copy", 2.0 * static_cast<double>(size))));
    if ((Instant() + time).is_never()) {
      throw SimulationError(fmt::format("a copy of {} bytes does not end within the range of time", size));
    }
    CollectiveRow row{.size_bytes = size, .time_s = time.seconds(), .algorithm = "copy", .protocol = "none"};
    if (row.time_s > 0) row.algbw_gb_per_s = static_cast<double>(size) / row.time_s * 1e-9;
    row.busbw_gb_per_s = row.algbw_gb_per_s * busbw_factor(request.kind, 1);
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace lockstep
