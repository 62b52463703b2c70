// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <ostream>
#include <sstream>

#include "base/text_file.h"
#include "base/write_file.h"
#include "sim/cli/common_options.h"
#include "sim/cli/verbs.h"
#include "sim/experiment/calibration/calibration.h"
#include "sim/experiment/calibration/nccl_output.h"
#include "sim/experiment/collective.h"
#include "sim/experiment/collective_names.h"
#include "sim/experiment/collective_predictor.h"
#include "sim/experiment/table_cluster.h"
#include "sim/report/calibration_report.h"

namespace lockstep::cli {
namespace {

constexpr std::size_t kMostLogBytes = std::size_t{256} << 20;

std::vector<NcclTable> read_tables(const std::vector<std::string>& files, Diagnostics& d) {
  std::vector<NcclTable> tables;
  for (const std::string& file : files) {
    const std::optional<std::string> text = read_file(file, kMostLogBytes, d);
    if (!text) continue;
    const bool is_csv = file.ends_with(".csv");
    std::istringstream csv(is_csv ? *text : "");
    for (NcclTable& t : is_csv ? read_nccl_csv(csv, file, d) : read_nccl_log(*text, file, d)) tables.push_back(std::move(t));
  }
  return tables;
}

std::optional<int> integer_option(const Arguments& arguments, const char* name, int least) {
  const std::optional<std::int64_t> value = arguments.integer(name, least, kMostTableGpus);
  return value ? std::optional(static_cast<int>(*value)) : std::nullopt;
}

// Also where no table needs them.
void check_options(const Arguments& arguments) {
  integer_option(arguments, "gpus", 2);
  integer_option(arguments, "nodes", 1);
  const std::string kind = arguments.text("collective");
  if (arguments.has("collective") && !collective_named(kind)) {
    throw UserError(fmt::format("--collective: no collective is called '{}'", kind), "like all_reduce");
  }
}

// busbw / algbw of the table against what they are by definition.
void compare_factor(const NcclTable& t, Diagnostics& d) {
  constexpr double kTolerance = 0.1;
  if (t.factor <= 0) return;
  const double expected = busbw_factor(*t.kind, static_cast<std::size_t>(t.gpus));
  if (std::abs(t.factor - expected) <= kTolerance * expected + t.factor_rounding) return;
  d.warning(t.factor_position, {},
            fmt::format("busbw is {:.3g} of algbw, but {:.3g} in {} of {} GPUs", t.factor, expected, to_text(*t.kind), t.gpus),
            "see --collective and --gpus");
}

// Tells what the table leaves open, or reports that nothing does.
bool complete(NcclTable& t, const Arguments& arguments, Diagnostics& d) {
  if ((!t.kind || t.is_kind_guessed) && arguments.has("collective")) t.kind = collective_named(arguments.text("collective"));
  if (t.gpus == 0 || (t.are_gpus_guessed && arguments.has("gpus")))
    t.gpus = integer_option(arguments, "gpus", 2).value_or(t.gpus);
  if (t.nodes == 0) t.nodes = integer_option(arguments, "nodes", 1).value_or(1);
  const std::size_t errors = d.error_count();
  if (!t.kind) d.error(t.position, {}, "nothing here says which collective this is", "give --collective, like all_reduce");
  if (t.gpus == 0) d.error(t.position, {}, "nothing here says how many GPUs took part", "give --gpus N");
  if (t.gpus > kMostTableGpus) d.error(t.position, {}, fmt::format("{} GPUs are more than {}", t.gpus, kMostTableGpus));
  if (t.gpus == 1) d.error(t.position, {}, "one GPU has nothing to exchange", "measure at least two");
  if (t.gpus % t.nodes != 0) {
    d.error(t.position, {}, fmt::format("{} GPUs are not equally many on {} nodes", t.gpus, t.nodes));
  }
  if (d.error_count() != errors) return false;
  compare_factor(t, d);
  return true;
}

// The table on the first nodes of the cluster, or a report why the cluster does not have it.
std::optional<MeasuredTable> on_cluster(const NcclTable& t, const ClusterSpec& cluster, Diagnostics& d) {
  const int per_node = t.gpus / t.nodes;
  const auto on_node = static_cast<int>(cluster.gpus() / cluster.node_count());
  if (per_node > on_node) {
    d.error(t.position, {}, fmt::format("{} GPUs a node, but those of the cluster have {}", per_node, on_node),
            t.nodes == 1 ? "give --nodes, or another --cluster" : "give another --cluster");
    return {};
  }
  if (t.nodes > cluster.node_count()) {
    d.error(t.position, {}, fmt::format("{} nodes, but the cluster has {}", t.nodes, cluster.node_count()),
            fmt::format("--set nodes={}", t.nodes));
    return {};
  }
  return MeasuredTable{
      .name = t.name, .cluster = cluster, .kind = *t.kind, .members = first_gpus(cluster, t.nodes, per_node), .rows = t.rows};
}

// By the rule for published tables: the name of the GPU says the server; a log does not say what connects several.
std::optional<MeasuredTable> by_its_words(const NcclTable& t, const ConfigLibrary& library, Diagnostics& d) {
  const TableCluster words = describe_table({.table = t.name,
                                             .gpu_type = t.gpu_name,
                                             .intra_fabric = t.intra_fabric,
                                             .inter_fabric = t.inter_fabric,
                                             .gpus = t.gpus,
                                             .nodes = t.nodes,
                                             .gpus_per_node = t.gpus / t.nodes});
  if (!words.refusal.empty()) {
    d.error(t.position, {}, fmt::format("the hardware is not told: {}", words.refusal), "give --cluster C.yaml");
    return {};
  }
  const std::optional<ClusterSpec> cluster = cluster_of(words, library, d);
  if (!cluster) return {};
  return MeasuredTable{.name = t.name,
                       .cluster = *cluster,
                       .kind = *t.kind,
                       .members = first_gpus(*cluster, words.servers, words.gpus_per_server),
                       .algorithm = applies(words.algorithm, *t.kind) ? words.algorithm : Algorithm::kAuto,
                       .rows = t.rows};
}

bool is_named(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// Every name must be one of a table.
void check_names(const char* option, const std::vector<std::string>& names, const std::vector<NcclTable>& tables) {
  std::vector<std::string> known;
  for (const NcclTable& t : tables) known.push_back(t.name);
  for (const std::string& name : names) {
    if (is_named(known, name)) continue;
    const std::string guess = closest(name, known);
    throw UserError(fmt::format("--{}: no table is called '{}'", option, name),
                    guess.empty() ? fmt::format("the first one is {}", known.front()) : fmt::format("did you mean {}?", guess));
  }
}

int run(const VerbContext& context) {
  const Arguments& arguments = context.arguments;
  check_options(arguments);
  Diagnostics d;
  std::vector<NcclTable> tables = read_tables(arguments.positional(), d);
  throw_if_errors(d);
  const std::vector<std::string> only = arguments.all("table");
  const std::vector<std::string> held_out = arguments.all("hold-out");
  check_names("table", only, tables);
  check_names("hold-out", held_out, tables);
  std::optional<ClusterSpec> cluster;
  if (arguments.has("cluster")) cluster = read_config(context, arguments.text("cluster"), cluster_fields());
  if (!cluster && arguments.has("set")) throw UserError("--set changes a cluster, and there is none", "give --cluster C.yaml");
  std::vector<MeasuredTable> fitted;
  std::vector<MeasuredTable> others;
  for (NcclTable& t : tables) {
    const bool is_out = is_named(held_out, t.name);
    if (!is_out && !only.empty() && !is_named(only, t.name)) continue;
    if (!complete(t, arguments, d)) continue;
    std::optional<MeasuredTable> m = cluster ? on_cluster(t, *cluster, d) : by_its_words(t, context.library, d);
    if (!m) continue;
    const bool is_large = m->members.size() > kMostFittedRanks;
    if (is_large && !is_out) {
      d.warning(t.position, {},
                fmt::format("{} GPUs are more than {}: the table is judged, not fitted to", t.gpus, kMostFittedRanks));
    }
    (is_out || is_large ? others : fitted).push_back(*std::move(m));
  }
  throw_if_errors(d);
  print_warnings(context, d);
  if (fitted.empty())
    throw UserError("no table is left to fit",
                    fmt::format("hold fewer out, and give one of at most {} GPUs", kMostFittedRanks));
  const Calibration calibration = calibrate(fitted.front().cluster.tuning, fitted, others);
  context.out << (arguments.text("format") == "json" ? to_json(calibration) : to_table(calibration));
  if (const std::string output = arguments.text("output"); !output.empty()) {
    WholeFile file(output);
    file.write(to_tuning_file(calibration, std::filesystem::path(output).stem().string(), arguments.positional()));
    file.commit();
  }
  return kOk;
}

}  // namespace

Verb calibrate_verb() {
  return {
      .name = "calibrate",
      .doc = "fit the constants of the collective library to your own nccl-tests output",
      .details =
          "Reads logs of nccl-tests (or a CSV with the columns of validation/nccl-tests.csv), fits the few constants of the "
          "cluster's generation of GPU and transport to all tables together, and prints what the tables determine and the "
          "error of each. With -o it writes a tuning file: name it in a cluster (tuning: ./mine.yaml) or give --set "
          "tuning=./mine.yaml; then other sizes and numbers of nodes are predicted with it.",
      .positionals = {{.name = "FILE", .doc = "output of nccl-tests, or a .csv", .is_repeatable = true}},
      .options = {cluster_option(false),
                  {.name = "output", .value_name = "FILE.yaml", .doc = "writes the constants there", .short_name = 'o'},
                  {.name = "collective", .value_name = "KIND", .doc = "of tables that do not say it"},
                  {.name = "gpus", .value_name = "N", .doc = "of tables that do not say it"},
                  {.name = "nodes", .value_name = "N", .doc = "of tables that do not say it; 1 by default"},
                  {.name = "table", .value_name = "NAME", .doc = "only this table; may be repeated", .is_repeatable = true},
                  {.name = "hold-out",
                   .value_name = "NAME",
                   .doc = "states the error of this table without fitting to it; may be repeated",
                   .is_repeatable = true},
                  format_option({"table", "json"}),
                  set_option()},
      .run = run};
}

}  // namespace lockstep::cli
