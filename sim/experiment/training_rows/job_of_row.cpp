// SPDX-License-Identifier: Apache-2.0
#include "sim/experiment/training_rows/job_of_row.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/field_table.h"
#include "sim/experiment/training_rows/measured_step.h"
#include "sim/experiment/training_rows/plan_cells.h"

namespace lockstep {
namespace {

constexpr const char* kDense = "gpt-175b";   // geometry where a name says nothing: plain MLP of 4 h, as many KV heads as heads
constexpr const char* kGated = "llama3-8b";  // ... and any other shape

// MLPerf Training's llama2_70b_lora, and NeMo's recipes for Llama 3 70B; taken where a row says LoRA and no rank.
constexpr std::string_view kUsualLoraRank = "16";

// Of the adapters that a row trains: "r16" in the name of its model; empty where it trains all weights.
std::string lora_rank(const TrainingRow& row) {
  if (contains(row.text("notes"), "task LoRA")) return std::string(kUsualLoraRank);
  std::string name = squeezed(row.text("model"));  // "llama270blorar16"
  const std::size_t at = name.find("lora");
  if (at == std::string::npos) return {};
  name.erase(0, at + 4);
  if (name.size() < 2 || name.front() != 'r' || name.find_first_not_of("0123456789", 1) != std::string::npos) {
    return std::string(kUsualLoraRank);
  }
  return name.substr(1);
}

// "full (every layer)" is full.
std::optional<std::string_view> recompute_of(std::string_view cell) {
  const std::string_view word = cell.substr(0, cell.find_first_of(" ("));
  for (const std::string_view known : {"full", "selective", "none"}) {
    if (word == known) return known;
  }
  return {};
}

// "4" where a cell is blank but the shipped model has it; nothing where neither does.
class JobWriter {
 public:
  JobWriter(const TrainingRow& row, const TrainingRules& rules, const ConfigLibrary& library)
      : row_(row), rules_(rules), library_(library) {}

  RowJob write() {
    job_.software = software_of(row_, rules_);
    for (const std::string_view column : kMeasuredColumns) {
      if (const std::string_view cell = row_.text(column); !cell.empty() && !row_.number(column)) {
        return refuse(fmt::format("{} is '{}': a number without a unit", column, cell));
      }
    }
    if (!has_measured_step(row_)) return refuse("no time of a step, tokens per second or TFLOP/s");
    if (contains(row_.text("notes"), "per-layer")) return refuse("times one layer, not a step");
    if (const std::string_view said = row_.text("recompute"); !said.empty() && !recompute_of(said)) {
      return refuse(fmt::format("recompute is '{}': full, selective or none", said));
    }
    cells_ = plan_cells(row_);
    if (!cells_.missing.empty()) return refuse(cells_.missing);
    name_model();
    if (model_.empty()) return refuse(model_refusal_);
    job_.is_eligible = true;
    const auto shipped = library_.entries("model");
    if (std::none_of(shipped.begin(), shipped.end(), [&](const ConfigEntry& e) { return e.name == model_; })) {
      return refuse(fmt::format("the model {} is not shipped", model_));
    }
    Diagnostics d;
    RowCluster cluster = cluster_of_row(row_, cells_.gpus, library_, d);
    if (!cluster.refusal.empty()) return refuse(cluster.refusal);
    throw_if_errors(d);
    job_.cluster = std::move(*cluster.spec);
    set_all();
    return resolve(d);
  }

 private:
  RowJob refuse(std::string why) {
    job_.refusal = std::move(why);
    return std::move(job_);
  }

