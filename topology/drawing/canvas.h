// SPDX-License-Identifier: Apache-2.0
// What the fabrics draw on (clos_drawing.cpp, graph_drawing.cpp): boxes by node and by switch, so that cables find them afterwards.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "topology/drawing/drawing.h"

namespace lockstep {

// Calls show(i) for those of a row that are drawn, and hide(number) where the others would stand.
template <class Show, class Hide>
void for_each_drawn(std::size_t count, const RowLimit& limit, const Show& show, const Hide& hide) {
  const bool is_all = count <= limit.most;
  const std::size_t head = is_all ? count : limit.first;
  for (std::size_t i = 0; i < head; ++i) show(static_cast<std::uint32_t>(i));
  if (is_all) return;
  hide(static_cast<std::int64_t>(count - head - 1));
  show(static_cast<std::uint32_t>(count - 1));
}

// "1 GPU", "8 GPUs"
[[nodiscard]] std::string counted(std::int64_t n, std::string_view word);

class Canvas {
 public:
  Canvas(const Network& network, std::string_view title, const DrawingLimits& limits);

  [[nodiscard]] const Network& network() const { return net_; }
  [[nodiscard]] const DrawingLimits& limits() const { return limits_; }
  [[nodiscard]] DrawnGroup& root() { return drawing_.root; }
  void arrange(Arrangement arrangement) { drawing_.arrangement = arrangement; }

  void add_nodes(const std::vector<std::uint32_t>& nodes, DrawnGroup& group);
  // `label`: what stands in the box; by default the name after the last dot, what is before it being said by the group.
  void add_switch(DeviceId d, int tier, DrawnGroup& group, const std::string& label = "", const std::string& detail = "");
  // A box in place of so many switches like `d`.
  void hide_switches(DeviceId d, std::int64_t number, int tier, DrawnGroup& group);
  // Switches first, first + 1, ... of one tier.
  void add_switches(DeviceId first, std::uint32_t count, const RowLimit& limit, int tier, DrawnGroup& group);

  // Adds the cables between what is drawn, and the counts of all. Moves the drawing out.
  [[nodiscard]] Drawing finish();

 private:
  std::uint32_t add_box(DrawnBox box);
  void add_hidden(DrawnBox::Kind kind, DeviceKind device, int tier, std::int64_t number, std::vector<std::uint32_t>& row);
  void add_node(std::uint32_t n, DrawnGroup& group);
  [[nodiscard]] bool is_bare() const { return net_.nics_per_node() == 0 && net_.endpoints_per_node() == 1; }
  [[nodiscard]] std::uint32_t box_of(DeviceId d) const;
  void add_cables();
  void add_counts();

  const Network& net_;
  DrawingLimits limits_;
  std::vector<std::uint32_t> node_box_;
  std::vector<std::uint32_t> switch_box_;
  Drawing drawing_;
};

// Cables between boxes, from links one by one.
class CableCollector {
 public:
  void add(std::uint32_t low, std::uint32_t high, const Link& l) { ++drawn_[{low, high, l.nominal, l.tier}]; }
  void count(const Link& l) { ++all_[{l.tier, l.nominal}]; }
  void finish(Drawing& drawing) const;

 private:
  std::map<std::tuple<std::uint32_t, std::uint32_t, Rate, LinkTier>, std::int64_t> drawn_;
  std::map<std::pair<LinkTier, Rate>, std::int64_t> all_;
};

void draw_fabric(const FoldedClos& fabric, Canvas& canvas);
void draw_fabric(const GraphFabric& fabric, Canvas& canvas);

}  // namespace lockstep
