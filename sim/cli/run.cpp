// SPDX-License-Identifier: Apache-2.0
// lockstep run: one step of a training job on a cluster, and why it takes as long as it does.
#include <fmt/core.h>

#include <algorithm>
#include <ostream>

#include "base/field_table.h"
#include "sim/cli/common_options.h"
#include "sim/cli/progress.h"
#include "sim/cli/run_trace.h"
#include "sim/cli/verbs.h"
#include "sim/experiment/scenario.h"
#include "sim/experiment/shared_run.h"
#include "sim/report/render.h"

namespace lockstep::cli {
namespace {

std::optional<std::string> text_if_given(const Arguments& arguments, const char* option) {
  if (!arguments.has(option)) return {};
  return arguments.text(option);
}

ScenarioRequest request_of(const Arguments& arguments) {
  ScenarioRequest request;
  if (!arguments.positional().empty()) request.file = arguments.positional().front();
  request.cluster = text_if_given(arguments, "cluster");
  request.job = text_if_given(arguments, "job");
  request.assignments = arguments.all("set");
  if (!request.file && !(request.cluster && request.job)) {
    throw UserError("there is nothing to run",
                    "give SCENARIO.yaml, or --cluster and --job; `lockstep list scenarios` shows what ships");
  }
  return request;
}

template <class Result>
std::string render(const Result& result, const std::string& format) {
  if (format == "json") return to_json(result);
  if (format == "csv") return to_csv(result);
  if (format == "md") return to_markdown(result);
  return to_table(result);
}

template <class Result>
void print(const VerbContext& context, const Scenario& scenario, Result& result) {
  result.scenario = scenario.spec.name;
  result.network = context.arguments.text("network");
  result.version = LOCKSTEP_VERSION;
  result.set = context.arguments.all("set");
  context.out << render(result, context.arguments.text("format"));
}

int exit_code(const VerbContext& context, const std::string& plan, const RunResult& result) {
  if (result.fits() || !context.arguments.has("require-fit")) return kOk;
  const MemoryReport& m = *result.memory;
  const auto gib = [](std::int64_t bytes) { return static_cast<double>(bytes) / (1 << 30); };
  const StageMemoryReport& first = m.stages[static_cast<std::size_t>(m.misfit->stage)];
  context.err << fmt::format(
      "{} does not fit: rank {} (stage {}, {}) is the first that needs more than {:.1f} GiB: {:.1f} GiB, of which parameters "
      "{:.1f}, gradients {:.1f}, optimizer {:.1f}, activations {:.1f}, buffers {:.1f}; to make it fit: {}\n",
      plan, m.misfit->rank, m.misfit->stage, m.misfit->gpu, gib(m.capacity), gib(first.total), gib(first.parameters),
      gib(first.gradients), gib(first.optimizer), gib(first.activations), gib(first.buffers), result.memory_advice);
  return kSimulationFailed;
}

int run(const VerbContext& context) {
  if (const std::optional<int> code = run_trace_document(context)) return *code;
  const Arguments& arguments = context.arguments;
  Diagnostics diagnostics;
  ReadContext read(diagnostics, &context.library);
  const std::optional<Scenario> scenario = load_scenario(request_of(arguments), read);
  throw_if_errors(diagnostics);
  LOCKSTEP_CHECK(scenario.has_value(), "a scenario was refused without an error");
  print_warnings(context, diagnostics);
  if (arguments.has("show-config")) {
    ConfigPrinter printer(read);
    scenario_fields().print(scenario->spec, printer);
    context.out << printer.text();
    return kOk;
  }
  ProgressLine line(ProgressLine::InLogs::kSilent);
  const RunOptions options{.network = network_kind(arguments.text("network")),
                           .seed = seed_of(arguments),
                           .uses_symmetry = !arguments.has("no-symmetry"),
                           .on_progress = [&line](Instant now, std::int64_t events) {
                             line.show([=](double seconds) { return run_progress_text(now, events, seconds); });
                           }};
  if (scenario->jobs.empty()) {
    RunResult result = run_job(scenario->spec.cluster, scenario->plan, options);
    line.clear();
    print(context, *scenario, result);
    return exit_code(context, "the plan", result);
  }
  SharedRunResult result =
      run_jobs(PreparedCluster(scenario->spec.cluster, options.seed), scenario->spec.cluster, scenario->jobs, options);
  line.clear();
  print(context, *scenario, result);
  int code = kOk;
  for (const SharedJob& job : result.jobs) code = std::max(code, exit_code(context, "the plan of " + job.name, job.run));
  return code;
}

}  // namespace

Verb run_verb() {
  return {
      .name = "run",
      .doc = "predict a training step: throughput, where the time goes, memory, cost",
      .details =
          "SCENARIO.yaml (or the name of a shipped scenario) joins a cluster and a job; --cluster and --job replace either. In "
          "--set, paths begin "
          "with cluster. or job.: --set cluster.nodes=4 --set job.micro_batch=2; of several jobs --set "
          "jobs.0.job.micro_batch=2.",
      .positionals = {{.name = "SCENARIO", .doc = "file, shipped name, or - for standard input", .is_optional = true}},
      .options = {cluster_option(false),
                  {.name = "job", .value_name = "J.yaml", .doc = "job file or shipped name"},
                  network_model_option(),
                  format_option({"table", "json", "csv", "md"}),
                  seed_option(),
                  {.name = "no-symmetry", .doc = "simulate every rank for itself; the results are the same, and take longer"},
                  {.name = "require-fit", .doc = "exit 3 when the plan does not fit in GPU memory"},
                  {.name = "show-config", .doc = "print the resolved configuration with the origin of each value, and stop"},
                  set_option()},
      .run = run};
}

}  // namespace lockstep::cli
