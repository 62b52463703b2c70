// SPDX-License-Identifier: Apache-2.0
// Which rows: matrix products, grouped ones (of experts) and fused attention of a shipped GPU, with their shape and the share of the
// dense peak that was measured. Predicted is the share that the kernel model reaches in the time it gives.
//
// The table counts the whole square of attention scores and kernels compute half of it, so measured shares of attention are halved. What it
// leaves out follows one rule: operands have 16 bits, and attention runs by the newest kernel the GPU has.
#include <fmt/core.h>

#include <map>

#include "base/csv.h"
#include "base/field_table.h"
#include "sim/experiment/validation_suites.h"
#include "workloads/kernels/performance.h"

namespace lockstep {
namespace {

constexpr const char* kRule =
    "matrix products, grouped products and fused attention of a shipped GPU, with shape and measured share of the dense peak; "
    "attention "
    "counts half of the square";

class Row {
 public:
  explicit Row(const CsvReader& reader) : reader_(reader) {}
  [[nodiscard]] std::string_view text(std::string_view column) const {
    const std::size_t i = reader_.column(column);
    return i == CsvReader::npos ? std::string_view() : reader_[i];
  }
  [[nodiscard]] double number(std::string_view column) const { return parse_double(text(column)).value.value_or(0); }

 private:
  const CsvReader& reader_;
};

KernelWork product_of(const Row& row) {
  const double out = row.number("out_bytes");
  const bool accumulates = row.text("accumulates") == "yes";
  KernelWork work = gemm("product", {.m = row.number("m"),
                                     .n = row.number("n"),
                                     .k = row.number("k"),
                                     .out = accumulates ? 2 * out : out,
                                     .batch = row.number("batch")});
  if (accumulates) work.exposed_bytes = row.number("batch") * row.number("m") * row.number("n") * (2 * out - 2);
  return work;
}

KernelWork attention_of(const Row& row, bool is_forward) {
  const double tokens = row.number("batch") * row.number("seq_len");
  const double widths = row.number("heads") * (row.number("qk_dim") + row.number("v_dim"));
  const double forward = tokens * row.number("seq_len") * widths;
  return {.kind = is_forward ? KernelClass::kAttentionForward : KernelClass::kAttentionBackward,
          .flops = is_forward ? forward : 2.5 * forward,
          .bytes = 2 * tokens * 2 * widths};
}

// Share of the data-sheet peak that the work reaches, of the flops that the table counts.
double predicted_share(const GpuPerformance& gpu, double peak, const Row& row) {
  const std::string_view kernel = row.text("kernel");
  const KernelWork work = kernel.starts_with("attention") ? attention_of(row, kernel == "attention_forward") : product_of(row);
  return work.flops / peak / kernel_seconds(gpu, work);
}

std::string reason_to_skip(const Row& row) {
  const bool is_attention = row.text("kernel").starts_with("attention");
  if (!is_attention && row.text("kernel") != "matmul" && !row.text("kernel").starts_with("grouped")) {
    return fmt::format("'{}' is no kernel that is modelled", row.text("kernel"));
  }
  for (const char* column : {"batch", "efficiency"}) {
    if (row.number(column) <= 0) return fmt::format("{} is not published", column);
  }
  static constexpr std::array kOfAttention{"seq_len", "heads", "qk_dim", "v_dim"};
  static constexpr std::array kOfProducts{"m", "n", "k", "out_bytes"};
  for (const char* column : is_attention ? kOfAttention : kOfProducts) {
    if (row.number(column) <= 0) return fmt::format("{} is not published", column);
  }
  return {};
}

std::string text_of(const Row& row) {
  if (row.text("kernel").starts_with("attention")) {
    return fmt::format("{} {} tokens, {} heads of {}", row.text("kernel"), row.text("seq_len"), row.text("heads"),
                       row.text("qk_dim"));
  }
  return fmt::format("{} {} x {} x {} x {}", row.text("kernel"), row.text("batch"), row.text("m"), row.text("n"),
                     row.text("k"));
}

// Of a GPU by name; absent where none is shipped.
class Gpus {
 public:
  explicit Gpus(const ConfigLibrary& library) : library_(library) {}
  const GpuSpec* find(const std::string& name) {
    const auto [it, is_new] = known_.try_emplace(name);
    if (!is_new) return it->second ? &*it->second : nullptr;
    Diagnostics diagnostics;
    GpuSpec gpu;
    ReadContext context(diagnostics, &library_);
    const auto document = library_.open("gpu", name, {}, {}, diagnostics);
    if (document && gpu_fields().read_document(*document, gpu, context)) it->second = gpu;
    return it->second ? &*it->second : nullptr;
  }

 private:
  const ConfigLibrary& library_;
  std::map<std::string, std::optional<GpuSpec>> known_;
};

}  // namespace

SuiteResult run_kernels_suite(std::istream& csv, const std::string& file, const ConfigLibrary& library,
                              Diagnostics& diagnostics) {
  SuiteResult result{.suite = "kernels", .rule = kRule};
  CsvReader reader(csv, file, diagnostics);
  for (const char* column : {"gpu", "kernel", "efficiency"}) {
    if (reader.column(column) == CsvReader::npos) {
      diagnostics.error({file, 1, 1}, {}, fmt::format("the column '{}' is missing", column));
    }
  }
  if (diagnostics.has_errors()) return result;
  Gpus gpus(library);
  while (reader.next()) {
    const Row row(reader);
    const std::string name(row.text("gpu"));
    const std::string_view kernel = row.text("kernel");
    const std::string source = fmt::format("{} {}", name, kernel.substr(0, kernel.find('_')));
    std::string reason = reason_to_skip(row);
    const GpuSpec* gpu = reason.empty() ? gpus.find(name) : nullptr;
    if (reason.empty() && gpu == nullptr) reason = fmt::format("no shipped GPU '{}'", name);
    if (!reason.empty()) {
      result.skipped.push_back({source, reader.line(), std::move(reason)});
      continue;
    }
    JobSpec job;
    job.model.head_dim = static_cast<std::int64_t>(row.number("qk_dim"));
    const double halved = kernel.starts_with("attention") ? 0.5 : 1;
    result.predictions.push_back({.source = source,
                                  .row = reader.line(),
                                  .what = text_of(row),
                                  .metric = "share_of_peak",
                                  .measured = halved * row.number("efficiency"),
                                  .predicted = predicted_share(performance_of(*gpu, {}, job), linear_peak(*gpu, job), row)});
  }
  return result;
}

}  // namespace lockstep
