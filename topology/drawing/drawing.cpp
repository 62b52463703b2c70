// SPDX-License-Identifier: Apache-2.0
#include "topology/drawing/drawing.h"

#include <fmt/format.h>

#include <map>
#include <tuple>

namespace lockstep {
namespace {

constexpr std::uint32_t kNotDrawn = std::numeric_limits<std::uint32_t>::max();

std::string counted(std::int64_t n, std::string_view word) { return fmt::format("{} {}{}", n, word, n == 1 ? "" : "s"); }

// Calls show(i) for those of a row that are drawn, and hide(number) where the others would stand.
template <class Show, class Hide>
void for_each_drawn(std::size_t count, const RowLimit& limit, const Show& show, const Hide& hide) {
  const bool is_all = count <= limit.most;
  const std::size_t head = is_all ? count : limit.first;
  for (std::size_t i = 0; i < head; ++i) show(i);
  if (is_all) return;
  hide(static_cast<std::int64_t>(count - head - 1));
  show(count - 1);
}

// Cables between boxes, from links one by one.
class CableCollector {
 public:
  void add(std::uint32_t low, std::uint32_t high, const Link& l) { ++drawn_[{low, high, l.nominal, l.tier}]; }
  void count(const Link& l) { ++all_[{l.tier, l.nominal}]; }
  void finish(Drawing& drawing) const {
    for (const auto& [key, n] : drawn_) {
      const auto& [low, high, rate, tier] = key;
      drawing.cables.push_back({low, high, n, rate, tier});
    }
    for (const auto& [key, n] : all_) drawing.legend.push_back({key.first, key.second, n});
  }

 private:
  std::map<std::tuple<std::uint32_t, std::uint32_t, Rate, LinkTier>, std::int64_t> drawn_;
  std::map<std::pair<LinkTier, Rate>, std::int64_t> all_;
};

class NetworkDrawer {
 public:
  NetworkDrawer(const Network& net, std::string_view title, const DrawingLimits& limits)
      : net_(net),
        limits_(limits),
        first_switch_(static_cast<std::uint32_t>(net.device_count()) - net.fabric().device_count()),
        node_box_(net.node_count(), kNotDrawn),
        switch_box_(net.fabric().device_count(), kNotDrawn) {
    drawing_.title = title;
  }

  Drawing draw() {
    if (net_.rack_count() == 0) {
      std::vector<std::uint32_t> all(net_.node_count());
      for (std::uint32_t n = 0; n < all.size(); ++n) all[n] = n;
      add_nodes(all, drawing_.root);
    } else {
      add_clos(net_.fabric());
    }
    add_cables();
    add_counts();
    return std::move(drawing_);
  }

 private:
  std::uint32_t add_box(DrawnBox box) {
    drawing_.boxes.push_back(std::move(box));
    return static_cast<std::uint32_t>(drawing_.boxes.size() - 1);
  }

  // Names of boxes are unique, also of those that stand for others.
  std::uint32_t add_hidden(DrawnBox::Kind kind, DeviceKind device, int tier, std::int64_t hidden) {
    return add_box({.name = fmt::format("more{}", drawing_.boxes.size()),
                    .label = fmt::format("{} more", hidden),
                    .detail = "",
                    .kind = kind,
                    .device = device,
                    .tier = tier,
                    .hidden = hidden});
  }

  void add_node(std::uint32_t n, DrawnGroup& group) {
    const bool is_bare = net_.nics_per_node() == 0 && net_.endpoints_per_node() == 1;
    const std::string name = fmt::format("{}{}", is_bare ? "host" : "node", n);
    const std::string detail =
        is_bare ? "" : counted(net_.endpoints_per_node(), "GPU") + ", " + counted(net_.nics_per_node(), "NIC");
    node_box_[n] = add_box({.name = name, .label = name, .detail = detail, .kind = DrawnBox::Kind::kNode});
    group.nodes.push_back(node_box_[n]);
  }

  void add_nodes(const std::vector<std::uint32_t>& nodes, DrawnGroup& group) {
    for_each_drawn(
        nodes.size(), limits_.nodes, [&](std::size_t i) { add_node(nodes[i], group); },
        [&](std::int64_t n) { group.nodes.push_back(add_hidden(DrawnBox::Kind::kNode, DeviceKind::kHost, 0, n)); });
  }

  void add_switch(DeviceId d, int tier, DrawnGroup& group) {
    const std::string name = net_.name(d);
    // A group is titled by what stands before the last dot.
    const std::size_t dot = name.rfind('.');
    const std::uint32_t box = add_box({.name = name,
                                       .label = dot == std::string::npos ? name : name.substr(dot + 1),
                                       .detail = "",
                                       .kind = DrawnBox::Kind::kSwitch,
                                       .device = net_.kind(d),
                                       .tier = tier});
    switch_box_[d.value() - first_switch_] = box;
    group.switches.push_back(box);
  }

  // Switches first, first + 1, ... of one tier.
  void add_switches(DeviceId first, std::uint32_t count, const RowLimit& limit, int tier, DrawnGroup& group) {
    for_each_drawn(
        count, limit, [&](std::size_t i) { add_switch(DeviceId(first.value() + static_cast<std::uint32_t>(i)), tier, group); },
        [&](std::int64_t n) { group.switches.push_back(add_hidden(DrawnBox::Kind::kSwitch, net_.kind(first), tier, n)); });
  }

