// SPDX-License-Identifier: Apache-2.0
#include "workloads/collectives/mesh_rings.h"

#include <algorithm>

#include "base/check.h"

namespace lockstep {
namespace {

constexpr int kMostSteps = 100'000;  // a few milliseconds

class RingSearch {
 public:
  RingSearch(std::span<const int> links, int n) : n_(n), free_(links.begin(), links.end()), is_on_ring_(at(n, 0), false) {
    // A ring takes one link out of each member and one into it.
    wanted_ = links.empty() ? 0 : kMostSteps;
    for (int a = 0; a < n; ++a) {
      int out = 0;
      int in = 0;
      for (int b = 0; b < n; ++b) {
        out += free_[at(a, b)];
        in += free_[at(b, a)];
      }
      wanted_ = std::min({wanted_, static_cast<std::size_t>(out), static_cast<std::size_t>(in)});
    }
  }

  std::vector<MeshRing> run() {
    begin_ring();
    return std::move(best_);
  }

 private:
  [[nodiscard]] std::size_t at(int a, int b) const { return static_cast<std::size_t>(a * n_ + b); }

  // True when nothing is left to look for.
  bool begin_ring() {
    if (found_.size() > best_.size()) best_ = found_;
    if (found_.size() == wanted_) return true;
    const MeshRing unfinished = std::move(ring_);
    const std::vector<bool> is_on_unfinished = std::move(is_on_ring_);
    ring_ = {0};
    is_on_ring_.assign(static_cast<std::size_t>(n_), false);
    const bool is_done = extend();
    ring_ = unfinished;
    is_on_ring_ = is_on_unfinished;
    return is_done;
  }

  bool extend() {
    if (++steps_ > kMostSteps) return true;
    const int last = ring_.back();
    if (ring_.size() == static_cast<std::size_t>(n_)) return close(last);
    for (int next = 1; next < n_; ++next) {
      if (is_on_ring_[static_cast<std::size_t>(next)] || free_[at(last, next)] == 0) continue;
      --free_[at(last, next)];
      is_on_ring_[static_cast<std::size_t>(next)] = true;
      ring_.push_back(next);
      if (extend()) return true;
      ring_.pop_back();
      is_on_ring_[static_cast<std::size_t>(next)] = false;
      ++free_[at(last, next)];
    }
    return false;
  }

  bool close(int last) {
    if (free_[at(last, 0)] == 0) return false;
    --free_[at(last, 0)];
    found_.push_back(ring_);
    if (begin_ring()) return true;
    found_.pop_back();
    ++free_[at(last, 0)];
    return false;
  }

  int n_;
  std::vector<int> free_;  // links that no ring has taken
  std::size_t wanted_ = 0;
  int steps_ = 0;
  MeshRing ring_;
  std::vector<bool> is_on_ring_;
  std::vector<MeshRing> found_;
  std::vector<MeshRing> best_;
};

}  // namespace

std::vector<MeshRing> disjoint_rings(std::span<const int> links, int n) {
  LOCKSTEP_CHECK(n >= 2 && links.size() == static_cast<std::size_t>(n) * static_cast<std::size_t>(n), "{} entries for {} GPUs",
                 links.size(), n);
  return RingSearch(links, n).run();
}

const std::vector<MeshRing>& MeshRings::of(const Network& net, std::span<const EndpointId> members) {
  std::vector<int> key;
  for (const EndpointId e : members) key.push_back(static_cast<int>(e.index()) % net.endpoints_per_node());
  const auto known = known_.find(key);
  if (known != known_.end()) return known->second;
  std::vector<int> links;
  for (const EndpointId a : members) {
    for (const EndpointId b : members) links.push_back(a == b ? 0 : net.direct_links(a, b));
  }
  return known_.emplace(std::move(key), disjoint_rings(links, static_cast<int>(members.size()))).first->second;
}

}  // namespace lockstep
