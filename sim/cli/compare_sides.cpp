// SPDX-License-Identifier: Apache-2.0
#include "sim/cli/compare_sides.h"

#include <fmt/core.h>

#include <algorithm>
#include <set>
#include <sstream>

#include "base/check.h"
#include "base/diagnostics.h"
#include "sim/cli/parse.h"
#include "sim/cli/verbs.h"
#include "sim/report/comparison/comparison_report.h"

namespace lockstep::cli {
namespace {

constexpr const char* kSides[] = {"a", "b", "c", "d"};

// Options that decide what is printed, not what is computed, and those that make a verb compare by itself.
bool is_left_out(const std::string& option) {
  constexpr std::string_view kLeftOut[] = {"format", "help", "show-config", "explain", "all", "routing", "seeds"};
  return std::find(std::begin(kLeftOut), std::end(kLeftOut), option) != std::end(kLeftOut);
}

std::vector<Verb> compared_verbs() { return {run_verb(), collective_verb(), traffic_verb(), topo_verb()}; }

const OptionSpec* find_option(const Verb& verb, const std::string& name) {
  for (const OptionSpec& o : verb.options) {
    if (o.name == name && !is_left_out(name)) return &o;
  }
  return nullptr;
}

using Values = std::map<std::string, std::vector<std::string>>;  // by option

// Adds NAME=VALUE of a side: an option of the verb, which replaces the common one, or a key of the configuration.
void add_assignment(const Verb& verb, const std::string& assignment, Values& values, std::set<std::string>& own) {
  const std::size_t equals = std::min(assignment.find('='), assignment.size());
  const std::string name = assignment.substr(0, equals);
  const OptionSpec* option = find_option(verb, name);
  if (option == nullptr) {
    if (equals == assignment.size()) {
      std::vector<std::string> names;
      for (const OptionSpec& o : verb.options) {
        if (!is_left_out(o.name)) names.push_back(o.name);
      }
      const std::string guess = closest(name, names);
      throw UserError(
          fmt::format("'{}' is no option of {}, and no KEY=VALUE", name, verb.name),
          guess.empty() ? fmt::format("see lockstep {} --help", verb.name) : fmt::format("did you mean {}?", guess));
    }
    values["set"].push_back(assignment);
    return;
  }
  if (option->value_name.empty() != (equals == assignment.size())) {
    throw UserError(fmt::format("{} {}", name, option->value_name.empty() ? "takes no value" : "needs a value"),
                    fmt::format("see lockstep {} --help", verb.name));
  }
  if (!option->is_repeatable && own.insert(name).second) values[name].clear();
  values[name].push_back(equals == assignment.size() ? "" : assignment.substr(equals + 1));
}

// The verb's words for one side.
std::vector<std::string> words_of(const Verb& verb, const Arguments& arguments, const char* side) {
  Values values;
  for (const OptionSpec& o : verb.options) {
    if (find_option(verb, o.name) != nullptr && arguments.has(o.name)) values[o.name] = arguments.all(o.name);
  }
  std::set<std::string> own;
  for (const std::string& assignment : arguments.all(side)) add_assignment(verb, assignment, values, own);
  std::vector<std::string> words(arguments.positional().begin() + 1, arguments.positional().end());
  for (const OptionSpec& o : verb.options) {
    const auto given = values.find(o.name);
    if (given == values.end()) continue;
    for (const std::string& value : given->second) {
      words.push_back("--" + o.name);
      if (!o.value_name.empty()) words.push_back(value);
    }
  }
  words.insert(words.end(), {"--format", "json"});
  return words;
}

std::string label(const Arguments& arguments, const char* side) {
  std::string text;
  for (const std::string& a : arguments.all(side)) text += (text.empty() ? "" : ", ") + a;
  return text.empty() ? "as given" : text;
}

// Lines that were not printed before.
void print_new_lines(const std::string& text, std::set<std::string>& printed, std::ostream& err) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (printed.insert(line).second) err << line << "\n";
  }
}

