// SPDX-License-Identifier: Apache-2.0
#include "topology/faults/surviving_paths.h"

#include <algorithm>
#include <map>
#include <numeric>

#include "base/check.h"
#include "base/wide.h"
#include "topology/link_shares.h"

namespace lockstep {
namespace {

bool contains(const std::vector<LinkId>& sorted, LinkId link) { return std::binary_search(sorted.begin(), sorted.end(), link); }

bool is_trunk(LinkTier tier) { return tier != LinkTier::kHost; }

std::uint32_t spine_of(const FoldedClos& f, const Link& l) {
  const DeviceId spine = f.kind(l.from) == DeviceKind::kSpine ? l.from : l.to;
  return (spine.value() - f.spine(0).value()) % f.spines_per_pod();
}

std::uint32_t leaf_of(const FoldedClos& f, NodePort p) { return f.leaf_of(p.node, p.port); }

// Whether one of `sorted` is in the bundles of the path: those of its two leaves and, between pods, of these. Only such can break a path of
// the same ends.
bool touches_bundles(const FoldedClos& f, const std::vector<LinkId>& sorted, const std::vector<LinkShare>& path) {
  const FabricShape& shape = f.shape();
  const auto touches = [&](LinkId id) {
    const Link l = f.link(id);
    const bool is_core = l.tier == LinkTier::kSpineCore;
    const int links_per_spine = is_core ? shape.cores_per_spine * shape.spine_core_cables : shape.leaf_spine_cables;
    // Both directions follow each other, the one upwards first.
    const std::uint32_t first = f.first_of_bundle(id).value() - (l.from < l.to ? 0 : 1);
    const std::uint32_t size = 2 * f.spines_per_pod() * static_cast<std::uint32_t>(links_per_spine);
    const auto at = std::lower_bound(sorted.begin(), sorted.end(), LinkId(first));
    return at != sorted.end() && at->value() < first + size;
  };
  return std::any_of(path.begin() + 1, path.end() - 1, [&](const LinkShare& s) { return touches(s.link); });
}

std::int64_t paths_per_spine(const FoldedClos& f, const PortPair& ends) { return f.path_count(ends) / f.spines_per_pod(); }

}  // namespace

SurvivingPaths::SurvivingPaths(const Fabric& fabric, std::vector<LinkId> failed, std::vector<LinkId> avoided,
                               const std::vector<LinkId>& odd)
    : failed_(std::move(failed)), avoided_(std::move(avoided)) {
  if (const auto* clos = std::get_if<FoldedClos>(&fabric)) {
    odd_spines_.assign(clos->spines_per_pod(), false);
    for (const LinkId l : odd) odd_spines_[spine_of(*clos, clos->link(l))] = true;
  } else {
    const auto& graph = std::get<GraphFabric>(fabric);
    arcs_.resize(graph.device_count());
    const std::uint32_t first_switch = graph.first_device().value();
    for (std::uint32_t i = 0; i < graph.link_count(); ++i) {
      const LinkId id(graph.first_link().value() + i);
      const Link l = graph.link(id);
      if (is_trunk(l.tier)) arcs_[l.from.value() - first_switch].push_back({l.to.value() - first_switch, id});
    }
  }
  weight_ = std::visit([](const auto& f) { return f.spray_weight(); }, fabric);
}

bool SurvivingPaths::is_broken(LinkId link, bool with_avoided) const {
  return contains(failed_, link) || (with_avoided && contains(avoided_, link));
}

std::uint32_t SurvivingPaths::first_regular_spine() const {
  return static_cast<std::uint32_t>(std::find(odd_spines_.begin(), odd_spines_.end(), false) - odd_spines_.begin());
}

SurvivingPaths::Ways SurvivingPaths::ways(const Fabric& fabric, const PortPair& ends) const {
  return std::visit(
      [&](const auto& f) {
        Ways w = ways(f, ends, true);
        return w.count() > 0 || avoided_.empty() ? w : ways(f, ends, false);
      },
      fabric);
}

SurvivingPaths::Ways SurvivingPaths::ways(const FoldedClos& f, const PortPair& ends, bool with_avoided) const {
  Ways w;
  const std::int64_t all = f.path_count(ends);
  if (leaf_of(f, ends.from) == leaf_of(f, ends.to) || all == 0) {
    w.regular = all;
    return w;
  }
  const std::int64_t block = paths_per_spine(f, ends);
  std::vector<LinkShare> links;
  f.append_path(ends, 0, 1, links);
  const bool may_break = touches_bundles(f, failed_, links) || (with_avoided && touches_bundles(f, avoided_, links));
  for (std::uint32_t s = 0; s < f.spines_per_pod(); ++s) {
    if (!is_odd(s)) {
      w.regular += block;
      continue;
    }
    for (std::int64_t i = s * block; i < (s + 1) * block; ++i) {
      if (!may_break) {
        w.odd.push_back(i);
        continue;
      }
      links.clear();
      f.append_path(ends, i, 1, links);
      const auto broken = [&](const LinkShare& l) { return is_broken(l.link, with_avoided); };
      if (std::none_of(links.begin() + 1, links.end() - 1, broken)) w.odd.push_back(i);
    }
  }
  return w;
}

SurvivingPaths::Ways SurvivingPaths::ways(const GraphFabric& f, const PortPair& ends, bool with_avoided) const {
  Ways w;
  std::vector<LinkShare> links;
  const std::int64_t all = f.path_count(ends);
  for (std::int64_t i = 0; i < all; ++i) {
    links.clear();
    f.append_path(ends, i, 1, links);
    const auto broken = [&](const LinkShare& l) { return is_broken(l.link, with_avoided); };
    if (std::none_of(links.begin() + 1, links.end() - 1, broken)) w.odd.push_back(i);
  }
  if (w.odd.empty() && all > 0) w.detour = detour(f.switch_of(ends.from), f.switch_of(ends.to), with_avoided);
  return w;
}

std::vector<LinkId> SurvivingPaths::detour(std::uint32_t from, std::uint32_t to, bool with_avoided) const {
  std::vector<Arc> came_by(arcs_.size());
  std::vector<bool> seen(arcs_.size(), false);
  std::vector<std::uint32_t> queue{from};
  seen[from] = true;
  for (std::size_t i = 0; i < queue.size() && !seen[to]; ++i) {
    for (const Arc& a : arcs_[queue[i]]) {
      if (seen[a.to] || is_broken(a.link, with_avoided)) continue;
      seen[a.to] = true;
      came_by[a.to] = {queue[i], a.link};
      queue.push_back(a.to);
    }
  }
  std::vector<LinkId> links;
  if (!seen[to]) return links;
  for (std::uint32_t s = to; s != from; s = came_by[s].to) links.push_back(came_by[s].link);
  std::reverse(links.begin(), links.end());
  return links;
}

Duration SurvivingPaths::append_detour(const GraphFabric& f, const PortPair& ends, const std::vector<LinkId>& links,
                                       std::int64_t weight, std::vector<LinkShare>& out) {
  std::vector<LinkShare> usual;
  f.append_path(ends, 0, weight, usual);
  Duration latency = f.shape().host.latency * 2;
  out.push_back(usual.front());
  for (const LinkId l : links) {
    out.push_back({l, weight});
    latency += f.link(l).latency;
  }
  out.push_back(usual.back());
  return latency;
}

std::int64_t SurvivingPaths::number_of(const Fabric& fabric, const PortPair& ends, const Ways& w, std::int64_t index) const {
  if (w.regular == 0) return w.odd[static_cast<std::size_t>(index)];
  const auto& f = std::get<FoldedClos>(fabric);
  if (leaf_of(f, ends.from) == leaf_of(f, ends.to)) return index;
  const std::int64_t block = paths_per_spine(f, ends);
  auto next = w.odd.begin();
  for (std::uint32_t s = 0; s < f.spines_per_pod(); ++s) {
    const auto end = std::lower_bound(next, w.odd.end(), (s + 1) * block);
    const std::int64_t here = is_odd(s) ? end - next : block;
    if (index < here) return is_odd(s) ? next[index] : s * block + index;
    index -= here;
    next = end;
  }
  LOCKSTEP_CHECK(false, "a path beyond those that survive");
}

std::int64_t SurvivingPaths::path_count(const Fabric& fabric, const PortPair& ends) const { return ways(fabric, ends).count(); }

Duration SurvivingPaths::append_path(const Fabric& fabric, const PortPair& ends, std::int64_t index, std::int64_t weight,
                                     std::vector<LinkShare>& out) const {
  const Ways w = ways(fabric, ends);
  if (!w.detour.empty()) return append_detour(std::get<GraphFabric>(fabric), ends, w.detour, weight, out);
  const std::int64_t number = number_of(fabric, ends, w, index % w.count());
  return std::visit([&](const auto& f) { return f.append_path(ends, number, weight, out); }, fabric);
}

Duration SurvivingPaths::append_spray(const Fabric& fabric, const PortPair& ends, std::int64_t weight,
                                      std::vector<LinkShare>& out) const {
  const Ways w = ways(fabric, ends);
  if (!w.detour.empty()) return append_detour(std::get<GraphFabric>(fabric), ends, w.detour, weight, out);
  return std::visit(
      [&](const auto& f) {
        const std::int64_t count = w.count();
        if (count == f.path_count(ends) && weight % count == 0) return f.append_spray(ends, weight, out);
        const std::size_t first = out.size();
        Duration longest;
        for (std::int64_t i = 0; i < count; ++i) {
          const std::int64_t share = weight / count + (i < weight % count ? 1 : 0);
          longest = std::max(longest, f.append_path(ends, number_of(fabric, ends, w, i), share, out));
        }
        merge_shares(out, first);
        return longest;
      },
      fabric);
}

Duration SurvivingPaths::append_bundles(const Fabric& fabric, const PortPair& ends, std::int64_t weight,
                                        std::vector<LinkShare>& out) const {
  const auto* f = std::get_if<FoldedClos>(&fabric);
  if (f == nullptr || !is_exact_) return append_spray(fabric, ends, weight, out);
  if (leaf_of(*f, ends.from) == leaf_of(*f, ends.to)) return f->append_spray(ends, weight, out);
  const Ways w = ways(fabric, ends);
  LOCKSTEP_CHECK(weight % w.count() == 0, "weight {} over {} surviving paths", weight, w.count());
  const std::int64_t share = weight / w.count();
  const std::size_t first = out.size();
  Duration latency;
  for (const std::int64_t i : w.odd) latency = f->append_path(ends, i, share, out);
  if (w.regular > 0) {
    // One path over a regular spine: its ports carry what all regular paths do, its other links what all paths over them do.
    const std::size_t begin = out.size();
    const std::int64_t block = paths_per_spine(*f, ends);
    latency = f->append_path(ends, first_regular_spine() * block, share, out);
    out[begin].coefficient = out.back().coefficient = checked_mul(share, w.regular);
    for (std::size_t i = begin + 1; i + 1 < out.size(); ++i) {
      const bool is_core = f->link(out[i].link).tier == LinkTier::kSpineCore;
      const std::int64_t links = is_core ? block / f->shape().leaf_spine_cables : f->shape().leaf_spine_cables;
      out[i].coefficient = share * (block / links);
    }
  }
  merge_shares(out, first);
  return latency;
}

LinkId SurvivingPaths::first_of_bundle(const Fabric& fabric, LinkId link) const {
  const auto* f = std::get_if<FoldedClos>(&fabric);
  if (f == nullptr || !is_exact_ || link < f->first_link()) return link;
  const LinkId first = f->first_of_bundle(link);
  const Link l = f->link(link);
  if (!is_trunk(l.tier)) return link;
  if (is_odd(spine_of(*f, l))) return link;
  const FabricShape& shape = f->shape();
  const int cables = l.tier == LinkTier::kSpineCore ? shape.cores_per_spine * shape.spine_core_cables : shape.leaf_spine_cables;
  return LinkId(first.value() + 2 * first_regular_spine() * static_cast<std::uint32_t>(cables));
}

namespace {

// Leaves that see the broken links alike: two in each of two pods stand for all.
class LeafSamples {
 public:
  explicit LeafSamples(const FoldedClos& f) : f_(f) {}

