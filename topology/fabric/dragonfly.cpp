// SPDX-License-Identifier: Apache-2.0
#include "topology/fabric/dragonfly.h"

#include <utility>

#include "base/check.h"

namespace lockstep {
namespace {

// Number of the pair (low, high) among all pairs of n, in the order (0, 1), (0, 2), ... PRE: low < high < n.
std::uint32_t pair_number(std::uint32_t low, std::uint32_t high, std::uint32_t n) {
  return low * (2 * n - low - 1) / 2 + high - low - 1;
}

}  // namespace

Dragonfly::Dragonfly(const Size& size, const Wire& local, const Wire& global)
    : groups_(static_cast<std::uint32_t>(size.groups)),
      routers_(static_cast<std::uint32_t>(size.routers_per_group)),
      global_cables_(static_cast<std::uint32_t>(size.global_cables)),
      local_(local),
      global_(global) {
  LOCKSTEP_CHECK(size.groups > 0 && size.routers_per_group > 0 && size.global_cables > 0,
                 "a dragonfly of {} groups of {} routers with {} global cables", size.groups, size.routers_per_group,
                 size.global_cables);
}

std::string Dragonfly::name(std::uint32_t s) const { return fmt::format("group{}.router{}", s / routers_, s % routers_); }

std::uint32_t Dragonfly::gateway(std::uint32_t group, std::uint32_t peer, std::uint32_t c) const {
  const std::uint32_t round = (peer + groups_ - group) % groups_ - 1;
  return (round * global_cables_ + c) % routers_;
}

std::uint32_t Dragonfly::local_link(std::uint32_t group, std::uint32_t from, std::uint32_t to) const {
  const auto [low, high] = std::minmax(from, to);
  return 2 * (group * (routers_ * (routers_ - 1) / 2) + pair_number(low, high, routers_)) + (from > to ? 1 : 0);
}

std::uint32_t Dragonfly::global_link(std::uint32_t from, std::uint32_t to, std::uint32_t c) const {
  const auto [low, high] = std::minmax(from, to);
  return 2 * (local_cables() + pair_number(low, high, groups_) * global_cables_ + c) + (from > to ? 1 : 0);
}

std::vector<SwitchCable> Dragonfly::cables() const {
  std::vector<SwitchCable> out;
  for (std::uint32_t g = 0; g < groups_; ++g) {
    for (std::uint32_t r = 0; r < routers_; ++r) {
      for (std::uint32_t s = r + 1; s < routers_; ++s) out.push_back({g * routers_ + r, g * routers_ + s, 0});
    }
  }
  for (std::uint32_t i = 0; i < groups_; ++i) {
    for (std::uint32_t j = i + 1; j < groups_; ++j) {
      for (std::uint32_t c = 0; c < global_cables_; ++c) {
        out.push_back({i * routers_ + gateway(i, j, c), j * routers_ + gateway(j, i, c), 1});
      }
    }
  }
  return out;
}

std::vector<CableSort> Dragonfly::sorts() const { return {{local_, LinkTier::kLocal}, {global_, LinkTier::kGlobal}}; }

std::int64_t Dragonfly::path_count(std::uint32_t a, std::uint32_t b) const {
  return a / routers_ == b / routers_ ? 1 : global_cables_;
}

void Dragonfly::append_path(std::uint32_t a, std::uint32_t b, std::int64_t index, std::vector<std::uint32_t>& out) const {
  const std::uint32_t from = a / routers_;
  const std::uint32_t to = b / routers_;
  const auto local = [&](std::uint32_t group, std::uint32_t r, std::uint32_t s) {
    if (r != s) out.push_back(local_link(group, r, s));
  };
  if (from == to) return local(from, a % routers_, b % routers_);
  const auto c = static_cast<std::uint32_t>(index);
  local(from, a % routers_, gateway(from, to, c));
  out.push_back(global_link(from, to, c));
  local(to, gateway(to, from, c), b % routers_);
}

}  // namespace lockstep
