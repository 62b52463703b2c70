// SPDX-License-Identifier: Apache-2.0
#include "sim/cli/document_kinds.h"

#include "topology/cluster_spec.h"

namespace lockstep::cli {

std::vector<DocumentKind> document_kinds() {
  return {
      document_kind("a cluster: servers, network and fabric", &cluster_fields),
      document_kind("a server: GPUs, NVLink, PCIe and NIC slots", &server_fields),
      document_kind("a GPU: compute peaks, memory, NVLink", &gpu_fields),
      document_kind("a network: NICs per node and the transport over them", &network_fields),
  };
}

}  // namespace lockstep::cli
