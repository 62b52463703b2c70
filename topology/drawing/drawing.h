// SPDX-License-Identifier: Apache-2.0
// What a drawing of a network shows, before anybody decides how it looks: boxes (nodes and switches), the racks and pods they stand in, and
// cables, those side by side as one with their number. dot.h and svg.h render it.
//
// Large networks are drawn in part: of many like boxes or groups in a row the first ones and the last, and between them one that says how
// many more there are (`hidden`). Cables are drawn between boxes that are; the legend counts all of them.
//
// Memory: what is drawn, and four bytes for every node and switch. Time: one look at every link of the fabric.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "topology/network.h"

namespace lockstep {

struct DrawnBox {
  enum class Kind : std::uint8_t { kNode, kSwitch, kInner };  // kInner: a device inside a node
  std::string name;                                           // unique: "node3", "pod0.leaf1"
  std::string label;                                          // what stands in the box, where the group says the rest: "leaf1"
  std::string detail;                                         // a second line: "8 GPUs, 8 NICs"; may be empty
  Kind kind = Kind::kNode;
  DeviceKind device = DeviceKind::kHost;  // of a switch or of what is inside a node
  int tier = 0;                           // rows of switches in a group, from below
  std::int64_t hidden = 0;                // > 0: stands for so many that are not drawn
};

// How the groups of the whole stand: side by side, in a ring (a dragonfly), or on the grid that their cells give (a torus).
enum class Arrangement : std::uint8_t { kRow, kRing, kGrid };
struct GridCell {
  int column = 0;
  int row = 0;
  int plane = 0;
};

// A rack, a pod, or the whole: a row of groups or a stack of nodes, with switches above. Without a title it has no frame.
struct DrawnGroup {
  std::string title;
  GridCell cell = {};
  std::int64_t hidden = 0;  // > 0: stands for so many that are not drawn
  std::vector<std::uint32_t> switches = {};
  std::vector<std::uint32_t> nodes = {};
  std::vector<DrawnGroup> groups = {};
};

struct DrawnCable {
  std::uint32_t low = 0;  // boxes
  std::uint32_t high = 0;
  std::int64_t count = 0;
  Rate rate;  // of one
  LinkTier tier = LinkTier::kHost;
};

// Cables of one sort, drawn or not.
struct CableCount {
  LinkTier tier = LinkTier::kHost;
  Rate rate;
  std::int64_t count = 0;
};

struct Drawing {
  std::string title;
  Arrangement arrangement = Arrangement::kRow;
  std::vector<DrawnBox> boxes;
  std::vector<DrawnCable> cables;
  DrawnGroup root;
  std::vector<CableCount> legend;
  std::vector<std::string> notes;  // lines for the legend: what there is in all; the caller may add more
};

// How many of a row are drawn: all if they are at most `most`, else the first ones and the last. most > first + 1, so that what is not
// drawn is never one alone.
struct RowLimit {
  std::uint32_t most = 0;
  std::uint32_t first = 0;
};
struct DrawingLimits {
  static constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();
  RowLimit nodes = {8, 3};      // of a rack
  RowLimit leaves = {9, 6};     // of a rack
  RowLimit racks = {6, 3};      // of the only pod
  RowLimit switches = {12, 7};  // of the upper tiers
  RowLimit pods = {3, 1};
  RowLimit racks_of_pod = {3, 1};  // where there are several pods
  RowLimit groups = {9, 7};        // of a dragonfly
  RowLimit routers = {6, 4};       // of a group
  RowLimit torus = {6, 3};         // of each dimension
  RowLimit inner = {16, 7};        // of the same kind inside a node
  [[nodiscard]] static DrawingLimits none();
};

[[nodiscard]] Drawing draw_network(const Network& network, std::string_view title, const DrawingLimits& limits = {});
// The inside of one node; no boxes where a node is a bare host.
[[nodiscard]] Drawing draw_node(const Network& network, const DrawingLimits& limits = {});

}  // namespace lockstep
