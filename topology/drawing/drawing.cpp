// SPDX-License-Identifier: Apache-2.0
#include "topology/drawing/drawing.h"

#include <fmt/format.h>

#include <map>
#include <numeric>
#include <optional>

#include "topology/drawing/canvas.h"

namespace lockstep {
namespace {

// Rows of a node from above: NVSwitches, GPUs, the PCIe switches they are on, NICs, PCIe switches that join others only.
int row_of(DeviceKind kind, bool is_next_to_ends) {
  switch (kind) {
    case DeviceKind::kNvSwitch:
      return 4;
    case DeviceKind::kGpu:
      return 3;
    case DeviceKind::kNic:
      return 1;
    default:
      return is_next_to_ends ? 2 : 0;
  }
}

}  // namespace

DrawingLimits DrawingLimits::none() {
  constexpr RowLimit all{kNone, kNone};
  return {.nodes = all,
          .leaves = all,
          .racks = all,
          .switches = all,
          .pods = all,
          .racks_of_pod = all,
          .groups = all,
          .routers = all,
          .torus = all,
          .inner = all};
}

Drawing draw_network(const Network& network, std::string_view title, const DrawingLimits& limits) {
  Canvas canvas(network, title, limits);
  if (network.rack_count() > 0) {
    std::visit([&canvas](const auto& fabric) { draw_fabric(fabric, canvas); }, network.fabric());
  } else {
    std::vector<std::uint32_t> all(network.node_count());
    std::iota(all.begin(), all.end(), 0u);
    canvas.add_nodes(all, canvas.root());
  }
  return canvas.finish();
}

Drawing draw_node(const Network& network, const DrawingLimits& limits) {
  Drawing drawing{.title = "inside every node"};
  if (network.nics_per_node() == 0 && network.endpoints_per_node() == 1) return drawing;
  const auto draw = [&](const auto& server) {
    const std::vector<Link> links = server.links();
    std::vector<bool> is_next_to_ends(server.device_count());
    const auto is_end = [&server](DeviceId d) {
      const DeviceKind kind = server.kind(d.value());
      return kind == DeviceKind::kGpu || kind == DeviceKind::kNic;
    };
    for (const Link& l : links) {
      if (is_end(l.from)) is_next_to_ends[l.to.index()] = true;
    }
    std::map<int, std::vector<std::uint32_t>> rows;
    for (std::uint32_t d = 0; d < server.device_count(); ++d) rows[row_of(server.kind(d), is_next_to_ends[d])].push_back(d);

    std::vector<std::optional<std::uint32_t>> box_of(server.device_count());
    const auto add = [&drawing](DrawnBox box) {
      drawing.boxes.push_back(std::move(box));
      const auto number = static_cast<std::uint32_t>(drawing.boxes.size() - 1);
      drawing.root.switches.push_back(number);
      return number;
    };
    for (const auto& [tier, devices] : rows) {
      const DrawnBox like{.kind = DrawnBox::Kind::kInner, .device = server.kind(devices.front()), .tier = tier};
      for_each_drawn(
          devices.size(), limits.inner,
          [&](std::uint32_t i) {
            DrawnBox box = like;
            box.name = server.name(0, devices[i]);
            box.label = box.name.substr(box.name.find('.') + 1);
            box_of[devices[i]] = add(box);
          },
          [&](std::int64_t n) {
            DrawnBox box = like;
            box.name = fmt::format("more#{}", drawing.boxes.size());
            box.label = fmt::format("{} more", n);
            box.hidden = n;
            add(box);
          });
    }
    CableCollector cables;
    for (std::size_t i = 0; i < links.size(); i += 2) {
      cables.count(links[i]);
      const auto from = box_of[links[i].from.index()];
      const auto to = box_of[links[i].to.index()];
      if (from && to) cables.add(*from, *to, links[i]);
    }
    cables.finish(drawing);
  };
  std::visit(draw, network.server());
  return drawing;
}

}  // namespace lockstep
