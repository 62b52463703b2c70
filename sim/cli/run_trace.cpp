// SPDX-License-Identifier: Apache-2.0
#include "sim/cli/run_trace.h"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <ostream>

#include "base/field_table.h"
#include "sim/cli/common_options.h"
#include "sim/engine/process_usage.h"
#include "sim/experiment/cluster_run.h"
#include "sim/experiment/trace_spec.h"
#include "sim/runtime/trace_run.h"

namespace lockstep::cli {
namespace {

namespace fs = std::filesystem;

Trace read_trace(const std::string& file, Diagnostics& d) {
  std::error_code none;
  std::ifstream in(file, std::ios::binary);
  if (!in || fs::is_directory(file, none)) {
    d.error({file, 0, 0}, {}, "the file cannot be read", "a trace in the text form of GOAL is expected");
    return {};
  }
  return read_goal(in, file, d);
}

std::string table_of(const Trace& trace, const TraceResult& r) {
  const auto last = std::max_element(r.finish.begin(), r.finish.end()) - r.finish.begin();
  const auto first = std::min_element(r.finish.begin(), r.finish.end()) - r.finish.begin();
  return fmt::format(
      "makespan    {:.9g} s\noperations  {}, of {} ranks\nmessages    {}, {} bytes\nlast rank   {} at {:.9g} s\n"
      "first rank  {} at {:.9g} s\n",
      r.makespan.seconds(), trace.size(), trace.ranks, trace.messages, trace.bytes, last,
      r.finish[static_cast<std::size_t>(last)].seconds(), first, r.finish[static_cast<std::size_t>(first)].seconds());
}

std::string csv_of(const TraceResult& r) {
  std::string text = "rank,finish_s,compute_s\n";
  for (std::size_t i = 0; i < r.finish.size(); ++i) {
    const std::int64_t end = r.finish[i].picos();
    const std::int64_t busy = r.compute[i].picos();
    text += fmt::format("{},{}.{:012},{}.{:012}\n", i, end / kPicosPerSecond, end % kPicosPerSecond, busy / kPicosPerSecond,
                        busy % kPicosPerSecond);
  }
  return text;
}

std::string json_of(const VerbContext& context, const TraceSpec& spec, const ClusterSpec& cluster, const Trace& trace,
                    const TraceResult& r, double wall_s) {
  nlohmann::ordered_json j;
  j["trace"] = spec.name;
  j["cluster"] = cluster.name;
  j["network"] = context.arguments.text("network");
  j["seed"] = seed_of(context.arguments);
  j["version"] = LOCKSTEP_VERSION;
  if (context.arguments.has("set")) j["set"] = context.arguments.all("set");
  j["makespan_s"] = r.makespan.seconds();
  j["ranks"] = trace.ranks;
  j["operations"] = trace.size();
  j["messages"] = trace.messages;
  j["bytes"] = trace.bytes;
  for (const Instant end : r.finish) j["finish_s"].push_back(end.seconds());
  j["events"] = r.events;
  j["fingerprint"] = fmt::format("{:016x}", r.fingerprint);
  j["measured"] = {{"wall_s", wall_s}, {"peak_rss_bytes", peak_resident_bytes()}};
  return j.dump(2) + "\n";
}

// --set compute_scale=0.5 is of the trace, --set cluster.KEY=VALUE of the cluster.
void apply_assignments(const VerbContext& context, Document& trace, Document& cluster, Diagnostics& d) {
  for (const std::string& assignment : context.arguments.all("set")) {
    if (assignment.starts_with("cluster.")) {
      cluster.set(assignment.substr(8), d);
    } else {
      trace.set(assignment, d);
    }
  }
}

int run_trace_on(const VerbContext& context, Document document) {
  const double begin = monotonic_seconds();
  const std::string reference = context.arguments.text("cluster");
  if (reference.empty()) throw UserError("a trace needs a cluster to run on", "--cluster C.yaml");
  if (context.arguments.has("job")) throw UserError("a trace runs without a job", "leave --job out");
  if (context.arguments.text("format") == "md") throw UserError("--format md is not for traces", "table, json or csv");
  Diagnostics d;
  std::optional<Document> where = context.library.open("cluster", reference, {"--cluster", 0, 0}, {}, d);
  throw_if_errors(d);
  apply_assignments(context, document, *where, d);
  TraceSpec spec;
  ClusterSpec cluster;
  ReadContext read(d, &context.library);
  trace_fields().read_document(document, spec, read);
  ReadContext read_cluster(d, &context.library);
  cluster_fields().read_document(*where, cluster, read_cluster);
  throw_if_errors(d);
  const Trace trace = read_trace((fs::path(document.file()).parent_path() / spec.file).string(), d);
  throw_if_errors(d);
  const Network network = build_network(cluster);
  if (trace.ranks != spec.ranks) read.error("ranks", fmt::format("the trace has {}", trace.ranks), "import it again");
  if (trace.ranks > network.endpoint_count()) {
    d.error({reference, 0, 0}, {}, fmt::format("has {} endpoints for {} ranks", network.endpoint_count(), trace.ranks),
            "a larger cluster, like --set cluster.nodes=N");
  }
  const Detours detours(cluster, seed_of(context.arguments), Bundling::kOff);
  if (!detours.timeline().is_empty()) {
    d.error({reference, 0, 0}, "faults", "faults that come and go are not replayed under a trace", "leave their times out");
  }
  throw_if_errors(d);
  print_warnings(context, d);
  const Router router = make_router(cluster, network, seed_of(context.arguments));
  const std::unique_ptr<NetworkModel> model = make_network_model(network_kind(context.arguments.text("network")), network);
  const TraceResult result = run_trace(trace, spec.compute_scale, router, *model);
  const std::string format = context.arguments.text("format");
  const double wall = monotonic_seconds() - begin;
  context.out << (format == "json"  ? json_of(context, spec, cluster, trace, result, wall)
                  : format == "csv" ? csv_of(result)
                                    : table_of(trace, result));
  return kOk;
}

}  // namespace

std::optional<int> run_trace_document(const VerbContext& context) {
  if (context.arguments.positional().empty()) return std::nullopt;
  const std::string& file = context.arguments.positional().front();
  std::error_code none;
  if (!fs::is_regular_file(file, none)) return std::nullopt;
  Diagnostics unheard;  // a scenario's own reader says what is wrong with it
  std::optional<Document> document = Document::load(file, unheard);
  const Node kind = document ? document->root().find("kind") : Node();
  if (!kind || !kind.is_scalar() || kind.text() != "trace") return std::nullopt;
  return run_trace_on(context, *std::move(document));
}

std::string import_goal(const std::string& file, const std::string& output, Diagnostics& d) {
  const Trace trace = read_trace(file, d);
  const fs::path folder = fs::path(output).parent_path();
  const bool moves = !output.empty() && !folder.empty() && !fs::path(file).is_absolute();
  const std::string reference = moves ? fs::proximate(file, folder).string() : file;
  return fmt::format(
      "kind: trace\nwhat: \"{} ranks, {} operations, {} messages of {} bytes\"\nfile: {}\nranks: {}\ncompute_scale: 1\n",
      trace.ranks, trace.size(), trace.messages, trace.bytes, Codec<std::string>::print(reference), trace.ranks);
}

}  // namespace lockstep::cli
