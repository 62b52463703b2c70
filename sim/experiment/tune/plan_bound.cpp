// SPDX-License-Identifier: Apache-2.0
#include "sim/experiment/tune/plan_bound.h"

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <tuple>

#include "workloads/parallel/schedule_kind.h"
#include "workloads/schedule/job_program.h"

namespace lockstep {
namespace {

// A collective's fixed part, for the estimate alone: NCCL's base latency of a ring and what a GPU pays to start it.
constexpr double kStartSeconds = 10e-6;
// Shares of tensor-parallel time that stay exposed, for the estimate alone.
constexpr double kExposedBehindGradients = 0.6;
constexpr double kExposedInChunks = 0.3;

std::size_t index_of(Stream s) { return static_cast<std::size_t>(s); }

// Of one rank: picoseconds of kernels, seconds of communication by stream.
struct StageTimes {
  std::int64_t total = 0;
  std::int64_t head = 0;
  std::int64_t tail = 0;
  std::int64_t mid = 0;
  std::int64_t after_sent = 0;  // total - sent
  bool passes_on = false;       // the last message to the stage before waits for the last one from the next
  bool waits_to_begin = false;
  std::array<double, kStreamCount> comm = {};
};

// The share of a ring's way that a rank's buffer goes (equations of nccl-tests: bus over algorithm bandwidth).
double ring_factor(CollectiveKind kind, double n) {
  switch (kind) {
    case CollectiveKind::kAllReduce:
      return 2 * (n - 1) / n;
    case CollectiveKind::kAllGather:
    case CollectiveKind::kReduceScatter:
    case CollectiveKind::kAllToAll:
      return (n - 1) / n;
    default:
      return 1;
  }
}

// What a stream has behind it when an operation of it is done: kernels of the rank, in picoseconds, and messages that arrived.
struct Behind {
  std::int64_t kernels = 0;
  std::int64_t from_prev = 0;
  std::int64_t from_next = 0;
};

// A rank and those of the stages before and after it, round the pipeline.
struct Neighbours {
  Rank own;
  Rank prev;
  Rank next;
};
Neighbours neighbours(const TrainingPlan& plan, std::int64_t stage) {
  const auto rank = [&](std::int64_t s) {
    return plan.layout.rank_of({.pp = static_cast<std::uint32_t>((s + plan.pp()) % plan.pp())});
  };
  return {.own = rank(stage), .prev = rank(stage - 1), .next = rank(stage + 1)};
}

// Walks the program of one rank and carries along what every wait, also over other streams, implies.
class StageWalk final : public OpSink {
 public:
  StageWalk(const Program& program, const Neighbours& ranks, const PairRates& rates)
      : program_(program), ranks_(ranks), rates_(rates) {
    ProgramCursor cursor;
    while (program.expand(ranks.own, cursor, *this)) {
    }
    finish();
  }
  [[nodiscard]] const StageTimes& times() const { return times_; }

  void push(Stream stream, const Op& op) override {
    Behind& now = now_[index_of(stream)];
    switch (op.kind) {
      case OpKind::kCompute:
        if (stream == Stream::kCompute) add_kernel(op);
        break;
      case OpKind::kWait:
        add_wait(stream, op);
        break;
      case OpKind::kCollective:
        add_collective(stream, op);
        break;
      case OpKind::kSend:
        add_send(stream, op);
        break;
      case OpKind::kRecv:
        if (stream == Stream::kPpRecvPrev && op.peer == ranks_.prev) ++now.from_prev;
        if (stream == Stream::kPpRecvNext && op.peer == ranks_.next) ++now.from_next;
        break;
      case OpKind::kBarrier:
        break;
    }
    done_[index_of(stream)].push_back(now);
  }

 private:
  [[nodiscard]] Behind& compute() { return now_[index_of(Stream::kCompute)]; }

  void add_kernel(const Op& op) {
    if (compute().kernels == 0) times_.waits_to_begin = compute().from_prev > 0;
    const Kernel& kernel = program_.kernels()[op.kernel];
    compute().kernels += kernel.time.picos();
  }

  void add_wait(Stream stream, const Op& op) {
    Behind& now = now_[index_of(stream)];
    const std::vector<Behind>& done = done_[index_of(op.wait_stream)];
    if (op.wait_count == 0 || op.wait_count > std::ssize(done)) return;
    const Behind& other = done[static_cast<std::size_t>(op.wait_count) - 1];
    if (stream == Stream::kCompute && other.from_next > now.from_next) last_received_ = now.kernels;
    now.kernels = std::max(now.kernels, other.kernels);
    now.from_prev = std::max(now.from_prev, other.from_prev);
    now.from_next = std::max(now.from_next, other.from_next);
  }

