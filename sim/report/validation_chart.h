// SPDX-License-Identifier: Apache-2.0
// Predictions of a suite as a picture: a strip per source, each row a dot at predicted over measured, on a straight scale from half to one and
// a half times; what is beyond sits at the edge. One SVG file without fonts, scripts or links of its own; a dot says its row and error where a
// pointer rests on it.
#pragma once

#include <string>

#include "sim/experiment/validation.h"

namespace lockstep {

[[nodiscard]] std::string to_chart(const SuiteResult& r);

}  // namespace lockstep
