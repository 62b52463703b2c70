// SPDX-License-Identifier: Apache-2.0
#include "workloads/collectives/halving_doubling.h"

#include <bit>

#include "base/check.h"

namespace lockstep {
namespace {

int log2_below(std::uint32_t n) { return static_cast<int>(std::bit_width(n)) - 1; }

void add_all_reduce(std::uint32_t n, std::vector<ExchangeStage>& out) {
  const int rounds = log2_below(n);
  const bool folds = !std::has_single_bit(n);
  if (folds) out.push_back({.form = RouteForm::kFold, .halvings = 0, .reduces = true});
  for (int k = 0; k < rounds; ++k) out.push_back({.form = exchange_form(k), .halvings = k + 1, .reduces = true});
  for (int k = rounds; k-- > 0;) out.push_back({.form = exchange_form(k), .halvings = k + 1});
  if (folds) out.push_back({.form = RouteForm::kUnfold, .halvings = 0});
}

// ceil(bytes / (2^halvings x channels)).
std::int64_t exchanged_bytes(std::int64_t bytes, int halvings, int channels) {
  return ceil_div(bytes, checked_mul(std::int64_t{1} << halvings, channels));
}

}  // namespace

std::vector<ExchangeStage> exchange_stages(CollectiveKind kind, std::uint32_t n) {
  std::vector<ExchangeStage> out;
  if (kind == CollectiveKind::kAllReduce) {
    add_all_reduce(n, out);
    return out;
  }
  LOCKSTEP_CHECK(applies(Algorithm::kHalvingDoubling, kind), "no halving or doubling does {}", to_text(kind));
  if (!std::has_single_bit(n)) return out;
  const int rounds = log2_below(n);
  for (int k = 0; k < rounds; ++k) {
    if (kind == CollectiveKind::kAllGather) {
      out.push_back({.form = exchange_form(k), .halvings = rounds - k});
    } else {
      out.push_back({.form = exchange_form(rounds - 1 - k), .halvings = k + 1, .reduces = true});
    }
  }
  return out;
}

std::vector<Exchange> exchanges(RouteForm form, std::uint32_t n) {
  std::vector<Exchange> out;
  const std::uint32_t core = std::uint32_t{1} << log2_below(n);
  const std::uint32_t excess = n - core;
  if (form == RouteForm::kFold || form == RouteForm::kUnfold) {
    for (std::uint32_t i = 0; i < excess; ++i) {
      if (form == RouteForm::kFold) out.push_back({2 * i, 2 * i + 1});
      if (form == RouteForm::kUnfold) out.push_back({2 * i + 1, 2 * i});
    }
    return out;
  }
  const auto position = [excess](std::uint32_t i) { return i < excess ? 2 * i + 1 : i + excess; };
  const std::uint32_t distance = 1u << (static_cast<std::uint32_t>(form) - static_cast<std::uint32_t>(RouteForm::kExchange));
  for (std::uint32_t i = 0; i < core; ++i) out.push_back({position(i), position(i ^ distance)});
  return out;
}

const FlowShape& HalvingDoublingShape::flow(RouteForm form) const {
  if (form == RouteForm::kFold) return fold;
  if (form == RouteForm::kUnfold) return unfold;
  return exchange[static_cast<std::size_t>(form) - static_cast<std::size_t>(RouteForm::kExchange)];
}

HalvingDoublingShape shape_halving_doubling(const Router& router, const std::vector<NodeGroup>& groups,
                                            std::uint64_t channel_key, bool folds, std::vector<FormRoute>& out) {
  const ExchangeBuilder builder(router, groups, channel_key);
  const std::uint32_t n = builder.ranks();
  HalvingDoublingShape shape{.ranks = static_cast<int>(n), .channels = builder.channels()};
  const auto add = [&](RouteForm form) { return builder.add(form, exchanges(form, n), out); };
  if (folds && !std::has_single_bit(n)) {
    shape.fold = add(RouteForm::kFold);
    shape.unfold = add(RouteForm::kUnfold);
  }
  for (int k = 0; k < log2_below(n); ++k) shape.exchange.push_back(add(exchange_form(k)));
  return shape;
}

void lower_halving_doubling(const HalvingDoublingShape& shape, const CollectiveTuning& tuning, CollectiveKind kind,
                            std::int64_t bytes, Protocol protocol, std::vector<Stage>& out) {
  const ProtocolCost& cost = tuning.ring[static_cast<std::size_t>(protocol)];
  Duration base = cost.base;
  for (const ExchangeStage& stage : exchange_stages(kind, static_cast<std::uint32_t>(shape.ranks))) {
    const FlowShape& flow = shape.flow(stage.form);
    Rate cap;
    if (flow.has_nvlink_hop && !flow.has_pcie_hop) {
      constexpr double kPrimitives = 2;  // a send, and a receive that does not send
      cap = flow.inside_rate.scaled(1.0 - tuning.ring_drain / kPrimitives);
    }
    if (flow.has_network_hop) cap = lower_of(cap, tuning.network_channel_rate);
    if (cost.rate_factor < 1) cap = lower_of(cap, lower_of(flow.rate, cap).scaled(cost.rate_factor));
    if (cost.rate_limit.units() > 0) cap = lower_of(cap, Rate::units(cost.rate_limit.units() / shape.channels));
    const std::int64_t edge_bytes = exchanged_bytes(bytes, stage.halvings, shape.channels);
    out.push_back(exchange_stage(stage.form, flow, tuning, cost, base, edge_bytes, cap));
    base = {};
  }
}

}  // namespace lockstep
