// SPDX-License-Identifier: Apache-2.0
// Pins the constants of the shipped hardware: each moves predictions, so each change must be meant.
#include <gtest/gtest.h>

#include "tests/support/cluster_fixtures.h"

namespace lockstep {
namespace {

template <class T>
T shipped(const std::string& name, const FieldTable<T>& table) {
  const ConfigLibrary library({LOCKSTEP_TEST_CONFIGS});
  Diagnostics d;
  T value{};
  const std::optional<Document> document = library.open(table.kind(), name, {"test", 0, 0}, {}, d);
  ReadContext context(d, &library);
  if (document) table.read_document(*document, value, context);
  for (const Diagnostic& item : d.items()) ADD_FAILURE() << to_text(item);
  return value;
}

GpuSpec gpu(const std::string& name) { return shipped(name, gpu_fields()); }
NetworkSpec network(const std::string& name) { return shipped(name, network_fields()); }

double gb_per_s(Rate r) { return r.bytes_per_second() / 1e9; }

TEST(Hardware, EveryShippedFileIsReadAndNamesItsSource) {
  const ConfigLibrary library({LOCKSTEP_TEST_CONFIGS});
  for (const ConfigEntry& e : library.entries("gpu")) EXPECT_EQ(gpu(e.name).name, e.name);
  for (const ConfigEntry& e : library.entries("server")) EXPECT_EQ(shipped(e.name, server_fields()).name, e.name);
  for (const ConfigEntry& e : library.entries("network")) EXPECT_EQ(network(e.name).name, e.name);
  for (const char* kind : {"gpu", "server", "network", "tuning", "software", "cluster"}) {
    for (const ConfigEntry& e : library.entries(kind)) {
      Diagnostics d;
      const std::optional<Document> document = Document::load(e.file, d);
      ASSERT_TRUE(document) << e.file;
      for (const char* key : {"what", "source"})
        EXPECT_FALSE(document->root().find(key).text().empty()) << e.file << ' ' << key;
    }
  }
}

// NCCL's usable rate per link, times links: 12 x 20, 18 x 20.6; data sheets 12 x 25, 18 x 25.
TEST(Hardware, NvlinkIsLinksTimesTheLibrarysRate) {
  EXPECT_NEAR(gb_per_s(gpu("a100-80").nvlink->payload()), 240, 1e-6);
  EXPECT_NEAR(gb_per_s(gpu("a100-80").nvlink->nominal()), 300, 1e-6);
  EXPECT_NEAR(gb_per_s(gpu("h100-sxm").nvlink->payload()), 370.8, 1e-6);
  EXPECT_NEAR(gb_per_s(gpu("h200-sxm").nvlink->nominal()), 450, 1e-6);
}

TEST(Hardware, GpusOfAGenerationShareWhatIsNotOnTheDataSheet) {
  const auto same = [](const std::string& a, const std::string& b) {
    const GpuSpec x = gpu(a);
    const GpuSpec y = gpu(b);
    EXPECT_EQ(x.generation, y.generation);
    EXPECT_EQ(x.nvlink->payload_per_link, y.nvlink->payload_per_link);
    EXPECT_EQ(x.nvlink->ring_drain, y.nvlink->ring_drain);
    if (x.pcie.rate == y.pcie.rate) {  // slots of the same generation of PCIe
      EXPECT_EQ(x.pcie.payload, y.pcie.payload);
    }
    EXPECT_EQ(x.efficiency.gemm, y.efficiency.gemm);
    EXPECT_EQ(x.efficiency.gemm_shape.ramp_k, y.efficiency.gemm_shape.ramp_k);
    EXPECT_EQ(x.efficiency.attention.flash2, y.efficiency.attention.flash2);
    EXPECT_EQ(x.efficiency.attention_backward_ratio, y.efficiency.attention_backward_ratio);
    EXPECT_EQ(x.efficiency.hbm, y.efficiency.hbm);
    EXPECT_EQ(x.efficiency.comm_slowdown, y.efficiency.comm_slowdown);
  };
  same("a100-40", "a100-80");
  same("a100-80", "a100-pcie-80");
  same("h100-sxm", "h200-sxm");
  same("h100-sxm", "h100-nvl");
  same("h100-sxm", "h100-pcie");
  same("b200-sxm", "gb200");
  same("b200-sxm", "gb300");
  same("b200-sxm", "b300-sxm");
  same("v100-sxm2-16", "v100-sxm2-32");
  same("v100-sxm2-32", "v100-sxm3-32");
  same("a100-80", "a800-80");
  same("h100-sxm", "h800-sxm");
  same("h100-sxm", "h20-sxm");
  same("rtx-3090", "a40");
  same("rtx-3090", "rtx-a6000");
  same("titan-rtx", "rtx-2080-ti");
  // PCIe 6: 480 x 16 / 80 in NCCL's count, twice that of PCIe 5. A GB300 reaches its NIC of 800 Gbit/s.
  EXPECT_NEAR(gb_per_s(gpu("gb300").pcie.payload), 2 * gb_per_s(gpu("gb200").pcie.payload), 1e-6);
}

// A V100 link reaches 22.5 of 25 GB/s (22.55 measured over one), and a Titan has the same links. RCCL counts 48 of an xGMI
// link's 64.
TEST(Hardware, LinksOfOtherGenerationsArePinned) {
  EXPECT_NEAR(gb_per_s(gpu("v100-sxm2-32").nvlink->payload()), 6 * 22.5, 1e-6);
  EXPECT_NEAR(gb_per_s(gpu("titan-rtx").nvlink->payload()), 2 * 22.5, 1e-6);
  EXPECT_NEAR(gb_per_s(gpu("rtx-3090").nvlink->payload()), 4 * 12, 1e-6);
  EXPECT_NEAR(gb_per_s(gpu("b200-sxm").nvlink->payload()), 18 * 40.1, 1e-6);
  EXPECT_NEAR(gb_per_s(gpu("mi300x").xgmi->payload()), 7 * 48, 1e-6);
  // An A800 and an H800 have 400 GB/s both ways together.
  EXPECT_NEAR(gb_per_s(gpu("a800-80").nvlink->nominal()), 200, 1e-6);
  EXPECT_NEAR(gb_per_s(gpu("h800-sxm").nvlink->nominal()), 200, 1e-6);
  EXPECT_NEAR(gb_per_s(gpu("mi325x").xgmi->payload()), 7 * 48, 1e-6);
  for (const char* name : {"a10", "l4", "l40s", "rtx-4090", "rtx-5090", "rtx-6000-ada", "rtx-6000d", "t4", "v100-pcie-32"}) {
    EXPECT_FALSE(gpu(name).nvlink) << name;
    EXPECT_FALSE(gpu(name).xgmi) << name;
  }
}

// Gen3, 4 and 5 x16 by NCCL's rule: width x rate / 80 = 12, 24, 48 GB/s.
TEST(Hardware, PcieFollowsItsGeneration) {
  for (const char* name : {"v100-sxm2-16", "titan-rtx", "t4", "v100-pcie-32"})
    EXPECT_NEAR(gb_per_s(gpu(name).pcie.payload), 12, 1e-6) << name;
  for (const char* name : {"a10", "l4", "l40s", "rtx-4090", "rtx-3090"})
    EXPECT_NEAR(gb_per_s(gpu(name).pcie.payload), 24, 1e-6) << name;
  for (const char* name : {"h100-nvl", "rtx-5090", "rtx-6000d", "mi300x", "mi325x"})
    EXPECT_NEAR(gb_per_s(gpu(name).pcie.payload), 48, 1e-6) << name;
}

TEST(Hardware, DataSheetValuesArePinned) {
  const GpuSpec a = gpu("a100-80");
  EXPECT_EQ(a.peak.bf16->per_second, 312e12);
  EXPECT_EQ(a.memory, Bytes(std::int64_t{80} << 30));
  EXPECT_NEAR(gb_per_s(a.hbm), 2039, 1e-6);
  const GpuSpec h = gpu("h100-sxm");
  EXPECT_EQ(h.peak.bf16->per_second, 989e12);
  EXPECT_EQ(h.peak.fp8->per_second, 1979e12);
  EXPECT_NEAR(gb_per_s(h.hbm), 3350, 1e-6);
  EXPECT_EQ(gpu("h200-sxm").memory, Bytes(std::int64_t{141} << 30));
  // Consumer cards with FP32 accumulation: half of their rate with FP16 accumulation.
  EXPECT_EQ(gpu("rtx-4090").peak.bf16->per_second, 165.2e12);
  EXPECT_EQ(gpu("rtx-3090").peak.bf16->per_second, 71e12);
  EXPECT_EQ(gpu("mi300x").peak.bf16->per_second, 1307e12);
  EXPECT_EQ(gpu("v100-sxm2-32").peak.fp16->per_second, 125e12);
  EXPECT_EQ(gpu("v100-pcie-32").peak.fp16->per_second, 112e12);
  EXPECT_EQ(gpu("t4").peak.fp16->per_second, 65e12);
  EXPECT_EQ(gpu("rtx-2080-ti").peak.fp16->per_second, 53.8e12);
  EXPECT_EQ(gpu("l4").peak.bf16->per_second, 121e12);
  EXPECT_EQ(gpu("a40").peak.bf16->per_second, 149.7e12);
  EXPECT_EQ(gpu("rtx-a6000").peak.bf16->per_second, 154.8e12);
  EXPECT_EQ(gpu("h20-sxm").peak.bf16->per_second, 148e12);
  EXPECT_EQ(gpu("rtx-6000d").peak.bf16->per_second, 148e12);
  EXPECT_EQ(gpu("b300-sxm").peak.bf16->per_second, 2250e12);
  EXPECT_EQ(gpu("mi325x").memory, Bytes(std::int64_t{256} << 30));
}

TEST(Hardware, TransportConstantsArePinned) {
  const NetworkSpec ib = network("ib");
  EXPECT_EQ(ib.payload_efficiency.value, 0.96);
  EXPECT_TRUE(ib.gpudirect);
  EXPECT_EQ(ib.link_latency, Duration::nanos(200));
  const NetworkSpec roce = network("roce");
  EXPECT_EQ(roce.payload_efficiency.value, 0.95);
  EXPECT_EQ(roce.link_latency, Duration::nanos(500));
  const NetworkSpec tcp = network("tcp");
  EXPECT_EQ(tcp.payload_efficiency.value, 0.94);
  EXPECT_FALSE(tcp.gpudirect);
  EXPECT_NEAR(gb_per_s(tcp.host_path_rate), 5, 1e-6);
  EXPECT_EQ(tcp.message_latency, Duration::micros(45));
  EXPECT_EQ(tcp.channel_rate(), Rate::gbps(4 * 20));
  const NetworkSpec efa = network("efa");
  EXPECT_EQ(efa.transport, Transport::kEfa);
  EXPECT_EQ(efa.payload_efficiency.value, 0.91);
  EXPECT_EQ(efa.message_latency, Duration::micros(18));
  EXPECT_EQ(efa.routing, RoutingPolicy::kSpray);
  const NetworkSpec first_efa = network("efa1");
  EXPECT_EQ(first_efa.payload_efficiency.value, 0.92);
  EXPECT_EQ(first_efa.pipeline_fill, Duration::micros(500));
  EXPECT_EQ(first_efa.message_latency, Duration::micros(60));
  EXPECT_EQ(network("tcpx").payload_efficiency.value, 0.5);
  EXPECT_EQ(network("tcpxo").payload_efficiency.value, 0.94);
  EXPECT_EQ(network("tcpxo").message_latency, tcp.message_latency);
  EXPECT_EQ(network("tcpxo").pipeline_fill, Duration::micros(1'500));
  EXPECT_EQ(network("tcpx").message_latency, Duration::micros(200));
  EXPECT_EQ(ib.pipeline_fill, Duration::micros(60));
  EXPECT_EQ(roce.pipeline_fill, Duration::micros(20));
  EXPECT_EQ(efa.pipeline_fill, Duration::micros(150));
  for (const char* name : {"tcpx", "tcpxo"}) EXPECT_TRUE(network(name).gpudirect);
}

}  // namespace
}  // namespace lockstep