  void add_send(Stream stream, const Op& op) {
    const Behind& now = now_[index_of(stream)];
    if (stream == Stream::kPpSendNext && op.peer == ranks_.next) {
      if (!has_sent_) times_.head = now.kernels;
      has_sent_ = true;
    }
    if (stream == Stream::kPpSendPrev && op.peer == ranks_.prev) last_sent_ = now;
    const bool stays = node_of(op.peer) == node_of(ranks_.own);
    times_.comm[index_of(stream)] += kStartSeconds + static_cast<double>(op.bytes) / (stays ? rates_.inside : rates_.outside);
  }

  void add_collective(Stream stream, const Op& op) {
    const Group& group = group_of(op.comm);
    const double bytes = static_cast<double>(op.bytes) * ring_factor(op.collective, group.size);
    times_.comm[index_of(stream)] += kStartSeconds + bytes / group.rate;
  }

  struct Group {
    double size = 1;
    double rate = 1;
  };
  // Members of a node share its ways out.
  const Group& group_of(CommId comm) {
    const auto known = groups_.find(comm.value());
    if (known != groups_.end()) return known->second;
    std::vector<Rank> members;
    program_.members(comm, members);
    std::int64_t here = 0;
    for (const Rank r : members) here += node_of(r) == node_of(ranks_.own) ? 1 : 0;
    Group group{.size = static_cast<double>(members.size()), .rate = rates_.inside};
    if (here < std::ssize(members)) group.rate = std::min(rates_.inside, rates_.outside * static_cast<double>(here));
    return groups_.emplace(comm.value(), group).first->second;
  }

  [[nodiscard]] std::int64_t node_of(Rank r) const { return static_cast<std::int64_t>(r.value()) / rates_.gpus_per_node; }

  void finish() {
    times_.total = compute().kernels;
    times_.after_sent = times_.total - last_sent_.kernels;
    const std::int64_t received = now_[index_of(Stream::kPpRecvNext)].from_next;
    if (received == 0) return;
    if (compute().from_next == received) times_.tail = times_.total - last_received_;
    times_.passes_on = last_sent_.from_next == received;
    if (times_.passes_on) times_.mid = std::max<std::int64_t>(0, last_sent_.kernels - last_received_);
  }

