// SPDX-License-Identifier: Apache-2.0
// A collective as STAGES that run one after another. A stage is one coupled flow: members of equal bytes on one route (a form of the
// communicator), which start together after a latency and move at the pace of the slowest. The next stage starts when all of a stage has
// arrived, so nothing overlaps between stages; what pipelines (rings, trees) is one stage.
#pragma once

#include <cstdint>
#include <vector>

#include "topology/routing/router.h"
#include "workloads/collectives/algorithm.h"
#include "workloads/collectives/tuning.h"

namespace lockstep {

// Which route of a communicator a stage runs on. Exchanges at distance 2^k are kExchange + k, up to k = 30.
enum class RouteForm : std::uint32_t {
  kClosed,     // ring; also the only form of a message
  kOpen,       // ring without the edge back: broadcast, reduce
  kTree,       // double tree, both directions: all_reduce
  kTreeDown,   // from the root: broadcast
  kTreeUp,     // to the root: reduce
  kInside,     // hierarchical: a ring in every node
  kAcross,     // hierarchical: a ring across the nodes for every member of a node
  kFold,       // halving/doubling: excess ranks to their partners
  kUnfold,     // and back
  kExchange,   // halving/doubling and PAT: between ranks 1, 2, 4, ... apart
  kNvls = 40,  // all_reduce through the NVSwitch
  kNvlsGather,
  kNvlsScatter,
  kNvlsTree,
  kCollnetDirect,
  kCollnetChain,
  kPairs,  // all_to_all
};
inline constexpr std::uint32_t kMostRouteForms = 64;
[[nodiscard]] constexpr RouteForm exchange_form(int log2_distance) {
  return static_cast<RouteForm>(static_cast<std::uint32_t>(RouteForm::kExchange) + static_cast<std::uint32_t>(log2_distance));
}

// What the members of a coupled flow have in common, whatever its bytes.
struct FlowShape {
  std::int64_t weight = 1;  // of a member; coefficients of the route are multiples of it
  std::int64_t members = 0;
  Rate rate;                    // of a member, undisturbed
  Rate inside_rate;             // as far as hops inside nodes bound it; 0: there are none
  Duration network_latency;     // of the longest hop between nodes
  bool has_nvlink_hop = false;  // or xGMI
  bool has_pcie_hop = false;    // inside a node
  bool has_network_hop = false;
  bool operator==(const FlowShape&) const = default;
  [[nodiscard]] std::uint64_t hash() const;
  // The longest hop inside a node and the longest of all, by a protocol's table.
  [[nodiscard]] Duration inside_hop(const ProtocolCost& cost) const;
  [[nodiscard]] Duration longest_hop(const ProtocolCost& cost) const;
};

struct FormRoute {
  RouteForm form = RouteForm::kClosed;
  Route route;
};

struct Stage {
  RouteForm form = RouteForm::kClosed;
  std::int64_t weight = 1;
  std::int64_t bytes = 0;  // per member
  std::int64_t members = 0;
  Duration latency;
  Rate rate_cap;  // of a member; 0: none
  Rate rate;      // of a member, undisturbed and not capped
};

struct LoweredCollective {
  Algorithm algorithm = Algorithm::kRing;
  Protocol protocol = Protocol::kSimple;
  int channels = 1;
  std::vector<Stage> stages;
};

// Sum over stages of latency + bytes / rate.
[[nodiscard]] inline double undisturbed_seconds(const LoweredCollective& c) {
  double seconds = 0;
  for (const Stage& s : c.stages) {
    seconds += s.latency.seconds() + static_cast<double>(s.bytes) / lower_of(s.rate, s.rate_cap).bytes_per_second();
  }
  return seconds;
}

// Members of a coupled flow are added hop by hop; finish() makes its route and tells what it is like.
class FlowBuilder {
 public:
  // `key` tells the connections of different communicators and forms apart for ECMP hashing.
  FlowBuilder(const Router& router, std::uint64_t key) : router_(router), key_(key) {}

  void add(const Hop& hop, int channel = 0);
  // A link between a GPU and its NVSwitch that `members` cross.
  void add_nvlink(LinkId link, std::int64_t members);
  // Members between nodes, as the router gave them.
  void add_between(const Route& route, std::int64_t members);
  // Of a member, as far as what was added between nodes bounds it; 0: nothing was.
  [[nodiscard]] Rate between_rate() const;
  // Where members that one GPU (one node, if hops leave it) sends at a time number `crossings`, each has the crossings-th part of a whole
  // sharer's weight: together they count as one on a link, as the channels of a ring do (ring.h).
  FlowShape finish(std::int64_t crossings, Route& out);

 private:
  const Router& router_;
  std::uint64_t key_;
  Route inside_;
  Route between_;  // its latency is that of the longest hop
  bool has_nvlink_hop_ = false;
  bool has_pcie_hop_ = false;
  std::int64_t members_ = 0;
};

}  // namespace lockstep
