// SPDX-License-Identifier: Apache-2.0
#include "sim/symmetry/partition.h"

#include <algorithm>
#include <array>
#include <tuple>

#include "base/check.h"
#include "base/hash.h"

namespace lockstep {
namespace {

// Two independent hashes; sums of them stand for multisets.
struct Signature {
  std::uint64_t a = 0;
  std::uint64_t b = 0;

  static Signature of(std::uint64_t x) { return {mix64(x), mix64(x ^ 0xd6e8feb86659fd93ull)}; }
  static Signature of(std::uint64_t x, std::uint64_t y) { return of(x).with(y); }
  // Of a pair whose first half this is.
  [[nodiscard]] Signature with(std::uint64_t y) const { return {mix64(a + y), mix64(b ^ y)}; }
  void add(const Signature& s) {
    a += s.a;
    b += s.b;
  }
  void follow(const Signature& s) {
    a = mix64(a ^ s.a);
    b = mix64(b + 3 * s.b);
  }
  bool operator==(const Signature&) const = default;
};

// Numbers signatures by first appearance.
class Numbering {
 public:
  Numbering() : slots_(1024) {}
  std::uint32_t number(const Signature& s) {
    if (2 * (count_ + 1) > slots_.size()) grow();
    for (std::size_t i = home(s);; i = (i + 1) & (slots_.size() - 1)) {
      if (slots_[i].number == Classes::kNone) {
        slots_[i] = {s, count_};
        return count_++;
      }
      if (slots_[i].signature == s) return slots_[i].number;
    }
  }
  [[nodiscard]] std::uint32_t count() const { return count_; }

 private:
  struct Slot {
    Signature signature;
    std::uint32_t number = Classes::kNone;
  };
  [[nodiscard]] std::size_t home(const Signature& s) const { return (s.a ^ (s.a >> 32)) & (slots_.size() - 1); }
  void grow() {
    std::vector<Slot> old(2 * slots_.size());
    old.swap(slots_);
    for (const Slot& s : old) {
      if (s.number == Classes::kNone) continue;
      std::size_t i = home(s.signature);
      while (slots_[i].number != Classes::kNone) i = (i + 1) & (slots_.size() - 1);
      slots_[i] = s;
    }
  }
  std::vector<Slot> slots_;
  std::uint32_t count_ = 0;
};

// The colours of one sort of element.
struct Colours {
  std::vector<std::uint32_t> colour;  // kNone: takes no part
  std::vector<Signature> signature;   // what is known beyond the colour; empty again after split()
  std::uint32_t count = 0;

  explicit Colours(std::size_t n) : colour(n, 0), signature(n), count(n > 0 ? 1 : 0) {}

  // Elements keep a common colour only with equal signatures. True when a colour was split.
  bool split() {
    Numbering numbers;
    for (std::size_t i = 0; i < colour.size(); ++i) {
      if (colour[i] == Classes::kNone) continue;
      // Signatures are as good as random, so an odd multiple of the colour tells colours apart.
      const Signature s{signature[i].a + colour[i] * 0x9E3779B97F4A7C15ull, signature[i].b + colour[i] * 0xC2B2AE3D27D4EB4Full};
      signature[i] = {};
      colour[i] = numbers.number(s);
    }
    const bool has_split = numbers.count() > count;
    count = numbers.count();
    return has_split;
  }

  [[nodiscard]] Classes take_classes() {
    Classes out;
    out.class_of = std::move(colour);
    out.representative.assign(count, 0);
    out.size.assign(count, 0);
    for (std::size_t i = out.class_of.size(); i-- > 0;) {
      const std::uint32_t c = out.class_of[i];
      if (c == Classes::kNone) continue;
      out.representative[c] = static_cast<std::uint32_t>(i);
      ++out.size[c];
    }
    return out;
  }
};

class Refinement {
 public:
  Refinement(const PlacedJob& job, SymmetryFault fault)
      : job_(job), fault_(fault), ranks_(job.rank_count()), activities_(job.activity_count()), links_(0) {
    for (std::size_t t = 0; t < job.routes.size(); ++t) {
      for (const RouteLabel& l : job.routes[t].labels) {
        const std::uint64_t coefficient =
            fault == SymmetryFault::kIgnoreCoefficients ? 1 : static_cast<std::uint64_t>(l.coefficient);
        const std::uint64_t form = static_cast<std::uint64_t>(l.form) + kMostRouteForms * std::uint64_t{l.state};
        labels_[t].push_back(mix64(mix64(coefficient) + form));
      }
    }
  }

