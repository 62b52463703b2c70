// SPDX-License-Identifier: Apache-2.0
// kind: trace, a recorded run to be replayed (sim/runtime/trace_run.h): `lockstep import goal` writes it, `lockstep run` takes it.
#pragma once

#include <cstdint>
#include <string>

namespace lockstep {

template <class T>
class FieldTable;

struct TraceSpec {
  std::string name;
  std::string file;  // relative to the document
  std::int64_t ranks = 0;
  double compute_scale = 1;  // of the times of the trace's calcs
};

[[nodiscard]] const FieldTable<TraceSpec>& trace_fields();

}  // namespace lockstep
