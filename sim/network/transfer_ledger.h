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
  explicit TransferLedger(std::size_t links) : bytes_(links, 0) {}

  // Checks the specification and promises its bytes.
  TransferId open(const TransferSpec& spec);
  // The transfer has ended: counts its bytes and returns what to tell the caller.
  Completion close(TransferId id);
  // Fault injection for tests: the transfer vanishes without being delivered.
  void lose(TransferId id) { free_.push_back(id); }

  [[nodiscard]] const TransferSpec& spec(TransferId id) const { return specs_[id.index()]; }
  [[nodiscard]] std::size_t slot_count() const { return specs_.size(); }
  [[nodiscard]] std::int64_t in_flight() const { return started_ - ended_; }
  [[nodiscard]] std::int64_t bytes_over(LinkId link) const { return bytes_[link.index()]; }
  // Throws SimulationError unless all that started has ended and all bytes arrived. `pending` describes what is left.
  void check_finished(Instant now, const std::string& pending) const;

 private:
  std::vector<TransferSpec> specs_;
  std::vector<TransferId> free_;
  std::vector<std::int64_t> bytes_;  // by link
  std::int64_t started_ = 0;
  std::int64_t ended_ = 0;
  Int128 promised_ = 0;
  Int128 delivered_ = 0;
};

}  // namespace lockstep
