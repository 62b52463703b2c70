// SPDX-License-Identifier: Apache-2.0
// A network as a Graphviz drawing: switches in ranks by tier, racks and pods as boxes, every node one shape whatever is inside it.
// Cables side by side are one line, labelled with their number and speed. Feed it to `dot -Tsvg`.
//
// Size: one line per node, switch and pair of neighbours; a drawing of thousands of nodes is a file, not a picture.
#pragma once

#include <string>
#include <string_view>

#include "topology/network.h"

namespace lockstep {

[[nodiscard]] std::string to_dot(const Network& network, std::string_view title);

}  // namespace lockstep
