// SPDX-License-Identifier: Apache-2.0
// A host without inside: one endpoint that is its own network port. For studies of a fabric alone.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "topology/link.h"

namespace lockstep {

class BareHost {
 public:
  using NoLinks = std::array<std::uint32_t, 0>;

  [[nodiscard]] int endpoints() const { return 1; }
  [[nodiscard]] int nics() const { return 0; }
  [[nodiscard]] std::uint32_t device_count() const { return 1; }
  [[nodiscard]] std::uint32_t link_count() const { return 0; }
  [[nodiscard]] DeviceKind kind(std::uint32_t) const { return DeviceKind::kHost; }
  [[nodiscard]] std::string name(std::uint32_t node, std::uint32_t) const { return "host" + std::to_string(node); }
  [[nodiscard]] std::vector<Link> links() const { return {}; }
  [[nodiscard]] std::vector<std::uint32_t> port_devices() const { return {0}; }
  [[nodiscard]] NoLinks path_inside(int, int) const { return {}; }
  [[nodiscard]] NoLinks path_out(int, int) const { return {}; }
  [[nodiscard]] NoLinks path_in(int, int) const { return {}; }
  [[nodiscard]] Duration inside_latency(int, int) const { return {}; }
  [[nodiscard]] Duration port_latency(int, int) const { return {}; }
  [[nodiscard]] LinkTier inside_tier(int, int) const { return LinkTier::kHost; }
  [[nodiscard]] int direct_links(int, int) const { return 0; }
};

}  // namespace lockstep