  const Program& program_;
  Neighbours ranks_;
  const PairRates& rates_;
  StageTimes times_;
  bool has_sent_ = false;
  std::int64_t last_received_ = 0;
  Behind last_sent_;
  std::array<Behind, kStreamCount> now_ = {};
  std::array<std::vector<Behind>, kStreamCount> done_;  // by operation
  std::map<std::uint32_t, Group> groups_;
};

// All stages. With one chunk and undivided backward passes those that hold the same end alike and are walked once; orders that put off
// gradients of weights put off more of them the later the stage.
std::vector<StageTimes> walk(const TrainingPlan& plan, const GpuPerformance& gpu, const PairRates& rates) {
  const std::unique_ptr<Program> program = make_program(plan, gpu);
  // Neither layers of a model with experts nor chunks of stages with as many layers are all alike.
  const bool differ = plan.job.model.moe || plan.chunks() > 1 || plan.splits_passes();
  std::map<std::tuple<std::int64_t, bool, bool, std::int64_t>, StageTimes> known;
  std::vector<StageTimes> out;
  for (std::int64_t s = 0; s < plan.pp(); ++s) {
    const std::tuple key{plan.stage_layers[static_cast<std::size_t>(s)], plan.is_first(s), plan.is_last(s), differ ? s : 0};
    auto found = known.find(key);
    if (found == known.end()) {
      found = known.emplace(key, StageWalk(*program, neighbours(plan, s), rates).times()).first;
    }
    out.push_back(found->second);
  }
  return out;
}

std::vector<StageTimes> stage_times(const TrainingPlan& plan, const GpuPerformance& gpu, const PairRates& rates) {
  const std::int64_t few = 2 * plan.pp();
  // Where the passes of a V go is the outcome of a list scheduler, so its end is not known to be that of fewer micro-batches.
  if (plan.micro_batches <= 2 * few || is_v_shaped(plan.job.schedule)) return walk(plan, gpu, rates);
  TrainingPlan small = plan;
  small.micro_batches = few;
  const std::vector<StageTimes> once = walk(small, gpu, rates);
  small.micro_batches = 2 * few;
  std::vector<StageTimes> out = walk(small, gpu, rates);
  // Linear in the micro-batches: rounded down, which a bound may be.
  const std::int64_t more = plan.micro_batches - 2 * few;
  for (std::size_t s = 0; s < out.size(); ++s) {
    out[s].total += (out[s].total - once[s].total) / few * more;
    for (std::size_t i = 0; i < out[s].comm.size(); ++i) {
      out[s].comm[i] += (out[s].comm[i] - once[s].comm[i]) / static_cast<double>(few) * static_cast<double>(more);
    }
  }
  return out;
}

std::int64_t lower_bound(const std::vector<StageTimes>& stages) {
  std::vector<std::int64_t> begin(stages.size(), 0);
  std::int64_t bound = 0;
  for (std::size_t s = 0; s < stages.size(); ++s) {
    if (s > 0 && stages[s].waits_to_begin) begin[s] = begin[s - 1] + stages[s - 1].head;
    bound = std::max(bound, begin[s] + stages[s].total);
  }
  std::int64_t last = 0;  // message to the stage before leaves
  for (std::size_t s = stages.size(); s-- > 1;) {
    const std::int64_t sent = begin[s] + stages[s].total - stages[s].after_sent;
    last = std::max(sent, s + 1 < stages.size() && stages[s].passes_on ? last + stages[s].mid : 0);
    bound = std::max(bound, last + stages[s - 1].tail);
  }
  return bound;
}

// Exposed communication of the stage that has most of it.
double exposed(const TrainingPlan& plan, const StageTimes& t) {
  const auto comm = [&](Stream s) { return t.comm[index_of(s)]; };
  const double compute = static_cast<double>(t.total) * 1e-12;
  double tp = comm(Stream::kTp);
  if (plan.job.tp_overlap == TpOverlap::kBackward) tp *= kExposedBehindGradients;
  if (plan.job.tp_overlap == TpOverlap::kPipelined) tp *= kExposedInChunks;
  double pp = comm(Stream::kPpSendNext) + comm(Stream::kPpSendPrev);
  if (plan.job.virtual_stages > 1) pp /= static_cast<double>(plan.micro_batches);  // sent beside compute
  const double gathers = comm(Stream::kDpGather);
  const double reductions = comm(Stream::kDpReduce) + comm(Stream::kDpReplicate);
  double dp = 0;
  if (plan.job.strategy == Strategy::kFsdp) {
    dp = std::max({0.0, gathers - compute, reductions - compute * 2 / 3});
  } else {
    // Gradients leave beside the last backward, weights come back beside the first forward.
    const double pass = compute / static_cast<double>(plan.micro_batches) / 3;
    dp = std::max(plan.job.overlap_grad_reduce ? reductions - 2 * pass : reductions, 0.0) +
         std::max(plan.job.overlap_param_gather ? gathers - pass : gathers, 0.0);
  }
  return tp + pp + dp + comm(Stream::kCp) / 2 + comm(Stream::kEp) + comm(Stream::kTie);
}

double narrowest(const Network& network, EndpointId from, EndpointId to) {
  std::vector<LinkShare> shares;
  network.append_path({.from = from, .to = to}, 0, 1, shares);
  double least = 0;
  for (const LinkShare& s : shares) {
    const double rate = network.link(s.link).capacity.bytes_per_second() / static_cast<double>(s.coefficient);
    if (least == 0 || rate < least) least = rate;
  }
  return least;
}

}  // namespace

PairRates pair_rates(const Network& network) {
  PairRates rates{.gpus_per_node = network.endpoints_per_node()};
  const EndpointId first = network.endpoint(NodeId(0), 0);
  const bool has_others = rates.gpus_per_node > 1;
  if (network.node_count() > 1) {
    const int nics = network.nics_per_node();
    rates.outside = narrowest(network, first, network.endpoint(NodeId(1), 0));
    if (nics > 0 && nics < rates.gpus_per_node)
      rates.outside *= static_cast<double>(nics) / static_cast<double>(rates.gpus_per_node);
  }
  rates.inside = has_others ? narrowest(network, first, network.endpoint(NodeId(0), 1)) : rates.outside;
  if (rates.inside <= 0) rates.inside = 1;
  if (rates.outside <= 0) rates.outside = rates.inside;
  return rates;
}

PlanCost cost_of(const TrainingPlan& plan, const GpuPerformance& gpu, const PairRates& rates) {
  const std::vector<StageTimes> stages = stage_times(plan, gpu, rates);
  PlanCost cost{.bound_s = static_cast<double>(lower_bound(stages)) * 1e-12};
  double most = 0;
  for (const StageTimes& t : stages) most = std::max(most, exposed(plan, t));
  cost.estimate_s = cost.bound_s + most;
  return cost;
}

}  // namespace lockstep
