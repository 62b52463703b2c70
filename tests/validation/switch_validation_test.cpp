// SPDX-License-Identifier: Apache-2.0
// NVLS, NVLSTree and sums in the fabric against what was measured: where NVLS ramps up with the number of GPUs, and beyond the NICs' rate.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "sim/experiment/cluster_run.h"
#include "sim/experiment/collective.h"
#include "tests/support/shipped.h"

namespace lockstep {
namespace {

struct Measured {
  const char* cluster;
  std::vector<std::string> sets;
  std::uint32_t gpus;
  std::int64_t gib;
  Algorithm asked;
  const char* ran;
  double busbw;  // GB/s
  double tolerance;
};

// stas00/ml-engineering (H200, B200, 4 x 8 H200 on EFA), CoreWeave (GB200), nebius and AWS (two nodes of H100), GCP (two of B200). The GB200 with
// SHARP is 360 trays of four GPUs with a 400G NIC each: 203 GB/s of the buffer is more than their line rate of 200.
TEST(SwitchValidation, MeasuredBusBandwidthIsMet) {
  const std::string links = "server.gpu.nvlink.links=8";
  const std::vector<std::string> sharp = {"server.gpus=4", "nodes=360", "nics_per_node=4", "fabric.nodes_per_leaf=18",
                                          "fabric.in_network_reduction=true"};
  const std::vector<Measured> all = {{"dgx-h200", {}, 4, 8, Algorithm::kAuto, "ring", 363.3, 0.05},
                                     {"dgx-h200", {}, 5, 8, Algorithm::kAuto, "nvls", 414.2, 0.05},
                                     {"dgx-h200", {}, 7, 8, Algorithm::kAuto, "nvls", 460.0, 0.05},
                                     {"dgx-h200", {}, 8, 8, Algorithm::kAuto, "nvls", 473.1, 0.05},
                                     {"dgx-h200", {}, 8, 16, Algorithm::kNvls, "nvls", 480.0, 0.05},
                                     {"dgx-h200", {links}, 8, 8, Algorithm::kAuto, "nvls", 215.0, 0.05},  // an H800
                                     {"superpod-b200", {}, 5, 8, Algorithm::kAuto, "ring", 677.8, 0.10},
                                     {"superpod-b200", {}, 6, 8, Algorithm::kAuto, "nvls", 778.2, 0.05},
                                     {"superpod-b200", {}, 8, 8, Algorithm::kAuto, "nvls", 838.0, 0.05},
                                     {"gb200-nvl72", {}, 72, 4, Algorithm::kAuto, "nvls", 839.2, 0.05},
                                     {"gb200-nvl72", {}, 72, 8, Algorithm::kAuto, "nvls", 834.6, 0.05},
                                     {"dgx-h100", {}, 16, 8, Algorithm::kAuto, "nvls_tree", 467.5, 0.08},
                                     {"aws-p5", {"nodes=2"}, 16, 8, Algorithm::kAuto, "nvls_tree", 479.3, 0.08},
                                     {"gcp-a4", {"nodes=2"}, 16, 8, Algorithm::kAuto, "nvls_tree", 683.5, 0.08},
                                     {"aws-p5en", {"nodes=4"}, 32, 16, Algorithm::kNvlsTree, "nvls_tree", 310.0, 0.08},
                                     {"gb200-nvl72", sharp, 1440, 16, Algorithm::kAuto, "collnet_direct", 405.7, 0.12}};
  for (const Measured& m : all) {
    const PreparedCluster c(test::cluster(m.cluster, m.sets), 0);
    CollectiveRequest r{.kind = CollectiveKind::kAllReduce, .sizes = {m.gib << 30}, .algorithm = m.asked};
    for (std::uint32_t i = 0; i < m.gpus; ++i) r.members.push_back(EndpointId(i));
    const CollectiveRow row = run_collective(r, c.router, c.tunings, NetworkKind::kFlow).front();
    EXPECT_EQ(row.algorithm, m.ran) << m.cluster << " " << m.gpus;
    EXPECT_NEAR(row.busbw_gb_per_s, m.busbw, m.tolerance * m.busbw) << m.cluster << " " << m.gpus << " by " << row.algorithm;
  }
}

}  // namespace
}  // namespace lockstep
