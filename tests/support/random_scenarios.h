// SPDX-License-Identifier: Apache-2.0
// Small jobs on small clusters, drawn by rapidcheck: every form of parallelism, fabric, routing and placement, in a few thousand
// operations. Sizes of layers and links vary enough that now compute, now latency, now bandwidth decides.
#pragma once

#include <rapidcheck.h>

#include <algorithm>
#include <array>
#include <initializer_list>
#include <sstream>
#include <string>
#include <vector>

#include "sim/experiment/job_run.h"
#include "sim/symmetry/placed_job.h"
#include "tests/support/shipped.h"
#include "tests/support/workload_fixtures.h"
#include "workloads/parallel/placement.h"
#include "workloads/schedule/training_program.h"

namespace lockstep::test {

struct RandomScenario {
  ClusterSpec cluster;
  TrainingPlan plan;
  NetworkKind network = NetworkKind::kFlow;
  std::uint64_t seed = 0;
};

inline std::int64_t draw(std::int64_t low, std::int64_t high) { return *rc::gen::inRange(low, high + 1); }
inline bool draw_chance(std::int64_t one_in) { return draw(1, one_in) == 1; }
template <class T>
T draw_one(std::initializer_list<T> values) {
  return values.begin()[draw(0, static_cast<std::int64_t>(values.size()) - 1)];
}

// A data-parallel job known by measurement, on `ranks` GPUs.
inline JobSpec draw_profile_job(std::int64_t& ranks, std::int64_t max_ranks) {
  JobSpec job;
  job.name = "random profile";
  ranks = draw(1, max_ranks);
  job.profile = ProfileSpec{.time_per_sample = Duration::micros(draw_one({10, 300, 9'000})),
                            .fixed_time = Duration::micros(draw(0, 500))};
  if (draw_chance(2)) {
    for (std::int64_t i = draw(1, 8); i > 0; --i) job.profile->layer_bytes.emplace_back(draw_one({0, 3'000'001, 400'000'000}));
  } else {
    job.profile->gradient_bytes = Bytes(draw_one({1, 1'000'003, 500'000'000}));
    job.profile->layers = draw(1, 30);
  }
  job.micro_batch = draw(1, 64);
  job.gradient_accumulation = draw(1, 4);
  job.overlap_grad_reduce = !draw_chance(3);
  job.bucket_size = Bytes(draw_one({1'000'000, 10'000'000, 1'000'000'000}));
  return job;
}

// Another schedule than 1F1B, with what it needs.
inline void draw_schedule(JobSpec& job) {
  if (job.pp == 1 || job.virtual_stages > 1 || draw_chance(2)) return;
  using S = PipelineSchedule;
  job.schedule = draw_one({S::kGpipe, S::kZeroBubbleH1, S::kZeroBubbleH2, S::kZeroBubbleV, S::kVHalf, S::kVMin, S::kDualPipe});
  if (is_v_shaped(job.schedule)) job.model.layers = 2 * job.pp;
  if (!is_bidirectional(job.schedule)) return;
  if (job.pp % 2 != 0) {
    job.schedule = S::kGpipe;
  } else {
    job.gradient_accumulation = 2 * job.pp + 2 * draw(0, 8);
  }
}

// Experts in some layers, on as many ranks as divide what they are carved out of.
inline void draw_experts(JobSpec& job, std::int64_t dp) {
  job.model.moe = MoeSpec{.experts = 8, .top_k = draw(1, 3), .ffn = 256, .dense_layers = draw(0, 1), .interval = draw(1, 2)};
  if (draw_chance(2)) job.model.moe->shared_ffn = 256;
  job.expert_tp = job.sequence_parallel && draw_chance(2) ? 1 : job.tp;
  job.expert_skew = draw_one({1.0, 1.0, 1.7});
  const std::int64_t ranks = dp * job.cp * (job.expert_tp == 1 ? job.tp : 1);
  job.ep = draw_one({1, 2, 4, 8});
  while (ranks % job.ep != 0) job.ep /= 2;
  if (job.ep > 1 || job.expert_tp != job.tp) job.shard_group.reset();
  job.expert_skew = std::min(job.expert_skew, static_cast<double>(job.ep));
  if (job.ep == 1) return;
  if (draw_chance(2)) job.expert_dispatch = ExpertDispatch::kDeduplicated;
  job.overlap_shared_expert = job.model.moe->shared_ffn > 0 && draw_chance(2);
  const bool has_partners = job.pp == 1 ? job.gradient_accumulation > 1 : job.virtual_stages > 1;
  job.overlap_expert_exchange = has_partners && draw_chance(2);
}

// At most max_ranks of them.
inline JobSpec draw_job(std::int64_t max_ranks, std::int64_t& ranks) {
  if (draw_chance(10)) return draw_profile_job(ranks, max_ranks);
  JobSpec job;
  job.name = "random";
  job.tp = draw_one({1, 1, 2, 4, 8});
  job.pp = draw_one({1, 1, 2, 3, 4});
  while (job.tp * job.pp > max_ranks) job.tp /= 2;
  if (draw_chance(3)) job.cp = std::min<std::int64_t>(draw_one({2, 4}), max_ranks / (job.tp * job.pp));
  job.cp_exchange = draw_one({CpExchange::kRing, CpExchange::kAllGather, CpExchange::kAllToAll});
  const std::int64_t dp = draw(1, max_ranks / (job.tp * job.cp * job.pp));
  ranks = job.tp * job.cp * job.pp * dp;
  job.virtual_stages = job.pp > 1 ? draw_one({1, 1, 2}) : 1;
  const bool is_even = job.virtual_stages > 1;
  job.model = tiny(is_even ? job.pp * job.virtual_stages : job.pp + draw(0, 2));
  job.model.hidden = draw_one({256, 1024, 4096});
  job.model.ffn = 2 * job.model.hidden;
  job.model.head_dim = job.model.hidden / job.model.heads;
  job.model.has_tied_embeddings = draw_chance(3);
  job.seq_len = draw_one({128, 1024, 4096});
  job.gradient_accumulation = is_even ? job.pp * draw_one({1, 2, 3, 8}) : draw_one({1, 2, 5, 16, 40});
  job.strategy = draw_one({Strategy::kDdp, Strategy::kDdp, Strategy::kFsdp});
  if (job.strategy == Strategy::kFsdp && dp > 1 && draw_chance(2)) {
    job.shard_group = draw(2, dp);
    while (dp % *job.shard_group != 0) ++*job.shard_group;
  }
  job.distributed_optimizer = job.strategy == Strategy::kDdp && draw_chance(2);
  job.overlap_param_gather = !draw_chance(3);
  job.overlap_grad_reduce = !draw_chance(3);
  job.prefetch = draw(0, 2);
  job.bucket_size = Bytes(draw_one({1'000'000, 10'000'000, 1'000'000'000}));
  job.recompute = draw_one({Recompute::kNone, Recompute::kSelective, Recompute::kFull});
  if (job.recompute == Recompute::kFull && draw_chance(2)) job.recompute_layers = draw(0, 2);
  job.attention = draw_one({AttentionKernel::kFlash, AttentionKernel::kUnfused});
  job.sequence_parallel = job.tp > 1 && draw_chance(2);
  job.tp_overlap = draw_one({TpOverlap::kNone, TpOverlap::kBackward, TpOverlap::kPipelined});
  job.scatter_gather = draw_chance(3);
  if (draw_chance(3)) draw_experts(job, dp);
  if (job.cp == 3 || (job.cp_exchange == CpExchange::kAllToAll && job.model.heads % (job.tp * job.cp) != 0)) {
    job.cp_exchange = CpExchange::kRing;
    job.seq_len *= job.cp == 3 ? 3 : 1;
  }
  if (!job.overlap_expert_exchange) draw_schedule(job);
  return job;
}

// Rank i on GPU i, or two swapped, or node by node from the other end, or anyhow.
inline std::vector<IndexRange> draw_placement(std::int64_t ranks) {
  std::vector<IndexRange> out;
  for (std::int64_t r = 0; r < ranks; ++r) out.emplace_back(r);
  switch (draw(0, 7)) {
    case 0:
      std::swap(out[static_cast<std::size_t>(draw(0, ranks - 1))], out[static_cast<std::size_t>(draw(0, ranks - 1))]);
      return out;
    case 1:
      std::reverse(out.begin(), out.end());
      return out;
    case 2:
      for (std::int64_t i = ranks - 1; i > 0; --i) {
        std::swap(out[static_cast<std::size_t>(i)], out[static_cast<std::size_t>(draw(0, i))]);
      }
      return out;
    default:
      return {};
  }
}

// Mostly as the job has it; else another policy and another order of ranks.
inline void draw_policy(JobSpec& job) {
  if (draw_chance(2)) return;
  job.placement.policy = draw_one({PlacementPolicy::kPacked, PlacementPolicy::kSpread, PlacementPolicy::kRandom,
                                   PlacementPolicy::kRackAware, PlacementPolicy::kRailAligned});
  if (job.placement.policy == PlacementPolicy::kRailAligned || draw_chance(2)) return;
  using A = ParallelAxis;
  job.rank_order = RankOrder{draw_one({std::array{A::kDp, A::kTp, A::kCp, A::kPp}, std::array{A::kPp, A::kDp, A::kCp, A::kTp},
                                       std::array{A::kTp, A::kPp, A::kDp, A::kCp}})};
}

inline FabricSpec draw_fabric(std::int64_t nodes, int nics) {
  FabricSpec fabric;
  if (draw_chance(3)) fabric.wiring = draw_one({Wiring::kRail, Wiring::kRail, Wiring::kRailOnly});
  if (fabric.wiring == Wiring::kRailOnly) return fabric;
  if (nodes == 1 || draw_chance(5)) return fabric;
  fabric.nodes_per_leaf = static_cast<int>(draw(1, std::min<std::int64_t>(nodes, 4)));
  if (draw_chance(2)) {
    fabric.spines = static_cast<int>(draw(1, 4));
  } else {
    fabric.oversubscription = draw_one({1.0, 1.5, 2.0, 4.0});
  }
  if (draw_chance(2)) {
    fabric.leaves_per_pod = static_cast<int>(draw(1, 2)) * (fabric.wiring == Wiring::kRail ? nics : 1);
    fabric.cores_per_spine = static_cast<int>(draw(1, 3));
  }
  return fabric;
}

// PCIe as a tree and direct links between GPUs, also ones that join nobody, only pairs, or everybody.
inline void draw_wiring(ServerSpec& server) {
  if (draw_chance(2)) {
    PcieTreeSpec& tree = server.pcie.emplace();
    tree.sockets = static_cast<int>(draw(1, 3));
    tree.switches_per_socket = static_cast<int>(draw(0, 2));
    tree.inter_socket = {Rate::bytes_per_second(40e9), Rate::bytes_per_second(draw_one({6e9, 20e9})), Duration::nanos(100)};
    tree.p2p = draw_chance(2);
    tree.peer_efficiency = {draw_one({1.0, 0.8})};
    if (draw_chance(2))
      tree.host_memory = PcieSpec{Rate::bytes_per_second(60e9), Rate::bytes_per_second(draw_one({9e9, 60e9}))};
    if (!tree.p2p) tree.staging = {Rate::bytes_per_second(22e9), Duration::micros(10)};
  }
  if (draw_chance(3)) return;  // an NVSwitch
  server.interconnect = draw_one({Interconnect::kPcie, Interconnect::kMesh, Interconnect::kMesh});
  if (server.interconnect == Interconnect::kPcie) return;
  MeshSpec& mesh = server.mesh.emplace();
  mesh.is_full = draw_chance(2);
  for (int a = 0; !mesh.is_full && a < server.gpus; ++a) {
    for (int b = a + 1; b < server.gpus; ++b) {
      if (draw_chance(2)) mesh.pairs.push_back({{a, b}, static_cast<int>(draw(1, 2))});
    }
  }
}

// Switches in a ring or a line, some of them with a second cable or a way across; node i on any of them.
inline CustomSpec draw_custom(std::int64_t nodes, int nics) {
  CustomSpec custom;
  const std::int64_t switches = draw(1, 5);
  const auto name = [](std::int64_t s) { return "s" + std::to_string(s); };
  for (std::int64_t s = 0; s < switches; ++s) {
    custom.switches.push_back({.name = name(s)});
    if (s > 0) custom.cables.push_back({.from = name(s - 1), .to = name(s), .count = static_cast<int>(draw(1, 3))});
  }
  if (switches > 2 && draw_chance(2)) custom.cables.push_back({.from = name(0), .to = name(switches - 1)});
  if (switches > 3 && draw_chance(2)) custom.cables.push_back({.from = name(0), .to = name(2), .speed = Rate::gbps(50)});
  for (std::int64_t n = 0; n < nodes; ++n) {
    if (draw_chance(2)) {
      custom.hosts.push_back({.nodes = n, .on = name(draw(0, switches - 1))});
      continue;
    }
    for (int p = 0; p < nics; ++p) custom.hosts.push_back({.nodes = n, .on = name(draw(0, switches - 1)), .port = p});
  }
  return custom;
}

// Room for the nodes, sometimes more.
inline FabricSpec draw_graph_fabric(std::int64_t nodes, int nics) {
  FabricSpec fabric;
  const auto per_switch = static_cast<int>(draw(1, 2));
  const auto switches = static_cast<int>((nodes - 1) / per_switch + 1);
  switch (draw(0, 2)) {
    case 0: {
      const auto routers = static_cast<int>(draw(1, 4));
      fabric.dragonfly = DragonflySpec{.groups = (switches - 1) / routers + 1 + static_cast<int>(draw(0, 1)),
                                       .routers_per_group = routers,
                                       .nodes_per_router = per_switch,
                                       .global_cables = static_cast<int>(draw(1, 3))};
      break;
    }
    case 1: {
      const auto first = static_cast<int>(draw(1, 4));
      const auto second = static_cast<int>(draw(1, 4));
      const int third = (switches - 1) / (first * second) + 1;
      fabric.torus = TorusSpec{.dimensions = {third, first, second}, .nodes_per_switch = per_switch};
      break;
    }
    default:
      fabric.custom = draw_custom(nodes, nics);
  }
  return fabric;
}

// With GPUs for the ranks, and nodes that stay idle.
inline ClusterSpec draw_cluster(std::int64_t ranks, std::int64_t idle_nodes = 0, std::int64_t most_nics = 8) {
  static const ClusterSpec base = cluster("dgx-h100", {"nodes=2"});
  ClusterSpec c = base;
  std::vector<std::int64_t> sizes;
  for (const std::int64_t n : {1, 2, 3, 4, 6, 8}) {
    if (ranks % n == 0) sizes.push_back(n);
  }
  c.server->gpus = static_cast<int>(sizes[static_cast<std::size_t>(draw(0, std::ssize(sizes) - 1))]);
  c.nodes = static_cast<int>(ranks / c.server->gpus + idle_nodes);
  if (draw_chance(2)) draw_wiring(*c.server);
  c.nics_per_node = draw_chance(2) && most_nics > 1 ? c.server->gpus : static_cast<int>(draw(1, most_nics));
  c.network->nic_rate = Rate::gbps(draw_one({25, 100, 400}));
  c.network->gpudirect = !draw_chance(4);
  c.network->host_path_rate = Rate::bytes_per_second(5e9);
  if (draw_chance(4)) c.network->cpu_rate = Rate::bytes_per_second(12e9);
  if (draw_chance(4)) c.network->connection_rate = Rate::gbps(draw_one({5, 20}));
  c.network->connections_per_channel = static_cast<int>(draw(1, 3));
  if (draw_chance(2)) c.pxn = draw_chance(2);
  c.routing = draw_one({RoutingPolicy::kSpray, RoutingPolicy::kSpray, RoutingPolicy::kEcmp, RoutingPolicy::kStatic,
                        RoutingPolicy::kFlowlet, RoutingPolicy::kAdaptive});
  if (draw_chance(2)) c.queue_pairs = static_cast<int>(draw(1, 6));
  if (draw_chance(2)) c.flowlet_share = Fraction{static_cast<double>(draw(0, 20)) / 20};
  c.server->nvls = c.server->joined_by() == Interconnect::kNvSwitch && !draw_chance(4);
  const bool is_graph = draw_chance(3);
  c.fabric = is_graph ? draw_graph_fabric(*c.nodes, *c.nics_per_node) : draw_fabric(*c.nodes, *c.nics_per_node);
  c.fabric_link.cables = is_graph ? 1 : static_cast<int>(draw(1, 3));
  c.core_link.cables = is_graph ? 1 : static_cast<int>(draw(1, 2));
  c.fabric.in_network_reduction = !is_graph && draw_chance(2);
  if (draw_chance(3)) c.fabric_link.speed = Rate::gbps(draw_one({50, 200, 800}));
  if (draw_chance(4)) c.stragglers = StragglerSpec{.share = {0.1}, .gpus = {draw(0, ranks - 1)}, .slowdown = {0.2}};
  return c;
}

// Links of any tier that are slow or dead, for good or for a time; a slow node. What is dead for a time comes back.
inline void draw_faults(ClusterSpec& c) {
  const Network net = build_healthy_network(c);
  for (std::int64_t n = draw(1, 3); n > 0; --n) {
    FaultSpec f;
    if (draw_chance(6)) {
      f.node = static_cast<int>(draw(0, *c.nodes - 1));
      f.slowdown = Fraction{draw_one({0.1, 0.5})};
      c.faults.push_back(f);
      continue;
    }
    const auto any = static_cast<std::int64_t>(net.link_count()) - 1;
    const std::int64_t fabric = std::min<std::int64_t>(any, net.first_fabric_link().value());
    f.link = net.name(LinkId::from_index(static_cast<std::size_t>(draw(draw_chance(3) ? 0 : fabric, any))));
    f.direction = draw_one({FaultDirection::kBoth, FaultDirection::kForward});
    if (draw_chance(3)) {
      f.rate = Fraction{draw_one({0.01, 0.25, 0.5})};
    } else {
      f.state = FaultState::kFailed;
    }
    if (!draw_chance(3)) {
      const Duration from = Duration::micros(draw_one({0, 70, 900, 5'000}));
      const Duration lasts = Duration::micros(draw_one({400, 3'000, 20'000}));
      f.from = from;
      f.until = from + lasts;
      if (draw_chance(2)) f.every = lasts + Duration::micros(draw_one({5'000, 50'000, 500'000}));
    }
    c.faults.push_back(f);
  }
  if (draw_chance(4)) return;
  c.reroute_after = Duration::micros(draw_one({0, 20, 300}));
}

// An algorithm that none of the job's collectives can run by is refused.
inline bool can_run(const RandomScenario& s) {
  const PreparedCluster prepared(s.cluster, s.seed);
  const TrainingProgram program(s.plan, performance_of(s.cluster.server->gpu));
  try {
    static_cast<void>(place_job(program, place_ranks(s.plan, prepared.network, s.seed), prepared.router));
  } catch (const UserError&) {
    return false;
  } catch (const SimulationError&) {  // somebody cannot be reached
    return false;
  }
  return true;
}

inline RandomScenario draw_scenario(std::int64_t max_ranks = 32) {
  RandomScenario out;
  std::int64_t ranks = 0;
  JobSpec job = draw_job(max_ranks, ranks);
  job.placement.endpoints = draw_placement(ranks);
  if (job.placement.endpoints.empty()) draw_policy(job);
  out.cluster = draw_cluster(ranks, draw_chance(5) ? draw(1, 3) : 0);
  job.gpus = ranks;
  out.network = draw_chance(5) ? NetworkKind::kAnalytic : NetworkKind::kFlow;
  out.seed = static_cast<std::uint64_t>(draw(0, 1'000));
  job.algorithm = draw_one({Algorithm::kRing, Algorithm::kRing, Algorithm::kTree, Algorithm::kNvls, Algorithm::kNvls,
                            Algorithm::kNvlsTree, Algorithm::kCollnetDirect, Algorithm::kCollnetChain, Algorithm::kPat,
                            Algorithm::kHierarchical, Algorithm::kHalvingDoubling, Algorithm::kAuto, Algorithm::kAuto});
  out.plan = plan_of(job, ranks);
  if (draw_chance(3)) draw_faults(out.cluster);
  if (!out.cluster.faults.empty() && !can_run(out)) out.cluster.faults.clear();
  if (!can_run(out)) {
    job.algorithm = Algorithm::kRing;
    out.plan = plan_of(job, ranks);
  }
  return out;
}

// The scenario as a file, for messages.
inline std::string to_yaml(const RandomScenario& s) {
  Diagnostics none;
  const ReadContext context(none);
  ConfigPrinter printer(context);
  scenario_fields().print({.name = {}, .cluster = s.cluster, .job = s.plan.job}, printer);
  std::string text =
      "seed " + std::to_string(s.seed) + ", network " + (s.network == NetworkKind::kFlow ? "flow\n" : "analytic\n");
  std::istringstream lines(printer.text());
  for (std::string line; std::getline(lines, line);) text += line.substr(0, line.find(" # ")) + "\n";
  return text;
}

// What two runs of one scenario must share, by name; empty if they do.
inline std::string first_difference(const RunResult& a, const RunResult& b) {
  if (a.step_time_s != b.step_time_s) return "step time";
  if (a.ideal_step_time_s != b.ideal_step_time_s) return "ideal step time";
  if (a.events != b.events) return "events";
  if (a.fingerprint != b.fingerprint) return "fingerprint";
  if (a.breakdown_s != b.breakdown_s) return "breakdown";
  if (a.faults != b.faults) return "faults";
  if (a.links.size() != b.links.size()) return "number of links";
  for (std::size_t i = 0; i < a.links.size(); ++i) {
    const LinkReport& x = a.links[i];
    const LinkReport& y = b.links[i];
    if (x.name != y.name || x.tier != y.tier) return "busiest link " + x.name + " or " + y.name;
    if (x.bytes != y.bytes) return "bytes of " + x.name;
    if (x.utilization != y.utilization) return "utilization of " + x.name;
  }
  return a.bottleneck != b.bottleneck ? "bottleneck" : "";
}

}  // namespace lockstep::test
