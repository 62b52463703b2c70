// SPDX-License-Identifier: Apache-2.0
#include "sim/experiment/tune/plan_runner.h"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/hash.h"
#include "sim/experiment/job_run.h"
#include "sim/experiment/sweep/sweep_run.h"
#include "sim/report/render.h"
#include "workloads/kernels/timings.h"

namespace lockstep {
namespace {

template <class T>
std::string config_text(const T& spec, const FieldTable<T>& table) {
  ConfigPrinter printer;
  table.print(spec, printer);
  return printer.text();
}

}  // namespace

PlanRunner::PlanRunner(const ScenarioSpec& spec, const PlanSpace& space, const PreparedCluster& prepared,
                       const TuneOptions& options)
    : spec_(spec), space_(space), prepared_(prepared), options_(options) {
  setting_ = fmt::format("tune\n{}\n{}\n{}\n{}\n{}\n", options.version, to_text(options.network), options.seed, spec.name,
                         config_text(spec.cluster, cluster_fields()));
  if (!options.folder) return;
  store_ = std::make_unique<PointStore>(*options.folder, PointStore::Access::kWrite);
  locks_ = std::make_unique<PointLocks>(*options.folder);
}

PointKey PlanRunner::key_of(const JobSpec& job) const {
  // A file is printed by its name alone.
  const std::string text = setting_ + content_text(job.kernel_timings) + config_text(job, job_fields());
  return {hash_text("high " + text), hash_text("low " + text)};
}

StoredPoint PlanRunner::simulate(const JobSpec& job) const {
  const std::optional<TrainingPlan> plan = resolve_plan(job, space_.cluster(), ReportFault());
  LOCKSTEP_CHECK(plan.has_value(), "a plan of {} resolved before", job.name);
  const RunOptions options{
      .network = options_.network, .seed = options_.seed, .compares_with_ideal = false, .uses_one_thread = true};
  try {
    RunResult result = run_job(prepared_, spec_.cluster, *plan, options);
    result.scenario = spec_.name;
    result.network = to_text(options_.network);
    result.version = options_.version;
    return {true, to_record(result), result.measured.wall_s, result.measured.peak_rss_bytes};
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

PlanRunner::Outcome PlanRunner::run(const PlanChoice& choice) {
  const JobSpec job = space_.job(choice);
  if (!store_) return {simulate(job), false};
  const PointKey key = key_of(job);
  while (true) {
    if (std::optional<StoredPoint> stored = store_->find(key)) return {*std::move(stored), true};
    if (locks_->try_lock(key)) break;
    std::this_thread::sleep_for(std::chrono::milliseconds(50));  // another process runs it
  }
  try {
    std::optional<StoredPoint> point = store_->find(key);  // finished between the look and the lock
    const bool is_found = point.has_value();
    if (!is_found) {
      point = simulate(job);
      store_->insert(key, *point);
    }
    locks_->unlock(key);
    return {*std::move(point), is_found};
  } catch (...) {
    locks_->unlock(key);
    throw;
  }
}

PlanNumbers numbers_of_record(const std::string& record) {
  const nlohmann::json j = nlohmann::json::parse(record);
  PlanNumbers n{.step_time_s = j.at("step_time_s").get<double>(),
                .tokens_per_s_per_gpu = j.at("tokens_per_s_per_gpu").get<double>(),
                .mfu = j.at("mfu").get<double>(),
                .hfu = j.at("hfu").get<double>(),
                .memory_bytes = j.at("memory_bytes_per_gpu").at("total").get<std::int64_t>(),
                .bottleneck = j.at("bottleneck").get<std::string>()};
  for (std::size_t c = 0; c < kTimeClassCount; ++c) {
    n.breakdown_s[c] = j.at("breakdown_s").at(to_text(static_cast<TimeClass>(c))).get<double>();
  }
  return n;
}

}  // namespace lockstep
