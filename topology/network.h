// SPDX-License-Identifier: Apache-2.0
// WHERE things are: an immutable directed graph of devices and links, given by its structure. Links and equal-cost paths are
// computed from ids; no list of the nodes' links and no state per pair of nodes is stored. Knows no clock and no job.
//
// Endpoints are what sends and receives: GPUs, or bare hosts in a fabric without servers. They are numbered node by node.
// A node is a server; racks group the nodes that share their first-tier switches, pods the racks that share a second tier.
//
// Ids: devices and links node by node, then those of the fabric. Link l of node n is link l of every node with its devices
// moved to node n; the fabric inverts its own numbering.
//
// Where nothing joins different rails (Fabric::keeps_rails), the sender changes rails inside its node: over NVLink to the GPU
// next to the NIC of the target's rail, and out through that NIC, whichever it was told to use. NCCL does so since 2.12 and
// calls it PXN. Where spines join the rails it does so as well, if the plan says so, for hops that name no NIC: all but those
// between rails of different units then stay below one leaf. Rings and exchanges name their NICs.
//
// Memory: the links of one node, and what the fabric holds; time to build: the same. Links that differ from their like (degraded,
// failed) are a sorted list that link() looks into; paths then are those that survive (faults/surviving_paths.h), and a GPU whose
// NIC failed uses the next NIC of its node that works. Not modelled here: anything that changes with time; the states that
// a network goes through are networks (faults/fault_states.h).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "topology/fabric/fabric.h"
#include "topology/faults/surviving_paths.h"
#include "topology/link.h"
#include "topology/server/server.h"

namespace lockstep {

// How a transfer leaves and enters: the NIC to use on either side, as an index within the node, or kNearestNic.
struct Hop {
  static constexpr int kNearestNic = -1;
  EndpointId from = {};
  EndpointId to = {};
  int from_nic = kNearestNic;
  int to_nic = kNearestNic;
};

// So many equal servers on a fabric. Cluster files come here through topology/cluster_spec.h; tests and studies of a fabric
// alone fill a plan by hand:
//
//   const Network net({.nodes = 64, .server = BareHost{},
//                      .fabric = {.nodes_per_leaf = 32, .spines = 16, .host = wire, .leaf_spine = wire}});
struct NetworkPlan {
  std::uint32_t nodes = 1;
  Server server = BareHost{};
  FabricShape fabric = {};
  std::optional<GraphShape> graph = {};   // instead of a folded Clos
  bool uses_pxn = false;                  // on a folded Clos wired by rail
  bool has_nvls = false;                  // the NVSwitch adds up and multicasts what its GPUs send
  bool has_in_network_reduction = false;  // and so do the switches of the fabric
};

// A link that is not as it was built.
struct LinkCondition {
  LinkId link;
  Rate capacity;
  Rate nominal;
  bool is_failed = false;   // nothing goes over it, now or later
  std::uint32_t fault = 0;  // why it failed: into the reasons given beside it
  bool is_avoided = false;  // nothing that has another way goes over it
};

class Network {
 public:
  // Throws InternalError on a plan that no fabric can have (no nodes, more than 2^32 - 1 links).
  explicit Network(const NetworkPlan& plan);

  // This network with links that are not as they were built: sorted by link, different ones. reasons: "leaf0>spine1 failed", for
  // messages. `paths`: of the fabric, where links between switches are among them. PRE: it has none yet.
  [[nodiscard]] Network with(std::vector<LinkCondition> conditions, std::vector<std::string> reasons,
                             std::optional<SurvivingPaths> paths) const;
  [[nodiscard]] std::span<const LinkCondition> conditions() const { return conditions_; }
  [[nodiscard]] bool is_failed(LinkId link) const;
  // Sends and receives. PRE: nics_per_node() > 0.
  [[nodiscard]] bool is_nic_up(NodeId node, int nic) const;
  [[nodiscard]] bool has_dead_nics() const { return !dead_nics_.empty(); }

  [[nodiscard]] std::size_t link_count() const { return link_count_; }
  [[nodiscard]] Link link(LinkId id) const;
  [[nodiscard]] std::size_t device_count() const { return std::size_t{nodes_} * node_devices_ + switches_; }
  [[nodiscard]] DeviceKind kind(DeviceId id) const;
  [[nodiscard]] std::string name(DeviceId id) const;  // "node3.gpu1", "leaf0", computed on demand
  // "node3.nic1>leaf0"; parallel cables end in their number: "leaf0>spine1#2".
  [[nodiscard]] std::string name(LinkId id) const;

