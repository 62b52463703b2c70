// SPDX-License-Identifier: Apache-2.0
#include "sim/experiment/sweep/sweep_run.h"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <deque>
#include <new>
#include <thread>

#include "base/hash.h"
#include "sim/experiment/in_parallel.h"
#include "sim/experiment/shared_run.h"
#include "sim/experiment/sweep/point_locks.h"
#include "sim/report/render.h"
#include "workloads/kernels/timings.h"

namespace lockstep {
namespace {

// Two independent 64-bit hashes: a million points collide with a chance of 10^-27.
PointKey key_of(const std::string& text) { return {hash_text("high " + text), hash_text("low " + text)}; }

template <class T>
std::string config_text(const T& spec, const FieldTable<T>& table) {
  ConfigPrinter printer;
  table.print(spec, printer);
  return printer.text();
}

// The clusters used last.
class ClusterCache {
 public:
  explicit ClusterCache(std::size_t most) : most_(most) {}

  std::shared_ptr<const PreparedCluster> prepare(const ClusterSpec& cluster, std::uint64_t seed) {
    const PointKey key = key_of(fmt::format("{}\n{}", seed, config_text(cluster, cluster_fields())));
    const std::lock_guard lock(mutex_);
    const auto known = std::find_if(entries_.begin(), entries_.end(), [&](const Entry& e) { return e.key == key; });
    if (known != entries_.end()) return known->cluster;
    entries_.push_front({key, std::make_shared<const PreparedCluster>(cluster, seed)});
    if (entries_.size() > most_) entries_.pop_back();
    return entries_.front().cluster;
  }

 private:
  struct Entry {
    PointKey key;
    std::shared_ptr<const PreparedCluster> cluster;
  };
  std::size_t most_;
  std::mutex mutex_;
  std::deque<Entry> entries_;
};

struct Resolved {
  std::optional<PointRun> run;  // or
  std::string error;
  std::vector<std::string> warnings;
};

std::string without_position(const Diagnostic& d) {
  std::string text = d.path.empty() ? d.message : fmt::format("{}: {}", d.path, d.message);
  if (!d.hint.empty()) text += fmt::format(" ({})", d.hint);
  return text;
}

Resolved resolve(const Sweep& sweep, std::size_t point, const ConfigLibrary& library) {
  Diagnostics d;
  ReadContext context(d, &library);
  Resolved resolved;
  try {
    resolved.run = sweep.resolve(point, context);
    if (!resolved.run) resolved.error = one_line(d);
  } catch (const UserError& e) {
    resolved.error = one_line(e.diagnostics());
  }
  for (const Diagnostic& item : d.items()) {
    if (item.severity == Severity::kWarning) resolved.warnings.push_back(without_position(item));
  }
  return resolved;
}

StoredPoint simulate(const PointRun& run, ClusterCache& clusters, const std::string& version) {
  const RunOptions options{.network = run.network, .seed = run.seed, .uses_one_thread = true};
  const ClusterSpec& cluster = run.scenario.spec.cluster;
  try {
    const std::shared_ptr<const PreparedCluster> prepared = clusters.prepare(cluster, run.seed);
    const auto stored = [&](auto result) -> StoredPoint {
      result.scenario = run.scenario.spec.name;
      result.network = to_text(run.network);
      result.version = version;
      return {true, to_record(result), result.measured.wall_s, result.measured.peak_rss_bytes};
    };
    if (!run.scenario.jobs.empty()) return stored(run_jobs(*prepared, cluster, run.scenario.jobs, options));
    return stored(run_job(*prepared, cluster, run.scenario.plan, options));
  } catch (const UserError& e) {
    return {false, one_line(e.diagnostics())};
  } catch (const SimulationError& e) {
    std::string text = fmt::format("simulation error: {}", e.what());
    std::replace(text.begin(), text.end(), '\n', ' ');
    return {false, std::move(text)};
  } catch (const InternalError& e) {
    return {false, fmt::format("this is a bug in lockstep, please report it: {}", e.what())};
  }
}

class PointRunner {
 public:
  PointRunner(const Sweep& sweep, PointStore& store, const std::string& folder, const SweepRunOptions& options,
              PointStatuses& statuses)
      : sweep_(sweep), store_(store), locks_(folder), clusters_(4 * options.threads), options_(options), statuses_(statuses) {}

  SweepProgress run(const std::vector<std::size_t>& points) {
    progress_.points = points.size();
    in_parallel(points.size(), options_.threads, [&](std::size_t i) {
      if (!try_run(points[i])) {
        const std::lock_guard lock(mutex_);
        postponed_.push_back(points[i]);
      }
    });
    // What others were running when its turn came: it is finished by now, or they were killed.
    std::sort(postponed_.begin(), postponed_.end());
    in_parallel(postponed_.size(), options_.threads, [&](std::size_t i) {
      while (!try_run(postponed_[i])) std::this_thread::sleep_for(std::chrono::milliseconds(50));
    });
    return progress_;
  }

