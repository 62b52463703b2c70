// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>

#include <map>

#include "base/csv.h"
#include "base/quantity.h"
#include "sim/experiment/calibration/nccl_output.h"
#include "sim/experiment/collective.h"
#include "sim/experiment/collective_names.h"

namespace lockstep {
namespace {

std::optional<double> positive(std::string_view text) {
  const Parsed<double> v = text.empty() ? Parsed<double>{} : parse_double(text);
  return v && *v.value > 0 ? v.value : std::nullopt;
}

class CsvTables {
 public:
  CsvTables(std::istream& in, const std::string& file, Diagnostics& d) : reader_(in, file, d), d_(d), file_(file) {
    for (const char* name : {"table_id", "collective", "n_gpus", "size_bytes"}) {
      if (reader_.column(name) == CsvReader::npos) d.error({file, 1, 1}, {}, fmt::format("the column '{}' is missing", name));
    }
    if (!has("time_us") && !has("algbw_GBps") && !has("busbw_GBps")) {
      d.error({file, 1, 1}, {}, "no column has times", "one of time_us, algbw_GBps, busbw_GBps");
    }
  }

  std::vector<NcclTable> read() {
    while (reader_.next()) row();
    return std::move(tables_);
  }

 private:
  [[nodiscard]] bool has(const char* name) const { return reader_.column(name) != CsvReader::npos; }
  [[nodiscard]] std::string_view cell(const char* name) const {
    const std::size_t at = reader_.column(name);
    return at == CsvReader::npos ? std::string_view() : reader_[at];
  }
  [[nodiscard]] std::optional<int> count(const char* name) const {
    const Parsed<std::int64_t> v = parse_int(cell(name));
    return v && *v.value > 0 && *v.value < (1 << 24) ? std::optional(static_cast<int>(*v.value)) : std::nullopt;
  }

  void row() {
    const auto refuse = [&](const char* column, const std::string& why) {
      d_.warning(reader_.position(reader_.column(column)), {}, why, "the row is not read");
    };
    const std::optional<CollectiveKind> kind = collective_named(cell("collective"));
    if (!kind) return refuse("collective", fmt::format("no collective is called '{}'", cell("collective")));
    const std::optional<int> gpus = count("n_gpus");
    if (!gpus) return refuse("n_gpus", fmt::format("'{}' is not a number of GPUs", cell("n_gpus")));
    const Parsed<std::int64_t> bytes = parse_int(cell("size_bytes"));
    if (!bytes || *bytes.value < 0 || *bytes.value > kMostTableBytes) {
      return refuse("size_bytes", fmt::format("'{}' is not a number of bytes up to 16 TiB", cell("size_bytes")));
    }
    const std::optional<double> seconds = time_of(*kind, *gpus, *bytes.value);
    if (!seconds) return refuse("size_bytes", "has no time");
    if (!is_measurable(*seconds))
      return refuse("size_bytes", fmt::format("a time of {:.3g} s: {}", *seconds, kMeasurableTimes));
    table(*kind, *gpus).rows.push_back({.bytes = *bytes.value, .seconds = *seconds, .line = reader_.line()});
  }

  [[nodiscard]] std::optional<double> time_of(CollectiveKind kind, int gpus, std::int64_t bytes) const {
    if (const auto us = positive(cell("time_us"))) return *us * 1e-6;
    const auto size = static_cast<double>(bytes);
    if (const auto algbw = positive(cell("algbw_GBps"))) return size * 1e-9 / *algbw;
    if (const auto busbw = positive(cell("busbw_GBps"))) {
      return seconds_at_busbw(kind, static_cast<std::size_t>(gpus), size, *busbw);
    }
    return {};
  }

  NcclTable& table(CollectiveKind kind, int gpus) {
    // Lines of one table say the same of it; a table_id that is used twice is two tables.
    std::string key;
    for (const char* column :
         {"table_id", "collective", "gpu_type", "n_gpus", "n_nodes", "gpus_per_node", "intra_fabric", "inter_fabric"}) {
      key += fmt::format("{}\n", cell(column));
    }
    const auto [known, is_new] = at_.try_emplace(std::move(key), tables_.size());
    if (!is_new) return tables_[known->second];
    const std::string id(cell("table_id"));
    NcclTable& t = tables_.emplace_back();
    t.name = id;
    t.position = {file_, reader_.line(), 1};
    t.kind = kind;
    t.gpus = gpus;
    t.nodes = count("n_nodes").value_or(0);
    t.gpu_name = std::string(cell("gpu_type"));
    t.intra_fabric = std::string(cell("intra_fabric"));
    t.inter_fabric = std::string(cell("inter_fabric"));
    return t;
  }

  CsvReader reader_;
  Diagnostics& d_;
  const std::string& file_;
  std::map<std::string, std::size_t> at_;
  std::vector<NcclTable> tables_;
};

}  // namespace

std::vector<NcclTable> read_nccl_csv(std::istream& in, const std::string& file, Diagnostics& d) {
  CsvTables tables(in, file, d);
  if (d.has_errors()) return {};
  std::vector<NcclTable> read = tables.read();
  if (read.empty()) d.error({file, 0, 0}, {}, "has no row with a time");
  return read;
}

}  // namespace lockstep
