// SPDX-License-Identifier: Apache-2.0
// The words of a topology: ids, kinds, tiers, the directed link. A link is one direction of a cable (or of a bus or switch
// port inside a server); `capacity` is the payload rate a stream can reach, after protocol overhead.
#pragma once

#include <compare>
#include <cstdint>
#include <string_view>

#include "base/ids.h"
#include "base/time.h"
#include "base/units.h"

namespace lockstep {

using DeviceId = Id<struct DeviceTag>;
using LinkId = Id<struct LinkTag>;
using EndpointId = Id<struct EndpointTag>;
using NodeId = Id<struct NodeTag>;
using NicId = Id<struct NicTag>;

enum class DeviceKind : std::uint8_t {
  kGpu,
  kHost,
  kNvSwitch,
  kPcieHub,      // all of a server's PCIe as one non-blocking switch
  kPcieSwitch,   // one of them
  kRootComplex,  // where the PCIe of a CPU socket begins
  kHostMemory,   // of a CPU socket, where data is staged in it
  kNic,
  kLeaf,
  kSpine,
  kCore,
  kSwitch  // of a fabric without tiers (dragonfly, torus, custom graph)
};
inline constexpr int kDeviceKindCount = 12;
// kInterSocket: UPI, QPI or AMD's xGMI between CPUs. kHostMemory: its writing and reading. kXgmi: between AMD GPUs. kHost: NIC or bare host to its switch. kLocal,
// kGlobal: inside and between the groups of a dragonfly. kSwitch: between the switches of a torus or a custom graph. All are
// both directions.
enum class LinkTier : std::uint8_t {
  kNvlink,
  kXgmi,
  kPcie,
  kInterSocket,
  kHostMemory,
  kHost,
  kLeafSpine,
  kSpineCore,
  kLocal,
  kGlobal,
  kSwitch
};
// Buses inside a server, whose rates are told in bytes.
[[nodiscard]] constexpr bool is_bus(LinkTier tier) { return tier < LinkTier::kHost; }
[[nodiscard]] std::string_view to_text(LinkTier tier);    // "nvlink", "pcie", "inter-socket", "host", "leaf-spine", ...
[[nodiscard]] std::string_view to_text(DeviceKind kind);  // "gpu", "host", "nvswitch", ...

struct Link {
  DeviceId from;
  DeviceId to;
  Rate capacity;  // payload
  Rate nominal;   // data-sheet rate of the link
  Duration latency;
  LinkTier tier = LinkTier::kHost;
};

// What a cable or bus of one sort is like, the same in both directions.
struct Wire {
  Rate capacity;  // payload
  Rate nominal;   // data sheet
  Duration latency;
  // A wire whose whole nominal rate is payload.
  [[nodiscard]] static constexpr Wire pure(Rate rate, Duration latency) { return {rate, rate, latency}; }
};

// One link of a route and its share of the transfer, on the router's common integer scale.
struct LinkShare {
  LinkId link;
  std::int64_t coefficient = 0;
  auto operator<=>(const LinkShare&) const = default;
};

}  // namespace lockstep
