// SPDX-License-Identifier: Apache-2.0
#include "workloads/collectives/tuning.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "topology/hardware/tuning_spec.h"

namespace lockstep {
namespace {

using ProtocolCosts = std::array<ProtocolCost, kProtocolCount>;

ProtocolCosts costs_of(const AlgorithmTuning& algorithm, const GenerationTuning& generation, int nodes) {
  LOCKSTEP_CHECK(generation.ll_limit.size() == 3, "the tuning was not read");
  const auto cost = [&](const ProtocolTuning& p) {
    const Duration shortest = nodes > 1 ? p.shortest_step.value_or(Duration{}) : Duration{};
    const auto hop = [&](Duration d) { return std::max(scaled(d, generation.hop_scale), shortest); };
    return ProtocolCost{.base = p.base + generation.launch,
                        .nvlink_hop = hop(p.nvlink_hop),
                        .pcie_hop = hop(p.pcie_hop),
                        .network_hop = p.network_hop,
                        .rate_factor = nodes == 1 ? p.rate_factor_one_node.value_or(p.rate_factor) : p.rate_factor};
  };
  ProtocolCosts costs = {cost(algorithm.ll), cost(algorithm.ll128), cost(algorithm.simple)};
  const auto column = static_cast<std::size_t>(std::clamp(nodes, 1, 3) - 1);
  costs[static_cast<std::size_t>(Protocol::kLl)].rate_limit = generation.ll_limit[column];
  return costs;
}

}  // namespace

std::string_view to_text(Protocol p) {
  constexpr std::array<std::string_view, kProtocolCount> names = {"LL", "LL128", "Simple"};
  return names[static_cast<std::size_t>(p)];
}

Duration scaled(Duration d, double factor) { return factor == 1 ? d : Duration::from_seconds(d.seconds() * factor); }

Duration fill_time(Duration fill, std::int64_t bytes, Rate rate) {
  if (fill <= Duration{} || bytes == 0 || rate.units() == 0) return {};
  const double transfer_ps = static_cast<double>(bytes) / rate.bytes_per_second() * 1e12;
  return Duration::picos(static_cast<std::int64_t>(std::sqrt(static_cast<double>(fill.picos()) * transfer_ps)));
}

CollectiveTuning tuning_for(const TuningSpec& spec, GpuGeneration generation, Rate nvlink, double ring_drain, int nodes) {
  const GenerationTuning& own = spec.of(generation);
  return {.ring = costs_of(spec.ring, own, nodes),
          .tree = costs_of(spec.tree, own, nodes),
          .nvlink = nvlink,
          .ring_drain = ring_drain,
          .tree_inside_share = spec.tree_inside_share,
          .nvlink_fill = own.fill,
          .switches = switch_tuning_for(spec, generation, nodes)};
}

}  // namespace lockstep
