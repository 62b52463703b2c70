// SPDX-License-Identifier: Apache-2.0
// From the words of a published nccl-tests table to a cluster, by one rule that knows no table, source or site:
//
//   server   the GPU's name, and where a GPU is sold in several forms (SXM, PCIe, bridged pairs, DGX-2) the words for the form
//   nodes    n_nodes; GPUs of an NVL72 fill racks equally, which are the servers; the first n_gpus / n_nodes GPUs of each server take part
//   network  transport word (TCPXO, TCPX, EFA, RoCE, InfiniBand, TCP), then NICsxGBPS; a NIC count or rate that is not written comes from
//            the cloud machine that is named, else from the server that is sold with so many NICs, else there is no cluster. An adapter
//            that speaks both (ConnectX) without a transport is RoCE. GPUDirect unless it is denied. One server needs none.
//   fabric   non-blocking; SHARP in the words: switches that reduce
//   algorithm  the one that is named (ring, tree; NVLS off means ring), else what the library would choose
//
// Words are matched without case, at their boundaries ("8xH100", "A100-SXM4-40GB"). A table is refused only where the GPU or the network is
// described nowhere. Not read: software versions, dates, notes.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/config_library.h"
#include "topology/cluster_spec.h"
#include "workloads/collectives/algorithm.h"

namespace lockstep {

struct TableColumns {
  std::string table;
  std::string gpu_type;
  std::string intra_fabric;
  std::string inter_fabric;
  std::int64_t gpus = 0;
  std::int64_t nodes = 0;          // 0: blank
  std::int64_t gpus_per_node = 0;  // 0: blank
};

struct TableCluster {
  std::string refusal;  // why there is no cluster; then the rest is empty
  std::string server;   // name of a shipped server
  bool without_bridge = false;
  int servers = 1;
  int gpus_per_server = 0;  // that take part
  std::string network;      // "ib-8x400"; empty on one server
  bool without_gpudirect = false;
  bool reduces_in_network = false;
  Algorithm algorithm = Algorithm::kAuto;

  [[nodiscard]] std::string name() const;  // "2 x dgx-h100, ib-8x400"
};

[[nodiscard]] TableCluster describe_table(const TableColumns& columns);

// PRE: not refused. Errors (a shipped file that is missing, a rate out of range) go to the diagnostics.
[[nodiscard]] std::optional<ClusterSpec> cluster_of(const TableCluster& table, const ConfigLibrary& library, Diagnostics& d);

}  // namespace lockstep
