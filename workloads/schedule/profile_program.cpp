// SPDX-License-Identifier: Apache-2.0
#include "workloads/schedule/profile_program.h"

#include "base/check.h"
#include "base/wide.h"
#include "workloads/schedule/buckets.h"

namespace lockstep {
namespace {

constexpr KernelId kForward(0);
constexpr KernelId kBackward(1);
constexpr KernelId kFixed(2);

class Writer {
 public:
  Writer(ProgramCursor& cursor, OpSink& sink) : cursor_(cursor), sink_(sink) {}

  void compute(KernelId kernel) {
    Op op;
    op.kind = OpKind::kCompute;
    op.kernel = kernel;
    push(Stream::kCompute, op);
  }
  void wait_all(Stream stream, Stream target) {
    Op op;
    op.kind = OpKind::kWait;
    op.wait_stream = target;
    op.wait_count = cursor_.pushed[static_cast<std::size_t>(target)];
    push(stream, op);
  }
  void all_reduce(CommId comm, std::int64_t bytes) {
    Op op;
    op.kind = OpKind::kCollective;
    op.collective = CollectiveKind::kAllReduce;
    op.comm = comm;
    op.bytes = bytes;
    push(Stream::kDpReduce, op);
  }

 private:
  void push(Stream stream, const Op& op) {
    ++cursor_.pushed[static_cast<std::size_t>(stream)];
    sink_.push(stream, op);
  }
  ProgramCursor& cursor_;
  OpSink& sink_;
};

}  // namespace

ProfileProgram::ProfileProgram(TrainingPlan plan) : plan_(std::move(plan)) {
  LOCKSTEP_CHECK(plan_.has_profile(), "the job '{}' has no profile", plan_.job.name);
  const ProfileSpec& profile = *plan_.job.profile;
  const auto samples = static_cast<double>(plan_.job.micro_batch);
  const auto add = [&](const char* name, Duration time) { kernels_.kernels.push_back({.name = name, .time = time}); };
  add("forward", kernel_duration(samples * profile.forward_seconds()));
  add("backward", kernel_duration(samples * profile.backward_seconds()));
  add("fixed", profile.fixed_time);
  if (plan_.replicas() > 1) fill_buckets();
}

void ProfileProgram::fill_buckets() {
  const BucketLimits limits = bucket_limits(plan_);
  const std::vector<std::int64_t> bytes = plan_.job.profile->part_bytes();
  Bucket bucket;
  for (std::int64_t part = std::ssize(bytes) - 1; part >= 0; --part) {
    bucket.bytes = checked_add(bucket.bytes, bytes[static_cast<std::size_t>(part)]);
    bucket.first_part = part;
    if (bucket.bytes == 0 || (part > 0 && bucket.bytes < (buckets_.empty() ? limits.first : limits.other))) continue;
    buckets_.push_back(bucket);
    bucket = {};
  }
}

std::uint32_t ProfileProgram::collective_kinds(CommId comm) const {
  if (plan_.replicas() == 1 || plan_.layout.family(comm) != CommFamily::kDpReduce) return 0;
  return 1u << static_cast<unsigned>(CollectiveKind::kAllReduce);
}

void ProfileProgram::ports(Rank rank, std::vector<Port>& out) const {
  if (plan_.replicas() == 1) return;
  const CommId comm = plan_.layout.comm(CommFamily::kDpReduce, plan_.layout.coordinates(rank));
  out.push_back({.kind = Port::Kind::kCommunicator, .comm = comm});
}

bool ProfileProgram::expand(Rank rank, ProgramCursor& cursor, OpSink& sink) const {
  const std::int64_t parts = plan_.job.profile->parts();
  const std::int64_t pass_parts = 2 * parts;  // forward and backward of a micro-batch
  const std::int64_t last = pass_parts * plan_.micro_batches;
  if (cursor.slot > last) return false;
  const std::int64_t at = cursor.slot++;
  Writer out(cursor, sink);
  std::int64_t& next_bucket = cursor.scratch[0];
  const auto reduce = [&] {
    out.wait_all(Stream::kDpReduce, Stream::kCompute);
    const CommId comm = plan_.layout.comm(CommFamily::kDpReduce, plan_.layout.coordinates(rank));
    out.all_reduce(comm, buckets_[static_cast<std::size_t>(next_bucket++)].bytes);
  };
  if (at == last) {
    while (next_bucket < std::ssize(buckets_)) reduce();
    if (!buckets_.empty()) out.wait_all(Stream::kCompute, Stream::kDpReduce);
    if (plan_.job.profile->fixed_time > Duration()) out.compute(kFixed);
    return true;
  }
  const std::int64_t step = at % pass_parts;
  if (step < parts) {
    out.compute(kForward);
    return true;
  }
  out.compute(kBackward);
  const std::int64_t part = pass_parts - 1 - step;
  const bool is_last_pass = at >= last - pass_parts;
  if (is_last_pass && plan_.job.overlap_grad_reduce && next_bucket < std::ssize(buckets_) &&
      buckets_[static_cast<std::size_t>(next_bucket)].first_part == part) {
    reduce();
  }
  return true;
}

}  // namespace lockstep
