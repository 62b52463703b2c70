// SPDX-License-Identifier: Apache-2.0
#include "topology/fabric/folded_clos.h"

#include <algorithm>
#include <limits>

#include "base/check.h"

namespace lockstep {
namespace {

std::uint32_t as_count(int v) {
  LOCKSTEP_CHECK(v >= 0, "a fabric counts {} of something", v);
  return static_cast<std::uint32_t>(v);
}

void append_pair(DeviceId low, DeviceId high, const Wire& wire, LinkTier tier, std::vector<Link>& out) {
  out.push_back({low, high, wire.capacity, wire.nominal, wire.latency, tier});
  out.push_back({high, low, wire.capacity, wire.nominal, wire.latency, tier});
}

}  // namespace

FoldedClos::FoldedClos(const FabricShape& shape, std::uint32_t nodes, std::uint32_t ports_per_node, std::uint32_t first_device,
                       std::uint32_t first_link)
    : shape_(shape),
      nodes_(nodes),
      ports_per_node_(ports_per_node),
      leaf_cables_(as_count(shape.leaf_spine_cables)),
      core_cables_(as_count(shape.spine_core_cables)),
      first_device_(first_device),
      first_link_(first_link) {
  LOCKSTEP_CHECK(nodes > 0 && shape.nodes_per_leaf > 0, "{} nodes, {} per leaf", nodes, shape.nodes_per_leaf);
  const std::uint32_t per_leaf = as_count(shape.nodes_per_leaf);
  leaves_ = ports_per_node == 0 ? 0 : (nodes - 1) / per_leaf + 1;
  leaves_per_pod_ = shape.leaves_per_pod > 0 ? as_count(shape.leaves_per_pod) : std::max(leaves_, 1u);
  pods_ = leaves_ == 0 ? 0 : (leaves_ - 1) / leaves_per_pod_ + 1;
  spines_ = leaves_ > 1 ? as_count(shape.spines) : 0;
  cores_per_spine_ = pods_ > 1 ? as_count(shape.cores_per_spine) : 0;

  const std::uint64_t leaf_link = first_link + 2 * std::uint64_t{nodes} * ports_per_node;
  const std::uint64_t spine_link = leaf_link + 2 * std::uint64_t{leaves_} * spines_ * leaf_cables_;
  LOCKSTEP_CHECK(first_link + link_count() < std::numeric_limits<std::uint32_t>::max(), "{} links need wider ids",
                 link_count());
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
    return one_pod ? fmt::format("leaf{}", i) : fmt::format("pod{}.leaf{}", i / leaves_per_pod_, i % leaves_per_pod_);
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

std::uint32_t FoldedClos::cable_number(LinkId link) const {
  const std::uint32_t l = link.value();
  if (l >= first_spine_link_) return (l - first_spine_link_) / 2 % core_cables_;
  return l >= first_leaf_link_ ? (l - first_leaf_link_) / 2 % leaf_cables_ : 0;
}

void FoldedClos::append_links(const std::function<DeviceId(std::uint32_t, std::uint32_t)>& port_device,
                              std::vector<Link>& out) const {
  for (std::uint32_t n = 0; n < nodes_; ++n) {
    for (std::uint32_t p = 0; p < ports_per_node_; ++p) {
      append_pair(port_device(n, p), leaf(leaf_of(n, p)), shape_.host, LinkTier::kHost, out);
    }
  }
  for (std::uint32_t l = 0; l < leaves_; ++l) {
    for (std::uint32_t s = 0; s < spines_; ++s) {
      for (std::uint32_t c = 0; c < leaf_cables_; ++c) {
        append_pair(leaf(l), spine(pod_of_leaf(l) * spines_ + s), shape_.leaf_spine, LinkTier::kLeafSpine, out);
      }
    }
  }
  for (std::uint32_t s = 0; s < (cores_per_spine_ > 0 ? spines() : 0); ++s) {
    for (std::uint32_t c = 0; c < cores_per_spine_ * core_cables_; ++c) {
      const std::uint32_t group = s % spines_ * cores_per_spine_;
      append_pair(spine(s), core(group + c / core_cables_), shape_.spine_core, LinkTier::kSpineCore, out);
    }
  }
}

std::int64_t FoldedClos::path_count(Port from, Port to) const {
  const std::uint32_t a = leaf_of(from.node, from.port);
  const std::uint32_t b = leaf_of(to.node, to.port);
  if (a == b) return 1;
  const std::int64_t in_pod = std::int64_t{spines_} * leaf_cables_;
  return pod_of_leaf(a) == pod_of_leaf(b) ? in_pod : in_pod * cores_per_spine_ * core_cables_;
}

std::int64_t FoldedClos::max_path_count() const {
  if (leaves_ <= 1) return 1;
  const std::int64_t in_pod = std::int64_t{spines_} * leaf_cables_;
  const std::int64_t across = pods_ > 1 ? in_pod * cores_per_spine_ * core_cables_ : 0;
  return std::max<std::int64_t>({1, in_pod, across});
}

void FoldedClos::append_path(Port from, Port to, std::int64_t index, std::vector<LinkId>& out) const {
  const std::uint32_t a = leaf_of(from.node, from.port);
  const std::uint32_t b = leaf_of(to.node, to.port);
  out.push_back(port_up(from));
  if (a != b) {
    const bool across = pod_of_leaf(a) != pod_of_leaf(b);
    auto rest = static_cast<std::uint32_t>(index);
    const auto take = [&rest](std::uint32_t count) {
      const std::uint32_t digit = rest % count;
      rest /= count;
      return digit;
    };
    const std::uint32_t core_cable = across ? take(core_cables_) : 0;
    const std::uint32_t leaf_cable = take(leaf_cables_);
    const std::uint32_t core = across ? take(cores_per_spine_) : 0;
    const std::uint32_t spine = rest;
    out.push_back(leaf_up(a, spine, leaf_cable));
    if (across) {
      out.push_back(spine_up(pod_of_leaf(a), spine, core, core_cable));
      out.push_back(down(spine_up(pod_of_leaf(b), spine, core, core_cable)));
    }
    out.push_back(down(leaf_up(b, spine, leaf_cable)));
  }
  out.push_back(down(port_up(to)));
}

void FoldedClos::append_spray(Port from, Port to, std::int64_t weight, std::vector<LinkShare>& out) const {
  const std::uint32_t a = leaf_of(from.node, from.port);
  const std::uint32_t b = leaf_of(to.node, to.port);
  const std::int64_t paths = path_count(from, to);
  LOCKSTEP_CHECK(paths > 0 && weight % paths == 0, "weight {} over {} equal-cost paths", weight, paths);
  out.push_back({port_up(from), weight});
  out.push_back({down(port_up(to)), weight});
  if (a == b) return;
  const std::int64_t per_leaf_cable = weight / (std::int64_t{spines_} * leaf_cables_);
  for (std::uint32_t s = 0; s < spines_; ++s) {
    for (std::uint32_t c = 0; c < leaf_cables_; ++c) {
      out.push_back({leaf_up(a, s, c), per_leaf_cable});
      out.push_back({down(leaf_up(b, s, c)), per_leaf_cable});
    }
  }
  if (pod_of_leaf(a) == pod_of_leaf(b)) return;
  const std::int64_t per_core_cable = weight / (std::int64_t{spines_} * cores_per_spine_ * core_cables_);
  for (std::uint32_t s = 0; s < spines_; ++s) {
    for (std::uint32_t k = 0; k < cores_per_spine_; ++k) {
      for (std::uint32_t c = 0; c < core_cables_; ++c) {
        out.push_back({spine_up(pod_of_leaf(a), s, k, c), per_core_cable});
        out.push_back({down(spine_up(pod_of_leaf(b), s, k, c)), per_core_cable});
      }
    }
  }
}

}  // namespace lockstep
