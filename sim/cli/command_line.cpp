// SPDX-License-Identifier: Apache-2.0
#include "sim/cli/command_line.h"

#include <cstdlib>
#include <exception>
#include <new>
#include <ostream>

#include "base/check.h"
#include "base/diagnostics.h"
#include "base/write_file.h"
#include "sim/cli/help.h"
#include "sim/cli/output.h"
#include "sim/cli/parse.h"

namespace lockstep::cli {
namespace {

const Verb& find_verb(const std::vector<Verb>& verbs, const std::string& name) {
  std::vector<std::string> names;
  for (const Verb& v : verbs) {
    if (v.name == name) return v;
    names.push_back(v.name);
  }
  const std::string guess = closest(name, names);
  throw UserError(name.starts_with('-') ? "unknown option " + name : "unknown verb '" + name + "'",
                  guess.empty() ? "see lockstep --help" : "did you mean '" + guess + "'?");
}

bool asks_for_help(const std::vector<std::string>& words) {
  for (const std::string& word : words) {
    if (word == "--help" || word == "-h") return true;
    if (word == "--") return false;
  }
  return false;
}

int run(const std::vector<Verb>& verbs, const std::vector<std::string>& words, const ConfigLibrary& library,
        const Terminal& terminal) {
  if (words.empty()) {
    terminal.err << main_help(verbs);
    return kBadInput;
  }
  if (words[0] == "--help" || words[0] == "-h") {
    terminal.out << main_help(verbs);
    return kOk;
  }
  if (words[0] == "--version") {
    terminal.out << "lockstep " << LOCKSTEP_VERSION << "\n";
    return kOk;
  }
  const Verb& verb = find_verb(verbs, words[0]);
  const std::vector<std::string> rest(words.begin() + 1, words.end());
  if (asks_for_help(rest)) {
    terminal.out << verb_help(verb);
    return kOk;
  }
  const Arguments arguments = parse_arguments(verb, rest);
  return verb.run({arguments, library, terminal.out, terminal.err, terminal.is_out_color});
}

int fail(std::ostream& err, const std::string& what, const char* message, int code) {
  err << "lockstep: " << what << message << "\n";
  return code;
}

}  // namespace

void print_diagnostics(std::ostream& err, const Diagnostics& d, bool is_color) {
  for (const Diagnostic& item : d.in_reading_order()) {
    if (is_color) err << (item.severity == Severity::kError ? "\033[31m" : "\033[33m");
    err << to_text(item) << (is_color ? "\033[0m\n" : "\n");
  }
}

int run_command_line(const std::vector<Verb>& verbs, const std::vector<std::string>& words, const ConfigLibrary& library,
                     Terminal terminal) {
  try {
    const int code = run(verbs, words, library, terminal);
    terminal.out.flush();
    return code;
  } catch (const OutputError& e) {
    return e.is_closed_pipe() ? static_cast<int>(kOutputClosed) : fail(terminal.err, "", e.what(), kSimulationFailed);
  } catch (const UserError& e) {
    print_diagnostics(terminal.err, e.diagnostics(), terminal.is_err_color);
    return kBadInput;
  } catch (const SimulationError& e) {
    return fail(terminal.err, "simulation error: ", e.what(), kSimulationFailed);
  } catch (const StorageError& e) {
    return fail(terminal.err, "", e.what(), kSimulationFailed);
  } catch (const InternalError& e) {
    return fail(terminal.err, "this is a bug in lockstep, please report it: ", e.what(), kSimulationFailed);
  } catch (const std::bad_alloc&) {
    return fail(terminal.err, "", "out of memory", kSimulationFailed);
  } catch (const std::exception& e) {
    return fail(terminal.err, "this is a bug in lockstep, please report it: ", e.what(), kSimulationFailed);
  }
}

ConfigLibrary default_library() {
  std::vector<std::string> roots;
  if (const char* own = std::getenv("LOCKSTEP_CONFIGS"); own != nullptr && *own != '\0') roots.emplace_back(own);
  roots.emplace_back(LOCKSTEP_SOURCE_CONFIGS);
  roots.emplace_back(LOCKSTEP_INSTALL_CONFIGS);
  return ConfigLibrary(std::move(roots));
}

}  // namespace lockstep::cli
