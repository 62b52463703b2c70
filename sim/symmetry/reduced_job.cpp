// SPDX-License-Identifier: Apache-2.0
#include "sim/symmetry/reduced_job.h"

#include <algorithm>

#include "base/wide.h"

namespace lockstep {
namespace {

// Sorts by link and joins the entries of a link with `join`.
template <class Join>
void gather(std::vector<LinkShare>& shares, const Join& join) {
  std::sort(shares.begin(), shares.end());
  std::size_t kept = 0;
  for (std::size_t i = 0; i < shares.size(); ++i) {
    if (kept > 0 && shares[kept - 1].link == shares[i].link) {
      shares[kept - 1].coefficient = join(shares[kept - 1].coefficient, shares[i].coefficient);
    } else {
      shares[kept++] = shares[i];
    }
  }
  shares.resize(kept);
  shares.shrink_to_fit();
}

}  // namespace

ReducedJob::ReducedJob(const PlacedJob& job, const Partition& p) {
  add_links(job, p);
  add_activities(job, p);
  add_ranks(job, p);
  add_routes(job, p);
}

void ReducedJob::add_links(const PlacedJob& job, const Partition& p) {
  for (const std::uint32_t l : p.links.representative) {
    link_capacities_.push_back(job.capacity(l));
    link_representatives_.push_back(LinkId(l));
  }
}

void ReducedJob::add_activities(const PlacedJob& job, const Partition& p) {
  activities_.resize(p.activities.count());
  for (std::size_t c = 0; c < activities_.size(); ++c) {
    ActivityClass& a = activities_[c];
    const ActivityId representative(p.activities.representative[c]);
    a.size = p.activities.size[c];
    if (job.is_channel(representative)) {
      a.channel = &job.channel(representative);
      a.sender = p.ranks.class_of[a.channel->from.index()];
      a.receiver = p.ranks.class_of[a.channel->to.index()];
    } else {
      a.communicator = &job.communicators[representative.index()];
      a.algorithms = &job.algorithm_shapes[a.communicator->others];
    }
  }
}

void ReducedJob::add_ranks(const PlacedJob& job, const Partition& p) {
  // Members of class R that reach activities of class A through port i number size(R) altogether, evenly over size(A) activities.
  for (std::size_t c = 0; c < p.ranks.count(); ++c) {
    const std::uint32_t representative = p.ranks.representative[c];
    ranks_.push_back(
        {.representative = Rank(representative), .size = p.ranks.size[c], .slowdown = job.slowdown(representative)});
    total_ranks_ += p.ranks.size[c];
    for (const ActivityId activity : job.ports[representative]) {
      const std::uint32_t a = p.activities.class_of[activity.index()];
      ports_.push({.activity = a, .participants = static_cast<std::uint32_t>(p.ranks.size[c] / activities_[a].size)});
      if (activities_[a].communicator != nullptr) activities_[a].members.push_back(static_cast<std::uint32_t>(c));
    }
    ports_.end_row();
  }
}

// Of the shares of the representative with one label in one class of links there are m; its whole class of size(A) has size(A) x m, and they lie
// evenly on the size(L) links: m x size(A) / size(L) on each.
void ReducedJob::add_routes(const PlacedJob& job, const Partition& p) {
  const auto reduce = [&p](std::int64_t size, ReducedShares& shares) {
    shares.all = shares.alone;
    gather(shares.all, [](std::int64_t a, std::int64_t b) { return checked_add(a, b); });
    for (LinkShare& s : shares.all) {
      const Int128 sum = static_cast<Int128>(s.coefficient) * size;
      s.coefficient = narrow_int64(sum / p.links.size[s.link.index()]);
    }
    gather(shares.alone, [](std::int64_t a, std::int64_t b) { return std::max(a, b); });
    if (shares.alone == shares.all) shares.alone = {};
  };
  for (std::size_t c = 0; c < activities_.size(); ++c) {
    ActivityClass& group = activities_[c];
    job.for_each_share_of(ActivityId(p.activities.representative[c]), [&](LinkId link, const RouteLabel& label) {
      const LinkId link_class(p.links.class_of[link.index()]);
      if (label.state > group.detours.size()) group.detours.resize(label.state);
      std::vector<ReducedShares>& routes = label.state == 0 ? group.routes : group.detours[label.state - 1];
      const auto form = static_cast<std::size_t>(label.form);
      if (form >= routes.size()) routes.resize(form + 1);
      routes[form].alone.push_back({link_class, label.coefficient});
    });
    for (ReducedShares& shares : group.routes) reduce(p.activities.size[c], shares);
    for (std::vector<ReducedShares>& routes : group.detours) {
      for (ReducedShares& shares : routes) reduce(p.activities.size[c], shares);
    }
    has_detours_ = has_detours_ || !group.detours.empty();
  }
}

}  // namespace lockstep
