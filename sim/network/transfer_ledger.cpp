// SPDX-License-Identifier: Apache-2.0
#include "sim/network/transfer_ledger.h"

#include <algorithm>
#include <numeric>

namespace lockstep {
TransferLedger::TransferLedger(std::span<const Rate> capacities) : meters_(capacities.size()) {
  for (std::size_t l = 0; l < capacities.size(); ++l) meters_[l].capacity = capacities[l].units();
}

TransferId TransferLedger::open(const TransferSpec& spec) {
  LOCKSTEP_CHECK(
      spec.weight > 0 && spec.bytes >= 0 && spec.members > 0 && spec.latency >= Duration{} && spec.rate_cap.units() >= 0,
      "transfer {}: weight {}, bytes {}, members {}, latency {} ps, cap {}", spec.token, spec.weight, spec.bytes, spec.members,
      spec.latency.picos(), spec.rate_cap.units());
  if (denominator_ % spec.weight != 0) include_weight(spec.weight);
  TransferId id;
  if (free_.empty()) {
    id = TransferId::from_index(specs_.size());
    specs_.push_back(spec);
  } else {
    id = free_.back();
    free_.pop_back();
    specs_[id.index()] = spec;
    if (id.index() < moved_.size()) moved_[id.index()] = 0;
  }
  ++started_;
  promised_ += checked_mul(spec.members, spec.bytes);
  return id;
}

void TransferLedger::reroute(TransferId id, const NewRoute& route, Int128 left) {
  TransferSpec& spec = specs_[id.index()];
  if (moved_.size() <= id.index()) moved_.resize(id.index() + 1, 0);
  // Rounded down to whole bytes: the rest counts on the new way.
  const Int128 rest = ceil_div(left * spec.weight, static_cast<Int128>(Rate::kUnitsPerBytePerSecond) * kPicosPerSecond);
  const std::int64_t total = std::max<std::int64_t>(spec.bytes - narrow_int64(std::min<Int128>(rest, spec.bytes)), moved(id));
  count(id, spec.shares, total - moved(id));
  moved_[id.index()] = total;
  spec.shares = route.shares;
  spec.alone = route.alone;
}

void TransferLedger::include_weight(std::int64_t weight) {
  const std::int64_t factor = weight / std::gcd(weight, denominator_);
  for (Meter& m : meters_) m.bytes = scaled(m.bytes, factor);
  denominator_ = checked_mul(denominator_, factor);
}

Int128 TransferLedger::scaled(Int128 a, std::int64_t factor) {
  // WHY not __builtin_mul_overflow: clang calls a function for it that libgcc does not have.
  constexpr Int128 kMost = ~(Int128{1} << 127);
  LOCKSTEP_CHECK(a >> 64 == 0 || a <= kMost / factor, "bytes of a link leave 128 bits");
  return a * factor;
}

void TransferLedger::set_capacity(LinkId link, std::int64_t capacity, Instant now) {
  Meter& m = meters_[link.index()];
  if (m.capacity == capacity) return;
  m.advance(now);
  m.earlier_s = m.busy_s();
  m.used = 0;
  m.capacity = capacity;
  ++capacity_changes_;
}

double TransferLedger::Meter::busy_s() const {
  if (used == 0) return earlier_s;  // also where the capacity is 0
  constexpr auto kPicos = static_cast<double>(kPicosPerSecond);
  return earlier_s + static_cast<double>(used) / static_cast<double>(capacity) / kPicos;
}

LinkUsage TransferLedger::usage(LinkId link, Instant now) const {
  Meter m = meters_[link.index()];
  m.advance(now);
  return {narrow_int64(m.bytes / denominator_), m.busy_s()};
}

Completion TransferLedger::deliver(TransferId id) {
  const TransferSpec& spec = specs_[id.index()];
  const std::int64_t bytes = spec.members * spec.bytes;
  ++ended_;
  delivered_ += bytes;
  free_.push_back(id);
  return {spec.token, bytes};
}

void TransferLedger::save(Instant now, LedgerTotals& out) const {
  out.links.clear();
  out.links.reserve(meters_.size());
  for (Meter m : meters_) {
    m.advance(now);
    out.links.push_back({m.bytes, m.used});
  }
  out.started = started_;
  out.ended = ended_;
  out.promised = promised_;
  out.delivered = delivered_;
  out.denominator = denominator_;
  out.capacity_changes = capacity_changes_;
}

void TransferLedger::repeat(const NetworkCheckpoint& then, const NetworkCheckpoint& now, std::int64_t times) {
  const auto more = [times](auto& total, auto before, auto after) {
    const Int128 growth = scaled(static_cast<Int128>(after - before), times);
    total = static_cast<std::remove_reference_t<decltype(total)>>(total + growth);
  };
  const LedgerTotals& a = then.totals;
  const LedgerTotals& b = now.totals;
  for (std::size_t l = 0; l < meters_.size(); ++l) {
    Meter& m = meters_[l];
    m.advance(now.at);
    more(m.bytes, a.links[l].bytes, b.links[l].bytes);
    more(m.used, a.links[l].used, b.links[l].used);
    m.since = now.at + (now.at - then.at) * times;
  }
  more(started_, a.started, b.started);
  more(ended_, a.ended, b.ended);
  more(promised_, a.promised, b.promised);
  more(delivered_, a.delivered, b.delivered);
}

void TransferLedger::check_finished(Instant now, const std::string& pending) const {
  if (in_flight() != 0) {
    throw SimulationError(
        fmt::format("{} of {} transfers have not ended at {} ps: {}", in_flight(), started_, now.picos(), pending));
  }
  if (promised_ != delivered_) throw SimulationError(fmt::format("not all bytes arrived by {} ps", now.picos()));
}

}  // namespace lockstep
