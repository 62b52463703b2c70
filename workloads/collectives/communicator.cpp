// SPDX-License-Identifier: Apache-2.0
#include "workloads/collectives/communicator.h"

#include <algorithm>
#include <bit>

#include "base/check.h"
#include "base/hash.h"

namespace lockstep {
namespace {

constexpr std::uint32_t bit(CollectiveKind kind) { return 1u << static_cast<unsigned>(kind); }

// What may be used, as far as the kinds tell.
enum Need : std::uint32_t {
  kNeedClosed = 1,
  kNeedOpen = 2,
  kNeedTree = 4,
  kNeedTreeDown = 8,
  kNeedTreeUp = 16,
  kNeedLevels = 32,
  kNeedExchanges = 64,
  kNeedFold = 128,
  kNeedPat = 256,
  kNeedInSwitch = 512,  // and on, a bit for each of kInSwitch
  kNeedPairs = 1u << 31,
};

// What is added up in switches.
struct InSwitch {
  Algorithm algorithm;
  CollectiveKind kind;
};
constexpr InSwitch kInSwitch[] = {
    {Algorithm::kNvls, CollectiveKind::kAllReduce},          {Algorithm::kNvls, CollectiveKind::kAllGather},
    {Algorithm::kNvls, CollectiveKind::kReduceScatter},      {Algorithm::kNvlsTree, CollectiveKind::kAllReduce},
    {Algorithm::kCollnetDirect, CollectiveKind::kAllReduce}, {Algorithm::kCollnetChain, CollectiveKind::kAllReduce}};

std::uint32_t ring_need(CollectiveKind kind) { return is_chain(kind) ? kNeedOpen : kNeedClosed; }
std::uint32_t tree_need(CollectiveKind kind) {
  return kind == CollectiveKind::kBroadcast ? kNeedTreeDown : kind == CollectiveKind::kReduce ? kNeedTreeUp : kNeedTree;
}

bool is_asked(Algorithm wish, Algorithm a) { return wish == a || (wish == Algorithm::kAuto && is_of_nccl(a)); }

// Whether the ring runs collectives of `kind`.
bool uses_ring(const AlgorithmShapes& others, Algorithm wish, CollectiveKind kind) {
  return is_asked(wish, Algorithm::kRing) || !is_usable(others, wish, kind);
}

void add_tree(const Router& router, const std::vector<NodeGroup>& groups, const ShapeRequest& request, AlgorithmShapes& shapes,
              std::vector<FormRoute>& routes) {
  TreeBuilder tree(router, groups, request.members.front(), request.channel_key, request.channels);
  for (const CollectiveKind kind : kStagedKinds) {
    if ((request.kinds & bit(kind)) == 0 || !applies(Algorithm::kTree, kind)) continue;
    tree.add(kind, routes.emplace_back(FormRoute{tree_form(kind), {}}).route);
  }
  shapes.tree = tree.shape();
}

void add_of_switches(const Router& router, const std::vector<NodeGroup>& groups, const ShapeRequest& request,
                     std::uint32_t needs, AlgorithmShapes& shapes, std::vector<FormRoute>& routes) {
  const MemberFacts facts = member_facts(router.network(), request.members);
  const auto is_wanted = [&](Algorithm a, CollectiveKind kind) {
    return request.algorithm == a ? refusal(a, kind, facts).empty() : is_candidate(a, kind, facts);
  };
  for (std::size_t i = 0; i < std::size(kInSwitch); ++i) {
    const auto [algorithm, kind] = kInSwitch[i];
    if ((needs & (kNeedInSwitch << i)) == 0 || !is_wanted(algorithm, kind)) continue;
    Route& route = routes.emplace_back(FormRoute{in_switch_form(algorithm, kind), {}}).route;
    shapes.in_switch.push_back(shape_in_switch(router, groups, request.channel_key, algorithm, kind, route));
  }
  if ((needs & kNeedPat) != 0 && is_wanted(Algorithm::kPat, CollectiveKind::kAllGather)) {
    shapes.pat = shape_pat(router, groups, request.channel_key, routes);
  }
}

void add_others(const Router& router, const ShapeRequest& request, std::uint32_t needs, AlgorithmShapes& shapes,
                std::vector<FormRoute>& routes) {
  MeshRings unknown;
  MeshRings& known = request.rings != nullptr ? *request.rings : unknown;
  const std::vector<NodeGroup> groups = group_by_node(router.network(), request.members, known);
  if ((needs & (kNeedTree | kNeedTreeDown | kNeedTreeUp)) != 0) add_tree(router, groups, request, shapes, routes);
  if ((needs & kNeedLevels) != 0 && has_levels(groups)) {
    Route inside;
    Route across;
    shapes.hierarchical = shape_hierarchical(router, groups, request.channel_key, known, inside, across);
    routes.push_back({RouteForm::kInside, std::move(inside)});
    routes.push_back({RouteForm::kAcross, std::move(across)});
  }
  const bool folds = (needs & kNeedFold) != 0;
  if ((needs & kNeedExchanges) != 0 && (folds || std::has_single_bit(request.members.size()))) {
    shapes.halving_doubling = shape_halving_doubling(router, groups, request.channel_key, folds, routes);
  }
  if ((needs & kNeedPairs) != 0) {
    Route& route = routes.emplace_back(FormRoute{RouteForm::kPairs, {}}).route;
    shapes.pairs = shape_pairs(router, groups, request.channel_key, request.routing, route);
  }
  if ((needs & (kNeedPat | (~(kNeedInSwitch - 1u) & ~kNeedPairs))) != 0)
    add_of_switches(router, groups, request, needs, shapes, routes);
}

class Choice {
 public:
  explicit Choice(LoweredCollective& best) : best_(best) {}
  // `candidate` may be taken from.
  void offer(LoweredCollective& candidate) {
    const double seconds = undisturbed_seconds(candidate);
    if (has_any_ && seconds >= best_seconds_) return;
    std::swap(best_, candidate);
    best_seconds_ = seconds;
    has_any_ = true;
  }
  [[nodiscard]] bool has_any() const { return has_any_; }

