// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <ostream>

#include "sim/cli/common_options.h"
#include "sim/cli/verbs.h"
#include "sim/experiment/calibration/calibration.h"
#include "sim/experiment/validation.h"
#include "sim/report/calibration_report.h"
#include "sim/report/validation_report.h"

namespace lockstep::cli {
namespace {

std::vector<std::string> suite_names() {
  std::vector<std::string> names;
  for (const Suite& s : suites()) names.push_back(s.name);
  return names;
}

// The shipped table of a suite: validation/FILE below the first root that has it.
std::string default_data(const ConfigLibrary& library, const Suite& suite) {
  for (const std::string& root : library.roots()) {
    const std::string file = root + "/validation/" + suite.default_file;
    if (std::ifstream(file).good()) return file;
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

int run(const VerbContext& context) {
  const Arguments& arguments = context.arguments;
  const Suite* suite = nullptr;
  for (const Suite& s : suites()) {
    if (s.name == arguments.text("suite")) suite = &s;
  }
  LOCKSTEP_CHECK(suite != nullptr, "the parser let an unknown suite pass");
  const std::string file = arguments.has("data") ? arguments.text("data") : default_data(context.library, *suite);
  std::ifstream csv(file, std::ios::binary);
  if (!csv) throw UserError(fmt::format("{}: cannot be read", file));
  if (arguments.has("leave-one-out")) return run_leave_one_out(context, csv, file);
  Diagnostics diagnostics;
  const SuiteResult result = suite->run(csv, file, context.library, diagnostics);
  throw_if_errors(diagnostics);
  if (result.predictions.empty()) {
    for (const SkippedRow& s : result.skipped) context.err << fmt::format("{} line {}: {}\n", s.source, s.row, s.reason);
  }
  if (result.predictions.empty()) throw UserError(fmt::format("{}: no row is eligible", file), "eligible: " + result.rule);
  const std::string format = arguments.text("format");
  context.out << (format == "json"  ? to_json(result)
                  : format == "csv" ? to_csv(result)
                  : format == "md"  ? to_markdown(result)
                                    : to_table(result));
  if (const std::string limit = arguments.text("fail-above"); !limit.empty()) {
    const Parsed<Fraction> bound = parse_fraction(limit);
    if (!bound) throw UserError(fmt::format("--fail-above: {}", bound.error), bound.hint);
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
           {.name = "fail-above", .value_name = "PERCENT", .doc = "exit 1 when any row's error is larger"},
           {.name = "leave-one-out", .doc = "of collectives: the error of each table by constants fitted to the other tables"},
           format_option({"table", "json", "csv", "md"})},
      .run = run};
}

}  // namespace lockstep::cli
