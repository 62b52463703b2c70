// SPDX-License-Identifier: Apache-2.0
#include "base/check.h"
#include "workloads/parallel/plan.h"

namespace lockstep {
namespace {

// base each, and one more for `extra` stages in the middle.
std::vector<std::int64_t> deal(std::int64_t stages, std::int64_t base, std::int64_t extra) {
  std::vector<std::int64_t> out(static_cast<std::size_t>(stages), base);
  const std::int64_t first = (stages - extra) / 2;
  for (std::int64_t i = 0; i < extra; ++i) ++out[static_cast<std::size_t>(first + i)];
  return out;
}

}  // namespace

std::vector<std::int64_t> default_stage_layers(std::int64_t layers, std::int64_t stages) {
  LOCKSTEP_CHECK(stages >= 1 && stages <= layers, "{} layers on {} stages", layers, stages);
  if (layers % stages == 0) return deal(stages, layers / stages, 0);
  const std::int64_t units = layers + 2;
  if (units / stages < 2) return deal(stages, layers / stages, layers % stages);
  std::vector<std::int64_t> out = deal(stages, units / stages, units % stages);
  --out.front();
  --out.back();
  return out;
}

}  // namespace lockstep
