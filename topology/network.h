// SPDX-License-Identifier: Apache-2.0
// WHERE things are: an immutable directed graph of devices and links in flat arrays, with the structure needed to compute
// equal-cost paths without storing any per-pair state. Knows no clock and no job.
//
// Endpoints are what sends and receives: GPUs, or bare hosts in a fabric without servers. They are numbered node by node.
// A node is a server; racks group the nodes that share their first-tier switch, pods the racks that share a second tier.
// A link is one direction of a cable. `capacity` is the payload rate a stream can reach (after protocol overhead).
//
// Memory: O(devices + links). Not modelled here: anything that changes with time.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/time.h"
#include "base/units.h"

namespace lockstep {

using DeviceId = Id<struct DeviceTag>;
using LinkId = Id<struct LinkTag>;
using EndpointId = Id<struct EndpointTag>;
using NodeId = Id<struct NodeTag>;
using NicId = Id<struct NicTag>;

enum class DeviceKind : std::uint8_t { kGpu, kHost, kNvSwitch, kPcieHub, kNic, kLeaf, kSpine, kCore };
// kHost: NIC or bare host to leaf. kLeafSpine, kSpineCore: both directions.
enum class LinkTier : std::uint8_t { kNvlink, kPcie, kHost, kLeafSpine, kSpineCore };
inline constexpr int kLinkTierCount = 5;
[[nodiscard]] std::string_view to_text(LinkTier tier);    // "nvlink", "pcie", "host", "leaf-spine", "spine-core"
[[nodiscard]] std::string_view to_text(DeviceKind kind);  // "gpu", "host", "nvswitch", ...

struct Link {
  DeviceId from;
  DeviceId to;
  Rate capacity;      // payload
  Rate nominal;       // data-sheet rate of the link
  Duration latency;
  LinkTier tier = LinkTier::kHost;
};

// How a transfer leaves and enters: the NIC to use on either side, as an index within the node, or kNearestNic.
struct Hop {
  static constexpr int kNearestNic = -1;
  EndpointId from;
  EndpointId to;
  int from_nic = kNearestNic;
  int to_nic = kNearestNic;
};

class NetworkBuilder;
struct FabricShape;  // parameters of the folded Clos (topology/fabric)

class Network {
 public:
  [[nodiscard]] std::span<const Link> links() const;
  [[nodiscard]] const Link& link(LinkId id) const;
  [[nodiscard]] std::size_t device_count() const;
  [[nodiscard]] DeviceKind kind(DeviceId id) const;
  [[nodiscard]] std::span<const LinkId> links_from(DeviceId id) const;  // CSR row
  [[nodiscard]] std::string name(DeviceId id) const;                    // "node3.gpu1", "leaf0", computed on demand
  [[nodiscard]] std::string name(LinkId id) const;                      // "node3.nic1>leaf0"

  [[nodiscard]] std::size_t endpoint_count() const;
  [[nodiscard]] std::size_t node_count() const;
  [[nodiscard]] std::size_t rack_count() const;
  [[nodiscard]] std::size_t pod_count() const;
  [[nodiscard]] int endpoints_per_node() const;
  [[nodiscard]] int nics_per_node() const;  // 0 for bare hosts, whose only link is their NIC
  [[nodiscard]] DeviceId device_of(EndpointId e) const;
  [[nodiscard]] NodeId node_of(EndpointId e) const;
  [[nodiscard]] std::uint32_t rack_of(NodeId n) const;
  [[nodiscard]] std::uint32_t pod_of(NodeId n) const;
  [[nodiscard]] int nearest_nic(EndpointId e) const;  // index within the node

  // Equal-cost paths, by structure. 1 inside a node or under one leaf. Order: spine-major as drawn (path i of a leaf-spine
  // with single cables runs over spine i).
  [[nodiscard]] std::int64_t path_count(const Hop& hop) const;
  // Appends the links of path `index` (taken modulo path_count) from source to destination.
  // PRE: hop.from != hop.to. POST: at least one link appended. Throws UserError when the two are not connected.
  void append_path(const Hop& hop, std::int64_t index, std::vector<LinkId>& out) const;

 private:
  friend class NetworkBuilder;
  // (members belong to the implementation in topology/network.cpp)
};

}  // namespace lockstep
