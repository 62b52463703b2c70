// SPDX-License-Identifier: Apache-2.0
// The fluid model of a network: transfers in flight share every link max-min fairly (max_min/max_min_solver.h), consume nothing
// during their latency, and end exactly when their bytes have moved (group_clocks.h).
//
//   start -- latency --> level from the solver, work on the clock of its group --> completion
//
// Everything that happens at one instant is one batch: settle() re-solves once. Cost: start and end of a transfer O(its links),
// plus the entities whose level changes around it. Audit: loads within capacities and fairness on the touched links after every
// solve, delivered bytes and empty books at the end.
// Not modelled: queues, loss, congestion control, bursts; that is the packet model's.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "sim/network/delay_queue.h"
#include "sim/network/group_clocks.h"
#include "sim/network/max_min/max_min_solver.h"
#include "sim/network/network_model.h"
#include "sim/network/transfer_ledger.h"

namespace lockstep {

// Ways to break the model on purpose: tests prove with them that the audit notices.
enum class FlowFault : std::uint8_t { kNone, kExcessRate, kDropCompletion, kLoseWakeup };

struct FlowOptions {
  max_min::Strategy strategy = max_min::Strategy::kAuto;
  max_min::AuditScope audit = max_min::kDefaultAuditScope;
  FlowFault fault = FlowFault::kNone;
  std::int64_t fault_at = 0;  // the first settle (kDropCompletion: completion) with this index or a later one that can be hit
};

class FlowNetwork final : public NetworkModel {
 public:
  // capacities by link; link_capacities(network) gives them.
  explicit FlowNetwork(std::span<const Rate> capacities, FlowOptions options = {});

  void start(Instant now, const TransferSpec& spec) override;
  void set_capacity(Instant now, LinkId link, Rate capacity) override;
  void reroute(Instant now, const RouteOfToken& route_of, std::vector<std::uint64_t>& moved) override;
  void advance(Instant now, std::vector<Completion>& out) override;
  void settle(Instant now) override;
  [[nodiscard]] Instant next_event() const override;
  [[nodiscard]] std::int64_t in_flight() const override { return ledger_.in_flight(); }
  [[nodiscard]] LinkUsage usage(LinkId link, Instant now) const override;
  [[nodiscard]] std::string describe_pending(const LinkNames& name = number_of) const override;
  void save(Instant now, NetworkCheckpoint& out) const override;
  void repeat(const NetworkCheckpoint& then, const NetworkCheckpoint& now, std::int64_t times) override;
  void finish(Instant now) const override;

  [[nodiscard]] const max_min::SolveCounts& solve_counts() const { return solver_.counts(); }
  // Sum of the rates on a link now, after settle().
  [[nodiscard]] Rate load(LinkId link) const { return Rate::units(solver_.load(link)); }

 private:
  using EntityId = max_min::EntityId;
  enum class Phase : std::uint8_t { kLatency, kMoving, kUnlimited };

  struct State {
    Phase phase = Phase::kLatency;
    EntityId entity;
    LinkId private_link;
  };
  void begin(TransferId id, Instant now);
  [[nodiscard]] bool drops_completion();
  void take_entity(TransferId id);
  void add_entity(TransferId id);
  [[nodiscard]] Int128 work_to_do(TransferId id) const;
  void follow_changes(Instant now);
  void inject_fault();
  void expect_settled_before(Instant now);

  FlowOptions options_;
  max_min::MaxMinSolver solver_;
  GroupClocks clocks_;
  TransferLedger ledger_;
  DelayQueue delays_;
  std::vector<State> states_;            // by transfer
  std::vector<TransferId> transfer_of_;  // by entity
  std::vector<Int128> left_;             // by transfer: work after it was rerouted, 0: never was; empty until one is
  Instant batch_;                        // of the changes not yet settled
  std::int64_t completions_ = 0;
  std::int64_t faults_injected_ = 0;
};

}  // namespace lockstep
