// SPDX-License-Identifier: Apache-2.0
#include "workloads/import/megatron/launch.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "base/text_file.h"
#include "workloads/import/shell/shell_script.h"

namespace lockstep {
namespace {

// A command with one of these launches a training.
constexpr std::array<std::string_view, 9> kTelling = {
    "num-layers",         "hidden-size", "num-attention-heads",        "micro-batch-size",
    "global-batch-size",  "seq-length",  "tensor-model-parallel-size", "pipeline-model-parallel-size",
    "model-parallel-size"};

bool is_option(const TracedText& word) {
  const std::string& t = word.text;
  return t.size() > 1 && t[0] == '-' && (t[1] == '-' || (t[1] >= 'a' && t[1] <= 'z') || (t[1] >= 'A' && t[1] <= 'Z'));
}

bool holds_options(const TracedText& field) {
  return field.text.find(' ') != std::string::npos && field.text.find("--") != std::string::npos;
}

// Words that are command lines themselves (bash -c "...", "--fp8-format hybrid") are taken apart.
std::vector<TracedText> taken_apart(ShellScript& script, const std::vector<TracedText>& fields) {
  std::vector<TracedText> words;
  for (const TracedText& field : fields) {
    if (field.empty()) continue;
    if (!holds_options(field)) {
      words.push_back(field);
      continue;
    }
    for (TracedText& word : script.words_of(field)) {
      if (!word.empty()) words.push_back(std::move(word));
    }
  }
  return words;
}

int telling_words(const std::vector<TracedText>& words) {
  return static_cast<int>(std::count_if(words.begin(), words.end(), [](const TracedText& w) {
    const std::string name = argument_name(w.text.substr(0, w.text.find('=')));
    return is_option(w) && std::find(kTelling.begin(), kTelling.end(), name) != kTelling.end();
  }));
}

LaunchWord launch_word(const ShellScript& script, ShellVariables& variables, const TracedText& word) {
  LaunchWord out{.text = word.text, .position = script.position(word)};
  const std::size_t unknown = word.text.find(TracedText::kUnknown);
  if (unknown != std::string::npos) {
    out.unknown = variables.unknown_at(word.at[unknown]);
    out.position = script.position(word.at[unknown]);
  }
  return out;
}

void add_arguments(ShellScript& script, const std::vector<TracedText>& words, Launch& launch) {
  bool is_after_option = false;
  const std::size_t first = launch.arguments.size();
  for (const TracedText& word : words) {
    if (word.text.ends_with(".py")) {
      for (std::size_t i = first; i < launch.arguments.size(); ++i) launch.arguments[i].is_of_launcher = true;
    }
    if (is_option(word)) {
      const std::size_t equals = word.text.find('=');
      launch.arguments.push_back({argument_name(word.text.substr(0, equals)), script.position(word), {}});
      if (equals != std::string::npos) {
        launch.arguments.back().values.push_back(launch_word(script, script.variables(), word.slice(equals + 1, word.size())));
      }
      is_after_option = true;
    } else if (is_after_option) {
      launch.arguments.back().values.push_back(launch_word(script, script.variables(), word));
    }
  }
}

// "#SBATCH --nodes=24" and "#SBATCH -N 24": what srun inherits. Its variables are known to the script as well.
void add_sbatch(ShellScript& script, Launch& launch) {
  const std::string& text = script.text();
  for (std::size_t line = 0; line < text.size();) {
    const std::size_t end = std::min(text.find('\n', line), text.size());
    const std::string_view rest = std::string_view(text).substr(line, end - line);
    if (rest.starts_with("#SBATCH ")) {
      const TracedText code(rest.substr(8), static_cast<std::uint32_t>(line + 8));
      add_arguments(script, script.words_of(code), launch);
    }
    line = end + 1;
  }
  for (LaunchArgument& a : launch.arguments) a.is_of_launcher = true;
  const auto known_as = [&](std::string_view name, std::initializer_list<const char*> variables) {
    for (const LaunchArgument& a : launch.arguments) {
      if (a.name != name || a.values.empty() || !a.values.front().unknown.empty()) continue;
      for (const char* v : variables)
        script.variables().assign(v, {{TracedText::computed(a.values.front().text, 0)}, false}, false);
    }
  };
  for (const char* nodes : {"nodes", "N"}) known_as(nodes, {"SLURM_NNODES", "SLURM_JOB_NUM_NODES"});
  known_as("gpus-per-node", {"SLURM_GPUS_ON_NODE", "SLURM_GPUS_PER_NODE"});
  known_as("ntasks-per-node", {"SLURM_NTASKS_PER_NODE"});
}

// The command with most telling arguments, all bare lists of arguments, or what variables hold where nothing is launched.
std::vector<TracedText> launched(ShellScript& script, Diagnostics& d) {
  std::vector<TracedText> best;
  std::vector<TracedText> bare;
  int most = 0;
  std::vector<Position> others;
  for (const ShellCommand& command : script.commands()) {
    std::vector<TracedText> words = taken_apart(script, command.fields);
    if (words.empty()) continue;
    const int telling = telling_words(words);
    if (is_option(words.front())) {
      bare.insert(bare.end(), words.begin(), words.end());
    } else if (telling > 0 && words.front().text != "echo") {
      if (most > 0) others.push_back(script.position(telling > most ? best.front() : words.front()));
      if (telling > most) best = std::move(words);
      most = std::max(most, telling);
    }
  }
  for (const Position& p : others) d.warning(p, {}, "another training is launched here; it is not imported");
  if (most > 0) return best;
  if (telling_words(bare) > 0) return bare;
  std::vector<TracedText> all;
  for (const auto& [name, value] : script.variables().all()) {
    std::vector<TracedText> words = taken_apart(script, value.items);
    if (telling_words(words) > 0) all.insert(all.end(), words.begin(), words.end());
  }
  return all;
}

}  // namespace

std::string argument_name(std::string_view word) {
  std::string name(word.substr(std::min(word.find_first_not_of('-'), word.size())));
  std::replace(name.begin(), name.end(), '_', '-');
  return name;
}

std::optional<Launch> launch_of_script(const std::string& text, const std::string& file, const LaunchSettings& settings,
                                       Diagnostics& d) {
  LaunchSettings variables;
  for (const auto& [name, value] : settings) {
    if (name.find('-') == std::string::npos) variables.emplace_back(name, value);
  }
  ShellScript script(text, file, variables);
  Launch launch{.file = file, .arguments = {}, .written = {}};
  add_sbatch(script, launch);
  script.run(d);
  const std::vector<TracedText> words = launched(script, d);
  if (words.empty()) {
    d.error({file, 0, 0}, {}, "launches no training of Megatron-LM",
            "a command or list with arguments like --num-layers 32 is expected");
    return std::nullopt;
  }
  add_arguments(script, words, launch);
  for (const auto& [name, content] : script.files()) launch.written[name] = content.text;
  return launch;
}

std::optional<Launch> read_launch(const std::string& file, const LaunchSettings& settings, Diagnostics& d) {
  const bool is_document = file.ends_with(".yaml") || file.ends_with(".yml") || file.ends_with(".json");
  std::optional<Launch> launch;
  if (is_document) {
    const std::optional<Document> document = Document::load(file, d);
    if (document) launch = launch_of_document(*document);
  } else {
    const std::string name = file == "-" ? "<stdin>" : file;
    const std::optional<std::string> bytes = read_file(file, kMaxDocumentBytes, d);
    const std::optional<std::string> text = bytes ? clean_text(*bytes, name, d) : std::nullopt;
    if (text) launch = launch_of_script(*text, name, settings, d);
  }
  if (!launch) return std::nullopt;
  for (const auto& [name, value] : settings) {
    if (name.find('-') == std::string::npos) continue;
    const Position position{fmt::format("--set {}={}", name, value), 0, 0};
    launch->arguments.push_back({argument_name(name), position, {{value, position}}});
  }
  return launch;
}

}  // namespace lockstep
