// SPDX-License-Identifier: Apache-2.0
#include "workloads/schedule/buckets.h"

#include <algorithm>

#include "base/wide.h"

namespace lockstep {
namespace {

class BucketFiller {
 public:
  explicit BucketFiller(const TrainingPlan& plan)
      : plan_(plan),
        limits_(bucket_limits(plan)),
        limit_(limits_.first),
        shards_(plan.optimizer_shards()),
        grad_bytes_(bytes_per_element(plan.job.grad_dtype)),
        weight_bytes_(bytes_per_element(plan.job.precision)) {}

  void add_part(const GradientPoint& point) {
    const std::vector<ParameterTensor> tensors = stage_tensors(plan_, point.part);
    for (auto t = tensors.rbegin(); t != tensors.rend(); ++t) {
      elements_ = checked_add(elements_, t->rank_elements(plan_.tp()));
      last_ = point;
      if (checked_mul(elements_, grad_bytes_) >= limit_) close();
    }
  }

  void close() {
    if (elements_ == 0) return;
    const std::int64_t padded = checked_mul(ceil_div(elements_, shards_), shards_);
    buckets_.push_back(
        {.bytes = checked_mul(padded, grad_bytes_), .weight_bytes = checked_mul(padded, weight_bytes_), .ready = last_});
    elements_ = 0;
    limit_ = limits_.other;
  }

  std::vector<GradientBucket> take() { return std::move(buckets_); }

 private:
  const TrainingPlan& plan_;
  BucketLimits limits_;
  std::int64_t limit_;
  std::int64_t shards_;
  std::int64_t grad_bytes_;
  std::int64_t weight_bytes_;
  std::int64_t elements_ = 0;
  GradientPoint last_;
  std::vector<GradientBucket> buckets_;
};

}  // namespace

BucketLimits bucket_limits(const TrainingPlan& plan) {
  constexpr std::int64_t mebibyte = 1024 * 1024;
  BucketLimits limits{.first = mebibyte, .other = 25 * mebibyte};
  if (plan.job.distributed_optimizer) {
    const std::int64_t gradients = std::max<std::int64_t>(40'000'000, checked_mul(1'000'000, plan.replicas()));
    limits.other = checked_mul(gradients, bytes_per_element(plan.job.grad_dtype));
    limits.first = limits.other;
  }
  if (plan.job.bucket_size) limits.other = plan.job.bucket_size->count();
  if (plan.job.bucket_size && plan.job.distributed_optimizer) limits.first = limits.other;
  if (plan.job.first_bucket_size) limits.first = plan.job.first_bucket_size->count();
  return limits;
}

std::vector<GradientBucket> gradient_buckets(const TrainingPlan& plan, std::int64_t stage) {
  BucketFiller filler(plan);
  // The chunk whose backward ends first: the last; of two copies the one that begins farther away.
  const bool is_first_ready_first = is_bidirectional(plan.job.schedule) && 2 * stage >= plan.pp();
  for (std::int64_t n = 0; n < plan.chunks(); ++n) {
    const std::int64_t chunk = is_first_ready_first ? n : plan.chunks() - 1 - n;
    const ChunkUnits units = chunk_units(plan, stage, chunk);
    for (std::int64_t unit = units.count() - 1; unit >= 0; --unit) {
      if (units.is_embedding(unit)) {
        filler.add_part({chunk, unit, ModelPart::kEmbedding});
      } else if (units.is_head(unit)) {
        filler.add_part({chunk, unit, ModelPart::kHead});
      } else {
        filler.add_part({chunk, unit, ModelPart::kMlp});
        filler.add_part({chunk, unit, ModelPart::kAttention});
      }
    }
    filler.close();
  }
  return filler.take();
}

}  // namespace lockstep
