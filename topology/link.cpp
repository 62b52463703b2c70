// SPDX-License-Identifier: Apache-2.0
#include "topology/link.h"

namespace lockstep {

std::string_view to_text(LinkTier tier) {
  switch (tier) {
    case LinkTier::kNvlink:
      return "nvlink";
    case LinkTier::kXgmi:
      return "xgmi";
    case LinkTier::kPcie:
      return "pcie";
    case LinkTier::kInterSocket:
      return "inter-socket";
    case LinkTier::kHostMemory:
      return "host-memory";
    case LinkTier::kHost:
      return "host";
    case LinkTier::kLeafSpine:
      return "leaf-spine";
    case LinkTier::kSpineCore:
      return "spine-core";
    case LinkTier::kLocal:
      return "local";
    case LinkTier::kGlobal:
      return "global";
    case LinkTier::kSwitch:
      return "switch";
  }
  LOCKSTEP_CHECK(false, "unknown link tier {}", static_cast<int>(tier));
}

std::string_view to_text(DeviceKind kind) {
  switch (kind) {
    case DeviceKind::kGpu:
      return "gpu";
    case DeviceKind::kHost:
      return "host";
    case DeviceKind::kNvSwitch:
      return "nvswitch";
    case DeviceKind::kPcieHub:
      return "pcie";
    case DeviceKind::kPcieSwitch:
      return "pcie-switch";
    case DeviceKind::kRootComplex:
      return "root-complex";
    case DeviceKind::kHostMemory:
      return "host-memory";
    case DeviceKind::kNic:
      return "nic";
    case DeviceKind::kLeaf:
      return "leaf";
    case DeviceKind::kSpine:
      return "spine";
    case DeviceKind::kCore:
      return "core";
    case DeviceKind::kSwitch:
      return "switch";
  }
  LOCKSTEP_CHECK(false, "unknown device kind {}", static_cast<int>(kind));
}

}  // namespace lockstep
