// SPDX-License-Identifier: Apache-2.0
// How fast a GPU of a server reaches the memory of its host, and its share of that memory, while all GPUs of the server do the same:
//
//   link    = min(slot of the GPU, uplink of its PCIe switch / GPUs below it)          payload, either way
//   memory  = host memory of a socket x sockets / GPUs                                 reading and writing together
//
// A server that does not say what its sockets read and write (pcie.host_memory) has the memory of the DGX of its GPU's time: two sockets
// with eight channels each for eight GPUs, DDR4-3200 up to Ampere (DGX A100: EPYC 7742) and DDR5-4800 from Ada and Hopper on (DGX H100:
// Xeon 8480C), of it 80 %, which STREAM reaches (McCalpin). 41 and 61 GB/s a GPU.
// Not modelled: the coherent link and the LPDDR5X of Grace (a PCIe slot and a share of a DGX are assumed), memory of the other socket.
#pragma once

#include "workloads/kernels/roofline.h"

namespace lockstep {

struct ServerSpec;

[[nodiscard]] HostPath host_path_of(const ServerSpec& server);

}  // namespace lockstep
