// SPDX-License-Identifier: Apache-2.0
#include "sim/experiment/explain/explain.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <mutex>
#include <utility>

#include "sim/experiment/explain/upgrades.h"
#include "sim/experiment/in_parallel.h"
#include "sim/experiment/sweep/sweep_run.h"
#include "workloads/kernels/performance.h"
#include "workloads/model/memory.h"

namespace lockstep {
namespace {

RunOptions run_options(const ExplainOptions& options) {
  return {.network = options.network, .seed = options.seed, .compares_with_ideal = false, .uses_one_thread = true};
}

// Counts runs that are done.
class Progress {
 public:
  Progress(const ExplainOptions& options, std::size_t total) : options_(options), total_(total) {}
  void step() {
    const std::lock_guard lock(mutex_);
    ++done_;
    if (options_.on_progress) options_.on_progress(done_, total_);
  }

 private:
  const ExplainOptions& options_;
  std::size_t total_;
  std::size_t done_ = 0;
  std::mutex mutex_;
};

class UpgradeRunner {
 public:
  UpgradeRunner(const Scenario& scenario, const RunResult& base, const PreparedCluster& prepared, const ExplainOptions& options)
      : scenario_(scenario), base_(base), prepared_(prepared), options_(options) {}

  [[nodiscard]] UpgradeResult run(const Upgrade& upgrade, bool is_plan) const {
    UpgradeResult out{.name = upgrade.name, .words = upgrade.words, .is_plan = is_plan};
    AppliedUpgrade applied = upgrade.apply({scenario_.spec.cluster, *scenario_.spec.job}, scenario_.plan);
    out.set = std::move(applied.set);
    out.reason = std::move(applied.reason);
    if (!applied.changed) return out;
    const std::optional<TrainingPlan> plan = plan_of(*applied.changed, out.reason);
    if (!plan) return out;
    try {
      const RunResult r = is_plan ? run_job(prepared_, applied.changed->cluster, *plan, run_options(options_))
                                  : run_job(applied.changed->cluster, *plan, run_options(options_));
      out.step_s = r.step_time_s;
      out.gain = base_.step_time_s / r.step_time_s - 1;
    } catch (const UserError& e) {
      out.reason = one_line(e.diagnostics());
    } catch (const SimulationError& e) {
      out.reason = e.what();
      std::replace(out.reason.begin(), out.reason.end(), '\n', ' ');
    }
    return out;
  }

 private:
  // Nothing, and a reason, if it cannot run or has no room.
  [[nodiscard]] std::optional<TrainingPlan> plan_of(const UpgradeCase& c, std::string& reason) const {
    const ReportFault report = [&reason](std::string_view key, std::string message, const std::string&) {
      if (reason.empty()) reason = fmt::format("{}: {}", key, message);
    };
    std::optional<TrainingPlan> plan = resolve_plan(c.job, size_of(c.cluster), report);
    if (!plan || !check_kernels(c.job, c.cluster.server->gpu, c.cluster.software, report)) return std::nullopt;
    const std::int64_t capacity = c.cluster.server->gpu.memory.count();
    if (plan->has_profile() || !base_.fits() || fits_into(*plan, capacity)) return plan;
    constexpr double kGib = 1024.0 * 1024 * 1024;
    reason = fmt::format("does not fit: {:.1f} of {:.1f} GiB", static_cast<double>(peak_memory(*plan).needed()) / kGib,
                         static_cast<double>(capacity) / kGib);
    return std::nullopt;
  }

  const Scenario& scenario_;
  const RunResult& base_;
  const PreparedCluster& prepared_;
  const ExplainOptions& options_;
};

std::vector<UpgradeResult> run_upgrades(const UpgradeRunner& runner, std::size_t threads, Progress& progress) {
  const std::span<const Upgrade> hardware = hardware_upgrades();
  const std::span<const Upgrade> plans = plan_upgrades();
  std::vector<UpgradeResult> out(hardware.size() + plans.size());
  in_parallel(out.size(), threads, [&](std::size_t i) {
    const bool is_plan = i >= hardware.size();
    out[i] = runner.run(is_plan ? plans[i - hardware.size()] : hardware[i], is_plan);
    progress.step();
  });
  std::stable_sort(out.begin(), out.end(), [](const UpgradeResult& a, const UpgradeResult& b) {
    if (a.gain.has_value() != b.gain.has_value()) return a.gain.has_value();
    return a.gain && *a.gain > *b.gain;
  });
  return out;
}

}  // namespace

Explanation explain(const Scenario& scenario, const ExplainOptions& options) {
  LOCKSTEP_CHECK(scenario.spec.job.has_value(), "a scenario of one job is explained");
  const ClusterSpec& cluster = scenario.spec.cluster;
  const std::optional<ClusterSpec> even = without_slow_parts(cluster);
  const std::size_t upgrades = options.runs_upgrades ? hardware_upgrades().size() + plan_upgrades().size() : 0;
  Progress progress(options, 1 + (even ? 1 : 0) + upgrades);

  const PreparedCluster prepared(cluster, options.seed);
  Explanation out;
  out.run = run_job(prepared, cluster, scenario.plan, run_options(options));
  progress.step();
  const Duration step = Duration::from_seconds(out.run.step_time_s);
  if (even) {
    out.waterfall = waterfall_of(*even, scenario.plan, run_job(*even, scenario.plan, run_options(options)), step);
    progress.step();
  } else {
    out.waterfall = waterfall_of(cluster, scenario.plan, out.run, step);
  }
  if (options.runs_upgrades) {
    out.upgrades = run_upgrades(UpgradeRunner(scenario, out.run, prepared, options), options.threads, progress);
  }
  out.causes = find_causes(
      {.cluster = cluster, .plan = scenario.plan, .run = out.run, .waterfall = out.waterfall, .upgrades = out.upgrades});
  return out;
}

}  // namespace lockstep
