// SPDX-License-Identifier: Apache-2.0
#include "sim/experiment/tune/tune.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <mutex>

#include "sim/experiment/in_parallel.h"
#include "sim/experiment/tune/plan_bound.h"
#include "sim/experiment/tune/plan_runner.h"
#include "workloads/kernels/performance.h"
#include "workloads/kernels/timed_kernels.h"
#include "workloads/model/fit.h"
#include "workloads/model/memory.h"

namespace lockstep {
namespace {

// Plans between two looks at what the best so far have taught. Part of the result, unlike the number of threads.
constexpr std::size_t kRound = 24;

// A fault without its numbers, so that equal ones come together: "N sequences are not divisible by ...".
std::string pattern(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const bool is_digit = c >= '0' && c <= '9';
    if (is_digit && !out.empty() && out.back() == 'N') continue;
    out += is_digit ? 'N' : c;
  }
  return out;
}

class Search {
 public:
  Search(const ScenarioSpec& spec, const PlanSpace& space, const TuneOptions& options)
      : spec_(spec), space_(space), options_(options), prepared_(spec.cluster, options.seed) {}

  TuneResult run() {
    enumerate();
    estimate();
    evaluate();
    finish();
    return std::move(result_);
  }

 private:
  struct Candidate {
    PlanChoice choice;
    PlanCost cost;
    std::int64_t bytes = 0;
  };

  [[nodiscard]] std::int64_t capacity() const { return spec_.cluster.server->gpu.memory.count(); }

  void enumerate() {
    std::map<std::string, PlanGroup> groups;
    space_.each([&](const PlanChoice& choice) {
      ++result_.counts.plans;
      std::string reason;
      const ReportFault report = [&](std::string_view key, const std::string& message, const std::string&) {
        if (reason.empty()) reason = fmt::format("{}: {}", key, pattern(message));
      };
      const JobSpec job = space_.job(choice);
      const std::optional<TrainingPlan> plan = resolve_plan(job, space_.cluster(), report);
      const bool runs_there = check_kernels(job, spec_.cluster.server->gpu, spec_.cluster.software, report);
      if (!plan || !runs_there) {
        ++result_.counts.unresolved;
        PlanGroup& group = groups[reason];
        if (group.plans++ == 0) group = {.reason = reason, .plans = 1, .example = space_.text(choice)};
        return;
      }
      const std::int64_t bytes = peak_memory(*plan).needed();
      (bytes <= capacity() ? candidates_ : too_large_).push_back({choice, {}, bytes});
    });
    for (auto& [reason, group] : groups) result_.unresolved.push_back(std::move(group));
    std::stable_sort(result_.unresolved.begin(), result_.unresolved.end(),
                     [](const PlanGroup& a, const PlanGroup& b) { return a.plans > b.plans; });
  }

  [[nodiscard]] TrainingPlan plan_of(const PlanChoice& choice) const {
    std::optional<TrainingPlan> plan = resolve_plan(space_.job(choice), space_.cluster(), ReportFault());
    LOCKSTEP_CHECK(plan.has_value(), "a plan resolved before: {}", space_.text(choice));
    return *std::move(plan);
  }

  void estimate() {
    const PairRates rates = pair_rates(build_healthy_network(spec_.cluster));
    // A GPU may be a little faster than its kind (gpu_variation, sampled); a bound counts on all being as fast.
    const std::vector<std::int64_t> slowdowns = gpu_slowdowns(spec_.cluster, options_.seed);
    const auto least = std::min_element(slowdowns.begin(), slowdowns.end());
    const double pace = least == slowdowns.end() ? 1 : static_cast<double>(1000 + std::min<std::int64_t>(0, *least)) / 1000;
    const auto cost = [&](std::vector<Candidate>& all) {
      in_parallel(all.size(), options_.threads, [&](std::size_t i) {
        const TrainingPlan plan = plan_of(all[i].choice);
        all[i].cost = cost_of(plan, performance_of(*spec_.cluster.server, spec_.cluster.software, plan.job), rates);
        all[i].cost.bound_s *= pace;
      });
    };
    cost(candidates_);
    cost(too_large_);
    find_idle_timings();
    // Equal estimates keep the order of the space.
    std::stable_sort(candidates_.begin(), candidates_.end(),
                     [](const Candidate& a, const Candidate& b) { return a.cost.estimate_s < b.cost.estimate_s; });
    for (const Candidate& c : candidates_) bounds_.push_back(options_.uses_bounds ? c.cost.bound_s : 0);
  }

  void find_idle_timings() {
    if (!spec_.job->kernel_timings) return;
    std::vector<bool> used(spec_.job->kernel_timings->rows.size(), false);
    for (const Candidate& c : candidates_) {
      const TrainingPlan plan = plan_of(c.choice);
      const TimingUse use = timing_use(plan, performance_of(*spec_.cluster.server, spec_.cluster.software, plan.job));
      for (std::size_t i = 0; i < used.size(); ++i) used[i] = used[i] || use.rows[i];
    }
    for (std::size_t i = 0; i < used.size(); ++i) {
      if (!used[i]) result_.idle_timings.push_back(i);
    }
  }

  // The time that a plan must beat to be among the best; none while there are fewer of them.
  [[nodiscard]] double to_beat() const {
    if (best_.size() < options_.top) return std::numeric_limits<double>::infinity();
    return best_[options_.top - 1];
  }

