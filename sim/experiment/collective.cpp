// SPDX-License-Identifier: Apache-2.0
#include "sim/experiment/collective.h"

#include <fmt/core.h>

#include <algorithm>
#include <set>
#include <tuple>
#include <utility>

#include "base/diagnostics.h"
#include "sim/experiment/hottest_link.h"
#include "sim/experiment/pair_flows.h"
#include "sim/symmetry/placed_job.h"

namespace lockstep {
namespace {

// Runs what was started until nothing is in flight; the time of the last completion.
Instant run_to_end(NetworkModel& network, const LinkNames& name) {
  Instant now;
  std::vector<Completion> done;
  network.settle(now);
  while (network.in_flight() > 0) {
    const Instant next = network.next_event();
    if (next.is_never()) {
      throw SimulationError(fmt::format("the collective never ends: {}", network.describe_pending(name)));
    }
    now = next;
    network.advance(now, done);
    network.settle(now);
  }
  return now;
}

// The same on a network whose links come and go, each under its own number.
class FaultyRun {
 public:
  FaultyRun(NetworkKind kind, const Network& network, const Detours& detours)
      : network_(network), model_(make_network_model(kind, network)), clock_(make_clock(detours)) {}

  // From `start`, no earlier than the end of what ran before. route_of(token, state); `begin` starts transfers.
  template <class Begin, class RouteOf>
  Instant run(Instant start, const Begin& begin, const RouteOf& route_of) {
    const RouteOfToken present = [&](std::uint64_t token) { return route_of(token, clock_.state()); };
    while (clock_.next() <= start) change(clock_.next(), present);
    begin(*model_, clock_.state(), start);
    model_->settle(start);
    Instant now = start;
    while (model_->in_flight() > 0) {
      now = clock_.next_of_all(model_->next_event(), true);
      if (now.is_never()) {
        throw SimulationError(fmt::format("the collective never ends: {}", model_->describe_pending(names())));
      }
      if (clock_.next() == now) change(now, present);
      model_->advance(now, done_);
      model_->settle(now);
    }
    return now;
  }

  [[nodiscard]] const NetworkModel& model() const { return *model_; }

 private:
  static FaultClock make_clock(const Detours& detours) {
    std::vector<FaultClock::LinkInUse> links;
    for (const LinkId l : detours.timeline().links()) links.push_back({.link = l, .in_model = l});
    return {detours.timeline(), std::move(links), !detours.routers().empty()};
  }
  void change(Instant now, const RouteOfToken& present) {
    std::vector<std::uint64_t> moved;
    if (clock_.apply(now, *model_)) model_->reroute(now, present, moved);
    if (model_->in_flight() == 0) model_->settle(now);
  }
  [[nodiscard]] LinkNames names() const {
    return [this](LinkId l) {
      const std::string state = clock_.describe(l);
      return network_.name(l) + (state.empty() ? state : ", which " + state);
    };
  }

  const Network& network_;
  std::unique_ptr<NetworkModel> model_;
  FaultClock clock_;
  std::vector<Completion> done_;
};

bool has_timed_faults(const CollectiveRequest& request) {
  return request.detours != nullptr && !request.detours->timeline().is_empty();
}

CollectiveRow row_of(const CollectiveRequest& request, std::int64_t size, Instant end) {
  CollectiveRow row;
  row.size_bytes = size;
  row.time_s = end.seconds();
  if (row.time_s > 0) row.algbw_gb_per_s = static_cast<double>(size) / row.time_s * 1e-9;
  row.busbw_gb_per_s = row.algbw_gb_per_s * busbw_factor(request.kind, request.members.size());
  return row;
}

// The links that a transfer runs on, numbered from 0.
struct LinksInUse {
  std::vector<LinkId> links;  // of the whole network
  std::vector<Rate> capacities;
  std::vector<LinkShare> shares;
};

LinksInUse links_in_use(const Network& network, const Route& route, bool merges_equals) {
  LinksInUse used;
  std::set<std::tuple<Rate, std::int64_t, bool>> seen;
  for (const LinkShare& s : route.shares) {
    const Link link = network.link(s.link);
    if (merges_equals && !seen.emplace(link.capacity, s.coefficient, joins_switches(link.tier)).second) continue;
    used.shares.push_back({LinkId::from_index(used.links.size()), s.coefficient});
    used.capacities.push_back(link.capacity);
    used.links.push_back(s.link);
  }
  return used;
}

ShapeRequest shape_request(const CollectiveRequest& request, Algorithm algorithm) {
  return {.members = request.members,
          .kinds = 1u << static_cast<unsigned>(request.kind),
          .algorithm = algorithm,
          .channels = request.channels.value_or(0)};
}

// Throws when the algorithm asked for cannot do this on these members.
void check_algorithm(const CollectiveRequest& request, const Router& router, const AlgorithmShapes& shapes) {
  const Algorithm wish = request.algorithm;
  if (wish == Algorithm::kAuto || is_usable(shapes, wish, request.kind)) return;
  const MemberFacts facts = member_facts(router.network(), request.members);
  std::string can;
  for (const Algorithm a : kAlgorithms) {
    if (refusal(a, request.kind, facts).empty()) can += fmt::format("{}{}", can.empty() ? "" : ", ", to_text(a));
  }
  std::string why = refusal(wish, request.kind, facts);
  throw UserError(fmt::format("the algorithm '{}' cannot do {} on these {} GPUs{}", to_text(wish), to_text(request.kind),
                              request.members.size(), applies(wish, request.kind) ? ": " + why : ""),
                  fmt::format("{}; here {} can run by {}", terms_of(wish), to_text(request.kind), can));
}

class StagedRun {
 public:
  StagedRun(const CollectiveRequest& request, const Router& router, const std::array<CollectiveTuning, 3>& tunings,
            NetworkKind kind)
      : request_(request), network_(router.network()), tunings_(tunings), kind_(kind) {
    std::vector<FormRoute> routes;
    shape_ = shape_communicator(router, shape_request(request, request.algorithm), routes);
    check_algorithm(request, router, shape_.others);
    for (const FormRoute& r : routes) {
      const auto form = static_cast<std::size_t>(r.form);
      if (form >= links_.size()) links_.resize(form + 1);
      links_[form] = links_in_use(network_, r.route, request.uses_symmetry);
    }
    if (request.explains) shape_alternatives(router);
    if (has_timed_faults(request)) add_states(router, routes);
  }

