// SPDX-License-Identifier: Apache-2.0
#include "workloads/schedule/buckets.h"

#include <algorithm>

#include "base/wide.h"

namespace lockstep {
namespace {

class BucketFiller {
 public:
  BucketFiller(const TrainingPlan& plan, bool is_of_experts, std::vector<GradientBucket>& out)
      : plan_(plan),
        is_of_experts_(is_of_experts),
        limits_(bucket_limits(plan)),
        limit_(limits_.first),
        shards_(is_of_experts ? plan.expert_optimizer_shards() : plan.optimizer_shards()),
        grad_bytes_(bytes_per_element(plan.job.grad_dtype)),
        weight_bytes_(bytes_per_element(plan.job.precision)),
        out_(out) {}

  void add_part(const GradientPoint& point) {
    const std::vector<ParameterTensor> tensors = trained_tensors(plan_, point.part);
    for (auto t = tensors.rbegin(); t != tensors.rend(); ++t) {
      elements_ = checked_add(elements_, t->rank_elements(plan_.weight_cuts()));
      last_ = point;
      if (checked_mul(elements_, grad_bytes_) >= limit_) close();
    }
  }

  void close() {
    if (elements_ == 0) return;
    const std::int64_t padded = checked_mul(ceil_div(elements_, shards_), shards_);
    out_.push_back({.bytes = checked_mul(padded, grad_bytes_),
                    .weight_bytes = checked_mul(padded, weight_bytes_),
                    .ready = last_,
                    .is_expert = is_of_experts_});
    elements_ = 0;
    limit_ = limits_.other;
  }

 private:
  const TrainingPlan& plan_;
  bool is_of_experts_;
  BucketLimits limits_;
  std::int64_t limit_;
  std::int64_t shards_;
  std::int64_t grad_bytes_;
  std::int64_t weight_bytes_;
  std::int64_t elements_ = 0;
  GradientPoint last_;
  std::vector<GradientBucket>& out_;
};

// Places in the order of a backward pass.
std::vector<GradientPoint> backward_points(const TrainingPlan& plan, std::int64_t stage, std::int64_t chunk) {
  std::vector<GradientPoint> points;
  const ChunkUnits units = chunk_units(plan, stage, chunk);
  for (std::int64_t unit = units.count() - 1; unit >= 0; --unit) {
    if (units.is_embedding(unit)) {
      points.push_back({chunk, unit, ModelPart::kEmbedding});
    } else if (units.is_head(unit)) {
      points.push_back({chunk, unit, ModelPart::kHead});
    } else {
      const std::span<const ModelPart> parts = layer_parts(plan.job.model.is_expert_layer(units.layer(unit)));
      for (auto part = parts.rbegin(); part != parts.rend(); ++part) points.push_back({chunk, unit, *part});
    }
  }
  return points;
}

}  // namespace

BucketLimits bucket_limits(const TrainingPlan& plan) {
  constexpr std::int64_t mebibyte = 1024 * 1024;
  BucketLimits limits{.first = mebibyte, .other = 25 * mebibyte};
  if (plan.job.distributed_optimizer) {
    const std::int64_t gradients = std::max<std::int64_t>(40'000'000, checked_mul(1'000'000, plan.replicas()));
    limits.other = checked_mul(gradients, bytes_per_element(plan.job.grad_dtype));
    limits.first = limits.other;
  }
  if (plan.job.strategy == Strategy::kZero2) {
    limits.other = checked_mul(kDeepspeedBucket, bytes_per_element(plan.job.grad_dtype));
    limits.first = limits.other;
  }
  const bool is_scattered = plan.job.distributed_optimizer || plan.job.strategy == Strategy::kZero2;
  if (plan.job.bucket_size) limits.other = plan.job.bucket_size->count();
  if (plan.job.bucket_size && is_scattered) limits.first = limits.other;
  if (plan.job.first_bucket_size) limits.first = plan.job.first_bucket_size->count();
  return limits;
}

std::vector<GradientBucket> gradient_buckets(const TrainingPlan& plan, std::int64_t stage) {
  const bool has_groups = plan.layout.has_expert_groups();
  std::vector<GradientBucket> out;
  std::vector<GradientPoint> order;
  BucketFiller rest(plan, false, out);
  BucketFiller experts(plan, true, out);
  // The chunk whose backward ends first: the last; of two copies the one that begins farther away.
  const bool is_first_ready_first =
      is_bidirectional(plan.job.schedule) && 2 * stage >= plan.pp() && plan.job.strategy != Strategy::kZero2;
  for (std::int64_t n = 0; n < plan.chunks(); ++n) {
    const std::int64_t chunk = is_first_ready_first ? n : plan.chunks() - 1 - n;
    for (const GradientPoint& point : backward_points(plan, stage, chunk)) {
      (has_groups && point.part == ModelPart::kExperts ? experts : rest).add_part(point);
      order.push_back(point);
    }
    rest.close();
    experts.close();
  }
  // A bucket that closes with its chunk has been ready for a while.
  const auto place = [&order](const GradientBucket& b) { return std::find(order.begin(), order.end(), b.ready); };
  std::stable_sort(out.begin(), out.end(), [&](const auto& a, const auto& b) { return place(a) < place(b); });
  return out;
}

}  // namespace lockstep
