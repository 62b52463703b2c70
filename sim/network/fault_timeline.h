// SPDX-License-Identifier: Apache-2.0
// Faults that come and go, as functions of time. Of the faults on a link at an instant t the worst counts:
//
//   capacity(link, t) = min over its faults that are there at t of what they leave; as built (and as broken for good) where none is
//   there at t        = from + k x every <= t < until + k x every  for a k >= 0 (k = 0 where it comes once)
//   state(t)          = the set of failures between switches that have lasted `reroute_after`: routing goes round them (fault_states.h)
//
// A link that is back is used again at once. Not modelled: what a sender loses in the instant of a failure and sends again (at most
// what is on the wire), the wait of a sender for its next try after the link is back.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sim/network/network_model.h"
#include "topology/faults/fault_states.h"

namespace lockstep {

class FaultTimeline {
 public:
  FaultTimeline() = default;  // nothing ever happens
  // `healthy`: the network as built, which the states belong to.
  FaultTimeline(const FaultStates& states, const Network& healthy, Duration reroute_after);

  [[nodiscard]] bool is_empty() const { return links_.empty(); }
  [[nodiscard]] const std::vector<FaultSpec>& faults() const { return faults_; }
  [[nodiscard]] std::vector<LinkId> links() const;  // that change, in order
  // Faults that come and go on a link, by number in the list; empty for most links.
  [[nodiscard]] std::span<const std::uint32_t> faults_of(LinkId link) const;
  [[nodiscard]] Rate capacity(LinkId link, Instant t) const;
  // Equal for links whose capacities change alike.
  [[nodiscard]] std::uint64_t colour(LinkId link) const;
  [[nodiscard]] std::size_t state(Instant t) const;
  // Failures that routing goes round, and which of them in a state (FaultStates).
  [[nodiscard]] const FaultSet& noticed() const { return noticed_; }
  [[nodiscard]] const FaultSet& noticed_in(std::size_t state) const { return states_[state]; }
  [[nodiscard]] bool is_on(std::uint32_t fault, Instant t) const;
  // Whether the fault is there at t, began by `since` if it comes again, and will be over.
  [[nodiscard]] bool is_to_end(std::uint32_t fault, Instant t, Instant since) const;
  // The first instant after t at which the fault begins, is noticed, or is over; never() when there is none that can be scheduled.
  [[nodiscard]] Instant next_change(std::uint32_t fault, Instant t) const;
  // When the fault that is there at t began: "failed at 200 ms"; empty where no failure is.
  [[nodiscard]] std::string describe(LinkId link, Instant t) const;

 private:
  struct TimedLink {
    LinkId link;
    Rate usual;
    std::vector<std::uint32_t> faults;
    std::vector<Rate> left;  // by fault
  };
  // Time since the fault began last, if it has begun.
  [[nodiscard]] std::optional<Duration> age(std::uint32_t fault, Instant t) const;
  [[nodiscard]] const TimedLink* find(LinkId link) const;

  std::vector<FaultSpec> faults_;
  std::vector<TimedLink> links_;  // by link
  FaultSet noticed_;
  std::vector<FaultSet> states_;
  Duration reroute_after_;
};

// What a fault did to a run.
struct FaultEffect {
  std::uint32_t fault = 0;  // its number in the cluster's list
  Instant first;
  std::int64_t times = 0;     // that it began
  std::int64_t rerouted = 0;  // transfers that took another way when it was noticed, or back when it was over
};

// The timeline along one run, on the links of the run's model.
class FaultClock {
 public:
  struct LinkInUse {
    LinkId link;      // of the network
    LinkId in_model;  // of the model
  };
  // Of the faults only those on links in use count, and those that routing goes round if `has_detours`: hashes then choose anew, also
  // for transfers that did not cross the link. `timeline` must outlive the clock.
  FaultClock(const FaultTimeline& timeline, std::vector<LinkInUse> links, bool has_detours);

  [[nodiscard]] bool is_empty() const { return faults_.empty(); }
  // The next instant at which something changes. The first is 0 where a fault is there from the start.
  [[nodiscard]] Instant next() const { return next_; }
  // The next instant of a run; `event`: the next one but for faults. Where that is never, what is in flight may go on when a link is
  // back; never() when nothing may, or nothing did in kMostIdleChanges changes. Changes do not count while a fault is there that will
  // end: the next one may be what the run waits for. To be asked once before each instant.
  [[nodiscard]] Instant next_of_all(Instant event, bool is_in_flight);
  // PRE: now == next(). Sets capacities. True when the state is another: then transfers have to be routed anew.
  bool apply(Instant now, NetworkModel& network);
  [[nodiscard]] std::size_t state() const { return state_; }
  void count_rerouted(std::int64_t transfers);

  // Of those that began up to the end of the run, on a link in use or with transfers rerouted.
  [[nodiscard]] std::vector<FaultEffect> effects(Instant end) const;
  // What is wrong with a link of the model now.
  [[nodiscard]] std::string describe(LinkId in_model) const;

  static constexpr int kMostIdleChanges = 4096;

 private:
  [[nodiscard]] bool is_any_to_end() const;
  [[nodiscard]] Instant next_after(Instant t) const;

  const FaultTimeline* timeline_;
  std::vector<LinkInUse> links_;
  std::vector<Rate> capacities_;        // of links_, now
  std::vector<std::uint32_t> faults_;   // that count
  std::vector<bool> is_in_use_;         // by faults_: on a link in use
  std::vector<std::int64_t> rerouted_;  // by faults_
  FaultSet changed_;                    // of the noticed ones, at the present
  std::optional<Instant> idle_since_;   // nothing but faults has happened
  int idle_changes_ = 0;
  Instant now_;
  Instant next_;
  std::size_t state_ = 0;
  bool has_detours_ = false;
};

}  // namespace lockstep
