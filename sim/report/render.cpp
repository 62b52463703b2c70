// SPDX-License-Identifier: Apache-2.0
#include "sim/report/render.h"

#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "base/csv.h"

namespace lockstep {
namespace {

using Json = nlohmann::ordered_json;

template <class T>
void put(Json& j, const char* key, const std::optional<T>& value) {
  if (value) j[key] = *value;
}

Json memory_json(const MemoryReport& m) {
  return {{"parameters", m.parameters}, {"gradients", m.gradients}, {"optimizer", m.optimizer}, {"activations", m.activations},
          {"buffers", m.buffers},       {"total", m.total},         {"capacity", m.capacity}};
}

Json stage_json(const StageMemoryReport& s) {
  return {{"stage", s.stage},         {"rank", s.rank},           {"parameters", s.parameters},
          {"gradients", s.gradients}, {"optimizer", s.optimizer}, {"activations", s.activations},
          {"buffers", s.buffers},     {"total", s.total}};
}

Json memory_details_json(const MemoryReport& m) {
  Json j;
  if (m.misfit) {
    j["rank"] = m.misfit->rank;
    j["stage"] = m.misfit->stage;
    j["gpu"] = m.misfit->gpu;
  }
  j["fullest_stage"] = m.fullest_stage;
  if (m.host > 0) j["host_bytes_per_gpu"] = m.host;
  Json& buffers = j["buffers"];
  for (const auto& [name, bytes] : m.buffer_parts) buffers[name] = bytes;
  j["stages"] = Json::array();
  for (const StageMemoryReport& s : m.stages) j["stages"].push_back(stage_json(s));
  return j;
}

Json locality_json(const std::vector<GroupLocality>& groups) {
  Json j = Json::object();
  for (const GroupLocality& g : groups) {
    j[g.name] = {{"groups", g.groups},
                 {"size", g.size},
                 {"nodes", g.mean(g.nodes)},
                 {"racks", g.mean(g.racks)},
                 {"pods", g.mean(g.pods)},
                 {"edges", g.edges},
                 {"between_nodes", g.share(g.edges_between_nodes)},
                 {"between_racks", g.share(g.edges_between_racks)},
                 {"between_pods", g.share(g.edges_between_pods)}};
  }
  return j;
}

Json object(const RunResult& r) {
  Json j;
  j["schema_version"] = kSchemaVersion;
  j["version"] = r.version;
  j["scenario"] = r.scenario;
  j["cluster"] = r.cluster;
  j["job"] = r.job;
  j["plan"] = r.plan;
  if (!r.set.empty()) j["set"] = r.set;
  j["step_time_s"] = r.step_time_s;
  put(j, "tokens_per_s", r.tokens_per_s);
  if (r.tokens_per_s) j["tokens_per_s_per_gpu"] = *r.tokens_per_s / static_cast<double>(r.gpus);
  put(j, "samples_per_s", r.samples_per_s);
  put(j, "tflops_per_gpu", r.tflops_per_gpu);
  put(j, "mfu", r.mfu);
  put(j, "hfu", r.hfu);
  if (r.mfu) {
    j["peak_tflops"] = r.peak_tflops;
    j["flop_convention"] = r.flop_convention;
  }
  j["gpus"] = r.gpus;
  if (r.has_stragglers) j["slow_gpus"] = r.slow_gpus;
  if (r.memory) {
    j["memory_bytes_per_gpu"] = memory_json(*r.memory);
    j["fits"] = r.fits();
    if (!r.memory_advice.empty()) j["memory_advice"] = r.memory_advice;
    j["memory"] = memory_details_json(*r.memory);
  }
  Json& breakdown = j["breakdown_s"];
  for (std::size_t c = 0; c < kTimeClassCount; ++c) breakdown[to_text(static_cast<TimeClass>(c))] = r.breakdown_s[c];
  j["exposed_communication_s"] = r.exposed_communication_s();
  j["ideal_step_time_s"] = r.ideal_step_time_s;
  j["effective_gpus"] = r.step_time_s > 0 ? static_cast<double>(r.gpus) * r.ideal_step_time_s / r.step_time_s : 0.0;
  put(j, "healthy_step_time_s", r.healthy_step_time_s);
  if (r.kernel_timings) {
    const KernelTimingsReport& t = *r.kernel_timings;
    j["kernel_timings"] = {
        {"file", t.file}, {"rows", t.rows}, {"unused_rows", t.unused_rows}, {"products", t.products}, {"parts", t.parts}};
  }
  j["bottleneck"] = r.bottleneck;
  if (!r.locality.empty()) j["locality"] = locality_json(r.locality);
  if (r.cost) {
    Json& cost = j["cost"];
    cost["usd_per_gpu_hour"] = r.cost->usd_per_gpu_hour;
    cost["usd_per_step"] = r.cost->usd_per_step;
    put(cost, "usd_per_million_tokens", r.cost->usd_per_million_tokens);
    cost["effective_usd_per_gpu_hour"] = r.cost->effective_usd_per_gpu_hour;
    cost["effective_gpus"] = j["effective_gpus"];
  }
  j["network"] = r.network;
  j["seed"] = r.seed;
  j["events"] = r.events;
  j["fingerprint"] = fmt::format("{:016x}", r.fingerprint);
  return j;
}

// Nested keys and places in lists joined by dots, in order.
void flatten(const Json& j, const std::string& prefix, Cells& out) {
  for (const auto& [key, value] : j.items()) {
    const std::string path = prefix.empty() ? key : prefix + "." + key;
    if (value.is_structured()) {
      flatten(value, path, out);
    } else {
      out.emplace_back(path, value.is_string() ? value.get<std::string>() : value.dump());
    }
  }
}

constexpr const char* kNotInTables[] = {"set", "links", "faults", "symmetry", "measured"};

Json faults_json(const std::vector<FaultReport>& faults) {
  Json out = Json::array();
  for (const FaultReport& f : faults) {
    Json j = {{"what", f.what}};
    if (!f.when.empty()) j["when"] = f.when;
    j["first_s"] = f.first_s;
    j["times"] = f.times;
    j["rerouted"] = f.rerouted;
    out.push_back(std::move(j));
  }
  return out;
}

Json links_json(const std::vector<LinkReport>& links) {
  Json out = Json::array();
  for (const LinkReport& l : links) {
    out.push_back({{"name", l.name}, {"tier", l.tier}, {"utilization", l.utilization}, {"bytes", l.bytes}});
  }
  return out;
}

Json symmetry_json(const SymmetryReport& s, std::int64_t gpus) {
  return {{"used", s.is_used},
          {"ranks", gpus},
          {"rank_classes", s.rank_classes},
          {"rank_classes_by_plan", s.rank_classes_by_plan},
          {"rank_classes_with_slow_gpus", s.rank_classes_with_slowdowns},
          {"activities", s.activities},
          {"activity_classes", s.activity_classes},
          {"links", s.links},
          {"link_classes", s.link_classes},
          {"repeated_s", s.repeated_s},
          {"summary", symmetry_sentence(s, gpus)}};
}

// All but `measured`.
Json whole_object(const RunResult& r) {
  Json j = object(r);
  j["links"] = links_json(r.links);
  if (!r.faults.empty()) j["faults"] = faults_json(r.faults);
  j["symmetry"] = symmetry_json(r.symmetry, r.gpus);
  return j;
}

constexpr const char* kNotOfOneJob[] = {"schema_version", "version", "scenario", "cluster",
                                        "network",        "seed",    "events",   "fingerprint"};

Json job_object(const SharedJob& job) {
  Json j = {{"name", job.name},
            {"start_s", job.start_s},
            {"slowdown", job.slowdown},
            {"alone_step_time_s", job.alone_step_time_s},
            {"steps", job.steps}};
  Json run = object(job.run);
  for (const char* key : kNotOfOneJob) run.erase(key);
  for (const auto& [key, value] : run.items()) j[key] = value;
  j["links"] = links_json(job.run.links);
  return j;
}

Json whole_object(const SharedRunResult& r) {
  Json jobs = Json::array();
  for (const SharedJob& job : r.jobs) jobs.push_back(job_object(job));
  Json j = {{"schema_version", kSchemaVersion}, {"version", r.version}, {"scenario", r.scenario}, {"cluster", r.cluster}};
  if (!r.set.empty()) j["set"] = r.set;
  j.update({{"gpus", r.gpus()},
            {"end_s", r.end_s},
            {"jobs", std::move(jobs)},
            {"network", r.network},
            {"seed", r.seed},
            {"events", r.events},
            {"fingerprint", fmt::format("{:016x}", r.fingerprint)},
            {"links", links_json(r.links)},
            {"symmetry", symmetry_json(r.symmetry, r.gpus())}});
  if (!r.faults.empty()) j["faults"] = faults_json(r.faults);
  return j;
}

template <class Result>
std::string json_text(const Result& r) {
  Json j = whole_object(r);
  j["measured"] = {{"wall_s", r.measured.wall_s}, {"peak_rss_bytes", r.measured.peak_rss_bytes}};
  return j.dump(2) + "\n";
}

std::string csv_of(const std::string& record) {
  std::vector<std::string> header;
  std::vector<std::string> row;
  for (const auto& [key, value] : cells_of_record(record)) {
    header.push_back(key);
    row.push_back(value);
  }
  return csv_row(header) + csv_row(row);
}

std::string markdown_of(const std::string& record) {
  std::string out = "| key | value |\n|---|---|\n";
  for (auto& [key, text] : cells_of_record(record)) {
    for (std::size_t i = text.find('|'); i != std::string::npos; i = text.find('|', i + 2)) text.insert(i, "\\");
    out += fmt::format("| {} | {} |\n", key, text);
  }
  return out;
}

}  // namespace

std::string to_json(const RunResult& r) { return json_text(r); }
std::string to_json(const SharedRunResult& r) { return json_text(r); }

std::string to_record(const RunResult& r) { return whole_object(r).dump(); }
std::string to_record(const SharedRunResult& r) { return whole_object(r).dump(); }

Cells cells_of_record(const std::string& record) {
  Json j = Json::parse(record);
  const auto leave_out = [](Json& of) {
    for (const char* key : kNotInTables) of.erase(key);
  };
  leave_out(j);
  if (j.contains("jobs")) std::for_each(j["jobs"].begin(), j["jobs"].end(), leave_out);
  Cells cells;
  flatten(j, "", cells);
  return cells;
}

std::string to_csv(const RunResult& r) { return csv_of(to_record(r)); }
std::string to_csv(const SharedRunResult& r) { return csv_of(to_record(r)); }

std::string to_markdown(const RunResult& r) { return markdown_of(to_record(r)); }
std::string to_markdown(const SharedRunResult& r) { return markdown_of(to_record(r)); }

}  // namespace lockstep
