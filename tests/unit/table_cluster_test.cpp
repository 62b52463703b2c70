// SPDX-License-Identifier: Apache-2.0
// The rule that turns the words of a published nccl-tests table into a cluster, on words that no shipped table has as well.
#include "sim/experiment/table_cluster.h"

#include <gtest/gtest.h>

#include "sim/experiment/collective.h"
#include "sim/experiment/table_words.h"
#include "tests/support/shipped.h"

namespace lockstep {
namespace {

TableColumns columns(std::string gpu, std::string intra, std::string inter, std::int64_t gpus, std::int64_t nodes) {
  return {.table = "t",
          .gpu_type = std::move(gpu),
          .intra_fabric = std::move(intra),
          .inter_fabric = std::move(inter),
          .gpus = gpus,
          .nodes = nodes,
          .gpus_per_node = 8};
}

std::string name(const TableColumns& c) {
  const TableCluster t = describe_table(c);
  return t.refusal.empty() ? t.name() : "refused: " + t.refusal;
}
// One node of a GPU.
std::string server(std::string gpu, std::string intra = "", std::int64_t gpus = 8) {
  return describe_table(columns(std::move(gpu), std::move(intra), "none", gpus, 1)).server;
}
// Two nodes of eight.
std::string network(std::string gpu, std::string inter) {
  return describe_table(columns(std::move(gpu), "", std::move(inter), 16, 2)).network;
}

TEST(TableWords, AWordEndsWhereLettersMeetDigitsOrSigns) {
  EXPECT_TRUE(has_word("NVIDIA A100-SXM4-80GB", "a100"));
  EXPECT_TRUE(has_word("8xA100", "a100"));
  EXPECT_TRUE(has_word("a100SXM", "a100"));
  EXPECT_TRUE(has_word("GeForce RTX2080Ti", "2080 ti"));
  EXPECT_TRUE(has_word("RTX_2080-Ti", "2080 ti"));
  EXPECT_FALSE(has_word("RTX A1000", "a100"));
  EXPECT_FALSE(has_word("GB200", "b200"));
  EXPECT_FALSE(has_word("H200", "h20"));
  EXPECT_FALSE(has_word("TCPXO", "tcpx"));
  EXPECT_FALSE(has_word("distributed", "ib"));
  EXPECT_FALSE(has_word("string", "ring"));
  EXPECT_FALSE(has_word("", "a100"));
}

TEST(TableWords, NicsAreACountTimesARate) {
  const auto expect = [](std::string_view text, std::int64_t count, std::int64_t gbps, std::int64_t of_node) {
    const NicWords w = read_nics(text);
    EXPECT_EQ(w.count.value_or(0), count) << text;
    EXPECT_EQ(w.gbps.value_or(0), gbps) << text;
    EXPECT_EQ(w.gbps_of_node.value_or(0), of_node) << text;
  };
  expect("8x400G NDR IB", 8, 400, 0);
  expect("EFA v1 4x100Gb = 400Gb/s per node", 4, 100, 0);
  expect("2 x 100GbE RoCE", 2, 100, 0);
  expect(
      "8\xC3\x97"
      "200 Gbps",
      8, 200, 0);
  expect("4x25 GB/s", 4, 200, 0);
  expect("8x CX-7 RoCE 400G", 8, 400, 0);
  expect("8x200G RoCE (16x100G CX-5)", 8, 200, 0);
  expect("100G TCP", 0, 100, 0);
  expect("8x1600G", 8, 1600, 0);
  expect("3200 Gbps EFA", 0, 0, 3200);
  expect("400 Gb/s per node", 0, 0, 400);
  expect("2x8 GPUs on 4x100G", 4, 100, 0);
  expect("IB, 4 GPUs each", 0, 0, 0);
  expect("99999999999999999999x400G", 0, 400, 0);
  expect("8x", 8, 0, 0);
  expect("", 0, 0, 0);
}

TEST(TableCluster, TheFormOfAGpuDecidesItsServer) {
  EXPECT_EQ(server("A100-SXM4-40GB"), "dgx-a100-40");
  EXPECT_EQ(server("A100", "NVLink3"), "dgx-a100");
  EXPECT_EQ(server("A100-80GB PCIe", "NVLink bridge pairs + PCIe4", 4), "a100-pcie-8-bridged");
  EXPECT_EQ(server("A100", "PCIe (no NVLink)"), "a100-pcie-8");
  EXPECT_EQ(server("NVIDIA H100 80GB HBM3", "NVLink4"), "dgx-h100");
  EXPECT_EQ(server("H100 SXM5, PCIe 5 host", "NVLink4"), "dgx-h100");
  EXPECT_EQ(server("H100 PCIe"), "h100-pcie-8");
  EXPECT_EQ(server("H100 NVL"), "h100-nvl-8");
  EXPECT_EQ(server("H800"), "hgx-h800");
  EXPECT_EQ(server("8x H20"), "hgx-h20");
  EXPECT_EQ(server("V100 (DGX-1)", "hybrid cube mesh"), "dgx-1-v100");
  EXPECT_EQ(server("V100-SXM3-32GB (DGX-2)", "NVSwitch", 12), "dgx-2");
  EXPECT_EQ(server("V100", "NVLink", 16), "dgx-2");
  EXPECT_EQ(server("B200 SXM", "NVLink5"), "dgx-b200");
  EXPECT_EQ(server("AMD Instinct MI300X"), "mi300x-8");
  EXPECT_EQ(server("NVIDIA RTX 6000D (PCIe)"), "rtx-6000d-8");
  EXPECT_EQ(server("RTX 6000 Ada Generation", "PCIe4", 4), "rtx-6000-ada-4");
  EXPECT_EQ(name(columns("RTX 3090", "PCIe", "none", 2, 1)), "1 x rtx-3090-2 without bridge");
  EXPECT_EQ(server("Tesla V100-PCIE-32GB"), "v100-pcie-8");
  EXPECT_EQ(server("B300 SXM6"), "dgx-b300");
  EXPECT_EQ(server("NVIDIA L4"), "l4-8");
  EXPECT_EQ(server("NVIDIA L40S"), "l40s-8-pcie");
  EXPECT_EQ(name(columns("A40", "PCIe4, NVLink bridge pairs", "none", 4, 1)), "1 x a40-8");
  EXPECT_EQ(name(columns("A40", "PCIe4", "none", 4, 1)), "1 x a40-8 without bridge");
  EXPECT_EQ(name(columns("RTX 3090", "NVLink", "none", 2, 1)), "1 x rtx-3090-2");
}

TEST(TableCluster, RacksOfAnNvl72AreServers) {
  TableColumns c = columns("GB200 NVL72", "NVLink5", "none (single rack)", 72, 18);
  EXPECT_EQ(name(c), "1 x gb200-nvl72");
  c = columns("GB200 NVL72", "NVLink5", "Quantum InfiniBand + SHARP", 1440, 360);
  EXPECT_EQ(name(c), "20 x gb200-nvl72, ib-72x400 with SHARP");
  c = columns("GB200", "NVLink5", "InfiniBand", 1024, 256);  // 15 racks would not be equally full
  EXPECT_EQ(name(c), "16 x gb200-nvl72, ib-72x400");
  c = columns("GB200", "NVLink5", "8x400G", 128, 32);
  EXPECT_EQ(describe_table(c).refusal, "no transport between its nodes is named in '8x400G'");
}

TEST(TableCluster, TransportAndNicsComeFromWordsThenFromTheMachine) {
  EXPECT_EQ(network("H100", "8x400G NDR IB"), "ib-8x400");
  EXPECT_EQ(network("H100", "NDR InfiniBand"), "ib-8x400");
  EXPECT_EQ(network("A100", "HDR"), "ib-8x200");
  EXPECT_EQ(network("H100", "HDR"), "ib-8x200");
  EXPECT_EQ(network("V100", "2x100GbE RoCE CX-5, SN2700 Spectrum switch"), "roce-2x100");
  EXPECT_EQ(network("H100 (p5.48xlarge)", "EFA"), "efa-32x100");
  EXPECT_EQ(network("H100 (p5.48xlarge)", "EFA 3200 Gbps"), "efa-32x100");
  EXPECT_EQ(network("H200 (p5en)", "EFA v3"), "efa-16x200");
  EXPECT_EQ(network("A100 (p4d.24xlarge)", "EFA"), "efa1-4x100");
  EXPECT_EQ(network("A100-40GB SXM (BM.GPU4.8)", "the cluster network"), "roce-8x200");
  EXPECT_EQ(network("A100", "EFA v1 4x100Gb = 400Gb/s per node"), "efa1-4x100");
  EXPECT_EQ(name(columns("H100", "NVLink", "8x400G NDR IB, no GPUDirect RDMA", 16, 2)),
            "2 x dgx-h100, ib-8x400 without GPUDirect");
  EXPECT_EQ(network("H100", "4x200G GPUDirect-TCPX"), "tcpx-4x200");
  EXPECT_EQ(network("H100 (GCP A3 Mega)", "FasTrak"), "tcpxo-8x200");
  EXPECT_EQ(network("V100", "25GbE"), "tcp-1x25");
  EXPECT_EQ(network("V100", "100G TCP"), "tcp-1x100");
  EXPECT_EQ(network("MI300X", "8x400G RoCEv2 (Ethernet)"), "roce-8x400");
  EXPECT_EQ(network("RTX 6000D", "CX-8 class NIC"), "roce-8x400");
  EXPECT_EQ(network("A100-PCIe", "2x HDR100 InfiniBand"), "ib-2x100");
}

TEST(TableCluster, AlgorithmsAreForcedByName) {
  TableColumns c = columns("H200", "NVLink ring", "none", 8, 1);
  EXPECT_EQ(describe_table(c).algorithm, Algorithm::kRing);
  c.intra_fabric = "NVLink default algo";
  EXPECT_EQ(describe_table(c).algorithm, Algorithm::kAuto);
  c.table = "h200-8g-nvlsoff";
  EXPECT_EQ(describe_table(c).algorithm, Algorithm::kRing);
}

TEST(TableCluster, WhatIsDescribedNowhereIsRefusedWithTheReason) {
  EXPECT_EQ(name(columns("TPU v5p", "ICI", "none", 8, 1)), "refused: no server is described for the GPU 'TPU v5p'");
  EXPECT_EQ(name(columns("", "", "", 8, 1)), "refused: no server is described for the GPU ''");
  EXPECT_EQ(name(columns("H100", "NVLink", "", 16, 2)), "refused: no transport between its nodes is named in ''");
  EXPECT_EQ(name(columns("RTX 4090", "PCIe", "InfiniBand", 16, 2)),
            "refused: the NICs of its nodes are described nowhere: 'InfiniBand'");
  EXPECT_EQ(name(columns("H100", "NVLink", "ib", 1, 1)), "refused: a collective of 1 GPUs");
  EXPECT_EQ(name(columns("H100", "NVLink", "ib", 17, 2)), "refused: 17 GPUs on 2 nodes are not equally many on each");
  EXPECT_EQ(name(columns("H100", "NVLink", "ib", 32, 2)), "refused: 32 GPUs on 2 of dgx-h100, which has 8");
  EXPECT_EQ(name(columns("H100", "NVLink", "ib", 16, -2)), "refused: 16 GPUs on -2 nodes are not equally many on each");
}

TEST(TableCluster, TheFirstGpusOfEachServerTakePart) {
  const TableCluster t = describe_table(columns("H100", "NVLink4", "IB (2 GPUs per node used)", 4, 2));
  Diagnostics d;
  const std::optional<ClusterSpec> cluster = cluster_of(t, test::shipped(), d);
  ASSERT_TRUE(cluster) << test::messages(d);
  EXPECT_EQ(cluster->name, "2 x dgx-h100, ib-8x400");
  const std::vector<EndpointId> expected = {EndpointId(0), EndpointId(1), EndpointId(8), EndpointId(9)};
  EXPECT_EQ(first_gpus(*cluster, t.servers, t.gpus_per_server), expected);
}

TEST(TableCluster, EveryServerThatTheRuleNamesIsShipped) {
  for (const char* gpu : {"V100",      "V100-SXM3",   "A100",      "A100 40GB", "A100 PCIe", "A100 PCIe bridge",
                          "A800",      "H100",        "H100 PCIe", "H100 NVL",  "H800",      "H20",
                          "H200",      "B200",        "GB200",     "GB300",     "MI300X",    "L40S",
                          "A10",       "RTX 2080 Ti", "RTX 3090",  "RTX 4090",  "RTX 5090",  "RTX 6000 Ada",
                          "RTX 6000D", "Titan RTX",   "V100 PCIe", "B300",      "MI325X",    "L4",
                          "T4",        "A40",         "RTX A6000"}) {
    const TableCluster t = describe_table(columns(gpu, "", "none", 2, 1));
    ASSERT_EQ(t.refusal, "") << gpu;
    Diagnostics d;
    EXPECT_TRUE(cluster_of(t, test::shipped(), d)) << gpu << '\n' << test::messages(d);
  }
}

TEST(TableCluster, SharpIsAFabricWhoseSwitchesReduce) {
  Diagnostics d;
  const std::optional<ClusterSpec> cluster =
      cluster_of(describe_table(columns("H100", "NVLink4", "8x400G NDR IB + SHARP", 16, 2)), test::shipped(), d);
  ASSERT_TRUE(cluster) << test::messages(d);
  EXPECT_TRUE(cluster->fabric.in_network_reduction);
}

TEST(TableCluster, ARateBeyondAllNetworksIsAnErrorWithoutACluster) {
  Diagnostics d;
  EXPECT_FALSE(cluster_of(describe_table(columns("H100", "NVLink4", "999999x400G IB", 16, 2)), test::shipped(), d));
  EXPECT_TRUE(d.has_errors());
}

}  // namespace
}  // namespace lockstep
