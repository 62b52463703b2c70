// SPDX-License-Identifier: Apache-2.0
#include "sim/network/transfer_ledger.h"

namespace lockstep {
namespace {

// coefficient / weight x bytes, rounded down.
std::int64_t bytes_on_link(std::int64_t coefficient, std::int64_t weight, std::int64_t bytes) {
  if (coefficient == weight) return bytes;
  std::int64_t product = 0;
  if (!__builtin_mul_overflow(coefficient, bytes, &product)) return weight == 1 ? product : product / weight;
  return narrow_int64(static_cast<Int128>(coefficient) * bytes / weight);
}

}  // namespace

TransferId TransferLedger::open(const TransferSpec& spec) {
  LOCKSTEP_CHECK(
      spec.weight > 0 && spec.bytes >= 0 && spec.members > 0 && spec.latency >= Duration{} && spec.rate_cap.units() >= 0,
      "transfer {}: weight {}, bytes {}, members {}, latency {} ps, cap {}", spec.token, spec.weight, spec.bytes, spec.members,
      spec.latency.picos(), spec.rate_cap.units());
  TransferId id;
  if (free_.empty()) {
    id = TransferId::from_index(specs_.size());
    specs_.push_back(spec);
  } else {
    id = free_.back();
    free_.pop_back();
    specs_[id.index()] = spec;
  }
  ++started_;
  promised_ += checked_mul(spec.members, spec.bytes);
  return id;
}

Completion TransferLedger::close(TransferId id) {
  const TransferSpec& spec = specs_[id.index()];
  for (const LinkShare& s : spec.shares) {
    std::int64_t& total = meters_[s.link.index()].bytes;
    total = checked_add(total, bytes_on_link(s.coefficient, spec.weight, spec.bytes));
  }
  const std::int64_t bytes = spec.members * spec.bytes;
  ++ended_;
  delivered_ += bytes;
  free_.push_back(id);
  return {spec.token, bytes};
}

void TransferLedger::check_finished(Instant now, const std::string& pending) const {
  if (in_flight() != 0) {
    throw SimulationError(
        fmt::format("{} of {} transfers have not ended at {} ps: {}", in_flight(), started_, now.picos(), pending));
  }
  if (promised_ != delivered_) throw SimulationError(fmt::format("not all bytes arrived by {} ps", now.picos()));
}

}  // namespace lockstep
