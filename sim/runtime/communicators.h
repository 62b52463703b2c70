// SPDX-License-Identifier: Apache-2.0
// The communicators of a running program: members and ring shape (computed on first use), and who has arrived at the collective
// that is being assembled. A member cannot arrive at the next collective before it has finished this one, so one is open at
// a time.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "topology/routing/router.h"
#include "workloads/collectives/ring.h"
#include "workloads/program.h"

namespace lockstep {

struct Communicator {
  std::vector<Rank> members;
  RingShape shape;
  Rate closed_rate;  // undisturbed rate of a member on the closed ring, and on the open chain
  Rate open_rate;
  std::size_t tuning = 0;  // index into the tunings: one node, two, more

  // The collective being assembled or under way.
  Op op;
  std::uint32_t arrived = 0;
  Stream stream = Stream::kCompute;  // of the first to arrive
};

class Communicators {
 public:
  // tunings: for one node, two nodes, more.
  Communicators(const Program& program, std::span<const EndpointId> placement, const Router& router,
                const std::array<CollectiveTuning, 3>& tunings);

  // Builds members and shape on first use.
  [[nodiscard]] Communicator& at(CommId id);
  // How to run `op` on `comm`. PRE: more than one member; op.collective is a ring collective.
  [[nodiscard]] LoweredCollective lower(const Communicator& comm, const Op& op) const;
  [[nodiscard]] const CollectiveTuning& single_node_tuning() const { return tunings_[0]; }

 private:
  void build(CommId id, Communicator& comm) const;

  const Program* program_;
  std::span<const EndpointId> placement_;
  const Router* router_;
  std::array<CollectiveTuning, 3> tunings_;
  std::vector<Communicator> communicators_;
};

}  // namespace lockstep
