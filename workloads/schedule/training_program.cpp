// SPDX-License-Identifier: Apache-2.0
#include "workloads/schedule/training_program.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/wide.h"
#include "workloads/kernels/timed_kernels.h"
#include "workloads/schedule/slot_writer.h"

namespace lockstep {
namespace {

constexpr std::int64_t kPartCount = std::ssize(kModelParts);
constexpr std::int64_t kSliceCount = std::ssize(kOverlapSlices);
constexpr const char* kPartNames[] = {"embedding", "attention", "mlp", "moe", "experts", "combine", "head"};
constexpr const char* kSliceNames[] = {"entry", "middle", "exit"};
static_assert(std::size(kPartNames) == std::size(kModelParts));

bool has_part(const TransformerSpec& model, ModelPart part) {
  const bool is_of_experts = part == ModelPart::kMoe || part == ModelPart::kExperts || part == ModelPart::kCombine;
  return model.moe.has_value() || !is_of_experts;
}

// FSDP pads a unit so that every rank holds an equal shard.
std::int64_t padded_bytes(std::int64_t elements, std::int64_t shards, DataType type) {
  return checked_mul(checked_mul(ceil_div(elements, shards), shards), bytes_per_element(type));
}

}  // namespace

KernelId part_kernel_id(ModelPart part, bool is_forward) {
  return KernelId(2 * static_cast<std::uint32_t>(part) + (is_forward ? 0u : 1u));
}

KernelId weight_gradient_kernel_id(ModelPart part) {
  return KernelId(static_cast<std::uint32_t>(2 * kPartCount + static_cast<std::int64_t>(part)));
}

KernelId slice_kernel_id(ModelPart part, OverlapSlice slice, bool is_forward) {
  const std::int64_t number = static_cast<std::int64_t>(part) * kSliceCount + static_cast<std::int64_t>(slice);
  return KernelId(static_cast<std::uint32_t>(3 * kPartCount + 2 * number + (is_forward ? 0 : 1)));
}

KernelId optimizer_kernel_id(std::int64_t stage) {
  return KernelId(static_cast<std::uint32_t>(3 * kPartCount + 2 * kPartCount * kSliceCount + stage));
}

TrainingProgram::TrainingProgram(TrainingPlan plan, const GpuPerformance& gpu)
    : plan_(std::move(plan)), shape_(pipeline_shape(plan_)), table_(shape_) {
  build_messages();
  build_layer_units();
  build_exchanges();
  build_stages();
  build_kernels(gpu);
}

void TrainingProgram::build_messages() {
  const TransformerSpec& m = plan_.job.model;
  const std::int64_t tokens = plan_.micro_batch_tokens();
  const bool is_cut = plan_.job.sequence_parallel || plan_.scatters_messages();
  messages_.activations = checked_mul(checked_mul(tokens, m.hidden), bytes_per_element(plan_.job.precision));
  messages_.pipeline = is_cut ? ceil_div(messages_.activations, plan_.tp()) : messages_.activations;
  messages_.loss_scalars = checked_mul(tokens, 4);
  const std::int64_t word_embedding = parameter_tensors(m, ModelPart::kEmbedding).front().rank_elements(plan_.tp());
  const std::int64_t shards = plan_.job.strategy == Strategy::kFsdp ? plan_.optimizer_shards() : 1;
  messages_.tie = ceil_div(word_embedding, shards) * bytes_per_element(plan_.job.grad_dtype);
}

void TrainingProgram::build_layer_units() {
  const bool has_groups = plan_.layout.has_expert_groups();
  for (const bool has_experts : {false, true}) {
    if (has_experts && !plan_.job.model.moe) break;
    std::int64_t unit = layer_parameters(plan_, has_experts);
    std::int64_t trained = trained_layer_parameters(plan_, has_experts);
    if (has_experts && !has_groups) {
      unit += stage_part_parameters(plan_, ModelPart::kExperts);
      trained += trained_part_parameters(plan_, ModelPart::kExperts);
    }
    messages_.layer_weights[has_experts ? 1 : 0] = padded_bytes(unit, plan_.optimizer_shards(), plan_.job.precision);
    messages_.layer_grads[has_experts ? 1 : 0] = padded_bytes(trained, plan_.optimizer_shards(), plan_.job.grad_dtype);
  }
  if (!has_groups) return;
  const std::int64_t experts = stage_part_parameters(plan_, ModelPart::kExperts);
  messages_.expert_weights = padded_bytes(experts, plan_.expert_optimizer_shards(), plan_.job.precision);
  const std::int64_t trained = trained_part_parameters(plan_, ModelPart::kExperts);
  messages_.expert_grads = padded_bytes(trained, plan_.expert_optimizer_shards(), plan_.job.grad_dtype);
}

// Latent attention exchanges keys and values as they leave the up-projection.
void TrainingProgram::build_exchanges() {
  const TransformerSpec& m = plan_.job.model;
  const std::int64_t tokens = plan_.micro_batch_tokens();
  const std::int64_t element = bytes_per_element(plan_.job.precision);
  const std::int64_t heads = ceil_div(m.heads, plan_.tp());
  const std::int64_t kv_heads = m.mla ? heads : ceil_div(m.kv_heads, plan_.tp());
  const std::int64_t key_dim = m.mla ? m.mla->qk_dim() : m.head_dim;
  const std::int64_t value_dim = m.mla ? m.mla->v_dim : m.head_dim;
  const std::int64_t per_token = checked_mul(kv_heads, key_dim + value_dim);
  messages_.kv = checked_mul(checked_mul(checked_mul(tokens, plan_.cp()), per_token), element);
  // Every rank needs a key head at least: fewer than ranks are sent as copies.
  messages_.cp_query = checked_mul(checked_mul(tokens, heads * key_dim), element);
  messages_.cp_key = checked_mul(checked_mul(tokens, std::max(kv_heads, plan_.cp()) * key_dim), element);
  messages_.cp_value = checked_mul(checked_mul(tokens, std::max(kv_heads, plan_.cp()) * value_dim), element);
  messages_.cp_output = checked_mul(checked_mul(tokens, heads * value_dim), element);
  if (!m.moe) return;
  const std::int64_t copies = checked_mul(checked_mul(plan_.own_tokens(), m.moe->top_k), m.hidden);
  messages_.tokens = static_cast<std::int64_t>(static_cast<double>(checked_mul(copies, element)) * plan_.job.expert_skew + 0.5);
  messages_.expert_input = checked_mul(messages_.tokens, plan_.expert_tp());
}

void TrainingProgram::build_stages() {
  for (std::int64_t stage = 0; stage < plan_.pp(); ++stage) {
    StageData& data = stages_.emplace_back();
    for (std::int64_t c = 0; c < plan_.chunks(); ++c) {
      const ChunkUnits& chunk = data.chunks.emplace_back(chunk_units(plan_, stage, c));
      std::int64_t root = 0;
      if (chunk.has_embedding) root += stage_part_parameters(plan_, ModelPart::kEmbedding);
      if (chunk.has_head) root += stage_part_parameters(plan_, ModelPart::kHead);
      data.root_weights.push_back(padded_bytes(root, plan_.optimizer_shards(), plan_.job.precision));
      data.root_grads.push_back(
          padded_bytes(plan_.trains_adapters() ? 0 : root, plan_.optimizer_shards(), plan_.job.grad_dtype));
    }
    const std::int64_t own = ceil_div(stage_parameters(plan_, stage), plan_.optimizer_shards());
    data.copied_grads = plan_.weight_copies() > 1 ? checked_mul(own, bytes_per_element(plan_.job.grad_dtype)) : 0;
    if (plan_.job.strategy != Strategy::kFsdp) data.buckets = gradient_buckets(plan_, stage);
    std::erase_if(data.buckets, [&](const GradientBucket& b) {
      return (b.is_expert ? plan_.expert_replicas() : plan_.replicas()) == 1;  // nobody to reduce with
    });
  }
}

void TrainingProgram::build_kernels(const GpuPerformance& gpu) {
  const auto add = [&](ModelPart part, const std::string& suffix, const std::vector<KernelWork>& kernels) {
    kernels_.kernels.push_back(fuse(fmt::format("{}_{}", kPartNames[static_cast<std::size_t>(part)], suffix), kernels, gpu));
  };
  const auto kernels_of = [&](ModelPart part, Direction direction) {
    return has_part(plan_.job.model, part) ? timed_part_kernels(plan_, part, direction, gpu) : std::vector<KernelWork>{};
  };
  for (const ModelPart part : kModelParts) {
    add(part, "forward", kernels_of(part, Direction::kForward));
    add(part, "backward", kernels_of(part, Direction::kBackward));
  }
  for (const ModelPart part : kModelParts) add(part, "weight_gradient", kernels_of(part, Direction::kWeightGradient));
  for (const ModelPart part : kModelParts) {
    for (const OverlapSlice slice : kOverlapSlices) {
      for (const Direction direction : {Direction::kForward, Direction::kBackward}) {
        const std::string suffix = fmt::format("{}_{}", kSliceNames[static_cast<std::size_t>(slice)],
                                               direction == Direction::kForward ? "forward" : "backward");
        add(part, suffix, slice_kernels(plan_, part, slice, kernels_of(part, direction)));
      }
    }
  }
  for (std::int64_t stage = 0; stage < plan_.pp(); ++stage) {
    const std::int64_t parameters = stage_optimizer_parameters(plan_, stage);
    kernels_.kernels.push_back(fuse(fmt::format("optimizer_stage{}", stage), optimizer_kernels(plan_, parameters), gpu));
  }
}

std::uint32_t TrainingProgram::family_kinds(CommFamily family) const {
  const auto bit = [](CollectiveKind kind) { return 1u << static_cast<unsigned>(kind); };
  const bool is_sharded = plan_.optimizer_shards() > 1;
  switch (family) {
    case CommFamily::kTp:
      if (plan_.tp() == 1) return 0;
      return bit(CollectiveKind::kAllReduce) | bit(CollectiveKind::kAllGather) | bit(CollectiveKind::kReduceScatter);
    case CommFamily::kDpGather:
      return is_sharded ? bit(CollectiveKind::kAllGather) : 0;
    case CommFamily::kDpReduce:
      if (plan_.replicas() == 1) return 0;
      return bit(is_sharded ? CollectiveKind::kReduceScatter : CollectiveKind::kAllReduce);
    case CommFamily::kTie:
      return plan_.ties_gradients() ? bit(CollectiveKind::kAllReduce) : 0;
    case CommFamily::kDpReplicate:
      return plan_.is_hybrid() ? bit(CollectiveKind::kAllReduce) : 0;
    case CommFamily::kCp:
      if (plan_.cp() == 1) return 0;
      if (plan_.job.cp_exchange == CpExchange::kAllToAll) return bit(CollectiveKind::kAllToAll);
      return bit(CollectiveKind::kAllGather) | bit(CollectiveKind::kReduceScatter);
    case CommFamily::kEp:
      return plan_.ep() > 1 ? bit(CollectiveKind::kAllToAll) : 0;
    case CommFamily::kExpertGather:
    case CommFamily::kExpertReduce: {
      if (!plan_.layout.has_expert_groups() || plan_.expert_replicas() == 1) return 0;
      const bool cuts_experts = plan_.expert_optimizer_shards() > 1;
      if (family == CommFamily::kExpertGather) return cuts_experts ? bit(CollectiveKind::kAllGather) : 0;
      return bit(cuts_experts ? CollectiveKind::kReduceScatter : CollectiveKind::kAllReduce);
    }
  }
  return 0;
}

TokenRouting TrainingProgram::routing(CommId comm) const {
  const bool shares_ways = plan_.job.expert_dispatch == ExpertDispatch::kDeduplicated && plan_.job.model.moe.has_value();
  if (!shares_ways || plan_.layout.family(comm) != CommFamily::kEp) return {};
  return {.experts = plan_.job.model.moe->experts, .top_k = plan_.job.model.moe->top_k};
}

void TrainingProgram::ports(Rank rank, std::vector<Port>& out) const {
  const Coordinates at = plan_.layout.coordinates(rank);
  const bool is_end = plan_.is_first(at.pp) || plan_.is_last(at.pp);
  for (const CommFamily f :
       {CommFamily::kTp, CommFamily::kDpGather, CommFamily::kDpReduce, CommFamily::kTie, CommFamily::kDpReplicate,
        CommFamily::kCp, CommFamily::kEp, CommFamily::kExpertGather, CommFamily::kExpertReduce}) {
    if (family_kinds(f) == 0 || (f == CommFamily::kTie && !is_end)) continue;
    out.push_back({.kind = Port::Kind::kCommunicator, .comm = plan_.layout.comm(f, at)});
  }
  if (plan_.pp() == 1) return;
  const auto neighbour = [&](std::uint32_t distance) {
    Coordinates peer = at;
    peer.pp = (at.pp + distance) % static_cast<std::uint32_t>(plan_.pp());
    return plan_.layout.rank_of(peer);
  };
  if (plan_.weight_copies() > 1) {
    const std::int64_t mirror = plan_.pp() - 1 - at.pp;
    const bool is_near_start = at.pp < mirror;
    const bool is_neighbour = mirror - at.pp == (is_near_start ? 1 : -1);
    if (!is_neighbour) {
      const Rank peer = neighbour(static_cast<std::uint32_t>(mirror + plan_.pp() - at.pp));
      out.push_back(
          {.kind = Port::Kind::kSend, .stream = is_near_start ? Stream::kPpSendNext : Stream::kPpSendPrev, .peer = peer});
      out.push_back(
          {.kind = Port::Kind::kReceive, .stream = is_near_start ? Stream::kPpRecvNext : Stream::kPpRecvPrev, .peer = peer});
    }
  }
  const bool wraps = plan_.job.virtual_stages > 1;  // the last stage sends on to the next chunk of the first
  if (wraps || !plan_.is_last(at.pp)) {
    const Rank next = neighbour(1);
    out.push_back({.kind = Port::Kind::kSend, .stream = Stream::kPpSendNext, .peer = next});
    out.push_back({.kind = Port::Kind::kReceive, .stream = Stream::kPpRecvNext, .peer = next});
  }
  if (wraps || !plan_.is_first(at.pp)) {
    const Rank previous = neighbour(static_cast<std::uint32_t>(plan_.pp()) - 1);
    out.push_back({.kind = Port::Kind::kSend, .stream = Stream::kPpSendPrev, .peer = previous});
    out.push_back({.kind = Port::Kind::kReceive, .stream = Stream::kPpRecvPrev, .peer = previous});
  }
}

std::int64_t TrainingProgram::lap(Rank, const ProgramCursor& at) const { return SlotWriter::lap(*this, at); }

std::int64_t TrainingProgram::repetitions(Rank rank, const ProgramCursor& then, const ProgramCursor& now) const {
  return SlotWriter::repetitions(*this, plan_.layout.coordinates(rank).pp, then, now);
}

bool TrainingProgram::expand(Rank rank, ProgramCursor& cursor, OpSink& sink) const {
  return SlotWriter(*this, plan_.layout.coordinates(rank), cursor, sink).write();
}

}  // namespace lockstep
