// SPDX-License-Identifier: Apache-2.0
#include "workloads/schedule/slot_writer.h"

#include <algorithm>
#include <tuple>

#include "workloads/model/activations.h"

namespace lockstep {

SlotWriter::SlotWriter(const TrainingProgram& program, const Coordinates& at, ProgramCursor& cursor, OpSink& sink)
    : program_(program),
      plan_(program.plan_),
      at_(at),
      stage_(program.stages_[at.pp]),
      cursor_(cursor),
      sink_(sink),
      is_fsdp_(program.plan_.job.strategy == Strategy::kFsdp),
      is_replicated_(program.plan_.replicas() > 1 || program.plan_.expert_replicas() > 1),
      gathers_updates_(is_replicated_ && !is_fsdp_ &&
                       (program.plan_.optimizer_shards() > 1 || program.plan_.expert_optimizer_shards() > 1)),
      gathers_ahead_(gathers_updates_ && program.plan_.job.strategy == Strategy::kDdp &&
                     program.plan_.job.overlap_param_gather) {}

bool SlotWriter::write() {
  const std::int64_t total = action_total();
  if (scratch(kAction) > total) return false;
  ++cursor_.slot;
  if (scratch(kAction) == total) {
    finish();
    ++scratch(kAction);
    return true;
  }
  const Unit unit = unit_at(scratch(kAction), scratch(kStep));
  issue_gathers();
  if (cursor_.slot == 1 && gathers_ahead_) gather_updates();
  switch (unit.action.pass) {
    case Pass::kForward:
      forward(unit);
      break;
    case Pass::kBackward:
      backward(unit);
      break;
    case Pass::kWeight:
      weight_gradients(unit);
      break;
  }
  if (++scratch(kStep) == unit.chunk.count()) {
    scratch(kStep) = 0;
    ++scratch(kAction);
  }
  return true;
}

SlotWriter::Unit SlotWriter::unit_at(std::int64_t action, std::int64_t step) const {
  Unit unit;
  unit.action = action_at(action);
  unit.chunk = stage_.chunks[static_cast<std::size_t>(unit.action.chunk)];
  unit.index = unit.action.is_forward() ? step : unit.chunk.count() - 1 - step;
  return unit;
}

// ---- operations

void SlotWriter::push(Stream stream, const Op& op) {
  ++cursor_.pushed[static_cast<std::size_t>(stream)];
  sink_.push(stream, op);
}

void SlotWriter::wait(Stream stream, Stream target, std::int64_t count) {
  Op op;
  op.kind = OpKind::kWait;
  op.wait_stream = target;
  op.wait_count = count;
  push(stream, op);
}

void SlotWriter::catch_up(Stream stream, Stream target, Scratch seen) {
  if (pushed(target) == scratch(seen)) return;
  wait_all(stream, target);
  scratch(seen) = pushed(target);
}

void SlotWriter::compute(KernelId kernel) {
  catch_up(Stream::kCompute, Stream::kTp, kTpSeenByCompute);
  push_kernel(kernel);
}

void SlotWriter::push_kernel(KernelId kernel) {
  Op op;
  op.kind = OpKind::kCompute;
  op.kernel = kernel;
  push(Stream::kCompute, op);
}

void SlotWriter::collective(Stream stream, CommFamily family, CollectiveKind kind, std::int64_t bytes) {
  Op op;
  op.kind = OpKind::kCollective;
  op.collective = kind;
  op.comm = plan_.layout.comm(family, at_);
  op.bytes = bytes;
  push(stream, op);
}

void SlotWriter::tp_collective(CollectiveKind kind, std::int64_t bytes) {
  if (plan_.tp() == 1) return;
  catch_up(Stream::kTp, Stream::kCompute, kComputeSeenByTp);
  collective(Stream::kTp, CommFamily::kTp, kind, bytes);
}

void SlotWriter::enter_part() {
  if (plan_.job.sequence_parallel) tp_collective(CollectiveKind::kAllGather, program_.messages_.activations);
}

void SlotWriter::leave_part() {
  tp_collective(plan_.job.sequence_parallel ? CollectiveKind::kReduceScatter : CollectiveKind::kAllReduce,
                program_.messages_.activations);
}

// ---- forward and backward of a unit

void SlotWriter::forward(const Unit& unit) {
  if (unit.index == 0) enter(unit);
  use_gather(unit);
  if (!unit.is_layer()) settle_exchange();
  if (unit.is_embedding()) {
    use_updates(unit, ModelPart::kEmbedding);
    compute(ModelPart::kEmbedding, true);
    leave_part();
  } else if (unit.is_head()) {
    use_updates(unit, ModelPart::kHead);
    head_forward();
  } else {
    layer_forward(unit);
  }
  const bool is_end = unit.index == unit.chunk.count() - 1;
  if (is_end) settle_exchange();
  if (is_end) leave(unit);
}

void SlotWriter::backward(const Unit& unit) {
  if (unit.index == unit.chunk.count() - 1) enter(unit);
  use_gather(unit);
  if (!unit.is_layer()) settle_exchange();
  if (unit.is_embedding()) {
    if (!plan_.trains_adapters()) {
      enter_part();
      if (!plan_.splits_passes()) compute(ModelPart::kEmbedding, false);
    }
    reduce_ready(unit, ModelPart::kEmbedding);
  } else if (unit.is_head()) {
    for (std::int64_t i = 0; i <= plan_.job.model.mtp_layers; ++i) part_backward(ModelPart::kHead);
    reduce_ready(unit, ModelPart::kHead);
  } else {
    const std::int64_t layer = unit.index - (unit.chunk.has_embedding ? 1 : 0);
    if (layer < recomputed_layers(plan_, at_.pp, unit.action.chunk)) layer_forward(unit);
    layer_backward(unit);
  }
  if (unit.index == 0) settle_exchange();
  if (unit.index == 0) leave(unit);
}

// The collectives that bring what it needs ran with the gradients of the activations.
void SlotWriter::weight_gradients(const Unit& unit) {
  if (unit.index == unit.chunk.count() - 1) settle_exchange();
  const auto gradient = [&](ModelPart part) {
    compute(weight_gradient_kernel_id(part));
    reduce_ready(unit, part);
  };
  if (unit.is_embedding()) return gradient(ModelPart::kEmbedding);
  if (unit.is_head()) {
    for (std::int64_t i = 0; i < plan_.job.model.mtp_layers; ++i) compute(weight_gradient_kernel_id(ModelPart::kHead));
    return gradient(ModelPart::kHead);
  }
  const std::span<const ModelPart> parts = layer_parts(has_experts(unit));
  for (auto part = parts.rbegin(); part != parts.rend(); ++part) gradient(*part);
}

// For the gradient of the weights that the saved norm output meets. Frozen ones have none, and adapters keep what they read, gathered.
void SlotWriter::gather_saved() {
  if (!plan_.trains_adapters()) enter_part();
}

void SlotWriter::part_backward(ModelPart part) {
  if (!plan_.splits_backward()) {
    gather_saved();
    compute(part, false);
    leave_part();
    return;
  }
  catch_up(Stream::kCompute, Stream::kTp, kTpSeenByCompute);
  enter_part();
  const std::int64_t gathered = pushed(Stream::kTp);
  push_kernel(part_kernel_id(part, false));
  leave_part();
  if (scratch(kTpSeenByCompute) < gathered) {
    wait(Stream::kCompute, Stream::kTp, gathered);
    scratch(kTpSeenByCompute) = gathered;
  }
  push_kernel(weight_gradient_kernel_id(part));
}

void SlotWriter::head_forward() {
  for (std::int64_t i = 0; i <= plan_.job.model.mtp_layers; ++i) {
    enter_part();
    compute(ModelPart::kHead, true);
    // A vocabulary cut by tp: maximum, sum of exponentials and the logit of the target, one number per token each.
    for (int k = 0; k < 3; ++k) tp_collective(CollectiveKind::kAllReduce, program_.messages_.loss_scalars);
  }
}

// ---- data parallel

std::int64_t SlotWriter::gather_bytes(const Unit& unit) const {
  if (unit.action.pass == Pass::kWeight) return 0;  // gradients of weights need none
  if (plan_.replicas() == 1) return 0;
  if (unit.is_layer()) return program_.messages_.layer_weights[has_experts(unit) ? 1 : 0];
  const bool is_first_use = unit.is_embedding() || !unit.chunk.has_embedding;
  return unit.action.is_forward() && is_first_use ? root(stage_.root_weights, unit) : 0;
}

std::int64_t SlotWriter::expert_gather_bytes(const Unit& unit) const {
  return unit.action.pass != Pass::kWeight && has_experts(unit) && plan_.expert_replicas() > 1
             ? program_.messages_.expert_weights
             : 0;
}

// A gather waits for compute first, so that it is not issued too far ahead.
void SlotWriter::issue_gathers() {
  if (!is_fsdp_ || !is_replicated_) return;
  while (scratch(kGathersIssued) <= scratch(kGathersUsed) + plan_.job.prefetch && scratch(kGatherAction) < action_total()) {
    const Unit unit = unit_at(scratch(kGatherAction), scratch(kGatherStep));
    if (++scratch(kGatherStep) == unit.chunk.count()) {
      scratch(kGatherStep) = 0;
      ++scratch(kGatherAction);
    }
    const std::int64_t bytes = gather_bytes(unit);
    const std::int64_t of_experts = expert_gather_bytes(unit);
    if (bytes == 0 && of_experts == 0) continue;
    wait_all(Stream::kDpGather, Stream::kCompute);
    if (bytes > 0) collective(Stream::kDpGather, CommFamily::kDpGather, CollectiveKind::kAllGather, bytes);
    if (of_experts > 0) collective(Stream::kDpGather, CommFamily::kExpertGather, CollectiveKind::kAllGather, of_experts);
    ++scratch(kGathersIssued);
  }
}

void SlotWriter::use_gather(const Unit& unit) {
  if (!is_fsdp_ || !is_replicated_) return;
  const int gathers = (gather_bytes(unit) > 0 ? 1 : 0) + (expert_gather_bytes(unit) > 0 ? 1 : 0);
  if (gathers == 0) return;
  ++scratch(kGathersUsed);
  scratch(kGatherOperations) += 1 + gathers;  // the wait before them
  wait(Stream::kCompute, Stream::kDpGather, scratch(kGatherOperations));
}

void SlotWriter::gather_updates() {
  if (!gathers_updates_) return;
  for (auto bucket = stage_.buckets.rbegin(); bucket != stage_.buckets.rend(); ++bucket) {
    const CommFamily family = bucket->is_expert ? CommFamily::kExpertGather : CommFamily::kDpGather;
    collective(Stream::kDpGather, family, CollectiveKind::kAllGather, bucket->weight_bytes);
  }
}

// The last bucket is the first that forward needs. Only the first micro-batch finds any it has not waited for yet.
void SlotWriter::use_updates(const Unit& unit, ModelPart part) {
  if (!gathers_ahead_) return;
  const GradientPoint here{unit.action.chunk, unit.index, part};
  const std::int64_t used = scratch(kGathersUsed);
  for (std::int64_t n = used; n < std::ssize(stage_.buckets); ++n) {
    const bool is_here = stage_.buckets[stage_.buckets.size() - 1 - static_cast<std::size_t>(n)].ready == here;
    if (is_here) scratch(kGathersUsed) = n + 1;
  }
  if (scratch(kGathersUsed) > used) wait(Stream::kCompute, Stream::kDpGather, scratch(kGathersUsed));
}

void SlotWriter::reduce_ready(const Unit& unit, ModelPart part) {
  if (!is_replicated_) return;
  if (plan_.splits_passes() && unit.action.pass != Pass::kWeight) return;
  if (is_fsdp_) {
    if (part == ModelPart::kExperts && plan_.expert_replicas() > 1 && program_.messages_.expert_grads > 0) {
      scatter_gradient(CommFamily::kExpertReduce, program_.messages_.expert_grads);
    }
    if (plan_.replicas() == 1) return;
    std::int64_t bytes = 0;
    if (part == ModelPart::kAttention) bytes = program_.messages_.layer_grads[has_experts(unit) ? 1 : 0];
    if (part == ModelPart::kEmbedding) bytes = root(stage_.root_grads, unit);
    if (part == ModelPart::kHead && !unit.chunk.has_embedding) bytes = root(stage_.root_grads, unit);
    if (bytes > 0) scatter_gradient(CommFamily::kDpReduce, bytes);
    return;
  }
  const GradientPoint here{unit.action.chunk, unit.index, part};
  if (plan_.job.strategy == Strategy::kZero2) {
    scatter_buckets(here);
    return;
  }
  if (!plan_.job.overlap_grad_reduce || !is_last_of_chunk(unit.action)) return;
  while (scratch(kNextBucket) < std::ssize(stage_.buckets) &&
         stage_.buckets[static_cast<std::size_t>(scratch(kNextBucket))].ready == here) {
    push_bucket();
  }
}

// In shard groups the rank's share goes on to the ranks that hold the same one.
void SlotWriter::scatter_gradient(CommFamily family, std::int64_t bytes) {
  catch_up(Stream::kDpReduce, Stream::kCompute, kComputeSeenByReduce);
  collective(Stream::kDpReduce, family, CollectiveKind::kReduceScatter, bytes);
  if (!plan_.is_hybrid()) return;
  wait_all(Stream::kDpReplicate, Stream::kDpReduce);
  collective(Stream::kDpReplicate, CommFamily::kDpReplicate, CollectiveKind::kAllReduce, bytes / plan_.optimizer_shards());
}

// Every micro-batch hands out the same buckets, found by where they become ready: chunks take turns, so none is "next".
void SlotWriter::scatter_buckets(const GradientPoint& here) {
  const auto is_before = [](const GradientPoint& a, const GradientPoint& b) {
    return std::tuple(b.chunk, b.unit, b.part) < std::tuple(a.chunk, a.unit, a.part);
  };
  auto bucket = std::lower_bound(stage_.buckets.begin(), stage_.buckets.end(), here,
                                 [&](const GradientBucket& b, const GradientPoint& p) { return is_before(b.ready, p); });
  for (; bucket != stage_.buckets.end() && bucket->ready == here; ++bucket) {
    push_bucket(*bucket);
    if (!plan_.job.overlap_grad_reduce) wait_all(Stream::kCompute, Stream::kDpReduce);
  }
}

void SlotWriter::push_bucket() { push_bucket(stage_.buckets[static_cast<std::size_t>(scratch(kNextBucket)++)]); }

void SlotWriter::push_bucket(const GradientBucket& bucket) {
  catch_up(Stream::kDpReduce, Stream::kCompute, kComputeSeenByReduce);
  const CollectiveKind kind = gathers_updates_ ? CollectiveKind::kReduceScatter : CollectiveKind::kAllReduce;
  collective(Stream::kDpReduce, bucket.is_expert ? CommFamily::kExpertReduce : CommFamily::kDpReduce, kind, bucket.bytes);
}

void SlotWriter::finish() {
  if (plan_.job.strategy == Strategy::kDdp && is_replicated_) {
    while (scratch(kNextBucket) < std::ssize(stage_.buckets)) push_bucket();
  }
  if (pushed(Stream::kDpReduce) > 0) wait_all(Stream::kCompute, Stream::kDpReduce);
  if (pushed(Stream::kDpReplicate) > 0) wait_all(Stream::kCompute, Stream::kDpReplicate);
  if (plan_.weight_copies() > 1) add_copies();
  if (plan_.ties_gradients() && (plan_.is_first(at_.pp) || plan_.is_last(at_.pp))) {
    wait_all(Stream::kTie, Stream::kCompute);
    collective(Stream::kTie, CommFamily::kTie, CollectiveKind::kAllReduce, program_.messages_.tie);
    wait_all(Stream::kCompute, Stream::kTie);
  }
  for (const Stream s : {Stream::kPpSendNext, Stream::kPpSendPrev}) {
    if (!waits_for_sends() && pushed(s) > 0) wait_all(Stream::kCompute, s);
  }
  compute(optimizer_kernel_id(at_.pp));
  if (gathers_updates_ && !gathers_ahead_) {
    wait_all(Stream::kDpGather, Stream::kCompute);
    gather_updates();
    wait_all(Stream::kCompute, Stream::kDpGather);
  }
}

}  // namespace lockstep
