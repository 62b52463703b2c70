// SPDX-License-Identifier: Apache-2.0
// The only file that sees Boost.Program_options.
#include "sim/cli/parse.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/program_options.hpp>

#include "base/diagnostics.h"

namespace lockstep::cli {
namespace {

namespace po = boost::program_options;

std::string help_hint(const Verb& verb) { return fmt::format("see lockstep {} --help", verb.name); }

po::options_description describe(const Verb& verb) {
  po::options_description description;
  for (const OptionSpec& o : verb.options) {
    const std::string names = o.short_name == '\0' ? o.name : fmt::format("{},{}", o.name, o.short_name);
    if (o.value_name.empty()) {
      description.add_options()(names.c_str(), "");
    } else if (o.takes_many) {
      description.add_options()(names.c_str(), po::value<std::vector<std::string>>()->multitoken(), "");
    } else {
      description.add_options()(names.c_str(), po::value<std::string>(), "");
    }
  }
  return description;
}

// The option meant by a word that is none: an abbreviation of exactly one, or the closest.
std::string guess_option(const Verb& verb, const std::string& word) {
  const std::string bare = word.substr(std::min(word.find_first_not_of('-'), word.size()));
  std::vector<std::string> names;
  std::vector<std::string> longer;
  for (const OptionSpec& o : verb.options) {
    names.push_back(o.name);
    if (!bare.empty() && o.name.starts_with(bare)) longer.push_back(o.name);
  }
  return longer.size() == 1 ? longer.front() : closest(bare, names);
}

[[noreturn]] void refuse_unknown(const Verb& verb, const std::string& word) {
  const std::string guess = guess_option(verb, word);
  throw UserError(fmt::format("unknown option {}", word),
                  guess.empty() ? help_hint(verb) : fmt::format("did you mean --{}?", guess));
}

std::vector<po::option> split_words(const Verb& verb, const std::vector<std::string>& words) {
  namespace style = po::command_line_style;
  const po::options_description description = describe(verb);
  try {
    return po::command_line_parser(words).options(description).style(style::unix_style & ~style::allow_guessing).run().options;
  } catch (const po::unknown_option& e) {
    refuse_unknown(verb, e.get_option_name());
  } catch (const po::invalid_command_line_syntax& e) {
    using Kind = po::invalid_syntax;
    const bool is_flag = e.kind() == Kind::extra_parameter;
    throw UserError(fmt::format("{} {}", e.get_option_name(), is_flag ? "takes no value" : "needs a value"), help_hint(verb));
  } catch (const po::error& e) {
    throw UserError(e.what(), help_hint(verb));
  }
}

std::string choice_error(const std::vector<std::string>& choices, const std::string& value) {
  const std::string guess = closest(value, choices);
  return fmt::format("{}one of {}", guess.empty() ? "" : fmt::format("did you mean {}? ", guess), fmt::join(choices, ", "));
}

void check_choice(const std::string& what, const std::vector<std::string>& choices, const std::string& value) {
  if (choices.empty() || std::find(choices.begin(), choices.end(), value) != choices.end()) return;
  throw UserError(fmt::format("{}: unknown value '{}'", what, value), choice_error(choices, value));
}

void check_options(const Verb& verb, const Arguments::Values& values) {
  for (const OptionSpec& o : verb.options) {
    const auto given = values.find(o.name);
    if (given == values.end()) {
      if (o.is_required) throw UserError(fmt::format("the option --{} {} is missing", o.name, o.value_name), o.doc);
      continue;
    }
    if (given->second.size() > 1 && !o.is_repeatable && !o.takes_many) {
      throw UserError(fmt::format("--{} is given {} times", o.name, given->second.size()), "give it once");
    }
    for (const std::string& value : given->second) check_choice("--" + o.name, o.choices, value);
  }
}

void check_positionals(const Verb& verb, const std::vector<std::string>& given) {
  for (std::size_t i = 0; i < verb.positionals.size(); ++i) {
    const PositionalSpec& p = verb.positionals[i];
    if (i >= given.size()) {
      if (!p.is_optional) throw UserError(fmt::format("the argument {} is missing: {}", p.name, p.doc), help_hint(verb));
      continue;
    }
    check_choice(p.name, p.choices, given[i]);
  }
  const bool is_open = !verb.positionals.empty() && verb.positionals.back().is_repeatable;
  if (given.size() > verb.positionals.size() && !is_open) {
    throw UserError(fmt::format("unexpected argument '{}'", given[verb.positionals.size()]), help_hint(verb));
  }
}

}  // namespace

Arguments parse_arguments(const Verb& verb, const std::vector<std::string>& words) {
  Arguments::Values values;
  Arguments::Defaults defaults;
  std::vector<std::string> positional;
  for (const OptionSpec& o : verb.options) defaults[o.name] = o.default_text;
  for (const po::option& o : split_words(verb, words)) {
    if (o.string_key.empty()) {
      positional.insert(positional.end(), o.value.begin(), o.value.end());
      continue;
    }
    // A short option arrives as "-b".
    const auto spec = std::find_if(verb.options.begin(), verb.options.end(), [&](const OptionSpec& s) {
      return s.name == o.string_key || (s.short_name != '\0' && o.string_key == std::string{'-', s.short_name});
    });
    if (spec == verb.options.end()) refuse_unknown(verb, o.original_tokens.empty() ? o.string_key : o.original_tokens.front());
    std::vector<std::string>& given = values[spec->name];
    if (spec->takes_many) {
      given.insert(given.end(), o.value.begin(), o.value.end());
    } else {
      given.push_back(o.value.empty() ? std::string() : o.value.front());
    }
  }
  check_options(verb, values);
  check_positionals(verb, positional);
  return {std::move(values), std::move(defaults), std::move(positional)};
}

}  // namespace lockstep::cli
