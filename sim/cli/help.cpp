// SPDX-License-Identifier: Apache-2.0
#include "sim/cli/help.h"

#include <fmt/format.h>

namespace lockstep::cli {
namespace {

std::string usage(const Verb& verb) {
  std::string text = "lockstep " + verb.name;
  for (const PositionalSpec& p : verb.positionals) {
    const std::string name = p.name + (p.is_repeatable ? "..." : "");
    text += p.is_optional ? fmt::format(" [{}]", name) : " " + name;
  }
  for (const OptionSpec& o : verb.options) {
    if (o.is_required) text += fmt::format(" --{} {}", o.name, o.value_name);
  }
  return text + " [OPTION]...";
}

std::string option_line(const OptionSpec& o) {
  std::string names = o.short_name == '\0' ? "    " : fmt::format("-{}, ", o.short_name);
  names += "--" + o.name;
  if (!o.value_name.empty()) names += " " + o.value_name + (o.takes_many ? "..." : "");
  std::string doc = o.doc;
  if (!o.choices.empty()) doc += fmt::format(": {}", fmt::join(o.choices, ", "));
  if (!o.default_text.empty()) doc += fmt::format(" (default {})", o.default_text);
  if (o.is_repeatable) doc += "; repeatable";
  return fmt::format("  {:<28} {}\n", names, doc);
}

constexpr const char* kExitCodes = R"(
Exit codes:
  0    ok
  1    ran, but a check, threshold or comparison failed
  2    usage or configuration error
  3    simulation error, or results that could not be written
  4    some points of a sweep failed
  130  interrupted
  141  the reader of standard output went away
)";

}  // namespace

std::string main_help(const std::vector<Verb>& verbs) {
  std::string text =
      "lockstep predicts how fast training jobs run on GPU clusters.\n\nUsage: lockstep VERB [ARGUMENT]...\n\nVerbs:\n";
  for (const Verb& v : verbs) text += fmt::format("  {:<12} {}\n", v.name, v.doc);
  text += "\n  --help       this text; lockstep VERB --help explains a verb\n  --version    the version\n";
  return text + kExitCodes;
}

std::string verb_help(const Verb& verb) {
  std::string text = fmt::format("Usage: {}\n\n{}\n", usage(verb), verb.doc);
  if (!verb.details.empty()) text += fmt::format("\n{}\n", verb.details);
  if (!verb.positionals.empty()) text += "\nArguments:\n";
  for (const PositionalSpec& p : verb.positionals) {
    const std::string choices = p.choices.empty() ? "" : fmt::format(": {}", fmt::join(p.choices, ", "));
    text += fmt::format("  {:<28} {}{}\n", p.name, p.doc, choices);
  }
  text += "\nOptions:\n";
  for (const OptionSpec& o : verb.options) {
    if (!o.is_passed_on) text += option_line(o);
  }
  return text + kExitCodes;
}

}  // namespace lockstep::cli
