// SPDX-License-Identifier: Apache-2.0
// How connections choose among equal-cost paths, as a user states it (keys `routing`, `queue_pairs` and `flowlet_share`); router.h
// says what becomes of it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace lockstep {

enum class RoutingPolicy : std::uint8_t { kEcmp, kSpray, kStatic, kFlowlet, kAdaptive };
[[nodiscard]] std::string_view to_text(RoutingPolicy policy);  // "ecmp", "spray", "static", "flowlet", "adaptive"

inline constexpr int kMostQueuePairs = 128;  // NCCL_IB_QPS_PER_CONNECTION goes from 1 to 128

// WHY half: LetFlow and CONGA find flowlets nearly as good as an even spread for TCP, whose bursts leave gaps; the hardware of RDMA NICs
// paces without gaps, so that flowlets hardly occur (Song et al., ConWeave, SIGCOMM 2023). Nobody has published the share for collectives.
inline constexpr int kDefaultFlowletPercent = 50;

struct Routing {
  RoutingPolicy policy = RoutingPolicy::kEcmp;
  int queue_pairs = 1;                           // of a connection; of policies that hash
  int flowlet_percent = kDefaultFlowletPercent;  // of the bytes of a connection, that follow a gap; of flowlet

  // Whether paths depend on flow keys and the seed.
  [[nodiscard]] bool is_hashed() const { return policy == RoutingPolicy::kEcmp || policy == RoutingPolicy::kFlowlet; }
  // Whether every connection is spread over all paths.
  [[nodiscard]] bool is_spread() const { return policy == RoutingPolicy::kSpray || policy == RoutingPolicy::kAdaptive; }
  bool operator==(const Routing&) const = default;
};
[[nodiscard]] std::string to_text(const Routing& routing);  // "ecmp", "ecmp:4"

}  // namespace lockstep
