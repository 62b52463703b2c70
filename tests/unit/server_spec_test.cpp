// SPDX-License-Identifier: Apache-2.0
#include "topology/hardware/server_spec.h"

#include <gtest/gtest.h>

#include <ostream>

#include "tests/support/cluster_fixtures.h"

namespace lockstep {
namespace {

using test::read_cluster;

std::string server(const std::string& gpu, const std::string& rest) {
  return "kind: cluster\nnodes: 1\nserver:\n  gpu: " + gpu + "\n  pcie_latency: 50 ns\n" + rest;
}

TEST(ServerSpec, WhatJoinsTheGpusFollowsFromTheGpu) {
  const auto joined_by = [](const std::string& text) { return read_cluster(text).spec.server->joined_by(); };
  EXPECT_EQ(joined_by("kind: cluster\nnodes: 1\nserver: dgx-h100\n"), Interconnect::kNvSwitch);
  EXPECT_EQ(joined_by("kind: cluster\nnodes: 1\nserver: mi300x-8\n"), Interconnect::kMesh);
  EXPECT_EQ(joined_by(server("l40s", "  gpus: 4\n")), Interconnect::kPcie);
  EXPECT_EQ(joined_by(server("a100-pcie-80", "  gpus: 4\n  interconnect: pcie\n")), Interconnect::kPcie);
}

// Seven links, seven others: one each. Three others: two each, one is left over.
TEST(ServerSpec, AFullMeshHasEquallyManyLinksBetweenEveryTwo) {
  const auto links = [](int gpus) {
    const auto read = read_cluster("kind: cluster\nnodes: 1\nserver: mi300x-8\n", {"server.gpus=" + std::to_string(gpus)});
    return build_network(read.spec).direct_links(EndpointId(0), EndpointId(1));
  };
  EXPECT_EQ(links(8), 1);
  EXPECT_EQ(links(4), 2);
}

// What is printed reads back as the same.
TEST(ServerSpec, AMeshIsPrintedAsItIsRead) {
  for (const char* mesh : {"full", "\n    - {gpus: [0, 1], links: 2}\n    - {gpus: [1, 2]}"}) {
    const std::string text = server("mi300x", std::string("  gpus: 4\n  nvlink_latency: 468 ns\n  mesh: ") + mesh + "\n");
    const ServerSpec spec = *read_cluster(text).spec.server;
    ConfigPrinter printer;
    server_fields().print(spec, printer);
    Diagnostics d;
    const std::optional<Document> document = Document::parse("kind: server\n" + printer.text(), "printed.yaml", d);
    ASSERT_TRUE(document);
    ServerSpec again;
    ReadContext context(d);
    server_fields().read_document(*document, again, context);
    for (const Diagnostic& item : d.items()) ADD_FAILURE() << to_text(item);
    ASSERT_TRUE(spec.mesh && again.mesh);
    EXPECT_EQ(again.mesh->is_full, spec.mesh->is_full);
    ASSERT_EQ(again.mesh->pairs.size(), spec.mesh->pairs.size());
    for (std::size_t i = 0; i < spec.mesh->pairs.size(); ++i) {
      EXPECT_EQ(again.mesh->pairs[i].gpus, spec.mesh->pairs[i].gpus);
      EXPECT_EQ(again.mesh->pairs[i].links, spec.mesh->pairs[i].links);
    }
  }
}

TEST(ServerSpec, TrainingRunsAtFp16WhereThereIsNoBf16) {
  const GpuSpec v100 = read_cluster("kind: cluster\nnodes: 1\nserver: dgx-1-v100\n").spec.server->gpu;
  EXPECT_FALSE(v100.peak.bf16);
  EXPECT_EQ(v100.peak.training().per_second, 125e12);
  const GpuSpec h100 = read_cluster("kind: cluster\nnodes: 1\nserver: dgx-h100\n").spec.server->gpu;
  EXPECT_EQ(h100.peak.training().per_second, h100.peak.bf16->per_second);
}

struct BadServer {
  const char* why;
  std::string text;
  std::string message;
};

void PrintTo(const BadServer& c, std::ostream* out) { *out << c.why; }

class BadServers : public ::testing::TestWithParam<BadServer> {};

TEST_P(BadServers, AreRefusedWithPositionAndHint) {
  const test::ReadCluster read = read_cluster(GetParam().text);
  EXPECT_FALSE(read.is_good);
  ASSERT_EQ(read.messages.size(), 1u);
  EXPECT_EQ(read.messages.front(), GetParam().message);
}

const std::string kXgmi = "  nvlink_latency: 468 ns\n";

INSTANTIATE_TEST_SUITE_P(
    ServerSpec, BadServers,
    ::testing::Values(
        BadServer{"NvSwitchWithoutNvlink", server("l40s", "  gpus: 4\n  interconnect: nvswitch\n"),
                  "c.yaml:7:17: error: server.interconnect: needs a GPU with nvlink or xgmi (use such a GPU, or interconnect: "
                  "pcie)"},
        BadServer{"NvSwitchOfXgmi", server("mi300x", "  gpus: 4\n  interconnect: nvswitch\n" + kXgmi),
                  "c.yaml:7:17: error: server.interconnect: nvswitch needs a GPU with nvlink, and this one has xgmi (use "
                  "interconnect: mesh)"},
        BadServer{"NoLatency", server("h100-sxm", "  gpus: 4\n"),
                  "c.yaml:4:3: error: server.nvlink_latency: is missing (like nvlink_latency: 468 ns)"},
        BadServer{"NoMesh", server("mi300x", "  gpus: 4\n" + kXgmi),
                  "c.yaml:4:3: error: server.mesh: is missing (give full, or a list like [{gpus: [0, 1], links: 2}])"},
        BadServer{"MeshElsewhere", server("l40s", "  gpus: 4\n  mesh: full\n"),
                  "c.yaml:7:9: error: server.mesh: needs interconnect: mesh (give interconnect: mesh, or remove mesh)"},
        BadServer{"MeshOfAnotherWord", server("mi300x", "  gpus: 4\n  mesh: half\n" + kXgmi),
                  "c.yaml:7:9: error: server.mesh: is neither full nor a list of pairs (full, or a list like [{gpus: [0, 1], "
                  "links: 2}])"},
        BadServer{"FullMeshTooLarge", server("mi300x", "  gpus: 9\n  mesh: full\n" + kXgmi),
                  "c.yaml:7:9: error: server.mesh: a full mesh of 9 GPUs needs 8 links of each, and there are 7 (fewer GPUs, "
                  "or a list of pairs)"},
        BadServer{"PairOfThree", server("mi300x", "  gpus: 4\n  mesh: [{gpus: [0, 1, 2]}]\n" + kXgmi),
                  "c.yaml:7:17: error: server.mesh[0].gpus: are not two GPUs (like gpus: [0, 1])"},
        BadServer{"PairBeyond", server("mi300x", "  gpus: 4\n  mesh: [{gpus: [0, 4]}]\n" + kXgmi),
                  "c.yaml:7:17: error: server.mesh[0].gpus: there is no GPU 4 (GPUs are 0 to 3)"},
        BadServer{"PairTwice", server("mi300x", "  gpus: 4\n  mesh: [{gpus: [0, 1]}, {gpus: [1, 0]}]\n" + kXgmi),
                  "c.yaml:7:33: error: server.mesh[1].gpus: GPUs 0 and 1 are joined twice (give one pair with the sum of the "
                  "links)"},
        BadServer{"TooManyLinks",
                  server("mi300x", "  gpus: 4\n  mesh: [{gpus: [0, 1], links: 6}, {gpus: [0, 2], links: 2}]\n" + kXgmi),
                  "c.yaml:7:43: error: server.mesh[1].gpus: GPU 0 has 7 links and needs 8 (fewer links or pairs)"},
        BadServer{"SocketsApart", server("l40s", "  gpus: 4\n  pcie: {sockets: 2}\n"),
                  "c.yaml:7:9: error: server.pcie.inter_socket: is missing: nothing joins the 2 sockets (give its rate and "
                  "payload, or sockets: 1)"},
        BadServer{"StagedWithPeerAccess", server("l40s", "  gpus: 4\n  pcie: {sockets: 1, staging: {rate: 22 GB/s}}\n"),
                  "c.yaml:7:31: error: server.pcie.staging: needs p2p: false: with p2p nothing is staged (remove it, or give "
                  "p2p: false)"},
        BadServer{"TooManyGpus", server("l40s", "  gpus: 129\n"),
                  "c.yaml:6:9: error: server.gpus: is above 128, the most for a server that is not one NVSwitch over one PCIe "
                  "hub"},
        BadServer{"NvlsWithoutNvSwitch", server("h100-sxm", "  gpus: 4\n  interconnect: pcie\n  nvls: true\n"),
                  "c.yaml:8:9: error: server.nvls: needs GPUs on an NVSwitch (give interconnect: nvswitch, or nvls: false)"},
        BadServer{"NvlsBeforeHopper", server("a100-80", "  gpus: 4\n  nvls: true\n" + kXgmi),
                  "c.yaml:7:9: error: server.nvls: needs a Hopper or Blackwell GPU, and this one is ampere (use such a GPU, or "
                  "nvls: false)"},
        BadServer{"LimitWithoutNvls", server("h100-sxm", "  gpus: 4\n  nvls_limit: 1 GB/s\n" + kXgmi),
                  "c.yaml:7:15: error: server.nvls_limit: needs nvls: true (give nvls: true, or remove it)"},
        BadServer{"TwoKindsOfPorts",
                  "kind: cluster\nnodes: 1\nserver: {preset: l40s-4, gpu: {preset: l40s, nvlink: {links: 1, rate_per_link: 25 "
                  "GB/s, payload_per_link: 20 GB/s}, xgmi: {links: 1, rate_per_link: 25 GB/s, payload_per_link: 20 GB/s}}}\n",
                  "c.yaml:3:123: error: server.gpu.xgmi: does not go with nvlink (a GPU has one of them)"},
        BadServer{"NoPeak",
                  "kind: cluster\nnodes: 1\nserver: {preset: l40s-4, gpu: {preset: l40s, peak: {bf16: null, fp16: null}}}\n",
                  "c.yaml:3:59: error: server.gpu.peak.bf16: is missing, and so is fp16 (give one of them: training runs at "
                  "it)"}),
    [](const auto& param_info) { return std::string(param_info.param.why); });

}  // namespace
}  // namespace lockstep