 private:
  // False when another thread or process runs this point.
  bool try_run(std::size_t point) {
    Resolved resolved = resolve(sweep_, point, options_.library);
    if (!resolved.run) {
      statuses_[point] = {PointState::kInvalid, {}, std::move(resolved.error), std::move(resolved.warnings)};
      return finish(true, false);
    }
    const PointKey key = point_key(*resolved.run, options_.version);
    statuses_[point] = {PointState::kStored, key, {}, std::move(resolved.warnings)};  // when this returns
    if (const std::optional<StoredPoint> stored = store_.find(key)) return finish(!stored->is_good, true);
    if (!locks_.try_lock(key)) return false;
    std::optional<StoredPoint> point_result = store_.find(key);  // finished between the look and the lock
    const bool is_found = point_result.has_value();
    try {
      if (!is_found) {
        point_result = simulate(*resolved.run, clusters_, options_.version);
        store_.insert(key, *point_result);
      }
    } catch (...) {
      locks_.unlock(key);
      throw;
    }
    locks_.unlock(key);
    return finish(!point_result->is_good, is_found);
  }

  bool finish(bool has_failed, bool is_found) {
    const std::lock_guard lock(mutex_);
    ++progress_.done;
    progress_.found += is_found ? 1 : 0;
    progress_.failed += has_failed ? 1 : 0;
    if (options_.on_progress) options_.on_progress(progress_);
    return true;
  }

  const Sweep& sweep_;
  PointStore& store_;
  PointLocks locks_;
  ClusterCache clusters_;
  const SweepRunOptions& options_;
  PointStatuses& statuses_;
  std::mutex mutex_;
  SweepProgress progress_;
  std::vector<std::size_t> postponed_;
};

}  // namespace

PointKey point_key(const PointRun& run, std::string_view version) {
  // A file is printed by its name alone.
  std::string measured;
  if (run.scenario.spec.job) measured = content_text(run.scenario.spec.job->kernel_timings);
  for (const JobEntry& entry : run.scenario.spec.jobs) measured += content_text(entry.job.kernel_timings);
  return key_of(measured + fmt::format("{}\n{}\n{}\n{}\n{}", version, to_text(run.network), run.seed, run.scenario.spec.name,
                                       config_text(run.scenario.spec, scenario_fields())));
}

std::string one_line(const Diagnostics& d) {
  std::string text;
  for (const Diagnostic& item : d.in_reading_order()) {
    if (item.severity != Severity::kError) continue;
    text += (text.empty() ? "" : "; ") + without_position(item);
  }
  return text;
}

std::vector<std::string> all_warnings(const PointStatuses& statuses) {
  struct About {
    std::string warning;
    std::size_t first;
    std::size_t points = 1;
  };
  std::vector<About> all;
  for (std::size_t i = 0; i < statuses.size(); ++i) {
    for (const std::string& w : statuses[i].warnings) {
      const auto known = std::find_if(all.begin(), all.end(), [&](const About& a) { return a.warning == w; });
      if (known == all.end()) {
        all.push_back({w, i});
      } else {
        ++known->points;
      }
    }
  }
  std::vector<std::string> out;
  for (const About& a : all) {
    const std::string more = a.points > 1 ? fmt::format(" and {} more", a.points - 1) : "";
    out.push_back(fmt::format("point {}{}: {}", a.first, more, a.warning));
  }
  return out;
}

SweepProgress run_points(const Sweep& sweep, const std::vector<std::size_t>& points, PointStore& store,
                         const std::string& folder, const SweepRunOptions& options, PointStatuses& statuses) {
  return PointRunner(sweep, store, folder, options, statuses).run(points);
}

void complete_statuses(const Sweep& sweep, const PointStore* store, const SweepRunOptions& options, PointStatuses& statuses) {
  in_parallel(statuses.size(), options.threads, [&](std::size_t i) {
    PointStatus& status = statuses[i];
    if (status.state != PointState::kUnknown) return;
    Resolved resolved = resolve(sweep, i, options.library);
    if (!resolved.run) {
      status = {PointState::kInvalid, {}, std::move(resolved.error), std::move(resolved.warnings)};
      return;
    }
    status.key = point_key(*resolved.run, options.version);
    status.warnings = std::move(resolved.warnings);
    status.state = store != nullptr && store->has(status.key) ? PointState::kStored : PointState::kMissing;
  });
}

}  // namespace lockstep
