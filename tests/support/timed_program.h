// SPDX-License-Identifier: Apache-2.0
// A program whose kernels take times of a test's choosing, for the algebra of who waits for whom. Kernels not named are free.
#pragma once

#include <map>

#include "workloads/schedule/training_program.h"

namespace lockstep::test {

class TimedProgram final : public Program {
 public:
  TimedProgram(const TrainingProgram& program, const std::map<KernelId, std::int64_t>& picos)
      : program_(program), kernels_(program.kernels()) {
    for (std::size_t k = 0; k < kernels_.kernels.size(); ++k) {
      const auto known = picos.find(KernelId(static_cast<std::uint32_t>(k)));
      kernels_.kernels[k].time = Duration::picos(known == picos.end() ? 0 : known->second);
    }
  }
  TimedProgram(const TrainingProgram& program, KernelTable kernels) : program_(program), kernels_(std::move(kernels)) {}
  std::uint32_t world_size() const override { return program_.world_size(); }
  const KernelTable& kernels() const override { return kernels_; }
  bool expand(Rank rank, ProgramCursor& cursor, OpSink& sink) const override { return program_.expand(rank, cursor, sink); }
  void members(CommId comm, std::vector<Rank>& out) const override { program_.members(comm, out); }
  std::uint32_t communicator_count() const override { return program_.communicator_count(); }
  std::uint32_t collective_kinds(CommId comm) const override { return program_.collective_kinds(comm); }
  std::uint32_t role(Rank rank) const override { return program_.role(rank); }
  void ports(Rank rank, std::vector<Port>& out) const override { program_.ports(rank, out); }

 private:
  const TrainingProgram& program_;
  KernelTable kernels_;
};

}  // namespace lockstep::test
