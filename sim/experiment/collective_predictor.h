// SPDX-License-Identifier: Apache-2.0
// The time of one collective alone on a cluster, for many sizes and many values of the library's constants: what calibration asks for
// thousands of times. A collective that runs in stages is alone on its links, so its time is the sum over stages of latency +
// bytes / undisturbed rate, which is what the engine gives to the picosecond per stage; all_to_all and send_recv run on the engine.
//
// Cost: a shape when rates of the network become what they were not before, else microseconds for a size. Memory: a few shapes.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "sim/experiment/cluster_run.h"
#include "workloads/collectives/communicator.h"
#include "workloads/program.h"

namespace lockstep {

struct CollectiveQuestion {
  CollectiveKind kind = CollectiveKind::kAllReduce;
  std::vector<EndpointId> members;  // at least two
  Algorithm algorithm = Algorithm::kAuto;
};

class CollectivePredictor {
 public:
  // PRE: the cluster passed its validation and has the members. Throws UserError when the algorithm cannot do it on them.
  CollectivePredictor(ClusterSpec cluster, CollectiveQuestion question);

  // From now on with these constants instead of the cluster's.
  void retune(const TuningSpec& tuning);
  // Of each size, which is the larger per-rank buffer in bytes.
  [[nodiscard]] std::vector<double> seconds(const std::vector<std::int64_t>& sizes);
  [[nodiscard]] double seconds(std::int64_t bytes) { return seconds(std::vector{bytes}).front(); }

 private:
  // What depends on the rates of the network.
  struct Prepared {
    std::unique_ptr<const PreparedCluster> cluster;
    CommunicatorShape shape;
  };
  using Payloads = std::array<double, 3>;  // shares that the tuning has of the rates of NVLink, PCIe and NICs

  [[nodiscard]] Payloads payloads() const;
  void prepare();

  ClusterSpec cluster_;
  CollectiveQuestion question_;
  std::map<Payloads, Prepared> known_;
  const Prepared* prepared_ = nullptr;
  std::array<CollectiveTuning, 3> tunings_;
  LoweredCollective lowered_;
};

}  // namespace lockstep