void refuse_options_of_other_verbs(const Verb& verb, const Arguments& arguments) {
  for (const Verb& other : compared_verbs()) {
    for (const OptionSpec& o : other.options) {
      if (is_left_out(o.name) || find_option(verb, o.name) != nullptr || !arguments.has(o.name)) continue;
      throw UserError(fmt::format("{} has no option --{}", verb.name, o.name),
                      fmt::format("see lockstep {} --help", verb.name));
    }
  }
}

}  // namespace

bool is_compared_verb(const std::string& word) {
  const std::vector<Verb> verbs = compared_verbs();
  return std::any_of(verbs.begin(), verbs.end(), [&](const Verb& v) { return v.name == word; });
}

void add_options_of_sides(Verb& compare) {
  for (const char* side : kSides) {
    compare.options.push_back({.name = side,
                               .value_name = "NAME=VALUE",
                               .doc = fmt::format("of side {} alone", static_cast<char>(side[0] - 'a' + 'A')),
                               .is_repeatable = true});
  }
  for (const Verb& verb : compared_verbs()) {
    for (const OptionSpec& o : verb.options) {
      const bool is_known = std::any_of(compare.options.begin(), compare.options.end(),
                                        [&](const OptionSpec& known) { return known.name == o.name; });
      if (is_known || is_left_out(o.name)) continue;
      compare.options.push_back({.name = o.name,
                                 .value_name = o.value_name,
                                 .doc = o.doc,
                                 .short_name = o.short_name,
                                 .is_repeatable = true,
                                 .is_passed_on = true});
    }
  }
}

void refuse_options_of_sides(const Arguments& arguments) {
  Verb sides;
  add_options_of_sides(sides);
  for (const OptionSpec& o : sides.options) {
    if (!arguments.has(o.name)) continue;
    throw UserError(fmt::format("--{} is about a verb that compare runs, not about files", o.name),
                    "lockstep compare run SCENARIO --a NAME=VALUE --b NAME=VALUE");
  }
}

std::list<FlatResult> run_sides(const VerbContext& context) {
  const Arguments& arguments = context.arguments;
  const std::vector<Verb> verbs = compared_verbs();
  const auto verb =
      std::find_if(verbs.begin(), verbs.end(), [&](const Verb& v) { return v.name == arguments.positional().front(); });
  LOCKSTEP_CHECK(verb != verbs.end(), "no verb that can be compared");
  refuse_options_of_other_verbs(*verb, arguments);
  if (std::count(arguments.positional().begin(), arguments.positional().end(), "-") > 0) {
    throw UserError("standard input can be read once, and every side would read it", "give a file");
  }
  std::size_t count = 0;
  for (std::size_t i = 0; i < std::size(kSides); ++i) {
    if (arguments.has(kSides[i])) count = i + 1;
  }
  if (count < 2) throw UserError("there is one side to compare", "--b NAME=VALUE says what is different on side B");
  std::list<FlatResult> results;
  std::set<std::string> printed;
  for (std::size_t i = 0; i < count; ++i) {
    const std::string name = fmt::format("side {} ({})", side_name(i), label(arguments, kSides[i]));
    std::ostringstream out;
    std::ostringstream err;
    try {
      const Arguments own = parse_arguments(*verb, words_of(*verb, arguments, kSides[i]));
      const int code = verb->run({own, context.library, out, err, false});
      if (code != kOk) throw SimulationError(fmt::format("{}: {}", name, err.str()));
    } catch (const std::exception&) {
      context.err << name << ":\n";
      throw;
    }
    print_new_lines(err.str(), printed, context.err);
    Diagnostics d;
    std::optional<FlatResult> result = parse_result(out.str(), label(arguments, kSides[i]), {}, d);
    throw_if_errors(d);
    results.push_back(*std::move(result));
  }
  return results;
}

}  // namespace lockstep::cli
