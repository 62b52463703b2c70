// SPDX-License-Identifier: Apache-2.0
// What a shell script would run, found without running anything: variables are followed through assignments, arrays, conditions, loops over
// lists and functions; every other command is noted with its expanded words. A condition that cannot be decided leaves its branch out, and
// says so when the branch would have mattered.
//
// Not modelled: the environment (a variable that the script does not set is unknown), other files, pipes, while loops (never entered).
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/diagnostics.h"
#include "workloads/import/shell/shell_lexer.h"
#include "workloads/import/shell/shell_variables.h"

namespace lockstep {

struct ShellCommand {
  std::vector<TracedText> fields;
};

class ShellScript {
 public:
  // `fixed`: variables whose values the user gives, {"1", "out"}. PRE: the text is clean (base/text_file.h) and below 16 MiB.
  ShellScript(std::string text, std::string file, const std::vector<std::pair<std::string, std::string>>& fixed);

  // Warnings go to `d`.
  void run(Diagnostics& d);

  [[nodiscard]] const std::vector<ShellCommand>& commands() const { return commands_; }
  // What here-documents and echo wrote, by the name of the file.
  [[nodiscard]] const std::map<std::string, TracedText>& files() const { return files_; }
  [[nodiscard]] ShellVariables& variables() { return variables_; }
  [[nodiscard]] const std::string& text() const { return text_; }

  [[nodiscard]] Position position(std::uint32_t place) const;
  [[nodiscard]] Position position(const TracedText& t) const { return position(t.at.empty() ? 0 : t.at.front()); }
  // The words of a text that is itself a command line, as `bash -c` is given.
  [[nodiscard]] std::vector<TracedText> words_of(const TracedText& code);

 private:
  friend class ShellRun;
  static constexpr std::uint32_t kFixedPlace = 0x8000'0000;  // and above: values of `fixed`

  std::string text_;
  std::string file_;
  std::vector<std::size_t> lines_;  // where each begins
  std::vector<std::string> fixed_names_;
  ShellVariables variables_;
  std::vector<ShellCommand> commands_;
  std::map<std::string, TracedText> files_;
};

}  // namespace lockstep
