// SPDX-License-Identifier: Apache-2.0
// The plans that a search looks at: what of a job may change (how it is cut over the GPUs, its micro-batches, what backward computes
// again), while model, GPUs, sequences per step, precision, software and overlaps stay as the job has them.
//
// What each key takes when nobody says, n being the GPUs of the job, G those of a node:
//   tp                 divisors of n that divide the attention heads, up to 2 G: inside a node and over two
//   pp                 divisors of n / tp, up to the layers
//   virtual_stages     divisors up to 8 of the layers of a stage, where all stages have as many; 1 with another schedule than 1f1b
//   cp                 1; from 16,384 tokens on also powers of two that leave a rank 4,096
//   ep                 1; with experts the divisors of their number up to the ranks they are carved out of
//   expert_tp          1; with experts also tp
//   data_parallel      ddp, distributed_optimizer, zero2, fsdp, hybrid (fsdp in groups of the replicas of a node); ddp without replicas
//   micro_batch        powers of two up to 16 that divide the sequences of a replica
//   recompute          none, selective (with unfused attention), full, and 25 %, 50 % and 75 % of the layers of each stage
//   sequence_parallel  true where tp is above 1
// `--space KEY=VALUE,VALUE,...` takes the place of one of these lists, or adds any other key of a job, as tp_overlap=none,backward.
// Combinations that make no plan are told so by resolve_plan().
// Not searched: uneven stages, rank orders, placements.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/document.h"
#include "workloads/parallel/plan.h"

namespace lockstep {

enum class DataParallelKind : std::uint8_t { kDdp, kDistributedOptimizer, kZero2, kFsdp, kHybrid };
[[nodiscard]] const char* to_text(DataParallelKind kind);

// Of the layers of each stage, so many in a hundred when `kind` is kFull.
struct RecomputeChoice {
  Recompute kind = Recompute::kNone;
  std::int64_t percent = 100;
  bool operator==(const RecomputeChoice&) const = default;
};
[[nodiscard]] std::string to_text(RecomputeChoice choice);  // "none", "selective", "50%", "full"

struct PlanChoice {
  std::int64_t tp = 1;
  std::int64_t pp = 1;
  std::int64_t cp = 1;
  std::int64_t ep = 1;
  std::int64_t expert_tp = 1;
  std::int64_t virtual_stages = 1;
  DataParallelKind data_parallel = DataParallelKind::kDdp;
  std::int64_t micro_batch = 1;
  RecomputeChoice recompute;
  bool sequence_parallel = false;
  std::vector<std::uint32_t> others;  // number of the value of each other key

  bool operator==(const PlanChoice&) const = default;
};

class PlanSpace {
 public:
  // `job` has a model; `assignments` are those of --space. Everything wrong goes to `d`, and then there is no space.
  [[nodiscard]] static std::optional<PlanSpace> make(JobSpec job, std::int64_t global_batch, const ClusterSize& cluster,
                                                     const std::vector<std::string>& assignments, Diagnostics& d);

  // Every combination once, always in the same order.
  void each(const std::function<void(const PlanChoice&)>& take) const;
  // The job with a choice of this space made.
  [[nodiscard]] JobSpec job(const PlanChoice& choice) const;
  [[nodiscard]] const ClusterSize& cluster() const { return cluster_; }
  [[nodiscard]] std::int64_t gpus() const { return gpus_; }
  [[nodiscard]] std::int64_t global_batch() const { return global_batch_; }

  // Keys of a choice as tables name them, and the values of one.
  [[nodiscard]] std::vector<std::string> columns() const;
  [[nodiscard]] std::vector<std::string> fields(const PlanChoice& choice) const;
  // "tp 8 pp 4 v2 dp 2 fsdp mb 1 recompute 50%": what differs from 1 and none.
  [[nodiscard]] std::string text(const PlanChoice& choice) const;

 private:
  using Counts = std::vector<std::int64_t>;
  // A key that the defaults leave alone: its values as written and as documents {key: value}.
  struct OtherKey {
    std::string key;
    std::vector<std::string> texts;
    std::vector<std::shared_ptr<const Document>> values;
  };

  PlanSpace(JobSpec job, std::int64_t global_batch, const ClusterSize& cluster);
  void assign(const std::string& assignment, Diagnostics& d);
  void assign_other(const std::string& key, const std::vector<std::string>& texts, const Position& where, Diagnostics& d);
  [[nodiscard]] Counts* counts_of(const std::string& key);
  void apply_others(const PlanChoice& choice, JobSpec& job) const;

  // By what was chosen before.
  [[nodiscard]] Counts tp_values() const;
  [[nodiscard]] Counts pp_values(const PlanChoice& c) const;
  [[nodiscard]] Counts cp_values(const PlanChoice& c) const;
  [[nodiscard]] Counts expert_tp_values(const PlanChoice& c) const;
  [[nodiscard]] Counts ep_values(const PlanChoice& c) const;
  [[nodiscard]] Counts virtual_values(const PlanChoice& c) const;
  [[nodiscard]] Counts micro_batch_values(const PlanChoice& c) const;
  [[nodiscard]] std::vector<DataParallelKind> kinds(const PlanChoice& c) const;
  [[nodiscard]] std::vector<RecomputeChoice> recomputes(const PlanChoice& c) const;
  [[nodiscard]] std::vector<bool> sequence_parallels(const PlanChoice& c) const;
  // Replicas (dp x cp); 0 where tp x pp does not divide the GPUs.
  [[nodiscard]] std::int64_t replicas(const PlanChoice& c) const;
  // Consecutive replicas that share a node.
  [[nodiscard]] std::int64_t replicas_of_a_node(const PlanChoice& c) const;
  [[nodiscard]] std::int64_t layers_of_a_stage(const PlanChoice& c) const;  // the most

  void each_cut(PlanChoice c, const std::function<void(const PlanChoice&)>& take) const;
  void each_schedule(PlanChoice c, const std::function<void(const PlanChoice&)>& take) const;
  void each_other(PlanChoice c, const std::function<void(const PlanChoice&)>& take) const;

  JobSpec job_;
  std::int64_t global_batch_;
  ClusterSize cluster_;
  std::int64_t gpus_;
  // Of --space; empty: the defaults above.
  Counts tp_, pp_, cp_, ep_, expert_tp_, virtual_stages_, micro_batch_;
  std::vector<DataParallelKind> kinds_;
  std::vector<RecomputeChoice> recomputes_;
  std::vector<bool> sequence_parallels_;
  std::vector<OtherKey> others_;
};

}  // namespace lockstep
