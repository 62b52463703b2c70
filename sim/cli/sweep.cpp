// SPDX-License-Identifier: Apache-2.0
// lockstep sweep: many runs from one file, kept as they finish.
#include <fmt/core.h>

#include <filesystem>
#include <ostream>
#include <thread>

#include "base/csv.h"
#include "sim/cli/common_options.h"
#include "sim/cli/output.h"
#include "sim/cli/progress.h"
#include "sim/cli/verbs.h"
#include "sim/experiment/sweep/sweep_files.h"

namespace lockstep::cli {
namespace {

constexpr std::int64_t kMostThreads = 1024;

Sweep load(const VerbContext& context) {
  Diagnostics d;
  ReadContext read(d, &context.library);
  std::optional<Sweep> sweep;
  const std::string& reference = context.arguments.positional().front();
  if (std::optional<Document> document = context.library.open("sweep", reference, {"command line", 0, 0}, {}, d)) {
    sweep = Sweep::load(*std::move(document), context.arguments.all("set"), read);
  }
  throw_if_errors(d);
  LOCKSTEP_CHECK(sweep.has_value(), "a sweep was refused without an error");
  print_warnings(context, d);
  return *std::move(sweep);
}

std::int64_t number(const std::string& text, const std::string& whole) {
  const Parsed<std::int64_t> n = parse_int(text);
  if (!n || *n.value < 0) {
    throw UserError(fmt::format("--shard: '{}' is no share of the points", whole), "I/N, for example 0/4, 1/4, 2/4 and 3/4");
  }
  return *n.value;
}

// The points that this process runs.
std::vector<std::size_t> selected(const Arguments& arguments, const Sweep& sweep) {
  std::size_t first = 0;
  std::size_t step = 1;
  if (arguments.has("index") && arguments.has("shard"))
    throw UserError("--index and --shard do not go together", "one of them");
  if (const auto index = arguments.integer("index", 0, static_cast<std::int64_t>(sweep.size()) - 1)) {
    return {static_cast<std::size_t>(*index)};
  }
  if (arguments.has("shard")) {
    const std::string text = arguments.text("shard");
    const std::size_t slash = std::min(text.find('/'), text.size());
    const std::int64_t shard = number(text.substr(0, slash), text);
    const std::int64_t shards = number(slash == text.size() ? "" : text.substr(slash + 1), text);
    if (shards == 0 || shard > shards) throw UserError(fmt::format("--shard: there is no {}", text), "I from 0 to N - 1");
    first = static_cast<std::size_t>(shard % shards);
    step = static_cast<std::size_t>(shards);
  }
  std::vector<std::size_t> points;
  for (std::size_t i = first; i < sweep.size(); i += step) points.push_back(i);
  return points;
}

std::string folder_of(const VerbContext& context, const Sweep& sweep) {
  return context.arguments.has("out") ? context.arguments.text("out") : "out/" + sweep.spec().name;
}

int print_list(const VerbContext& context, const Sweep& sweep, const std::vector<std::size_t>& points) {
  context.out << csv_row(swept_columns(sweep));
  for (const std::size_t i : points) context.out << csv_row(swept_fields(sweep, i));
  return kOk;
}

void print_warnings_of_points(const VerbContext& context, const PointStatuses& statuses) {
  constexpr std::size_t kMost = 20;
  const std::vector<std::string> all = all_warnings(statuses);
  for (std::size_t i = 0; i < std::min(all.size(), kMost); ++i) context.err << "warning: " << all[i] << "\n";
  if (all.size() > kMost) context.err << fmt::format("warning: {} more of this kind\n", all.size() - kMost);
}

int print_dry_run(const VerbContext& context, const Sweep& sweep, const std::vector<std::size_t>& points,
                  const SweepRunOptions& options) {
  const std::string folder = folder_of(context, sweep);
  std::optional<PointStore> store;
  if (PointStore::is_in(folder)) store.emplace(folder, PointStore::Access::kRead);
  PointStatuses statuses(sweep.size());
  complete_statuses(sweep, store ? &*store : nullptr, options, statuses);
  std::vector<std::string> header = swept_columns(sweep);
  header.insert(header.end(), {"status", "error"});
  context.out << csv_row(header);
  std::size_t stored = 0;
  std::size_t invalid = 0;
  for (const std::size_t i : points) {
    const PointStatus& s = statuses[i];
    stored += s.state == PointState::kStored ? 1 : 0;
    invalid += s.state == PointState::kInvalid ? 1 : 0;
    std::vector<std::string> row = swept_fields(sweep, i);
    row.push_back(s.state == PointState::kStored ? "stored" : s.state == PointState::kInvalid ? "invalid" : "to run");
    row.push_back(s.error);
    context.out << csv_row(row);
  }
  context.out.flush();
  print_warnings_of_points(context, statuses);
  context.err << fmt::format("{} of {} points: {} would run, {} are stored, {} are invalid\n", points.size(), sweep.size(),
                             points.size() - stored - invalid, stored, invalid);
  return kOk;
}

int run_sweep(const VerbContext& context) {
  const Arguments& arguments = context.arguments;
  const Sweep sweep = load(context);
  const std::vector<std::size_t> points = selected(arguments, sweep);
  if (arguments.has("list")) return print_list(context, sweep, points);

  ProgressLine line(ProgressLine::InLogs::kHalfMinute);
  const auto cores = static_cast<std::int64_t>(std::max(1u, std::thread::hardware_concurrency()));
  const SweepRunOptions options{.library = context.library,
                                .version = LOCKSTEP_VERSION,
                                .threads = static_cast<std::size_t>(arguments.integer("jobs", 1, kMostThreads).value_or(cores)),
                                .on_progress = [&line](const SweepProgress& p) {
                                  line.show([&p](double seconds) { return sweep_progress_text(p, seconds); });
                                }};
  if (arguments.has("dry-run")) return print_dry_run(context, sweep, points, options);

  const std::string folder = folder_of(context, sweep);
  const std::vector<std::string> merged = arguments.all("merge");
  for (const std::string& from : merged) {
    if (!PointStore::is_in(from)) throw UserError(fmt::format("--merge: {} has no store.sqlite", from), "a folder of --out");
  }
  PointStore store(folder, PointStore::Access::kWrite);
  goes_on_when_repeated = true;
  PointStatuses statuses(sweep.size());
  SweepProgress progress;
  if (merged.empty()) progress = run_points(sweep, points, store, folder, options, statuses);
  complete_statuses(sweep, &store, options, statuses);
  merge_stores(merged, statuses, store);
  const SweepCounts counts = write_sweep_files(
      sweep, statuses, store, {.folder = folder, .version = LOCKSTEP_VERSION, .has_measured = arguments.has("measured")});
  line.clear();
  print_warnings_of_points(context, statuses);
  std::string text = fmt::format("{} points: {} ok, {} failed", counts.points, counts.good, counts.failed);
  if (counts.missing() > 0) text += fmt::format(", {} missing", counts.missing());
  if (progress.found > 0) text += fmt::format(" ({} were there before)", progress.found);
  context.err << fmt::format("{}; {}\n", text, (std::filesystem::path(folder) / "results.csv").string());
  if (counts.missing() > 0 && !merged.empty()) return kCheckFailed;
  return (merged.empty() ? progress.failed : counts.failed) > 0 ? kSomeFailed : kOk;
}

}  // namespace

Verb sweep_verb() {
  return {
      .name = "sweep",
      .doc = "run a scenario for many values of its keys, into one table",
      .details =
          "Every point is kept in DIR/store.sqlite as soon as it is finished and never run again: after an interruption the "
          "same command goes on. DIR/results.csv has a row for every finished point, in the order of --list. In --set, paths "
          "that "
          "begin with cluster. or job. change every point, others the sweep: --set axes.seed=[0,1,2].",
      .positionals = {{.name = "SWEEP", .doc = "file, or a name of lockstep list sweeps"}},
      .options =
          {{.name = "jobs", .value_name = "N", .doc = "simulations side by side; one per core if absent", .short_name = 'j'},
           {.name = "out", .value_name = "DIR", .doc = "where store and results go; out/NAME if absent"},
           {.name = "list", .value_name = "", .doc = "print the points as CSV and stop"},
           {.name = "dry-run", .value_name = "", .doc = "print what would run and what is there already, and stop"},
           {.name = "index", .value_name = "I", .doc = "run the point of this number alone"},
           {.name = "shard", .value_name = "I/N", .doc = "run every N-th point from point I on (I from 0)"},
           {.name = "merge",
            .value_name = "DIR",
            .doc = "run nothing; join the finished points of these folders",
            .takes_many = true},
           {.name = "measured", .value_name = "", .doc = "add columns of what the simulator itself took: wall time and memory"},
           set_option()},
      .run = run_sweep};
}

}  // namespace lockstep::cli
