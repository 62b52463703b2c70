// SPDX-License-Identifier: Apache-2.0
// A drawing for Graphviz: switches in ranks by tier, racks and pods as boxes, every node one shape whatever is inside it. Cables side by
// side are one line with their number and speed: its label, or its tooltip where there are many. Feed it to `dot -Tsvg`.
#pragma once

#include <string>

#include "topology/drawing/drawing.h"

namespace lockstep {

[[nodiscard]] std::string to_dot(const Drawing& drawing);

}  // namespace lockstep
