// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <ostream>
#include <thread>

#include "base/write_file.h"
#include "sim/cli/common_options.h"
#include "sim/cli/progress.h"
#include "sim/cli/verbs.h"
#include "sim/experiment/calibration/calibration.h"
#include "sim/experiment/validation.h"
#include "sim/report/calibration_report.h"
#include "sim/report/validation_chart.h"
#include "sim/report/validation_report.h"

namespace lockstep::cli {
namespace {

constexpr std::int64_t kMostThreads = 1024;

std::vector<std::string> suite_names() {
  std::vector<std::string> names;
  for (const Suite& s : suites()) names.push_back(s.name);
  return names;
}

// The shipped tables of a suite: validation/FILE below the first root that has it, or all tables of a folder.
std::vector<std::string> default_data(const ConfigLibrary& library, const Suite& suite) {
  namespace fs = std::filesystem;
  for (const std::string& root : library.roots()) {
    const std::string file = root + "/validation/" + suite.default_file;
    std::error_code error;
    if (!fs::is_directory(file, error)) {
      if (std::ifstream(file).good()) return {file};
      continue;
    }
    std::vector<std::string> files;
    for (const fs::directory_entry& e : fs::directory_iterator(file)) {
      if (e.path().extension() == ".csv") files.push_back(e.path().string());
    }
    std::sort(files.begin(), files.end());
    return files;
  }
  throw UserError(fmt::format("the shipped table {} was not found", suite.default_file), "give --data FILE.csv");
}

// Of the collectives suite: each table predicted by constants fitted to the others.
int run_leave_one_out(const VerbContext& context, std::istream& csv, const std::string& file) {
  const Arguments& arguments = context.arguments;
  const std::string format = arguments.text("format");
  if (arguments.text("suite") != "collectives") {
    throw UserError("--leave-one-out fits constants of the collective library", "give --suite collectives");
  }
  if (format == "csv") throw UserError("--leave-one-out has no csv", "give --format table, json or md");
  Diagnostics diagnostics;
  std::vector<SkippedRow> skipped;
  const std::vector<MeasuredTable> tables = read_measured_tables(csv, file, context.library, skipped, diagnostics);
  throw_if_errors(diagnostics);
  if (tables.empty()) throw UserError(fmt::format("{}: no table is eligible", file));
  const std::vector<TableError> errors = leave_one_out(tables.front().cluster.tuning, tables);
  context.out << (format == "json" ? leave_one_out_json(errors)
                  : format == "md" ? leave_one_out_markdown(errors)
                                   : leave_one_out_table(errors));
  return kOk;
}

std::vector<IndexRange> chosen_lines(const std::string& text) {
  std::vector<IndexRange> out;
  std::string_view rest = text;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find(','), rest.size());
    const Parsed<IndexRange> range = Codec<IndexRange>::parse(rest.substr(0, end));
    if (!range) throw UserError(fmt::format("--rows: {}", range.error), "lines of the CSV, like 2-13,20");
    out.push_back(*range.value);
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return out;
}

// Of the suites that take several tables.
SuiteResult run_tables(const VerbContext& context, const Suite& suite, const std::vector<std::string>& files, bool is_whole,
                       Diagnostics& diagnostics) {
  const Arguments& arguments = context.arguments;
  ProgressLine line(ProgressLine::InLogs::kHalfMinute);
  const auto cores = static_cast<std::int64_t>(std::max(1u, std::thread::hardware_concurrency()));
  const SuiteOptions options{
      .threads = static_cast<std::size_t>(arguments.integer("jobs", 1, kMostThreads).value_or(cores)),
      .lines = chosen_lines(arguments.text("rows")),
      .source = arguments.text("source"),
      .on_progress = [&line](std::size_t done, std::size_t of) {
        line.show([&](double seconds) { return fmt::format("{} of {} rows, {:.0f} s", done, of, seconds); });
      }};
  return suite.run_files(files, is_whole, context.library, options, diagnostics);
}

// What --source and --rows ask for and no table has.
std::string nothing_chosen(const Arguments& arguments) {
  std::string what = "no row is eligible";
  if (arguments.has("rows")) what = fmt::format("--rows {}: {}", arguments.text("rows"), what);
  if (arguments.has("source")) what = fmt::format("--source {}: {}", arguments.text("source"), what);
  return what;
}

// "tables: a, b".
std::string names_of(const std::vector<std::string>& files) {
  std::string text = "tables:";
  for (const std::string& file : files) {
    text += fmt::format("{} {}", text.ends_with(':') ? "" : ",", std::filesystem::path(file).stem().string());
  }
  return text;
}

int run(const VerbContext& context) {
  const Arguments& arguments = context.arguments;
  const Suite* suite = nullptr;
  for (const Suite& s : suites()) {
    if (s.name == arguments.text("suite")) suite = &s;
  }
  LOCKSTEP_CHECK(suite != nullptr, "the parser let an unknown suite pass");
  const bool is_whole = !arguments.has("data");
  const std::vector<std::string> files = is_whole ? default_data(context.library, *suite) : std::vector{arguments.text("data")};
  const std::string& file = files.front();
  std::ifstream csv(file, std::ios::binary);
  if (!csv) throw UserError(fmt::format("{}: cannot be read", file));
  if (arguments.has("leave-one-out")) return run_leave_one_out(context, csv, file);
  Diagnostics diagnostics;
  for (const char* name : {"rows", "source", "jobs"}) {
    if (arguments.has(name) && !suite->run_files) {
      throw UserError(fmt::format("--{} chooses rows of the training suite", name), "give --suite training");
    }
  }
  const SuiteResult result = suite->run_files ? run_tables(context, *suite, files, is_whole, diagnostics)
                                              : suite->run(csv, file, context.library, diagnostics);
  throw_if_errors(diagnostics);
  print_warnings(context, diagnostics);
  const bool is_empty = result.predictions.empty() && result.signs.empty();
  if (is_empty) {
    for (const SkippedRow& s : result.skipped) context.err << fmt::format("{} line {}: {}\n", s.source, s.row, s.reason);
  }
  if (is_empty && is_whole && suite->run_files) throw UserError(nothing_chosen(arguments), names_of(files));
  if (is_empty) throw UserError(fmt::format("{}: no row is eligible", file), "eligible: " + result.rule);
  if (const std::string chart = arguments.text("chart"); !chart.empty()) {
    WholeFile picture(chart);
    picture.write(to_chart(result));
    picture.commit();
  }
  const std::string format = arguments.text("format");
  context.out << (format == "json"  ? to_json(result)
                  : format == "csv" ? to_csv(result)
                  : format == "md"  ? to_markdown(result)
                                    : to_table(result));
  if (const std::string limit = arguments.text("fail-above"); !limit.empty()) {
    const Parsed<Fraction> bound = parse_fraction(limit);
    if (!bound) throw UserError(fmt::format("--fail-above: {}", bound.error), bound.hint);
    if (bound.value->value > 1 && !limit.ends_with('%')) {
      throw UserError(fmt::format("--fail-above: '{}' would be {:.0f} %", limit, 100 * bound.value->value),
                      "write the sign: 5%");
    }
    double worst = 0;
    for (const Prediction& p : result.predictions) worst = std::max(worst, std::abs(p.error()));
    if (worst > bound.value->value) {
      context.err << fmt::format("the largest error is {:.1f} %, above --fail-above {}\n", 100 * worst, limit);
      return kCheckFailed;
    }
  }
  bool holds = true;
  for (const Limit& l : result.limits) {
    if (l.holds()) continue;
    holds = false;
    context.err << fmt::format("{} is {:.1f} %, where {} {:.1f} % is asked\n", l.what, 100 * l.found,
                               l.is_least ? "at least" : "at most", 100 * l.asked);
  }
  return holds ? kOk : kCheckFailed;
}

}  // namespace

