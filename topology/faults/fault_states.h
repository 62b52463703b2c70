// SPDX-License-Identifier: Apache-2.0
// The networks that a cluster with faults goes through. State 0 has the faults that are there for good. Failures that come and go add
// one state for every set of them that may be noticed at one time: there routing goes round their links where another path is left.
// Failures that begin, end and come again at the same times are noticed together. Capacities do not differ between states: a link that
// is broken for a time has its own until then (sim/network/fault_timeline.h changes it at the instant).
//
// Failures that routing can go round are those of links between switches; NICs are chosen once, at the start.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "topology/faults/fault_spec.h"
#include "topology/network.h"

namespace lockstep {

// A link that a fault concerns.
struct LinkFault {
  LinkId link;
  std::uint32_t fault = 0;  // its number in the list
  auto operator<=>(const LinkFault&) const = default;
};

// Faults by their numbers in the list, ascending.
using FaultSet = std::vector<std::uint32_t>;

// What is wrong with which fault: at one of its keys.
using FaultError = std::function<void(std::size_t fault, std::string_view key, std::string message, std::string hint)>;

// The links of all faults, by link and fault. Names that `network` does not have go to `report`. One look at every link.
[[nodiscard]] std::vector<LinkFault> locate_faults(const Network& network, const std::vector<FaultSpec>& faults,
                                                   const FaultError& report);

class FaultStates {
 public:
  static constexpr std::size_t kMostStates = 64;
  // `reroute_after`: from the beginning of a failure until routing goes round it. Throws UserError when the faults do not fit the
  // network; cluster files have been checked.
  FaultStates(const Network& network, const std::vector<FaultSpec>& faults, Duration reroute_after);

  [[nodiscard]] const std::vector<FaultSpec>& faults() const { return faults_; }
  [[nodiscard]] const std::vector<LinkFault>& links() const { return links_; }
  [[nodiscard]] bool has_timed() const;
  // Failures that routing goes round some time.
  [[nodiscard]] const FaultSet& noticed() const { return noticed_; }
  // Those that it goes round in each state, in order. In the first there are none.
  [[nodiscard]] const std::vector<FaultSet>& states() const { return states_; }
  [[nodiscard]] Network network(const Network& healthy, std::size_t state) const;

 private:
  void list_states(Duration reroute_after);
  [[nodiscard]] std::vector<LinkCondition> conditions(const Network& healthy, const FaultSet& state) const;

  std::vector<FaultSpec> faults_;
  std::vector<LinkFault> links_;
  FaultSet noticed_;
  std::vector<FaultSet> states_;
  std::vector<SurvivingPaths> paths_;  // by state; empty where no link between switches is broken
};

}  // namespace lockstep
