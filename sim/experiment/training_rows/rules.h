// SPDX-License-Identifier: Apache-2.0
// The written rules that turn published rows into jobs, read from validation/training/rules below a root of the library:
//
//   corrections.csv  single rows that contradict themselves: source,lines,column,was,value,why. `was` is what the cell must hold for the
//                    correction to apply (empty: blank; *: anything), so a file that is put right is left alone. column `exclude`: the row
//                    is listed as skipped with `why`
//   software.csv     which framework and release a row ran: text,gpu,framework,released,why. The first line applies whose phrases
//                    (separated by " & ") stand in source, model or notes, and whose gpu is in gpu_type; YY.MM in a phrase stands for a release in the text
//   defaults.csv     what a framework does from a release on where a row does not say: framework,from,key,value,why; keys of kind: job
//   models.csv       which shipped model has a row's geometry, the row's own cells laid over it: name,model,set,why. The first line applies
//                    whose name the row's squeezed model name begins with; an empty model: not described
//
// No rule names a source except corrections; none sets a modelling constant.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/config_library.h"
#include "sim/experiment/training_rows/row.h"

namespace lockstep {

struct RowCorrection {
  std::string source;
  int first = 0;
  int last = 0;
  std::string column;
  std::string was;
  std::string value;
  std::string why;
};

struct SoftwareRule {
  std::string text;
  std::string gpu;
  std::string framework;  // empty: by how the row shards
  std::string released;   // "2024-06", or "20YY-MM" of the phrase
};

struct DefaultRule {
  std::string framework;
  std::string from;
  std::string key;
  std::string value;
};

struct ModelRule {
  std::string name;
  std::string model;
  std::string set;  // "gated=false,norm=layer"
  std::string why;
};

struct TrainingRules {
  std::vector<RowCorrection> corrections;
  std::vector<SoftwareRule> software;
  std::vector<DefaultRule> defaults;
  std::vector<ModelRule> models;

  // What applies to a row's model name; nullptr: none.
  [[nodiscard]] const ModelRule* model_of(const TrainingRow& row) const;
  // What a framework of a release does; empty: nothing is said.
  [[nodiscard]] std::string default_of(std::string_view framework, std::string_view released, std::string_view key) const;
};

[[nodiscard]] TrainingRules read_training_rules(const ConfigLibrary& library, Diagnostics& d);

// Applies the corrections of a row and says so in its remark. Returns why the row is excluded, or nothing.
[[nodiscard]] std::string correct(TrainingRow& row, const TrainingRules& rules);

struct RowSoftware {
  std::string framework;
  std::string released;
  bool is_stated = false;  // the release stands in the row
};
// Columns `framework` and `released` go before the rules.
[[nodiscard]] RowSoftware software_of(const TrainingRow& row, const TrainingRules& rules);

}  // namespace lockstep
