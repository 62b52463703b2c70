// SPDX-License-Identifier: Apache-2.0
#include "workloads/kernels/timings.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <sstream>
#include <string_view>
#include <utility>

#include "base/csv.h"
#include "base/hash.h"
#include "base/quantity.h"
#include "workloads/kernels/transformer_kernels.h"

namespace lockstep {
namespace {

constexpr std::size_t kMostErrors = 100;

enum Column : std::size_t {
  kKernel,
  kM,
  kN,
  kK,
  kBatch,
  kPart,
  kDirection,
  kTokens,
  kTp,
  kPrecision,
  kTime,
  kNote,
  kColumnCount
};
constexpr std::array<const char*, kColumnCount> kColumns = {"kernel",    "m",      "n",  "k",         "batch", "part",
                                                            "direction", "tokens", "tp", "precision", "time",  "note"};
constexpr const char* kHeaders = "kernel,m,n,k[,batch][,precision],time or part,direction[,tokens][,tp][,precision],time";

template <class E>
struct Named {
  const char* name;
  E value;
};
constexpr Named<ModelPart> kParts[] = {{"embedding", ModelPart::kEmbedding},
                                       {"attention", ModelPart::kAttention},
                                       {"mlp", ModelPart::kMlp},
                                       {"moe", ModelPart::kMoe},
                                       {"experts", ModelPart::kExperts},
                                       {"combine", ModelPart::kCombine},
                                       {"head", ModelPart::kHead}};
constexpr Named<Direction> kDirections[] = {
    {"forward", Direction::kForward}, {"backward", Direction::kBackward}, {"weight_gradient", Direction::kWeightGradient}};
constexpr Named<DataType> kPrecisions[] = {{"bf16", DataType::kBf16}, {"fp16", DataType::kFp16},   {"fp32", DataType::kFp32},
                                           {"fp8", DataType::kFp8},   {"mxfp8", DataType::kMxfp8}, {"nvfp4", DataType::kNvfp4}};

class TimingsReader {
 public:
  TimingsReader(CsvReader& csv, Diagnostics& d) : csv_(csv), d_(d) {}

  bool read_header();
  void read_rows(KernelTimings& out);

 private:
  [[nodiscard]] bool has(Column c) const { return at_[c] != CsvReader::npos; }
  [[nodiscard]] std::string_view cell(Column c) const { return has(c) ? csv_[at_[c]] : std::string_view(); }
  void fault(Column c, std::string message, std::string hint = {}) {
    d_.error(has(c) ? csv_.position(at_[c]) : Position{csv_.name(), csv_.line(), 1}, kColumns[c], std::move(message),
             std::move(hint));
  }
  void missing(Column c) { d_.error({csv_.name(), 1, 1}, {}, fmt::format("there is no column '{}'", kColumns[c]), kHeaders); }
  // A cell that must name one of `list`; nothing, and an error, where it does not.
  template <class E, std::size_t N>
  std::optional<E> named(Column c, const Named<E> (&list)[N]) {
    std::vector<std::string> names;
    for (const Named<E>& n : list) {
      if (cell(c) == n.name) return n.value;
      names.emplace_back(n.name);
    }
    const std::string near = closest(cell(c), names);
    fault(c, cell(c).empty() ? "the value is missing" : fmt::format("'{}' is not one of the choices", cell(c)),
          fmt::format("{}one of {}", near.empty() ? "" : fmt::format("did you mean '{}'? ", near), fmt::join(names, ", ")));
    return std::nullopt;
  }
  std::int64_t count(Column c);
  std::optional<std::int64_t> count_if_given(Column c) { return cell(c).empty() ? std::nullopt : std::optional(count(c)); }
  double seconds();
  void refuse_others(std::initializer_list<Column> others, const char* why);
  void read_product(KernelTimings& out, KernelTimings::Row row);
  void read_part(KernelTimings& out, KernelTimings::Row row);
  void add(KernelTimings& out, std::vector<std::size_t>& equals, KernelTimings::Row row);

