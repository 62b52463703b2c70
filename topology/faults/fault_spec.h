// SPDX-License-Identifier: Apache-2.0
// What is broken in a cluster, as its file says (key `faults`, a list):
//
//   {link: "leaf0>spine1", rate: 50 %}         both directions, or `direction: forward`; all parallel cables
//   {link: "leaf0>spine1#2", state: failed}    one of parallel cables
//   {switch: spine3, state: failed}            every link of a switch
//   {nic: node3.nic1, state: failed}           a NIC: its link to the switch
//   {node: 3, rate: 50 %, slowdown: 30 %}      all NICs of a node; its GPUs compute more slowly
//   {link: "node3.nic1>leaf0", state: failed, from: 200 ms, until: 500 ms, every: 2 s}
//
// Names are those that `lockstep topo` and results give (Network::name). A fault is there for good, or from `from` until `until`,
// again `every` so often. Of several faults on a link the worst counts at every instant. Times count from the start of the run.
//
// NOT modelled: bit errors and their retransmissions (a lower rate stands for them), switches that forward to nowhere, GPUs that
// fail, slow-downs that come and go.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/quantity.h"

namespace lockstep {

template <class T>
class FieldTable;

enum class FaultState : std::uint8_t { kFailed };
enum class FaultDirection : std::uint8_t { kBoth, kForward };

struct FaultSpec {
  std::optional<std::string> link;  // one of these four
  std::optional<std::string> switch_name;
  std::optional<std::string> nic;
  std::optional<int> node;
  FaultDirection direction = FaultDirection::kBoth;  // of a link
  std::optional<FaultState> state;                   // or
  std::optional<Fraction> rate;                      // what is left of it
  std::optional<Fraction> slowdown;                  // of the kernels of a node, as StragglerSpec's
  std::optional<Duration> from;                      // none: from the start
  std::optional<Duration> until;                     // none: for good
  std::optional<Duration> every;                     // none: once

  [[nodiscard]] bool is_failure() const { return state.has_value(); }
  [[nodiscard]] bool is_timed() const { return from.has_value() || until.has_value(); }
  [[nodiscard]] bool concerns_links() const { return is_failure() || rate.has_value(); }
  bool operator==(const FaultSpec&) const = default;
};

[[nodiscard]] const FieldTable<FaultSpec>& fault_fields();

// "leaf0>spine1 failed", "node3.nic1 at 50%", "node3 computes 30% longer".
[[nodiscard]] std::string to_text(const FaultSpec& fault);
// "from 200 ms until 500 ms, every 2 s"; empty for a fault that is there for good.
[[nodiscard]] std::string time_text(const FaultSpec& fault);

// What faults make of kernels, by GPU, per mille: at least `slowdowns` (empty: none), of which the larger counts. Empty when no GPU is
// slow.
[[nodiscard]] std::vector<std::int64_t> with_slow_nodes(const std::vector<FaultSpec>& faults,
                                                        std::vector<std::int64_t> slowdowns, std::int64_t gpus,
                                                        int gpus_per_node);

}  // namespace lockstep
