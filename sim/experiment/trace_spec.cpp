// SPDX-License-Identifier: Apache-2.0
#include "sim/experiment/trace_spec.h"

#include "base/field_table.h"

namespace lockstep {

const FieldTable<TraceSpec>& trace_fields() {
  static const FieldTable<TraceSpec> table = [] {
    FieldTable<TraceSpec> t("trace");
    t.field("file", &TraceSpec::file).required().doc("a trace in the text form of GOAL; relative to this document");
    t.field("ranks", &TraceSpec::ranks).required().range(1, 1 << 24).doc("of the trace; rank i runs on GPU or host i");
    t.field("compute_scale", &TraceSpec::compute_scale)
        .range(0, 1e6)
        .doc("factor on the times that the trace computes: below 1 on faster processors");
    return t;
  }();
  return table;
}

}  // namespace lockstep
