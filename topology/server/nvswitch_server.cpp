// SPDX-License-Identifier: Apache-2.0
#include "topology/server/nvswitch_server.h"

#include <numeric>

#include "base/check.h"

namespace lockstep {
namespace {

void append_pair(DeviceId a, DeviceId b, const Wire& wire, LinkTier tier, std::vector<Link>& out) {
  out.push_back({a, b, wire.capacity, wire.nominal, wire.latency, tier});
  out.push_back({b, a, wire.capacity, wire.nominal, wire.latency, tier});
}

}  // namespace

NvSwitchServer::NvSwitchServer(const Parts& parts) : parts_(parts) {
  LOCKSTEP_CHECK(parts.gpus > 0 && parts.nics >= 0, "a server of {} GPUs and {} NICs", parts.gpus, parts.nics);
}

DeviceKind NvSwitchServer::kind(std::uint32_t local) const {
  if (local < gpus()) return DeviceKind::kGpu;
  if (local == gpus()) return DeviceKind::kNvSwitch;
  return local == gpus() + 1 ? DeviceKind::kPcieHub : DeviceKind::kNic;
}

std::string NvSwitchServer::name(std::uint32_t node, std::uint32_t local) const {
  const DeviceKind k = kind(local);
  std::string text = fmt::format("node{}.{}", node, to_text(k));
  if (k == DeviceKind::kGpu) text += std::to_string(local);
  if (k == DeviceKind::kNic) text += std::to_string(local - gpus() - 2);
  return text;
}

std::vector<Link> NvSwitchServer::links() const {
  const DeviceId nvswitch(gpus());
  const DeviceId hub(gpus() + 1);
  std::vector<Link> out;
  for (std::uint32_t g = 0; g < gpus(); ++g) append_pair(DeviceId(g), nvswitch, parts_.nvlink, LinkTier::kNvlink, out);
  for (std::uint32_t g = 0; g < gpus(); ++g) append_pair(DeviceId(g), hub, parts_.gpu_pcie, LinkTier::kPcie, out);
  for (const std::uint32_t nic : port_devices()) append_pair(hub, DeviceId(nic), parts_.nic_pcie, LinkTier::kPcie, out);
  return out;
}

std::vector<std::uint32_t> NvSwitchServer::port_devices() const {
  std::vector<std::uint32_t> nics(ports());
  std::iota(nics.begin(), nics.end(), gpus() + 2);
  return nics;
}

}  // namespace lockstep
