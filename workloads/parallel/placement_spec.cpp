// SPDX-License-Identifier: Apache-2.0
#include "workloads/parallel/placement_spec.h"

#include <algorithm>
#include <string>

#include "base/field_table.h"

namespace lockstep {
namespace {

constexpr std::array<const char*, 4> kAxisNames = {"tp", "cp", "dp", "pp"};

}  // namespace

const FieldTable<PlacementSpec>& placement_fields() {
  static const FieldTable<PlacementSpec> table = [] {
    FieldTable<PlacementSpec> t;
    t.choice(
         "policy", &PlacementSpec::policy,
         {{"packed", PlacementPolicy::kPacked, "nodes in order"},
          {"spread", PlacementPolicy::kSpread, "nodes of all pods and racks in turn: neighbours are far apart"},
          {"random", PlacementPolicy::kRandom, "nodes in an order drawn by the seed"},
          {"rack_aware", PlacementPolicy::kRackAware, "the fewest racks that hold the job, and of those the fullest"},
          {"rail_aligned", PlacementPolicy::kRailAligned,
           "nodes as rack_aware; ranks so that a data-parallel group has the same GPU of every node, and stays on its rail"}})
        .doc("how nodes are chosen");
    t.field("seed", &PlacementSpec::seed).at_least(0).doc("of policy: random and of taken; absent: the seed of the run");
    t.field("taken", &PlacementSpec::taken)
        .range({0}, {1})
        .doc("share of the cluster's nodes that others occupy, drawn by the seed; the policy chooses among the rest");
    t.field("hosts", &PlacementSpec::hosts).doc("nodes by number instead of a policy, in order, like [4-7, 0]");
    t.field("endpoints", &PlacementSpec::endpoints)
        .doc("GPUs by number instead of a policy, in order, like [8-15, 0-7]: with the default rank order that of each rank");
    t.validate([](const PlacementSpec& p, Section& s) {
      if (!p.hosts.empty() && !p.endpoints.empty()) s.error("hosts", "endpoints say already where ranks run", "one of the two");
      const bool is_explicit = !p.hosts.empty() || !p.endpoints.empty();
      const char* given = p.hosts.empty() ? "endpoints" : "hosts";
      if (is_explicit && p.policy != PlacementPolicy::kPacked) {
        s.error("policy", std::string("has nothing to choose beside ") + given, "one of the two");
      }
      if (is_explicit && p.taken.value > 0) {
        s.error("taken", std::string("has no effect on the ") + given + " given", "leave it out, or use a policy");
      }
    });
    return t;
  }();
  return table;
}

Parsed<RankOrder> Codec<RankOrder>::parse(std::string_view text) {
  constexpr const char* kHint = "tp, cp, dp and pp, each once, the one that runs fastest over the GPUs first: tp-cp-dp-pp";
  RankOrder order;
  std::size_t count = 0;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find('-', begin), text.size());
    const auto* const name = std::find(kAxisNames.begin(), kAxisNames.end(), text.substr(begin, end - begin));
    if (name == kAxisNames.end() || count == order.axes.size()) break;
    order.axes[count++] = static_cast<ParallelAxis>(name - kAxisNames.begin());
    begin = end + 1;
  }
  std::array<ParallelAxis, 4> sorted = order.axes;
  std::sort(sorted.begin(), sorted.end());
  const bool has_all = count == sorted.size() && std::adjacent_find(sorted.begin(), sorted.end()) == sorted.end();
  if (!has_all || print(order) != text) return {std::nullopt, "'" + std::string(text) + "' is no order of the axes", kHint};
  return {order, {}, {}};
}

std::string Codec<RankOrder>::print(const RankOrder& v) {
  std::string text;
  for (const ParallelAxis a : v.axes) text += (text.empty() ? "" : "-") + std::string(kAxisNames[static_cast<std::size_t>(a)]);
  return text;
}

}  // namespace lockstep
