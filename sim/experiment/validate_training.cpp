// SPDX-License-Identifier: Apache-2.0
// Which rows: a whole training step with its plan: iteration time, layers, hidden size, heads, vocabulary, sequence, GPUs, tp, pp, dp,
// micro- and global batch, on A100 nodes of eight with 8x200G InfiniBand. Rows of single layers are skipped.
//
// What a row leaves out follows one rule, that of the software the source names (Megatron-LM of 2022): GPT geometry (plain MLP, biases,
// learned positions, tied embeddings, LayerNorm, dropout), attention not fused, gradients in 32 bit and all-reduced after the backward,
// pipeline messages cut by tp.
#include <fmt/core.h>

#include <map>

#include "base/csv.h"
#include "base/field_table.h"
#include "sim/experiment/job_run.h"
#include "sim/experiment/measured_tables.h"
#include "sim/experiment/validation_suites.h"

namespace lockstep {
namespace {

constexpr const char* kRule =
    "rows of whole training steps on DGX A100 with plan, batch and iteration time; GPT as Megatron-LM of 2022 ran it (unfused "
    "attention, "
    "gradient all-reduce after the backward)";

// A cell that may be empty.
class Row {
 public:
  explicit Row(const CsvReader& reader) : reader_(reader) {}
  [[nodiscard]] std::string_view text(std::string_view column) const {
    const std::size_t i = reader_.column(column);
    return i == CsvReader::npos ? std::string_view() : reader_[i];
  }
  [[nodiscard]] std::optional<std::int64_t> integer(std::string_view column) const { return parse_int(text(column)).value; }
  [[nodiscard]] std::optional<double> number(std::string_view column) const { return parse_double(text(column)).value; }

 private:
  const CsvReader& reader_;
};

constexpr const char* kNeeded[] = {"layers", "hidden", "heads", "ffn", "vocab",       "seq_len",
                                   "n_gpus", "tp",     "pp",    "dp",  "micro_batch", "global_batch"};

// Empty when the row is eligible.
std::string reason_to_skip(const Row& row) {
  const std::optional<double> time = row.number("iteration_time_s");
  if (!time) return "no iteration time";
  if (!is_measurable(*time)) return fmt::format("iteration_time_s is {}: {}", row.text("iteration_time_s"), kMeasurableTimes);
  for (const char* column : kNeeded) {
    const std::optional<std::int64_t> value = row.integer(column);
    if (!value) return fmt::format("{} is not published", column);
    if (*value <= 0) return fmt::format("{} is {}, and must be positive", column, *value);
  }
  for (const char* column : {"kv_heads", "vpp"}) {
    if (row.integer(column).value_or(1) <= 0) return fmt::format("{} is {}, and must be positive", column, row.text(column));
  }
  if (*row.integer("n_gpus") > kMostTableGpus) return fmt::format("more than {} GPUs", kMostTableGpus);
  if (row.text("gpu_type").find("A100") == std::string_view::npos)
    return fmt::format("no shipped cluster for {}", row.text("gpu_type"));
  return {};
}

TransformerSpec model_of(const Row& row) {
  TransformerSpec m;
  m.name = row.text("model");
  m.layers = *row.integer("layers");
  m.hidden = *row.integer("hidden");
  m.heads = *row.integer("heads");
  m.kv_heads = row.integer("kv_heads").value_or(m.heads);
  m.head_dim = m.hidden / m.heads;
  m.ffn = *row.integer("ffn");
  m.vocab = *row.integer("vocab");
  m.max_positions = *row.integer("seq_len");
  m.is_gated = false;
  m.has_tied_embeddings = true;
  m.positions = PositionKind::kLearned;
  m.has_linear_biases = true;
  m.has_dropout = true;
  m.norm = NormKind::kLayer;
  return m;
}

JobSpec job_of(const Row& row) {
  JobSpec job;
  job.model = model_of(row);
  job.name = job.model.name;
  job.seq_len = *row.integer("seq_len");
  job.micro_batch = *row.integer("micro_batch");
  job.global_batch = *row.integer("global_batch");
  job.tp = *row.integer("tp");
  job.pp = *row.integer("pp");
  job.dp = *row.integer("dp");
  job.virtual_stages = row.integer("vpp").value_or(1);
  job.sequence_parallel = row.text("seq_parallel") == "yes";
  job.scatter_gather = !job.sequence_parallel;  // which cuts them already
  job.overlap_grad_reduce = false;
  job.attention = AttentionKernel::kUnfused;
  const std::string_view recompute = row.text("recompute");
  job.recompute = recompute.starts_with("full")        ? Recompute::kFull
                  : recompute.starts_with("selective") ? Recompute::kSelective
                                                       : Recompute::kNone;
  return job;
}

}  // namespace

SuiteResult run_training_suite(std::istream& csv, const std::string& file, const ConfigLibrary& library,
                               Diagnostics& diagnostics) {
  SuiteResult result{.suite = "training", .rule = kRule};
  ClusterSpec cluster;
  if (const auto document = library.open("cluster", "dgx-a100", {}, {}, diagnostics)) {
    ReadContext context(diagnostics, &library);
    cluster_fields().read_document(*document, cluster, context);
  }
  CsvReader reader(csv, file, diagnostics);
  for (const char* column : {"source", "iteration_time_s", "n_gpus"}) {
    if (reader.column(column) == CsvReader::npos) {
      diagnostics.error({file, 1, 1}, {}, fmt::format("the column '{}' is missing", column));
    }
  }
  if (diagnostics.has_errors()) return result;

  const std::string source = file.substr(file.find_last_of('/') + 1);
  while (reader.next()) {
    const Row row(reader);
    std::string reason = reason_to_skip(row);
    std::optional<TrainingPlan> plan;
    if (reason.empty()) {
      Diagnostics faults;
      const std::int64_t gpus = *row.integer("n_gpus");
      plan = resolve_plan(
          job_of(row), gpus, [](std::string_view) { return Position{}; }, faults);
      if (!plan) reason = faults.items().front().message;
      cluster.nodes = static_cast<int>((gpus + cluster.server->gpus - 1) / cluster.server->gpus);
    }
    if (!plan) {
      result.skipped.push_back({source, reader.line(), std::move(reason)});
      continue;
    }
    const RunResult run = run_job(cluster, *plan, {.compares_with_ideal = false});
    result.predictions.push_back(
        {.source = source,
         .row = reader.line(),
         .what = fmt::format("{} {} GPUs, {} recompute", row.text("model"), run.gpus, row.text("recompute")),
         .metric = "step_time_s",
         .measured = *row.number("iteration_time_s"),
         .predicted = run.step_time_s});
  }
  return result;
}

}  // namespace lockstep
