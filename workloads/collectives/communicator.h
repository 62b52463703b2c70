// SPDX-License-Identifier: Apache-2.0
// What the algorithms of one communicator need to know of it, and the choice among them.
//
// The least undisturbed time decides what is left open (algorithm, protocol): the sum over stages of latency + bytes / undisturbed rate, as
// NCCL's tuner decides, among the algorithms that NCCL would consider (eligibility.h; on one node NVLS by nvls_beats_ring()). Of equally fast ones the first in the order of `Algorithm`, then of `Protocol`. Contention plays no part in the choice.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "workloads/collectives/eligibility.h"
#include "workloads/collectives/halving_doubling.h"
#include "workloads/collectives/hierarchical.h"
#include "workloads/collectives/in_switch.h"
#include "workloads/collectives/pairs.h"
#include "workloads/collectives/pat.h"
#include "workloads/collectives/ring.h"
#include "workloads/collectives/tree.h"

namespace lockstep {

// Kinds whose algorithm is a choice; all_to_all and send_recv are messages between pairs.
inline constexpr CollectiveKind kStagedKinds[] = {CollectiveKind::kAllReduce, CollectiveKind::kAllGather,
                                                  CollectiveKind::kReduceScatter, CollectiveKind::kBroadcast,
                                                  CollectiveKind::kReduce};

// Shapes of what is not a ring. Many communicators have equal ones, most have none.
struct AlgorithmShapes {
  std::optional<TreeShape> tree;
  std::optional<HierarchicalShape> hierarchical;
  std::optional<HalvingDoublingShape> halving_doubling;
  std::optional<PatShape> pat;
  std::optional<PairsShape> pairs;
  std::vector<InSwitchShape> in_switch;  // one for an algorithm and a kind
  [[nodiscard]] const InSwitchShape* find(Algorithm a, CollectiveKind kind) const;
  bool operator==(const AlgorithmShapes&) const = default;
  [[nodiscard]] std::uint64_t hash() const;  // of equal shapes equal
};

struct CommunicatorShape {
  RingShape ring;    // always there; its routes are empty where no ring is used
  Rate closed_rate;  // undisturbed rate of a member of the ring, and of the open chain; 0 where it is not used
  Rate open_rate;
  AlgorithmShapes others;
};

struct ShapeRequest {
  std::span<const EndpointId> members;  // distinct, at least two
  std::uint32_t kinds = 0;              // bit (1 << kind) for each that runs
  Algorithm algorithm = Algorithm::kRing;
  std::uint64_t channel_key = 0;  // tells communicators apart for ECMP hashing
  int channels = 0;               // of rings and trees; 0: as shape_ring() and channel_count() say
  MeshRings* rings = nullptr;     // remembers the rings of meshes between calls for one network
  TokenRouting routing = {};      // of what all_to_all sends
};
// Shapes what `algorithm` may use for `kinds`, and only that: itself where it applies, a ring where it does not, all of NCCL's that
// apply for kAuto.
// Appends the routes of all its forms.
[[nodiscard]] CommunicatorShape shape_communicator(const Router& router, const ShapeRequest& request,
                                                   std::vector<FormRoute>& routes);
// Requests of equal needs on equal members give equal shapes.
[[nodiscard]] std::uint32_t needs_of(std::uint32_t kinds, Algorithm algorithm);

// Whether a collective of this kind can run by `a` as shaped.
[[nodiscard]] bool is_usable(const AlgorithmShapes& others, Algorithm a, CollectiveKind kind);

struct LoweringRequest {
  const RingShape& ring;
  Rate closed_rate;
  Rate open_rate;
  const AlgorithmShapes& others;
  std::span<const CollectiveTuning, 3> tunings;  // groups on one node, two nodes, more
  CollectiveKind kind;
  std::int64_t bytes = 0;  // the larger per-rank buffer
  Algorithm algorithm = Algorithm::kRing;
  const Protocol* protocol = nullptr;  // none: any
};
// PRE: shaped for this kind and algorithm. `out` is overwritten; its memory is used again.
void lower_collective(const LoweringRequest& request, LoweredCollective& out);

// What the choice was among, for explanations.
struct Candidate {
  Algorithm algorithm = Algorithm::kRing;
  Protocol protocol = Protocol::kSimple;
  int channels = 0;
  double latency_s = 0;     // sum over stages
  double transfer_s = 0;    // bytes / undisturbed rate
  std::string exclusion;    // why the choice leaves it out; empty: it may be chosen
  bool is_possible = true;  // else the figures mean nothing
};
// One for every protocol of an algorithm that can do the kind, one for an algorithm that cannot, in the order of kAlgorithms. PRE: as for
// lower_collective().
[[nodiscard]] std::vector<Candidate> candidates_of(const LoweringRequest& request, const MemberFacts& facts);

}  // namespace lockstep
