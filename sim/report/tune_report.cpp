// SPDX-License-Identifier: Apache-2.0
#include "sim/report/tune_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "base/csv.h"
#include "base/hash.h"
#include "sim/report/render.h"
#include "sim/report/tune_reasons.h"

namespace lockstep {
namespace {

using Json = nlohmann::ordered_json;

std::size_t shown(const TuneReport& r) {
  const auto good = static_cast<std::size_t>(
      std::count_if(r.result.plans.begin(), r.result.plans.end(), [](const TunedPlan& p) { return p.numbers.has_value(); }));
  return std::min(r.top, good);
}

Json counts_json(const TuneCounts& c) {
  return {{"plans", c.plans},     {"unresolved", c.unresolved},   {"too_large", c.too_large},
          {"bounded", c.bounded}, {"unevaluated", c.unevaluated}, {"evaluated", c.evaluated},
          {"failed", c.failed}};
}

Json plan_json(const TuneReport& r, std::size_t i) {
  const TunedPlan& p = r.result.plans[i];
  const PlanNumbers& n = *p.numbers;
  const PlanNumbers& winner = *r.result.plans.front().numbers;
  Json j;
  j["rank"] = i + 1;
  j["plan"] = p.text;
  for (std::size_t k = 0; k < r.columns.size(); ++k) j["keys"][r.columns[k]] = r.fields[i][k];
  j["micro_batches"] = p.micro_batches;
  j["step_time_s"] = n.step_time_s;
  j["tokens_per_s_per_gpu"] = n.tokens_per_s_per_gpu;
  j["mfu"] = n.mfu;
  j["hfu"] = n.hfu;
  j["memory_bytes"] = n.memory_bytes;
  j["bound_s"] = p.bound_s;
  j["estimate_s"] = p.estimate_s;
  for (std::size_t c = 0; c < kTimeClassCount; ++c) {
    j["breakdown_s"][to_text(static_cast<TimeClass>(c))] = n.breakdown_s[c];
  }
  j["slower"] = n.step_time_s / winner.step_time_s - 1;
  Json& why = j["slower_s"] = Json::object();
  if (i > 0) {
    for (const TimePart& part : differences(n, winner)) why[part.key] = part.seconds;
  }
  j["bottleneck"] = n.bottleneck;
  return j;
}

// What fragments does not make a plan too large; without room for it the allocator has to give it back.
bool fills_memory(const TuneReport& r, const TunedPlan& p) { return p.numbers->memory_bytes >= r.result.capacity_bytes; }

std::string memory_remark(const TuneReport& r) {
  for (std::size_t i = 0; i < shown(r); ++i) {
    if (fills_memory(r, r.result.plans[i]))
      return "* fills the memory: fits as far as the allocator gives back what fragments\n";
  }
  return {};
}

// Cells of the best plans for tables of text: rank, plan, step, tokens, MFU, memory, slower, why.
std::vector<std::string> row(const TuneReport& r, std::size_t i) {
  const TunedPlan& p = r.result.plans[i];
  const PlanNumbers& n = *p.numbers;
  const PlanNumbers& winner = *r.result.plans.front().numbers;
  constexpr double kGib = 1024.0 * 1024 * 1024;
  return {std::to_string(i + 1),
          p.text,
          n.step_time_s >= 1 ? fmt::format("{:.3f} s", n.step_time_s) : fmt::format("{:.2f} ms", n.step_time_s * 1e3),
          fmt::format("{:.0f}", n.tokens_per_s_per_gpu),
          fmt::format("{:.1f} %", 100 * n.mfu),
          fmt::format("{:.1f} GiB{}", static_cast<double>(n.memory_bytes) / kGib, fills_memory(r, p) ? "*" : ""),
          i == 0 ? "" : fmt::format("+{:.1f} %", 100 * (n.step_time_s / winner.step_time_s - 1)),
          i == 0 ? "" : reason_text(n, winner)};
}
const std::vector<std::string> kHeader = {"",    "plan",   "step",   "tokens/s/GPU",
                                          "MFU", "memory", "slower", "why: of the best step"};

std::string padded(const std::vector<std::vector<std::string>>& rows) {
  std::vector<std::size_t> width(rows.front().size(), 0);
  for (const auto& cells : rows) {
    for (std::size_t c = 0; c < cells.size(); ++c) width[c] = std::max(width[c], cells[c].size());
  }
  std::string out;
  for (const auto& cells : rows) {
    std::string text;
    for (std::size_t c = 0; c < cells.size(); ++c) {
      const bool is_left = c == 1 || c + 1 == cells.size();
      text += is_left ? fmt::format("  {:<{}}", cells[c], width[c]) : fmt::format("  {:>{}}", cells[c], width[c]);
    }
    text.erase(text.find_last_not_of(' ') + 1);
    out += text + "\n";
  }
  return out;
}

std::string plans(std::size_t n) { return n == 1 ? "1 plan" : fmt::format("{} plans", n); }

std::string gib(std::int64_t bytes) { return fmt::format("{:.1f} GiB", static_cast<double>(bytes) / (1024.0 * 1024 * 1024)); }

std::string others_text(const TuneReport& r) {
  const TuneResult& t = r.result;
  const TuneCounts& c = t.counts;
  const double best = t.plans.front().numbers->step_time_s;
  std::string out = fmt::format("\nWhat became of the other {}\n", plans(c.plans - shown(r)));
  for (const LosingGroup& g : losing_groups(t, shown(r))) {
    out += fmt::format("  {:>6}  evaluated and slower, mostly by {}; the fastest, {}, by {:.1f} %\n", g.plans,
                       part_words(g.key), g.fastest->text, 100 * (g.fastest->numbers->step_time_s / best - 1));
  }
  if (c.bounded > 0) {
    out += fmt::format("  {:>6}  cannot be among the best {}: their kernels and pipeline alone take longer\n", c.bounded,
                       shown(r));
  }
  if (c.too_large > 0) {
    const TunedPlan& p = *t.fastest_too_large;
    out += fmt::format("  {:>6}  do not fit in {}; {}\n", c.too_large, gib(t.capacity_bytes),
                       p.bound_s < best ? fmt::format("with more memory {} would take at least {:.3f} s", p.text, p.bound_s)
                                        : "none of them would be faster with more memory");
  }
  if (c.unevaluated > 0) {
    out += fmt::format("  {:>6}  not evaluated (--max-evaluations {}); the lowest bound among them is {:.3f} s\n",
                       c.unevaluated, r.max_evaluations, *t.least_unevaluated_s);
  }
  if (c.failed > 0) out += fmt::format("  {:>6}  failed: {}\n", c.failed, t.plans.back().error);
  if (c.unresolved > 0) out += fmt::format("  {:>6}  make no plan:\n", c.unresolved);
  for (const PlanGroup& g : t.unresolved) out += fmt::format("  {:>6}    {} ({})\n", g.plans, g.reason, g.example);
  return out;
}

}  // namespace

std::string to_json(const TuneReport& r) {
  const TuneResult& t = r.result;
  Json j;
  j["schema_version"] = kSchemaVersion;
  j["version"] = r.version;
  j["scenario"] = r.scenario;
  j["cluster"] = r.cluster;
  j["job"] = r.job;
  if (!r.set.empty()) j["set"] = r.set;
  if (!r.space.empty()) j["space"] = r.space;
  j["network"] = r.network;
  j["seed"] = r.seed;
  j["gpus"] = r.gpus;
  j["global_batch"] = r.global_batch;
  j["seq_len"] = r.seq_len;
  j["counts"] = counts_json(t.counts);
  j["is_complete"] = t.counts.unevaluated == 0;
  if (t.least_unevaluated_s) j["least_unevaluated_bound_s"] = *t.least_unevaluated_s;
  j["plans"] = Json::array();
  for (std::size_t i = 0; i < shown(r); ++i) j["plans"].push_back(plan_json(r, i));
  j["others"] = Json::array();
  if (t.has_winner()) {
    for (const LosingGroup& g : losing_groups(t, shown(r))) {
      j["others"].push_back({{"reason", g.key},
                             {"plans", g.plans},
                             {"fastest", g.fastest->text},
                             {"step_time_s", g.fastest->numbers->step_time_s}});
    }
  }
  j["unresolved"] = Json::array();
  for (const PlanGroup& g : t.unresolved)
    j["unresolved"].push_back({{"reason", g.reason}, {"plans", g.plans}, {"example", g.example}});
  if (t.fastest_too_large) {
    j["too_large"] = {{"capacity_bytes", t.capacity_bytes},
                      {"fastest", t.fastest_too_large->text},
                      {"fastest_bound_s", t.fastest_too_large->bound_s},
                      {"smallest", t.smallest_too_large->text},
                      {"smallest_bytes", t.smallest_bytes}};
  }
  return j.dump(2) + "\n";
}

std::string to_csv(const TuneReport& r) {
  std::vector<std::string> header = {"rank"};
  header.insert(header.end(), r.columns.begin(), r.columns.end());
  header.insert(header.end(),
                {"micro_batches", "step_time_s", "tokens_per_s_per_gpu", "mfu", "hfu", "memory_bytes", "slower", "why"});
  std::string out = csv_row(header);
  for (std::size_t i = 0; i < shown(r); ++i) {
    const Json j = plan_json(r, i);
    std::vector<std::string> cells = {std::to_string(i + 1)};
    cells.insert(cells.end(), r.fields[i].begin(), r.fields[i].end());
    for (const char* key : {"micro_batches", "step_time_s", "tokens_per_s_per_gpu", "mfu", "hfu", "memory_bytes", "slower"}) {
      cells.push_back(j[key].dump());
    }
    cells.push_back(row(r, i).back());
    out += csv_row(cells);
  }
  return out;
}

std::string to_markdown(const TuneReport& r) {
  const auto line = [](const std::vector<std::string>& cells) {
    std::string out = "|";
    for (const std::string& cell : cells) out += " " + cell + " |";
    return out + "\n";
  };
  std::string out = line(kHeader) + "|---:|---|---:|---:|---:|---:|---:|---|\n";
  for (std::size_t i = 0; i < shown(r); ++i) out += line(row(r, i));
  return out;
}

std::string to_table(const TuneReport& r) {
  std::string out =
      fmt::format("{}\n{} on {} GPUs of {}, {} sequences of {} tokens a step, network model {}\n\n",
                  r.scenario.empty() ? r.job : r.scenario, r.job, r.gpus, r.cluster, r.global_batch, r.seq_len, r.network);
  std::vector<std::vector<std::string>> rows = {kHeader};
  for (std::size_t i = 0; i < shown(r); ++i) rows.push_back(row(r, i));
  return out + padded(rows) + memory_remark(r) + others_text(r) +
         fmt::format("\nThe best plan: {}.\n", r.result.plans.front().numbers->bottleneck);
}

std::string results_csv(const TuneReport& r) {
  std::vector<std::string> names;  // of what runs say, in order of appearance
  std::vector<Cells> cells;
  for (const TunedPlan& p : r.result.plans) {
    cells.push_back(p.numbers ? cells_of_record(p.record) : Cells{});
    for (const auto& [key, text] : cells.back()) {
      const bool is_taken = std::find(r.columns.begin(), r.columns.end(), key) != r.columns.end();
      if (!is_taken && std::find(names.begin(), names.end(), key) == names.end()) names.push_back(key);
    }
  }
  std::vector<std::string> header = {"rank"};
  header.insert(header.end(), r.columns.begin(), r.columns.end());
  header.insert(header.end(), {"status", "error", "bound_s", "estimate_s"});
  header.insert(header.end(), names.begin(), names.end());
  std::string out = csv_row(header);
  for (std::size_t i = 0; i < r.result.plans.size(); ++i) {
    const TunedPlan& p = r.result.plans[i];
    std::vector<std::string> fields = {std::to_string(i + 1)};
    fields.insert(fields.end(), r.fields[i].begin(), r.fields[i].end());
    fields.insert(fields.end(), {p.numbers ? "ok" : "error", p.error, Json(p.bound_s).dump(), Json(p.estimate_s).dump()});
    const std::map<std::string, std::string> values(cells[i].begin(), cells[i].end());
    for (const std::string& name : names) {
      const auto found = values.find(name);
      fields.push_back(found == values.end() ? "" : found->second);
    }
    out += csv_row(fields);
  }
  return out;
}

std::string manifest_json(const TuneReport& r, const std::string& results) {
  Json j;
  j["schema_version"] = kSchemaVersion;
  j["version"] = r.version;
  j["scenario"] = r.scenario;
  j["cluster"] = r.cluster;
  j["job"] = r.job;
  j["set"] = r.set;
  j["space"] = r.space;
  j["network"] = r.network;
  j["seed"] = r.seed;
  j["top"] = r.top;
  j["max_evaluations"] = r.max_evaluations;
  j["counts"] = counts_json(r.result.counts);
  j["results"] = {{"file", "results.csv"}, {"hash", fmt::format("{:016x}", hash_text(results))}};
  return j.dump(2) + "\n";
}

std::string nothing_fits_text(const TuneReport& r) {
  const TuneResult& t = r.result;
  if (!t.smallest_too_large) {
    std::string out = fmt::format("none of {} is possible:\n", plans(t.counts.plans));
    for (const PlanGroup& g : t.unresolved) out += fmt::format("  {:>6}  {} ({})\n", g.plans, g.reason, g.example);
    return out;
  }
  std::string ways;
  for (const std::string& way : t.ways_to_fit) ways += (ways.empty() ? "" : "; or ") + way;
  if (ways.empty()) ways = "more GPUs (add nodes), or a smaller model";
  return fmt::format("no plan fits: of {} that need more than {}, {} needs least, {}; to make it fit: {}\n",
                     plans(t.counts.too_large), gib(t.capacity_bytes), t.smallest_too_large->text, gib(t.smallest_bytes), ways);
}

}  // namespace lockstep
