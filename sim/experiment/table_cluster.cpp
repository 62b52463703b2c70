// SPDX-License-Identifier: Apache-2.0
#include "sim/experiment/table_cluster.h"

#include <fmt/core.h>

#include "base/check.h"
#include "base/field_table.h"
#include "base/wide.h"
#include "sim/experiment/table_words.h"

namespace lockstep {
namespace {

constexpr int kGpusPerRack = 72;  // of an NVL72
constexpr int kGpusPerTray = 4;

// What a server is sold with; `nics` 0: with any number.
struct ServerForm {
  std::string_view server;  // shipped name
  int gpus = 8;
  int nics = 0;
  int nic_gbps = 0;
  bool has_bridges = false;  // that may be left out
};
constexpr ServerForm kForms[] = {
    {"dgx-1-v100", 8, 4, 100},
    {"dgx-2", 16, 8, 100},
    {"v100-pcie-8"},
    {"dgx-a100", 8, 8, 200},
    {"dgx-a100-40", 8, 8, 200},
    {"hgx-a800", 8, 8, 200},
    {"a100-pcie-8"},
    {"a100-pcie-8-bridged"},
    {"dgx-h100", 8, 8, 400},
    {"hgx-h800", 8, 8, 400},
    {"hgx-h20", 8, 8, 400},
    {"h100-nvl-8"},
    {"h100-pcie-8"},
    {"dgx-h200", 8, 8, 400},
    {"dgx-b200", 8, 8, 400},
    {"dgx-b300", 8, 8, 800},
    {"gb200-nvl72", 72, 72, 400},
    {"gb300-nvl72", 72, 72, 800},
    {"mi300x-8", 8, 8, 400},
    {"mi325x-8", 8, 8, 400},
    {"l40s-8-pcie"},
    {"l4-8"},
    {"t4-8"},
    {"a10-4", 4},
    {"a40-8", 8, 0, 0, true},
    {"rtx-a6000-4", 4, 0, 0, true},
    {"rtx-2080-ti-2", 2},
    {"rtx-3090-2", 2, 0, 0, true},
    {"rtx-4090-8"},
    {"rtx-5090-8"},
    {"rtx-6000-ada-4", 4},
    {"rtx-6000d-8", 8, 8, 400},
    {"titan-rtx-2", 2, 0, 0, true},
};

const ServerForm& form(std::string_view server) {
  for (const ServerForm& f : kForms) {
    if (f.server == server) return f;
  }
  LOCKSTEP_CHECK(false, "no form of server {}", server);
  return kForms[0];
}

// Machines of clouds that are known by name: what they are sold with.
struct CloudMachine {
  std::string_view word;
  std::string_view transport;
  int nics;
  int nic_gbps;
};
constexpr CloudMachine kCloud[] = {
    {"p3dn", "tcp", 1, 100},      {"p4de", "efa1", 4, 100},      {"p4d", "efa1", 4, 100},
    {"p5en", "efa", 16, 200},     {"p5", "efa", 32, 100},        {"p6 b200", "efa", 8, 400},
    {"a3 high", "tcpx", 4, 200},  {"a3 mega", "tcpxo", 8, 200},  {"a3 ultra", "roce", 8, 400},
    {"gcp a4", "roce", 8, 400},   {"nd h100 v5", "ib", 8, 400},  {"nd h200 v5", "ib", 8, 400},
    {"nd a100 v4", "ib", 8, 200}, {"ndm a100 v4", "ib", 8, 200}, {"ndv4", "ib", 8, 200},
    {"ndmv4", "ib", 8, 200},      {"bm gpu4 8", "roce", 8, 200}, {"bm gpu h100 8", "roce", 8, 400},
};

// In this order, since RoCE is written as "RDMA over Ethernet" and TCPX as "TCP".
struct TransportWord {
  std::string_view word;
  std::string_view transport;
  int nic_gbps = 0;  // of this generation; 0: any
};
constexpr TransportWord kTransports[] = {
    {"tcpxo", "tcpxo"},   {"fastrak", "tcpxo"}, {"tcpx", "tcpx"},      {"efa v1", "efa1"},     {"efa1", "efa1"},
    {"efa", "efa"},       {"roce", "roce"},     {"rocev2", "roce"},    {"spectrum x", "roce"}, {"hdr100", "ib", 100},
    {"omni path", "opa"}, {"opa", "opa"},       {"ndr200", "ib", 200}, {"xdr", "ib", 800},     {"ndr", "ib", 400},
    {"hdr", "ib", 200},   {"edr", "ib", 100},   {"fdr", "ib", 56},     {"ib", "ib"},           {"infiniband", "ib"},
    {"tcp", "tcp"},       {"socket", "tcp"},    {"ethernet", "tcp"},   {"gbe", "tcp"},         {"connectx", "roce"},
    {"cx", "roce"},
};

struct Words {
  std::string gpu;
  std::string box;  // GPU and what joins the GPUs of a node
  [[nodiscard]] bool is(std::string_view word) const { return has_word(gpu, word); }
  [[nodiscard]] bool says(std::string_view word) const { return has_word(box, word); }
  // A card in a slot. SXM goes first: boards of SXM GPUs have PCIe as well.
  [[nodiscard]] bool is_card() const {
    if (says("sxm") || says("nvswitch")) return false;
    return is("pcie") || says("no nvlink") || is_bridged() || (says("pcie") && !says("nvlink"));
  }
  [[nodiscard]] bool is_bridged() const { return !says("no nvlink") && (says("bridge") || says("bridges") || says("bridged")); }
};

// The shipped server, or nothing. `per_node`: GPUs in use on a node.
std::string_view server_for(const Words& w, std::int64_t per_node) {
  if (w.is("gb300")) return "gb300-nvl72";
  if (w.is("gb200")) return "gb200-nvl72";
  if (w.is("b300") && !w.is_card()) return "dgx-b300";
  if (w.is("b200") && !w.is_card()) return "dgx-b200";
  if (w.is("h800") && !w.is_card()) return "hgx-h800";
  if (w.is("h20") && !w.is_card()) return "hgx-h20";
  if (w.is("h100 nvl") || (w.is("h100") && w.is_card() && w.is_bridged())) return "h100-nvl-8";
  if (w.is("h100")) return w.is_card() ? "h100-pcie-8" : "dgx-h100";
  if (w.is("h200") && !w.is_card()) return "dgx-h200";
  if (w.is("a800") && !w.is_card()) return "hgx-a800";
  if (w.is("a100") && w.is_card()) return w.is_bridged() ? "a100-pcie-8-bridged" : "a100-pcie-8";
  if (w.is("a100")) return w.is("40gb") ? "dgx-a100-40" : "dgx-a100";
  // No SXM2 board has an NVSwitch: only the DGX-2 and its boards of SXM3 do.
  if (w.is("v100") && w.is_card()) return "v100-pcie-8";
  if (w.is("v100")) return w.is("sxm3") || w.is("dgx 2") || per_node > 8 ? "dgx-2" : "dgx-1-v100";
  if (w.is("mi300x")) return "mi300x-8";
  if (w.is("mi325x")) return "mi325x-8";
  if (w.is("l4")) return "l4-8";
  if (w.is("t4")) return "t4-8";
  if (w.is("a40")) return "a40-8";
  if (w.is("a6000")) return "rtx-a6000-4";
  if (w.is("l40s")) return "l40s-8-pcie";
  if (w.is("a10") || w.is("a10g")) return "a10-4";
  if (w.is("2080 ti") && !w.says("nvlink")) return "rtx-2080-ti-2";
  if (w.is("3090")) return "rtx-3090-2";
  if (w.is("4090")) return "rtx-4090-8";
  if (w.is("5090")) return "rtx-5090-8";
  if (w.is("6000 ada")) return "rtx-6000-ada-4";
  if (w.is("6000d") || w.is("6000 d")) return "rtx-6000d-8";
  if (w.is("titan rtx")) return "titan-rtx-2";
  return {};
}

// Sets `network`, or why there is none.
void name_network(const TableColumns& c, TableCluster& out) {
  const auto refuse = [&](std::string why) { out.refusal = std::move(why); };
  const std::string everything = c.gpu_type + " / " + c.inter_fabric;
  const CloudMachine* cloud = nullptr;
  for (const CloudMachine& m : kCloud) {
    if (cloud == nullptr && has_word(everything, m.word)) cloud = &m;
  }
  const NicWords nics = read_nics(c.inter_fabric);
  if (nics.has_bad_rate) return refuse(fmt::format("no NIC has the rate in '{}'", c.inter_fabric));
  std::string_view transport;
  int generation_gbps = 0;
  for (const TransportWord& t : kTransports) {
    if (!has_word(c.inter_fabric, t.word)) continue;
    if (transport.empty()) transport = t.transport;
    if (generation_gbps == 0) generation_gbps = t.nic_gbps;
  }
  if (transport.empty() && cloud != nullptr) transport = cloud->transport;
  // The first generation of EFA is what machines with A100 have.
  if (transport == "efa" && (cloud != nullptr ? cloud->transport == "efa1" : out.server.starts_with("dgx-a100"))) {
    transport = "efa1";
  }
  if (transport.empty()) return refuse(fmt::format("no transport between its nodes is named in '{}'", c.inter_fabric));
  // NICs that are not counted: those of the machine; plain Ethernet is the one port of a host.
  const bool is_sold_so = cloud != nullptr && transport == cloud->transport;
  const ServerForm& box = form(out.server);
  std::int64_t count = is_sold_so ? cloud->nics : transport == "tcp" ? 1 : box.nics;
  if (nics.count) count = *nics.count;
  std::int64_t gbps = is_sold_so ? cloud->nic_gbps : generation_gbps > 0 ? generation_gbps : box.nic_gbps;
  if (nics.gbps) gbps = *nics.gbps;
  if (nics.gbps_of_node && count > 0) gbps = *nics.gbps_of_node / count;
  if (count <= 0 || gbps <= 0) return refuse(fmt::format("the NICs of its nodes are described nowhere: '{}'", c.inter_fabric));
  out.network = fmt::format("{}-{}x{}", transport, count, gbps);
  out.reduces_in_network = has_word(c.inter_fabric, "sharp");
  for (const char* words : {"no gdr", "gdr off", "without gdr", "no gpudirect", "gpudirect off", "without gpudirect"}) {
    out.without_gpudirect = out.without_gpudirect || has_word(c.inter_fabric, words);
  }
}

// The fewest racks that hold equally many whole trays of four; what the plain quotient is where there are none.
std::int64_t racks_of(std::int64_t gpus) {
  const std::int64_t least = ceil_div(gpus, std::int64_t{kGpusPerRack});
  for (std::int64_t racks = least; racks <= 2 * least; ++racks) {
    if (gpus % racks == 0 && (racks == 1 || gpus / racks % kGpusPerTray == 0)) return racks;
  }
  return least;
}

Algorithm named_algorithm(const TableColumns& c) {
  const std::string text = c.table + " / " + c.intra_fabric;
  if (has_word(text, "ring") || has_word(text, "nvls off") || has_word(text, "no nvls")) return Algorithm::kRing;
  if (has_word(text, "tree")) return Algorithm::kTree;
  return Algorithm::kAuto;
}

}  // namespace

std::string TableCluster::name() const {
  std::string text = fmt::format("{} x {}", servers, server);
  if (without_bridge) text += " without bridge";
  if (!network.empty()) text += ", " + network;
  if (without_gpudirect) text += " without GPUDirect";
  if (reduces_in_network) text += " with SHARP";
  return text;
}

TableCluster describe_table(const TableColumns& c) {
  TableCluster out;
  const auto refuse = [](std::string why) { return TableCluster{.refusal = std::move(why)}; };
  if (c.gpus < 2) return refuse(fmt::format("a collective of {} GPUs", c.gpus));
  std::int64_t nodes = c.nodes;
  if (nodes == 0) nodes = c.gpus_per_node > 0 ? ceil_div(c.gpus, c.gpus_per_node) : 1;
  if (nodes < 1 || c.gpus % nodes != 0)
    return refuse(fmt::format("{} GPUs on {} nodes are not equally many on each", c.gpus, nodes));
  const Words words{c.gpu_type, c.gpu_type + " / " + c.intra_fabric};
  const std::string_view server = server_for(words, c.gpus / nodes);
  if (server.empty()) return refuse(fmt::format("no server is described for the GPU '{}'", c.gpu_type));
  const ServerForm& box = form(server);
  // Trays of one NVLink domain are one server.
  if (box.gpus == kGpusPerRack) nodes = racks_of(c.gpus);
  const std::int64_t per_server = c.gpus / nodes;
  if (c.gpus % nodes != 0 || per_server > box.gpus) {
    return refuse(fmt::format("{} GPUs on {} of {}, which has {}", c.gpus, nodes, server, box.gpus));
  }
  out.server = server;
  out.without_bridge = box.has_bridges && !words.is_bridged() && (!words.says("nvlink") || words.says("no nvlink"));
  out.servers = static_cast<int>(nodes);
  out.gpus_per_server = static_cast<int>(per_server);
  out.algorithm = named_algorithm(c);
  if (nodes > 1) name_network(c, out);
  return out;
}

std::optional<ClusterSpec> cluster_of(const TableCluster& table, const ConfigLibrary& library, Diagnostics& d) {
  LOCKSTEP_CHECK(table.refusal.empty(), "a refused table has no cluster: {}", table.refusal);
  Document document = Document::empty_map(table.name());
  const auto set = [&](std::string_view assignment) { document.set(assignment, d); };
  set("kind=cluster");
  set(fmt::format("nodes={}", table.servers));
  set(fmt::format("server={}", table.server));
  if (table.without_bridge) set("server.interconnect=pcie");
  if (!table.network.empty()) set(fmt::format("network={}", table.network));
  if (table.without_gpudirect) set("gpudirect=false");
  if (table.reduces_in_network) set("fabric.in_network_reduction=true");
  ReadContext context(d, &library);
  ClusterSpec spec;
  if (d.has_errors() || !cluster_fields().read_document(document, spec, context)) return {};
  spec.name = table.name();
  return spec;
}

}  // namespace lockstep
