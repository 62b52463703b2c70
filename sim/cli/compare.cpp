// SPDX-License-Identifier: Apache-2.0
// lockstep compare: what differs between results, read from files or made on the spot by one verb in several ways.
#include <fmt/core.h>

#include <algorithm>
#include <list>
#include <ostream>

#include "sim/cli/common_options.h"
#include "sim/cli/compare_sides.h"
#include "sim/cli/verbs.h"
#include "sim/report/comparison/comparison_report.h"

namespace lockstep::cli {
namespace {

std::vector<DifferenceBound> bounds_of(const Arguments& arguments) {
  std::vector<DifferenceBound> bounds;
  for (const std::string& text : arguments.all("fail-above")) {
    const std::size_t equals = text.find('=');
    DifferenceBound bound;
    if (equals != std::string::npos) bound.pattern = text.substr(0, equals);
    const std::string share = equals == std::string::npos ? text : text.substr(equals + 1);
    const Parsed<Fraction> parsed = parse_fraction(share);
    if (!parsed) throw UserError(fmt::format("--fail-above: {}", parsed.error), parsed.hint);
    if (parsed.value->value < 0 || bound.pattern.empty() != (equals == std::string::npos)) {
      throw UserError(fmt::format("--fail-above: '{}' is no bound", text), "5%, or METRIC=5%");
    }
    bound.share = parsed.value->value;
    if (bound.share > 1 && !share.ends_with('%')) {
      throw UserError(fmt::format("--fail-above: '{}' would be {} %", share, double_to_text(100 * bound.share)),
                      "write the sign: 5%");
    }
    bounds.push_back(std::move(bound));
  }
  return bounds;
}

std::list<FlatResult> read_files(const Arguments& arguments) {
  const std::vector<std::string>& files = arguments.positional();
  if (files.size() < 2)
    throw UserError("there is nothing to compare with", "two result files or more, the first of which is the measure");
  if (std::count(files.begin(), files.end(), "-") > 1)
    throw UserError("standard input can be read once", "one of the files may be -");
  Diagnostics d;
  std::list<FlatResult> results;
  for (const std::string& file : files) {
    if (std::optional<FlatResult> r = read_result(file, arguments.all("key"), d)) results.push_back(*std::move(r));
  }
  throw_if_errors(d);
  return results;
}

int run(const VerbContext& context) {
  const Arguments& arguments = context.arguments;
  const ComparisonOptions options{.metrics = arguments.all("metric"),
                                  .bounds = bounds_of(arguments),
                                  .only_worse = arguments.has("only-worse"),
                                  .with_simulator = arguments.has("measured")};
  if (options.only_worse && options.bounds.empty())
    throw UserError("--only-worse is about --fail-above", "add --fail-above 5%");
  const bool runs = is_compared_verb(arguments.positional().front());
  if (!runs) refuse_options_of_sides(arguments);
  const std::list<FlatResult> results = runs ? run_sides(context) : read_files(arguments);
  Diagnostics d;
  std::vector<Comparison> comparisons;
  for (auto b = std::next(results.begin()); b != results.end(); ++b) {
    comparisons.push_back(compare_results(results.front(), *b, options, d));
  }
  throw_if_errors(d);
  const std::string format = arguments.text("format");
  const bool is_whole = arguments.has("all");
  context.out << (format == "json"  ? to_json(comparisons)
                  : format == "csv" ? to_csv(comparisons)
                  : format == "md"  ? to_markdown(comparisons, is_whole)
                                    : to_table(comparisons, is_whole));
  int code = kOk;
  for (std::size_t i = 0; i < comparisons.size(); ++i) {
    const std::string sentence = failure_sentence(comparisons[i], side_name(i + 1));
    if (sentence.empty()) continue;
    context.err << sentence << "\n";
    code = kCheckFailed;
  }
  return code;
}

}  // namespace

Verb compare_verb() {
  Verb verb{
      .name = "compare",
      .doc = "what differs between results, and by how much",
      .details =
          "Each FILE is a result of run, collective, traffic, topo or validate (JSON), one of their tables (CSV), the "
          "results.csv of a "
          "sweep, or - for standard input. Rows are told by what they are about (size, swept keys, link, source and row), and "
          "every "
          "file is compared with the first one. relative = (B - A) / |A|.\n\n"
          "Or one verb in several ways, run on the spot: after `run`, `collective`, `traffic` or `topo` come its arguments and "
          "options, "
          "which hold for all sides, and what only one side has:\n"
          "  lockstep compare run llama3-8b-fsdp --a network=analytic --b network=flow\n"
          "  lockstep compare collective all_reduce --cluster dgx-h100 --gpus 16 --a algorithm=ring --b algorithm=tree\n"
          "NAME is an option of the verb (`--b no-symmetry`, `--b seed=1`), else a key of the configuration as in --set; a key "
          "that is "
          "called like an option is set=NAME=VALUE. Without --a, side A is the verb as given.",
      .positionals = {{.name = "FILE", .doc = "two results or more; or a verb and its arguments", .is_repeatable = true}},
      .options =
          {{.name = "metric",
            .value_name = "NAME",
            .doc = "compare this metric alone: a key or its end, * and ? stand for any text",
            .is_repeatable = true},
           {.name = "fail-above",
            .value_name = "[NAME=]PERCENT",
            .doc = "exit 1 when a metric differs by more, or a row has no counterpart",
            .is_repeatable = true},
           {.name = "only-worse", .doc = "let --fail-above overlook what is better, or neither better nor worse"},
           {.name = "key", .value_name = "COLUMN", .doc = "a column that names the rows of any CSV", .is_repeatable = true},
           {.name = "all", .doc = "in tables: every row that differs, however many"},
           {.name = "measured", .doc = "compare what the simulator took as well: wall time, memory, events, classes of equals"},
           format_option({"table", "json", "csv", "md"})},
      .run = run};
  add_options_of_sides(verb);
  return verb;
}

}  // namespace lockstep::cli
