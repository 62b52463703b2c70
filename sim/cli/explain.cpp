// SPDX-License-Identifier: Apache-2.0
// lockstep explain: from the peak down to what is achieved, what single changes would bring, and what holds the cluster back.
#include <fmt/format.h>

#include <ostream>
#include <thread>

#include "base/field_table.h"
#include "base/write_file.h"
#include "sim/cli/common_options.h"
#include "sim/cli/progress.h"
#include "sim/cli/verbs.h"
#include "sim/experiment/explain/explain.h"
#include "sim/report/explain_report.h"
#include "workloads/kernels/performance.h"
#include "workloads/kernels/timed_kernels.h"

namespace lockstep::cli {
namespace {

constexpr std::int64_t kMostThreads = 1024;

ScenarioRequest request_of(const Arguments& arguments) {
  ScenarioRequest request;
  if (!arguments.positional().empty()) request.file = arguments.positional().front();
  if (arguments.has("cluster")) request.cluster = arguments.text("cluster");
  if (arguments.has("job")) request.job = arguments.text("job");
  request.assignments = arguments.all("set");
  if (!request.file && !(request.cluster && request.job)) {
    throw UserError("there is nothing to explain",
                    "give SCENARIO.yaml, or --cluster and --job; `lockstep list scenarios` shows what ships");
  }
  return request;
}

Scenario load(const VerbContext& context) {
  Diagnostics diagnostics;
  ReadContext read(diagnostics, &context.library);
  std::optional<Scenario> scenario = load_scenario(request_of(context.arguments), read);
  throw_if_errors(diagnostics);
  LOCKSTEP_CHECK(scenario.has_value(), "a scenario was refused without an error");
  print_warnings(context, diagnostics);
  if (!scenario->jobs.empty()) {
    throw UserError("the scenario has several jobs, and one is explained at a time",
                    "a scenario with job:; `lockstep run` tells what jobs that share a cluster cost each other");
  }
  return *std::move(scenario);
}

std::string render(const Explanation& e, const std::string& format) {
  if (format == "json") return to_json(e);
  if (format == "csv") return to_csv(e);
  if (format == "md") return to_markdown(e);
  return to_table(e);
}

void write_products(const std::string& name, const Scenario& scenario) {
  if (scenario.plan.job.profile) throw UserError("--products: a profile has no matrix products", "a job with a model");
  const ClusterSpec& cluster = scenario.spec.cluster;
  WholeFile file(name);
  file.write(product_times(scenario.plan, performance_of(*cluster.server, cluster.software, scenario.plan.job)));
  file.commit();
}

int run_explain(const VerbContext& context) {
  const Arguments& arguments = context.arguments;
  const Scenario scenario = load(context);
  if (arguments.has("products")) write_products(arguments.text("products"), scenario);
  ProgressLine line(ProgressLine::InLogs::kHalfMinute);
  const auto cores = static_cast<std::int64_t>(std::max(1u, std::thread::hardware_concurrency()));
  Explanation explanation =
      explain(scenario, {.network = network_kind(arguments.text("network")),
                         .seed = seed_of(arguments),
                         .threads = static_cast<std::size_t>(arguments.integer("jobs", 1, kMostThreads).value_or(cores)),
                         .runs_upgrades = !arguments.has("no-upgrades"),
                         .on_progress = [&line](std::size_t done, std::size_t total) {
                           line.show([=](double) { return fmt::format("{} of {} runs", done, total); });
                         }});
  line.clear();
  explanation.run.scenario = scenario.spec.name;
  explanation.run.network = arguments.text("network");
  explanation.run.version = LOCKSTEP_VERSION;
  explanation.run.set = arguments.all("set");
  context.out << render(explanation, arguments.text("format"));
  return kOk;
}

}  // namespace

Verb explain_verb() {
  return {
      .name = "explain",
      .doc = "why a training step takes as long as it does, and what would make it shorter",
      .details =
          "A waterfall leads from the time that the model's FLOPs take at the peak of the GPUs down to the step: what kernels, "
          "the host, recomputation, the pipeline and communication add. Its terms add up to the step. Single changes of "
          "hardware and plan are then run, each alone, and ranked by what they bring; of the usual causes those that hold this "
          "job back are named.",
      .positionals = {{.name = "SCENARIO", .doc = "file, shipped name, or - for standard input", .is_optional = true}},
      .options =
          {cluster_option(false),
           {.name = "job", .value_name = "J.yaml", .doc = "job file or shipped name"},
           network_model_option(),
           format_option({"table", "json", "csv", "md"}),
           seed_option(),
           {.name = "products",
            .value_name = "OUT.csv",
            .doc = "write the matrix products of a GPU with their times, as kernel_timings takes them back with measured ones"},
           {.name = "no-upgrades", .value_name = "", .doc = "leave out what single changes would bring"},
           {.name = "jobs", .value_name = "N", .doc = "simulations side by side; one per core if absent", .short_name = 'j'},
           set_option()},
      .run = run_explain};
}

}  // namespace lockstep::cli
