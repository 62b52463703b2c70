// SPDX-License-Identifier: Apache-2.0
#include "workloads/schedule/combined_program.h"

#include <algorithm>

#include "base/check.h"

namespace lockstep {
namespace {

constexpr auto kComputeStream = static_cast<std::size_t>(Stream::kCompute);

class NoSink final : public OpSink {
 public:
  void push(Stream, const Op&) override {}
};

// Numbers of one job to those of all.
class ShiftingSink final : public OpSink {
 public:
  struct Shift {
    std::uint32_t rank = 0;
    std::uint32_t comm = 0;
    std::uint32_t kernel = 0;
    std::array<std::int64_t, kStreamCount> ops = {};
  };
  ShiftingSink(OpSink& to, const Shift& by) : to_(to), by_(by) {}

  void push(Stream stream, const Op& op) override {
    Op out = op;
    if (!op.kernel.is_none()) out.kernel = KernelId(op.kernel.value() + by_.kernel);
    if (!op.comm.is_none()) out.comm = CommId(op.comm.value() + by_.comm);
    if (!op.peer.is_none()) out.peer = Rank(op.peer.value() + by_.rank);
    if (op.kind == OpKind::kWait) out.wait_count += by_.ops[static_cast<std::size_t>(op.wait_stream)];
    to_.push(stream, out);
  }