  CollectiveRow run(std::int64_t size) {
    lower_collective(lowering(shape_, size), lowered_);
    Instant end;
    double hottest = 0;
    if (!states_.empty()) {
      end = run_with_faults(hottest);
    } else {
      for (const Stage& stage : lowered_.stages) end = end + (run(stage, hottest) - Instant());
    }
    CollectiveRow row = row_of(request_, size, end);
    row.hottest_link_s = hottest;
    row.algorithm = to_text(lowered_.algorithm);
    row.protocol = to_text(lowered_.protocol);
    row.channels = lowered_.channels;
    if (!request_.explains) return row;
    for (Candidate& c : candidates_of(lowering(alternatives_, size), facts_)) {
      const bool is_chosen = c.is_possible && c.algorithm == lowered_.algorithm && c.protocol == lowered_.protocol;
      row.candidates.push_back({std::move(c), is_chosen});
    }
    return row;
  }

 private:
  [[nodiscard]] LoweringRequest lowering(const CommunicatorShape& shape, std::int64_t size) const {
    return {.ring = shape.ring,
            .closed_rate = shape.closed_rate,
            .open_rate = shape.open_rate,
            .others = shape.others,
            .tunings = tunings_,
            .kind = request_.kind,
            .bytes = size,
            .algorithm = request_.algorithm,
            .protocol = request_.protocol ? &*request_.protocol : nullptr};
  }

  // All that could be chosen, and what was asked for.
  void shape_alternatives(const Router& router) {
    std::vector<FormRoute> routes;
    alternatives_ = shape_communicator(router, shape_request(request_, Algorithm::kAuto), routes);
    AlgorithmShapes& others = alternatives_.others;
    if (!others.hierarchical) others.hierarchical = shape_.others.hierarchical;
    if (!others.halving_doubling) others.halving_doubling = shape_.others.halving_doubling;
    if (!others.pat) others.pat = shape_.others.pat;
    facts_ = member_facts(network_, request_.members);
  }

  using RoutesByForm = std::vector<std::vector<LinkShare>>;

  // The routes in every state of the network. One that has other forms than the first would need other transfers: it stays with the first's.
  void add_states(const Router& first, const std::vector<FormRoute>& usual) {
    const auto add = [this](const std::vector<FormRoute>& routes) {
      RoutesByForm& by_form = states_.emplace_back(links_.size());
      for (const FormRoute& r : routes) by_form[static_cast<std::size_t>(r.form)] = r.route.shares;
    };
    add(usual);
    for (const Router* router : request_.detours->routers()) {
      std::vector<FormRoute> routes;
      (void)shape_communicator(*router, shape_request(request_, request_.algorithm), routes);
      add(is_detour(first.network(), usual, routes) ? routes : usual);
    }
  }

  Instant run_with_faults(double& hottest) const {
    FaultyRun faulty(kind_, network_, *request_.detours);
    Instant end;
    for (const Stage& stage : lowered_.stages) {
      const auto form = static_cast<std::size_t>(stage.form);
      const auto begin = [&](NetworkModel& model, std::size_t state, Instant start) {
        model.start(start, {.shares = states_[state][form],
                            .weight = stage.weight,
                            .bytes = stage.bytes,
                            .latency = stage.latency,
                            .rate_cap = stage.rate_cap,
                            .members = stage.members});
      };
      end = faulty.run(end, begin, [&](std::uint64_t, std::size_t state) { return NewRoute{states_[state][form], {}}; });
    }
    hottest = hottest_link_s(faulty.model(), end, network_, network_.link_count(), [](LinkId l) { return l; });
    return end;
  }

