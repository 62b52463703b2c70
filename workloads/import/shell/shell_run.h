// SPDX-License-Identifier: Apache-2.0
// The walk over a script's tokens (shell_script.h): which commands are reached, with which variables.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "workloads/import/shell/shell_script.h"
#include "workloads/import/shell/shell_test.h"

namespace lockstep {

class ShellRun {
 public:
  ShellRun(ShellScript& script, std::vector<ShellToken> tokens, Diagnostics& d)
      : script_(script), tokens_(std::move(tokens)), d_(d) {}
  void run();

 private:
  // kSkip: a branch not taken. kDoubt: one nobody can decide; it is skipped, but whether it would have mattered is noted.
  enum class Mode : std::uint8_t { kRun, kSkip, kDoubt };

  [[nodiscard]] bool at_end() const { return at_ >= tokens_.size(); }
  [[nodiscard]] const ShellToken& token() const { return tokens_[at_]; }
  [[nodiscard]] bool is_word(std::string_view w) const { return !at_end() && token().is_word(w); }
  [[nodiscard]] bool is_sign(std::string_view s) const { return !at_end() && token().is_operator(s); }
  [[nodiscard]] bool at_stop() const;
  void skip_separators();
  void skip_to_end_of_command();
  [[nodiscard]] static Mode branch(Mode outer, ShellStatus status);

  ShellStatus list(Mode mode);
  ShellStatus chain(Mode mode);
  ShellStatus command(Mode mode);
  ShellStatus compound_if(Mode mode);
  void compound_for(Mode mode);
  void compound_while();
  void compound_case(Mode mode);
  [[nodiscard]] bool at_function() const;
  void function(Mode mode);
  ShellStatus brackets(Mode mode);
  ShellStatus simple(Mode mode);
  void assign(const ShellToken& token);
  ShellStatus execute(std::vector<TracedText> fields, const std::vector<TracedText>& here, const std::string& target);
  void call(std::size_t body, const std::vector<TracedText>& fields);

  ShellScript& script_;
  std::vector<ShellToken> tokens_;
  Diagnostics& d_;
  std::size_t at_ = 0;
  std::map<std::string, std::size_t> functions_;  // name -> its body
  bool matters_ = false;                          // something skipped in doubt would have set or launched something
  bool is_over_ = false;                          // exit, or return from the function
  int depth_ = 0;
  int executed_ = 0;
};

}  // namespace lockstep
