// SPDX-License-Identifier: Apache-2.0
// A placed job with one representative for every class of a partition: what the runtime runs. On a class of links every class of
// activities has the sum of its members' coefficients, so the network models see the load that any one of these links carries and need not
// know about classes. With the finest partition everybody represents himself and this is the job itself.
//
// A coefficient of one activity alone (`alone`) is kept beside the sum for models without contention.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/rows.h"
#include "sim/symmetry/partition.h"
#include "sim/symmetry/placed_job.h"

namespace lockstep {

struct RankClass {
  Rank representative;
  std::int64_t size = 1;
  std::int64_t slowdown = 0;  // per mille
};

// Where the operations of a rank class meet an activity class.
struct ReducedPort {
  std::uint32_t activity = 0;      // class
  std::uint32_t participants = 0;  // ranks of one activity that reach it through this port
};

struct ReducedShares {
  std::vector<LinkShare> all;    // by link class, of all activities of the class together
  std::vector<LinkShare> alone;  // of the representative: the largest coefficient in each link class; empty: as `all`
};

struct ActivityClass {
  std::int64_t size = 1;
  std::vector<ReducedShares> routes;  // by RouteForm, up to the last that is used
  // The same in the states of the faults, from state 1 on; empty: as `routes`.
  std::vector<std::vector<ReducedShares>> detours;
  // Rank classes that take part; one that does so through two ports stands twice.
  std::vector<std::uint32_t> members;
  const PlacedCommunicator* communicator = nullptr;  // of the representative, with its shapes; or
  const AlgorithmShapes* algorithms = nullptr;
  const PlacedChannel* channel = nullptr;
  std::uint32_t sender = 0;  // of a channel: rank classes
  std::uint32_t receiver = 0;

  [[nodiscard]] const ReducedShares& shares(RouteForm form, std::size_t state) const {
    const bool has_detour = state > 0 && state <= detours.size() && !detours[state - 1].empty();
    return (has_detour ? detours[state - 1] : routes)[static_cast<std::size_t>(form)];
  }
};

class ReducedJob {
 public:
  // `job` must outlive the result.
  ReducedJob(const PlacedJob& job, const Partition& partition);

  [[nodiscard]] const std::vector<RankClass>& ranks() const { return ranks_; }
  [[nodiscard]] const std::vector<ActivityClass>& activities() const { return activities_; }
  [[nodiscard]] std::span<const Rate> link_capacities() const { return link_capacities_; }  // by link class
  // The network's link that stands for a link class.
  [[nodiscard]] LinkId representative(LinkId link_class) const { return link_representatives_[link_class.index()]; }
  [[nodiscard]] std::int64_t total_ranks() const { return total_ranks_; }
  [[nodiscard]] bool has_detours() const { return has_detours_; }

  // By number, as in Program::ports().
  [[nodiscard]] const ReducedPort& port(std::uint32_t rank_class, std::uint32_t number) const {
    return ports_[rank_class][number];
  }

 private:
  void add_ranks(const PlacedJob& job, const Partition& p);
  void add_activities(const PlacedJob& job, const Partition& p);
  void add_routes(const PlacedJob& job, const Partition& p);
  void add_links(const PlacedJob& job, const Partition& p);

  std::vector<RankClass> ranks_;
  Rows<ReducedPort> ports_;  // by rank class
  std::vector<ActivityClass> activities_;
  std::vector<Rate> link_capacities_;
  std::vector<LinkId> link_representatives_;
  std::int64_t total_ranks_ = 0;
  bool has_detours_ = false;
};

}  // namespace lockstep
