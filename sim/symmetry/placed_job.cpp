// SPDX-License-Identifier: Apache-2.0
#include "sim/symmetry/placed_job.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/check.h"
#include "base/diagnostics.h"
#include "base/hash.h"
#include "sim/engine/flat_index.h"
#include "sim/symmetry/route_writer.h"

namespace lockstep {

bool is_detour(const Network& net, const std::vector<FormRoute>& usual, const std::vector<FormRoute>& other) {
  const auto keeps = [&net](const Route& a, const Route& b) {
    const auto next_outside = [&net](auto at, auto end) {
      return std::find_if(at, end, [&net](const LinkShare& s) {
        const Link l = net.link(s.link);
        return l.from < net.first_switch() || l.to < net.first_switch();
      });
    };
    auto x = next_outside(a.shares.begin(), a.shares.end());
    auto y = next_outside(b.shares.begin(), b.shares.end());
    while (x != a.shares.end() && y != b.shares.end() && *x == *y) {
      x = next_outside(x + 1, a.shares.end());
      y = next_outside(y + 1, b.shares.end());
    }
    return x == a.shares.end() && y == b.shares.end();
  };
  if (usual.size() != other.size()) return false;
  bool differs = false;
  for (std::size_t i = 0; i < usual.size(); ++i) {
    if (usual[i].form != other[i].form || !keeps(usual[i].route, other[i].route)) return false;
    differs = differs || usual[i].route.shares != other[i].route.shares;
  }
  return differs;
}

namespace {

class CommunicatorPlacer {
 public:
  CommunicatorPlacer(std::span<const EndpointId> placement, const Router& router, std::span<const Router* const> detours,
                     PlacedJob& job)
      : placement_(placement), router_(router), detours_(detours), job_(job), writer_(job.routes[0]) {}

  void place() {
    job_.communicators.reserve(job_.program->communicator_count());
    // Enough for most jobs; memory that is not written costs nothing, memory that has to move does.
    job_.routes[0].rows.reserve(job_.program->communicator_count(), 16 * placement_.size());
    job_.algorithm_shapes.emplace_back();
    for (std::uint32_t c = 0; c < job_.program->communicator_count(); ++c) place(CommId(c));
    check_wishes();
  }

 private:
  void place(CommId id) {
    PlacedCommunicator& comm = job_.communicators.emplace_back();
    comm.kinds = job_.program->collective_kinds(id);
    comm.algorithm = job_.program->algorithm(id);
    if (comm.kinds != 0) {
      job_.program->members(id, members_);
      LOCKSTEP_CHECK(!members_.empty(), "communicator {} has no members", id.value());
      comm.size = static_cast<std::uint32_t>(members_.size());
      if (comm.kinds != kBarrierOnly && members_.size() > 1 && !repeat_rings(id, comm)) add_rings(id, comm);
    }
    writer_.end();
  }

  // Without hashes the rings of a group do not depend on which communicator it is: gathers and reductions of a data-parallel
  // group run on the same. Only groups over several nodes are worth looking for.
  bool repeat_rings(CommId id, PlacedCommunicator& comm) {
    if (router_.routing().is_hashed() || members_.size() <= kFewMembers) return false;
    std::uint64_t key = members_.size();
    for (const Rank r : members_) key = mix64(key ^ r.value());
    const std::uint32_t known = known_.find(key);
    if (known == FlatIndex::kAbsent) {
      known_.insert(key, static_cast<std::uint32_t>(job_.communicators.size() - 1));
      return false;
    }
    const PlacedCommunicator& other = job_.communicators[known];
    job_.program->members(CommId(known), other_members_);
    const bool same_forms = comm.algorithm == other.algorithm &&
                            job_.program->routing(id) == job_.program->routing(CommId(known)) &&
                            needs_of(comm.kinds, comm.algorithm) == needs_of(other.kinds, other.algorithm);
    if (!same_forms || other_members_ != members_) return false;
    const std::uint32_t kinds = comm.kinds;
    comm = other;
    comm.kinds = kinds;
    writer_.repeat(known);
    return true;
  }

