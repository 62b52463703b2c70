// SPDX-License-Identifier: Apache-2.0
// One kind of server (kind: server): which GPUs, how many, and how they reach each other and the NICs. How that becomes devices
// and links is told in topology/server/. The number of NICs belongs to the network, since the same box is sold with different
// ones.
//
//   interconnect: nvswitch | mesh | pcie      what joins the GPUs, besides PCIe
//   mesh: full                            or  mesh: [{gpus: [0, 1], links: 2}, ...]
//   pcie: {sockets: 2, switches_per_socket: 2, inter_socket: {rate: 41.6 GB/s, payload: 22 GB/s}, p2p: true}
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "topology/hardware/gpu_spec.h"

namespace lockstep {

enum class Interconnect : std::uint8_t { kNvSwitch, kMesh, kPcie };

// Parallel links between two GPUs.
struct MeshPair {
  std::vector<int> gpus;
  int links = 1;
};

struct MeshSpec {
  bool is_full = false;         // every two GPUs, with equally many links
  std::vector<MeshPair> pairs;  // otherwise
};

// Between every two sockets, all links of two sockets taken together.
struct InterSocketSpec {
  Rate rate;
  Rate payload;
  Duration latency;
};

// Copies between GPUs over host memory, where they may not read each other's.
struct StagingSpec {
  Rate rate;         // most that a GPU sends, and most that it receives
  Duration latency;  // beyond the links on the way
};

// The PCIe of a server as a tree (topology/server/server_wiring.h).
struct PcieTreeSpec {
  int sockets = 2;
  int switches_per_socket = 2;
  std::optional<PcieSpec> uplink;  // of a switch; that of the GPUs' slots when absent
  std::optional<InterSocketSpec> inter_socket;
  bool p2p = true;
  std::optional<StagingSpec> staging;   // without p2p; the rate of the slots when absent
  Fraction peer_efficiency{1};          // of the PCIe rate, for copies between devices that meet in a root complex
  std::optional<PcieSpec> host_memory;  // of a socket, reading and writing together; no bottleneck when absent
};

struct ServerSpec {
  std::string name;
  GpuSpec gpu;
  int gpus = 8;
  std::optional<Interconnect> interconnect;
  std::optional<MeshSpec> mesh;
  std::optional<Duration> nvlink_latency;  // of one link: GPU to NVSwitch, or GPU to GPU; absent with PCIe alone
  bool nvls = false;                       // the NVSwitch reduces and multicasts
  std::optional<Rate> nvls_limit;          // most bytes of the buffer a second by NVLS, whatever the links
  Duration pcie_latency;  // of one link: GPU or NIC to the PCIe hub, switch or root complex, or switch to root complex
  std::optional<PcieSpec> nic_pcie;  // the slots of the NICs; those of the GPUs when absent
  std::optional<PcieTreeSpec> pcie;  // absent: one non-blocking hub

  // As given, or what the GPU suggests: NVSwitch where it has NVLink, a mesh where it has xGMI, PCIe where it has neither.
  [[nodiscard]] Interconnect joined_by() const;
  // The GPU's ports to other GPUs; none where PCIe alone joins them.
  [[nodiscard]] const NvlinkSpec* gpu_ports() const;
};

[[nodiscard]] const FieldTable<ServerSpec>& server_fields();

}  // namespace lockstep
