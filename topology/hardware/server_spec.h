// SPDX-License-Identifier: Apache-2.0
// One kind of server (kind: server): which GPUs, how many, and how they reach each other and the NICs. How that becomes devices and
// links is told in topology/server/. The number of NICs belongs to the network, since the same box is sold with different ones.
#pragma once

#include <optional>
#include <string>

#include "topology/hardware/gpu_spec.h"

namespace lockstep {

struct ServerSpec {
  std::string name;
  GpuSpec gpu;
  int gpus = 8;
  Duration nvlink_latency;           // of one link: GPU to NVSwitch
  Duration pcie_latency;             // of one link: GPU or NIC to the PCIe hub
  std::optional<PcieSpec> nic_pcie;  // the slots of the NICs; those of the GPUs when absent
};

[[nodiscard]] const FieldTable<ServerSpec>& server_fields();

}  // namespace lockstep
