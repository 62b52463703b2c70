// SPDX-License-Identifier: Apache-2.0
// The partition found by hashing is the coarsest equitable one: it is equitable member by member, and a plain refinement that compares
// whole lists instead of hashes, from the same first colours, ends with as many classes of each sort.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <map>
#include <set>

#include "sim/experiment/runnable_job.h"
#include "tests/support/random_scenarios.h"
#include "workloads/parallel/placement.h"
#include "workloads/schedule/job_program.h"

namespace lockstep {
namespace {

using Key = std::vector<std::int64_t>;

// Colours by whole keys; true when a colour was split.
bool recolour(std::vector<int>& colours, const std::vector<Key>& keys) {
  std::map<std::pair<int, Key>, int> numbers;
  const std::set<int> before(colours.begin(), colours.end());
  for (std::size_t i = 0; i < colours.size(); ++i) {
    colours[i] = numbers.try_emplace({colours[i], keys[i]}, static_cast<int>(numbers.size())).first->second;
  }
  return numbers.size() > before.size();
}

struct PlainRefinement {
  std::vector<int> ranks;
  std::vector<int> activities;
  std::vector<int> links;

  explicit PlainRefinement(const PlacedJob& job)
      : ranks(job.rank_count(), 0), activities(job.activity_count(), 0), links(job.link_count(), 0) {
    begin(job);
    while (refine(job)) {
    }
  }

  // The capacity as built, and all that is said of its faults that come and go.
  static Key link_key(const PlacedJob& job, LinkId link) {
    Key key{job.capacity(link.index()).units()};
    if (job.timeline == nullptr) return key;
    std::multiset<Key> faults;
    for (const std::uint32_t f : job.timeline->faults_of(link)) {
      const FaultSpec& spec = job.timeline->faults()[f];
      const auto word = [](const std::optional<Duration>& d) { return d ? d->picos() : -1; };
      const double left = spec.is_failure() ? 0 : spec.rate->value;
      faults.insert({static_cast<std::int64_t>(left * 1e9), word(spec.from), word(spec.until), word(spec.every)});
    }
    for (const Key& k : faults) key.insert(key.end(), k.begin(), k.end());
    return key;
  }

  void begin(const PlacedJob& job) {
    std::vector<Key> of_rank, of_activity, of_link(job.link_count());
    for (std::size_t r = 0; r < job.rank_count(); ++r) of_rank.push_back({job.roles[r], job.slowdown(r)});
    for (const PlacedCommunicator& c : job.communicators) {
      of_activity.push_back({0, c.size, c.kinds, c.shape.nodes, c.shape.channels, c.shape.nvlink_channels, c.shape.uses_pcie,
                             c.shape.weight, c.shape.network_latency.picos(), c.closed_rate.units(), c.open_rate.units(),
                             c.others, static_cast<std::int64_t>(c.algorithm)});
    }
    for (const PlacedChannel& c : job.channels) {
      of_activity.push_back(
          {1, static_cast<std::int64_t>(c.send_stream), static_cast<std::int64_t>(c.hop), c.path_latency.picos()});
    }
    for (std::size_t l = 0; l < job.link_count(); ++l) of_link[l] = link_key(job, LinkId::from_index(l));
    recolour(ranks, of_rank);
    recolour(activities, of_activity);
    recolour(links, of_link);
  }

  bool refine(const PlacedJob& job) {
    std::vector<Key> of_rank(ranks.size()), of_activity(activities.size()), of_link(links.size());
    std::vector<std::multiset<Key>> at_activity(activities.size()), at_link(links.size());
    for (std::size_t r = 0; r < ranks.size(); ++r) {
      for (std::size_t i = 0; i < job.ports[r].size(); ++i) {
        const std::size_t a = job.ports[r][i].index();
        of_rank[r].push_back(activities[a]);
        at_activity[a].insert({0, static_cast<std::int64_t>(i), ranks[r]});
      }
    }
    job.for_each_share([&](std::size_t a, LinkId link, const RouteLabel& label) {
      const std::int64_t form = 100 * std::int64_t{label.state} + static_cast<std::int64_t>(label.form);
      at_activity[a].insert({1, form, label.coefficient, links[link.index()]});
      at_link[link.index()].insert({form, label.coefficient, activities[a]});
    });
    for (std::size_t a = 0; a < activities.size(); ++a) {
      for (const Key& k : at_activity[a]) of_activity[a].insert(of_activity[a].end(), k.begin(), k.end());
    }
    for (std::size_t l = 0; l < links.size(); ++l) {
      for (const Key& k : at_link[l]) of_link[l].insert(of_link[l].end(), k.begin(), k.end());
    }
    bool has_split = recolour(ranks, of_rank);
    has_split |= recolour(activities, of_activity);
    has_split |= recolour(links, of_link);
    return has_split;
  }
};

std::size_t count(const std::vector<int>& colours) { return std::set<int>(colours.begin(), colours.end()).size(); }

PlacedJob placed(const test::RandomScenario& s, const PreparedCluster& prepared, const Program& program) {
  return RunnableJob(prepared, s.cluster, program, place_ranks(s.plan, prepared.network, s.seed), {.seed = s.seed}).placed;
}

RC_GTEST_PROP(Partition, IsTheCoarsestEquitableOne, ()) {
  const test::RandomScenario s = test::draw_scenario();
  RC_LOG() << test::to_yaml(s);
  const PreparedCluster prepared(s.cluster, s.seed);
  const std::unique_ptr<Program> program = make_program(s.plan, performance_of(s.cluster.server->gpu));
  const PlacedJob job = placed(s, prepared, *program);
  const Partition p = coarsest_partition(job);
  RC_ASSERT(is_equitable(job, p));
  RC_ASSERT(is_equitable(job, finest_partition(job)));

  const PlainRefinement plain(job);
  RC_ASSERT(p.ranks.count() == count(plain.ranks));
  RC_ASSERT(p.activities.count() == count(plain.activities));
  std::set<int> used;
  for (std::size_t l = 0; l < job.link_count(); ++l) {
    if (p.links.class_of[l] != Classes::kNone) used.insert(plain.links[l]);
  }
  RC_ASSERT(p.links.count() == used.size());

  const ReducedJob reduced(job, p);
  RC_ASSERT(reduced.total_ranks() == static_cast<std::int64_t>(job.rank_count()));
}

// A partition that merges two unequal classes is told apart, whichever they are.
RC_GTEST_PROP(Partition, MergedClassesAreNotEquitable, ()) {
  const test::RandomScenario s = test::draw_scenario();
  const PreparedCluster prepared(s.cluster, s.seed);
  const std::unique_ptr<Program> program = make_program(s.plan, performance_of(s.cluster.server->gpu));
  const PlacedJob job = placed(s, prepared, *program);
  Partition p = coarsest_partition(job);
  RC_PRE(p.ranks.count() > 1);
  const auto a = static_cast<std::uint32_t>(test::draw(0, static_cast<std::int64_t>(p.ranks.count()) - 2));
  const auto b = static_cast<std::uint32_t>(test::draw(a + 1, static_cast<std::int64_t>(p.ranks.count()) - 1));
  for (std::uint32_t& c : p.ranks.class_of) {
    if (c == b) c = a;
  }
  RC_ASSERT(!is_equitable(job, p));
}

}  // namespace
}  // namespace lockstep
