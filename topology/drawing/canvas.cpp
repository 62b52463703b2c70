// SPDX-License-Identifier: Apache-2.0
#include "topology/drawing/canvas.h"

#include <fmt/format.h>

#include <utility>

namespace lockstep {
namespace {

constexpr std::uint32_t kNotDrawn = std::numeric_limits<std::uint32_t>::max();

}  // namespace

std::string counted(std::int64_t n, std::string_view word) { return fmt::format("{} {}{}", n, word, n == 1 ? "" : "s"); }

void CableCollector::finish(Drawing& drawing) const {
  for (const auto& [key, n] : drawn_) {
    const auto& [low, high, rate, tier] = key;
    drawing.cables.push_back({low, high, n, rate, tier});
  }
  for (const auto& [key, n] : all_) drawing.legend.push_back({key.first, key.second, n});
}

Canvas::Canvas(const Network& network, std::string_view title, const DrawingLimits& limits)
    : net_(network),
      limits_(limits),
      node_box_(network.node_count(), kNotDrawn),
      switch_box_(network.device_count() - network.first_switch().index(), kNotDrawn) {
  drawing_.title = title;
}

std::uint32_t Canvas::add_box(DrawnBox box) {
  drawing_.boxes.push_back(std::move(box));
  return static_cast<std::uint32_t>(drawing_.boxes.size() - 1);
}

// Names of boxes are unique, also of those that stand for others.
void Canvas::add_hidden(DrawnBox::Kind kind, DeviceKind device, int tier, std::int64_t number,
                        std::vector<std::uint32_t>& row) {
  row.push_back(add_box({.name = fmt::format("more#{}", drawing_.boxes.size()),
                         .label = fmt::format("{} more", number),
                         .detail = "",
                         .kind = kind,
                         .device = device,
                         .tier = tier,
                         .hidden = number}));
}

void Canvas::add_node(std::uint32_t n, DrawnGroup& group) {
  const std::string name = fmt::format("{}{}", is_bare() ? "host" : "node", n);
  const std::string detail =
      is_bare() ? "" : counted(net_.endpoints_per_node(), "GPU") + ", " + counted(net_.nics_per_node(), "NIC");
  node_box_[n] = add_box({.name = name, .label = name, .detail = detail, .kind = DrawnBox::Kind::kNode});
  group.nodes.push_back(node_box_[n]);
}

void Canvas::add_nodes(const std::vector<std::uint32_t>& nodes, DrawnGroup& group) {
  for_each_drawn(
      nodes.size(), limits_.nodes, [&](std::uint32_t i) { add_node(nodes[i], group); },
      [&](std::int64_t n) { add_hidden(DrawnBox::Kind::kNode, DeviceKind::kHost, 0, n, group.nodes); });
}

void Canvas::add_switch(DeviceId d, int tier, DrawnGroup& group, const std::string& label, const std::string& detail) {
  const std::string name = net_.name(d);
  const std::size_t dot = name.rfind('.');
  const std::uint32_t box = add_box({.name = name,
                                     .label = !label.empty()             ? label
                                              : dot == std::string::npos ? name
                                                                         : name.substr(dot + 1),
                                     .detail = detail,
                                     .kind = DrawnBox::Kind::kSwitch,
                                     .device = net_.kind(d),
                                     .tier = tier});
  switch_box_[d.index() - net_.first_switch().index()] = box;
  group.switches.push_back(box);
}

void Canvas::hide_switches(DeviceId d, std::int64_t number, int tier, DrawnGroup& group) {
  add_hidden(DrawnBox::Kind::kSwitch, net_.kind(d), tier, number, group.switches);
}

void Canvas::add_switches(DeviceId first, std::uint32_t count, const RowLimit& limit, int tier, DrawnGroup& group) {
  for_each_drawn(
      count, limit, [&](std::uint32_t i) { add_switch(DeviceId(first.value() + i), tier, group); },
      [&](std::int64_t n) { hide_switches(first, n, tier, group); });
}

std::uint32_t Canvas::box_of(DeviceId d) const {
  const std::size_t first_switch = net_.first_switch().index();
  if (d.index() >= first_switch) return switch_box_[d.index() - first_switch];
  return node_box_[d.index() / (first_switch / net_.node_count())];
}

// The two directions of a cable are links side by side. The lower end comes first; on a custom graph by tier.
void Canvas::add_cables() {
  CableCollector cables;
  for (std::size_t i = net_.first_fabric_link().index(); i < net_.link_count(); i += 2) {
    const Link l = net_.link(LinkId::from_index(i));
    cables.count(l);
    std::uint32_t low = box_of(l.from);
    std::uint32_t high = box_of(l.to);
    if (low == kNotDrawn || high == kNotDrawn) continue;
    if (drawing_.boxes[low].tier > drawing_.boxes[high].tier) std::swap(low, high);
    cables.add(low, high, l);
  }
  cables.finish(drawing_);
}

void Canvas::add_counts() {
  const auto nodes = static_cast<std::int64_t>(net_.node_count());
  const auto gpus = static_cast<std::int64_t>(net_.endpoint_count());
  drawing_.notes.push_back(is_bare() ? counted(nodes, "host") : counted(nodes, "node") + ", " + counted(gpus, "GPU"));
  std::map<DeviceKind, std::int64_t> switches;
  for (std::size_t d = net_.first_switch().index(); d < net_.device_count(); ++d)
    ++switches[net_.kind(DeviceId::from_index(d))];
  std::string text;
  for (const auto& [kind, n] : switches) {
    const std::string word = kind == DeviceKind::kSwitch ? "switch" : fmt::format("{} switch", to_text(kind));
    text += fmt::format("{}{} {}{}", text.empty() ? "" : ", ", n, word, n == 1 ? "" : "es");
  }
  if (!text.empty()) drawing_.notes.push_back(text);
}

Drawing Canvas::finish() {
  add_cables();
  add_counts();
  return std::move(drawing_);
}

}  // namespace lockstep
