// SPDX-License-Identifier: Apache-2.0
#include "topology/faults/fault_spec.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/field_table.h"
#include "topology/hardware/limits.h"

namespace lockstep {
namespace {

constexpr double kPerMille = 1'000;

void check_target(const FaultSpec& f, Section& at) {
  const int targets = (f.link ? 1 : 0) + (f.switch_name ? 1 : 0) + (f.nic ? 1 : 0) + (f.node ? 1 : 0);
  if (targets != 1) {
    at.error("link", targets == 0 ? "nothing is said to be broken" : "is given together with another thing that is broken",
             "one of link, switch, nic and node");
  }
  if (f.direction != FaultDirection::kBoth && !f.link) at.error("direction", "is about a link", "remove it");
}

void check_effect(const FaultSpec& f, Section& at) {
  if (f.state && f.rate) at.error("rate", "is given together with state", "a failed link carries nothing; remove one");
  if (f.slowdown && !f.node) at.error("slowdown", "is about the GPUs of a node", "give node, or see stragglers");
  if (!f.state && !f.rate && !f.slowdown) {
    at.error("state", "nothing is wrong with it", "state: failed, or what is left of its rate, like rate: 50 %");
  }
  if (f.slowdown) {
    const double steps = f.slowdown->value * kPerMille;
    if (std::abs(steps - std::round(steps)) > 1e-6) at.error("slowdown", "is finer than 0.1 %", "like 10 %, or 2.5 %");
    if (f.is_timed()) at.error("slowdown", "does not come and go", "a fault of its own, without from and until");
  }
}

void check_times(const FaultSpec& f, Section& at) {
  const Duration from = f.from.value_or(Duration());
  if (f.until && *f.until <= from) at.error("until", "is no later than the fault begins", "a later time");
  if (!f.every) return;
  if (!f.until) return at.error("every", "needs to know how long the fault lasts", "give until");
  if (*f.every <= *f.until - from) at.error("every", "is no longer than the fault lasts", "longer than until - from");
}

}  // namespace

const FieldTable<FaultSpec>& fault_fields() {
  static const FieldTable<FaultSpec> table = [] {
    FieldTable<FaultSpec> t;
    t.field("link", &FaultSpec::link)
        .doc(
            "FROM>TO by the names of devices, like \"leaf0>spine1\" or \"node3.nic1>leaf0\"; \"leaf0>spine1#2\" is one of "
            "parallel cables");
    t.field("switch", &FaultSpec::switch_name).doc("a switch with all its links, like spine3 or node0.nvswitch");
    t.field("nic", &FaultSpec::nic).doc("a NIC, like node3.nic1: its link to the switch");
    t.field("node", &FaultSpec::node).range(0, kMostNodes).doc("all NICs of a node, and its GPUs for slowdown");
    t.choice("direction", &FaultSpec::direction,
             {{"both", FaultDirection::kBoth, "the cable"},
              {"forward", FaultDirection::kForward, "from the first device to the second"}})
        .doc("of a link");
    t.choice("state", &FaultSpec::state, {{"failed", FaultState::kFailed, "carries nothing"}}).doc("or rate");
    t.field("rate", &FaultSpec::rate).range({0.001}, {1}).doc("what is left of its rate, like 50 %");
    t.field("slowdown", &FaultSpec::slowdown).range({0}, {3}).doc("how much longer kernels take on the node; steps of 0.1 %");
    t.field("from", &FaultSpec::from)
        .range(Duration(), kLatestFault)
        .doc("when it begins, from the start of the run; at once when absent");
    t.field("until", &FaultSpec::until).range(Duration(), kLatestFault).doc("when it is over; never when absent");
    t.field("every", &FaultSpec::every).range(kShortestPeriod, kLatestFault).doc("how often it comes again; once when absent");
    t.validate([](const FaultSpec& f, Section& at) {
      check_target(f, at);
      check_effect(f, at);
      check_times(f, at);
    });
    return t;
  }();
  return table;
}

std::string to_text(const FaultSpec& f) {
  std::string text = f.link          ? *f.link
                     : f.switch_name ? *f.switch_name
                     : f.nic         ? *f.nic
                                     : fmt::format("node{}", f.node.value_or(0));
  if (f.direction == FaultDirection::kForward) text += " (forward)";
  if (f.is_failure()) text += " failed";
  if (f.rate) text += " at " + to_text(*f.rate);
  if (f.slowdown) text += fmt::format("{} computes {} longer", f.concerns_links() ? "," : "", to_text(*f.slowdown));
  return text;
}

std::string time_text(const FaultSpec& f) {
  if (!f.is_timed()) return {};
  std::string text = "from " + to_text(f.from.value_or(Duration()));
  if (f.until) text += " until " + to_text(*f.until);
  if (f.every) text += ", every " + to_text(*f.every);
  return text;
}

std::vector<std::int64_t> with_slow_nodes(const std::vector<FaultSpec>& faults, std::vector<std::int64_t> slowdowns,
                                          std::int64_t gpus, int gpus_per_node) {
  for (const FaultSpec& f : faults) {
    if (!f.slowdown || f.slowdown->value == 0) continue;
    if (slowdowns.empty()) slowdowns.assign(static_cast<std::size_t>(gpus), 0);
    const std::int64_t slowdown = std::llround(f.slowdown->value * kPerMille);
    for (int i = 0; i < gpus_per_node; ++i) {
      std::int64_t& s = slowdowns[static_cast<std::size_t>(std::int64_t{*f.node} * gpus_per_node + i)];
      s = std::max(s, slowdown);
    }
  }
  return slowdowns;
}

}  // namespace lockstep
