// SPDX-License-Identifier: Apache-2.0
#include "topology/server/wired_server.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/check.h"

namespace lockstep {

WiredServer::WiredServer(Plan plan) : plan_(std::move(plan)) {
  const auto gpus = static_cast<std::size_t>(plan_.gpus);
  const auto nics = static_cast<std::size_t>(plan_.nics);
  LOCKSTEP_CHECK(plan_.gpus > 0 && plan_.gpus <= kMostWiredGpus && plan_.nics >= 0 && plan_.devices.size() >= gpus + nics,
                 "a server of {} GPUs, {} NICs and {} devices", plan_.gpus, plan_.nics, plan_.devices.size());
  LOCKSTEP_CHECK(plan_.inside.size() == gpus * gpus && plan_.extra_latency.size() == gpus * gpus &&
                     plan_.direct_links.size() == gpus * gpus && plan_.out.size() == gpus * nics,
                 "{} paths inside and {} paths out of a server of {} GPUs and {} NICs", plan_.inside.size(), plan_.out.size(),
                 plan_.gpus, plan_.nics);
  for (std::size_t i = 0; i < plan_.links.size(); i += 2) {
    LOCKSTEP_CHECK(i + 1 < plan_.links.size() && plan_.links[i].from == plan_.links[i + 1].to &&
                       plan_.links[i].to == plan_.links[i + 1].from,
                   "link {} has no way back", i);
  }
  for (int a = 0; a < plan_.gpus; ++a) {
    for (int b = 0; b < plan_.gpus; ++b) {
      const Path path = path_inside(a, b);
      LinkTier tier = LinkTier::kNvlink;
      for (const std::uint32_t l : path) tier = std::max(tier, plan_.links[l].tier);
      // A hop over sockets is a hop over PCIe with more on the way.
      inside_tier_.push_back(std::min(tier, LinkTier::kPcie));
      inside_latency_.push_back(latency_of(path) + plan_.extra_latency[pair(a, b)]);
      if (a != b) check_path(path, static_cast<std::uint32_t>(a), static_cast<std::uint32_t>(b));
    }
  }
  for (std::size_t i = 0; i < gpus * nics; ++i) {
    const Path path = plan_.out[i];
    check_path(path, static_cast<std::uint32_t>(i / nics), port_devices()[i % nics]);
    port_latency_.push_back(latency_of(path));
    for (std::size_t k = path.size(); k-- > 0;) in_.push(path[k] ^ 1u);
    in_.end_row();
  }
}

std::string WiredServer::name(std::uint32_t node, std::uint32_t local) const {
  return fmt::format("node{}.{}", node, plan_.devices[local].name);
}

std::vector<std::uint32_t> WiredServer::port_devices() const {
  std::vector<std::uint32_t> nics(static_cast<std::size_t>(plan_.nics));
  std::iota(nics.begin(), nics.end(), device_count() - static_cast<std::uint32_t>(plan_.nics));
  return nics;
}

Duration WiredServer::latency_of(Path path) const {
  Duration sum;
  for (const std::uint32_t l : path) sum += plan_.links[l].latency;
  return sum;
}

void WiredServer::check_path(Path path, std::uint32_t from, std::uint32_t to) const {
  std::uint32_t at = from;
  for (const std::uint32_t l : path) {
    LOCKSTEP_CHECK(l < link_count() && plan_.links[l].from.value() == at, "the path from device {} to {} breaks at link {}",
                   from, to, l);
    at = plan_.links[l].to.value();
  }
  LOCKSTEP_CHECK(at == to && !path.empty(), "the path from device {} to {} ends at {}", from, to, at);
}

}  // namespace lockstep