 private:
  LoweredCollective& best_;
  double best_seconds_ = 0;
  bool has_any_ = false;
};

constexpr Protocol kProtocols[] = {Protocol::kLl, Protocol::kLl128, Protocol::kSimple};

bool uses_pcie(const LoweringRequest& r, Algorithm a) {
  if (a == Algorithm::kRing) return r.ring.uses_pcie;
  if (a == Algorithm::kTree) return r.others.tree->flow(r.kind).has_pcie_hop;
  if (a == Algorithm::kHierarchical) return r.others.hierarchical->inside.has_pcie_hop;
  const HalvingDoublingShape& shape = *r.others.halving_doubling;
  if (shape.fold.has_pcie_hop || shape.unfold.has_pcie_hop) return true;
  const std::vector<FlowShape>& flows = shape.exchange;
  return std::any_of(flows.begin(), flows.end(), [](const FlowShape& f) { return f.has_pcie_hop; });
}

void lower_on_ring(const LoweringRequest& r, LoweredCollective& out) {
  const Rate line = is_chain(r.kind) ? r.open_rate : r.closed_rate;
  const CollectiveTuning& tuning = r.tunings[static_cast<std::size_t>(std::clamp(r.ring.nodes, 1, 3) - 1)];
  const LoweredRing c = lower_ring(r.ring, tuning, r.kind, r.bytes, line, r.protocol);
  out.algorithm = Algorithm::kRing;
  out.protocol = c.protocol;
  out.channels = r.ring.channels;
  out.stages.clear();
  out.stages.push_back({.form = c.is_open ? RouteForm::kOpen : RouteForm::kClosed,
                        .weight = r.ring.weight,
                        .bytes = c.bytes,
                        .members = c.members,
                        .latency = c.latency,
                        .rate_cap = c.rate_cap,
                        .rate = line});
}

const CollectiveTuning& tuning_of(const LoweringRequest& r) {
  return r.tunings[static_cast<std::size_t>(std::clamp(r.ring.nodes, 1, 3) - 1)];
}

void lower_by(const LoweringRequest& r, Algorithm a, Protocol protocol, LoweredCollective& out) {
  const CollectiveTuning& tuning = tuning_of(r);
  out.algorithm = a;
  out.protocol = protocol;
  out.stages.clear();
  if (a == Algorithm::kTree) {
    out.channels = r.others.tree->channels;
    out.stages.push_back(lower_tree(*r.others.tree, tuning, r.kind, r.bytes, protocol));
  } else if (a == Algorithm::kHierarchical) {
    const HierarchicalShape& shape = *r.others.hierarchical;
    out.channels = shape.per_node * shape.across_channels;
    lower_hierarchical(shape, r.tunings, r.kind, r.bytes, protocol, out.stages);
  } else if (is_in_switch(a)) {
    const InSwitchShape& shape = *r.others.find(a, r.kind);
    out.channels = shape.channels;
    out.stages.push_back(lower_in_switch(shape, tuning, r.bytes));
  } else if (a == Algorithm::kPat) {
    out.channels = r.others.pat->channels;
    lower_pat(*r.others.pat, tuning, r.kind, r.bytes, out.stages);
  } else {
    out.channels = r.others.halving_doubling->channels;
    lower_halving_doubling(*r.others.halving_doubling, tuning, r.kind, r.bytes, protocol, out.stages);
  }
}

// Why the choice leaves an algorithm that can run out; null: it does not.
const char* exclusion(const LoweringRequest& r, Algorithm a, Protocol p) {
  if (r.algorithm != Algorithm::kAuto && r.algorithm != a) return "another algorithm is asked for";
  if (!takes_protocol(a) && p != Protocol::kSimple) return "runs in Simple only";
  if (r.protocol != nullptr && *r.protocol != p && (takes_protocol(a) || r.algorithm == Algorithm::kAuto)) {
    return "another protocol is asked for";
  }
  // As in lower_ring(): not over PCIe.
  if (r.protocol == nullptr && p == Protocol::kLl128 && uses_pcie(r, a)) return "LL128 is not for PCIe";
  if (r.algorithm != Algorithm::kAuto || a != Algorithm::kNvls || r.ring.nodes > 1) return nullptr;
  const CollectiveTuning& tuning = tuning_of(r);
  if (nvls_beats_ring(tuning.switches.nvls, r.ring.ranks, tuning.nvlink)) return nullptr;
  return "NCCL expects more of a ring on so few GPUs";
}

}  // namespace

const InSwitchShape* AlgorithmShapes::find(Algorithm a, CollectiveKind kind) const {
  for (const InSwitchShape& s : in_switch) {
    if (s.algorithm == a && s.kind == kind) return &s;
  }
  return nullptr;
}

std::uint64_t AlgorithmShapes::hash() const {
  std::uint64_t h = 0;
  const auto add = [&h](const FlowShape& f) { h = mix64(h ^ f.hash()); };
  const auto add_word = [&h](auto word) { h = mix64(h ^ static_cast<std::uint64_t>(word)); };
  if (tree) {
    for (const int v : {tree->ranks, tree->nodes, tree->channels, tree->chain}) add_word(v);
    for (const FlowShape* f : {&tree->both, &tree->down, &tree->up}) add(*f);
  }
  if (hierarchical) {
    for (const int v : {hierarchical->per_node, hierarchical->nodes, hierarchical->across_channels}) add_word(v);
    add(hierarchical->inside);
    add(hierarchical->across);
  }
  if (halving_doubling) {
    add_word(halving_doubling->ranks);
    for (const FlowShape& f : halving_doubling->exchange) add(f);
  }
  if (pat) {
    add_word(pat->ranks);
    for (const FlowShape& f : pat->shifts) add(f);
  }
  if (pairs) add_word(pairs->hash());
  for (const InSwitchShape& s : in_switch) add_word(s.hash());
  return h;
}

std::uint32_t needs_of(std::uint32_t kinds, Algorithm wish) {
  std::uint32_t needs = (kinds & bit(CollectiveKind::kAllToAll)) != 0 ? kNeedPairs : 0u;
  for (const CollectiveKind kind : kStagedKinds) {
    if ((kinds & bit(kind)) == 0) continue;
    // Whether the members allow the others shows when they are shaped; until then a ring may have to step in.
    needs |= ring_need(kind);
    if (is_asked(wish, Algorithm::kTree) && applies(Algorithm::kTree, kind)) needs |= tree_need(kind);
    if (is_asked(wish, Algorithm::kHierarchical) && applies(Algorithm::kHierarchical, kind)) needs |= kNeedLevels;
    if (is_asked(wish, Algorithm::kHalvingDoubling) && applies(Algorithm::kHalvingDoubling, kind)) {
      needs |= kNeedExchanges | (kind == CollectiveKind::kAllReduce ? kNeedFold : 0u);
    }
    if (is_asked(wish, Algorithm::kPat) && applies(Algorithm::kPat, kind)) needs |= kNeedPat;
    for (std::size_t i = 0; i < std::size(kInSwitch); ++i) {
      if (kInSwitch[i].kind == kind && is_asked(wish, kInSwitch[i].algorithm)) needs |= kNeedInSwitch << i;
    }
  }
  return needs;
}

bool is_usable(const AlgorithmShapes& others, Algorithm a, CollectiveKind kind) {
  if (!applies(a, kind)) return false;
  switch (a) {
    case Algorithm::kRing:
    case Algorithm::kDirect:
      return true;
    case Algorithm::kTree:
      return others.tree && others.tree->flow(kind).members > 0;
    case Algorithm::kHierarchical:
      return others.hierarchical.has_value();
    case Algorithm::kHalvingDoubling:
      return others.halving_doubling && (kind == CollectiveKind::kAllReduce ||
                                         std::has_single_bit(static_cast<std::uint32_t>(others.halving_doubling->ranks)));
    case Algorithm::kPat:
      return others.pat.has_value();
    case Algorithm::kNvls:
    case Algorithm::kNvlsTree:
    case Algorithm::kCollnetDirect:
    case Algorithm::kCollnetChain:
      return others.find(a, kind) != nullptr;
    case Algorithm::kAuto:
      break;
  }
  return false;
}

CommunicatorShape shape_communicator(const Router& router, const ShapeRequest& request, std::vector<FormRoute>& routes) {
  CommunicatorShape shape;
  shape.ring = shape_ring(router, request.members, request.channel_key, request.channels, request.rings);
  const std::uint32_t needs = needs_of(request.kinds, request.algorithm);
  if ((needs & ~(kNeedClosed | kNeedOpen)) != 0) add_others(router, request, needs, shape.others, routes);
  std::uint32_t ring_needs = 0;
  for (const CollectiveKind kind : kStagedKinds) {
    if ((request.kinds & bit(kind)) != 0 && uses_ring(shape.others, request.algorithm, kind)) ring_needs |= ring_need(kind);
  }
  const auto add_ring = [&](Need need, RouteForm form, Route& route, Rate& rate) {
    if ((ring_needs & need) == 0) return;
    rate = undisturbed_rate(router.network(), route, shape.ring.weight);
    routes.push_back({form, std::move(route)});
  };
  add_ring(kNeedClosed, RouteForm::kClosed, shape.ring.closed, shape.closed_rate);
  add_ring(kNeedOpen, RouteForm::kOpen, shape.ring.open, shape.open_rate);
  shape.ring.closed = {};
  shape.ring.open = {};
  return shape;
}

void lower_collective(const LoweringRequest& r, LoweredCollective& out) {
  if (r.kind == CollectiveKind::kAllToAll) {
    out.algorithm = Algorithm::kDirect;
    out.protocol = Protocol::kSimple;
    out.channels = 1;
    out.stages.assign(1, lower_pairs(*r.others.pairs, tuning_of(r), r.bytes));
    return;
  }
  if (r.algorithm == Algorithm::kRing) return lower_on_ring(r, out);
  LoweredCollective candidate;
  Choice choice(out);
  if (uses_ring(r.others, r.algorithm, r.kind)) {
    lower_on_ring(r, candidate);
    choice.offer(candidate);
  }
  for (const Algorithm a : kAlgorithms) {
    if (a == Algorithm::kRing || !is_asked(r.algorithm, a) || !is_usable(r.others, a, r.kind)) continue;
    for (const Protocol p : kProtocols) {
      if (exclusion(r, a, p) != nullptr) continue;
      lower_by(r, a, p, candidate);
      choice.offer(candidate);
    }
  }
  LOCKSTEP_CHECK(choice.has_any(), "nothing does {} by {}", to_text(r.kind), to_text(r.algorithm));
}

std::vector<Candidate> candidates_of(const LoweringRequest& r, const MemberFacts& facts) {
  std::vector<Candidate> out;
  LoweredCollective lowered;
  for (const Algorithm a : kAlgorithms) {
    if (!applies(a, r.kind)) continue;
    if (!is_usable(r.others, a, r.kind)) {
      std::string why = refusal(a, r.kind, facts);
      if (why.empty()) why = omission(a, facts);
      out.push_back({.algorithm = a, .exclusion = std::move(why), .is_possible = false});
      continue;
    }
    for (const Protocol p : kProtocols) {
      if (!takes_protocol(a) && p != Protocol::kSimple) continue;
      const char* why = exclusion(r, a, p);
      if (a == Algorithm::kRing) {
        LoweringRequest forced = r;
        forced.protocol = &p;
        lower_on_ring(forced, lowered);
      } else {
        lower_by(r, a, p, lowered);
      }
      double latency = 0;
      for (const Stage& s : lowered.stages) latency += s.latency.seconds();
      out.push_back({.algorithm = a,
                     .protocol = p,
                     .channels = lowered.channels,
                     .latency_s = latency,
                     .transfer_s = undisturbed_seconds(lowered) - latency,
                     .exclusion = why != nullptr ? why : ""});
    }
  }
  return out;
}

}  // namespace lockstep
