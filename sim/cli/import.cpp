// SPDX-License-Identifier: Apache-2.0
// lockstep import KIND FILE: a document of our own from what other programs are given.
#include <fmt/format.h>

#include <filesystem>
#include <ostream>
#include <sstream>

#include "base/field_table.h"
#include "base/write_file.h"
#include "sim/cli/common_options.h"
#include "sim/cli/run_trace.h"
#include "sim/cli/verbs.h"
#include "workloads/import/megatron/job_import.h"
#include "workloads/import/model_document.h"

namespace lockstep::cli {
namespace {

LaunchSettings settings_of(const Arguments& arguments) {
  LaunchSettings settings;
  for (const std::string& assignment : arguments.all("set")) {
    const std::size_t equals = assignment.find('=');
    if (equals == std::string::npos || equals == 0) {
      throw UserError(fmt::format("--set {}: an assignment is expected", assignment), "--set NAME=VALUE");
    }
    const std::size_t begin = std::min(assignment.find_first_not_of("-$"), equals);
    settings.emplace_back(assignment.substr(begin, equals - begin), assignment.substr(equals + 1));
  }
  return settings;
}

std::string header(const std::string& kind, const std::string& file, std::string_view from, std::string_view remark) {
  const std::string name = file == "-" ? "standard input" : std::filesystem::path(file).filename().string();
  return fmt::format("# Imported by lockstep import {}.{}\nkind: {}\nwhat: {}\n", from, remark, kind,
                     Codec<std::string>::print(name));
}

// Of a configuration printed with origins: what somebody set. Sections of which nothing is left go as well.
std::string without_defaults(const std::string& printed) {
  const auto depth = [](const std::string& line) { return line.find_first_not_of(' '); };
  std::vector<std::string> kept;
  std::istringstream in(printed);
  const auto drop_empty_sections = [&](std::size_t next_depth) {
    while (!kept.empty() && kept.back().ends_with(':') && depth(kept.back()) >= next_depth) kept.pop_back();
  };
  for (std::string line; std::getline(in, line);) {
    if (line.ends_with("# default")) continue;
    drop_empty_sections(depth(line));
    kept.push_back(line);
  }
  drop_empty_sections(0);
  return fmt::format("{}\n", fmt::join(kept, "\n"));
}

// The document must be one that `lockstep run` takes: what it finds wrong is told where the value was written.
template <class T>
void check_document(const VerbContext& context, const std::string& text, const FieldTable<T>& table, ReadContext& origins) {
  Diagnostics d;
  const std::optional<Document> document = Document::parse(text, "the imported document", d);
  if (document) {
    T value{};
    ReadContext read(d, &context.library);
    table.read_document(*document, value, read);
  }
  for (const Diagnostic& item : d.items()) {
    if (item.severity == Severity::kError) {
      origins.error(item.path, item.message, item.hint);
    } else {
      origins.warning(item.path, item.message, item.hint);
    }
  }
}

std::string import_megatron(const VerbContext& context, const std::string& file, Diagnostics& d) {
  ReadContext origins(d, &context.library);
  const std::optional<Launch> launch = read_launch(file, settings_of(context.arguments), d);
  throw_if_errors(d);
  const JobSpec job = import_job(*launch, origins);
  throw_if_errors(d);
  ConfigPrinter printer(origins);
  job_fields().print(job, printer);
  const std::string text =
      header("job", file, "megatron", " Comments say where a value comes from.") + without_defaults(printer.text());
  check_document(context, text, job_fields(), origins);
  return text;
}

std::string import_huggingface(const VerbContext& context, const std::string& file, Diagnostics& d) {
  ReadContext read(d, &context.library);
  if (context.arguments.has("set")) throw UserError("--set has no meaning for a model", "edit the document it becomes");
  const std::optional<Document> document = Document::load(file, d);
  TransformerSpec model;
  if (document) read_model(*document, model, read, {});
  throw_if_errors(d);
  ConfigPrinter printer;
  model_fields().print(model, printer);
  const std::string text = header("model", file, "huggingface", "") + printer.text();
  check_document(context, text, model_fields(), read);
  return text;
}

int run_import(const VerbContext& context) {
  const std::string& kind = context.arguments.positional()[0];
  const std::string& file = context.arguments.positional()[1];
  Diagnostics d;
  std::string text;
  if (kind == "megatron") text = import_megatron(context, file, d);
  if (kind == "huggingface") text = import_huggingface(context, file, d);
  if (kind == "goal") text = import_goal(file, context.arguments.text("output"), d);
  throw_if_errors(d);
  print_warnings(context, d);
  const std::string output = context.arguments.text("output");
  if (output.empty() || output == "-") {
    context.out << text;
  } else {
    WholeFile whole(output);
    whole.write(text);
    whole.commit();
  }
  return kOk;
}

}  // namespace

Verb import_verb() {
  return {
      .name = "import",
      .doc = "make a job, model or trace document of what other programs are given",
      .details =
          "megatron: a job from the launch script of Megatron-LM or Megatron-DeepSpeed (variables, arrays, torchrun, srun), a "
          "bare list of arguments, or a YAML or JSON file of them; absent arguments have that software's defaults. What has no "
          "meaning here is named and left out. A value that only the running script knows is asked for: --set NAME=VALUE sets "
          "a variable of the script ($1: --set 1=VALUE), and --set vocab-size=N an argument with a dash in its name. "
          "huggingface: a model from a config.json. goal: checks a GOAL trace and writes what `lockstep run` replays it from.",
      .positionals = {{.name = "KIND", .doc = "of FILE", .choices = {"megatron", "huggingface", "goal"}},
                      {.name = "FILE", .doc = "what is imported; - is standard input"}},
      .options = {{.name = "output", .value_name = "OUT.yaml", .doc = "writes the document there", .short_name = 'o'},
                  {.name = "set",
                   .value_name = "NAME=VALUE",
                   .doc = "a variable or argument that the file leaves open or that should be another; may be repeated",
                   .is_repeatable = true}},
      .run = &run_import};
}

}  // namespace lockstep::cli
