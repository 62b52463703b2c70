// SPDX-License-Identifier: Apache-2.0
#include "sim/experiment/training_rows/rules.h"

#include <fmt/core.h>

#include <fstream>

#include "base/csv.h"
#include "base/quantity.h"

namespace lockstep {
namespace {

constexpr std::string_view kRelease = "YY.MM";

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Calls add(cell) for each line of a table of rules.
template <class Add>
void read_table(const ConfigLibrary& library, const std::string& name, const std::vector<std::string>& columns, Diagnostics& d,
                const Add& add) {
  for (const std::string& root : library.roots()) {
    const std::string file = fmt::format("{}/validation/training/rules/{}", root, name);
    std::ifstream in(file, std::ios::binary);
    if (!in) continue;
    CsvReader reader(in, file, d);
    for (const std::string& column : columns) {
      if (reader.column(column) == CsvReader::npos)
        d.error({file, 1, 1}, {}, fmt::format("the column '{}' is missing", column));
    }
    while (!d.has_errors() && reader.next()) {
      add([&](std::string_view column) { return std::string(reader[reader.column(column)]); }, reader);
    }
    return;
  }
  d.error({name, 0, 0}, {}, "the shipped rules of training rows were not found");
}

// The release that stands where `phrase` has YY.MM, "24.09"; an empty one where the phrase has none; nothing where it does not occur.
std::optional<std::string> find_phrase(std::string_view text, std::string_view phrase) {
  const std::size_t at = phrase.find(kRelease);
  if (at == std::string_view::npos) return contains(text, phrase) ? std::optional(std::string()) : std::nullopt;
  const std::string_view before = phrase.substr(0, at);
  const std::string_view after = phrase.substr(at + kRelease.size());
  for (std::size_t i = text.find(before); i != std::string_view::npos; i = text.find(before, i + 1)) {
    const std::string_view rest = text.substr(i + before.size());
    if (rest.size() < 5 || rest[2] != '.' || !is_digit(rest[0]) || !is_digit(rest[1]) || !is_digit(rest[3]) ||
        !is_digit(rest[4]))
      continue;
    if (rest.size() > 5 && is_digit(rest[5])) continue;
    const std::string_view month = rest.substr(3, 2);
    if (month < "01" || month > "12") continue;
    std::string_view tail = rest.substr(5);
    // A container's second number ("26.04.01") is part of its name.
    if (!after.empty() && tail.size() > 3 && tail[0] == '.' && is_digit(tail[1])) tail.remove_prefix(3);
    if (tail.starts_with(after)) return std::string(rest.substr(0, 5));
  }
  return {};
}

std::optional<RowSoftware> match(const SoftwareRule& rule, std::string_view text, std::string_view gpu) {
  if (!rule.gpu.empty() && !contains(gpu, rule.gpu)) return {};
  std::string release;
  std::string_view phrases = rule.text;
  while (!phrases.empty()) {
    const std::size_t end = std::min(phrases.find(" & "), phrases.size());
    const std::optional<std::string> found = find_phrase(text, phrases.substr(0, end));
    if (!found) return {};
    if (!found->empty()) release = *found;
    phrases.remove_prefix(std::min(end + 3, phrases.size()));
  }
  RowSoftware out{.framework = rule.framework, .released = rule.released, .is_stated = !release.empty()};
  if (!release.empty()) out.released = fmt::format("20{}-{}", release.substr(0, 2), release.substr(3, 2));
  return out;
}

std::string framework_by_sharding(const TrainingRow& row) {
  const std::string_view stage = row.text("zero_stage");
  if (contains(stage, "fsdp")) return "pytorch";
  return stage == "2" || stage == "3" || contains(stage, "zero") ? "deepspeed" : "megatron";
}

}  // namespace

TrainingRules read_training_rules(const ConfigLibrary& library, Diagnostics& d) {
  TrainingRules rules;
  read_table(library, "corrections.csv", {"source", "lines", "column", "was", "value", "why"}, d,
             [&](const auto& cell, const CsvReader& at) {
               const std::string lines = cell("lines");
               const std::size_t dash = std::min(lines.find('-'), lines.size());
               const auto first = parse_int(lines.substr(0, dash)).value;
               const auto last = dash == lines.size() ? first : parse_int(lines.substr(dash + 1)).value;
               if (!first || !last)
                 return d.error(at.position(at.column("lines")), "lines", "is no line and no range", "like 12 or 12-15");
               rules.corrections.push_back({cell("source"), static_cast<int>(*first), static_cast<int>(*last), cell("column"),
                                            cell("was"), cell("value"), cell("why")});
             });
  read_table(library, "software.csv", {"text", "gpu", "framework", "released", "why"}, d,
             [&](const auto& cell, const CsvReader&) {
               rules.software.push_back({cell("text"), cell("gpu"), cell("framework"), cell("released")});
             });
  read_table(library, "defaults.csv", {"framework", "from", "key", "value", "why"}, d, [&](const auto& cell, const CsvReader&) {
    rules.defaults.push_back({cell("framework"), cell("from"), cell("key"), cell("value")});
  });
  read_table(library, "models.csv", {"name", "model", "set", "why"}, d, [&](const auto& cell, const CsvReader&) {
    rules.models.push_back({cell("name"), cell("model"), cell("set"), cell("why")});
  });
  return rules;
}

const ModelRule* TrainingRules::model_of(const TrainingRow& row) const {
  const std::string name = squeezed(row.text("model"));
  for (const ModelRule& rule : models) {
    if (name.starts_with(rule.name)) return &rule;
  }
  return nullptr;
}

std::string TrainingRules::default_of(std::string_view framework, std::string_view released, std::string_view key) const {
  const DefaultRule* newest = nullptr;
  for (const DefaultRule& rule : defaults) {
    if (rule.framework != framework || rule.key != key || rule.from > released) continue;
    if (newest == nullptr || rule.from >= newest->from) newest = &rule;
  }
  return newest == nullptr ? std::string() : newest->value;
}

std::string correct(TrainingRow& row, const TrainingRules& rules) {
  for (const RowCorrection& c : rules.corrections) {
    if (c.source != row.source || row.line < c.first || row.line > c.last) continue;
    if (c.column == "exclude") return c.why;
    if (c.was != "*" && row.text(c.column) != c.was) continue;
    if (!c.was.empty() || c.column == "layers") {
      row.remark += fmt::format("{}{} {} -> {}: {}", row.remark.empty() ? "" : "; ", c.column, row.text(c.column),
                                c.value.empty() ? "blank" : c.value, c.why);
    }
    row.set(c.column, c.value);
  }
  return {};
}

RowSoftware software_of(const TrainingRow& row, const TrainingRules& rules) {
  RowSoftware out;
  const std::string text = fmt::format("{} / {} / {}", row.text("source"), row.text("model"), row.text("notes"));
  for (const SoftwareRule& rule : rules.software) {
    if (const auto found = match(rule, text, row.text("gpu_type"))) {
      out = *found;
      break;
    }
  }
  if (const std::string_view framework = row.text("framework"); !framework.empty()) out.framework = framework;
  if (const std::string_view released = row.text("released"); !released.empty()) out.released = released, out.is_stated = true;
  if (out.framework.empty()) out.framework = framework_by_sharding(row);
  return out;
}

}  // namespace lockstep
