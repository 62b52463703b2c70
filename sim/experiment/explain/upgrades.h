// SPDX-License-Identifier: Apache-2.0
// Single changes of a cluster or a plan, for the question what each would bring alone. Every change keeps the sequences of a step.
//
// Hardware: links and NICs of the network at twice the rate, half the latency, a fabric without oversubscription, HBM at 1.5 times the rate,
// NVLink (xGMI) at twice, GPUDirect, a host that starts kernels in half the time, nothing slow or broken. What lies behind a faster part
// stays as it is: a NIC behind a full PCIe slot gains nothing. Numbers of ports of switches are not checked.
// Plan: each is one --set or a few of them that belong together.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "topology/cluster_spec.h"
#include "workloads/parallel/plan.h"

namespace lockstep {

struct UpgradeCase {
  ClusterSpec cluster;
  JobSpec job;
};

struct AppliedUpgrade {
  std::optional<UpgradeCase> changed;  // or
  std::string reason;                  // why it does not apply
  std::vector<std::string> set = {};   // --set of `lockstep run` that do the same; empty for hardware
};

struct Upgrade {
  const char* name;   // "network_rate_x2"
  const char* words;  // "network links and NICs at twice the rate"
  AppliedUpgrade (*apply)(const UpgradeCase& base, const TrainingPlan& plan);
};

[[nodiscard]] std::span<const Upgrade> hardware_upgrades();
[[nodiscard]] std::span<const Upgrade> plan_upgrades();

// Of the two tiers of a folded Clos the worse ratio of capacity below to capacity above; nothing without such tiers.
[[nodiscard]] std::optional<double> oversubscription_of(const ClusterSpec& cluster);

}  // namespace lockstep
