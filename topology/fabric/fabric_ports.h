// SPDX-License-Identifier: Apache-2.0
// Where nodes meet their fabric: what every fabric knows of the nodes, whatever its switches are like.
#pragma once

#include <cstdint>
#include <vector>

namespace lockstep {

// What a fabric has to know of a node, which is the same for all. The ids of a node's devices follow each other, and those of
// its links.
struct NodeBlock {
  std::uint32_t devices = 1;
  std::uint32_t links = 0;
  std::vector<std::uint32_t> ports = {};  // the local device cabled as port p; empty: no network
};

struct NodePort {
  std::uint32_t node = 0;
  std::uint32_t port = 0;
};

// Where a transfer enters and leaves the fabric.
struct PortPair {
  NodePort from;
  NodePort to;
};

}  // namespace lockstep
