// SPDX-License-Identifier: Apache-2.0
// A DGX/HGX-like box. GPUs meet in one non-blocking NVSwitch (all planes taken together: one link each way per GPU at the
// GPU's whole usable NVLink rate) and reach the NICs through PCIe (one link each way per GPU and per NIC, meeting in one hub).
//
//   inside a node   gpu > nvswitch > gpu
//   to the fabric   gpu > pcie > nic, the NIC as asked; the nearest NIC of GPU g is g*nics/gpus
//
// NOT modelled: which PCIe switch or socket a GPU hangs on (the hub is non-blocking), single NVLink planes.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "topology/link.h"

namespace lockstep {

class NvSwitchServer {
 public:
  using TwoLinks = std::array<std::uint32_t, 2>;
  struct Parts {
    int gpus = 8;
    int nics = 8;  // 0: a box on its own
    Wire nvlink = {};
    Wire gpu_pcie = {};
    Wire nic_pcie = {};
  };
  explicit NvSwitchServer(const Parts& parts);

  [[nodiscard]] int endpoints() const { return parts_.gpus; }
  [[nodiscard]] int nics() const { return parts_.nics; }
  [[nodiscard]] std::uint32_t device_count() const { return gpus() + 2 + ports(); }
  [[nodiscard]] std::uint32_t link_count() const { return 4 * gpus() + 2 * ports(); }
  [[nodiscard]] DeviceKind kind(std::uint32_t local) const;
  [[nodiscard]] std::string name(std::uint32_t node, std::uint32_t local) const;
  [[nodiscard]] std::vector<Link> links() const;
  [[nodiscard]] std::vector<std::uint32_t> port_devices() const;
  [[nodiscard]] TwoLinks path_inside(int from, int to) const { return {nvlink(from), nvlink(to) + 1}; }
  [[nodiscard]] TwoLinks path_out(int gpu, int port) const { return {gpu_slot(gpu), nic_slot(port)}; }
  [[nodiscard]] TwoLinks path_in(int port, int gpu) const { return {nic_slot(port) + 1, gpu_slot(gpu) + 1}; }
  [[nodiscard]] Duration inside_latency(int, int) const { return parts_.nvlink.latency * 2; }
  [[nodiscard]] Duration port_latency(int, int) const { return parts_.gpu_pcie.latency + parts_.nic_pcie.latency; }
  [[nodiscard]] LinkTier inside_tier(int, int) const { return LinkTier::kNvlink; }
  [[nodiscard]] int direct_links(int, int) const { return 0; }

 private:
  // Local devices: GPUs, NVSwitch, PCIe hub, NICs. Local links, in pairs (towards the switch or NIC first): GPU-NVSwitch,
  // GPU-hub, hub-NIC.
  [[nodiscard]] std::uint32_t gpus() const { return static_cast<std::uint32_t>(parts_.gpus); }
  [[nodiscard]] std::uint32_t ports() const { return static_cast<std::uint32_t>(parts_.nics); }
  [[nodiscard]] std::uint32_t nvlink(int gpu) const { return 2 * static_cast<std::uint32_t>(gpu); }
  [[nodiscard]] std::uint32_t gpu_slot(int gpu) const { return 2 * (gpus() + static_cast<std::uint32_t>(gpu)); }
  [[nodiscard]] std::uint32_t nic_slot(int port) const { return 2 * (2 * gpus() + static_cast<std::uint32_t>(port)); }
  Parts parts_;
};

}  // namespace lockstep