  void add_clos(const FoldedClos& f) {
    std::vector<std::vector<std::uint32_t>> nodes_of_rack(f.racks());
    for (std::uint32_t n = 0; n < net_.node_count(); ++n) nodes_of_rack[f.rack_of(n)].push_back(n);
    std::vector<std::vector<std::uint32_t>> racks_of_pod(f.pods());
    for (std::uint32_t r = 0; r < f.racks(); ++r) racks_of_pod[f.pod_of_leaf(r * f.rails())].push_back(r);
    const bool has_pods = f.pods() > 1;
    const std::string_view rack_word = f.shape().wiring == Wiring::kRack ? "rack" : "unit";

    const auto add_racks = [&](std::uint32_t pod, DrawnGroup& group) {
      const std::vector<std::uint32_t>& racks = racks_of_pod[pod];
      for_each_drawn(
          racks.size(), has_pods ? limits_.racks_of_pod : limits_.racks,
          [&](std::size_t i) {
            DrawnGroup& rack = group.groups.emplace_back(DrawnGroup{.title = fmt::format("{} {}", rack_word, i)});
            add_switches(f.leaf(racks[i] * f.rails()), f.rails(), limits_.leaves, 1, rack);
            add_nodes(nodes_of_rack[racks[i]], rack);
          },
          [&](std::int64_t n) { group.groups.push_back({.title = fmt::format("{} more {}s", n, rack_word), .hidden = n}); });
      if (f.spines_per_pod() > 0)
        add_switches(f.spine(pod * f.spines_per_pod()), f.spines_per_pod(), limits_.switches, 2, group);
    };
    if (has_pods) {
      for_each_drawn(
          f.pods(), limits_.pods,
          [&](std::size_t p) {
            add_racks(static_cast<std::uint32_t>(p),
                      drawing_.root.groups.emplace_back(DrawnGroup{.title = fmt::format("pod {}", p)}));
          },
          [&](std::int64_t n) { drawing_.root.groups.push_back({.title = fmt::format("{} more pods", n), .hidden = n}); });
    } else {
      add_racks(0, drawing_.root);
    }
    if (f.cores() > 0) add_switches(f.core(0), f.cores(), limits_.switches, 3, drawing_.root);
  }

  [[nodiscard]] std::uint32_t box_of(DeviceId d) const {
    if (d.value() >= first_switch_) return switch_box_[d.value() - first_switch_];
    return node_box_[d.value() / (first_switch_ / static_cast<std::uint32_t>(net_.node_count()))];
  }

  // The two directions of a cable are links side by side, the one from the lower device first.
  void add_cables() {
    CableCollector cables;
    for (std::size_t i = net_.fabric().first_link().index(); i < net_.link_count(); i += 2) {
      const Link l = net_.link(LinkId::from_index(i));
      cables.count(l);
      const std::uint32_t low = box_of(l.from);
      const std::uint32_t high = box_of(l.to);
      if (low != kNotDrawn && high != kNotDrawn) cables.add(low, high, l);
    }
    cables.finish(drawing_);
  }

  void add_counts() {
    const auto nodes = static_cast<std::int64_t>(net_.node_count());
    const bool is_bare = net_.nics_per_node() == 0 && net_.endpoints_per_node() == 1;
    drawing_.notes.push_back(is_bare ? counted(nodes, "host")
                                     : counted(nodes, "node") + ", " +
                                           counted(static_cast<std::int64_t>(net_.endpoint_count()), "GPU"));
    std::map<DeviceKind, std::int64_t> switches;
    for (std::size_t d = first_switch_; d < net_.device_count(); ++d) ++switches[net_.kind(DeviceId::from_index(d))];
    std::string text;
    for (const auto& [kind, n] : switches) {
      const std::string word = fmt::format("{} switch", to_text(kind));
      text += fmt::format("{}{} {}{}", text.empty() ? "" : ", ", n, word, n == 1 ? "" : "es");
    }
    if (!text.empty()) drawing_.notes.push_back(text);
  }

  const Network& net_;
  DrawingLimits limits_;
  std::uint32_t first_switch_;
  std::vector<std::uint32_t> node_box_;
  std::vector<std::uint32_t> switch_box_;
  Drawing drawing_;
};

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
  return {.nodes = all, .leaves = all, .racks = all, .switches = all, .pods = all, .racks_of_pod = all};
}

Drawing draw_network(const Network& network, std::string_view title, const DrawingLimits& limits) {
  return NetworkDrawer(network, title, limits).draw();
}

Drawing draw_node(const Network& network) {
  Drawing drawing{.title = "inside every node"};
  if (network.nics_per_node() == 0 && network.endpoints_per_node() == 1) return drawing;
  std::visit(
      [&drawing](const auto& server) {
        const std::vector<Link> links = server.links();
        std::vector<bool> is_next_to_ends(server.device_count());
        const auto is_end = [&server](DeviceId d) {
          const DeviceKind kind = server.kind(d.value());
          return kind == DeviceKind::kGpu || kind == DeviceKind::kNic;
        };
        for (const Link& l : links) {
          if (is_end(l.from)) is_next_to_ends[l.to.index()] = true;
        }
        for (std::uint32_t d = 0; d < server.device_count(); ++d) {
          const std::string name = server.name(0, d);
          drawing.root.switches.push_back(d);
          drawing.boxes.push_back({.name = name,
                                   .label = name.substr(name.find('.') + 1),
                                   .detail = "",
                                   .kind = DrawnBox::Kind::kInner,
                                   .device = server.kind(d),
                                   .tier = row_of(server.kind(d), is_next_to_ends[d])});
        }
        CableCollector cables;
        for (std::size_t i = 0; i < links.size(); i += 2) {
          cables.count(links[i]);
          cables.add(links[i].from.value(), links[i].to.value(), links[i]);
        }
        cables.finish(drawing);
      },
      network.server());
  return drawing;
}

}  // namespace lockstep
