// SPDX-License-Identifier: Apache-2.0
// Constants of the algorithms that let switches add up and multicast (NVLS, CollNet), and of PAT. Latencies and shares are those of NCCL's
// tuner (v2.30.7, src/graph/tuning.cc); what is measured stands in the file of the library's constants (nvls_share) or says so. A default one costs nothing and bounds nothing.
//
// Units: rates in bytes/s; a share is of the payload rate of links.
#pragma once

#include <cstdint>
#include <span>

#include "base/time.h"
#include "base/units.h"

namespace lockstep {

enum class GpuGeneration : std::uint8_t;  // topology/hardware/gpu_spec.h
struct TuningSpec;                        // topology/hardware/tuning_spec.h

struct NvlsTuning {
  Duration base;                  // one pass through the NVSwitch
  Duration tree_hop;              // nvls_tree: per step between nodes, the fabric's own latency not included
  Duration reduction_hop;         // nvls on several nodes: up to the reducing switches and back
  double link_share = 1;          // of NVLink that NVLS fills
  double tree_network_share = 1;  // of the links between more than two nodes, where a GPU serves parent and children
  Rate limit;                     // most bytes of the buffer a second (ServerSpec::nvls_limit); 0: none
  Rate tree_channel_limit;        // bus bandwidth of a channel of nvls_tree; 0: none
  // How the tuner sees NVLS on one node beside a ring: see nvls_beats_ring(). No speeds: always.
  double tuner_share = 1;
  std::span<const double> search_speeds;  // of a channel, GB/s, falling
  double search_split = 0;                // channels at least this fast are split in two
};

// NCCL's choice between NVLS and a ring on one node of n GPUs with an NVLink payload of `nvlink` each does not look at the bytes that NVLS
// saves but at what its graph search finds: every GPU heads a channel (at most 32 do), all send on all of them, so a channel gets the
// first of the listed speeds of which a port can carry heads + 1. Bandwidth as the tuner reckons, with c channels:
//
//     2 x share x (c-1)/c x heads x speed    against the port's payload for a ring
[[nodiscard]] bool nvls_beats_ring(const NvlsTuning& tuning, int gpus, Rate nvlink);

struct CollnetTuning {
  Duration direct_network;   // up to the reducing switches and back
  Duration direct_inside;    // there and back: once for the links, and
  Duration direct_per_peer;  // for every other GPU of the node
  Duration chain_network;
  Duration chain_hop;
  double direct_inside_share = 1;  // of the links inside a node
};

struct PatTuning {
  Duration base;
  Duration per_rank;
  Duration nvlink_hop;  // per step
  Duration pcie_hop;
  Duration network_hop;
  double share = 1;  // of the links' rate
};

struct SwitchTuning {
  NvlsTuning nvls;
  CollnetTuning collnet;
  PatTuning pat;
  // What a transport's software adds to every message between nodes, and `scale` of the sum.
  void add_network_latency(Duration latency, double scale);
};
// `nodes`: one, two, more.
[[nodiscard]] SwitchTuning switch_tuning_for(const TuningSpec& spec, GpuGeneration generation, int nodes);

}  // namespace lockstep
