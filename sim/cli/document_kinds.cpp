// SPDX-License-Identifier: Apache-2.0
#include "sim/cli/document_kinds.h"

#include "topology/cluster_spec.h"

namespace lockstep::cli {

std::vector<DocumentKind> document_kinds() {
  return {
      document_kind("where a job runs: servers, network, fabric, price", &cluster_fields),
      document_kind("a server: GPUs and how they are wired", &server_fields),
      document_kind("a GPU: peaks, memory, NVLink, efficiency", &gpu_fields),
      document_kind("a transport with its NICs", &network_fields),
  };
}

}  // namespace lockstep::cli