  void add_rings(CommId id, PlacedCommunicator& comm) {
    endpoints_.clear();
    for (const Rank r : members_) endpoints_.push_back(placement_[r.index()]);
    routes_.clear();
    const ShapeRequest request{.members = endpoints_,
                               .kinds = comm.kinds,
                               .algorithm = comm.algorithm,
                               .channel_key = job_.program->comm_in_job(id).value(),
                               .rings = &rings_,
                               .routing = job_.program->routing(id)};
    CommunicatorShape shape = shape_communicator(router_, request, routes_);
    comm.shape = std::move(shape.ring);
    comm.closed_rate = shape.closed_rate;
    comm.open_rate = shape.open_rate;
    comm.others = number_of(std::move(shape.others));
    for (const FormRoute& r : routes_) writer_.add(r.route, r.form);
    for (std::uint32_t s = 0; s < detours_.size(); ++s) {
      other_routes_.clear();
      (void)shape_communicator(*detours_[s], request, other_routes_);
      if (!is_detour(router_.network(), routes_, other_routes_)) continue;
      for (const FormRoute& r : other_routes_) writer_.add(r.route, r.form, 1, s + 1);
    }
  }

  std::uint32_t number_of(AlgorithmShapes&& shapes) {
    std::vector<AlgorithmShapes>& all = job_.algorithm_shapes;
    if (shapes == all.front()) return 0;
    const std::uint64_t key = shapes.hash();
    const std::uint32_t known = shapes_.find(key);
    if (known != FlatIndex::kAbsent && all[known] == shapes) return known;
    all.push_back(std::move(shapes));
    const auto number = static_cast<std::uint32_t>(all.size() - 1);
    if (known == FlatIndex::kAbsent) shapes_.insert(key, number);
    return number;
  }

  // A forced algorithm leaves to rings what it cannot do. One that can do nothing at all is a mistake.
  void check_wishes() const {
    const PlacedCommunicator* idle = nullptr;
    for (const PlacedCommunicator& c : job_.communicators) {
      if (c.size < 2 || c.kinds == 0) continue;
      if (c.algorithm == Algorithm::kRing || c.algorithm == Algorithm::kAuto) return;
      for (const CollectiveKind kind : kStagedKinds) {
        if ((c.kinds >> static_cast<unsigned>(kind) & 1u) != 0 && is_usable(job_.algorithm_shapes[c.others], c.algorithm, kind))
          return;
      }
      idle = &c;
    }
    if (idle == nullptr) return;
    throw UserError(fmt::format("no collective of this job can run by the algorithm '{}'", to_text(idle->algorithm)),
                    fmt::format("{}; ring can do all of them, and auto chooses", terms_of(idle->algorithm)));
  }

  std::span<const EndpointId> placement_;
  const Router& router_;
  std::span<const Router* const> detours_;
  PlacedJob& job_;
  RouteWriter writer_;
  static constexpr std::size_t kFewMembers = 16;
  std::vector<Rank> members_;
  std::vector<Rank> other_members_;
  std::vector<EndpointId> endpoints_;
  std::vector<FormRoute> routes_;
  std::vector<FormRoute> other_routes_;
  FlatIndex known_;   // communicators by the hash of their members
  FlatIndex shapes_;  // algorithm_shapes by their hash
  MeshRings rings_;
};

// Ranks with their ports, and channels in the order of their senders.
class RankPlacer {
 public:
  RankPlacer(std::span<const EndpointId> placement, const Router& router, std::span<const Router* const> detours,
             PlacedJob& job)
      : placement_(placement),
        router_(router),
        detours_(detours),
        job_(job),
        writer_(job.routes[1]),
        first_channel_(job.program->communicator_count()) {
    job_.routes[1].first = first_channel_;
  }

  void place() {
    job_.roles.reserve(placement_.size());
    job_.ports.reserve(placement_.size(), 8 * placement_.size());
    job_.channels.reserve(2 * placement_.size());
    job_.routes[1].rows.reserve(2 * placement_.size(), 20 * placement_.size());
    for (std::uint32_t r = 0; r < placement_.size(); ++r) place(Rank(r));
    sent_.push_back(static_cast<std::uint32_t>(job_.channels.size()));
    for (const Receive& r : receives_) job_.ports.item(r.item) = ActivityId(first_channel_ + channel_to(r));
  }

