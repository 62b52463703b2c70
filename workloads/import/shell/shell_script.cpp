// SPDX-License-Identifier: Apache-2.0
#include "workloads/import/shell/shell_script.h"

#include <algorithm>

#include "workloads/import/shell/shell_run.h"

namespace lockstep {

ShellScript::ShellScript(std::string text, std::string file, const std::vector<std::pair<std::string, std::string>>& fixed)
    : text_(std::move(text)), file_(std::move(file)), lines_{0} {
  for (std::size_t i = 0; i < text_.size(); ++i) {
    if (text_[i] == '\n') lines_.push_back(i + 1);
  }
  for (const auto& [name, value] : fixed) {
    const auto place = kFixedPlace + static_cast<std::uint32_t>(fixed_names_.size());
    fixed_names_.push_back(name + "=" + value);
    variables_.fix(name, TracedText::computed(value, place));
  }
}

void ShellScript::run(Diagnostics& d) { ShellRun(*this, shell_tokens(TracedText(text_, 0)), d).run(); }

Position ShellScript::position(std::uint32_t place) const {
  if (place >= kFixedPlace) return {"--set " + fixed_names_[place - kFixedPlace], 0, 0};
  const auto line = std::upper_bound(lines_.begin(), lines_.end(), static_cast<std::size_t>(place)) - lines_.begin();
  return {file_, static_cast<int>(line), static_cast<int>(place - lines_[static_cast<std::size_t>(line - 1)]) + 1};
}

std::vector<TracedText> ShellScript::words_of(const TracedText& code) {
  std::vector<TracedText> words;
  for (const ShellToken& t : shell_tokens(code)) {
    if (t.kind != ShellToken::Kind::kWord) continue;
    for (TracedText& field : variables_.fields(t.text)) words.push_back(std::move(field));
  }
  return words;
}

}  // namespace lockstep