  Instant run(const Stage& stage, double& hottest) const {
    const LinksInUse& used = links_[static_cast<std::size_t>(stage.form)];
    const std::unique_ptr<NetworkModel> network = make_network_model(kind_, used.capacities);
    network->start(Instant(), {.shares = used.shares,
                               .weight = stage.weight,
                               .bytes = stage.bytes,
                               .latency = stage.latency,
                               .rate_cap = stage.rate_cap,
                               .members = stage.members});
    const Instant end = run_to_end(*network, [&](LinkId l) { return network_.name(used.links[l.index()]); });
    hottest += hottest_link_s(*network, end, network_, used.links.size(), [&](LinkId l) { return used.links[l.index()]; });
    return end;
  }

  const CollectiveRequest& request_;
  const Network& network_;
  const std::array<CollectiveTuning, 3>& tunings_;
  NetworkKind kind_;
  CommunicatorShape shape_;
  CommunicatorShape alternatives_;  // where explanations are asked for
  MemberFacts facts_;
  std::vector<LinksInUse> links_;     // by form
  std::vector<RoutesByForm> states_;  // by state; empty without faults that come and go
  LoweredCollective lowered_;
};

std::vector<CollectiveRow> run_pairs(const CollectiveRequest& request, const Router& router,
                                     const std::array<CollectiveTuning, 3>& tunings, NetworkKind kind) {
  const PairFlows flows(request, router, tunings[0]);
  const LinkNames name = [&](LinkId l) { return router.network().name(flows.link(l)); };
  const auto n = static_cast<std::int64_t>(request.members.size());
  std::vector<CollectiveRow> rows;
  for (const std::int64_t size : request.sizes) {
    const std::unique_ptr<NetworkModel> network = make_network_model(kind, flows.link_capacities());
    flows.start(*network, request.kind == CollectiveKind::kAllToAll ? ceil_div(size, n) : size);
    const Instant end = run_to_end(*network, name);
    CollectiveRow row = row_of(request, size, end);
    row.hottest_link_s = hottest_link_s(*network, end, router.network(), flows.link_capacities().size(),
                                        [&](LinkId l) { return flows.link(l); });
    row.algorithm = to_text(Algorithm::kDirect);
    row.protocol = to_text(Protocol::kSimple);
    row.channels = 1;
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace

std::vector<CollectiveRow> run_collective(const CollectiveRequest& request, const Router& router,
                                          const std::array<CollectiveTuning, 3>& tunings, NetworkKind kind) {
  LOCKSTEP_CHECK(request.members.size() >= 2, "a collective of {} members", request.members.size());
  const bool is_pairs = request.kind == CollectiveKind::kSendRecv || request.kind == CollectiveKind::kAllToAll;
  if (is_pairs) {
    check_algorithm(request, router, {});
    if (has_timed_faults(request)) {
      throw UserError(fmt::format("{} does not run on a network whose faults come and go", to_text(request.kind)),
                      "give its flows to lockstep traffic, or remove from and until of the cluster's faults");
    }
    return run_pairs(request, router, tunings, kind);
  }
  StagedRun run(request, router, tunings, kind);
  std::vector<CollectiveRow> rows;
  for (const std::int64_t size : request.sizes) rows.push_back(run.run(size));
  return rows;
}

double busbw_factor(CollectiveKind kind, std::size_t ranks) {
  const auto n = static_cast<double>(ranks);
  switch (kind) {
    case CollectiveKind::kAllReduce:
      return 2 * (n - 1) / n;
    case CollectiveKind::kAllGather:
    case CollectiveKind::kReduceScatter:
    case CollectiveKind::kAllToAll:
      return (n - 1) / n;
    case CollectiveKind::kBroadcast:
    case CollectiveKind::kReduce:
    case CollectiveKind::kSendRecv:
      return 1;
  }
  return 1;
}

double seconds_at_busbw(CollectiveKind kind, std::size_t ranks, double bytes, double busbw_gb_per_s) {
  return busbw_factor(kind, ranks) * bytes / (busbw_gb_per_s * 1e9);
}

std::vector<EndpointId> first_gpus(const ClusterSpec& cluster, int nodes, int per_node) {
  const auto on_node = static_cast<int>(cluster.gpus() / cluster.node_count());
  LOCKSTEP_CHECK(nodes <= cluster.node_count() && per_node <= on_node, "{} x {} GPUs of {} x {}", nodes, per_node,
                 cluster.node_count(), on_node);
  std::vector<EndpointId> members;
  for (int node = 0; node < nodes; ++node) {
    for (int gpu = 0; gpu < per_node; ++gpu)
      members.push_back(EndpointId::from_index(static_cast<std::size_t>(node * on_node + gpu)));
  }
  return members;
}

std::vector<std::int64_t> size_steps(std::int64_t begin, std::int64_t end, std::int64_t factor) {
  LOCKSTEP_CHECK(begin >= 0 && begin <= end && factor >= 2, "sizes {} to {} by {}", begin, end, factor);
  std::vector<std::int64_t> sizes;
  for (Int128 size = begin; size <= end; size = size == 0 ? 1 : size * factor) sizes.push_back(static_cast<std::int64_t>(size));
  return sizes;
}

}  // namespace lockstep