 private:
  struct Receive {
    std::size_t item;  // of the ports
    Rank from;
    Rank to;
    Stream send_stream;
  };

  void place(Rank rank) {
    job_.roles.push_back(job_.program->role(rank));
    sent_.push_back(static_cast<std::uint32_t>(job_.channels.size()));
    ports_.clear();
    job_.program->ports(rank, ports_);
    for (const Port& p : ports_) {
      if (p.kind == Port::Kind::kCommunicator) {
        LOCKSTEP_CHECK(p.comm.value() < first_channel_, "communicator {} of {}", p.comm.value(), first_channel_);
        job_.ports.push(ActivityId(p.comm.value()));
      } else if (p.kind == Port::Kind::kSend) {
        job_.ports.push(ActivityId(first_channel_ + add_channel(rank, p.peer, p.stream)));
      } else {
        receives_.push_back({job_.ports.item_count(), p.peer, rank, sending_end(p.stream)});
        job_.ports.push(ActivityId::none());
      }
    }
    job_.ports.end_row();
  }

  // The channel that ends in a receive. One that nobody sends on still needs a place to wait at.
  std::uint32_t channel_to(const Receive& r) {
    for (std::uint32_t c = sent_[r.from.index()]; c < sent_[r.from.index() + 1]; ++c) {
      if (job_.channels[c].to == r.to && job_.channels[c].send_stream == r.send_stream) return c;
    }
    return add_channel(r.from, r.to, r.send_stream);
  }

  std::uint32_t add_channel(Rank from, Rank to, Stream send_stream) {
    const EndpointId a = placement_[from.index()];
    const EndpointId b = placement_[to.index()];
    route_.shares.clear();
    route_.latency = {};
    const auto number = [this](Rank r) { return job_.program->rank_in_job(r).value(); };
    const std::uint64_t key = hash_words({number(from), number(to), static_cast<std::uint64_t>(send_stream)});
    router_.add({.from = a, .to = b}, key, route_);  // one hop names no link twice
    writer_.add(route_, RouteForm::kClosed, kSharerWeight);
    for (std::uint32_t s = 0; s < detours_.size(); ++s) {
      Route other;
      detours_[s]->add({.from = a, .to = b}, key, other);
      if (other.shares != route_.shares) writer_.add(other, RouteForm::kClosed, kSharerWeight, s + 1);
    }
    writer_.end();
    job_.channels.push_back({.from = from,
                             .to = to,
                             .send_stream = send_stream,
                             .hop = hop_kind(router_.network(), a, b),
                             .path_latency = route_.latency});
    return static_cast<std::uint32_t>(job_.channels.size() - 1);
  }

  std::span<const EndpointId> placement_;
  const Router& router_;
  std::span<const Router* const> detours_;
  PlacedJob& job_;
  RouteWriter writer_;
  std::uint32_t first_channel_;      // as an activity
  std::vector<std::uint32_t> sent_;  // by rank: its first channel
  std::vector<Receive> receives_;
  std::vector<Port> ports_;
  Route route_;
};

}  // namespace

PlacedJob place_job(const Program& program, std::span<const EndpointId> placement, const Router& router,
                    std::vector<std::int64_t> slowdowns, const PlacedFaults& faults) {
  LOCKSTEP_CHECK(placement.size() == program.world_size(), "{} ranks but {} placed", program.world_size(), placement.size());
  LOCKSTEP_CHECK(slowdowns.empty() || slowdowns.size() == placement.size(), "{} ranks but {} slow-downs", placement.size(),
                 slowdowns.size());
  PlacedJob job;
  job.program = &program;
  job.network = &router.network();
  job.timeline = faults.timeline;
  job.slowdowns = std::move(slowdowns);
  const auto place_communicators = [&] { CommunicatorPlacer(placement, router, faults.detours, job).place(); };
  // The two write to different members of the job.
  std::future<void> communicators = std::async(launch_for(placement.size()), place_communicators);
  RankPlacer(placement, router, faults.detours, job).place();
  communicators.get();
  return job;
}

}  // namespace lockstep
