// SPDX-License-Identifier: Apache-2.0
// Transfers in flight and the bookkeeping that every model owes: bytes promised and delivered, per transfer and per link.
//
//   bytes of a link  = floor(sum over ended transfers of coefficient x bytes x (D / weight) / D),   D = lcm of all weights so far
//   seconds of use   = sum over spans of constant capacity of (integral of load over time) / capacity
//
// Both sums are 128-bit integers, so they are linear to the last bit: a transfer with n times the coefficients counts as n transfers,
// however often rates were read in between. Only usage() rounds. Slots are recycled; nothing allocates once the arrays have reached
// their working size.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "sim/network/network_model.h"

namespace lockstep {

using TransferId = Id<struct TransferTag>;

class TransferLedger {
 public:
  // capacities by link.
  explicit TransferLedger(std::span<const Rate> capacities);

  // Checks the specification and promises its bytes.
  TransferId open(const TransferSpec& spec);
  // The transfer has ended: counts its bytes and returns what to tell the caller.
  Completion close(TransferId id) { return close(id, specs_[id.index()].shares); }
  // The same with its links given by whoever has them at hand: a range of {link, coefficient}; links beyond link_count() are
  // rate caps and carry nothing.
  template <class Shares>
  Completion close(TransferId id, const Shares& shares) {
    count(id, shares, specs_[id.index()].bytes - moved(id));
    return deliver(id);
  }
  // The transfer goes on by another way, when a member has `left` (GroupClocks::work_of) to do: what it has moved counts on the old one.
  void reroute(TransferId id, const NewRoute& route, Int128 left);
  // Bytes of a member that went by earlier ways.
  [[nodiscard]] std::int64_t moved(TransferId id) const { return id.index() < moved_.size() ? moved_[id.index()] : 0; }
  // Fault injection for tests: the transfer vanishes without being delivered.
  void lose(TransferId id) { free_.push_back(id); }

  [[nodiscard]] const TransferSpec& spec(TransferId id) const { return specs_[id.index()]; }
  [[nodiscard]] std::size_t slot_count() const { return specs_.size(); }
  [[nodiscard]] std::int64_t in_flight() const { return started_ - ended_; }
  [[nodiscard]] std::int64_t capacity(LinkId link) const { return meters_[link.index()].capacity; }
  // From now on the link has this capacity. What was used so far counts against the old one.
  void set_capacity(LinkId link, std::int64_t capacity, Instant now);
  // From now on the transfers on the link move at `load` together.
  void set_load(LinkId link, std::int64_t load, Instant now) {
    Meter& m = meters_[link.index()];
    m.advance(now);
    m.load = load;
  }
  // Something moved at `load` for this long. Without contention the load may exceed the capacity, many times where one transfer
  // stands for many.
  void add_load(LinkId link, Int128 load, Duration time) { meters_[link.index()].add(load, time); }
  [[nodiscard]] LinkUsage usage(LinkId link, Instant now) const;
  [[nodiscard]] std::size_t link_count() const { return meters_.size(); }
  // See NetworkModel::repeat().
  void save(Instant now, LedgerTotals& out) const;
  void repeat(const NetworkCheckpoint& then, const NetworkCheckpoint& now, std::int64_t times);
  // Throws SimulationError unless all that started has ended and all bytes arrived. `pending` describes what is left.
  void check_finished(Instant now, const std::string& pending) const;

 private:
  // a x factor, refusing to overflow. PRE: a >= 0, factor > 0.
  static Int128 scaled(Int128 a, std::int64_t factor);
  // One cache line: an event touches all of it.
  struct alignas(64) Meter {
    Int128 bytes = 0;  // times denominator_
    Int128 used = 0;   // integral of the load up to `since`, in units of 2^-16 byte/s x ps, at this capacity
    std::int64_t load = 0;
    std::int64_t capacity = 0;
    Instant since;
    double earlier_s = 0;  // seconds of full use at earlier capacities

    void add(Int128 rate, Duration time) {
      if (time == Duration{}) return;
      const Int128 part = scaled(rate, time.picos());
      LOCKSTEP_CHECK(!__builtin_add_overflow(used, part, &used), "the use of a link leaves 128 bits");
    }
    void advance(Instant now) {
      add(load, now - since);
      since = now;
    }
    [[nodiscard]] double busy_s() const;
  };

  static void add_bytes(Meter& m, std::int64_t coefficient, std::int64_t bytes, std::int64_t scale) {
    Int128 part = static_cast<Int128>(coefficient) * bytes;
    if (scale != 1) part = scaled(part, scale);
    LOCKSTEP_CHECK(!__builtin_add_overflow(m.bytes, part, &m.bytes), "bytes of a link leave 128 bits");
  }
  template <class Shares>
  void count(TransferId id, const Shares& shares, std::int64_t bytes) {
    const std::int64_t scale = denominator_ / specs_[id.index()].weight;
    for (const auto& s : shares) {
      if (s.link.index() < meters_.size()) add_bytes(meters_[s.link.index()], s.coefficient, bytes, scale);
    }
  }
  void include_weight(std::int64_t weight);
  Completion deliver(TransferId id);

  std::vector<TransferSpec> specs_;
  std::vector<TransferId> free_;
  std::vector<std::int64_t> moved_;  // by transfer; empty until one is rerouted
  std::vector<Meter> meters_;        // by link
  std::int64_t denominator_ = 1;     // a multiple of all weights so far
  std::int64_t capacity_changes_ = 0;
  std::int64_t started_ = 0;
  std::int64_t ended_ = 0;
  Int128 promised_ = 0;
  Int128 delivered_ = 0;
};

}  // namespace lockstep
