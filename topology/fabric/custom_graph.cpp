// SPDX-License-Identifier: Apache-2.0
#include "topology/fabric/custom_graph.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/check.h"

namespace lockstep {

CustomGraph::CustomGraph(std::vector<CustomSwitch> switches, std::vector<SwitchCable> cables, std::vector<CableSort> sorts,
                         const std::vector<std::uint32_t>& roots)
    : switches_(std::move(switches)),
      cables_(std::move(cables)),
      sorts_(std::move(sorts)),
      root_number_(switches_.size(), kNoRoot) {
  LOCKSTEP_CHECK(switches_.size() <= kMostCustomSwitches, "a custom graph of {} switches", switches_.size());
  std::vector<std::vector<Arc>> arcs(switches_.size());
  for (std::uint32_t c = 0; c < cables_.size(); ++c) {
    const SwitchCable& cable = cables_[c];
    LOCKSTEP_CHECK(cable.from != cable.to && std::max(cable.from, cable.to) < switches_.size(), "a cable from {} to {} of {}",
                   cable.from, cable.to, switches_.size());
    arcs[cable.from].push_back({cable.to, 2 * c});
    arcs[cable.to].push_back({cable.from, 2 * c + 1});
  }
  for (const std::vector<Arc>& row : arcs) {
    arcs_.push_all(row);
    arcs_.end_row();
  }
  for (const std::uint32_t root : roots) {
    if (root_number_[root] != kNoRoot) continue;
    root_number_[root] = static_cast<std::uint32_t>(ways_.size());
    ways_.push_back(ways_to(root));
  }
  count_paths();
}

// Breadth first, so that a switch is counted when all switches nearer to the root are.
CustomGraph::Way CustomGraph::ways_to(std::uint32_t root) const {
  Way way{.distance = std::vector<std::uint16_t>(switches_.size(), kFar),
          .paths = std::vector<std::uint32_t>(switches_.size(), 0)};
  way.distance[root] = 0;
  way.paths[root] = 1;
  std::vector<std::uint32_t> queue{root};
  for (std::size_t i = 0; i < queue.size(); ++i) {
    const std::uint32_t at = queue[i];
    for (const Arc& arc : arcs_[at]) {
      if (way.distance[arc.to] == kFar) {
        way.distance[arc.to] = static_cast<std::uint16_t>(way.distance[at] + 1);
        queue.push_back(arc.to);
      }
      if (way.distance[arc.to] == way.distance[at] + 1) {
        way.paths[arc.to] = std::min(way.paths[arc.to] + way.paths[at], kManyPaths);
      }
    }
  }
  return way;
}

const CustomGraph::Way& CustomGraph::way_to(std::uint32_t root) const {
  LOCKSTEP_CHECK(root < root_number_.size() && root_number_[root] != kNoRoot, "no node is attached to switch {}", root);
  return ways_[root_number_[root]];
}

void CustomGraph::count_paths() {
  for (std::uint32_t a = 0; a < switches(); ++a) {
    if (root_number_[a] == kNoRoot) continue;
    for (const Way& way : ways_) {
      if (way.paths[a] == 0) continue;
      const std::int64_t paths = std::min<std::int64_t>(way.paths[a], kMostCustomPaths);
      max_path_count_ = std::max(max_path_count_, paths);
      spray_weight_ = std::lcm(spray_weight_, paths);
    }
  }
}

std::int64_t CustomGraph::path_count(std::uint32_t a, std::uint32_t b) const {
  return std::min<std::int64_t>(way_to(b).paths[a], kMostCustomPaths);
}

// Path number `rank` of all shortest ones, in the order of arcs: each arc leads to as many as the switch behind it has.
void CustomGraph::append_path(std::uint32_t a, std::uint32_t b, std::int64_t index, std::vector<std::uint32_t>& out) const {
  const Way& way = way_to(b);
  std::int64_t rank = index * std::int64_t{way.paths[a]} / path_count(a, b);
  while (a != b) {
    for (const Arc& arc : arcs_[a]) {
      if (way.distance[arc.to] + 1 != way.distance[a]) continue;
      if (rank < way.paths[arc.to]) {
        out.push_back(arc.link);
        a = arc.to;
        break;
      }
      rank -= way.paths[arc.to];
    }
  }
}

}  // namespace lockstep
