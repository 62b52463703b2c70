// SPDX-License-Identifier: Apache-2.0
// lockstep tune: the fastest plan of a job on a cluster, and why the others lose.
#include <fmt/core.h>

#include <filesystem>
#include <ostream>
#include <thread>

#include "base/field_table.h"
#include "base/write_file.h"
#include "sim/cli/common_options.h"
#include "sim/cli/output.h"
#include "sim/cli/progress.h"
#include "sim/cli/verbs.h"
#include "sim/experiment/tune/tune.h"
#include "sim/report/tune_report.h"
#include "workloads/kernels/timed_kernels.h"

namespace lockstep::cli {
namespace {

constexpr std::int64_t kMostThreads = 1024;
constexpr std::int64_t kMostPlans = 1'000'000;
constexpr const char* kDefaultEvaluations = "1000";

struct Problem {
  ScenarioSpec spec;
  PlanSpace space;
};

ScenarioRequest request_of(const Arguments& arguments) {
  ScenarioRequest request;
  if (!arguments.positional().empty()) request.file = arguments.positional().front();
  if (arguments.has("cluster")) request.cluster = arguments.text("cluster");
  if (arguments.has("job")) request.job = arguments.text("job");
  request.assignments = arguments.all("set");
  if (!request.file && !(request.cluster && request.job)) {
    throw UserError("there is nothing to tune",
                    "give SCENARIO.yaml, or --cluster and --job; `lockstep list scenarios` shows what ships");
  }
  return request;
}

void take_gpus(const Arguments& arguments, ScenarioSpec& spec) {
  const ClusterSize size = size_of(spec.cluster);
  if (const auto gpus = arguments.integer("gpus", 1, size.gpus)) spec.job->gpus = gpus;
  const std::int64_t gpus = spec.job->gpus.value_or(size.gpus);
  if (gpus > size.gpus_per_node && gpus % size.gpus_per_node != 0) {
    throw UserError(fmt::format("{} GPUs are no whole number of nodes of {}", gpus, size.gpus_per_node),
                    fmt::format("{} or {}", gpus / size.gpus_per_node * size.gpus_per_node,
                                (gpus / size.gpus_per_node + 1) * size.gpus_per_node));
  }
}

Problem load(const VerbContext& context) {
  Diagnostics d;
  ReadContext read(d, &context.library);
  std::optional<ScenarioSpec> spec = load_unresolved(request_of(context.arguments), read);
  throw_if_errors(d);
  LOCKSTEP_CHECK(spec.has_value(), "a scenario was refused without an error");
  if (spec->job->profile) {
    throw UserError("a profile is a whole model on one GPU: there is no plan to look for", "a job with a model");
  }
  take_gpus(context.arguments, *spec);
  std::optional<PlanSpace> space;
  if (const std::optional<std::int64_t> batch = global_batch_of(*spec->job, spec->cluster, d)) {
    space = PlanSpace::make(*spec->job, *batch, size_of(spec->cluster), context.arguments.all("space"), d);
  }
  throw_if_errors(d);
  LOCKSTEP_CHECK(space.has_value(), "a space was refused without an error");
  print_warnings(context, d);
  return {*std::move(spec), *std::move(space)};
}

std::string progress_text(const TuneProgress& p, double seconds) {
  std::string text = fmt::format("{} of {} plans settled, {} evaluated, {:.1f} per second", p.settled, p.candidates,
                                 p.evaluated, static_cast<double>(p.evaluated) / seconds);
  if (p.best_s > 0) text += fmt::format(", best step {:.3f} s", p.best_s);
  return text;
}

TuneReport report_of(const VerbContext& context, const Problem& problem, TuneResult result) {
  const Arguments& arguments = context.arguments;
  TuneReport r{.version = LOCKSTEP_VERSION,
               .scenario = problem.spec.name,
               .cluster = problem.spec.cluster.name,
               .job = problem.spec.job->name,
               .network = arguments.text("network"),
               .seed = seed_of(arguments),
               .gpus = problem.space.gpus(),
               .global_batch = problem.space.global_batch(),
               .seq_len = problem.spec.job->seq_len,
               .set = arguments.all("set"),
               .space = arguments.all("space"),
               .top = static_cast<std::size_t>(*arguments.integer("top", 1, kMostPlans)),
               .max_evaluations = *arguments.integer("max-evaluations", 1, kMostPlans),
               .columns = problem.space.columns(),
               .fields = {},
               .result = std::move(result)};
  for (const TunedPlan& plan : r.result.plans) r.fields.push_back(problem.space.fields(plan.choice));
  return r;
}

void write_file(const std::string& name, const std::string& text) {
  WholeFile file(name);
  file.write(text);
  file.commit();
}

void write_folder(const std::string& folder, const TuneReport& report) {
  const std::string results = results_csv(report);
  write_file((std::filesystem::path(folder) / "results.csv").string(), results);
  write_file((std::filesystem::path(folder) / "manifest.json").string(), manifest_json(report, results));
}

// The job with the best plan, to be run as it is.
std::string job_document(const Problem& problem, const TuneReport& report) {
  const TunedPlan& best = report.result.plans.front();
  JobSpec job = problem.space.job(best.choice);
  if (job.kernel_timings) {
    KernelTimings found_anywhere = *job.kernel_timings;
    found_anywhere.file = std::filesystem::absolute(found_anywhere.file).lexically_normal().string();
    job.kernel_timings = std::make_shared<const KernelTimings>(std::move(found_anywhere));
  }
  ConfigPrinter printer;
  job_fields().print(job, printer);
  return fmt::format(
      "# SPDX-License-Identifier: Apache-2.0\nkind: job\nwhat: \"{} on {} GPUs of {}: {}, the best of {} plans by lockstep "
      "tune\"\n{}",
      report.job, report.gpus, report.cluster, best.text, report.result.counts.plans, printer.text());
}

std::string render(const TuneReport& report, const std::string& format) {
  if (format == "json") return to_json(report);
  if (format == "csv") return to_csv(report);
  if (format == "md") return to_markdown(report);
  return to_table(report);
}

int run_tune(const VerbContext& context) {
  const Arguments& arguments = context.arguments;
  const Problem problem = load(context);
  ProgressLine line(ProgressLine::InLogs::kHalfMinute);
  const auto cores = static_cast<std::int64_t>(std::max(1u, std::thread::hardware_concurrency()));
  TuneOptions options{
      .network = network_kind(arguments.text("network")),
      .seed = seed_of(arguments),
      .threads = static_cast<std::size_t>(arguments.integer("jobs", 1, kMostThreads).value_or(cores)),
      .top = static_cast<std::size_t>(*arguments.integer("top", 1, kMostPlans)),
      .max_evaluations = static_cast<std::size_t>(*arguments.integer("max-evaluations", 1, kMostPlans)),
      .uses_bounds = !arguments.has("exhaustive"),
      .version = LOCKSTEP_VERSION,
      .on_progress = [&line](const TuneProgress& p) { line.show([&p](double seconds) { return progress_text(p, seconds); }); }};
  if (arguments.has("out")) options.folder = arguments.text("out");
  goes_on_when_repeated = options.folder.has_value();
  const TuneReport report = report_of(context, problem, tune(problem.spec, problem.space, options));
  line.clear();
  Diagnostics idle;
  for (const std::size_t row : report.result.idle_timings) {
    warn_of_idle_timing(*problem.spec.job->kernel_timings, row, "any plan that fits", "job.kernel_timings", idle);
  }
  print_warnings(context, idle);
  if (options.folder) write_folder(*options.folder, report);
  const TuneCounts& counts = report.result.counts;
  if (!report.result.has_winner()) {
    if (counts.failed > 0) throw SimulationError("no plan could be run: " + report.result.plans.front().error);
    context.err << nothing_fits_text(report);
    return kSimulationFailed;
  }
  context.out << render(report, arguments.text("format"));
  if (arguments.has("write")) write_file(arguments.text("write"), job_document(problem, report));
  std::string text = fmt::format("{} plans: {} fit, {} evaluated", counts.plans,
                                 counts.plans - counts.unresolved - counts.too_large, counts.evaluated);
  if (counts.found > 0) text += fmt::format(" ({} were there before)", counts.found);
  if (counts.unevaluated > 0) text += fmt::format(", {} left over: the best may be among them", counts.unevaluated);
  context.err << text << "\n";
  return counts.failed > 0 ? kSomeFailed : kOk;
}

}  // namespace

Verb tune_verb() {
  return {
      .name = "tune",
      .doc = "find the fastest plan of a job on a cluster, and say why the others lose",
      .details =
          "Model, GPUs, sequences per step, precision, software and overlaps are those of the job; how it is cut over the GPUs "
          "(tp, pp, virtual_stages, cp, ep, expert_tp), data_parallel (ddp, distributed_optimizer, zero2, fsdp, hybrid), "
          "micro_batch, recompute (none, selective, full, or a share of the layers as 50%) and sequence_parallel are looked "
          "for. "
          "--space gives the values of one of these, or of any other key of a job: --space tp=4,8 --space "
          "tp_overlap=none,backward. With --out every finished plan is kept and never run again: after an interruption the "
          "same "
          "command goes on, and DIR/results.csv lists all that were evaluated.",
      .positionals = {{.name = "SCENARIO", .doc = "file, shipped name, or - for standard input", .is_optional = true}},
      .options =
          {cluster_option(false),
           {.name = "job", .value_name = "J.yaml", .doc = "job file or shipped name"},
           {.name = "gpus", .value_name = "N", .doc = "GPUs that the job takes; as the job says, or all, if absent"},
           {.name = "space", .value_name = "KEY=V,V", .doc = "the values that a key of the plan takes", .is_repeatable = true},
           {.name = "top", .value_name = "N", .doc = "plans to show", .default_text = "10"},
           {.name = "max-evaluations",
            .value_name = "N",
            .doc = "plans to run at most, the lowest estimates first",
            .default_text = kDefaultEvaluations},
           {.name = "exhaustive", .doc = "run also plans that their lower bound rules out"},
           {.name = "jobs", .value_name = "N", .doc = "simulations side by side; one per core if absent", .short_name = 'j'},
           {.name = "out", .value_name = "DIR", .doc = "keep finished plans and results.csv there"},
           {.name = "write", .value_name = "OUT.yaml", .doc = "write the job with the best plan, for lockstep run --job"},
           network_model_option(),
           format_option({"table", "json", "csv", "md"}),
           seed_option(),
           set_option()},
      .run = run_tune};
}

}  // namespace lockstep::cli
