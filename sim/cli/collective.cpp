// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>

#include <ostream>
#include <set>

#include "sim/cli/common_options.h"
#include "sim/cli/routing_options.h"
#include "sim/cli/verbs.h"
#include "sim/engine/process_usage.h"
#include "sim/experiment/cluster_run.h"
#include "sim/experiment/collective.h"
#include "sim/experiment/local_copy.h"
#include "sim/report/collective_report.h"

namespace lockstep::cli {
namespace {

std::vector<std::string> kind_names() {
  std::vector<std::string> names;
  for (const CollectiveKind k : kCollectiveKinds) names.emplace_back(to_text(k));
  return names;
}

std::vector<std::string> algorithm_names() {
  std::vector<std::string> names = {std::string(to_text(Algorithm::kAuto))};
  for (const Algorithm a : kAlgorithms) names.emplace_back(to_text(a));
  return names;
}

CollectiveKind kind_of(const std::string& name) {
  for (const CollectiveKind k : kCollectiveKinds) {
    if (name == to_text(k)) return k;
  }
  throw UserError(fmt::format("no collective is called '{}'", name));
}

// "8", "1M", "8G": binary suffixes, as nccl-tests reads -b and -e.
std::int64_t size_argument(const Arguments& arguments, const char* option) {
  const std::string text = arguments.text(option);
  std::string digits = text;
  int shift = 0;
  if (!digits.empty()) {
    const std::size_t suffix =
        std::string("KMGT").find(static_cast<char>(std::toupper(static_cast<unsigned char>(digits.back()))));
    if (suffix != std::string::npos) {
      shift = 10 * static_cast<int>(suffix + 1);
      digits.pop_back();
    }
  }
  const Parsed<std::int64_t> value = parse_int(digits);
  constexpr std::int64_t kMost = std::int64_t{1} << 44;  // 16 TiB
  if (!value || *value.value < 0 || *value.value > (kMost >> shift)) {
    throw UserError(fmt::format("--{}: '{}' is not a size from 0 to 16T", option, text),
                    "write 8, 64K, 1M or 8G (binary suffixes)");
  }
  return *value.value << shift;
}

CollectiveRequest request_of(const Arguments& arguments, const ClusterSpec& cluster) {
  CollectiveRequest request;
  request.kind = kind_of(arguments.positional().front());
  const std::int64_t begin = size_argument(arguments, "minbytes");
  const std::int64_t end = size_argument(arguments, "maxbytes");
  if (end < begin) throw UserError(fmt::format("--maxbytes {} is below --minbytes {}", end, begin));
  request.sizes = size_steps(begin, end, arguments.integer("stepfactor", 2, 1024).value_or(2));
  const std::int64_t available = cluster.gpus();
  const std::int64_t gpus = arguments.integer("gpus", 1, 1 << 30).value_or(available);
  if (gpus > available) {
    throw UserError(fmt::format("--gpus {}: the cluster has {}", gpus, available), "add nodes: --set nodes=N");
  }
  if (gpus < 2 && !cluster.server) {
    throw UserError("a collective needs at least two hosts",
                    available < 2 ? "add some: --set endpoints=2" : fmt::format("--gpus 2 to {}", available));
  }
  for (std::int64_t i = 0; i < gpus; ++i) request.members.push_back(EndpointId(static_cast<std::uint32_t>(i)));
  for (const Algorithm a : kAlgorithms) {
    if (arguments.text("algorithm") == to_text(a)) request.algorithm = a;
  }
  if (arguments.text("protocol") != "auto") {
    for (const Protocol p : {Protocol::kLl, Protocol::kLl128, Protocol::kSimple}) {
      if (arguments.text("protocol") == to_text(p)) request.protocol = p;
    }
  }
  if (const auto channels = arguments.integer("channels", 1, 64)) request.channels = static_cast<int>(*channels);
  request.uses_symmetry = !arguments.has("no-symmetry");
  request.explains = arguments.has("explain");
  if (request.explains && arguments.text("format") == "csv") {
    throw UserError("--explain: csv has no place for it", "--format nccl or json");
  }
  return request;
}

std::vector<CollectiveRow> run_rows(CollectiveRequest request, const ClusterSpec& cluster, const Arguments& arguments) {
  if (request.members.size() == 1) return run_local_copy(request, performance_of(cluster.server->gpu));
  const PreparedCluster prepared(cluster, seed_of(arguments));
  request.detours = &prepared.detours;
  return run_collective(request, prepared.router, prepared.tunings, network_kind(arguments.text("network")));
}

std::vector<std::pair<std::string, std::string>> asked_of(const Arguments& arguments) {
  std::vector<std::pair<std::string, std::string>> asked;
  for (const char* option : {"algorithm", "protocol", "channels"}) {
    if (arguments.has(option)) asked.emplace_back(option, arguments.text(option));
  }
  return asked;
}

void compare(const VerbContext& context, const ClusterSpec& cluster, const CollectiveRequest& request,
             const RoutingTrial& trial) {
  const double begin = monotonic_seconds();
  const NetworkKind kind = network_kind(context.arguments.text("network"));
  const std::vector<RoutingRow> rows = compare_routings(request, cluster, trial, kind);
  print_comparison(context, trial, begin,
                   {.collective = std::string(to_text(request.kind)),
                    .count = static_cast<std::int64_t>(request.members.size()),
                    .cluster = cluster.name,
                    .rows = rows});
}

// Options that some of what ran had no use for.
void warn_of_idle_options(const CollectiveRequest& request, const std::vector<CollectiveRow>& rows, std::ostream& err) {
  std::set<Algorithm> ran;
  for (const CollectiveRow& row : rows) {
    for (const Algorithm a : kAlgorithms) {
      if (row.algorithm == to_text(a)) ran.insert(a);
    }
  }
  const auto warn = [&](const char* option, Algorithm a, std::string_view why) {
    err << fmt::format("warning: --{} has no effect on {}, {}\n", option, to_text(a), why);
  };
  for (const Algorithm a : ran) {
    if (request.channels && !takes_channels(a)) warn("channels", a, "only on ring and tree");
    if (request.protocol && *request.protocol != Protocol::kSimple && !takes_protocol(a)) {
      warn("protocol", a, "which runs in Simple");
    }
  }
}

int run(const VerbContext& context) {
  const double begin = monotonic_seconds();
  const Arguments& arguments = context.arguments;
  const ClusterSpec cluster = read_config(context, arguments.text("cluster"), cluster_fields());
  const CollectiveRequest request = request_of(arguments, cluster);
  if (const std::optional<RoutingTrial> trial = routing_trial(arguments, cluster)) {
    if (request.members.size() == 1) throw UserError("one GPU has no routes to compare", "--gpus 2, or more");
    compare(context, cluster, request, *trial);
    return kOk;
  }
  const std::vector<CollectiveRow> rows = run_rows(request, cluster, arguments);
  warn_of_idle_options(request, rows, context.err);
  const CollectiveReport report{.kind = request.kind,
                                .cluster = cluster.name,
                                .network = arguments.text("network"),
                                .version = LOCKSTEP_VERSION,
                                .seed = seed_of(arguments),
                                .set = arguments.all("set"),
                                .asked = asked_of(arguments),
                                .gpus = static_cast<std::int64_t>(request.members.size()),
                                .rows = rows,
                                .wall_s = monotonic_seconds() - begin,
                                .peak_rss_bytes = peak_resident_bytes()};
  const std::string format = arguments.text("format");
  context.out << (format == "json" ? to_json(report) : format == "csv" ? to_csv(report) : to_nccl_table(report));
  return kOk;
}

}  // namespace

Verb collective_verb() {
  return {.name = "collective",
          .doc = "time one collective on a cluster, as nccl-tests does",
          .details =
              "Runs on the first N GPUs, packed. Sizes are those of nccl-tests (the larger per-rank buffer); suffixes of -b "
              "and -e are "
              "binary, GB/s in the output is 1e9 bytes/s.",
          .positionals = {{.name = "KIND", .doc = "the collective", .choices = kind_names()}},
          .options =
              {cluster_option(true),
               {.name = "gpus", .value_name = "N", .doc = "how many GPUs take part; all by default"},
               {.name = "minbytes", .value_name = "SIZE", .doc = "first size", .default_text = "8", .short_name = 'b'},
               {.name = "maxbytes", .value_name = "SIZE", .doc = "last size", .default_text = "8G", .short_name = 'e'},
               {.name = "stepfactor",
                .value_name = "F",
                .doc = "from one size to the next",
                .default_text = "2",
                .short_name = 'f'},
               {.name = "algorithm",
                .value_name = "A",
                .doc = "auto takes the one of NCCL's with the least undisturbed time; direct is for all_to_all and send_recv; "
                       "hierarchical and halving_doubling are not NCCL's",
                .default_text = "auto",
                .choices = algorithm_names()},
               {.name = "protocol",
                .value_name = "P",
                .doc = "auto takes the one with the least undisturbed time",
                .default_text = "auto",
                .choices = {"auto", "LL", "LL128", "Simple"}},
               {.name = "channels", .value_name = "N", .doc = "rings, or pairs of trees; one per NIC by default"},
               {.name = "explain", .doc = "for every size what was chosen among, with times, and why others were not"},
               network_model_option(),
               format_option({"nccl", "csv", "json"}),
               seed_option(),
               routing_option(),
               seeds_option(),
               {.name = "no-symmetry", .doc = "let no link and no flow stand for its equals; the results are the same, later"},
               set_option()},
          .run = run};
}

}  // namespace lockstep::cli
