// SPDX-License-Identifier: Apache-2.0
// Which links a transfer uses and with what share. Shares are integers on a common scale: a flow of weight W puts
// coefficient W on every link all of it crosses and W/k on each of k links it is spread over evenly. Of P, a multiple of every number of
// equal-cost paths (on a folded Clos the largest of them), and N queue pairs:
//
//   ecmp      W = N            each queue pair one path, by a seeded hash of the flow key, both ends and its number: 1 on each, which add up
//                              where they meet. NCCL splits the messages of a connection evenly over its queue pairs
//                              (NCCL_IB_QPS_PER_CONNECTION with NCCL_IB_SPLIT_DATA_ON_QPS), so it moves at the pace of the worst of them
//   spray     W = P            all equal-cost paths evenly (packet spraying, and adaptive routing at its best; the InfiniBand default)
//   static    W = 1            path (source + destination) modulo count: D-mod-k like, no hash; queue pairs go the same way
//   flowlet   W = b lcm(P, N)  the share a/b of bytes that follow a gap in the flow may choose anew. Flowlets turn out short on busy paths,
//                              which tear gaps, and long on idle ones (Vanini et al., LetFlow, NSDI 2017; Alizadeh et al., CONGA, SIGCOMM
//                              2014): in the fluid limit they are spread evenly. The rest stays where its hash is, as under ecmp
//   adaptive  W = 19 P         as spray, by the least loaded port for each packet, as that is known: a port among equals is idle 5 % of the time
//                              while there is traffic for it, so what is spread counts 20/19 on links that have alternatives. NVIDIA
//                              reports 95 % of the data rate with adaptive routing against 60 % with hashing, on 100,000 GPUs (Spectrum-X in
//                              Colossus, press release of 2024-10-28)
//
// Bundling: where all transfers are spread, links that are always loaded alike (FoldedClos) are left to the first of them: it gets the
// share that each of them would have, so levels, rates and completions are the same integers, from ten links a hop instead of
// thousands. Not with transfers on fixed paths, nor when links of a bundle come to differ in capacity.
//
// NOT modelled: hash functions of real switches (a good hash stands for all); loss and delay by packets out of order; flowlets and
// adaptive choice that know the load, beyond the above.
#pragma once

#include <cstdint>
#include <vector>

#include "topology/network.h"
#include "topology/routing/routing.h"

namespace lockstep {

// 95 of 100; see adaptive above.
inline constexpr std::int64_t kAdaptiveUseful = 19;
inline constexpr std::int64_t kAdaptiveWhole = 20;

// Sorted by link, one entry per link.
struct Route {
  std::vector<LinkShare> shares = {};
  Duration latency = {};  // of the longest path used
};

enum class Bundling : std::uint8_t { kOff, kOn };

class Router {
 public:
  // `network` must outlive the router. Bundling has an effect under spray and adaptive only.
  Router(const Network& network, const Routing& routing, std::uint64_t seed, Bundling bundling = Bundling::kOff);
  Router(const Network& network, RoutingPolicy policy, std::uint64_t seed, Bundling bundling = Bundling::kOff)
      : Router(network, Routing{.policy = policy}, seed, bundling) {}

  [[nodiscard]] const Network& network() const { return *network_; }
  [[nodiscard]] const Routing& routing() const { return routing_; }
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
  [[nodiscard]] std::int64_t choose(const Hop& hop, std::uint64_t flow_key, int queue_pair) const;
  // `spread_` of the weight over all paths, evenly; returns the latency.
  Duration append_spread(const Hop& hop, std::vector<LinkShare>& out) const;

  const Network* network_;
  Routing routing_;
  std::uint64_t seed_;
  std::int64_t weight_ = 1;  // spread_ + queue pairs x pinned_
  std::int64_t spread_ = 0;  // over all paths
  std::int64_t pinned_ = 1;  // to the path of each queue pair
  bool is_bundling_ = false;
};

}  // namespace lockstep
