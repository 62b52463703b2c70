// SPDX-License-Identifier: Apache-2.0
// The arguments a training run is launched with, from the files people have: a shell script (variables, arrays, conditions, torchrun, srun,
// #SBATCH lines), a bare list of arguments, or arguments as a YAML or JSON map, nested or not.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/diagnostics.h"
#include "base/document.h"

namespace lockstep {

struct LaunchWord {
  std::string text;
  Position position;
  std::string unknown = {};  // what cannot be resolved: "$1", "$SLURM_NNODES"; then text is of no use
};

struct LaunchArgument {
  std::string name;  // without leading dashes, with dashes for underscores: "micro-batch-size"
  Position position;
  std::vector<LaunchWord> values;
  bool is_of_launcher = false;  // of torchrun, srun, #SBATCH: before the program, which need not know it
};

struct Launch {
  std::string file;
  std::vector<LaunchArgument> arguments;       // in order; the last of a name counts
  std::map<std::string, std::string> written;  // files that the script writes, by name
  bool is_document = false;                    // arguments as keys of YAML or JSON
};

// `settings`: --set NAME=VALUE. A name with a dash is an argument ("vocab-size"), any other a shell variable. Errors and warnings go to `d`.
using LaunchSettings = std::vector<std::pair<std::string, std::string>>;
[[nodiscard]] std::optional<Launch> read_launch(const std::string& file, const LaunchSettings& settings, Diagnostics& d);
// The same of a file's clean text.
[[nodiscard]] std::optional<Launch> launch_of_script(const std::string& text, const std::string& file,
                                                     const LaunchSettings& settings, Diagnostics& d);
[[nodiscard]] Launch launch_of_document(const Document& document);

// "--micro_batch-size" -> "micro-batch-size".
[[nodiscard]] std::string argument_name(std::string_view word);

}  // namespace lockstep
