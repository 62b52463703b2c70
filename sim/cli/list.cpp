// SPDX-License-Identifier: Apache-2.0
// lockstep list WHAT: the configurations that can be referred to by name, with the line their files say about themselves.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <ostream>

#include "sim/cli/common_options.h"
#include "sim/cli/verbs.h"
#include "workloads/program.h"

namespace lockstep::cli {
namespace {

struct Row {
  std::string kind;
  std::string name;
  std::string what;
  std::string source;
};

struct Topic {
  const char* name;
  std::vector<std::string> kinds;  // empty: built in
};

std::vector<Topic> topics() {
  return {{"hardware", {"gpu", "server", "network", "tuning", "software"}},
          {"clusters", {"cluster"}},
          {"models", {"model"}},
          {"jobs", {"job"}},
          {"scenarios", {"scenario"}},
          {"sweeps", {"sweep"}},
          {"collectives", {}},
          {"networks", {"network"}}};
}

std::string text_of(const Document& document, const char* key) {
  const Node node = document.root().find(key);
  return node && node.is_scalar() ? node.text() : "";
}

std::vector<Row> rows_of(const std::string& kind, const ConfigLibrary& library, Diagnostics& d) {
  std::vector<Row> rows;
  for (const ConfigEntry& entry : library.entries(kind)) {
    const std::optional<Document> document = Document::load(entry.file, d);
    if (document) rows.push_back({kind, entry.name, text_of(*document, "what"), text_of(*document, "source")});
  }
  return rows;
}

std::vector<Row> collective_rows() {
  constexpr struct {
    CollectiveKind kind;
    const char* what;
  } kCollectives[] = {
      {CollectiveKind::kAllReduce, "every rank ends with the sum of all buffers"},
      {CollectiveKind::kAllGather, "every rank ends with the shards of all ranks"},
      {CollectiveKind::kReduceScatter, "every rank ends with its shard of the sum"},
      {CollectiveKind::kBroadcast, "the first rank's buffer goes to all"},
      {CollectiveKind::kReduce, "the first rank ends with the sum of all buffers"},
      {CollectiveKind::kAllToAll, "every rank sends a different shard to every other"},
      {CollectiveKind::kSendRecv, "every rank sends its buffer to the next one"},
  };
  std::vector<Row> rows;
  for (const auto& c : kCollectives) {
    std::string by;
    for (const Algorithm a : kAlgorithms) {
      if (applies(a, c.kind)) by += fmt::format("{}{}", by.empty() ? "" : ", ", to_text(a));
    }
    rows.push_back({"collective", to_text(c.kind), fmt::format("{} ({})", c.what, by), ""});
  }
  return rows;
}

void print_table(std::ostream& out, const std::vector<Row>& rows, bool has_kinds) {
  std::size_t name_width = 4;
  std::size_t what_width = 4;
  for (const Row& r : rows) {
    name_width = std::max(name_width, r.name.size());
    what_width = std::max(what_width, r.what.size());
  }
  for (const Row& r : rows) {
    std::string line = has_kinds ? fmt::format("{:<9}", r.kind) : "";
    line += fmt::format("{:<{}}  {:<{}}  {}", r.name, name_width, r.what, what_width, r.source);
    line.erase(line.find_last_not_of(' ') + 1);
    out << line << "\n";
  }
}

void print_json(std::ostream& out, const std::vector<Row>& rows) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const Row& r : rows) list.push_back({{"kind", r.kind}, {"name", r.name}, {"what", r.what}, {"source", r.source}});
  out << list.dump(2) << "\n";
}

int run_list(const VerbContext& context) {
  const std::string name = context.arguments.positional().front();
  const std::vector<Topic> all = topics();
  const Topic& topic = *std::find_if(all.begin(), all.end(), [&](const Topic& t) { return t.name == name; });
  Diagnostics d;
  std::vector<Row> rows;
  if (topic.kinds.empty()) rows = collective_rows();
  for (const std::string& kind : topic.kinds) {
    const std::vector<Row> more = rows_of(kind, context.library, d);
    rows.insert(rows.end(), more.begin(), more.end());
  }
  if (context.arguments.text("format") == "json") {
    print_json(context.out, rows);
  } else {
    print_table(context.out, rows, topic.kinds.size() > 1);
  }
  context.out.flush();
  throw_if_errors(d);
  if (rows.empty()) context.err << "no " << name << " are found\n";
  return kOk;
}

}  // namespace

Verb list_verb() {
  std::vector<std::string> names;
  for (const Topic& t : topics()) names.emplace_back(t.name);
  return {.name = "list",
          .doc = "list what can be referred to by name",
          .details = "Found in $LOCKSTEP_CONFIGS, the source tree, and the installed configurations, in this order.",
          .positionals = {{.name = "WHAT", .doc = "what to list", .choices = std::move(names)}},
          .options = {format_option({"table", "json"})},
          .run = &run_list};
}

}  // namespace lockstep::cli
