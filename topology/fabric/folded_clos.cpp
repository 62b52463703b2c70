// SPDX-License-Identifier: Apache-2.0
#include "topology/fabric/folded_clos.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "base/check.h"

namespace lockstep {
namespace {

std::uint32_t as_count(int v) {
  LOCKSTEP_CHECK(v >= 0, "a fabric counts {} of something", v);
  return static_cast<std::uint32_t>(v);
}

}  // namespace

std::string_view to_text(Wiring wiring) {
  switch (wiring) {
    case Wiring::kRack:
      return "rack";
    case Wiring::kRail:
      return "rail";
    case Wiring::kRailOnly:
      return "rail_only";
  }
  LOCKSTEP_CHECK(false, "unknown wiring {}", static_cast<int>(wiring));
}

FoldedClos::FoldedClos(const FabricShape& shape, std::uint32_t nodes, NodeBlock node)
    : shape_(shape),
      nodes_(nodes),
      node_(std::move(node)),
      ports_per_node_(static_cast<std::uint32_t>(node_.ports.size())),
      nodes_per_rack_(as_count(shape.nodes_per_leaf)),
      rails_(as_count(shape.rails(static_cast<int>(ports_per_node_)))),
      leaf_cables_(as_count(shape.leaf_spine_cables)),
      core_cables_(as_count(shape.spine_core_cables)),
      first_device_(nodes * node_.devices),
      first_link_(nodes * node_.links) {
  LOCKSTEP_CHECK(nodes > 0 && shape.nodes_per_leaf > 0, "{} nodes, {} per leaf", nodes, shape.nodes_per_leaf);
  leaves_ = ports_per_node_ == 0 ? 0 : ((nodes - 1) / nodes_per_rack_ + 1) * rails_;
  leaves_per_pod_ = shape.leaves_per_pod > 0 ? as_count(shape.leaves_per_pod) : std::max(leaves_, 1u);
  LOCKSTEP_CHECK(leaves_ <= leaves_per_pod_ || leaves_per_pod_ % rails_ == 0, "pods of {} leaves split racks of {} rails",
                 leaves_per_pod_, rails_);
  LOCKSTEP_CHECK(!keeps_rails() || (leaves_ <= rails_ && shape.spines == 0), "{} leaves and {} spines for {} separate rails",
                 leaves_, shape.spines, rails_);
  pods_ = leaves_ == 0 ? 0 : (leaves_ - 1) / leaves_per_pod_ + 1;
  spines_ = leaves_ > 1 ? as_count(shape.spines) : 0;
  cores_per_spine_ = pods_ > 1 ? as_count(shape.cores_per_spine) : 0;

  const std::uint64_t first_link = std::uint64_t{nodes} * node_.links;
  const std::uint64_t leaf_link = first_link + 2 * std::uint64_t{nodes} * ports_per_node_;
  const std::uint64_t spine_link = leaf_link + 2 * std::uint64_t{leaves_} * spines_ * leaf_cables_;
  constexpr std::uint64_t kIds = std::numeric_limits<std::uint32_t>::max();
  const std::uint64_t devices =
      std::uint64_t{nodes} * node_.devices + leaves_ + std::uint64_t{spines_} * (pods_ + cores_per_spine_);
  LOCKSTEP_CHECK(devices < kIds && first_link + link_count() < kIds, "{} devices and {} links need wider ids", devices,
                 first_link + link_count());
  first_leaf_link_ = static_cast<std::uint32_t>(leaf_link);
  first_spine_link_ = static_cast<std::uint32_t>(spine_link);
}

std::uint64_t FoldedClos::link_count() const {
  return 2 * (std::uint64_t{nodes_} * ports_per_node_ + std::uint64_t{leaves_} * spines_ * leaf_cables_ +
              std::uint64_t{pods_} * spines_ * cores_per_spine_ * core_cables_);
}

DeviceKind FoldedClos::kind(DeviceId device) const {
  const std::uint32_t i = device.value() - first_device_;
  if (i < leaves_) return DeviceKind::kLeaf;
  return i < leaves_ + spines() ? DeviceKind::kSpine : DeviceKind::kCore;
}

std::string FoldedClos::name(DeviceId device) const {
  const std::uint32_t i = device.value() - first_device_;
  const bool one_pod = pods_ == 1;
  if (i < leaves_) {
    if (keeps_rails()) return fmt::format("rail{}", i);
    const std::uint32_t in_pod = i % leaves_per_pod_;
    const std::string leaf =
        rails_ == 1 ? fmt::format("leaf{}", in_pod) : fmt::format("unit{}.rail{}", in_pod / rails_, in_pod % rails_);
    return one_pod ? leaf : fmt::format("pod{}.{}", i / leaves_per_pod_, leaf);
  }
  if (i < leaves_ + spines()) {
    const std::uint32_t s = i - leaves_;
    return one_pod ? fmt::format("spine{}", s) : fmt::format("pod{}.spine{}", s / spines_, s % spines_);
  }
  return fmt::format("core{}", i - leaves_ - spines());
}

LinkId FoldedClos::leaf_up(std::uint32_t leaf, std::uint32_t spine, std::uint32_t cable) const {
  return LinkId(first_leaf_link_ + 2 * ((leaf * spines_ + spine) * leaf_cables_ + cable));
}

LinkId FoldedClos::spine_up(std::uint32_t pod, std::uint32_t spine, std::uint32_t core, std::uint32_t cable) const {
  return LinkId(first_spine_link_ + 2 * (((pod * spines_ + spine) * cores_per_spine_ + core) * core_cables_ + cable));
}

std::optional<std::uint32_t> FoldedClos::cable_number(LinkId link) const {
  const std::uint32_t l = link.value();
  if (l < first_leaf_link_) return std::nullopt;
  const bool is_core = l >= first_spine_link_;
  const std::uint32_t cables = is_core ? core_cables_ : leaf_cables_;
  if (cables == 1) return std::nullopt;
  return (l - (is_core ? first_spine_link_ : first_leaf_link_)) / 2 % cables;
}

// Inverts port_up, leaf_up and spine_up.
Link FoldedClos::link(LinkId id) const {
  const bool is_core = id.value() >= first_spine_link_;
  const bool is_trunk = id.value() >= first_leaf_link_;
  const std::uint32_t at = id.value() - (is_core ? first_spine_link_ : is_trunk ? first_leaf_link_ : first_link_);
  const auto joined = [at](DeviceId low, DeviceId high, const Wire& wire, LinkTier tier) {
    const bool is_up = at % 2 == 0;
    return Link{is_up ? low : high, is_up ? high : low, wire.capacity, wire.nominal, wire.latency, tier};
  };
  const std::uint32_t cable = at / 2;
  if (is_core) {
    const std::uint32_t pair = cable / core_cables_;
    const std::uint32_t from = pair / cores_per_spine_;
    const std::uint32_t to = from % spines_ * cores_per_spine_ + pair % cores_per_spine_;
    return joined(spine(from), core(to), shape_.spine_core, LinkTier::kSpineCore);
  }
  if (is_trunk) {
    const std::uint32_t pair = cable / leaf_cables_;
    const std::uint32_t from = pair / spines_;
    return joined(leaf(from), spine(pod_of_leaf(from) * spines_ + pair % spines_), shape_.leaf_spine, LinkTier::kLeafSpine);
  }
  const std::uint32_t node = cable / ports_per_node_;
  const std::uint32_t port = cable % ports_per_node_;
  return joined(DeviceId(node * node_.devices + node_.ports[port]), leaf(leaf_of(node, port)), shape_.host, LinkTier::kHost);
}

std::int64_t FoldedClos::path_count(const PortPair& ends) const {
  const std::uint32_t a = leaf_of(ends.from.node, ends.from.port);
  const std::uint32_t b = leaf_of(ends.to.node, ends.to.port);
  if (a == b) return 1;
  const std::int64_t in_pod = leaf_bundle();
  return pod_of_leaf(a) == pod_of_leaf(b) ? in_pod : in_pod * cores_per_spine_ * core_cables_;
}

std::int64_t FoldedClos::max_path_count() const {
  if (leaves_ <= 1) return 1;
  const std::int64_t in_pod = leaf_bundle();
  const std::int64_t across = pods_ > 1 ? in_pod * cores_per_spine_ * core_cables_ : 0;
  return std::max<std::int64_t>({1, in_pod, across});
}

Duration FoldedClos::path_latency(const PortPair& ends) const {
  const std::uint32_t a = leaf_of(ends.from.node, ends.from.port);
  const std::uint32_t b = leaf_of(ends.to.node, ends.to.port);
  Duration one_way = shape_.host.latency;
  if (a != b) one_way += shape_.leaf_spine.latency;
  if (pod_of_leaf(a) != pod_of_leaf(b)) one_way += shape_.spine_core.latency;
  return one_way * 2;
}

Duration FoldedClos::append_path(const PortPair& ends, std::int64_t index, std::int64_t weight,
                                 std::vector<LinkShare>& out) const {
  const std::uint32_t a = leaf_of(ends.from.node, ends.from.port);
  const std::uint32_t b = leaf_of(ends.to.node, ends.to.port);
  out.push_back({port_up(ends.from), weight});
  if (a != b) {
    const bool across = pod_of_leaf(a) != pod_of_leaf(b);
    auto rest = static_cast<std::uint64_t>(index);
    const auto take = [&rest](std::uint32_t count) {
      const auto digit = static_cast<std::uint32_t>(rest % count);
      rest /= count;
      return digit;
    };
    const std::uint32_t core_cable = across ? take(core_cables_) : 0;
    const std::uint32_t leaf_cable = take(leaf_cables_);
    const std::uint32_t core = across ? take(cores_per_spine_) : 0;
    const auto spine = static_cast<std::uint32_t>(rest);
    out.push_back({leaf_up(a, spine, leaf_cable), weight});
    if (across) {
      out.push_back({spine_up(pod_of_leaf(a), spine, core, core_cable), weight});
      out.push_back({down(spine_up(pod_of_leaf(b), spine, core, core_cable)), weight});
    }
    out.push_back({down(leaf_up(b, spine, leaf_cable)), weight});
  }
  out.push_back({down(port_up(ends.to)), weight});
  return path_latency(ends);
}

Duration FoldedClos::append_spray(const PortPair& ends, std::int64_t weight, std::vector<LinkShare>& out) const {
  const std::uint32_t a = leaf_of(ends.from.node, ends.from.port);
  const std::uint32_t b = leaf_of(ends.to.node, ends.to.port);
  const std::int64_t paths = path_count(ends);
  LOCKSTEP_CHECK(paths > 0 && weight % paths == 0, "weight {} over {} equal-cost paths", weight, paths);
  out.push_back({port_up(ends.from), weight});
  out.push_back({down(port_up(ends.to)), weight});
  // The links of a bundle follow each other in id order, each with its other direction between.
  const auto spread = [&out](LinkId first_up, LinkId first_down, std::uint32_t bundle, std::int64_t share) {
    for (std::uint32_t i = 0; i < bundle; ++i) {
      out.push_back({LinkId(first_up.value() + 2 * i), share});
      out.push_back({LinkId(first_down.value() + 2 * i), share});
    }
  };
  const Duration latency = path_latency(ends);
  if (a == b) return latency;
  spread(leaf_up(a, 0, 0), down(leaf_up(b, 0, 0)), leaf_bundle(), weight / leaf_bundle());
  const std::uint32_t pod_a = pod_of_leaf(a);
  const std::uint32_t pod_b = pod_of_leaf(b);
  if (pod_a == pod_b) return latency;
  spread(spine_up(pod_a, 0, 0, 0), down(spine_up(pod_b, 0, 0, 0)), pod_bundle(), weight / pod_bundle());
  return latency;
}

Duration FoldedClos::append_bundles(const PortPair& ends, std::int64_t weight, std::vector<LinkShare>& out) const {
  const std::uint32_t a = leaf_of(ends.from.node, ends.from.port);
  const std::uint32_t b = leaf_of(ends.to.node, ends.to.port);
  out.push_back({port_up(ends.from), weight});
  out.push_back({down(port_up(ends.to)), weight});
  const Duration latency = path_latency(ends);
  if (a == b) return latency;
  const std::int64_t leaf_share = weight / leaf_bundle();
  LOCKSTEP_CHECK(leaf_share * leaf_bundle() == weight, "weight {} over the {} uplinks of a leaf", weight, leaf_bundle());
  out.push_back({leaf_up(a, 0, 0), leaf_share});
  out.push_back({down(leaf_up(b, 0, 0)), leaf_share});
  const std::uint32_t pod_a = pod_of_leaf(a);
  const std::uint32_t pod_b = pod_of_leaf(b);
  if (pod_a == pod_b) return latency;
  const std::int64_t pod_share = weight / pod_bundle();
  LOCKSTEP_CHECK(pod_share * pod_bundle() == weight, "weight {} over the {} uplinks of a pod", weight, pod_bundle());
  out.push_back({spine_up(pod_a, 0, 0, 0), pod_share});
  out.push_back({down(spine_up(pod_b, 0, 0, 0)), pod_share});
  return latency;
}

LinkId FoldedClos::first_of_bundle(LinkId link) const {
  const std::uint32_t l = link.value();
  if (l < first_leaf_link_) return link;
  const bool is_core = l >= first_spine_link_;
  const std::uint32_t at = l - (is_core ? first_spine_link_ : first_leaf_link_);
  return LinkId(l - at % (2 * (is_core ? pod_bundle() : leaf_bundle())) + at % 2);
}

}  // namespace lockstep
