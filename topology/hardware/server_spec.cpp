// SPDX-License-Identifier: Apache-2.0
#include "topology/hardware/server_spec.h"

#include "base/field_table.h"
#include "topology/hardware/limits.h"

namespace lockstep {
namespace {

const FieldTable<PcieSpec>& slot_fields() {
  static const FieldTable<PcieSpec> table = [] {
    FieldTable<PcieSpec> t;
    t.field("rate", &PcieSpec::rate).required().range(kLowestRate, kHighestRate).in_bytes().doc("data-sheet rate");
    t.field("payload", &PcieSpec::payload).required().range(kLowestRate, kHighestRate).in_bytes().doc("payload rate");
    return t;
  }();
  return table;
}

}  // namespace

const FieldTable<ServerSpec>& server_fields() {
  static const FieldTable<ServerSpec> table = [] {
    FieldTable<ServerSpec> t("server");
    t.field("name", &ServerSpec::name).doc("how reports call it; the file name when absent");
    t.reference("gpu", &ServerSpec::gpu, gpu_fields()).required().doc("the GPUs");
    t.field("gpus", &ServerSpec::gpus).required().range(1, kMostGpusPerServer).doc("GPUs per server");
    t.field("nvlink_latency", &ServerSpec::nvlink_latency)
        .required()
        .range(Duration(), kLongestLatency)
        .doc("one link between a GPU and the NVSwitch");
    t.field("pcie_latency", &ServerSpec::pcie_latency)
        .required()
        .range(Duration(), kLongestLatency)
        .doc("one link between a GPU or NIC and the PCIe hub");
    t.section("nic_pcie", &ServerSpec::nic_pcie, slot_fields()).doc("slots of the NICs; those of the GPUs when absent");
    t.validate([](const ServerSpec& s, Section& at) {
      if (s.gpus > 1 && !s.gpu.nvlink) {
        at.error("gpu", "has no NVLink, and servers of several PCIe-only GPUs are not modelled",
                 "use a GPU with an nvlink section, or gpus: 1");
      }
    });
    return t;
  }();
  return table;
}

}  // namespace lockstep