  CsvReader& csv_;
  Diagnostics& d_;
  std::array<std::size_t, kColumnCount> at_{};
  std::size_t errors_before_row_ = 0;
};

bool TimingsReader::read_header() {
  if (csv_.columns().empty()) return false;
  const std::size_t before = d_.error_count();
  for (std::size_t c = 0; c < kColumnCount; ++c) at_[c] = csv_.column(kColumns[c]);
  const std::vector<std::string> known(kColumns.begin(), kColumns.end());
  for (const std::string& name : csv_.columns()) {
    if (name.empty() || std::find(known.begin(), known.end(), name) != known.end()) continue;
    const std::string near = closest(name, known);
    d_.error({csv_.name(), 1, 1}, {}, fmt::format("there is no meaning for a column '{}'", name),
             near.empty() ? fmt::format("known are {}", fmt::join(known, ", ")) : fmt::format("did you mean '{}'?", near));
  }
  if (!has(kTime)) missing(kTime);
  if (has(kPart) && !has(kDirection)) missing(kDirection);
  if (has(kKernel) || !has(kPart)) {
    for (const Column c : {kKernel, kM, kN, kK}) {
      if (!has(c)) missing(c);
    }
  }
  return d_.error_count() == before;
}

void TimingsReader::read_rows(KernelTimings& out) {
  while (csv_.next() && d_.error_count() < kMostErrors) {
    errors_before_row_ = d_.error_count();
    KernelTimings::Row row{.seconds = seconds(), .line = csv_.line()};
    if (!cell(kPrecision).empty()) row.precision = named(kPrecision, kPrecisions);
    if (!cell(kPart).empty() && !cell(kKernel).empty()) {
      fault(kPart, "the row has a kernel besides", "a row is a matrix product or a part of the model");
    } else if (!cell(kPart).empty()) {
      read_part(out, std::move(row));
    } else {
      read_product(out, std::move(row));
    }
  }
  if (d_.error_count() >= kMostErrors) d_.error({csv_.name(), 0, 0}, {}, "too many errors, the rest was not read");
}

std::int64_t TimingsReader::count(Column c) {
  constexpr std::int64_t kMost = std::int64_t{1} << 53;  // sizes of kernels are doubles
  const Parsed<std::int64_t> parsed = parse_int(cell(c));
  if (!parsed) {
    fault(c, cell(c).empty() ? "the value is missing" : parsed.error, parsed.hint);
  } else if (*parsed.value < 1 || *parsed.value > kMost) {
    fault(c, fmt::format("'{}' is out of range", cell(c)), fmt::format("1 to {}", kMost));
  } else {
    return *parsed.value;
  }
  return 1;
}

double TimingsReader::seconds() {
  const Parsed<Duration> parsed = parse_duration(cell(kTime));
  if (!parsed) {
    fault(kTime, cell(kTime).empty() ? "the value is missing" : parsed.error,
          parsed.hint.empty() ? "a time with its unit, like 1.42 ms" : parsed.hint);
  } else if (*parsed.value <= Duration()) {
    fault(kTime, fmt::format("a time of {}", cell(kTime)), "a kernel takes more than no time");
  } else {
    return parsed.value->seconds();
  }
  return 1;
}

void TimingsReader::refuse_others(std::initializer_list<Column> others, const char* why) {
  for (const Column c : others) {
    if (!cell(c).empty()) fault(c, why, "leave it blank");
  }
}

void TimingsReader::read_product(KernelTimings& out, KernelTimings::Row row) {
  if (cell(kKernel) != "gemm") {
    const std::string hint = has(kPart) ? "gemm; parts of the model stand in the column 'part'"
                                        : "gemm; parts of the model have columns of their own: part,direction,time";
    fault(has(kKernel) ? kKernel : kPart,
          cell(kKernel).empty() ? "the row names no kernel" : fmt::format("there is no kernel '{}'", cell(kKernel)),
          has(kKernel) ? hint : "one of embedding, attention, mlp, moe, experts, combine, head");
    return;
  }
  refuse_others({kDirection, kTokens, kTp}, "is of a part of the model, and this is a matrix product");
  const KernelTimings::Shape shape = {count(kM), count(kN), count(kK), count_if_given(kBatch).value_or(1)};
  row.what = fmt::format("gemm {} x {} x {}", shape[0], shape[1], shape[2]);
  if (shape[3] > 1) row.what += fmt::format(", a batch of {}", shape[3]);
  add(out, out.products[shape], std::move(row));
}

void TimingsReader::read_part(KernelTimings& out, KernelTimings::Row row) {
  refuse_others({kM, kN, kK, kBatch}, "is of a matrix product, and this is a part of the model");
  const std::optional<ModelPart> part = named(kPart, kParts);
  const std::optional<Direction> direction = named(kDirection, kDirections);
  row.tokens = count_if_given(kTokens);
  row.tp = count_if_given(kTp);
  if (!part || !direction) return;
  row.what = fmt::format("{} {}", cell(kPart), cell(kDirection));
  if (row.tokens) row.what += fmt::format(" of {} tokens", *row.tokens);
  if (row.tp) row.what += fmt::format(" with tp {}", *row.tp);
  add(out, out.parts[{*part, *direction}], std::move(row));
}

// `equals`: rows of the same shape or part.
void TimingsReader::add(KernelTimings& out, std::vector<std::size_t>& equals, KernelTimings::Row row) {
  if (d_.error_count() > errors_before_row_) return;
  if (!cell(kPrecision).empty()) row.what += fmt::format(" in {}", cell(kPrecision));
  for (const std::size_t i : equals) {
    const KernelTimings::Row& first = out.rows[i];
    if (first.precision != row.precision || first.tokens != row.tokens || first.tp != row.tp) continue;
    if (first.seconds != row.seconds) {
      fault(kTime, fmt::format("{} has another time on line {}", row.what, first.line), "one row for each kernel");
    }
    return;
  }
  equals.push_back(out.rows.size());
  out.rows.push_back(std::move(row));
}

std::optional<std::int64_t> whole(double v) {
  const auto n = static_cast<std::int64_t>(v);
  return static_cast<double>(n) == v ? std::optional(n) : std::nullopt;
}

}  // namespace

KernelTimings parse_kernel_timings(const std::string& text, const std::string& file, Diagnostics& d) {
  KernelTimings out{.file = file, .content_hash = hash_text(text), .rows = {}, .products = {}, .parts = {}};
  std::istringstream in(text);
  CsvReader csv(in, file, d);
  TimingsReader reader(csv, d);
  if (reader.read_header()) reader.read_rows(out);
  return out;
}

std::string content_text(const std::shared_ptr<const KernelTimings>& timings) {
  return timings ? fmt::format("kernel timings {:016x}\n", timings->content_hash) : std::string();
}

std::string_view precision_word(DataType type) {
  for (const Named<DataType>& n : kPrecisions) {
    if (n.value == type) return n.name;
  }
  return {};
}

std::optional<KernelTimings::Shape> shape_of_product(const KernelWork& work) {
  if (work.kind != KernelClass::kLinear && work.kind != KernelClass::kGemm) return std::nullopt;
  const auto m = whole(work.shape.m);
  const auto n = whole(work.shape.n);
  const auto k = whole(work.shape.k);
  const auto batch = whole(work.shape.batch);
  if (!m || !n || !k || !batch) return std::nullopt;
  return KernelTimings::Shape{*m, *n, *k, *batch};
}

DataType MeasuredKernels::precision(const KernelWork& work) const { return work.kind == KernelClass::kLinear ? linear : other; }

std::optional<std::size_t> MeasuredKernels::product(const KernelWork& work) const {
  const std::optional<KernelTimings::Shape> own_shape = table ? shape_of_product(work) : std::nullopt;
  if (!own_shape) return std::nullopt;
  const auto [m, n, k, batch] = *own_shape;
  const DataType own = precision(work);
  std::optional<std::size_t> of_any_precision;
  for (const KernelTimings::Shape& shape : {KernelTimings::Shape{m, n, k, batch}, {n, m, k, batch}}) {
    const auto found = table->products.find(shape);
    if (found == table->products.end()) continue;
    for (const std::size_t i : found->second) {
      const std::optional<DataType>& of_row = table->rows[i].precision;
      if (of_row == own) return i;
      if (!of_row && !of_any_precision) of_any_precision = i;
    }
  }
  return of_any_precision;
}

std::optional<std::size_t> MeasuredKernels::part(ModelPart part, Direction direction, std::int64_t tokens,
                                                 std::int64_t tp) const {
  if (!table) return std::nullopt;
  const auto found = table->parts.find({part, direction});
  if (found == table->parts.end()) return std::nullopt;
  std::optional<std::size_t> best;
  int most = -1;
  for (const std::size_t i : found->second) {
    const KernelTimings::Row& row = table->rows[i];
    if (row.tokens.value_or(tokens) != tokens || row.tp.value_or(tp) != tp || row.precision.value_or(linear) != linear)
      continue;
    const int says = (row.tokens ? 1 : 0) + (row.tp ? 1 : 0) + (row.precision ? 1 : 0);
    if (says > most) {
      most = says;
      best = i;
    }
  }
  return best;
}

}  // namespace lockstep
