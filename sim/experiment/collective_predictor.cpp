// SPDX-License-Identifier: Apache-2.0
#include "sim/experiment/collective_predictor.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "sim/experiment/collective.h"

namespace lockstep {
namespace {

bool is_staged(CollectiveKind kind) {
  return std::find(std::begin(kStagedKinds), std::end(kStagedKinds), kind) != std::end(kStagedKinds);
}

}  // namespace

CollectivePredictor::CollectivePredictor(ClusterSpec cluster, CollectiveQuestion question)
    : cluster_(std::move(cluster)), question_(std::move(question)) {
  LOCKSTEP_CHECK(question_.members.size() >= 2, "a collective of {} members", question_.members.size());
  prepare();
  // The engine says what cannot be done, and why.
  const CollectiveRequest request{
      .kind = question_.kind, .sizes = {1}, .members = question_.members, .algorithm = question_.algorithm};
  (void)run_collective(request, prepared_->cluster->router, tunings_, NetworkKind::kFlow);
}

CollectivePredictor::Payloads CollectivePredictor::payloads() const {
  Payloads shares = {1, 1, 1};
  if (cluster_.server) {
    const GenerationTuning& own = cluster_.tuning.of(cluster_.server->gpu.generation);
    shares[0] = own.link_payload;
    shares[1] = own.pcie_payload;
  }
  if (cluster_.network) shares[2] = cluster_.tuning.of(cluster_.network->transport).payload;
  return shares;
}

void CollectivePredictor::prepare() {
  constexpr std::size_t kRemembered = 8;
  tunings_ = tunings_of(cluster_);
  const Payloads key = payloads();
  if (const auto known = known_.find(key); known != known_.end()) {
    prepared_ = &known->second;
    return;
  }
  if (known_.size() >= kRemembered) known_.clear();
  Prepared& made = known_[key];
  prepared_ = &made;
  made.cluster = std::make_unique<const PreparedCluster>(cluster_, 0);
  if (!is_staged(question_.kind)) return;
  std::vector<FormRoute> routes;
  made.shape = shape_communicator(
      made.cluster->router,
      {.members = question_.members, .kinds = 1u << static_cast<unsigned>(question_.kind), .algorithm = question_.algorithm},
      routes);
}

void CollectivePredictor::retune(const TuningSpec& tuning) {
  cluster_.tuning = tuning;
  prepare();
}

std::vector<double> CollectivePredictor::seconds(const std::vector<std::int64_t>& sizes) {
  std::vector<double> result;
  if (!is_staged(question_.kind)) {
    const CollectiveRequest request{.kind = question_.kind, .sizes = sizes, .members = question_.members};
    for (const CollectiveRow& row : run_collective(request, prepared_->cluster->router, tunings_, NetworkKind::kFlow)) {
      result.push_back(row.time_s);
    }
    return result;
  }
  for (const std::int64_t bytes : sizes) {
    lower_collective({.ring = prepared_->shape.ring,
                      .closed_rate = prepared_->shape.closed_rate,
                      .open_rate = prepared_->shape.open_rate,
                      .others = prepared_->shape.others,
                      .tunings = tunings_,
                      .kind = question_.kind,
                      .bytes = bytes,
                      .algorithm = question_.algorithm},
                     lowered_);
    result.push_back(undisturbed_seconds(lowered_));
  }
  return result;
}

}  // namespace lockstep
