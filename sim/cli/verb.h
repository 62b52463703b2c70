// SPDX-License-Identifier: Apache-2.0
// One verb of the command line as a value: name, options, positional arguments, and the function that runs it. The same table feeds
// the parser (Boost.Program_options, seen by parse.cpp alone), --help and the errors. A verb lives in its own file, which exports
// `Verb NAME_verb();` (sim/cli/verbs.h) and is listed in registry.cpp.
#pragma once

#include <cstdint>
#include <functional>
#include <iosfwd>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/config_library.h"
#include "sim/cli/exit_code.h"

namespace lockstep::cli {

struct OptionSpec {
  std::string name;        // "cluster"
  std::string value_name;  // "C.yaml"; empty: a flag without value
  std::string doc;
  std::string default_text = {};          // shown, and what text() gives when absent
  std::vector<std::string> choices = {};  // the only values accepted; empty: any
  char short_name = '\0';                 // 'b' for -b
  bool is_repeatable = false;
  bool is_required = false;
  bool takes_many = false;    // all words up to the next option
  bool is_passed_on = false;  // of another verb, whose --help explains it
};

struct PositionalSpec {
  std::string name;  // "FILE"
  std::string doc;
  std::vector<std::string> choices = {};
  bool is_optional = false;
  bool is_repeatable = false;  // the last one only
};

// Parsed arguments of one verb. Names are those of the verb's OptionSpecs; asking for another is a bug.
class Arguments {
 public:
  using Values = std::map<std::string, std::vector<std::string>, std::less<>>;
  using Defaults = std::map<std::string, std::string, std::less<>>;  // one entry per option the verb has
  Arguments(Values values, Defaults defaults, std::vector<std::string> positional)
      : values_(std::move(values)), defaults_(std::move(defaults)), positional_(std::move(positional)) {}

  [[nodiscard]] bool has(std::string_view option) const;  // given on the command line (flags: set)
  // The value, or the default; empty when there is neither.
  [[nodiscard]] std::string text(std::string_view option) const;
  [[nodiscard]] std::vector<std::string> all(std::string_view option) const;  // of a repeatable option
  // The value as a decimal integer in [lowest, highest]; throws UserError naming the option. Empty: neither value nor default.
  [[nodiscard]] std::optional<std::int64_t> integer(std::string_view option, std::int64_t lowest, std::int64_t highest) const;
  [[nodiscard]] const std::vector<std::string>& positional() const { return positional_; }

 private:
  Values values_;
  Defaults defaults_;
  std::vector<std::string> positional_;
};

// What a verb may touch. Results go to `out`, all else to `err`.
struct VerbContext {
  const Arguments& arguments;
  const ConfigLibrary& library;
  std::ostream& out;
  std::ostream& err;
  bool is_color = false;  // stdout is a terminal and NO_COLOR is not set
};

struct Verb {
  std::string name;
  std::string doc;      // one line
  std::string details;  // more, for --help; may be empty
  std::vector<PositionalSpec> positionals;
  std::vector<OptionSpec> options;
  int (*run)(const VerbContext& context) = nullptr;  // an ExitCode; errors are thrown (UserError, SimulationError)
};

}  // namespace lockstep::cli