  // A broken link, where it is in its leaf or pod.
  void note(LinkId link, bool is_avoided) {
    const Link l = f_.link(link);
    const std::uint32_t place = link.value() - f_.first_of_bundle(link).value() + (l.from < l.to ? 0 : 1);
    const std::uint32_t at = 2 * place + (is_avoided ? 1 : 0);
    if (l.tier == LinkTier::kLeafSpine) {
      of_leaf_[std::min(l.from, l.to).value() - f_.leaf(0).value()].push_back(at);
    } else {
      const std::uint32_t spine = std::min(l.from, l.to).value() - f_.spine(0).value();
      of_pod_[spine / f_.spines_per_pod()].push_back(at);
    }
  }

  [[nodiscard]] std::vector<std::uint32_t> choose() const {
    constexpr std::size_t kInPod = 2;
    constexpr std::size_t kPods = 2;
    std::map<std::pair<std::vector<std::uint32_t>, std::vector<std::uint32_t>>, std::map<std::uint32_t, std::size_t>> kinds;
    std::vector<std::uint32_t> chosen;
    for (std::uint32_t leaf = 0; leaf < f_.leaves(); ++leaf) {
      const std::uint32_t pod = f_.pod_of_leaf(leaf);
      std::map<std::uint32_t, std::size_t>& in_pods = kinds[{find(of_leaf_, leaf), find(of_pod_, pod)}];
      if (in_pods.size() == kPods && in_pods.count(pod) == 0) continue;
      if (++in_pods[pod] <= kInPod) chosen.push_back(leaf);
    }
    return chosen;
  }

