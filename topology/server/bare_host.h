// SPDX-License-Identifier: Apache-2.0
// A host without inside: one endpoint that is its own network port. For studies of a fabric alone.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "topology/link.h"

namespace lockstep {

class BareHost {
 public:
  [[nodiscard]] int endpoints() const { return 1; }
  [[nodiscard]] int nics() const { return 0; }
  [[nodiscard]] std::uint32_t device_count() const { return 1; }
  [[nodiscard]] std::uint32_t link_count() const { return 0; }
  [[nodiscard]] DeviceKind kind(std::uint32_t) const { return DeviceKind::kHost; }
  [[nodiscard]] std::string name(std::uint32_t node, std::uint32_t) const { return "host" + std::to_string(node); }
  void append_links(std::uint32_t, std::vector<Link>&) const {}
  [[nodiscard]] std::uint32_t port_device(int) const { return 0; }
  void append_inside(std::uint32_t, int, int, std::vector<LinkId>&) const {}
  void append_out(std::uint32_t, int, int, std::vector<LinkId>&) const {}
  void append_in(std::uint32_t, int, int, std::vector<LinkId>&) const {}
};

}  // namespace lockstep
