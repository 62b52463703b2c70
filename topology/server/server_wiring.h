// SPDX-License-Identifier: Apache-2.0
// Draws up servers link by link: GPUs joined by direct links (NVLink bridges, NVLink and xGMI meshes) or by an NVSwitch, and
// below them a tree of PCIe.
//
//   GPU, NIC -- slot --> PCIe switch -- uplink --> root complex of a socket -- inter-socket link --> every other root complex
//
// GPUs are dealt out to sockets and switches in equal blocks by number; without switches GPUs and NICs sit on the root
// complexes, and without a tree on one non-blocking hub. NIC i of k sits where the first GPU sits that it is the nearest NIC
// of, GPU g's being NIC floor(g k / gpus), or, with more NICs than GPUs, where the GPU sits that owns it.
//
// Paths. GPU to GPU: over the direct links of the two, else through the NVSwitch, else through PCIe by the shortest way: up to
// the first switch or root complex above both and down. Without peer-to-peer access a copy is staged in host memory: up to the
// root complex of the sender, over to that of the receiver if it is another, and down, even when one switch is above both. GPU
// to NIC: through the switch or root complex both sit on; to a NIC elsewhere over a direct link or the NVSwitch to a GPU beside
// the NIC, as NCCL forwards (PXN), where there is such a link, else through PCIe by the shortest way. When the NIC may not read
// GPU memory: over the root complexes. What is staged is written to and read from the memory of the socket of the GPU that sends, or that a
// NIC serves, where that memory is modelled:
//
//   GPU > switch > root complex > memory > root complex > switch > NIC
//
// Source: the trees of nvidia-smi topo -m and of NCCL's topology files; NCCL takes the same ways (path types PIX, PXB, PHB,
// SYS, and shared memory without P2P). NOT modelled: bandwidth of the root complex itself (it is non-blocking), NVLink forwarding over
// a third GPU, more than one link between two sockets but as one link of their sum, caches that keep staged data from memory (DDIO).
#pragma once

#include <optional>
#include <vector>

#include "topology/server/wired_server.h"

namespace lockstep {

// `links` parallel cables between two GPUs.
struct MeshCable {
  int a = 0;
  int b = 0;
  int links = 1;
};

struct PcieTree {
  int sockets = 1;
  int switches_per_socket = 0;  // 0: everything on the root complexes
  Wire uplink = {};             // of a switch
  Wire inter_socket = {};       // between every two root complexes
};

struct ServerParts {
  int gpus = 1;
  int nics = 0;
  std::optional<Wire> nvswitch;  // the port of a GPU
  std::vector<MeshCable> mesh;
  Wire mesh_link = {};  // one link of a cable
  LinkTier mesh_tier = LinkTier::kNvlink;
  std::optional<PcieTree> tree;  // absent: one hub
  Wire gpu_slot = {};
  Wire nic_slot = {};
  bool has_p2p = true;          // GPUs read each other's memory over PCIe
  Duration staging_latency;     // of a copy over host memory, beyond the links on its way
  bool nics_reach_gpus = true;  // GPUDirect RDMA
  // Of each socket, one way: all that is staged is written once and read once. Absent: no bottleneck.
  std::optional<Wire> host_memory;
};

// PRE: counts are positive where a count must be; mesh cables join different GPUs of the server, no pair twice.
[[nodiscard]] WiredServer wire_server(const ServerParts& parts);

}  // namespace lockstep