Verb validate_verb() {
  return {
      .name = "validate",
      .doc = "predict published measurements and state every error",
      .details =
          "No constant depends on a table or row; the rule that admits rows is printed, and so is why each other row is not "
          "admitted. Exits 1 when a limit that the suite asks for does not hold.",
      .options =
          {{.name = "suite", .value_name = "NAME", .doc = "which measurements", .choices = suite_names(), .is_required = true},
           {.name = "data", .value_name = "FILE.csv", .doc = "another file with the same columns"},
           {.name = "rows", .value_name = "LINES", .doc = "of training: only these lines of the tables, like 2-13,20"},
           {.name = "source", .value_name = "SOURCE", .doc = "of training: only this table or part of one, or training-signs"},
           {.name = "jobs",
            .value_name = "N",
            .doc = "of training: simulations side by side; one per core if absent",
            .short_name = 'j'},
           {.name = "chart", .value_name = "FILE.svg", .doc = "draw predicted over measured, a strip per source"},
           {.name = "fail-above", .value_name = "SHARE", .doc = "like 5%: exit 1 when any row's error is larger"},
           {.name = "leave-one-out", .doc = "of collectives: the error of each table by constants fitted to the other tables"},
           format_option({"table", "json", "csv", "md"})},
      .run = run};
}

}  // namespace lockstep::cli
