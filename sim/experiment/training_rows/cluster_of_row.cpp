// SPDX-License-Identifier: Apache-2.0
#include "sim/experiment/training_rows/cluster_of_row.h"

#include <fmt/core.h>

#include "base/wide.h"
#include "sim/experiment/table_cluster.h"

namespace lockstep {
namespace {

constexpr std::int64_t kUsualNode = 8;
constexpr std::string_view kReference = "InfiniBand";

// GPUs of every row differ: topology/gpu_variation.h. A judgement, the same for all rows: no table says how much its GPUs differed.
constexpr Fraction kUsualVariation{0.01};

std::string compute_fabric(std::string_view fabric) {
  const std::size_t at = fabric.find("Compute:");
  return std::string(at == std::string_view::npos ? fabric : fabric.substr(at));
}

}  // namespace

RowCluster cluster_of_row(const TrainingRow& row, std::int64_t gpus, const ConfigLibrary& library, Diagnostics& d) {
  const std::int64_t per_node = row.integer("gpus_per_node").value_or(kUsualNode);
  if (per_node < 1) return {.refusal = fmt::format("gpus_per_node is {}, and must be positive", per_node), .spec = {}};
  TableColumns words{.table = {},
                     .gpu_type = std::string(row.text("gpu_type")),
                     .intra_fabric = {},
                     .inter_fabric = compute_fabric(row.text("fabric")),
                     // One GPU is the first of two.
                     .gpus = std::max<std::int64_t>(gpus, 2),
                     .nodes = gpus <= per_node ? 1 : ceil_div(gpus, per_node),
                     .gpus_per_node = per_node};
  TableCluster table = describe_table(words);
  if (!table.refusal.empty() && gpus > per_node) {
    words.inter_fabric = kReference;
    table = describe_table(words);
  }
  if (!table.refusal.empty()) return {.refusal = table.refusal, .spec = {}};
  RowCluster out{.refusal = {}, .spec = cluster_of(table, library, d)};
  if (out.spec) out.spec->gpu_variation = VariationSpec{.spread = kUsualVariation};
  if (!out.spec || table.servers == 1) return out;
  // Whole nodes: those that are in use have as many GPUs as take part, and a NIC of each GPU goes with it.
  ServerSpec& server = *out.spec->server;
  if (out.spec->network && out.spec->network->nics_per_node == server.gpus)
    out.spec->network->nics_per_node = table.gpus_per_server;
  server.gpus = table.gpus_per_server;
  return out;
}

}  // namespace lockstep
