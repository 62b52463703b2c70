// SPDX-License-Identifier: Apache-2.0
// Constants of a collective library (kind: tuning): what its protocols cost on links of each sort, the same for all GPUs, and what differs
// by generation of GPU and by transport. The form is that of the tuner of NCCL (docs/model.md, "Collectives"): time = base + steps x hop +
// bytes / rate. A cluster names a file of them (`tuning`; nccl when absent) and may change single ones. Nothing here
// depends on a message, a table or a site.
//
//   base of a protocol  = its own + launch of the generation
//   hop inside a node   = its own x hop_scale of the generation, in groups on several nodes at least shortest_step
//   hop between nodes   = (its own + message_latency of the network) x hop_scale of the transport
//   fill between nodes  = pipeline_fill of the network x fill_scale of the transport
//   payload rates       = those of GPU, server and network x a share that is 1 unless it was calibrated, at most the data-sheet rate
#pragma once

#include <string>
#include <vector>

#include "base/quantity.h"
#include "topology/hardware/gpu_spec.h"
#include "topology/hardware/network_spec.h"

namespace lockstep {

struct ProtocolTuning {
  Duration base;                          // per collective
  Duration nvlink_hop;                    // per step inside a node, over NVLink or xGMI
  Duration pcie_hop;                      // per step inside a node, over PCIe
  Duration network_hop;                   // per step between nodes, the fabric's own latency not included
  std::optional<Duration> shortest_step;  // of a step inside a node in a group on several nodes, where proxies set the pace
  double rate_factor = 1;                 // payload share of the link rate
  std::optional<double> rate_factor_one_node;  // the same of groups on one node, where it differs
};

struct AlgorithmTuning {
  ProtocolTuning ll;
  ProtocolTuning ll128;
  ProtocolTuning simple;
};

struct GenerationTuning {
  Duration launch;
  double hop_scale = 1;
  Duration fill;               // of a pipeline of chunks over NVLink or xGMI (workloads/collectives/tuning.h)
  double nvls_share = 1;       // of NVLink that NVLS fills, where the generation has it
  double link_payload = 1;     // of the payload rate of NVLink (xGMI) ports
  double pcie_payload = 1;     // of that of PCIe slots
  std::vector<Rate> ll_limit;  // of groups on one node, two nodes, more
};

// A member for each GpuGeneration.
struct GenerationTunings {
  GenerationTuning volta;
  GenerationTuning turing;
  GenerationTuning ampere;
  GenerationTuning ada;
  GenerationTuning hopper;
  GenerationTuning blackwell;
  GenerationTuning cdna3;
};

// Of what the network states, and for hop_scale also of what the protocols add.
struct TransportTuning {
  double hop_scale = 1;
  double fill_scale = 1;
  double payload = 1;
};

// A member for each Transport.
struct TransportTunings {
  TransportTuning ib;
  TransportTuning roce;
  TransportTuning efa;
  TransportTuning tcp;
};

struct TuningSpec {
  std::string name;
  AlgorithmTuning ring;  // also of exchanges
  AlgorithmTuning tree;
  double tree_inside_share = 1;  // of the links inside a node that a tree whose GPUs receive, reduce and send at once can use
  GenerationTunings generations;
  TransportTunings transports;

  [[nodiscard]] const GenerationTuning& of(GpuGeneration generation) const;
  [[nodiscard]] GenerationTuning& of(GpuGeneration generation);
  [[nodiscard]] const TransportTuning& of(Transport transport) const;
  [[nodiscard]] TransportTuning& of(Transport transport);
};

[[nodiscard]] const FieldTable<TuningSpec>& tuning_fields();

}  // namespace lockstep