  void name_model() {
    const ModelRule* rule = rules_.model_of(row_);
    if (rule != nullptr && rule->model.empty()) {
      model_refusal_ = rule->why;
      return;
    }
    for (const char* column : {"layers", "hidden", "heads"}) {
      if (const auto value = row_.integer(column); value && *value <= 0) {
        model_refusal_ = fmt::format("{} is {}, and must be positive", column, *value);
        return;
      }
    }
    const bool has_geometry = row_.integer("layers") && row_.integer("hidden") && row_.integer("heads");
    if (const std::string shipped = shipped_model(); rule != nullptr && !has_geometry && !is_exact(*rule) && !shipped.empty()) {
      model_ = shipped;
    } else if (rule != nullptr) {
      // A family lends what its members share; their sizes are in the row, or all of them in the shipped model.
      if (has_geometry || is_exact(*rule)) model_ = rule->model;
      set_ = rule->set;
    } else if (!has_geometry) {
      model_ = shipped_model();
    } else {
      const bool is_plain = row_.integer("ffn").value_or(4 * *row_.integer("hidden")) == 4 * *row_.integer("hidden") &&
                            row_.integer("kv_heads").value_or(*row_.integer("heads")) == *row_.integer("heads");
      model_ = is_plain ? kDense : kGated;
    }
    if (model_.empty()) model_refusal_ = "layers, hidden size and heads are not published";
  }

  // Of the name in the row, "LLAMA3_70B" as well; empty where none is.
  [[nodiscard]] std::string shipped_model() const {
    const std::string name = squeezed(row_.text("model"));
    for (const ConfigEntry& e : library_.entries("model")) {
      if (squeezed(e.name) == name) return e.name;
    }
    return {};
  }

  // "Kimi_K2" is kimi-k2 and no other; "LLAMA3_70B" is of the family of llama3-8b.
  [[nodiscard]] bool is_exact(const ModelRule& rule) const {
    return squeezed(row_.text("model")).starts_with(squeezed(rule.model));
  }

  void set(std::string_view key, std::string_view value) { assignments_.push_back(fmt::format("{}={}", key, value)); }
  void set(std::string_view key, std::int64_t value) { set(key, std::to_string(value)); }
  [[nodiscard]] std::string usual(std::string_view key) const {
    return rules_.default_of(job_.software.framework, job_.software.released, key);
  }
  void set_usual(std::string_view key) {
    if (const std::string value = usual(key); !value.empty()) set(key, value);
  }

