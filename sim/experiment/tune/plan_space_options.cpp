// SPDX-License-Identifier: Apache-2.0
// What --space says: lists of values for the keys of a plan.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/field_table.h"
#include "sim/experiment/tune/plan_space.h"

namespace lockstep {
namespace {

constexpr DataParallelKind kKinds[] = {DataParallelKind::kDdp, DataParallelKind::kDistributedOptimizer,
                                       DataParallelKind::kZero2, DataParallelKind::kFsdp, DataParallelKind::kHybrid};
constexpr std::int64_t kMostCount = 1 << 20;

// Keys of a job that another key of the space decides.
struct Decided {
  const char* key;
  const char* instead;
};
constexpr Decided kDecided[] = {
    {"strategy", "data_parallel=ddp,distributed_optimizer,zero2,fsdp,hybrid"},
    {"distributed_optimizer", "data_parallel=ddp,distributed_optimizer,zero2,fsdp,hybrid"},
    {"recompute_layers", "recompute=none,25%,50%,full"},
    {"dp", "tp and pp: dp is what is left of the GPUs"},
    {"gpus", "--gpus N"},
    {"model", "--set job.model=..."},
    {"profile", "a job with a model"},
    {"kernel_timings", "--set job.kernel_timings=..."},
    {"seq_len", "--set job.seq_len=..."},
    {"global_batch", "--set job.global_batch=..."},
    {"gradient_accumulation", "micro_batch: it follows from global_batch"},
};

std::vector<std::string> split(std::string_view text) {
  std::vector<std::string> out;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    out.emplace_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return out;
}

Parsed<std::int64_t> parse_count(std::string_view text) {
  const Parsed<std::int64_t> n = parse_int(text);
  if (!n) return {std::nullopt, n.error, "a whole number"};
  if (*n.value < 1 || *n.value > kMostCount) return {std::nullopt, fmt::format("'{}' is out of range", text), "1 to 1048576"};
  return n;
}

Parsed<DataParallelKind> parse_kind(std::string_view text) {
  for (const DataParallelKind kind : kKinds) {
    if (text == to_text(kind)) return {kind, {}, {}};
  }
  return {std::nullopt, fmt::format("'{}' is no kind of data parallelism", text),
          "ddp, distributed_optimizer, zero2, fsdp or hybrid"};
}

Parsed<RecomputeChoice> parse_recompute(std::string_view text) {
  if (text == "none") return {RecomputeChoice{}, {}, {}};
  if (text == "selective") return {RecomputeChoice{Recompute::kSelective}, {}, {}};
  if (text == "full") return {RecomputeChoice{Recompute::kFull}, {}, {}};
  if (text.ends_with('%')) {
    const Parsed<std::int64_t> n = parse_int(text.substr(0, text.size() - 1));
    if (n && *n.value >= 1 && *n.value <= 100) return {RecomputeChoice{Recompute::kFull, *n.value}, {}, {}};
  }
  return {std::nullopt, fmt::format("'{}' is nothing to compute again", text),
          "none, selective, full, or a share of the layers as 50%"};
}

Parsed<bool> parse_switch(std::string_view text) {
  if (text == "true" || text == "false") return {text == "true", {}, {}};
  return {std::nullopt, fmt::format("'{}' is neither true nor false", text), "true or false"};
}

// All values of a list, each once.
template <class T, class Parse>
void read_list(const std::vector<std::string>& texts, const Parse& parse, std::vector<T>& out, const Position& where,
               const std::string& key, Diagnostics& d) {
  out.clear();
  for (const std::string& text : texts) {
    const Parsed<T> value = parse(text);
    if (!value) {
      d.error(where, key, value.error, value.hint);
    } else if (std::find(out.begin(), out.end(), *value.value) != out.end()) {
      d.error(where, key, fmt::format("'{}' is there twice", text), "each value once");
    } else {
      out.push_back(*value.value);
    }
  }
}

}  // namespace

std::optional<PlanSpace> PlanSpace::make(JobSpec job, std::int64_t global_batch, const ClusterSize& cluster,
                                         const std::vector<std::string>& assignments, Diagnostics& d) {
  const std::size_t errors = d.error_count();
  PlanSpace space(std::move(job), global_batch, cluster);
  std::set<std::string> keys;
  for (const std::string& assignment : assignments) {
    const std::string key = assignment.substr(0, assignment.find('='));
    if (!keys.insert(key).second) {
      d.error({"--space " + assignment, 0, 0}, key, "has its values already", fmt::format("one list: --space {}=V,V", key));
    }
    space.assign(assignment, d);
  }
  if (d.error_count() > errors) return std::nullopt;
  return space;
}

PlanSpace::Counts* PlanSpace::counts_of(const std::string& key) {
  if (key == "tp") return &tp_;
  if (key == "pp") return &pp_;
  if (key == "cp") return &cp_;
  if (key == "ep") return &ep_;
  if (key == "expert_tp") return &expert_tp_;
  if (key == "virtual_stages") return &virtual_stages_;
  if (key == "micro_batch") return &micro_batch_;
  return nullptr;
}

void PlanSpace::assign(const std::string& assignment, Diagnostics& d) {
  const Position where{"--space " + assignment, 0, 0};
  const std::size_t equals = assignment.find('=');
  if (equals == std::string::npos || equals == 0) {
    return d.error(where, {}, "KEY=VALUE,VALUE,... is expected", "for example tp=1,2,4,8");
  }
  const std::string key = assignment.substr(0, equals);
  const std::vector<std::string> texts = split(std::string_view(assignment).substr(equals + 1));
  if (Counts* counts = counts_of(key)) return read_list(texts, parse_count, *counts, where, key, d);
  if (key == "data_parallel") return read_list(texts, parse_kind, kinds_, where, key, d);
  if (key == "recompute") return read_list(texts, parse_recompute, recomputes_, where, key, d);
  if (key == "sequence_parallel") return read_list(texts, parse_switch, sequence_parallels_, where, key, d);
  for (const Decided& other : kDecided) {
    if (key == other.key) return d.error(where, key, "is not searched by itself", other.instead);
  }
  assign_other(key, texts, where, d);
}

void PlanSpace::assign_other(const std::string& key, const std::vector<std::string>& texts, const Position& where,
                             Diagnostics& d) {
  std::erase_if(others_, [&](const OtherKey& o) { return o.key == key; });
  OtherKey other{.key = key};
  for (const std::string& text : texts) {
    Document document = Document::empty_map(where.file);
    if (!document.assign(key, text, where.file, d)) return;
    ReadContext context(d);
    context.skip_checks();
    JobSpec job = job_;
    if (!job_fields().read(document.root(), job, context, {}, ReadMode::kOverlay)) return;
    other.texts.push_back(text);
    other.values.push_back(std::make_shared<const Document>(std::move(document)));
  }
  others_.push_back(std::move(other));
}

void PlanSpace::apply_others(const PlanChoice& c, JobSpec& job) const {
  for (std::size_t i = 0; i < others_.size(); ++i) {
    Diagnostics d;
    ReadContext context(d);
    context.skip_checks();
    const bool is_read = job_fields().read(others_[i].values[c.others[i]]->root(), job, context, {}, ReadMode::kOverlay);
    LOCKSTEP_CHECK(is_read, "a value of {} was accepted before", others_[i].key);
  }
}

}  // namespace lockstep
