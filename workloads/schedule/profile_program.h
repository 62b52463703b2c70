// SPDX-License-Identifier: Apache-2.0
// One optimizer step of a data-parallel job that is known by measurement (workloads/model/profile.h). A slot is one part of one
// micro-batch in one direction; the last slot holds what is fixed.
//
// Gradients leave as in DDP of transformers (buckets.h): during the last micro-batch's backward a bucket closes when it holds its limit and
// is all-reduced beside what is left of backward; without overlap_grad_reduce all of them follow it. Not modelled: everything a profile
// leaves out.
#pragma once

#include <vector>

#include "workloads/kernels/roofline.h"
#include "workloads/parallel/plan.h"
#include "workloads/program.h"

namespace lockstep {

class ProfileProgram final : public Program {
 public:
  // PRE: plan.has_profile().
  explicit ProfileProgram(TrainingPlan plan);

  [[nodiscard]] std::uint32_t world_size() const override { return plan_.layout.world_size(); }
  [[nodiscard]] const KernelTable& kernels() const override { return kernels_; }
  bool expand(Rank rank, ProgramCursor& cursor, OpSink& sink) const override;
  void members(CommId comm, std::vector<Rank>& out) const override { plan_.layout.members(comm, out); }
  [[nodiscard]] std::uint32_t communicator_count() const override { return plan_.layout.communicator_count(); }
  [[nodiscard]] std::uint32_t collective_kinds(CommId comm) const override;
  [[nodiscard]] Algorithm algorithm(CommId /*comm*/) const override { return plan_.job.algorithm; }
  [[nodiscard]] std::uint32_t role(Rank) const override { return 0; }
  void ports(Rank rank, std::vector<Port>& out) const override;

 private:
  struct Bucket {
    std::int64_t bytes = 0;
    std::int64_t first_part = 0;  // its gradients come last
  };
  void fill_buckets();

  TrainingPlan plan_;
  KernelTable kernels_;
  std::vector<Bucket> buckets_;  // in the order they become ready
};

}  // namespace lockstep
