// SPDX-License-Identifier: Apache-2.0
#include "topology/hardware/server_spec.h"

#include <algorithm>
#include <set>
#include <utility>

#include "base/field_table.h"
#include "topology/hardware/limits.h"
#include "topology/server/wired_server.h"

namespace lockstep {

Interconnect ServerSpec::joined_by() const {
  if (interconnect) return *interconnect;
  if (gpu.nvlink) return Interconnect::kNvSwitch;
  return gpu.xgmi ? Interconnect::kMesh : Interconnect::kPcie;
}

const NvlinkSpec* ServerSpec::gpu_ports() const {
  if (joined_by() == Interconnect::kPcie) return nullptr;
  if (gpu.nvlink) return &*gpu.nvlink;
  return gpu.xgmi ? &*gpu.xgmi : nullptr;
}

namespace {

const FieldTable<PcieSpec>& slot_fields() {
  static const FieldTable<PcieSpec> table = [] {
    FieldTable<PcieSpec> t;
    t.field("rate", &PcieSpec::rate).required().range(kLowestRate, kHighestRate).in_bytes().doc("data-sheet rate");
    t.field("payload", &PcieSpec::payload).required().range(kLowestRate, kHighestRate).in_bytes().doc("payload rate");
    t.validate([](const PcieSpec& s, Section& at) {
      if (s.payload > s.rate) at.error("payload", "is more than the rate", "at most the rate");
    });
    return t;
  }();
  return table;
}

const FieldTable<InterSocketSpec>& inter_socket_fields() {
  static const FieldTable<InterSocketSpec> table = [] {
    FieldTable<InterSocketSpec> t;
    t.field("rate", &InterSocketSpec::rate)
        .required()
        .range(kLowestRate, kHighestRate)
        .in_bytes()
        .doc("data-sheet rate between two sockets, one direction, all links together");
    t.field("payload", &InterSocketSpec::payload)
        .required()
        .range(kLowestRate, kHighestRate)
        .in_bytes()
        .doc("what copies between PCIe devices of the two reach");
    t.field("latency", &InterSocketSpec::latency).range(Duration(), kLongestLatency).doc("from one root complex to the other");
    t.validate([](const InterSocketSpec& s, Section& at) {
      if (s.payload > s.rate) at.error("payload", "is above the rate of the link", "give the payload share of rate");
    });
    return t;
  }();
  return table;
}

const FieldTable<StagingSpec>& staging_fields() {
  static const FieldTable<StagingSpec> table = [] {
    FieldTable<StagingSpec> t;
    t.field("rate", &StagingSpec::rate)
        .required()
        .range(kLowestRate, kHighestRate)
        .in_bytes()
        .doc("most that a GPU sends to others, and most that it receives");
    t.field("latency", &StagingSpec::latency)
        .range(Duration(), kLongestLatency)
        .doc("of a copy between GPUs, beyond the links on its way");
    return t;
  }();
  return table;
}

const FieldTable<PcieTreeSpec>& pcie_tree_fields() {
  static const FieldTable<PcieTreeSpec> table = [] {
    FieldTable<PcieTreeSpec> t;
    t.field("sockets", &PcieTreeSpec::sockets)
        .range(1, 8)
        .doc("CPU sockets, each with a root complex and an equal share of the GPUs");
    t.field("switches_per_socket", &PcieTreeSpec::switches_per_socket)
        .range(0, 32)
        .doc("PCIe switches below each root complex; 0: GPUs and NICs sit on it");
    t.section("uplink", &PcieTreeSpec::uplink, slot_fields())
        .doc("from a switch to its root complex; like the slot of a GPU when absent");
    t.section("inter_socket", &PcieTreeSpec::inter_socket, inter_socket_fields())
        .doc("UPI, QPI or the like between every two sockets; needed with several");
    t.field("p2p", &PcieTreeSpec::p2p).doc("GPUs read each other's memory over PCIe; if not, copies are staged in host memory");
    t.section("staging", &PcieTreeSpec::staging, staging_fields())
        .doc("copies over host memory, without p2p; at the rate of the slots when absent");
    t.field("peer_efficiency", &PcieTreeSpec::peer_efficiency)
        .range({0.01}, {1})
        .doc("share of the PCIe rate that is left to copies between devices that meet in a root complex; 5/6 on Intel CPUs");
    t.section("host_memory", &PcieTreeSpec::host_memory, slot_fields())
        .doc(
            "memory of a socket, reading and writing together, for what is staged in it (without p2p or GPUDirect); no "
            "bottleneck when "
            "absent");
    t.validate([](const PcieTreeSpec& s, Section& at) {
      if (s.sockets > 1 && !s.inter_socket) {
        at.error("inter_socket", fmt::format("is missing: nothing joins the {} sockets", s.sockets),
                 "give its rate and payload, or sockets: 1");
      }
      if (s.sockets == 1 && s.inter_socket) at.warning("inter_socket", "has no effect: there is one socket", "remove it");
      if (s.p2p && s.staging)
        at.error("staging", "needs p2p: false: with p2p nothing is staged", "remove it, or give p2p: false");
    });
    return t;
  }();
  return table;
}

const FieldTable<MeshPair>& mesh_pair_fields() {
  static const FieldTable<MeshPair> table = [] {
    FieldTable<MeshPair> t;
    t.field("gpus", &MeshPair::gpus).required().range(0, WiredServer::kMostWiredGpus - 1).doc("the two ends");
    t.field("links", &MeshPair::links).range(1, 64).doc("links between them");
    t.validate([](const MeshPair& p, Section& at) {
      if (p.gpus.size() != 2 || p.gpus[0] == p.gpus[1]) at.error("gpus", "are not two GPUs", "like gpus: [0, 1]");
    });
    return t;
  }();
  return table;
}

void read_mesh(const Node& node, std::optional<MeshSpec>& mesh, ReadContext& c, const std::string& path) {
  mesh.emplace();
  if (node.is_scalar() && node.text() == "full") {
    mesh->is_full = true;
  } else if (node.is_sequence() && node.size() > 0) {
    for (std::size_t i = 0; i < node.size(); ++i) {
      mesh_pair_fields().read(node.at(i), mesh->pairs.emplace_back(), c, join_path(path, i));
    }
  } else {
    c.diagnostics().error(node.position(), path, "is neither full nor a list of pairs",
                          "full, or a list like [{gpus: [0, 1], links: 2}]");
  }
}

void print_mesh(const std::optional<MeshSpec>& mesh, ConfigPrinter& p, std::string_view key, const std::string& path) {
  if (!mesh) return;
  if (mesh->is_full) return p.value(path, key, "full");
  p.open(key);
  for (std::size_t i = 0; i < mesh->pairs.size(); ++i) {
    p.open_element();
    mesh_pair_fields().print(mesh->pairs[i], p, join_path(path, i));
    p.close();
  }
  p.close();
}

void check_pairs(const ServerSpec& s, const NvlinkSpec& ports, Section& at) {
  std::set<std::pair<int, int>> met;
  std::vector<int> links(static_cast<std::size_t>(s.gpus), 0);
  for (std::size_t i = 0; i < s.mesh->pairs.size(); ++i) {
    const MeshPair& p = s.mesh->pairs[i];
    const std::string key = fmt::format("mesh[{}].gpus", i);
    const auto [a, b] = std::minmax(p.gpus[0], p.gpus[1]);
    if (b >= s.gpus) {
      return at.error(key, fmt::format("there is no GPU {}", b), fmt::format("GPUs are 0 to {}", s.gpus - 1));
    }
    if (!met.insert({a, b}).second) {
      return at.error(key, fmt::format("GPUs {} and {} are joined twice", a, b), "give one pair with the sum of the links");
    }
    for (const int g : p.gpus) {
      int& used = links[static_cast<std::size_t>(g)];
      used += p.links;
      if (used <= ports.links) continue;
      return at.error(key, fmt::format("GPU {} has {} links and needs {}", g, ports.links, used), "fewer links or pairs");
    }
  }
}

void check_mesh(const ServerSpec& s, Section& at) {
  if (s.joined_by() != Interconnect::kMesh) {
    // A server may be asked for without its bridges: interconnect: pcie.
    const bool is_put_aside = s.interconnect == Interconnect::kPcie;
    if (s.mesh && !is_put_aside) at.error("mesh", "needs interconnect: mesh", "give interconnect: mesh, or remove mesh");
    return;
  }
  const NvlinkSpec& ports = *s.gpu_ports();
  if (!s.mesh) return at.error("mesh", "is missing", "give full, or a list like [{gpus: [0, 1], links: 2}]");
  if (!s.mesh->is_full) return check_pairs(s, ports, at);
  if (s.gpus - 1 > ports.links) {
    at.error("mesh",
             fmt::format("a full mesh of {} GPUs needs {} links of each, and there are {}", s.gpus, s.gpus - 1, ports.links),
             "fewer GPUs, or a list of pairs");
  }
}

// Multicast and reduction in the NVSwitch came with its third generation, beside Hopper.
void check_nvls(const ServerSpec& s, Section& at) {
  if (!s.nvls) {
    if (s.nvls_limit) at.error("nvls_limit", "needs nvls: true", "give nvls: true, or remove it");
    return;
  }
  if (s.joined_by() != Interconnect::kNvSwitch) {
    return at.error("nvls", "needs GPUs on an NVSwitch", "give interconnect: nvswitch, or nvls: false");
  }
  if (s.gpu.generation != GpuGeneration::kHopper && s.gpu.generation != GpuGeneration::kBlackwell) {
    at.error("nvls", fmt::format("needs a Hopper or Blackwell GPU, and this one is {}", to_text(s.gpu.generation)),
             "use such a GPU, or nvls: false");
  }
}

void check_server(const ServerSpec& s, Section& at) {
  const Interconnect joined_by = s.joined_by();
  if (joined_by != Interconnect::kPcie && s.gpu_ports() == nullptr) {
    return at.error("interconnect", "needs a GPU with nvlink or xgmi", "use such a GPU, or interconnect: pcie");
  }
  if (joined_by == Interconnect::kNvSwitch && !s.gpu.nvlink) {
    return at.error("interconnect", "nvswitch needs a GPU with nvlink, and this one has xgmi", "use interconnect: mesh");
  }
  if (joined_by != Interconnect::kPcie && !s.nvlink_latency) {
    return at.error("nvlink_latency", "is missing", "like nvlink_latency: 468 ns");
  }
  if ((joined_by != Interconnect::kNvSwitch || s.pcie) && s.gpus > WiredServer::kMostWiredGpus) {
    return at.error("gpus", fmt::format("is above {}, the most for a server that is not one NVSwitch over one PCIe hub",
                                        WiredServer::kMostWiredGpus));
  }
  check_mesh(s, at);
  check_nvls(s, at);
}

}  // namespace

const FieldTable<ServerSpec>& server_fields() {
  static const FieldTable<ServerSpec> table = [] {
    FieldTable<ServerSpec> t("server");
    t.field("name", &ServerSpec::name).doc("how reports call it; the file name when absent");
    t.reference("gpu", &ServerSpec::gpu, gpu_fields()).required().doc("the GPUs");
    t.field("gpus", &ServerSpec::gpus).required().range(1, kMostGpusPerServer).doc("GPUs per server");
    t.choice("interconnect", &ServerSpec::interconnect,
             {{"nvswitch", Interconnect::kNvSwitch, "every GPU with all its NVLink ports on one non-blocking NVSwitch"},
              {"mesh", Interconnect::kMesh, "NVLink or xGMI links from GPU to GPU; PCIe between those that have none"},
              {"pcie", Interconnect::kPcie, "PCIe alone"}})
        .doc(
            "what joins the GPUs; when absent nvswitch for a GPU with nvlink, mesh for one with xgmi, pcie for one with "
            "neither");
    t.tree<std::optional<MeshSpec>>("mesh", &ServerSpec::mesh, "full or list of maps", read_mesh, print_mesh)
        .doc(
            "which GPUs have how many direct links, like [{gpus: [0, 1], links: 2}], or full: every two equally many; set "
            "aside by "
            "interconnect: pcie");
    t.field("nvlink_latency", &ServerSpec::nvlink_latency)
        .range(Duration(), kLongestLatency)
        .doc("one link between a GPU and the NVSwitch, or between two GPUs; needed unless PCIe alone joins the GPUs");
    t.field("nvls", &ServerSpec::nvls)
        .doc("the NVSwitch adds up what GPUs send and multicasts the sum: the algorithms nvls and nvls_tree");
    t.field("nvls_limit", &ServerSpec::nvls_limit)
        .range(kLowestRate, kHighestRate)
        .in_bytes()
        .doc("most of a collective's buffer that goes through NVLS in a second; as the links allow when absent");
    t.field("pcie_latency", &ServerSpec::pcie_latency)
        .required()
        .range(Duration(), kLongestLatency)
        .doc("one link between a GPU or NIC and the PCIe hub, switch or root complex, or between the last two");
    t.section("nic_pcie", &ServerSpec::nic_pcie, slot_fields()).doc("slots of the NICs; those of the GPUs when absent");
    t.section("pcie", &ServerSpec::pcie, pcie_tree_fields()).doc("PCIe as a tree; one non-blocking hub when absent");
    t.validate(check_server);
    return t;
  }();
  return table;
}

}  // namespace lockstep
