// SPDX-License-Identifier: Apache-2.0
// Replays a trace (workloads/import/goal/trace.h) on a network, rank i on endpoint i.
//
//   calc   takes its nanoseconds x compute_scale. Each cpu of a rank does one thing at a time, first come first served.
//   send   begins when its cpu is free and ends at once: the message is buffered and travels by itself. One to its own rank arrives at once.
//   recv   begins when what it waits for has happened and ends when its message has arrived as well.
//
// The k-th send of a (source, destination, tag) is received by the k-th receive, in the order in which they begin, as MPI asks; where several
// begin at one instant, in the order of the trace. Messages of a pair of ranks share one route (the hash of ECMP is by pair).
//
// Not modelled: the o, g and S of LogGOPS (software overhead, gap of a NIC, rendezvous): latency and bandwidth are the network's. `nic`.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/network/network_model.h"
#include "topology/routing/router.h"
#include "workloads/import/goal/trace.h"

namespace lockstep {

struct TraceResult {
  Instant makespan;
  std::vector<Instant> finish;    // by rank: the end of its last operation
  std::vector<Duration> compute;  // by rank: sum of its calcs
  std::int64_t events = 0;        // beginnings and ends of operations
  std::uint64_t fingerprint = 0;  // order-free: sum over operations of hash(operation, amount, tick of its end)
};

// `network` is fresh and of the router's network. PRE: the trace was read without errors and has at most as many ranks as the router's network
// has endpoints. Throws SimulationError naming who waits when operations are left that can never end.
[[nodiscard]] TraceResult run_trace(const Trace& trace, double compute_scale, const Router& router, NetworkModel& network);

}  // namespace lockstep
