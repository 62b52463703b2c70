// SPDX-License-Identifier: Apache-2.0
#include "sim/runtime/communicators.h"

#include <algorithm>

namespace lockstep {

Communicators::Communicators(const Program& program, std::span<const EndpointId> placement, const Router& router,
                             const std::array<CollectiveTuning, 3>& tunings)
    : program_(&program),
      placement_(placement),
      router_(&router),
      tunings_(tunings),
      communicators_(program.communicator_count()) {}

Communicator& Communicators::at(CommId id) {
  LOCKSTEP_CHECK(id.index() < communicators_.size(), "communicator {} of {}", id.value(), communicators_.size());
  Communicator& comm = communicators_[id.index()];
  if (comm.members.empty()) build(id, comm);
  return comm;
}

void Communicators::build(CommId id, Communicator& comm) const {
  program_->members(id, comm.members);
  LOCKSTEP_CHECK(!comm.members.empty(), "communicator {} has no members", id.value());
  if (comm.members.size() == 1) return;
  std::vector<EndpointId> endpoints;
  endpoints.reserve(comm.members.size());
  for (const Rank r : comm.members) endpoints.push_back(placement_[r.index()]);
  comm.shape = shape_ring(*router_, endpoints, id.value());
  comm.closed_rate = undisturbed_rate(router_->network(), comm.shape.closed, comm.shape.weight);
  comm.open_rate = undisturbed_rate(router_->network(), comm.shape.open, comm.shape.weight);
  comm.tuning = static_cast<std::size_t>(std::clamp(comm.shape.nodes, 1, 3) - 1);
}

LoweredCollective Communicators::lower(const Communicator& comm, const Op& op) const {
  const bool is_chain = op.collective == CollectiveKind::kBroadcast || op.collective == CollectiveKind::kReduce;
  return lower_ring(comm.shape, tunings_[comm.tuning], op.collective, op.bytes, is_chain ? comm.open_rate : comm.closed_rate);
}

}  // namespace lockstep
