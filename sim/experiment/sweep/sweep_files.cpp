// SPDX-License-Identifier: Apache-2.0
#include "sim/experiment/sweep/sweep_files.h"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/csv.h"
#include "base/hash.h"
#include "base/write_file.h"
#include "sim/experiment/sweep/point_locks.h"
#include "sim/report/render.h"

namespace lockstep {
namespace {

constexpr int kManifestVersion = 1;

std::string file_in(const std::string& folder, const char* name) { return (std::filesystem::path(folder) / name).string(); }

// Columns in the order in which rows have them: one that is new stands after the one before it in its row.
class Columns {
 public:
  explicit Columns(const std::vector<std::string>& taken) : taken_(taken) {}

  void add(const Cells& cells) {
    std::size_t at = 0;
    for (const auto& [key, text] : cells) {
      if (std::find(taken_.begin(), taken_.end(), key) != taken_.end()) continue;
      const auto known =
          std::find(names_.begin() + static_cast<std::ptrdiff_t>(std::min(at, names_.size())), names_.end(), key);
      if (known != names_.end()) {
        at = static_cast<std::size_t>(known - names_.begin()) + 1;
      } else if (std::find(names_.begin(), names_.end(), key) == names_.end()) {
        names_.insert(names_.begin() + static_cast<std::ptrdiff_t>(at++), key);
      }
    }
  }
  [[nodiscard]] const std::vector<std::string>& names() const { return names_; }

 private:
  std::vector<std::string> taken_;  // by swept keys, which say the same
  std::vector<std::string> names_;
};

std::string joined(const PointStatus& s) { return s.state == PointState::kInvalid ? "invalid: " + s.error : to_text(s.key); }

class ResultTable {
 public:
  ResultTable(const Sweep& sweep, std::span<const PointStatus> status, const PointStore& store,
              const SweepFilesOptions& options)
      : sweep_(sweep), status_(status), store_(store), options_(options), columns_(fixed_columns()) {
    each_point([&](std::size_t, const StoredPoint& p) {
      if (p.is_good) columns_.add(cells_of_record(p.text));
    });
  }

  void write() {
    WholeFile file(file_in(options_.folder, "results.csv"));
    std::vector<std::string> header = fixed_columns();
    header.insert(header.end(), columns_.names().begin(), columns_.names().end());
    if (options_.has_measured) header.insert(header.end(), {"measured.wall_s", "measured.peak_rss_bytes"});
    put(file, csv_row(header));
    counts_ = {.points = sweep_.size()};
    each_point([&](std::size_t i, const StoredPoint& p) { put(file, row(i, p)); });
    file.commit();
  }

  [[nodiscard]] const SweepCounts& counts() const { return counts_; }
  [[nodiscard]] std::uint64_t content_hash() const { return hash_; }

 private:
  [[nodiscard]] std::vector<std::string> fixed_columns() const {
    std::vector<std::string> columns = swept_columns(sweep_);
    columns.insert(columns.end(), {"status", "error"});
    return columns;
  }

  template <class Take>
  void each_point(const Take& take) {
    for (std::size_t i = 0; i < status_.size(); ++i) {
      if (status_[i].state == PointState::kInvalid) {
        take(i, StoredPoint{false, status_[i].error});
      } else if (const std::optional<StoredPoint> p = store_.find(status_[i].key)) {
        take(i, *p);
      }
    }
  }

  std::string row(std::size_t i, const StoredPoint& p) {
    ++(p.is_good ? counts_.good : counts_.failed);
    std::vector<std::string> fields = swept_fields(sweep_, i);
    fields.push_back(p.is_good ? "ok" : "error");
    fields.push_back(p.is_good ? "" : p.text);
    std::map<std::string, std::string> values;
    if (p.is_good) {
      for (auto& [key, text] : cells_of_record(p.text)) values.emplace(key, text);
    }
    for (const std::string& name : columns_.names()) {
      const auto found = values.find(name);
      fields.push_back(found == values.end() ? "" : found->second);
    }
    if (options_.has_measured) {
      fields.push_back(double_to_text(p.wall_s));
      fields.push_back(std::to_string(p.peak_rss_bytes));
    }
    return csv_row(fields);
  }

  void put(WholeFile& file, const std::string& text) {
    hash_ = hash_words({hash_, hash_text(text)});
    file.write(text);
  }

  const Sweep& sweep_;
  std::span<const PointStatus> status_;
  const PointStore& store_;
  const SweepFilesOptions& options_;
  Columns columns_;
  SweepCounts counts_;
  std::uint64_t hash_ = 0;
};

void write_manifest(const Sweep& sweep, std::span<const PointStatus> status, const ResultTable& table,
                    const SweepFilesOptions& options) {
  using Json = nlohmann::ordered_json;
  std::uint64_t points_hash = 0;
  for (const PointStatus& s : status) points_hash = hash_words({points_hash, hash_text(joined(s))});
  const SweepCounts& counts = table.counts();
  Json j;
  j["schema_version"] = kManifestVersion;
  j["version"] = options.version;
  j["sweep"] = sweep.spec().name;
  j["inputs"] = {{{"file", sweep.file()}, {"hash", fmt::format("{:016x}", sweep.content_hash())}}};
  j["set"] = sweep.assignments();
  j["axes"] = Json::array();
  for (const Axis& a : sweep.axes()) j["axes"].push_back(a.path());
  j["points_hash"] = fmt::format("{:016x}", points_hash);
  j["points"] = counts.points;
  j["ok"] = counts.good;
  j["failed"] = counts.failed;
  j["missing"] = counts.missing();
  j["results"] = {{"file", "results.csv"}, {"hash", fmt::format("{:016x}", table.content_hash())}};
  WholeFile file(file_in(options.folder, "manifest.json"));
  file.write(j.dump(2) + "\n");
  file.commit();
}

}  // namespace

std::vector<std::string> swept_columns(const Sweep& sweep) {
  std::vector<std::string> columns = {"point"};
  for (const Axis& a : sweep.axes()) columns.push_back(a.path());
  return columns;
}

std::vector<std::string> swept_fields(const Sweep& sweep, std::size_t point) {
  std::vector<std::string> fields = {std::to_string(point)};
  for (std::string& label : sweep.labels(point)) fields.push_back(std::move(label));
  return fields;
}

void merge_stores(const std::vector<std::string>& folders, std::span<const PointStatus> status, PointStore& store) {
  for (const std::string& folder : folders) {
    const PointStore shard(folder, PointStore::Access::kRead);
    for (std::size_t i = 0; i < status.size(); ++i) {
      if (status[i].state == PointState::kInvalid) continue;
      const std::optional<StoredPoint> theirs = shard.find(status[i].key);
      if (!theirs) continue;
      const std::optional<StoredPoint> ours = store.find(status[i].key);
      if (!ours) store.insert(status[i].key, *theirs);
      if (ours && !ours->says_the_same(*theirs)) {
        throw StorageError(fmt::format("{}: point {} has another result than in the folders before it", folder, i));
      }
    }
  }
}

SweepCounts write_sweep_files(const Sweep& sweep, std::span<const PointStatus> status, const PointStore& store,
                              const SweepFilesOptions& options) {
  // One process at a time, so that of several the last one has written all that is stored.
  constexpr PointKey kFiles{0, ~std::uint64_t{0}};
  PointLocks locks(options.folder);
  while (!locks.try_lock(kFiles)) std::this_thread::sleep_for(std::chrono::milliseconds(50));
  ResultTable table(sweep, status, store, options);
  table.write();
  write_manifest(sweep, status, table, options);
  return table.counts();
}

}  // namespace lockstep
