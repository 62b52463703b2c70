// SPDX-License-Identifier: Apache-2.0
#include "topology/builder.h"

#include <limits>

#include "base/check.h"

namespace lockstep {
namespace {

struct Block {
  std::uint32_t devices = 0;
  std::uint32_t links = 0;
  std::uint32_t ports = 0;
};

Block node_block(const Server& server) {
  return std::visit(
      [](const auto& s) {
        const bool is_port = std::is_same_v<std::decay_t<decltype(s)>, BareHost>;
        return Block{s.device_count(), s.link_count(), is_port ? 1u : static_cast<std::uint32_t>(s.nics())};
      },
      server);
}

}  // namespace

Network NetworkBuilder::build() const {
  const Block block = node_block(plan_.server);
  const std::uint64_t node_devices = std::uint64_t{plan_.nodes} * block.devices;
  const std::uint64_t node_links = std::uint64_t{plan_.nodes} * block.links;
  LOCKSTEP_CHECK(
      node_devices < std::numeric_limits<std::uint32_t>::max() && node_links < std::numeric_limits<std::uint32_t>::max(),
      "{} nodes need wider ids", plan_.nodes);
  const FoldedClos fabric(plan_.fabric, plan_.nodes, block.ports, static_cast<std::uint32_t>(node_devices),
                          static_cast<std::uint32_t>(node_links));
  Network network(plan_.server, fabric, plan_.nodes);
  network.links_.reserve(node_links + fabric.link_count());
  std::visit(
      [&](const auto& server) {
        for (std::uint32_t n = 0; n < plan_.nodes; ++n) server.append_links(n * block.devices, network.links_);
        fabric.append_links(
            [&](std::uint32_t n, std::uint32_t p) {
              return DeviceId(n * block.devices + server.port_device(static_cast<int>(p)));
            },
            network.links_);
      },
      plan_.server);
  LOCKSTEP_CHECK(network.links_.size() == node_links + fabric.link_count(), "{} links built, {} + {} numbered",
                 network.links_.size(), node_links, fabric.link_count());
  index_rows(network, node_devices + fabric.device_count());
  return network;
}

// Counting sort of the links by where they start.
void NetworkBuilder::index_rows(Network& network, std::size_t devices) {
  std::vector<std::uint32_t>& start = network.row_start_;
  start.assign(devices + 1, 0);
  for (const Link& l : network.links_) ++start[l.from.index() + 1];
  for (std::size_t d = 0; d < devices; ++d) start[d + 1] += start[d];
  network.row_.resize(network.links_.size());
  std::vector<std::uint32_t> next(start.begin(), start.end() - 1);
  for (std::size_t i = 0; i < network.links_.size(); ++i) {
    network.row_[next[network.links_[i].from.index()]++] = LinkId::from_index(i);
  }
}

}  // namespace lockstep
