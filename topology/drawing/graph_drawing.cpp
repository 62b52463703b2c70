// SPDX-License-Identifier: Apache-2.0
// Fabrics given as graphs: a dragonfly as a ring of groups, a torus as planes side by side, a custom graph as racks and pods below the
// switches that have no nodes, by tier. On the first two a switch says how many nodes it has, and these are not drawn.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "topology/drawing/canvas.h"

namespace lockstep {
namespace {

class GraphDrawer {
 public:
  GraphDrawer(const GraphFabric& fabric, Canvas& canvas) : fabric_(fabric), canvas_(canvas), nodes_on_(fabric.device_count()) {
    for (std::uint32_t n = 0; n < net().node_count(); ++n) nodes_on_[fabric.switch_of({n, 0})].push_back(n);
  }

  void draw(const Dragonfly& d) {
    canvas_.arrange(Arrangement::kRing);
    DrawnGroup& root = canvas_.root();
    for_each_drawn(
        d.groups(), limits().groups,
        [&](std::uint32_t i) {
          DrawnGroup& group = root.groups.emplace_back(DrawnGroup{.title = fmt::format("group {}", i)});
          const std::uint32_t first = i * d.routers_per_group();
          for_each_drawn(
              d.routers_per_group(), limits().routers, [&](std::uint32_t r) { add_compact(first + r, "", group); },
              [&](std::int64_t n) { canvas_.hide_switches(device(first), n, 0, group); });
        },
        [&](std::int64_t n) { root.groups.push_back({.title = fmt::format("{} more groups", n), .hidden = n}); });
  }

  // The first dimension is the column, the second the row; all others together number the planes.
  void draw(const Torus& t) {
    canvas_.arrange(Arrangement::kGrid);
    const std::vector<std::uint32_t>& sizes = t.dimensions();
    const std::uint32_t columns = sizes[0];
    const std::uint32_t rows = sizes.size() > 1 ? sizes[1] : 1;
    const std::uint32_t planes = t.switches() / (columns * rows);
    int plane = 0;
    for_each_drawn(
        planes, limits().torus,
        [&](std::uint32_t p) {
          add_plane({columns, rows, planes}, p, plane++);
        },
        [&](std::int64_t n) {
          canvas_.root().groups.push_back({.title = fmt::format("{} more planes", n), .cell = {0, 0, plane++}, .hidden = n});
        });
  }

  void draw(const CustomGraph& g) {
    const std::vector<Rack> racks = find_racks();
    std::map<std::uint32_t, std::vector<std::uint32_t>> racks_of_pod;
    for (std::uint32_t r = 0; r < racks.size(); ++r) racks_of_pod[racks[r].pod].push_back(r);
    const bool has_pods = racks_of_pod.size() > 1;
    // Upper switches stand in the pod whose number they have, where there are several.
    std::map<std::uint32_t, std::map<int, std::vector<std::uint32_t>>> tiers_of_pod;
    std::map<int, std::vector<std::uint32_t>> tiers;
    std::map<std::uint32_t, std::uint32_t> pod_numbers;
    for (const Rack& r : racks) pod_numbers.emplace(g.pod_of(r.switches.front()), r.pod);
    for (std::uint32_t s = 0; s < g.switches(); ++s) {
      if (is_in_rack_[s]) continue;
      const auto pod = pod_numbers.find(g.pod_of(s));
      (has_pods && pod != pod_numbers.end() ? tiers_of_pod[pod->second] : tiers)[g.tier_of(s)].push_back(s);
    }
    DrawnGroup& root = canvas_.root();
    if (!has_pods) {
      add_racks(racks, racks_of_pod.begin()->second, limits().racks, root);
    } else {
      for_each_drawn(
          racks_of_pod.size(), limits().pods,
          [&](std::uint32_t p) {
            DrawnGroup& pod = root.groups.emplace_back(DrawnGroup{.title = fmt::format("pod {}", p)});
            add_racks(racks, racks_of_pod[p], limits().racks_of_pod, pod);
            add_tiers(tiers_of_pod[p], pod);
          },
          [&](std::int64_t n) { root.groups.push_back({.title = fmt::format("{} more pods", n), .hidden = n}); });
    }
    add_tiers(tiers, root);
  }

 private:
  struct Rack {
    std::uint32_t pod = 0;
    std::vector<std::uint32_t> switches;
    std::vector<std::uint32_t> nodes;
  };
  struct PlaneSize {
    std::uint32_t columns = 1;
    std::uint32_t rows = 1;
    std::uint32_t planes = 1;
  };