 private:
  OpSink& to_;
  const Shift& by_;
};

}  // namespace

CombinedProgram::CombinedProgram(const std::vector<JobProgram>& jobs) {
  LOCKSTEP_CHECK(!jobs.empty(), "a program of no jobs");
  for (const JobProgram& job : jobs) add(job);
}

void CombinedProgram::add(const JobProgram& of) {
  LOCKSTEP_CHECK(of.steps >= 1, "a job of {} steps", of.steps);
  Job job{.of = of,
          .first_rank = ranks_,
          .first_comm = communicators_,
          .first_kernel = static_cast<std::uint32_t>(kernels_.kernels.size()),
          .first_role = roles_};
  const std::vector<Kernel>& kernels = of.program.kernels().kernels;
  kernels_.kernels.insert(kernels_.kernels.end(), kernels.begin(), kernels.end());
  if (of.start > Duration()) {
    job.pause = KernelId::from_index(kernels_.kernels.size());
    kernels_.kernels.push_back({.name = "pause", .time = of.start, .is_pause = true});
  }
  for (std::uint32_t r = 0; r < of.program.world_size(); ++r) {
    const std::uint32_t role = of.program.role(Rank(r));
    roles_ = std::max(roles_, job.first_role + role + 1);
    if (of.steps == 1) continue;
    if (role >= job.steps.size()) job.steps.resize(role + 1);
    StepCounts& counts = job.steps[role];
    if (counts.slots > 0) continue;
    ProgramCursor cursor;
    NoSink nowhere;
    while (of.program.expand(Rank(r), cursor, nowhere)) {
    }
    counts.slots = cursor.slot;
    for (std::size_t s = 0; s < kStreamCount; ++s) {
      counts.ops[s] = cursor.pushed[s];
      if (s == kComputeStream || counts.ops[s] > 0) ++counts.barrier_ops;  // the barrier, and a wait for every other stream
    }
  }
  ranks_ += of.program.world_size();
  communicators_ += of.program.communicator_count() + (of.steps > 1 ? 1 : 0);
  jobs_.push_back(std::move(job));
}

std::uint32_t CombinedProgram::job_of(Rank rank) const {
  std::uint32_t j = 0;
  while (j + 1 < jobs_.size() && jobs_[j + 1].first_rank <= rank.value()) ++j;
  return j;
}

const CombinedProgram::Job& CombinedProgram::job_at(CommId comm) const {
  std::size_t j = 0;
  while (j + 1 < jobs_.size() && jobs_[j + 1].first_comm <= comm.value()) ++j;
  return jobs_[j];
}

Rank CombinedProgram::rank_in_job(Rank rank) const { return Rank(rank.value() - job_at(rank).first_rank); }
CommId CombinedProgram::comm_in_job(CommId comm) const { return CommId(comm.value() - job_at(comm).first_comm); }

std::uint32_t CombinedProgram::role(Rank rank) const {
  const Job& job = job_at(rank);
  return job.first_role + job.of.program.role(Rank(rank.value() - job.first_rank));
}

void CombinedProgram::members(CommId comm, std::vector<Rank>& out) const {
  const Job& job = job_at(comm);
  if (comm == job.barrier()) {
    out.clear();
    for (std::uint32_t r = 0; r < job.of.program.world_size(); ++r) out.push_back(Rank(r));
  } else {
    job.of.program.members(CommId(comm.value() - job.first_comm), out);
  }
  for (Rank& r : out) r = Rank(r.value() + job.first_rank);
}

std::uint32_t CombinedProgram::collective_kinds(CommId comm) const {
  const Job& job = job_at(comm);
  return comm == job.barrier() ? kBarrierOnly : job.of.program.collective_kinds(CommId(comm.value() - job.first_comm));
}

Algorithm CombinedProgram::algorithm(CommId comm) const {
  const Job& job = job_at(comm);
  return comm == job.barrier() ? Algorithm::kRing : job.of.program.algorithm(CommId(comm.value() - job.first_comm));
}

TokenRouting CombinedProgram::routing(CommId comm) const {
  const Job& job = job_at(comm);
  return comm == job.barrier() ? TokenRouting{} : job.of.program.routing(CommId(comm.value() - job.first_comm));
}

void CombinedProgram::ports(Rank rank, std::vector<Port>& out) const {
  const Job& job = job_at(rank);
  const std::size_t first = out.size();
  job.of.program.ports(rank_in_job(rank), out);
  for (std::size_t i = first; i < out.size(); ++i) {
    if (!out[i].comm.is_none()) out[i].comm = CommId(out[i].comm.value() + job.first_comm);
    if (!out[i].peer.is_none()) out[i].peer = Rank(out[i].peer.value() + job.first_rank);
  }
  if (job.of.steps > 1) out.push_back({.kind = Port::Kind::kCommunicator, .comm = job.barrier()});
}

CombinedProgram::Place CombinedProgram::place(const Job& job, Rank rank, const ProgramCursor& cursor) const {
  Place at;
  const std::int64_t slot = cursor.slot - job.pauses();
  if (slot < 0) return at;
  at.step = 0;
  at.before[kComputeStream] = job.pauses();
  at.cursor = cursor;
  at.cursor.slot = slot;
  if (!job.steps.empty()) {
    const StepCounts& counts = job.steps[role(rank) - job.first_role];
    at.step = slot / (counts.slots + 1);
    at.cursor.slot = slot % (counts.slots + 1);
    at.is_at_end = at.cursor.slot == counts.slots;
    for (std::size_t s = 0; s < kStreamCount; ++s) at.before[s] += at.step * counts.ops[s];
    at.before[kComputeStream] += at.step * counts.barrier_ops;
  }
  for (std::size_t s = 0; s < kStreamCount; ++s) at.cursor.pushed[s] -= at.before[s];
  if (at.cursor.slot == 0) std::fill(std::begin(at.cursor.scratch), std::end(at.cursor.scratch), 0);
  return at;
}

bool CombinedProgram::expand(Rank rank, ProgramCursor& cursor, OpSink& sink) const {
  const Job& job = job_at(rank);
  Place at = place(job, rank, cursor);
  if (at.step < 0) {
    sink.push(Stream::kCompute, {.kind = OpKind::kCompute, .kernel = job.pause});
    ++cursor.slot;
    ++cursor.pushed[kComputeStream];
    return true;
  }
  if (at.is_at_end) {
    if (at.step + 1 == job.of.steps) return false;
    push_barrier(job, job.steps[role(rank) - job.first_role], cursor, sink);
    return true;
  }
  const ShiftingSink::Shift shift{job.first_rank, job.first_comm, job.first_kernel, at.before};
  ShiftingSink shifted(sink, shift);
  const std::int64_t slot = at.cursor.slot;
  if (!job.of.program.expand(rank_in_job(rank), at.cursor, shifted)) return false;
  cursor.slot += at.cursor.slot - slot;
  for (std::size_t s = 0; s < kStreamCount; ++s) cursor.pushed[s] = at.cursor.pushed[s] + at.before[s];
  std::copy(std::begin(at.cursor.scratch), std::end(at.cursor.scratch), std::begin(cursor.scratch));
  return true;
}

// The rank comes to the barrier when all its streams are done with the step.
void CombinedProgram::push_barrier(const Job& job, const StepCounts& counts, ProgramCursor& cursor, OpSink& sink) {
  for (std::size_t s = 0; s < kStreamCount; ++s) {
    if (s == kComputeStream || counts.ops[s] == 0) continue;
    sink.push(Stream::kCompute, {.kind = OpKind::kWait, .wait_stream = static_cast<Stream>(s), .wait_count = cursor.pushed[s]});
  }
  sink.push(Stream::kCompute, {.kind = OpKind::kBarrier, .comm = job.barrier()});
  cursor.pushed[kComputeStream] += counts.barrier_ops;
  ++cursor.slot;
}

std::int64_t CombinedProgram::lap(Rank rank, const ProgramCursor& cursor) const {
  const Job& job = job_at(rank);
  const Place at = place(job, rank, cursor);
  constexpr std::int64_t kMostLaps = std::int64_t{1} << 32;
  return at.step * kMostLaps + (at.step < 0 || at.is_at_end ? 0 : job.of.program.lap(rank_in_job(rank), at.cursor));
}

std::int64_t CombinedProgram::repetitions(Rank rank, const ProgramCursor& then, const ProgramCursor& now) const {
  const Job& job = job_at(rank);
  const Place from = place(job, rank, then);
  const Place to = place(job, rank, now);
  if (from.step < 0 || from.step != to.step || to.is_at_end) return 0;
  return job.of.program.repetitions(rank_in_job(rank), from.cursor, to.cursor);
}

}  // namespace lockstep