  Partition run() {
    Partition p;
    begin_with_plan();
    refine(false);
    p.rank_classes_by_plan = ranks_.count;
    add_slowdowns();
    refine(false);
    p.rank_classes_with_slowdowns = ranks_.count;
    add_network();
    refine(true);
    p.ranks = ranks_.take_classes();
    p.activities = activities_.take_classes();
    p.links = links_.take_classes();
    return p;
  }

 private:
  void begin_with_plan() {
    for (std::size_t r = 0; r < job_.rank_count(); ++r) ranks_.signature[r] = Signature::of(job_.roles[r], 1);
    ranks_.split();
    for (std::size_t i = 0; i < job_.communicators.size(); ++i) {
      const PlacedCommunicator& c = job_.communicators[i];
      activities_.signature[i] = Signature::of(hash_words({c.size, c.kinds, static_cast<std::uint64_t>(c.algorithm)}), 2);
    }
    for (std::size_t i = 0; i < job_.channels.size(); ++i) {
      activities_.signature[job_.communicators.size() + i] =
          Signature::of(static_cast<std::uint64_t>(job_.channels[i].send_stream), 3);
    }
    activities_.split();
    read_ports();
    ranks_.split();
  }

  void add_slowdowns() {
    if (fault_ == SymmetryFault::kIgnoreSlowdowns) return;
    for (std::size_t r = 0; r < job_.rank_count(); ++r) {
      ranks_.signature[r] = Signature::of(static_cast<std::uint64_t>(job_.slowdown(r)), 4);
    }
    ranks_.split();
  }

  // Everything of an activity that reaches its transfers, apart from links.
  void add_network() {
    for (std::size_t i = 0; i < job_.communicators.size(); ++i) {
      const PlacedCommunicator& c = job_.communicators[i];
      const auto word = [](auto v) { return static_cast<std::uint64_t>(v); };
      activities_.signature[i] =
          Signature::of(hash_words({word(c.shape.nodes), word(c.shape.channels), word(c.shape.nvlink_channels),
                                    word(c.shape.uses_pcie), word(c.shape.weight)}),
                        hash_words({word(c.shape.network_latency.picos()), word(c.closed_rate.units()),
                                    word(c.open_rate.units()), c.others}));
    }
    for (std::size_t i = 0; i < job_.channels.size(); ++i) {
      const PlacedChannel& c = job_.channels[i];
      activities_.signature[job_.communicators.size() + i] =
          Signature::of(static_cast<std::uint64_t>(c.path_latency.picos()), 5 + static_cast<std::uint64_t>(c.hop));
    }
    activities_.split();
    read_ports();
    ranks_.split();
    links_ = Colours(job_.link_count());
    read_activities();
    for (std::size_t l = 0; l < links_.colour.size(); ++l) {
      if (links_.signature[l] == Signature()) {
        links_.colour[l] = Classes::kNone;  // nothing uses it
      } else {
        links_.signature[l].add(Signature::of(job_.link_colour(l), 8));
      }
    }
    links_.split();
  }

  // Both sides in turns, until one has nothing new to tell. PRE: ranks (and links) have read the activities as they are.
  void refine(bool with_links) {
    while (true) {
      if (fault_ != SymmetryFault::kIgnorePeers) read_ranks();
      if (with_links && fault_ != SymmetryFault::kIgnoreLinks) read_links();
      if (!activities_.split()) return;
      read_ports();
      bool has_split = ranks_.split();
      if (with_links) {
        read_activities();
        has_split |= links_.split();
      }
      if (!has_split) return;
    }
  }

  void read_ranks() {
    for (std::size_t r = 0; r < job_.rank_count(); ++r) {
      std::uint64_t number = 0;
      for (const ActivityId a : job_.ports[r]) {
        activities_.signature[a.index()].add(Signature::of(ranks_.colour[r], ++number));
      }
    }
  }

  void read_ports() {
    for (std::size_t r = 0; r < job_.rank_count(); ++r) {
      Signature& s = ranks_.signature[r];
      for (const ActivityId a : job_.ports[r]) s.follow(Signature::of(activities_.colour[a.index()], 9));
    }
  }

