// SPDX-License-Identifier: Apache-2.0
#include "workloads/collectives/switch_tuning.h"

#include <algorithm>
#include <array>

#include "topology/hardware/tuning_spec.h"
#include "workloads/collectives/tuning.h"

namespace lockstep {
namespace {

// baseLatencies and hwLatencies of the tuner, in nanoseconds.
constexpr std::int64_t kNvlsNs = 25'000;
constexpr std::int64_t kNvlsNetworkNs = 18'000;
constexpr std::int64_t kNvlsTreeNetworkNs = 20'900;
constexpr std::int64_t kDirectNetworkNs = 31'000;
constexpr std::int64_t kDirectInsideNs = 2 * 3'700;
constexpr std::int64_t kDirectPerPeerNs = 2 * 400;
constexpr std::int64_t kChainNetworkNs = 30'000;
constexpr std::int64_t kChainHopNs = 2 * 2'800;
constexpr std::int64_t kPatBaseNs = 8'000;
constexpr std::int64_t kPatPerRankNs = 2'800;
constexpr std::int64_t kPatInsideNs = 4'000;
constexpr std::int64_t kPatNetworkNs = 14'000;
constexpr double kPatHopShare = 1 / 3.5;
constexpr double kPatShare = 0.75;
constexpr double kDirectInsideShare = 0.85;  // from Hopper on

// Of NVLink's payload, as the tuner sees NVLS; what it fills is measured (nvls_share of the generation).
constexpr double kHopperTunerShare = 0.85;
constexpr double kBlackwellTunerShare = 0.74;

// perChMaxNVLSTree of the tuner, GB/s: two nodes, more.
constexpr std::array<double, 2> kHopperTree = {57.7, 45.5};
constexpr std::array<double, 2> kBlackwellTree = {96.0, 80.0};
// The tuner takes this off trees whose parents and children meet in one GPU, which all of nvls_tree do. WHY not on two nodes: there no GPU
// has both. Measured: 310 GB/s beside a ring of 365 on four p5en (4 x 8 H200, EFA).
constexpr double kTreeNetworkShare = 0.85;

// Speeds of the graph search inside a node (src/graph/search.cc), and from which on it splits channels in two.
constexpr std::array<double, 11> kHopperSpeeds = {60, 50, 40, 30, 24, 20, 15, 12, 11, 6, 3};
constexpr std::array<double, 12> kBlackwellSpeeds = {90, 80, 70, 60, 50, 45, 40, 30, 24, 20, 19, 18};
constexpr double kSplitSpeed = 50;
constexpr int kMostHeads = 32;

}  // namespace

bool nvls_beats_ring(const NvlsTuning& t, int gpus, Rate nvlink) {
  if (t.search_speeds.empty()) return true;
  const double port = nvlink.bytes_per_second() * 1e-9;
  const int heads = std::min(gpus, kMostHeads);
  const auto fits = [&](double speed) { return (heads + 1) * speed <= port; };
  const auto speed = std::find_if(t.search_speeds.begin(), t.search_speeds.end(), fits);
  if (speed == t.search_speeds.end()) return false;
  const double channels = *speed >= t.search_split ? 2 * heads : heads;
  return 2 * t.tuner_share * (channels - 1) / channels * heads * *speed > port;
}

void SwitchTuning::add_network_latency(Duration latency, double scale) {
  for (Duration* d : {&nvls.tree_hop, &nvls.reduction_hop, &collnet.direct_network, &collnet.chain_network, &pat.network_hop}) {
    *d = scaled(*d + latency, scale);
  }
}

SwitchTuning switch_tuning_for(const TuningSpec& spec, GpuGeneration generation, int nodes) {
  const GenerationTuning& own = spec.of(generation);
  const bool is_blackwell = generation == GpuGeneration::kBlackwell;
  const bool has_nvls = is_blackwell || generation == GpuGeneration::kHopper;
  SwitchTuning t;
  t.nvls.base = Duration::nanos(kNvlsNs) + own.launch;
  t.nvls.tree_hop = Duration::nanos(kNvlsTreeNetworkNs);
  t.nvls.reduction_hop = Duration::nanos(kNvlsNetworkNs);
  t.nvls.link_share = own.nvls_share;
  t.nvls.tree_network_share = nodes > 2 ? kTreeNetworkShare : 1;
  t.nvls.tree_channel_limit = Rate::bytes_per_second((is_blackwell ? kBlackwellTree : kHopperTree)[nodes > 2 ? 1 : 0] * 1e9);
  t.nvls.tuner_share = is_blackwell ? kBlackwellTunerShare : kHopperTunerShare;
  if (is_blackwell) {
    t.nvls.search_speeds = kBlackwellSpeeds;
  } else {
    t.nvls.search_speeds = kHopperSpeeds;
  }
  t.nvls.search_split = kSplitSpeed;
  t.collnet.direct_network = Duration::nanos(kDirectNetworkNs) + own.launch;
  t.collnet.direct_inside = Duration::nanos(kDirectInsideNs);
  t.collnet.direct_per_peer = Duration::nanos(kDirectPerPeerNs);
  t.collnet.chain_network = Duration::nanos(kChainNetworkNs) + own.launch;
  t.collnet.chain_hop = Duration::nanos(kChainHopNs);
  t.collnet.direct_inside_share = has_nvls ? kDirectInsideShare : 1;
  t.pat.base = Duration::nanos(kPatBaseNs) + own.launch;
  t.pat.per_rank = Duration::nanos(kPatPerRankNs);
  t.pat.nvlink_hop = t.pat.pcie_hop = Duration::from_seconds(kPatInsideNs * 1e-9 * kPatHopShare);
  t.pat.network_hop = Duration::from_seconds(kPatNetworkNs * 1e-9 * kPatHopShare);
  t.pat.share = kPatShare;
  return t;
}

}  // namespace lockstep
