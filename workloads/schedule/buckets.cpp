// SPDX-License-Identifier: Apache-2.0
#include "workloads/schedule/buckets.h"

#include "base/wide.h"

namespace lockstep {
namespace {

class BucketFiller {
 public:
  explicit BucketFiller(const TrainingPlan& plan)
      : plan_(plan), limit_(plan.job.first_bucket_size.count()), grad_bytes_(bytes_per_element(plan.job.grad_dtype)) {}

  void add_part(const GradientPoint& point) {
    const std::vector<ParameterTensor> tensors = stage_tensors(plan_, point.part);
    for (auto t = tensors.rbegin(); t != tensors.rend(); ++t) {
      filled_ += checked_mul(t->rank_elements(plan_.tp()), grad_bytes_);
      last_ = point;
      if (filled_ >= limit_) close();
    }
  }

  void close() {
    if (filled_ == 0) return;
    buckets_.push_back({.bytes = filled_, .ready = last_});
    filled_ = 0;
    limit_ = plan_.job.bucket_size.count();
  }

  std::vector<GradientBucket> take() { return std::move(buckets_); }

 private:
  const TrainingPlan& plan_;
  std::int64_t limit_;
  std::int64_t grad_bytes_;
  std::int64_t filled_ = 0;
  GradientPoint last_;
  std::vector<GradientBucket> buckets_;
};

}  // namespace

std::vector<GradientBucket> gradient_buckets(const TrainingPlan& plan, std::int64_t stage) {
  BucketFiller filler(plan);
  for (std::int64_t chunk = plan.job.virtual_stages - 1; chunk >= 0; --chunk) {
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