  [[nodiscard]] const Network& net() const { return canvas_.network(); }
  [[nodiscard]] const DrawingLimits& limits() const { return canvas_.limits(); }
  [[nodiscard]] DeviceId device(std::uint32_t s) const { return DeviceId(net().first_switch().value() + s); }

  void add_compact(std::uint32_t s, const std::string& label, DrawnGroup& group) {
    const auto n = static_cast<std::int64_t>(nodes_on_[s].size());
    canvas_.add_switch(device(s), 0, group, label, counted(n, "node"));
  }

  void add_plane(const PlaneSize& size, std::uint32_t p, int plane) {
    const auto gap = [&](std::int64_t n, GridCell cell) {
      canvas_.root().groups.push_back({.title = fmt::format("{} more", n), .cell = cell, .hidden = n});
    };
    int column = 0;
    const auto add_column = [&](std::uint32_t x) {
      int row = 0;
      for_each_drawn(
          size.rows, limits().torus,
          [&](std::uint32_t y) {
            DrawnGroup& group = canvas_.root().groups.emplace_back(DrawnGroup{.cell = {column, row++, plane}});
            const std::uint32_t s = (x * size.rows + y) * size.planes + p;
            const std::string name = net().name(device(s));
            add_compact(s, name.substr(name.find('(')), group);
          },
          [&](std::int64_t n) {
            gap(n, {column, row++, plane});
          });
      ++column;
    };
    for_each_drawn(size.columns, limits().torus, add_column, [&](std::int64_t n) {
      // One gap for all rows.
      gap(n, {column++, 0, plane});
    });
  }

  // A rack has the switches whose nodes are in it: by port 0, or by any port where a switch has no port 0.
  [[nodiscard]] std::vector<Rack> find_racks() {
    std::vector<Rack> racks(net().rack_count());
    is_in_rack_.assign(fabric_.device_count(), false);
    const auto ports = static_cast<std::uint32_t>(std::max(net().nics_per_node(), 1));
    for (std::uint32_t port = 0; port < ports; ++port) {
      for (std::uint32_t n = 0; n < net().node_count(); ++n) {
        Rack& rack = racks[fabric_.rack_of(n)];
        rack.pod = fabric_.pod_of(n);
        if (port == 0) rack.nodes.push_back(n);
        const std::uint32_t s = fabric_.switch_of({n, port});
        if (is_in_rack_[s]) continue;
        is_in_rack_[s] = true;
        rack.switches.push_back(s);
      }
    }
    return racks;
  }

  // Names of custom switches are shown as they were given.
  void add_row(const std::vector<std::uint32_t>& switches, const RowLimit& limit, int tier, DrawnGroup& group) {
    for_each_drawn(
        switches.size(), limit,
        [&](std::uint32_t i) { canvas_.add_switch(device(switches[i]), tier, group, net().name(device(switches[i]))); },
        [&](std::int64_t n) { canvas_.hide_switches(device(switches.front()), n, tier, group); });
  }

  void add_racks(const std::vector<Rack>& racks, const std::vector<std::uint32_t>& chosen, const RowLimit& limit,
                 DrawnGroup& group) {
    for_each_drawn(
        chosen.size(), limit,
        [&](std::uint32_t i) {
          DrawnGroup& rack = group.groups.emplace_back(DrawnGroup{.title = fmt::format("rack {}", chosen[i])});
          add_row(racks[chosen[i]].switches, limits().leaves, 1, rack);
          canvas_.add_nodes(racks[chosen[i]].nodes, rack);
        },
        [&](std::int64_t n) { group.groups.push_back({.title = fmt::format("{} more racks", n), .hidden = n}); });
  }

  void add_tiers(const std::map<int, std::vector<std::uint32_t>>& tiers, DrawnGroup& group) {
    for (const auto& [tier, switches] : tiers) add_row(switches, limits().switches, tier + 2, group);
  }

  const GraphFabric& fabric_;
  Canvas& canvas_;
  std::vector<std::vector<std::uint32_t>> nodes_on_;
  std::vector<bool> is_in_rack_;
};

}  // namespace

void draw_fabric(const GraphFabric& fabric, Canvas& canvas) {
  GraphDrawer drawer(fabric, canvas);
  std::visit([&drawer](const auto& layout) { drawer.draw(layout); }, fabric.shape().layout);
}

}  // namespace lockstep