  void read_links() {
    std::vector<Signature> of_colour;
    for (std::uint32_t c = 0; c < links_.count; ++c) of_colour.push_back(Signature::of(c));
    const auto read = [this, &of_colour](std::size_t t) {
      const RouteTable& table = job_.routes[t];
      for (std::size_t i = 0; i < table.rows.size(); ++i) {
        Signature& mine = activities_.signature[table.first + i];
        for (const RouteShare& s : table.rows[i]) mine.add(of_colour[links_.colour[s.link.index()]].with(labels_[t][s.label]));
      }
    };
    // The two write to different activities.
    std::future<void> other = std::async(launch_for(job_.rank_count()), [&] { read(0); });
    read(1);
    other.get();
  }

  void read_activities() {
    for (std::size_t t = 0; t < job_.routes.size(); ++t) {
      const RouteTable& table = job_.routes[t];
      for (std::size_t i = 0; i < table.rows.size(); ++i) {
        const Signature colour = Signature::of(activities_.colour[table.first + i]);
        for (const RouteShare& s : table.rows[i]) {
          links_.signature[s.link.index()].add(colour.with(labels_[t][s.label]));
        }
      }
    }
  }

  const PlacedJob& job_;
  SymmetryFault fault_;
  std::array<std::vector<std::uint64_t>, 2> labels_;  // hashed, by table
  Colours ranks_;
  Colours activities_;
  Colours links_;
};

Classes everyone(std::size_t n) {
  Classes c;
  for (std::size_t i = 0; i < n; ++i) {
    c.class_of.push_back(static_cast<std::uint32_t>(i));
    c.representative.push_back(static_cast<std::uint32_t>(i));
  }
  c.size.assign(n, 1);
  return c;
}

// What is_equitable() compares: neighbours of one element, as class and role, sorted.
using Neighbours = std::vector<std::tuple<std::uint32_t, std::uint64_t, std::int64_t>>;

bool all_like_first(const Classes& classes, const std::vector<Neighbours>& neighbours) {
  for (std::size_t i = 0; i < neighbours.size(); ++i) {
    const std::uint32_t c = classes.class_of[i];
    if (c != Classes::kNone && neighbours[i] != neighbours[classes.representative[c]]) return false;
  }
  return true;
}

}  // namespace

Partition coarsest_partition(const PlacedJob& job, SymmetryFault fault) { return Refinement(job, fault).run(); }

Partition finest_partition(const PlacedJob& job) {
  Partition p;
  p.ranks = everyone(job.rank_count());
  p.activities = everyone(job.activity_count());
  p.links.class_of.assign(job.link_count(), Classes::kNone);
  for (const RouteTable& table : job.routes) {
    for (const RouteShare& s : table.rows.items()) p.links.class_of[s.link.index()] = 0;
  }
  for (std::size_t l = 0; l < p.links.class_of.size(); ++l) {
    if (p.links.class_of[l] == Classes::kNone) continue;
    p.links.class_of[l] = static_cast<std::uint32_t>(p.links.count());
    p.links.representative.push_back(static_cast<std::uint32_t>(l));
  }
  p.links.size.assign(p.links.count(), 1);
  p.rank_classes_by_plan = p.rank_classes_with_slowdowns = p.ranks.count();
  return p;
}

bool is_equitable(const PlacedJob& job, const Partition& p) {
  std::vector<Neighbours> ranks(job.rank_count());
  std::vector<Neighbours> activities(job.activity_count());
  std::vector<Neighbours> links(job.link_count());
  for (std::size_t r = 0; r < job.rank_count(); ++r) {
    std::uint64_t number = 0;
    for (const ActivityId a : job.ports[r]) {
      ranks[r].emplace_back(p.activities.class_of[a.index()], ++number, 0);
      activities[a.index()].emplace_back(p.ranks.class_of[r], number, -1);
    }
    ranks[r].emplace_back(job.roles[r], 0, job.slowdown(r));
  }
  job.for_each_share([&](std::size_t a, LinkId link, const RouteLabel& label) {
    const std::uint64_t form = static_cast<std::uint64_t>(label.form) + kMostRouteForms * std::uint64_t{label.state};
    activities[a].emplace_back(p.links.class_of[link.index()], form, label.coefficient);
    links[link.index()].emplace_back(p.activities.class_of[a], form, label.coefficient);
  });
  for (std::size_t l = 0; l < links.size(); ++l) links[l].emplace_back(0, ~0ull, static_cast<std::int64_t>(job.link_colour(l)));
  for (std::vector<Neighbours>* side : {&activities, &links}) {
    for (Neighbours& n : *side) std::sort(n.begin(), n.end());
  }
  return all_like_first(p.ranks, ranks) && all_like_first(p.activities, activities) && all_like_first(p.links, links);
}

}  // namespace lockstep
