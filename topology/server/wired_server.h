// SPDX-License-Identifier: Apache-2.0
// A server given link by link: whatever no formula covers, such as GPUs that are cabled to each other and trees of PCIe
// switches (server_wiring.h draws them up). The paths between every two GPUs and between every GPU and port are listed
// beforehand; a port's path to a GPU is that of the GPU to the port, walked back.
//
// Memory: one short list per pair, so it is for servers of at most kMostWiredGpus GPUs; path and latency of a pair cost O(1) to
// find.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/rows.h"
#include "topology/link.h"

namespace lockstep {

class WiredServer {
 public:
  static constexpr int kMostWiredGpus = 128;
  using Path = std::span<const std::uint32_t>;

  struct Device {
    DeviceKind kind = DeviceKind::kGpu;
    std::string name;  // "gpu0"
  };
  // Device numbers are local. Links come in pairs: 2k and 2k+1 are the two directions of a cable.
  struct Plan {
    int gpus = 1;
    int nics = 0;
    std::vector<Device> devices;  // the GPUs first, the NICs last
    std::vector<Link> links;
    Rows<std::uint32_t> inside;  // row a x gpus + b: the links from GPU a to GPU b; a == b: none
    Rows<std::uint32_t> out;     // row g x nics + p: the links from GPU g to port p
    // Beyond the latencies of the links on it, of every path between two GPUs that goes over host memory.
    std::vector<Duration> extra_latency;  // as rows of inside
    std::vector<int> direct_links;        // as rows of inside
  };
  // Throws InternalError when the paths are not paths of the links.
  explicit WiredServer(Plan plan);

  [[nodiscard]] int endpoints() const { return plan_.gpus; }
  [[nodiscard]] int nics() const { return plan_.nics; }
  [[nodiscard]] std::uint32_t device_count() const { return static_cast<std::uint32_t>(plan_.devices.size()); }
  [[nodiscard]] std::uint32_t link_count() const { return static_cast<std::uint32_t>(plan_.links.size()); }
  [[nodiscard]] DeviceKind kind(std::uint32_t local) const { return plan_.devices[local].kind; }
  [[nodiscard]] std::string name(std::uint32_t node, std::uint32_t local) const;
  [[nodiscard]] std::vector<Link> links() const { return plan_.links; }
  [[nodiscard]] std::vector<std::uint32_t> port_devices() const;
  [[nodiscard]] Path path_inside(int from, int to) const { return plan_.inside[pair(from, to)]; }
  [[nodiscard]] Path path_out(int gpu, int port) const { return plan_.out[at_port(gpu, port)]; }
  [[nodiscard]] Path path_in(int port, int gpu) const { return in_[at_port(gpu, port)]; }
  [[nodiscard]] Duration inside_latency(int from, int to) const { return inside_latency_[pair(from, to)]; }
  [[nodiscard]] Duration port_latency(int gpu, int port) const { return port_latency_[at_port(gpu, port)]; }
  [[nodiscard]] LinkTier inside_tier(int from, int to) const { return inside_tier_[pair(from, to)]; }
  [[nodiscard]] int direct_links(int from, int to) const { return plan_.direct_links[pair(from, to)]; }

 private:
  [[nodiscard]] std::size_t pair(int a, int b) const { return at(a, plan_.gpus, b); }
  [[nodiscard]] std::size_t at_port(int gpu, int port) const { return at(gpu, plan_.nics, port); }
  [[nodiscard]] static std::size_t at(int row, int width, int column) {
    return static_cast<std::size_t>(row) * static_cast<std::size_t>(width) + static_cast<std::size_t>(column);
  }
  [[nodiscard]] Duration latency_of(Path path) const;
  void check_path(Path path, std::uint32_t from, std::uint32_t to) const;

  Plan plan_;
  Rows<std::uint32_t> in_;
  std::vector<Duration> inside_latency_;
  std::vector<Duration> port_latency_;
  std::vector<LinkTier> inside_tier_;
};

}  // namespace lockstep
