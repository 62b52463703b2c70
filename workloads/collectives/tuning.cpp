// SPDX-License-Identifier: Apache-2.0
#include "workloads/collectives/tuning.h"

#include <algorithm>

#include "topology/hardware/gpu_spec.h"

namespace lockstep {
namespace {

// NCCL v2.30.7 src/graph/tuning.cc, ring and tree rows of baseLatencies and hwLatencies, in nanoseconds: base, NVLink, PCIe and network hop.
// AMD's library has tables of its own; NCCL's stand in for xGMI.
struct HopLatency {
  std::int64_t base_ns;
  std::int64_t nvlink_ns;
  std::int64_t pcie_ns;
  std::int64_t network_ns;
};
constexpr std::array<HopLatency, kProtocolCount> kRingLatency = {
    {{6600, 600, 1000, 2700}, {14000, 1900, 2500, 4000}, {8400, 3400, 5700, 14000}}};
constexpr std::array<HopLatency, kProtocolCount> kTreeLatency = {
    {{6800, 600, 1000, 5000}, {14000, 1250, 1900, 8500}, {8400, 4000, 4000, 14000}}};

// Payload share of the link rate: LL sends a flag with every 4 bytes of data; LL128 as the tuner caps it; Simple is full.
constexpr std::array<double, kProtocolCount> kRateFactor = {0.5, 0.92, 1.0};
// The same of trees, from the same file: LL 1/3.8; LL128 7/9 on one node and 120/128 on several; Simple is full.
constexpr std::array<double, kProtocolCount> kTreeRateFactor = {1 / 3.8, 120.0 / 128, 1.0};
constexpr double kTreeLl128OneNode = 7.0 / 9;

// The tuner takes 0.92 off every tree and 0.85 more off one whose parents and children meet in one GPU (its plain tree pattern), which is how
// the trees here are built. WHY of links inside a node only: over a NIC trees are measured at its full rate (NCCL issue 1357: two
// nodes with one 400G NIC each, algbw 49.4 GB/s).
constexpr double kTreeInsideShare = 0.92 * 0.85;

// llMaxBw of the same file in GB/s: one node, two nodes, more. Multi-node rows are picked by CPU vendor there; the row of the
// GPU's own generation is used here. As there, Turing has Volta's row and Ada Ampere's; Ampere's stands in for CDNA 3.
constexpr std::array<double, 3> kVolta = {39.0, 39.0, 20.4};
constexpr std::array<double, 3> kAmpere = {87.7, 22.5, 19.0};
constexpr std::array<double, 3> kHopper = {141.0, 45.0, 35.0};
constexpr std::array<double, 3> kBlackwell = {282.0, 90.0, 70.0};
constexpr std::array<std::array<double, 3>, kGpuGenerationCount> kLlLimit = {kVolta,  kVolta,     kAmpere, kAmpere,
                                                                             kHopper, kBlackwell, kAmpere};

}  // namespace

std::string_view to_text(Protocol p) {
  constexpr std::array<std::string_view, kProtocolCount> names = {"LL", "LL128", "Simple"};
  return names[static_cast<std::size_t>(p)];
}

CollectiveTuning tuning_for(GpuGeneration generation, Rate nvlink, double ring_drain, int nodes) {
  CollectiveTuning t;
  t.nvlink = nvlink;
  t.ring_drain = ring_drain;
  t.tree_inside_share = kTreeInsideShare;
  const auto fill = [](ProtocolCost& cost, const HopLatency& latency, double rate_factor) {
    cost.base = Duration::nanos(latency.base_ns);
    cost.nvlink_hop = Duration::nanos(latency.nvlink_ns);
    cost.pcie_hop = Duration::nanos(latency.pcie_ns);
    cost.network_hop = Duration::nanos(latency.network_ns);
    cost.rate_factor = rate_factor;
  };
  for (std::size_t p = 0; p < kProtocolCount; ++p) {
    fill(t.ring[p], kRingLatency[p], kRateFactor[p]);
    fill(t.tree[p], kTreeLatency[p], kTreeRateFactor[p]);
  }
  if (nodes == 1) t.tree[static_cast<std::size_t>(Protocol::kLl128)].rate_factor = kTreeLl128OneNode;
  const auto column = static_cast<std::size_t>(std::clamp(nodes, 1, 3) - 1);
  const Rate limit = Rate::bytes_per_second(kLlLimit[static_cast<std::size_t>(generation)][column] * 1e9);
  t.ring[static_cast<std::size_t>(Protocol::kLl)].rate_limit = limit;
  t.tree[static_cast<std::size_t>(Protocol::kLl)].rate_limit = limit;
  return t;
}

}  // namespace lockstep
