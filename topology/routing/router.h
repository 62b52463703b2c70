// SPDX-License-Identifier: Apache-2.0
// Which links a transfer uses and with what share. Shares are integers on a common scale: a flow of weight W puts
// coefficient W on every link all of it crosses and W/k on each of k links it is spread over evenly; W is a multiple
// of every number of equal-cost paths (on a folded Clos the largest of them) when spraying and 1 otherwise.
//
//   ecmp    one path, by a seeded hash of the flow key and both ends (per-flow hashing; what Ethernet switches do)
//   spray   all equal-cost paths evenly (packet spraying, and adaptive routing at its best; the InfiniBand default)
//   static  path (source + destination) modulo count: D-mod-k like, no hash
//
// Bundling: where all transfers are sprayed, links that are always loaded alike (FoldedClos) are left to the first of them: it gets the
// share that each of them would have, so levels, rates and completions are the same integers, from ten links a hop instead of
// thousands. Not with transfers on fixed paths, nor when links of a bundle come to differ in capacity.
//
// NOT modelled: hash functions of real switches (a good hash stands for all), imperfect adaptive routing.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "topology/network.h"

namespace lockstep {

enum class RoutingPolicy : std::uint8_t { kEcmp, kSpray, kStatic };
[[nodiscard]] std::string_view to_text(RoutingPolicy policy);  // "ecmp", "spray", "static"

// Sorted by link, one entry per link.
struct Route {
  std::vector<LinkShare> shares = {};
  Duration latency = {};  // of the longest path used
};

enum class Bundling : std::uint8_t { kOff, kOn };

class Router {
 public:
  // `network` must outlive the router. Bundling has an effect under spray only.
  Router(const Network& network, RoutingPolicy policy, std::uint64_t seed, Bundling bundling = Bundling::kOff);

  [[nodiscard]] const Network& network() const { return *network_; }
  [[nodiscard]] RoutingPolicy policy() const { return policy_; }
  // W above: the rate of a transfer in units is weight() times its level.
  [[nodiscard]] std::int64_t weight() const { return weight_; }
  // Adds one transfer of weight() over `hop` to `route` (call finish() after the last one). Throws UserError when the
  // two ends are not connected.
  void add(const Hop& hop, std::uint64_t flow_key, Route& route) const;
  // Adds one transfer on a fixed path (taken modulo the number of equal-cost paths). PRE: links are not bundled.
  void add_on_path(const Hop& hop, std::int64_t path, Route& route) const;
  // The link whose load is that of `link`: itself, unless links are bundled.
  [[nodiscard]] LinkId representative(LinkId link) const { return is_bundling_ ? network_->first_of_bundle(link) : link; }
  // Sorts by link and merges duplicate links by adding their coefficients.
  static void finish(Route& route);
  // Both together. PRE: both are finished.
  [[nodiscard]] static Route sum(const Route& a, const Route& b);

 private:
  [[nodiscard]] std::int64_t choose(const Hop& hop, std::uint64_t flow_key) const;

  const Network* network_;
  RoutingPolicy policy_;
  std::uint64_t seed_;
  std::int64_t weight_ = 1;
  bool is_bundling_ = false;
};

}  // namespace lockstep
