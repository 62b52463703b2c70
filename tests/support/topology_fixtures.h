// SPDX-License-Identifier: Apache-2.0
// Small networks for tests, with round rates so that expected numbers can be read off.
#pragma once

#include "topology/network.h"

namespace lockstep::test {

inline const Wire kUnitWire = Wire::pure(Rate::gbps(100), Duration::micros(1));

// Bare hosts: 4 per leaf, 3 leaves, `spines` spines, `cables` cables from each leaf to each spine.
inline Network leaf_spine(int spines, int cables = 1) {
  return Network(
      {.nodes = 12,
       .server = BareHost{},
       .fabric = {
           .nodes_per_leaf = 4, .spines = spines, .leaf_spine_cables = cables, .host = kUnitWire, .leaf_spine = kUnitWire}});
}

// Bare hosts: 2 per leaf, 2 leaves and 3 spines a pod, 3 pods, 5 cores per spine group.
inline Network three_tiers(int leaf_cables = 1, int core_cables = 1) {
  return Network({.nodes = 12,
                  .server = BareHost{},
                  .fabric = {.nodes_per_leaf = 2,
                             .leaves_per_pod = 2,
                             .spines = 3,
                             .cores_per_spine = 5,
                             .leaf_spine_cables = leaf_cables,
                             .spine_core_cables = core_cables,
                             .host = kUnitWire,
                             .leaf_spine = kUnitWire,
                             .spine_core = kUnitWire}});
}

// NVSwitch boxes, 2 per leaf: NVLink 400 GB/s, PCIe 50 GB/s, NIC 100 Gbit/s.
inline Network boxes(std::uint32_t nodes, int gpus, int nics, int spines = 2) {
  const Wire nvlink = Wire::pure(Rate::bytes_per_second(400e9), Duration::nanos(500));
  const Wire pcie = Wire::pure(Rate::bytes_per_second(50e9), Duration::nanos(300));
  return Network({.nodes = nodes,
                  .server = NvSwitchServer({.gpus = gpus, .nics = nics, .nvlink = nvlink, .gpu_pcie = pcie, .nic_pcie = pcie}),
                  .fabric = {.nodes_per_leaf = 2, .spines = spines, .host = kUnitWire, .leaf_spine = kUnitWire}});
}

inline const FoldedClos& clos(const Network& net) { return std::get<FoldedClos>(net.fabric()); }

inline Hop hop(std::uint32_t from, std::uint32_t to) { return {.from = EndpointId(from), .to = EndpointId(to)}; }

inline std::vector<Link> all_links(const Network& net) {
  std::vector<Link> links;
  for (std::size_t i = 0; i < net.link_count(); ++i) links.push_back(net.link(LinkId::from_index(i)));
  return links;
}

// The links of path `index` from source to destination.
inline std::vector<LinkId> path_links(const Network& net, const Hop& h, std::int64_t index = 0) {
  std::vector<LinkShare> shares;
  net.append_path(h, index, 1, shares);
  std::vector<LinkId> links;
  for (const LinkShare& s : shares) links.push_back(s.link);
  return links;
}

inline std::vector<std::string> path_names(const Network& net, const Hop& h, std::int64_t index = 0) {
  std::vector<std::string> names;
  for (const LinkId l : path_links(net, h, index)) names.push_back(net.name(l));
  return names;
}

}  // namespace lockstep::test
