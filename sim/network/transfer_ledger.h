// SPDX-License-Identifier: Apache-2.0
// Transfers in flight and the bookkeeping that every model owes: bytes promised and delivered, per transfer and per link.
// Slots are recycled; nothing allocates once the arrays have reached their working size.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/network/network_model.h"

namespace lockstep {

using TransferId = Id<struct TransferTag>;

class TransferLedger {
 public:
  explicit TransferLedger(std::size_t links) : meters_(links) {}

  // Checks the specification and promises its bytes.
  TransferId open(const TransferSpec& spec);
  // The transfer has ended: counts its bytes and returns what to tell the caller.
  Completion close(TransferId id);
  // Fault injection for tests: the transfer vanishes without being delivered.
  void lose(TransferId id) { free_.push_back(id); }

  [[nodiscard]] const TransferSpec& spec(TransferId id) const { return specs_[id.index()]; }
  [[nodiscard]] std::size_t slot_count() const { return specs_.size(); }
  [[nodiscard]] std::int64_t in_flight() const { return started_ - ended_; }
  // From now on the link is in use to this part of its capacity.
  void set_utilization(LinkId link, double utilization, Instant now) {
    Meter& m = meters_[link.index()];
    m.busy_s += m.utilization * (now - m.since).seconds();
    m.utilization = utilization;
    m.since = now;
  }
  void add_busy_time(LinkId link, double seconds) { meters_[link.index()].busy_s += seconds; }
  [[nodiscard]] LinkUsage usage(LinkId link, Instant now) const {
    const Meter& m = meters_[link.index()];
    return {m.bytes, m.busy_s + m.utilization * (now - m.since).seconds()};
  }
  [[nodiscard]] std::size_t link_count() const { return meters_.size(); }
  // Throws SimulationError unless all that started has ended and all bytes arrived. `pending` describes what is left.
  void check_finished(Instant now, const std::string& pending) const;

 private:
  struct Meter {
    std::int64_t bytes = 0;
    double busy_s = 0;       // up to `since`
    double utilization = 0;  // rate / capacity from then on
    Instant since;
  };

  std::vector<TransferSpec> specs_;
  std::vector<TransferId> free_;
  std::vector<Meter> meters_;  // by link
  std::int64_t started_ = 0;
  std::int64_t ended_ = 0;
  Int128 promised_ = 0;
  Int128 delivered_ = 0;
};

}  // namespace lockstep
