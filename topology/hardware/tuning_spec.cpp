// SPDX-License-Identifier: Apache-2.0
#include "topology/hardware/tuning_spec.h"

#include "base/field_table.h"
#include "topology/hardware/limits.h"

namespace lockstep {
namespace {

constexpr std::size_t kLlLimits = 3;

const FieldTable<ProtocolTuning>& protocol_fields() {
  static const FieldTable<ProtocolTuning> table = [] {
    FieldTable<ProtocolTuning> t;
    const auto latency = [&t](const char* name, Duration ProtocolTuning::*member, const char* doc) {
      t.field(name, member).required().range(Duration(), kLongestLatency).doc(doc);
    };
    latency("base", &ProtocolTuning::base, "once per collective");
    latency("nvlink_hop", &ProtocolTuning::nvlink_hop, "each step inside a node over NVLink or xGMI");
    latency("pcie_hop", &ProtocolTuning::pcie_hop, "each step inside a node over PCIe");
    latency("network_hop", &ProtocolTuning::network_hop, "each step between nodes, cables and switches not counted");
    t.field("shortest_step", &ProtocolTuning::shortest_step)
        .range(Duration(), kLongestLatency)
        .doc("least time of a step inside a node in groups on several nodes");
    t.field("rate_factor", &ProtocolTuning::rate_factor).required().range(0.01, 1).doc("payload share of the link rate");
    t.field("rate_factor_one_node", &ProtocolTuning::rate_factor_one_node)
        .range(0.01, 1)
        .doc("the same of groups on one node; rate_factor when absent");
    return t;
  }();
  return table;
}

const FieldTable<AlgorithmTuning>& algorithm_fields() {
  static const FieldTable<AlgorithmTuning> table = [] {
    FieldTable<AlgorithmTuning> t;
    t.section("ll", &AlgorithmTuning::ll, protocol_fields()).required().doc("8-byte stores with a flag each");
    t.section("ll128", &AlgorithmTuning::ll128, protocol_fields()).required().doc("120 of 128 bytes are payload");
    t.section("simple", &AlgorithmTuning::simple, protocol_fields()).required().doc("full rate behind fences");
    return t;
  }();
  return table;
}

const FieldTable<GenerationTuning>& generation_fields() {
  static const FieldTable<GenerationTuning> table = [] {
    FieldTable<GenerationTuning> t;
    t.field("launch", &GenerationTuning::launch)
        .range(Duration(), kLongestLatency)
        .doc("added to the base of every protocol: starting the kernels and waiting for them");
    t.field("hop_scale", &GenerationTuning::hop_scale).range(0.01, 100).doc("of the steps inside a node");
    t.field("fill", &GenerationTuning::fill)
        .range(Duration(), kLongestLatency)
        .doc("how long a pipeline of chunks over NVLink or xGMI takes to fill; makes bandwidth ramp up with size");
    t.field("nvls_share", &GenerationTuning::nvls_share)
        .range(0.01, 1)
        .doc("of NVLink that NVLS fills, where the generation has it");
    t.field("link_payload", &GenerationTuning::link_payload)
        .range(0.1, 2)
        .doc("of the payload rate that the GPU states for its NVLink or xGMI ports");
    t.field("pcie_payload", &GenerationTuning::pcie_payload)
        .range(0.1, 2)
        .doc("of the payload rate that GPU and server state for their PCIe slots");
    t.field("ll_limit", &GenerationTuning::ll_limit)
        .required()
        .range(kLowestRate, kHighestRate)
        .in_bytes()
        .doc("most that LL moves in groups on one node, two nodes, more");
    t.validate([](const GenerationTuning& g, Section& at) {
      if (g.ll_limit.size() == kLlLimits) return;
      at.error("ll_limit", fmt::format("has {} rates", g.ll_limit.size()), "three: groups on one node, two nodes, more");
    });
    return t;
  }();
  return table;
}

const FieldTable<GenerationTunings>& generations_fields() {
  static const FieldTable<GenerationTunings> table = [] {
    FieldTable<GenerationTunings> t;
    const auto section = [&t](GpuGeneration g, GenerationTuning GenerationTunings::*member) {
      t.section(std::string(to_text(g)), member, generation_fields()).required().doc("GPUs of this generation");
    };
    section(GpuGeneration::kVolta, &GenerationTunings::volta);
    section(GpuGeneration::kTuring, &GenerationTunings::turing);
    section(GpuGeneration::kAmpere, &GenerationTunings::ampere);
    section(GpuGeneration::kAda, &GenerationTunings::ada);
    section(GpuGeneration::kHopper, &GenerationTunings::hopper);
    section(GpuGeneration::kBlackwell, &GenerationTunings::blackwell);
    section(GpuGeneration::kCdna3, &GenerationTunings::cdna3);
    return t;
  }();
  return table;
}

const FieldTable<TransportTuning>& transport_fields() {
  static const FieldTable<TransportTuning> table = [] {
    FieldTable<TransportTuning> t;
    t.field("hop_scale", &TransportTuning::hop_scale)
        .range(0.01, 100)
        .doc("of the steps between nodes: the protocol's own and the message_latency of the network");
    t.field("fill_scale", &TransportTuning::fill_scale).range(0.01, 100).doc("of the pipeline_fill of the network");
    t.field("payload", &TransportTuning::payload).range(0.1, 2).doc("of the payload efficiency that the network states");
    return t;
  }();
  return table;
}

const FieldTable<TransportTunings>& transports_fields() {
  static const FieldTable<TransportTunings> table = [] {
    FieldTable<TransportTunings> t;
    const auto section = [&t](Transport transport, TransportTuning TransportTunings::*member) {
      t.section(std::string(to_text(transport)), member, transport_fields()).doc("networks of this transport");
    };
    section(Transport::kInfiniBand, &TransportTunings::ib);
    section(Transport::kRoce, &TransportTunings::roce);
    section(Transport::kEfa, &TransportTunings::efa);
    section(Transport::kTcp, &TransportTunings::tcp);
    return t;
  }();
  return table;
}

// Of a constant or a changeable value.
template <class Tunings>
auto& pick(Tunings& t, GpuGeneration generation) {
  switch (generation) {
    case GpuGeneration::kVolta:
      return t.volta;
    case GpuGeneration::kTuring:
      return t.turing;
    case GpuGeneration::kAmpere:
      return t.ampere;
    case GpuGeneration::kAda:
      return t.ada;
    case GpuGeneration::kHopper:
      return t.hopper;
    case GpuGeneration::kBlackwell:
      return t.blackwell;
    case GpuGeneration::kCdna3:
      return t.cdna3;
  }
  LOCKSTEP_CHECK(false, "unknown GPU generation {}", static_cast<int>(generation));
}

template <class Tunings>
auto& pick(Tunings& t, Transport transport) {
  switch (transport) {
    case Transport::kInfiniBand:
      return t.ib;
    case Transport::kRoce:
      return t.roce;
    case Transport::kEfa:
      return t.efa;
    case Transport::kTcp:
      return t.tcp;
  }
  LOCKSTEP_CHECK(false, "unknown transport {}", static_cast<int>(transport));
}

}  // namespace

const GenerationTuning& TuningSpec::of(GpuGeneration generation) const { return pick(generations, generation); }
GenerationTuning& TuningSpec::of(GpuGeneration generation) { return pick(generations, generation); }
const TransportTuning& TuningSpec::of(Transport transport) const { return pick(transports, transport); }
TransportTuning& TuningSpec::of(Transport transport) { return pick(transports, transport); }

const FieldTable<TuningSpec>& tuning_fields() {
  static const FieldTable<TuningSpec> table = [] {
    FieldTable<TuningSpec> t("tuning");
    t.field("name", &TuningSpec::name).doc("how reports call it; the file name when absent");
    t.section("ring", &TuningSpec::ring, algorithm_fields()).required().doc("rings; also exchanges between pairs");
    t.section("tree", &TuningSpec::tree, algorithm_fields()).required().doc("double binary trees");
    t.field("tree_inside_share", &TuningSpec::tree_inside_share)
        .required()
        .range(0.01, 1)
        .doc("of the links inside a node that a tree can use");
    t.section("generations", &TuningSpec::generations, generations_fields()).required().doc("what differs by kind of GPU");
    t.section("transports", &TuningSpec::transports, transports_fields()).doc("what differs by transport");
    return t;
  }();
  return table;
}

}  // namespace lockstep
