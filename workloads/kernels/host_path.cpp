// SPDX-License-Identifier: Apache-2.0
#include "workloads/kernels/host_path.h"

#include <algorithm>

#include "topology/hardware/server_spec.h"

namespace lockstep {
namespace {

constexpr double kStreamShare = 0.8;
constexpr double kChannelsPerGpu = 2 * 8 / 8.0;
constexpr double kDdr4Channel = 25.6e9;  // byte/s, 3200 MT/s of 8 bytes
constexpr double kDdr5Channel = 38.4e9;  // 4800 MT/s

double default_memory(GpuGeneration generation) {
  switch (generation) {
    case GpuGeneration::kVolta:
    case GpuGeneration::kTuring:
    case GpuGeneration::kAmpere:
      return kChannelsPerGpu * kDdr4Channel * kStreamShare;
    case GpuGeneration::kAda:
    case GpuGeneration::kHopper:
    case GpuGeneration::kBlackwell:
    case GpuGeneration::kCdna3:
      break;
  }
  return kChannelsPerGpu * kDdr5Channel * kStreamShare;
}

}  // namespace

HostPath host_path_of(const ServerSpec& server) {
  const double slot = server.gpu.pcie.payload.bytes_per_second();
  HostPath path{.link_bytes_per_s = slot, .memory_bytes_per_s = default_memory(server.gpu.generation)};
  if (!server.pcie) return path;
  const double gpus = server.gpus;
  const int switches = server.pcie->sockets * server.pcie->switches_per_socket;
  const double uplink = server.pcie->uplink ? server.pcie->uplink->payload.bytes_per_second() : slot;
  if (switches > 0) path.link_bytes_per_s = std::min(slot, uplink * switches / gpus);
  if (const auto& memory = server.pcie->host_memory) {
    path.memory_bytes_per_s = memory->payload.bytes_per_second() * server.pcie->sockets / gpus;
  }
  return path;
}

}  // namespace lockstep
