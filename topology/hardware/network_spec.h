// SPDX-License-Identifier: Apache-2.0
// What connects the servers (kind: network): transport, NICs, and what the transport costs. A cluster names it
// TRANSPORT-NICSxGBPS, like ib-8x400 (eight NICs of 400 Gbit/s per server): the constants are those of the file TRANSPORT, NICs
// and rate come from the name. Any number of NICs and any rate works; a file of the whole name goes first.
//
//   payload rate of a NIC or fabric link = rate x payload_efficiency
//   without GPUDirect everything bounces through host memory: at most host_path_rate per NIC and direction, and where the CPU
//   drives sockets at most cpu_rate per node, out and in together
//   where the transport is cut into connections, a channel between two nodes moves connections_per_channel x connection_rate at most
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/quantity.h"
#include "topology/routing/routing.h"

namespace lockstep {

template <class T>
class FieldTable;

class Document;
class Node;
class ReadContext;

enum class Transport : std::uint8_t { kInfiniBand, kRoce, kEfa, kTcp };
[[nodiscard]] std::string_view to_text(Transport t);  // "ib", "roce", "efa", "tcp"

struct NetworkSpec {
  std::string name;
  Transport transport = Transport::kInfiniBand;
  int nics_per_node = 8;
  Rate nic_rate;
  Fraction payload_efficiency{1};
  bool gpudirect = true;
  Rate host_path_rate;                  // per NIC and direction, without GPUDirect
  std::optional<Rate> cpu_rate;         // of a node, out and in together, without GPUDirect; none: no limit
  std::optional<Rate> connection_rate;  // of one connection and direction; none: no limit
  int connections_per_channel = 1;
  Duration message_latency;  // software, per message between nodes, beyond what a collective library's table counts
  Duration pipeline_fill;    // how long a pipeline of chunks between nodes takes to fill (workloads/collectives/tuning.h)
  Duration link_latency;     // one cable with the switch behind it
  RoutingPolicy routing = RoutingPolicy::kSpray;
  int queue_pairs = 1;
  Fraction flowlet_share{kDefaultFlowletPercent / 100.0};

  // Most that one channel of a collective, or a message, moves between two nodes; 0: no limit.
  [[nodiscard]] Rate channel_rate() const {
    return connection_rate ? *connection_rate * connections_per_channel : Rate::units(0);
  }
};

[[nodiscard]] const FieldTable<NetworkSpec>& network_fields();

// TRANSPORT-NICSxGBPS taken apart; nothing when `name` is no such name.
struct NetworkName {
  std::string preset;
  std::string nics;
  std::string rate;  // with its unit
};
[[nodiscard]] std::optional<NetworkName> parse_network_name(std::string_view name);

// Opens what `network:` refers to, names by the rule included (FieldTable::Opener).
[[nodiscard]] std::optional<Document> open_network(const Node& node, ReadContext& context, const std::string& path);

}  // namespace lockstep
