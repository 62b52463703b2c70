// SPDX-License-Identifier: Apache-2.0
#include "sim/experiment/sweep/point_store.h"

#include <fmt/core.h>
#include <sqlite3.h>

#include <filesystem>

#include "base/write_file.h"

namespace lockstep {
namespace {

constexpr int kBusyMilliseconds = 120'000;
constexpr int kFormat = 1;

std::string file_in(const std::string& folder) { return (std::filesystem::path(folder) / "store.sqlite").string(); }

[[noreturn]] void fail(const std::string& file, sqlite3* db) {
  throw StorageError(fmt::format("{}: {}", file, db != nullptr ? sqlite3_errmsg(db) : "out of memory"));
}

}  // namespace

class PointStore::Statement {
 public:
  Statement(const PointStore& store, const char* sql) : store_(store) {
    if (sqlite3_prepare_v2(store.db_, sql, -1, &statement_, nullptr) != SQLITE_OK) fail(store.file_, store.db_);
  }
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;
  ~Statement() { sqlite3_finalize(statement_); }

  // Binds the key, ready for the other values.
  sqlite3_stmt* begin(const PointKey& key) {
    bind(1, to_text(key));
    return statement_;
  }
  void bind(int column, const std::string& text) {
    check(sqlite3_bind_text(statement_, column, text.data(), static_cast<int>(text.size()), SQLITE_TRANSIENT));
  }
  void bind(int column, std::int64_t v) { check(sqlite3_bind_int64(statement_, column, v)); }
  void bind(int column, double v) { check(sqlite3_bind_double(statement_, column, v)); }
  // Whether there is a row.
  bool step() {
    const int code = sqlite3_step(statement_);
    if (code != SQLITE_ROW && code != SQLITE_DONE) {
      sqlite3_reset(statement_);
      fail(store_.file_, store_.db_);
    }
    return code == SQLITE_ROW;
  }
  void end() { sqlite3_reset(statement_); }

 private:
  void check(int code) {
    if (code != SQLITE_OK) fail(store_.file_, store_.db_);
  }
  const PointStore& store_;
  sqlite3_stmt* statement_ = nullptr;
};

std::string to_text(const PointKey& key) { return fmt::format("{:016x}{:016x}", key.high, key.low); }

bool PointStore::is_in(const std::string& folder) {
  std::error_code error;
  return std::filesystem::exists(file_in(folder), error);
}

PointStore::PointStore(const std::string& folder, Access access) : file_(file_in(folder)) {
  if (access == Access::kWrite) make_folder(folder);
  const int flags = access == Access::kWrite ? SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE : SQLITE_OPEN_READWRITE;
  try {
    if (sqlite3_open_v2(file_.c_str(), &db_, flags, nullptr) != SQLITE_OK) fail(file_, db_);
    sqlite3_busy_timeout(db_, kBusyMilliseconds);
    open_tables();
    has_ = std::make_unique<Statement>(*this, "SELECT 1 FROM points WHERE key = ?1");
    find_ = std::make_unique<Statement>(*this, "SELECT is_good, text, wall_s, peak_rss_bytes FROM points WHERE key = ?1");
    insert_ = std::make_unique<Statement>(*this, "INSERT OR IGNORE INTO points VALUES (?1, ?2, ?3, ?4, ?5)");
  } catch (...) {
    has_.reset();
    find_.reset();
    insert_.reset();
    sqlite3_close(db_);
    throw;
  }
}

PointStore::~PointStore() {
  has_.reset();
  find_.reset();
  insert_.reset();
  sqlite3_close(db_);
}

void PointStore::execute(const char* sql) const {
  if (sqlite3_exec(db_, sql, nullptr, nullptr, nullptr) != SQLITE_OK) fail(file_, db_);
}

void PointStore::open_tables() {
  // The switch to the log waits for nobody when another process opens the same new store, so it is tried again.
  for (int attempt = 0; sqlite3_exec(db_, "PRAGMA journal_mode = WAL", nullptr, nullptr, nullptr) != SQLITE_OK; ++attempt) {
    if (sqlite3_errcode(db_) != SQLITE_BUSY || attempt == 1'000) fail(file_, db_);
    sqlite3_sleep(10);
  }
  execute("PRAGMA synchronous = FULL");
  sqlite3_stmt* row = nullptr;
  if (sqlite3_prepare_v2(db_, "PRAGMA user_version", -1, &row, nullptr) != SQLITE_OK) fail(file_, db_);
  const int format = sqlite3_step(row) == SQLITE_ROW ? sqlite3_column_int(row, 0) : -1;
  sqlite3_finalize(row);
  if (format == kFormat) return;
  if (format != 0) throw StorageError(fmt::format("{}: was written by another version of lockstep", file_));
  execute(
      "BEGIN IMMEDIATE;"
      "CREATE TABLE IF NOT EXISTS points (key TEXT PRIMARY KEY, is_good INTEGER NOT NULL, text TEXT NOT NULL, wall_s REAL NOT "
      "NULL,"
      " peak_rss_bytes INTEGER NOT NULL) WITHOUT ROWID;"
      "PRAGMA user_version = 1;"
      "COMMIT");
}

bool PointStore::has(const PointKey& key) const {
  const std::lock_guard lock(mutex_);
  has_->begin(key);
  const bool is_there = has_->step();
  has_->end();
  return is_there;
}

std::optional<StoredPoint> PointStore::find(const PointKey& key) const {
  const std::lock_guard lock(mutex_);
  sqlite3_stmt* row = find_->begin(key);
  std::optional<StoredPoint> found;
  if (find_->step()) {
    found.emplace();
    found->is_good = sqlite3_column_int(row, 0) != 0;
    const unsigned char* text = sqlite3_column_text(row, 1);
    found->text.assign(reinterpret_cast<const char*>(text), static_cast<std::size_t>(sqlite3_column_bytes(row, 1)));
    found->wall_s = sqlite3_column_double(row, 2);
    found->peak_rss_bytes = sqlite3_column_int64(row, 3);
  }
  find_->end();
  return found;
}

void PointStore::insert(const PointKey& key, const StoredPoint& point) {
  const std::lock_guard lock(mutex_);
  insert_->begin(key);
  insert_->bind(2, std::int64_t{point.is_good ? 1 : 0});
  insert_->bind(3, point.text);
  insert_->bind(4, point.wall_s);
  insert_->bind(5, point.peak_rss_bytes);
  insert_->step();
  insert_->end();
}

}  // namespace lockstep