  void evaluate() {
    PlanRunner runner(spec_, space_, prepared_, options_);
    std::size_t next = 0;
    while (next < candidates_.size() && result_.counts.evaluated < options_.max_evaluations) {
      const double limit = to_beat();
      std::vector<std::size_t> round;
      const std::size_t most = std::min(kRound, options_.max_evaluations - result_.counts.evaluated);
      for (; next < candidates_.size() && round.size() < most; ++next) {
        if (bounds_[next] < limit)
          round.push_back(next);
        else
          ++result_.counts.bounded;
      }
      run_round(runner, round);
      result_.counts.evaluated += round.size();
      std::sort(best_.begin(), best_.end());
    }
    for (; next < candidates_.size(); ++next) {
      if (bounds_[next] >= to_beat()) {
        ++result_.counts.bounded;
        continue;
      }
      ++result_.counts.unevaluated;
      const double least = result_.least_unevaluated_s.value_or(bounds_[next]);
      result_.least_unevaluated_s = std::min(least, bounds_[next]);
    }
  }

  void run_round(PlanRunner& runner, const std::vector<std::size_t>& round) {
    std::vector<PlanRunner::Outcome> outcomes(round.size());
    std::mutex mutex;
    std::size_t done = 0;
    in_parallel(round.size(), options_.threads, [&](std::size_t i) {
      outcomes[i] = runner.run(candidates_[round[i]].choice);
      const std::lock_guard lock(mutex);
      ++done;
      report_progress(done);
    });
    for (std::size_t i = 0; i < round.size(); ++i) take(candidates_[round[i]], std::move(outcomes[i]));
  }

  void report_progress(std::size_t done_of_round) const {
    if (!options_.on_progress) return;
    const std::size_t evaluated = result_.counts.evaluated + done_of_round;
    options_.on_progress({.candidates = candidates_.size(),
                          .settled = evaluated + result_.counts.bounded,
                          .evaluated = evaluated,
                          .best_s = best_.empty() ? 0 : best_.front()});
  }

  [[nodiscard]] TunedPlan tuned(const Candidate& c) const {
    const TrainingPlan plan = plan_of(c.choice);
    return {.choice = c.choice,
            .text = space_.text(c.choice),
            .bound_s = c.cost.bound_s,
            .estimate_s = c.cost.estimate_s,
            .pp = plan.pp(),
            .micro_batches = plan.micro_batches};
  }

  void take(const Candidate& candidate, PlanRunner::Outcome outcome) {
    TunedPlan plan = tuned(candidate);
    result_.counts.found += outcome.is_found ? 1 : 0;
    if (outcome.point.is_good) {
      plan.numbers = numbers_of_record(outcome.point.text);
      plan.record = std::move(outcome.point.text);
      best_.push_back(plan.numbers->step_time_s);
    } else {
      ++result_.counts.failed;
      plan.error = std::move(outcome.point.text);
    }
    result_.plans.push_back(std::move(plan));
  }

  void finish() {
    // Equal times keep the order of estimates.
    const auto time = [](const TunedPlan& p) {
      return p.numbers ? p.numbers->step_time_s : std::numeric_limits<double>::infinity();
    };
    std::stable_sort(result_.plans.begin(), result_.plans.end(),
                     [&](const TunedPlan& a, const TunedPlan& b) { return time(a) < time(b); });
    result_.counts.too_large = too_large_.size();
    result_.capacity_bytes = capacity();
    if (too_large_.empty()) return;
    const auto fastest = std::min_element(too_large_.begin(), too_large_.end(), [](const Candidate& a, const Candidate& b) {
      return a.cost.bound_s < b.cost.bound_s;
    });
    const auto smallest = std::min_element(too_large_.begin(), too_large_.end(),
                                           [](const Candidate& a, const Candidate& b) { return a.bytes < b.bytes; });
    result_.fastest_too_large = tuned(*fastest);
    result_.smallest_too_large = tuned(*smallest);
    result_.smallest_bytes = smallest->bytes;
    if (candidates_.empty()) result_.ways_to_fit = ways_to_fit(plan_of(smallest->choice), capacity());
  }

  const ScenarioSpec& spec_;
  const PlanSpace& space_;
  const TuneOptions& options_;
  PreparedCluster prepared_;
  TuneResult result_;
  std::vector<Candidate> candidates_;  // fit; by estimate
  std::vector<Candidate> too_large_;
  std::vector<double> bounds_;  // by candidate
  std::vector<double> best_;    // times found, sorted between rounds
};

}  // namespace

std::optional<std::int64_t> global_batch_of(const JobSpec& job, const ClusterSpec& cluster, Diagnostics& d) {
  if (job.global_batch) return job.global_batch;
  std::string fault;
  const std::optional<TrainingPlan> plan =
      resolve_plan(job, size_of(cluster), [&](std::string_view key, const std::string& message, const std::string&) {
        if (fault.empty()) fault = fmt::format("{}: {}", key, message);
      });
  if (plan) return plan->global_batch;
  d.error(
      {}, "job.global_batch",
      fmt::format("the sequences of a step are kept, but the job has no global_batch and its own plan makes none: {}", fault),
      "--set job.global_batch=N");
  return std::nullopt;
}

TuneResult tune(const ScenarioSpec& spec, const PlanSpace& space, const TuneOptions& options) {
  LOCKSTEP_CHECK(spec.cluster.server.has_value(), "a job needs servers with GPUs");
  return Search(spec, space, options).run();
}

}  // namespace lockstep