  // A port on the leaf. PRE: every rack has a node.
  [[nodiscard]] NodePort port_on(std::uint32_t leaf) const {
    return {f_.rack_of_leaf(leaf) * static_cast<std::uint32_t>(f_.shape().nodes_per_leaf), leaf % f_.rails()};
  }

 private:
  using Places = std::map<std::uint32_t, std::vector<std::uint32_t>>;
  static std::vector<std::uint32_t> find(const Places& places, std::uint32_t key) {
    const auto at = places.find(key);
    return at == places.end() ? std::vector<std::uint32_t>() : at->second;
  }
  const FoldedClos& f_;
  Places of_leaf_;
  Places of_pod_;
};

// The least common multiple, 0 when it is larger than kMostWeight.
std::int64_t least_common_multiple(const std::vector<std::int64_t>& numbers) {
  std::int64_t all = 1;
  for (const std::int64_t n : numbers) {
    all = std::lcm(all, n);
    if (all > SurvivingPaths::kMostWeight) return 0;
  }
  return all;
}

}  // namespace

void SurvivingPaths::list_path_counts(const Fabric& fabric, std::vector<std::int64_t>& out) const {
  const auto& f = std::get<FoldedClos>(fabric);
  LeafSamples samples(f);
  for (const LinkId l : failed_) samples.note(l, false);
  for (const LinkId l : avoided_) samples.note(l, true);
  const std::vector<std::uint32_t> leaves = samples.choose();
  for (const std::uint32_t a : leaves) {
    for (const std::uint32_t b : leaves) {
      const std::int64_t count = a == b ? 1 : path_count(fabric, {samples.port_on(a), samples.port_on(b)});
      if (count > 0) out.push_back(count);
    }
  }
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
}

void SurvivingPaths::agree_on_weight(const Fabric& fabric, std::span<SurvivingPaths> states) {
  std::vector<std::int64_t> counts{std::visit([](const auto& f) { return f.spray_weight(); }, fabric)};
  const std::int64_t usual = counts.front();
  if (std::holds_alternative<FoldedClos>(fabric)) {
    for (const SurvivingPaths& s : states) s.list_path_counts(fabric, counts);
  } else {
    // Any number up to the most may survive.
    for (std::int64_t n = std::get<GraphFabric>(fabric).max_path_count(); n > 1; --n) counts.push_back(n);
  }
  const std::int64_t common = least_common_multiple(counts);
  for (SurvivingPaths& s : states) {
    s.is_exact_ = common > 0;
    s.weight_ = s.is_exact_ ? common : usual * std::max<std::int64_t>(1, kMostWeight / usual);
  }
}

}  // namespace lockstep