  void set_all() {
    set("kind", "job");
    set("model", model_);
    std::string_view rest = set_;
    while (!rest.empty()) {
      const std::size_t end = std::min(rest.find(','), rest.size());
      assignments_.push_back(fmt::format("model.{}", rest.substr(0, end)));
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
    set("software.framework", job_.software.framework);
    if (!job_.software.released.empty()) set("software.released", job_.software.released);
    set_sizes();
    set_sharding();
    set_tensor_parallel();
    set_kernels();
    if (const std::string rank = lora_rank(row_); !rank.empty()) set("lora.rank", rank);
    // What a file says of keys that the published tables have no column for goes before all rules.
    for (const auto& [column, value] : row_.cells()) {
      if (column.starts_with("job.") && !row_.is_blank(column)) set(column.substr(4), row_.text(column));
    }
  }

  void set_sizes() {
    const PlanCells& c = cells_;
    set("gpus", c.gpus);
    for (const auto& [key, value] : {std::pair("tp", c.tp),
                                     {"pp", c.pp},
                                     {"dp", c.dp},
                                     {"cp", c.cp},
                                     {"ep", c.ep},
                                     {"virtual_stages", c.virtual_stages},
                                     {"seq_len", c.seq_len},
                                     {"micro_batch", c.micro_batch},
                                     {"global_batch", c.global_batch}}) {
      set(key, value);
    }
    if (c.ep > 1) set_usual("expert_dispatch");
    if (c.ep > 1 && c.virtual_stages > 1) set_usual("overlap_expert_exchange");
  }

  void set_sharding() {
    const bool has_replicas = cells_.dp * cells_.cp > 1;
    if (cells_.shards_weights) {
      set("strategy", "fsdp");
      if (cells_.fsdp_group > 1 && cells_.fsdp_group < cells_.dp) set("shard_group", cells_.fsdp_group);
      return;
    }
    set("strategy", cells_.shards_gradients ? "zero2" : "ddp");
    const std::string_view stage = row_.text("zero_stage");
    const std::string zero = stage == "0" ? "false" : stage.empty() ? usual("distributed_optimizer") : "true";
    if (has_replicas && !cells_.shards_gradients) set("distributed_optimizer", zero);
    set_usual("overlap_grad_reduce");
    if (zero == "true") set_usual("overlap_param_gather");
  }

  void set_tensor_parallel() {
    if (cells_.tp == 1) return;
    const std::string_view said = row_.text("seq_parallel");
    const std::string parallel = said == "yes" ? "true" : said == "no" ? "false" : usual("sequence_parallel");
    if (!parallel.empty()) set("sequence_parallel", parallel);
    const std::string overlap = usual("tp_overlap");
    // Only gathers and scatters of sequence parallelism go in chunks.
    if (!overlap.empty()) set("tp_overlap", overlap == "pipelined" && parallel != "true" ? "backward" : overlap);
    if (cells_.pp > 1 && parallel != "true") set_usual("scatter_gather");
  }

  void set_kernels() {
    const std::string_view recompute = row_.text("recompute");
    if (recompute.empty()) {
      set_usual("recompute");
    } else {
      set("recompute", *recompute_of(recompute));
    }
    set_usual("attention");
    set("precision", precision());
    const std::string_view notes = row_.text("notes");
    if (contains(notes, "mp_mode=PURE")) {
      set("grad_dtype", "bf16");
    } else if (contains(notes, "mp_mode=DEFAULT")) {
      set("grad_dtype", "fp32");
    } else {
      set_usual("grad_dtype");
    }
    if (contains(notes, "_cg.sh")) {
      set("execution", "cuda_graphs");
    } else {
      set_usual("execution");
    }
  }

  [[nodiscard]] std::string precision() const {
    const std::string_view dtype = row_.text("dtype");
    const bool is_old = contains(row_.text("gpu_type"), "V100");
    const bool has_fp8 = !is_old && !contains(row_.text("gpu_type"), "A100");
    const std::string words = squeezed(dtype);
    if (has_fp8 && contains(dtype, "NVFP4")) return "nvfp4";
    if (has_fp8 && (contains(dtype, "MXFP8") || words.find("fp8mx") != std::string::npos)) return "mxfp8";
    if (has_fp8 && contains(dtype, "FP8")) return "fp8";
    if (contains(dtype, "BF16") && !is_old) return "bf16";
    return is_old || contains(dtype, "FP16") ? "fp16" : "bf16";
  }

  [[nodiscard]] bool read(JobSpec& job, Diagnostics& d) const {
    Document document = Document::empty_map("row");
    for (const std::string& a : assignments_) document.set(a, d);
    ReadContext context(d, &library_);
    return !d.has_errors() && job_fields().read_document(document, job, context) && !d.has_errors();
  }
  RowJob refuse_as(const Diagnostics& d) {
    const Diagnostic& first = d.items().front();
    return refuse(first.path.empty() ? first.message : fmt::format("{}: {}", first.path, first.message));
  }

  RowJob resolve(Diagnostics& d) {
    JobSpec job;
    if (!read(job, d)) return refuse_as(d);
    // The row's sizes go over those of the shipped model, by the rules of the schema as well.
    if (const std::string why = set_geometry(job.model); !why.empty()) return refuse(why);
    JobSpec sized;
    if (!read(sized, d)) return refuse_as(d);
    job = std::move(sized);
    job.model.name = row_.text("model");
    job.name = row_.text("model");
    std::string reason;
    const ClusterSize size(job_.cluster.gpus(), job_.cluster.server->gpus);
    const auto report = [&](std::string_view key, const std::string& message, const std::string&) {
      if (reason.empty()) reason = fmt::format("{}: {}", key, message);
    };
    std::optional<TrainingPlan> plan = resolve_plan(job, size, ReportFault(report));
    if (!plan) return refuse(reason);
    job_.plan = std::move(*plan);
    const std::optional<double> seconds = measured_step(row_, job_.plan, cells_.gpus, job_.software);
    if (!seconds) {
      job_.is_eligible = false;
      return refuse(fmt::format("iteration_time_s is {}: {}", row_.text("iteration_time_s"), "times are from 1 ns to 1e6 s"));
    }
    job_.measured_s = *seconds;
    job_.what = what();
    return std::move(job_);
  }

  // Adds assignments of the row's cells to those of the shipped model `base`; a column job.model.KEY goes before them. The reason where they make no
  // model.
  std::string set_geometry(const TransformerSpec& base) {
    const std::int64_t hidden = row_.integer("hidden").value_or(base.hidden);
    const std::int64_t heads = row_.integer("heads").value_or(base.heads);
    const bool is_same = hidden == base.hidden && heads == base.heads;
    if (!is_same && hidden % heads != 0) return fmt::format("hidden {} is not divisible by {} heads", hidden, heads);
    for (const auto& [key, value] :
         {std::pair<const char*, std::int64_t>("layers", row_.integer("layers").value_or(base.layers)),
          {"hidden", hidden},
          {"heads", heads},
          {"kv_heads", row_.integer("kv_heads").value_or(is_same ? base.kv_heads : heads)},
          {"head_dim", is_same ? base.head_dim : hidden / heads},
          {"ffn", row_.integer("ffn").value_or(is_same ? base.ffn : 4 * hidden)},
          {"vocab", row_.integer("vocab").value_or(base.vocab)},
          {"max_positions", std::max(base.max_positions, cells_.seq_len)}}) {
      if (row_.is_blank(fmt::format("job.model.{}", key))) set(fmt::format("model.{}", key), value);
    }
    return {};
  }

  [[nodiscard]] std::string what() const {
    std::string text = fmt::format("{} {} GPUs, tp {} pp {}", row_.text("model"), cells_.gpus, cells_.tp, cells_.pp);
    if (cells_.virtual_stages > 1) text += fmt::format(" x {}", cells_.virtual_stages);
    if (cells_.cp > 1) text += fmt::format(" cp {}", cells_.cp);
    if (cells_.ep > 1) text += fmt::format(" ep {}", cells_.ep);
    text += fmt::format(", {} x {}", job_.plan.micro_batches, cells_.micro_batch);
    if (job_.plan.job.strategy == Strategy::kFsdp) text += ", fsdp";
    if (job_.plan.job.recompute == Recompute::kFull) text += ", full recompute";
    if (job_.plan.job.recompute == Recompute::kSelective) text += ", selective recompute";
    if (job_.plan.job.lora) text += fmt::format(", LoRA r{}", job_.plan.job.lora->rank);
    if (!row_.is_blank("dtype")) text += fmt::format(", {}", precision());
    return text;
  }

  const TrainingRow& row_;
  const TrainingRules& rules_;
  const ConfigLibrary& library_;
  PlanCells cells_;
  std::string model_;  // name of a shipped model
  std::string model_refusal_;
  std::string set_;
  std::vector<std::string> assignments_;
  RowJob job_;
};

}  // namespace

RowJob job_of_row(const TrainingRow& row, const TrainingRules& rules, const ConfigLibrary& library) {
  return JobWriter(row, rules, library).write();
}

RowPart part_of(const TrainingRow& row, const RowJob& job) {
  if (job.plan.job.model.moe) return RowPart::kExperts;
  if (contains(row.text("model"), "lora")) return RowPart::kLora;
  if (row.text("zero_stage") == "3" && job.software.framework == "deepspeed" && job.software.released < "2022")
    return RowPart::kZero3;
  return RowPart::kAll;
}

}  // namespace lockstep
