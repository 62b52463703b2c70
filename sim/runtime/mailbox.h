// SPDX-License-Identifier: Apache-2.0
// Point-to-point channels of a running program: one per (sender, receiver, direction), with its cached route and how many messages
// have arrived and been received. Messages of a channel are matched in order.
#pragma once

#include <cstdint>
#include <deque>
#include <span>
#include <unordered_map>

#include "base/hash.h"
#include "topology/routing/router.h"
#include "workloads/collectives/ring.h"
#include "workloads/program.h"

namespace lockstep {

struct Channel {
  Rank from;
  Rank to;
  Stream send_stream = Stream::kPpSendNext;
  Route route;
  bool is_local = false;  // both ends on one node
  std::int64_t arrived = 0;
  std::int64_t received = 0;
  bool receiver_waits = false;
};

[[nodiscard]] constexpr Stream receiving_end(Stream send) {
  return send == Stream::kPpSendNext ? Stream::kPpRecvPrev : Stream::kPpRecvNext;
}
[[nodiscard]] constexpr Stream sending_end(Stream receive) {
  return receive == Stream::kPpRecvPrev ? Stream::kPpSendNext : Stream::kPpSendPrev;
}

class Mailbox {
 public:
  Mailbox(std::span<const EndpointId> placement, const Router& router) : placement_(placement), router_(&router) {}

  // Index of the channel; created on first use.
  [[nodiscard]] std::uint32_t channel(Rank from, Rank to, Stream send_stream) {
    const std::uint64_t key = hash_words({from.value(), to.value(), static_cast<std::uint64_t>(send_stream)});
    const auto [it, is_new] = index_.try_emplace(key, static_cast<std::uint32_t>(channels_.size()));
    if (is_new) {
      Channel& c = channels_.emplace_back();
      c.from = from;
      c.to = to;
      c.send_stream = send_stream;
      const EndpointId a = placement_[from.index()];
      const EndpointId b = placement_[to.index()];
      c.is_local = router_->network().node_of(a) == router_->network().node_of(b);
      router_->add({.from = a, .to = b}, key, c.route);
      Router::finish(c.route);
      make_whole_sharer(c.route);
    }
    return it->second;
  }
  [[nodiscard]] Channel& operator[](std::uint32_t i) { return channels_[i]; }

 private:
  std::span<const EndpointId> placement_;
  const Router* router_;
  std::deque<Channel> channels_;  // routes must not move while transfers use them
  std::unordered_map<std::uint64_t, std::uint32_t> index_;
};

}  // namespace lockstep
