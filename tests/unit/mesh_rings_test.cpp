// SPDX-License-Identifier: Apache-2.0
#include "workloads/collectives/mesh_rings.h"

#include <gtest/gtest.h>

#include "sim/experiment/collective.h"
#include "tests/support/cluster_fixtures.h"

namespace lockstep {
namespace {

std::vector<int> full_mesh(int n, int links = 1) {
  std::vector<int> out(static_cast<std::size_t>(n * n), links);
  for (int i = 0; i < n; ++i) out[static_cast<std::size_t>(i * n + i)] = 0;
  return out;
}

// n - 1 directed Hamiltonian cycles for all n but 4 and 6, where the complete digraph has no such decomposition (Tillson 1980).
TEST(MeshRings, AFullMeshHasOneRingLessThanGpus) {
  for (const int n : {2, 3, 5, 7, 8, 9, 10})
    EXPECT_EQ(disjoint_rings(full_mesh(n), n).size(), static_cast<std::size_t>(n - 1)) << n;
  EXPECT_EQ(disjoint_rings(full_mesh(4), 4).size(), 2u);
  EXPECT_EQ(disjoint_rings(full_mesh(6), 6).size(), 4u);
  // With twice the links four GPUs do have all: 2 x 3.
  EXPECT_EQ(disjoint_rings(full_mesh(4, 2), 4).size(), 6u);
}

TEST(MeshRings, WithoutAWayRoundThereIsNone) {
  // A path 0 - 1 - 2.
  EXPECT_TRUE(disjoint_rings(std::vector<int>{0, 1, 0, 1, 0, 1, 0, 1, 0}, 3).empty());
  EXPECT_TRUE(disjoint_rings(std::vector<int>(4, 0), 2).empty());
}

struct Measured {
  std::size_t gpus;
  int rings;
  double busbw;
};

double busbw(const ClusterSpec& spec, std::size_t gpus, int& channels) {
  const PreparedCluster c(spec, 0);
  CollectiveRequest request{
      .kind = CollectiveKind::kAllReduce, .sizes = {std::int64_t{1} << 30}, .algorithm = Algorithm::kRing};
  for (std::size_t i = 0; i < gpus; ++i) request.members.push_back(EndpointId::from_index(i));
  const CollectiveRow row = run_collective(request, c.router, c.tunings, NetworkKind::kFlow).front();
  channels = row.channels;
  return row.busbw_gb_per_s;
}

ClusterSpec one(const std::string& server) {
  return test::read_cluster("kind: cluster\nnodes: 1\nserver: " + server + "\n").spec;
}

// All-reduce of 1 GiB over the first n GPUs of a DGX-1 with V100, as vTrain measured it (VIA-Research/vTrain, trace/v100). Only
// the pair went into a constant, the rate of one link; the number of rings the mesh has for n GPUs explains the rest.
TEST(MeshRings, TheMeasuredSizesOfADgx1AreItsNumbersOfRings) {
  for (const Measured& m : {Measured{2, 1, 22.55}, Measured{3, 2, 45.14}, Measured{4, 4, 85.36}, Measured{6, 2, 45.74},
                            Measured{7, 4, 87.01}, Measured{8, 6, 134.51}}) {
    int channels = 0;
    const double predicted = busbw(one("dgx-1-v100"), m.gpus, channels);
    EXPECT_EQ(channels, m.rings) << m.gpus;
    EXPECT_NEAR(predicted / m.busbw, 1, 0.06) << m.gpus;
  }
}

// 47.7 and 312.9 GB/s measured on MI300X (stas00/ml-engineering); a link carries 48 by RCCL's table. Alone, n GPUs reach rings
// x 48.
TEST(MeshRings, AnXgmiMeshIsSevenRings) {
  int channels = 0;
  EXPECT_NEAR(busbw(one("mi300x-8"), 2, channels), 47.7, 0.5);
  EXPECT_EQ(channels, 1);
  EXPECT_NEAR(busbw(one("mi300x-8"), 8, channels) / 312.9, 1, 0.08);
  EXPECT_EQ(channels, 7);
}

// Five GPUs of a DGX-1 have no ring over NVLink (GPU 4 is joined to GPU 0 alone): index order, 3 > 4 and 4 > 0 ... over PCIe,
// which lets no more through than the link between the sockets, 6 GB/s.
TEST(MeshRings, WithoutRingsTheSlowestHopSetsThePace) {
  int channels = 0;
  EXPECT_NEAR(busbw(one("dgx-1-v100"), 5, channels), 6, 0.05);
  EXPECT_EQ(channels, 1);
}

// Two nodes of a DGX-1: four rings over four NICs of 100 Gbit/s at 12 GB/s payload: NVIDIA expects 47 GB/s (NVIDIA/nccl#307).
// No ring may cross the sockets on its way to a NIC, or the 6 GB/s between them would show.
TEST(MeshRings, RingsEnterAndLeaveBesideTheirNics) {
  int channels = 0;
  const ClusterSpec two = test::read_cluster("kind: cluster\nnodes: 2\nserver: dgx-1-v100\nnetwork: ib-4x100\n").spec;
  EXPECT_NEAR(busbw(two, 16, channels), 47, 1);
  EXPECT_EQ(channels, 4);
}

// Eight NICs and seven rings of single links: an eighth channel would halve the pace of all (some link carries two), seven do 7
// x 47.5, less what latency and the pipeline's fill cost at 1 GiB, sqrt(20 us / 6 ms) = 6 %. OCI measured 350 (oracle-quickstart/oci-hpc-oke).
TEST(MeshRings, AsManyChannelsAsRingsWhereMoreAreSlower) {
  int channels = 0;
  const ClusterSpec two = test::read_cluster("kind: cluster\nnodes: 2\nserver: mi300x-8\nnetwork: roce-8x400\n").spec;
  EXPECT_NEAR(busbw(two, 16, channels) / (7 * 47.5), 0.92, 0.02);
  EXPECT_EQ(channels, 7);
}

// PCIe: one ring in index order. GPUs below one switch are bound by their slots (24 GB/s), all eight by the uplinks of the switches, where
// an Intel root complex leaves 5/6 of 24 to peers (the sockets are joined by 22); EPYC's by its link between sockets; staged copies by 22.
TEST(MeshRings, PcieRingsAreBoundByTheirNarrowestBus) {
  int channels = 0;
  EXPECT_NEAR(busbw(one("l40s-8-pcie"), 2, channels), 24, 0.1);
  EXPECT_NEAR(busbw(one("l40s-8-pcie"), 8, channels), 20, 0.1);
  EXPECT_NEAR(busbw(one("rtx-4090-8"), 2, channels), 22, 0.1);
  EXPECT_NEAR(busbw(one("rtx-4090-8"), 8, channels), 16, 0.1);
}

// The same two cards with their bridge, 2 links of 22.5 GB/s, and without, staged at 10 GB/s.
TEST(MeshRings, ABridgeCanBeSetAside) {
  int channels = 0;
  const std::string text = "kind: cluster\nnodes: 1\nserver: titan-rtx-2\n";
  EXPECT_NEAR(busbw(test::read_cluster(text).spec, 2, channels), 45, 0.5);
  const test::ReadCluster without = test::read_cluster(text, {"server.interconnect=pcie"});
  for (const std::string& m : without.messages) ADD_FAILURE() << m;
  EXPECT_NEAR(busbw(without.spec, 2, channels), 10, 0.1);
}

// A bridge: 2 GPUs with 12 links of 20.6 GB/s, the drain of a ring's last step off: 247.2 (1 - 0.2/3) = 230.7; at 1 GiB, 4.65 ms, filling the pipeline
// takes sqrt(5 us x 4.65 ms) = 0.15 ms more.
TEST(MeshRings, ABridgedPairRunsOverAllItsLinks) {
  int channels = 0;
  EXPECT_NEAR(busbw(one("h100-nvl-8"), 2, channels), 12 * 20.6 * (1 - 0.2 / 3) * 4.65 / (4.65 + 0.15), 1.5);
  EXPECT_EQ(channels, 12);
}

// Four transfers at once between the two switches of one socket share its uplinks, of which peers get 5/6: 0 > 2, 2 > 1, 1 > 3, 3 > 0 put
// two on each, in each direction: 20 / 2 = 10 GB/s. In order only 1 > 2 and 3 > 0 cross.
TEST(MeshRings, TransfersShareAnUplink) {
  const PreparedCluster c(one("l40s-8-pcie"), 0);
  const auto rate = [&c](std::vector<EndpointId> members) {
    const CollectiveRequest request{
        .kind = CollectiveKind::kSendRecv, .sizes = {std::int64_t{1} << 30}, .members = std::move(members)};
    return run_collective(request, c.router, c.tunings, NetworkKind::kFlow).front().busbw_gb_per_s;
  };
  EXPECT_NEAR(rate({EndpointId(0), EndpointId(1), EndpointId(2), EndpointId(3)}), 20, 0.1);
  EXPECT_NEAR(rate({EndpointId(0), EndpointId(2), EndpointId(1), EndpointId(3)}), 10, 0.1);
}

}  // namespace
}  // namespace lockstep
