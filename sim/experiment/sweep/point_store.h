// SPDX-License-Identifier: Apache-2.0
// Finished points of sweeps, kept in DIR/store.sqlite. A point is known by a hash of all it depends on (point_key), so it is found again
// whatever its number, and never run twice. One transaction a point, write-ahead log, on the disk before the point counts as done: a
// process that is killed, or a power failure, loses what was being simulated and nothing else.
//
// Any number of threads and processes may use one store (file systems without POSIX locks excepted): writers wait for one another.
// point_store.cpp is the only file that sees SQLite.
#pragma once

#include <compare>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

struct sqlite3;

namespace lockstep {

struct PointKey {
  std::uint64_t high = 0;
  std::uint64_t low = 0;
  auto operator<=>(const PointKey&) const = default;
};
[[nodiscard]] std::string to_text(const PointKey& key);  // 32 hexadecimal digits

struct StoredPoint {
  bool is_good = false;
  std::string text;  // the record of a result (sim/report/render.h), or the error
  double wall_s = 0;
  std::int64_t peak_rss_bytes = 0;
  [[nodiscard]] bool says_the_same(const StoredPoint& other) const { return is_good == other.is_good && text == other.text; }
};

class PointStore {
 public:
  enum class Access : std::uint8_t { kRead, kWrite };
  // kWrite makes the folder and the store where there is none. All functions throw StorageError.
  PointStore(const std::string& folder, Access access);
  PointStore(const PointStore&) = delete;
  PointStore& operator=(const PointStore&) = delete;
  ~PointStore();

  [[nodiscard]] static bool is_in(const std::string& folder);
  [[nodiscard]] bool has(const PointKey& key) const;
  [[nodiscard]] std::optional<StoredPoint> find(const PointKey& key) const;
  // Keeps what is there when the key is taken.
  void insert(const PointKey& key, const StoredPoint& point);

 private:
  class Statement;
  void execute(const char* sql) const;
  void open_tables();

  std::string file_;
  sqlite3* db_ = nullptr;
  mutable std::mutex mutex_;
  std::unique_ptr<Statement> has_;
  std::unique_ptr<Statement> find_;
  std::unique_ptr<Statement> insert_;
};

}  // namespace lockstep
