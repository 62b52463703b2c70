// SPDX-License-Identifier: Apache-2.0
// A network as a picture: one SVG file without fonts, scripts or links of its own. A cable is the thicker the more rate all those side by
// side have (by the square root, compared with the most in the drawing). Boxes and cables say what they are where a pointer rests on them.
#pragma once

#include <string>

#include "topology/drawing/drawing.h"

namespace lockstep {

// `inside`: of one node, a second picture below; nothing when it has no boxes.
[[nodiscard]] std::string to_svg(const Drawing& network, const Drawing& inside);

}  // namespace lockstep
