// SPDX-License-Identifier: Apache-2.0
// Links computed from their ids against a walk over the structure that knows nothing of ids of links.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <map>
#include <set>
#include <string>
#include <utility>

#include "tests/property/random_network.h"
#include "topology/link_rows.h"

namespace lockstep {
namespace {

struct Cables {
  LinkTier tier = LinkTier::kHost;
  Rate rate;
  int count = 0;
  auto operator<=>(const Cables&) const = default;
};
using CablesByEnds = std::map<std::pair<DeviceId, DeviceId>, Cables>;

// As folded_clos.h and the headers of the servers draw it, tier by tier.
class Walk {
 public:
  explicit Walk(const Network& net) : net_(net), shape_(test::clos(net).shape()) {}

  CablesByEnds find() {
    if (const auto* box = std::get_if<NvSwitchServer>(&net_.server())) walk_boxes(*box);
    if (const auto* box = std::get_if<WiredServer>(&net_.server())) walk_wired(*box);
    walk_ports();
    walk_trunks();
    return found_;
  }

 private:
  void join(DeviceId a, DeviceId b, LinkTier tier, const Wire& wire, int cables = 1) {
    found_[{a, b}] = {tier, wire.capacity, cables};
    found_[{b, a}] = {tier, wire.capacity, cables};
  }

  // Devices of a box: GPUs, NVSwitch, PCIe hub, NICs.
  void walk_boxes(const NvSwitchServer& box) {
    const auto gpus = static_cast<std::uint32_t>(box.endpoints());
    const auto nics = static_cast<std::uint32_t>(box.nics());
    per_node_ = gpus + 2 + nics;
    first_port_ = gpus + 2;
    ports_ = nics;
    for (std::uint32_t n = 0; n < net_.node_count(); ++n) {
      const std::uint32_t base = n * per_node_;
      for (std::uint32_t g = 0; g < gpus; ++g) {
        join(DeviceId(base + g), DeviceId(base + gpus), LinkTier::kNvlink, test::kUnitWire);
        join(DeviceId(base + g), DeviceId(base + gpus + 1), LinkTier::kPcie, test::kUnitWire);
      }
      for (std::uint32_t p = 0; p < nics; ++p) {
        join(DeviceId(base + gpus + 1), DeviceId(base + first_port_ + p), LinkTier::kPcie, test::kUnitWire);
      }
    }
  }

  // Wired servers are their own list of links.
  void walk_wired(const WiredServer& box) {
    per_node_ = box.device_count();
    ports_ = static_cast<std::uint32_t>(box.nics());
    first_port_ = per_node_ - ports_;
    for (std::uint32_t n = 0; n < net_.node_count(); ++n) {
      for (const Link& l : box.links()) {
        const std::uint32_t base = n * per_node_;
        found_[{DeviceId(base + l.from.value()), DeviceId(base + l.to.value())}] = {l.tier, l.capacity, 1};
      }
    }
  }

  void walk_ports() {
    const auto per_rack = static_cast<std::uint32_t>(shape_.nodes_per_leaf);
    const std::uint32_t rails = shape_.wiring == Wiring::kRack ? 1 : ports_;
    for (std::uint32_t n = 0; n < net_.node_count(); ++n) {
      for (std::uint32_t p = 0; p < ports_; ++p) {
        const std::uint32_t leaf = n / per_rack * rails + (rails > 1 ? p : 0);
        join(DeviceId(n * per_node_ + first_port_ + p), test::clos(net_).leaf(leaf), LinkTier::kHost, shape_.host);
        leaves_ = std::max(leaves_, leaf + 1);
      }
    }
    if (shape_.wiring != Wiring::kRack) leaves_ = (leaves_ + rails - 1) / rails * rails;
  }

  void walk_trunks() {
    if (leaves_ < 2 || shape_.wiring == Wiring::kRailOnly) return;
    const std::uint32_t leaves_per_pod =
        shape_.leaves_per_pod > 0 ? static_cast<std::uint32_t>(shape_.leaves_per_pod) : leaves_;
    const auto spines = static_cast<std::uint32_t>(shape_.spines);
    const auto cores = static_cast<std::uint32_t>(shape_.cores_per_spine);
    for (std::uint32_t l = 0; l < leaves_; ++l) {
      const std::uint32_t pod = l / leaves_per_pod;
      for (std::uint32_t s = 0; s < spines; ++s) {
        const DeviceId spine = test::clos(net_).spine(pod * spines + s);
        join(test::clos(net_).leaf(l), spine, LinkTier::kLeafSpine, shape_.leaf_spine, shape_.leaf_spine_cables);
        if (leaves_ <= leaves_per_pod) continue;
        for (std::uint32_t c = 0; c < cores; ++c) {
          join(spine, test::clos(net_).core(s * cores + c), LinkTier::kSpineCore, shape_.spine_core, shape_.spine_core_cables);
        }
      }
    }
  }

  const Network& net_;
  const FabricShape& shape_;
  CablesByEnds found_;
  std::uint32_t per_node_ = 1;
  std::uint32_t first_port_ = 0;
  std::uint32_t ports_ = 1;
  std::uint32_t leaves_ = 0;
};

// Every link that the walk finds has an id, every id is such a link, in the row of the device where it starts and in no other; the two
// directions of a cable have neighbouring ids; no two links have the same name.
RC_GTEST_PROP(LinkProperty, LinksComputedFromIdsAreThoseOfTheStructure, ()) {
  const Network net =
      test::random_network({Wire::pure(Rate::gbps(100), Duration::nanos(1)), Wire::pure(Rate::gbps(200), Duration::nanos(2)),
                            Wire::pure(Rate::gbps(400), Duration::nanos(3))});
  const LinkRows rows(net);
  CablesByEnds computed;
  std::set<LinkId> met;
  std::set<std::string> names;
  for (std::size_t d = 0; d < net.device_count(); ++d) {
    for (const LinkId id : rows.from(DeviceId::from_index(d))) {
      const Link l = net.link(id);
      RC_ASSERT(l.from == DeviceId::from_index(d));
      RC_ASSERT(net.link(LinkId(id.value() ^ 1u)).from == l.to);
      RC_ASSERT(net.link(LinkId(id.value() ^ 1u)).to == l.from);
      RC_ASSERT(met.insert(id).second);
      RC_ASSERT(names.insert(net.name(id)).second);
      Cables& cables = computed[{l.from, l.to}];
      cables = {l.tier, l.capacity, cables.count + 1};
    }
  }
  RC_ASSERT(met.size() == net.link_count());
  RC_ASSERT(computed == Walk(net).find());
}

}  // namespace
}  // namespace lockstep
