// SPDX-License-Identifier: Apache-2.0
// Several jobs as one program: disjoint ranks, communicators, kernels and roles, in the order of the jobs. Each begins after a pause of its own and repeats its
// step a number of times. A step begins when all ranks of the job have done all of the one before (a barrier that costs nothing):
// undisturbed, steps times `steps` is the time of one step to the picosecond.
//
// What several steps of one job could do beside each other is not modelled, and neither is what real jobs do between steps.
//
// One step without a pause pushes what its program pushes. Cost: that of the programs, and one expansion of a rank of each role where
// steps repeat.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "workloads/program.h"

namespace lockstep {

struct JobProgram {
  const Program& program;  // of one step
  Duration start;
  std::int64_t steps = 1;
};

class CombinedProgram final : public Program {
 public:
  // The programs must outlive this one, and are none of this kind.
  explicit CombinedProgram(const std::vector<JobProgram>& jobs);

  [[nodiscard]] std::uint32_t world_size() const override { return ranks_; }
  [[nodiscard]] const KernelTable& kernels() const override { return kernels_; }
  bool expand(Rank rank, ProgramCursor& cursor, OpSink& sink) const override;
  void members(CommId comm, std::vector<Rank>& out) const override;
  [[nodiscard]] std::uint32_t communicator_count() const override { return communicators_; }
  [[nodiscard]] std::uint32_t collective_kinds(CommId comm) const override;
  [[nodiscard]] Algorithm algorithm(CommId comm) const override;
  [[nodiscard]] TokenRouting routing(CommId comm) const override;
  [[nodiscard]] std::uint32_t role(Rank rank) const override;
  [[nodiscard]] std::int64_t lap(Rank rank, const ProgramCursor& at) const override;
  [[nodiscard]] std::int64_t repetitions(Rank rank, const ProgramCursor& then, const ProgramCursor& now) const override;
  [[nodiscard]] std::uint32_t job_count() const override { return static_cast<std::uint32_t>(jobs_.size()); }
  [[nodiscard]] std::uint32_t job_of(Rank rank) const override;
  [[nodiscard]] Rank rank_in_job(Rank rank) const override;
  [[nodiscard]] CommId comm_in_job(CommId comm) const override;
  void ports(Rank rank, std::vector<Port>& out) const override;

 private:
  // What a rank of a role pushes in a step, with the barrier that may follow.
  struct StepCounts {
    std::int64_t slots = 0;
    std::array<std::int64_t, kStreamCount> ops = {};
    std::int64_t barrier_ops = 0;  // on the compute stream
  };
  struct Job {
    JobProgram of;
    std::uint32_t first_rank = 0;
    std::uint32_t first_comm = 0;
    std::uint32_t first_kernel = 0;
    std::uint32_t first_role = 0;
    KernelId pause;                 // none: it begins at once
    std::vector<StepCounts> steps;  // by role of its program; empty when there is one step
    [[nodiscard]] std::int64_t pauses() const { return pause.is_none() ? 0 : 1; }
    [[nodiscard]] CommId barrier() const { return CommId(first_comm + of.program.communicator_count()); }
  };
  // Where a rank is in its job, with its cursor as its own program knows it.
  struct Place {
    std::int64_t step = -1;                              // -1: before the pause
    bool is_at_end = false;                              // of the step
    std::array<std::int64_t, kStreamCount> before = {};  // pushed before the step
    ProgramCursor cursor;
  };

  void add(const JobProgram& job);
  [[nodiscard]] const Job& job_at(Rank rank) const { return jobs_[job_of(rank)]; }
  [[nodiscard]] const Job& job_at(CommId comm) const;
  [[nodiscard]] Place place(const Job& job, Rank rank, const ProgramCursor& cursor) const;
  static void push_barrier(const Job& job, const StepCounts& counts, ProgramCursor& cursor, OpSink& sink);

  std::vector<Job> jobs_;
  KernelTable kernels_;
  std::uint32_t ranks_ = 0;
  std::uint32_t communicators_ = 0;
  std::uint32_t roles_ = 0;
};

}  // namespace lockstep
