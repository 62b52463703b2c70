// SPDX-License-Identifier: Apache-2.0
// No contention: every transfer runs as if it were alone,
//
//   end = start + latency + ceil(bytes / (weight x level)),   level = min over its links of floor(capacity / coefficient)
//
// which is a lower bound for every other model, and what a spreadsheet would say. Members of one transfer do share links with each
// other (that is what coefficients say). A capacity that changes under way counts from that instant on; a changed link scans what is
// in flight. Link usage is added when a transfer ends and may exceed the time that passed: links are not shared here.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "sim/network/delay_queue.h"
#include "sim/network/network_model.h"
#include "sim/network/transfer_ledger.h"

namespace lockstep {

class AnalyticNetwork final : public NetworkModel {
 public:
  // capacities by link; link_capacities(network) gives them.
  explicit AnalyticNetwork(std::span<const Rate> capacities);

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

 private:
  enum class Phase : std::uint8_t { kFree, kLatency, kMoving };
  struct State {
    Phase phase = Phase::kFree;
    Instant end;      // while moving; an entry of the queue with another time is out of date
    Instant since;    // of `work`, `level` and what is metered
    Int128 work = 0;  // left, in level x picoseconds
    std::int64_t level = 0;
  };

  [[nodiscard]] std::int64_t level_alone(const TransferSpec& spec) const;
  void run_on(TransferId id, Instant now);
  // Counts what the transfer has moved since `since`.
  void meter(const TransferSpec& spec, State& state, Instant now);

  TransferLedger ledger_;
  DelayQueue events_;
  std::vector<State> states_;
  std::vector<TransferId> changed_;  // scratch
};

}  // namespace lockstep
