// SPDX-License-Identifier: Apache-2.0
// A program placed on a network, as a graph, before anything runs: its ranks, what they do together (activities: the collectives of
// a communicator, the messages of a channel) and the links these use. Partitions (partition.h) are found on it.
//
//   rank  -- port i -->  activity  -- fault state, form, coefficient -->  link
//
// Port i of a rank is the i-th entry of Program::ports(), so its number says what the activity is to that rank. Activities are numbered
// communicators first (by CommId), then channels. Where faults come and go, an activity that some of the networks of FaultStates send
// another way has further routes, one set for each such state; a link that they concern has a colour of its own. Memory: O(ranks + hops of all rings and channels), about 400 bytes a rank of a job with
// pipeline and data parallelism on bundled links; no state per pair of ranks.
#pragma once

#include <array>
#include <cstdint>
#include <future>
#include <span>
#include <vector>

#include "base/rows.h"
#include "sim/network/fault_timeline.h"
#include "topology/routing/router.h"
#include "workloads/collectives/communicator.h"
#include "workloads/program.h"

namespace lockstep {

using ActivityId = Id<struct ActivityTag>;

// What an activity puts on a link: a route for every stage that its collectives may have.
struct RouteLabel {
  RouteForm form = RouteForm::kClosed;
  std::uint32_t state = 0;  // of the faults
  std::int64_t coefficient = 0;
};

// One link of a route. Coefficients are few and shares are many, so a share names its coefficient.
struct RouteShare {
  LinkId link;
  std::uint32_t label = 0;  // into RouteTable::labels
};

struct RouteTable {
  Rows<RouteShare> rows;  // by activity, from `first` on
  std::vector<RouteLabel> labels;
  std::uint32_t first = 0;
};

struct PlacedCommunicator {
  RingShape shape;   // its routes are in PlacedJob::routes
  Rate closed_rate;  // undisturbed rate of a member on the closed ring, and on the open chain
  Rate open_rate;
  std::uint32_t size = 0;
  std::uint32_t kinds = 0;                 // Program::collective_kinds()
  std::uint32_t others = 0;                // into PlacedJob::algorithm_shapes
  Algorithm algorithm = Algorithm::kRing;  // Program::algorithm()
};

// Messages from one rank to another on one stream.
struct PlacedChannel {
  Rank from;
  Rank to;
  Stream send_stream = Stream::kPpSendNext;
  HopKind hop = HopKind::kNetwork;
  Duration path_latency;
};

struct PlacedJob {
  const Program* program = nullptr;
  const Network* network = nullptr;
  const FaultTimeline* timeline = nullptr;  // none: nothing changes
  std::vector<std::uint32_t> roles;         // by rank
  std::vector<std::int64_t> slowdowns;      // by rank, per mille of kernel time; empty: none
  Rows<ActivityId> ports;                   // by rank
  std::vector<PlacedCommunicator> communicators;
  std::vector<AlgorithmShapes> algorithm_shapes;  // different ones; the first is that of rings alone
  std::vector<PlacedChannel> channels;
  std::array<RouteTable, 2> routes;  // of communicators, of channels

  [[nodiscard]] std::size_t rank_count() const { return roles.size(); }
  [[nodiscard]] std::size_t link_count() const { return network->link_count(); }
  [[nodiscard]] Rate capacity(std::size_t link) const { return network->link(LinkId::from_index(link)).capacity; }
  // Whatever of a link reaches the transfers on it.
  [[nodiscard]] std::uint64_t link_colour(std::size_t link) const {
    const auto units = static_cast<std::uint64_t>(capacity(link).units());
    return timeline == nullptr ? units : units ^ timeline->colour(LinkId::from_index(link));
  }
  [[nodiscard]] std::size_t activity_count() const { return communicators.size() + channels.size(); }
  [[nodiscard]] bool is_channel(ActivityId a) const { return a.index() >= communicators.size(); }
  [[nodiscard]] const PlacedChannel& channel(ActivityId a) const { return channels[a.index() - communicators.size()]; }
  // visit(link, label) for every share of the activity.
  template <class Visit>
  void for_each_share_of(ActivityId a, const Visit& visit) const {
    const RouteTable& table = routes[is_channel(a) ? 1 : 0];
    for (const RouteShare& s : table.rows[a.index() - table.first]) visit(s.link, table.labels[s.label]);
  }
  // visit(activity, link, label) for every share, activity by activity.
  template <class Visit>
  void for_each_share(const Visit& visit) const {
    for (const RouteTable& table : routes) {
      for (std::size_t i = 0; i < table.rows.size(); ++i) {
        for (const RouteShare& s : table.rows[i]) visit(table.first + i, s.link, table.labels[s.label]);
      }
    }
  }
  [[nodiscard]] std::int64_t slowdown(std::size_t rank) const { return slowdowns.empty() ? 0 : slowdowns[rank]; }
};

// Whether `other`, of a network with broken links between switches, has the same transfers as `usual` by another way: all that is outside
// the switches is as it was. Where not, the transfers would have to change, and stay on their usual way instead.
[[nodiscard]] bool is_detour(const Network& network, const std::vector<FormRoute>& usual, const std::vector<FormRoute>& other);

// How to do two halves of the work on a job side by side: for few ranks, starting a thread costs more than it saves.
[[nodiscard]] inline std::launch launch_for(std::size_t ranks) {
  constexpr std::size_t kFewRanks = 4096;
  return ranks < kFewRanks ? std::launch::deferred : std::launch::async;
}

[[nodiscard]] constexpr Stream receiving_end(Stream send) {
  return send == Stream::kPpSendNext ? Stream::kPpRecvPrev : Stream::kPpRecvNext;
}
[[nodiscard]] constexpr Stream sending_end(Stream receive) {
  return receive == Stream::kPpRecvPrev ? Stream::kPpSendNext : Stream::kPpSendPrev;
}

// How faults that come and go change the network: the routers of their states 1, 2, ... Both must outlive the placed job.
struct PlacedFaults {
  const FaultTimeline* timeline = nullptr;
  std::span<const Router* const> detours;
};

// `program` and the network of `router` must outlive the result. placement: rank -> endpoint, one per rank. slowdowns: by rank, or empty. Throws UserError when two ranks that talk are not connected,
// and when an algorithm is asked for that no collective can run by.
[[nodiscard]] PlacedJob place_job(const Program& program, std::span<const EndpointId> placement, const Router& router,
                                  std::vector<std::int64_t> slowdowns = {}, const PlacedFaults& faults = {});

}  // namespace lockstep