  [[nodiscard]] std::size_t endpoint_count() const;
  [[nodiscard]] std::size_t node_count() const { return nodes_; }
  [[nodiscard]] std::size_t rack_count() const;
  [[nodiscard]] std::size_t pod_count() const;
  [[nodiscard]] int endpoints_per_node() const { return endpoints_per_node_; }
  [[nodiscard]] int nics_per_node() const { return nics_per_node_; }  // 0 for bare hosts, whose only link is their NIC
  [[nodiscard]] DeviceId device_of(EndpointId e) const;
  // Devices from here on are switches; those before belong to nodes, node by node.
  [[nodiscard]] DeviceId first_switch() const { return DeviceId(nodes_ * node_devices_); }
  [[nodiscard]] LinkId first_fabric_link() const { return LinkId(nodes_ * node_links_); }
  [[nodiscard]] NodeId node_of(EndpointId e) const;
  [[nodiscard]] EndpointId endpoint(NodeId n, int index) const;
  [[nodiscard]] std::uint32_t rack_of(NodeId n) const;
  [[nodiscard]] std::uint32_t pod_of(NodeId n) const;
  [[nodiscard]] int own_nic(EndpointId e) const;      // the nearest NIC as wired (the first of several): index within the node
  [[nodiscard]] int nearest_nic(EndpointId e) const;  // of those that are up: the next one where its own has failed
  // Of two endpoints of one node, and of an endpoint and a NIC of its node (server.h). PRE: not the same endpoint.
  [[nodiscard]] LinkTier inside_tier(EndpointId a, EndpointId b) const;
  [[nodiscard]] int direct_links(EndpointId a, EndpointId b) const;
  [[nodiscard]] std::size_t links_to_nic(EndpointId e, int nic) const;

  // Equal-cost paths, by structure. 1 inside a node or under one leaf, 0 when not connected. Order: spine-major as drawn
  // (path i of a leaf-spine with single cables runs over spine i).
  [[nodiscard]] std::int64_t path_count(const Hop& hop) const;
  // The largest path_count of any hop.
  [[nodiscard]] std::int64_t max_path_count() const;
  // A number that every path_count divides: the largest on a folded Clos.
  [[nodiscard]] std::int64_t spray_weight() const;
  // These append the links that a transfer of `weight` over `hop` loads, and return its latency (of the longest path). PRE:
  // hop.from != hop.to. POST: at least one link appended. Throw UserError when not connected, SimulationError when failed links are
  // why. Allocate only for `out` where no link is failed.
  //
  // Path `index` (>= 0, taken modulo path_count), from source to destination.
  Duration append_path(const Hop& hop, std::int64_t index, std::int64_t weight, std::vector<LinkShare>& out) const;
  // Every link of every equal-cost path once, with its even share. PRE: path_count divides weight. Cost: links, not paths.
  Duration append_spray(const Hop& hop, std::int64_t weight, std::vector<LinkShare>& out) const;
  // Of the links that spray loads alike only the first. Cost on a folded Clos: at most six links, and those inside the two nodes, five each
  // at most.
  Duration append_bundles(const Hop& hop, std::int64_t weight, std::vector<LinkShare>& out) const;

  // What switches can do besides forwarding; collective algorithms ask.
  [[nodiscard]] bool has_nvls() const { return has_nvls_; }
  [[nodiscard]] bool has_in_network_reduction() const { return has_in_network_reduction_; }

  [[nodiscard]] const Server& server() const { return server_; }
  [[nodiscard]] const Fabric& fabric() const { return fabric_; }
  [[nodiscard]] LinkId first_of_bundle(LinkId link) const;

 private:
  // The ports of a hop that leaves its node.
  struct Ends {
    PortPair ports;
    bool changes_rails = false;  // the sender's is not the one it would use
  };
  [[nodiscard]] Ends ends(const Hop& hop) const;
  // Who sends on `nic` for `gpu`: itself if it is next to it or has no NVLink (or xGMI) to the first GPU that is, else that
  // one. All are indices within a node.
  [[nodiscard]] int forwarder_to(int nic, int gpu) const;
  [[nodiscard]] bool stays_inside(const Hop& hop) const { return node_of(hop.from) == node_of(hop.to); }
  // The links inside the nodes; append_fabric(fabric, ports) those between, of which it returns the latency.
  template <class AppendFabric>
  Duration append(const Hop& hop, std::int64_t weight, std::vector<LinkShare>& out, const AppendFabric& append_fabric) const;
  // Throws UserError, or SimulationError where failed links are why. `broken`: one on the way, if known.
  [[noreturn]] void refuse(const Hop& hop, LinkId broken = LinkId::none()) const;
  void append_broken(const Hop& hop, std::vector<LinkId>& out) const;
  [[nodiscard]] const LinkCondition* condition(LinkId link) const;
  void find_dead_nics();
  // The NIC itself, or the next one of the node that is up; itself when none is.
  [[nodiscard]] std::uint32_t working_nic(std::uint32_t node, std::uint32_t nic) const;
  [[nodiscard]] bool is_port_up(const NodePort& p) const;
  [[nodiscard]] int local(EndpointId e) const;

  Server server_;
  Fabric fabric_;
  std::uint32_t nodes_ = 0;
  int endpoints_per_node_ = 1;
  int nics_per_node_ = 0;
  std::uint32_t node_devices_ = 0;
  std::uint32_t node_links_ = 0;
  std::uint32_t switches_ = 0;
  bool has_ports_ = false;
  bool keeps_rails_ = false;
  bool uses_pxn_ = false;
  bool has_nvls_ = false;
  bool has_in_network_reduction_ = false;
  std::size_t link_count_ = 0;
  std::vector<Link> links_of_node_;        // with local devices at their ends
  std::vector<LinkCondition> conditions_;  // by link
  std::vector<std::string> reasons_;
  std::vector<std::uint64_t> dead_nics_;  // node x nics_per_node_ + nic, sorted
  std::optional<SurvivingPaths> paths_;   // none: all of the fabric
  bool has_failed_links_ = false;
};

}  // namespace lockstep
