// SPDX-License-Identifier: Apache-2.0
// The paths of a fabric that its broken links leave, in the order of all.
//
//   failed    links that carry nothing: a path over one does not count
//   avoided   links that are broken for a time: a path over one counts where no other is left, and waits there
//
// A hop is spread over the paths that survive, evenly, as weighted ECMP does (Zhou et al., WCMP, EuroSys 2014); hashing chooses among
// them. On a graph, a hop of whose usual paths none survives takes the shortest way there is (of equally short ones the first in the
// order of links), as a fabric manager would find it; a folded Clos goes up and down once, so there such a hop has no way.
//
// Bundles (folded_clos.h): a spine with a broken link, or one that will break, is odd; the links of odd spines stand for themselves,
// those of the others for each other. Hops spread evenly over paths, so the links to spines that are not odd stay loaded alike.
//
// Weight: a multiple of the number of paths of every hop, at most kMostWeight. Where none is (many different numbers), shares of a hop
// differ by one unit, the first ones larger, and nothing is bundled.
//
// Cost of a hop: O(spines + paths over odd spines) to count, plus its links; a detour is a breadth-first search.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "topology/fabric/fabric.h"

namespace lockstep {

class SurvivingPaths {
 public:
  // All sorted. `odd`: links between switches that differ from their like at some time, failed and avoided ones among them.
  SurvivingPaths(const Fabric& fabric, std::vector<LinkId> failed, std::vector<LinkId> avoided, const std::vector<LinkId>& odd);

  static constexpr std::int64_t kMostWeight = std::int64_t{1} << 20;
  // Gives all of them, states of one fabric, their common weight.
  static void agree_on_weight(const Fabric& fabric, std::span<SurvivingPaths> states);

  // As those of the fabric.
  [[nodiscard]] std::int64_t spray_weight() const { return weight_; }
  [[nodiscard]] std::int64_t path_count(const Fabric& fabric, const PortPair& ends) const;
  Duration append_path(const Fabric& fabric, const PortPair& ends, std::int64_t index, std::int64_t weight,
                       std::vector<LinkShare>& out) const;
  Duration append_spray(const Fabric& fabric, const PortPair& ends, std::int64_t weight, std::vector<LinkShare>& out) const;
  Duration append_bundles(const Fabric& fabric, const PortPair& ends, std::int64_t weight, std::vector<LinkShare>& out) const;
  [[nodiscard]] LinkId first_of_bundle(const Fabric& fabric, LinkId link) const;

 private:
  struct Arc {
    std::uint32_t to = 0;  // switch
    LinkId link;
  };
  // Paths in blocks: of a folded Clos those over one spine, of which only odd ones have to be looked at.
  struct Ways {
    std::int64_t regular = 0;         // all of the blocks that are not odd
    std::vector<std::int64_t> odd;    // numbers of surviving paths in odd blocks, ascending
    std::vector<LinkId> detour = {};  // instead
    [[nodiscard]] std::int64_t count() const { return detour.empty() ? regular + static_cast<std::int64_t>(odd.size()) : 1; }
  };
  [[nodiscard]] bool is_broken(LinkId link, bool with_avoided) const;
  [[nodiscard]] bool is_odd(std::uint32_t spine) const { return spine < odd_spines_.size() && odd_spines_[spine]; }
  [[nodiscard]] std::uint32_t first_regular_spine() const;
  [[nodiscard]] Ways ways(const Fabric& fabric, const PortPair& ends) const;
  [[nodiscard]] Ways ways(const FoldedClos& fabric, const PortPair& ends, bool with_avoided) const;
  [[nodiscard]] Ways ways(const GraphFabric& fabric, const PortPair& ends, bool with_avoided) const;
  // A way from switch to switch; empty when there is none.
  [[nodiscard]] std::vector<LinkId> detour(std::uint32_t from, std::uint32_t to, bool with_avoided) const;
  static Duration append_detour(const GraphFabric& fabric, const PortPair& ends, const std::vector<LinkId>& links,
                                std::int64_t weight, std::vector<LinkShare>& out);
  // Number of the index-th surviving path.
  [[nodiscard]] std::int64_t number_of(const Fabric& fabric, const PortPair& ends, const Ways& ways, std::int64_t index) const;
  void list_path_counts(const Fabric& fabric, std::vector<std::int64_t>& out) const;

  std::vector<LinkId> failed_;
  std::vector<LinkId> avoided_;
  std::vector<bool> odd_spines_;        // by number within a pod
  std::vector<std::vector<Arc>> arcs_;  // of a graph, by switch
  std::int64_t weight_ = 1;
  bool is_exact_ = true;  // every number of paths divides the weight
};

}  // namespace lockstep
