// SPDX-License-Identifier: Apache-2.0
#include "sim/experiment/measured_tables.h"

#include <fmt/core.h>

#include <map>

#include "base/csv.h"
#include "base/quantity.h"
#include "sim/experiment/collective.h"
#include "sim/experiment/collective_names.h"
#include "sim/experiment/table_cluster.h"

namespace lockstep {
namespace {

constexpr const char* kColumns[] = {"table_id",      "source",       "collective",   "gpu_type",   "n_gpus",  "n_nodes",
                                    "gpus_per_node", "intra_fabric", "inter_fabric", "size_bytes", "time_us", "busbw_GBps"};

// "owner/repository file ..." is told by its repository, another text by what stands before a colon.
std::string publisher_of(std::string_view source) {
  const std::string_view first = source.substr(0, source.find(' '));
  return std::string(first.find('/') != std::string_view::npos ? first : source.substr(0, source.find(':')));
}

// Blank is 0.
std::optional<std::int64_t> count_of(std::string_view text) {
  if (text.empty()) return 0;
  const Parsed<std::int64_t> value = parse_int(text);
  return value && *value.value >= 0 ? value.value : std::nullopt;
}

class TableReader {
 public:
  TableReader(std::istream& csv, const std::string& file, const ConfigLibrary& library, std::vector<SkippedRow>& skipped,
              Diagnostics& diagnostics)
      : reader_(csv, file, diagnostics), library_(library), skipped_(skipped), diagnostics_(diagnostics) {
    for (const char* name : kColumns) {
      if (reader_.column(name) == CsvReader::npos) {
        diagnostics.error({file, 1, 1}, {}, fmt::format("the column '{}' is missing", name));
      }
    }
  }

  std::vector<MeasuredTable> read() {
    while (!diagnostics_.has_errors() && reader_.next()) add_row();
    return std::move(tables_);
  }

 private:
  [[nodiscard]] std::string_view cell(std::string_view column) const { return reader_[reader_.column(column)]; }
  void skip(std::string reason) { skipped_.push_back({std::string(cell("table_id")), reader_.line(), std::move(reason)}); }

  void add_row() {
    // Lines of one table say the same of it; a table_id that is used twice is two tables.
    std::string key;
    for (const char* column :
         {"table_id", "collective", "gpu_type", "n_gpus", "n_nodes", "gpus_per_node", "intra_fabric", "inter_fabric"}) {
      key += fmt::format("{}\n", cell(column));
    }
    const auto [it, is_new] = index_.try_emplace(std::move(key));
    if (is_new) it->second = open_table();
    if (!it->second.refusal.empty()) return skip(it->second.refusal);
    MeasuredTable& table = tables_[it->second.index];
    const Parsed<std::int64_t> size = parse_int(cell("size_bytes"));
    if (!size || *size.value <= 0) return skip("the size is not published");
    if (*size.value > kMostTableBytes) return skip(fmt::format("a size of {} bytes is more than 16 TiB", *size.value));
    const std::optional<double> seconds = measured_seconds(table, static_cast<double>(*size.value));
    if (!seconds) return skip("neither time nor bus bandwidth is published");
    if (!is_measurable(*seconds)) return skip(fmt::format("a time of {:.3g} s: {}", *seconds, kMeasurableTimes));
    table.rows.push_back({.bytes = *size.value, .seconds = *seconds, .line = reader_.line()});
  }

  std::optional<double> measured_seconds(const MeasuredTable& table, double bytes) const {
    if (const Parsed<double> t = parse_double(cell("time_us")); t && *t.value > 0) return *t.value * 1e-6;
    const Parsed<double> busbw = parse_double(cell("busbw_GBps"));
    if (!busbw || *busbw.value <= 0) return {};
    return seconds_at_busbw(table.kind, table.members.size(), bytes, *busbw.value);
  }

  struct Entry {
    std::string refusal;
    std::size_t index = 0;
  };

  Entry open_table() {
    const std::optional<CollectiveKind> kind = collective_named(cell("collective"));
    if (!kind) return {fmt::format("'{}' is no collective", cell("collective"))};
    const auto gpus = count_of(cell("n_gpus"));
    const auto nodes = count_of(cell("n_nodes"));
    const auto per_node = count_of(cell("gpus_per_node"));
    if (!gpus || !nodes || !per_node) return {"the numbers of GPUs and nodes cannot be read"};
    if (*gpus > kMostTableGpus) return {fmt::format("{} GPUs are more than {}", *gpus, kMostTableGpus)};
    const TableCluster description = describe_table({.table = std::string(cell("table_id")),
                                                     .gpu_type = std::string(cell("gpu_type")),
                                                     .intra_fabric = std::string(cell("intra_fabric")),
                                                     .inter_fabric = std::string(cell("inter_fabric")),
                                                     .gpus = *gpus,
                                                     .nodes = *nodes,
                                                     .gpus_per_node = *per_node});
    if (!description.refusal.empty()) return {description.refusal};
    Diagnostics errors;
    const std::optional<ClusterSpec> cluster = cluster_of(description, library_, errors);
    if (!cluster) {
      // What is wrong in a file is no fault of the row.
      for (const Diagnostic& e : errors.items()) {
        if (e.position.file.ends_with(".yaml")) diagnostics_.add(e);
      }
      return {errors.items().front().message};
    }
    tables_.push_back({.name = std::string(cell("table_id")),
                       .source = publisher_of(cell("source")),
                       .cluster = *cluster,
                       .kind = *kind,
                       .members = first_gpus(*cluster, description.servers, description.gpus_per_server),
                       .algorithm = applies(description.algorithm, *kind) ? description.algorithm : Algorithm::kAuto});
    return {{}, tables_.size() - 1};
  }

  CsvReader reader_;
  const ConfigLibrary& library_;
  std::vector<SkippedRow>& skipped_;
  Diagnostics& diagnostics_;
  std::map<std::string, Entry> index_;
  std::vector<MeasuredTable> tables_;
};

}  // namespace

std::vector<MeasuredTable> read_measured_tables(std::istream& csv, const std::string& file, const ConfigLibrary& library,
                                                std::vector<SkippedRow>& skipped, Diagnostics& diagnostics) {
  return TableReader(csv, file, library, skipped, diagnostics).read();
}

}  // namespace lockstep
