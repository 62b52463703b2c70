// SPDX-License-Identifier: Apache-2.0
// A folded Clos: cores on top, pods with their spines, racks (units where wired by rail) with their leaves and nodes.
#include <fmt/format.h>

#include "topology/drawing/canvas.h"

namespace lockstep {

void draw_fabric(const FoldedClos& f, Canvas& canvas) {
  const Network& net = canvas.network();
  const DrawingLimits& limits = canvas.limits();
  std::vector<std::vector<std::uint32_t>> nodes_of_rack(f.racks());
  for (std::uint32_t n = 0; n < net.node_count(); ++n) nodes_of_rack[f.rack_of(n)].push_back(n);
  std::vector<std::vector<std::uint32_t>> racks_of_pod(f.pods());
  for (std::uint32_t r = 0; r < f.racks(); ++r) racks_of_pod[f.pod_of_leaf(r * f.rails())].push_back(r);
  const bool has_pods = f.pods() > 1;
  const std::string_view word = f.shape().wiring == Wiring::kRack ? "rack" : "unit";

  const auto add_pod = [&](std::uint32_t pod, DrawnGroup& group) {
    const std::vector<std::uint32_t>& racks = racks_of_pod[pod];
    for_each_drawn(
        racks.size(), has_pods ? limits.racks_of_pod : limits.racks,
        [&](std::uint32_t i) {
          DrawnGroup& rack = group.groups.emplace_back(DrawnGroup{.title = fmt::format("{} {}", word, i)});
          canvas.add_switches(f.leaf(racks[i] * f.rails()), f.rails(), limits.leaves, 1, rack);
          canvas.add_nodes(nodes_of_rack[racks[i]], rack);
        },
        [&](std::int64_t n) { group.groups.push_back({.title = fmt::format("{} more {}s", n, word), .hidden = n}); });
    if (f.spines_per_pod() == 0) return;
    canvas.add_switches(f.spine(pod * f.spines_per_pod()), f.spines_per_pod(), limits.switches, 2, group);
  };
  DrawnGroup& root = canvas.root();
  if (has_pods) {
    for_each_drawn(
        f.pods(), limits.pods,
        [&](std::uint32_t p) { add_pod(p, root.groups.emplace_back(DrawnGroup{.title = fmt::format("pod {}", p)})); },
        [&](std::int64_t n) { root.groups.push_back({.title = fmt::format("{} more pods", n), .hidden = n}); });
  } else {
    add_pod(0, root);
  }
  if (f.cores() > 0) canvas.add_switches(f.core(0), f.cores(), limits.switches, 3, root);
}

}  // namespace lockstep
