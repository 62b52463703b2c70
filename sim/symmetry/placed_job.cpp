// SPDX-License-Identifier: Apache-2.0
#include "sim/symmetry/placed_job.h"

#include <algorithm>

#include "base/check.h"
#include "base/hash.h"
#include "sim/engine/flat_index.h"

namespace lockstep {
namespace {

constexpr std::uint32_t kChainKinds =
    (1u << static_cast<unsigned>(CollectiveKind::kBroadcast)) | (1u << static_cast<unsigned>(CollectiveKind::kReduce));

class Placer {
 public:
  Placer(const Program& program, std::span<const EndpointId> placement, const Router& router, PlacedJob& job)
      : program_(program), placement_(placement), router_(router), job_(job) {}

  void place() {
    LOCKSTEP_CHECK(placement_.size() == program_.world_size(), "{} ranks but {} placed", program_.world_size(),
                   placement_.size());
    LOCKSTEP_CHECK(job_.slowdowns.empty() || job_.slowdowns.size() == placement_.size(), "{} ranks but {} slow-downs",
                   placement_.size(), job_.slowdowns.size());
    for (std::uint32_t c = 0; c < program_.communicator_count(); ++c) place_communicator(CommId(c));
    for (std::uint32_t r = 0; r < program_.world_size(); ++r) place_rank(Rank(r));
  }

 private:
  void place_communicator(CommId id) {
    PlacedCommunicator& comm = job_.communicators.emplace_back();
    comm.kinds = program_.collective_kinds(id);
    if (comm.kinds != 0) {
      program_.members(id, members_);
      LOCKSTEP_CHECK(!members_.empty(), "communicator {} has no members", id.value());
      comm.size = static_cast<std::uint32_t>(members_.size());
      if (members_.size() > 1) add_rings(id, comm);
    }
    job_.routes.end_row();
  }

  void add_rings(CommId id, PlacedCommunicator& comm) {
    endpoints_.clear();
    for (const Rank r : members_) endpoints_.push_back(placement_[r.index()]);
    comm.shape = shape_ring(router_, endpoints_, id.value());
    comm.tuning = static_cast<std::uint32_t>(std::clamp(comm.shape.nodes, 1, 3) - 1);
    if ((comm.kinds & ~kChainKinds) != 0) {
      comm.closed_rate = undisturbed_rate(router_.network(), comm.shape.closed, comm.shape.weight);
      add_route(comm.shape.closed, RouteForm::kClosed);
    }
    if ((comm.kinds & kChainKinds) != 0) {
      comm.open_rate = undisturbed_rate(router_.network(), comm.shape.open, comm.shape.weight);
      add_route(comm.shape.open, RouteForm::kOpen);
    }
    comm.shape.closed = {};
    comm.shape.open = {};
  }

  void add_route(const Route& route, RouteForm form) {
    for (const LinkShare& s : route.shares) job_.routes.push({s.link, label_of(form, s.coefficient)});
  }

  std::uint32_t label_of(RouteForm form, std::int64_t coefficient) {
    const std::uint64_t key = static_cast<std::uint64_t>(coefficient) << 1 | static_cast<std::uint64_t>(form);
    if (key == last_key_) return last_label_;
    std::uint32_t known = labels_.find(key);
    if (known == FlatIndex::kAbsent) {
      known = static_cast<std::uint32_t>(job_.labels.size());
      labels_.insert(key, known);
      job_.labels.push_back({form, coefficient});
    }
    last_key_ = key;
    last_label_ = known;
    return known;
  }

  void place_rank(Rank rank) {
    job_.roles.push_back(program_.role(rank));
    ports_.clear();
    program_.ports(rank, ports_);
    for (const Port& p : ports_) job_.ports.push(activity_of(rank, p));
    job_.ports.end_row();
  }

  ActivityId activity_of(Rank rank, const Port& p) {
    switch (p.kind) {
      case Port::Kind::kCommunicator:
        LOCKSTEP_CHECK(p.comm.index() < job_.communicators.size(), "communicator {} of {}", p.comm.value(),
                       job_.communicators.size());
        return ActivityId(p.comm.value());
      case Port::Kind::kSend:
        return channel(rank, p.peer, p.stream);
      case Port::Kind::kReceive:
        return channel(p.peer, rank, sending_end(p.stream));
    }
    return ActivityId::none();
  }

  ActivityId channel(Rank from, Rank to, Stream send_stream) {
    const std::uint64_t key = hash_words({from.value(), to.value(), static_cast<std::uint64_t>(send_stream)});
    std::uint32_t known = index_.find(key);
    if (known == FlatIndex::kAbsent) {
      known = static_cast<std::uint32_t>(job_.activity_count());
      index_.insert(key, known);
      const EndpointId a = placement_[from.index()];
      const EndpointId b = placement_[to.index()];
      route_.shares.clear();
      route_.latency = {};
      router_.add({.from = a, .to = b}, key, route_);
      Router::finish(route_);
      make_whole_sharer(route_);
      add_route(route_, RouteForm::kClosed);
      job_.routes.end_row();
      job_.channels.push_back({.from = from,
                               .to = to,
                               .send_stream = send_stream,
                               .is_local = router_.network().node_of(a) == router_.network().node_of(b),
                               .path_latency = route_.latency});
    }
    const PlacedChannel& c = job_.channel(ActivityId(known));
    LOCKSTEP_CHECK(c.from == from && c.to == to && c.send_stream == send_stream, "two channels share the key {}", key);
    return ActivityId(known);
  }

  const Program& program_;
  std::span<const EndpointId> placement_;
  const Router& router_;
  PlacedJob& job_;
  FlatIndex index_;   // channels by the hash of their ends
  FlatIndex labels_;  // by coefficient and form
  std::uint64_t last_key_ = ~std::uint64_t{0};
  std::uint32_t last_label_ = 0;
  std::vector<Rank> members_;
  std::vector<EndpointId> endpoints_;
  std::vector<Port> ports_;
  Route route_;
};

}  // namespace

PlacedJob place_job(const Program& program, std::span<const EndpointId> placement, const Router& router,
                    std::vector<std::int64_t> slowdowns) {
  PlacedJob job;
  job.program = &program;
  job.network = &router.network();
  job.slowdowns = std::move(slowdowns);
  Placer(program, placement, router, job).place();
  return job;
}

}  // namespace lockstep
