// SPDX-License-Identifier: Apache-2.0
#include "sim/experiment/training_rows/plan_cells.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/quantity.h"
#include "sim/experiment/measured_tables.h"

namespace lockstep {
namespace {

// "config_DGXH100_1x8x4xtp4pp1cp2.sh": what stands behind `word`, where digits do and tpNppN is the form.
std::optional<std::int64_t> in_config_name(const TrainingRow& row, std::string_view word) {
  const std::string_view notes = row.text("notes");
  const std::size_t config = notes.find("config=");
  if (config == std::string_view::npos) return {};
  const std::string_view name = notes.substr(config, notes.find(';', config) - config);
  const std::size_t tp = name.find("tp");
  const std::size_t at = tp == std::string_view::npos ? tp : name.find(word, tp);
  if (at == std::string_view::npos) return {};
  std::size_t end = at + word.size();
  while (end < name.size() && name[end] >= '0' && name[end] <= '9') ++end;
  return parse_int(name.substr(at + word.size(), end - at - word.size())).value;
}

constexpr std::int64_t kMostCell = 1'000'000'000'000;  // times kMostTableGpus it stays inside 64 bits
constexpr double kMostPasses = 10'000;                 // gradient accumulation; times both still inside

class Reader {
 public:
  explicit Reader(const TrainingRow& row) : row_(row) {}

  PlanCells read() {
    read_sharding();
    out_.gpus = needed("n_gpus");
    out_.seq_len = needed("seq_len");
    const std::optional<std::int64_t> tp = size("tp");
    out_.tp = tp ? *tp : out_.shards_weights || out_.shards_gradients ? 1 : needed("tp");
    out_.pp = size("pp").value_or(1);
    out_.cp = size("cp").value_or(1);
    out_.ep = count("ep").value_or(1);
    out_.virtual_stages = count("vpp").value_or(1);
    if (out_.missing.empty() && out_.gpus > kMostTableGpus) fail(fmt::format("more than {} GPUs", kMostTableGpus));
    if (out_.missing.empty()) read_batch();
    return out_;
  }

 private:
  void fail(std::string why) {
    if (out_.missing.empty()) out_.missing = std::move(why);
  }

  std::optional<std::int64_t> count(std::string_view column) {
    const std::optional<std::int64_t> value = row_.integer(column);
    if (value && *value <= 0) fail(fmt::format("{} is {}, and must be positive", column, *value));
    if (value && *value > kMostCell) fail(fmt::format("{} is {}, more than {}", column, *value, kMostCell));
    if (!value && !row_.is_blank(column)) fail(fmt::format("{} is '{}', and no number", column, row_.text(column)));
    return value;
  }
  std::optional<std::int64_t> size(std::string_view column) {
    const std::optional<std::int64_t> value = count(column);
    if (value) return value;
    const std::optional<std::int64_t> named = in_config_name(row_, column);
    return named && *named > 0 ? named : std::nullopt;
  }
  std::int64_t needed(std::string_view column) {
    const std::optional<std::int64_t> value = count(column);
    if (!value) fail(fmt::format("{} is not published", column));
    return value.value_or(1);
  }

  void read_sharding() {
    const std::string_view stage = row_.text("zero_stage");
    const std::string words = squeezed(stage);
    out_.shards_gradients = words.find("shardgradop") != std::string::npos ||
                            words.find("shardsoptgrad") != std::string::npos || words.starts_with("zero2") || stage == "2";
    out_.fsdp_group = static_cast<std::int64_t>(row_.noted("FSDP").value_or(0));
    out_.shards_weights = !out_.shards_gradients && (words.find("fsdp") != std::string::npos || words.starts_with("zero3") ||
                                                     stage == "3" || out_.fsdp_group > 1);
  }

  void read_batch() {
    const bool is_cut_too_fine =
        std::max({out_.tp, out_.pp, out_.cp}) > out_.gpus;  // products of no more than kMostTableGpus^3
    const std::int64_t model = is_cut_too_fine ? 0 : out_.tp * out_.pp * out_.cp;
    if (is_cut_too_fine || out_.gpus % model != 0) {
      return fail(fmt::format("tp {} x pp {} x cp {} does not divide {} GPUs", out_.tp, out_.pp, out_.cp, out_.gpus));
    }
    out_.dp = out_.gpus / model;
    if (const auto printed = count("dp"); printed && *printed != out_.dp) {
      return fail(fmt::format("tp {} x pp {} x cp {} x dp {} is not {} GPUs", out_.tp, out_.pp, out_.cp, *printed, out_.gpus));
    }
    const std::optional<std::int64_t> global = count("global_batch");
    const std::optional<std::int64_t> micro = count("micro_batch");
    const std::optional<double> noted = row_.noted("GA") ? row_.noted("GA") : row_.noted("grad_accum");
    if (!global && !micro) return fail("neither global_batch nor micro_batch is published");
    if (noted && !(*noted >= 1 && *noted <= kMostPasses)) return fail(fmt::format("{} passes of a step", *noted));
    if (!out_.missing.empty()) return;
    const auto passes = static_cast<std::int64_t>(noted.value_or(0));
    out_.micro_batch = micro.value_or(1);
    if (!micro && passes > 0 && *global % (out_.dp * passes) == 0) out_.micro_batch = *global / (out_.dp * passes);
    const std::int64_t pass = out_.micro_batch * out_.dp;
    out_.global_batch = global.value_or(pass * std::max<std::int64_t>(passes, 1));
    const std::int64_t rest = out_.global_batch % pass;
    // 1538 sequences of a run whose plan makes 1536: rounded where it is under 1 %.
    if (rest * 100 <= out_.global_batch) out_.global_batch -= rest;
  }

  const TrainingRow& row_;
  PlanCells out_;
};

}  // namespace

PlanCells plan_cells(const TrainingRow& row) { return Reader(row).read(); }

}  // namespace lockstep
