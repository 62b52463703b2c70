// SPDX-License-Identifier: Apache-2.0
// The network of the yardstick: infinite bandwidth, zero latency. A transfer ends one picosecond after it began. The step time on it is
// what the GPUs and the schedule alone would need; effective GPUs and effective price compare with it.
#pragma once

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "sim/engine/later.h"
#include "sim/network/network_model.h"

namespace lockstep {

class IdealNetwork final : public NetworkModel {
 public:
  void start(Instant now, const TransferSpec& spec) override {
    started_at_ = now;
    started_.push_back({.token = spec.token, .bytes = checked_mul(spec.bytes, spec.members)});
  }
  void set_capacity(Instant, LinkId, Rate) override {}
  void reroute(Instant, const RouteOfToken&, std::vector<std::uint64_t>&) override {}
  void advance(Instant now, std::vector<Completion>& out) override {
    if (now < due_) return;
    out.insert(out.end(), due_now_.begin(), due_now_.end());
    due_now_.clear();
    due_ = Instant::never();
  }
  void settle(Instant now) override {
    if (started_.empty()) return;
    LOCKSTEP_CHECK(due_now_.empty() && started_at_ == now, "transfers of two instants in one batch");
    due_now_.swap(started_);
    due_ = later(now, Duration::picos(1));
  }
  [[nodiscard]] Instant next_event() const override { return due_; }
  [[nodiscard]] std::int64_t in_flight() const override { return static_cast<std::int64_t>(started_.size() + due_now_.size()); }
  [[nodiscard]] LinkUsage usage(LinkId, Instant) const override { return {}; }
  [[nodiscard]] std::string describe_pending(const LinkNames& = number_of) const override { return {}; }
  void save(Instant now, NetworkCheckpoint& out) const override {
    LOCKSTEP_CHECK(started_.empty(), "a checkpoint before settle() at {} ps", now.picos());
    out = {.at = now, .pending = {}, .totals = {}};
    for (const Completion& c : due_now_) out.pending.push_back({.token = c.token, .left = (due_ - now).picos()});
    std::sort(out.pending.begin(), out.pending.end(), [](const auto& a, const auto& b) { return a.token < b.token; });
  }
  void repeat(const NetworkCheckpoint& then, const NetworkCheckpoint& now, std::int64_t times) override {
    if (!due_.is_never()) due_ = due_ + (now.at - then.at) * times;
  }
  void finish(Instant) const override {
    LOCKSTEP_CHECK(in_flight() == 0, "{} transfers are pending on the ideal network", in_flight());
  }

 private:
  std::vector<Completion> started_;  // at started_at_, not settled yet
  std::vector<Completion> due_now_;  // end at due_
  Instant started_at_;
  Instant due_ = Instant::never();
};

}  // namespace lockstep
