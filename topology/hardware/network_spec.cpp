// SPDX-License-Identifier: Apache-2.0
#include "topology/hardware/network_spec.h"

#include <algorithm>

#include "base/config_library.h"
#include "base/field_table.h"
#include "topology/hardware/limits.h"
#include "topology/hardware/routing_field.h"

namespace lockstep {

std::string_view to_text(Transport t) {
  switch (t) {
    case Transport::kInfiniBand:
      return "ib";
    case Transport::kRoce:
      return "roce";
    case Transport::kEfa:
      return "efa";
    case Transport::kTcp:
      return "tcp";
  }
  LOCKSTEP_CHECK(false, "unknown transport {}", static_cast<int>(t));
}

std::optional<NetworkName> parse_network_name(std::string_view name) {
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  const std::size_t dash = name.rfind('-');
  if (dash == std::string_view::npos || dash == 0) return std::nullopt;
  const std::string_view size = name.substr(dash + 1);
  const std::size_t cross = size.find('x');
  if (cross == std::string_view::npos || cross == 0 || cross + 1 == size.size()) return std::nullopt;
  const std::string_view nics = size.substr(0, cross);
  const std::string_view rate = size.substr(cross + 1);
  const bool fits = std::all_of(nics.begin(), nics.end(), is_digit) &&
                    std::all_of(rate.begin(), rate.end(), [&](char c) { return is_digit(c) || c == '.'; });
  if (!fits) return std::nullopt;
  return NetworkName{std::string(name.substr(0, dash)), std::string(nics), std::string(rate) + " Gbps"};
}

std::optional<Document> open_network(const Node& node, ReadContext& context, const std::string& path) {
  const std::optional<NetworkName> name = parse_network_name(node.text());
  if (context.library() == nullptr) return detail::open_reference(node, "network", context, path);
  const std::vector<ConfigEntry> entries = context.library()->entries("network");
  const auto has = [&entries](const std::string& wanted) {
    return std::any_of(entries.begin(), entries.end(), [&](const ConfigEntry& e) { return e.name == wanted; });
  };
  if (!name) {
    // A transport with a size that cannot be read; files keep their own errors.
    const std::string transport = node.text().substr(0, node.text().find('-'));
    if (transport == node.text() || !has(transport) || node.text().find_first_of("./") != std::string::npos) {
      return detail::open_reference(node, "network", context, path);
    }
    context.diagnostics().error(node.position(), path,
                                fmt::format("'{}' does not say how many NICs of which rate", node.text()),
                                fmt::format("{0}-NICSxGBPS, like {0}-8x400", transport));
    return std::nullopt;
  }
  if (has(node.text())) return detail::open_reference(node, "network", context, path);
  if (!has(name->preset)) {
    std::vector<std::string> names;
    for (const ConfigEntry& e : entries) names.push_back(e.name);
    const std::string guess = closest(name->preset, names);
    context.diagnostics().error(node.position(), path, fmt::format("there is no transport '{}'", name->preset),
                                guess.empty()
                                    ? "NAME-NICSxGBPS, like ib-8x400; `lockstep list networks` shows the names"
                                    : fmt::format("did you mean {}-{}?", guess, node.text().substr(name->preset.size() + 1)));
    return std::nullopt;
  }
  std::optional<Document> document =
      context.library()->open("network", name->preset, node.position(), path, context.diagnostics());
  if (!document) return std::nullopt;
  // NICs and rate were written where the name was.
  const Position at = node.position();
  const std::string origin = at.line > 0 ? fmt::format("{}:{}:{}", at.file, at.line, at.column) : at.file;
  if (!document->assign("name", node.text(), origin, context.diagnostics(), true) ||
      !document->assign("nics_per_node", name->nics, origin, context.diagnostics()) ||
      !document->assign("nic_rate", name->rate, origin, context.diagnostics())) {
    return std::nullopt;
  }
  return document;
}

const FieldTable<NetworkSpec>& network_fields() {
  static const FieldTable<NetworkSpec> table = [] {
    FieldTable<NetworkSpec> t("network");
    t.field("name", &NetworkSpec::name).doc("how reports call it; the file name when absent");
    t.choice("transport", &NetworkSpec::transport,
             {{"ib", Transport::kInfiniBand, "InfiniBand"},
              {"roce", Transport::kRoce, "RDMA over converged Ethernet, version 2"},
              {"efa", Transport::kEfa, "AWS Elastic Fabric Adapter: reliable datagrams sprayed over many paths"},
              {"tcp", Transport::kTcp, "TCP sockets over Ethernet"}})
        .required()
        .doc("what carries the messages");
    t.field("nics_per_node", &NetworkSpec::nics_per_node).required().range(1, kMostNics).doc("NICs per server");
    t.field("nic_rate", &NetworkSpec::nic_rate).required().range(kLowestRate, kHighestRate).doc("line rate of one NIC");
    t.field("payload_efficiency", &NetworkSpec::payload_efficiency)
        .required()
        .range({0.01}, {1})
        .doc("payload share of the line rate");
    t.field("gpudirect", &NetworkSpec::gpudirect).required().doc("NICs read and write GPU memory themselves");
    t.field("host_path_rate", &NetworkSpec::host_path_rate)
        .required()
        .range(kLowestRate, kHighestRate)
        .in_bytes()
        .doc("most that one NIC moves each way without GPUDirect");
    t.field("cpu_rate", &NetworkSpec::cpu_rate)
        .range(kLowestRate, kHighestRate)
        .in_bytes()
        .doc(
            "most that the CPUs of a server move through their memory for the NICs, out and in together, without GPUDirect; no "
            "limit when absent");
    t.field("connection_rate", &NetworkSpec::connection_rate)
        .range(kLowestRate, kHighestRate)
        .doc("most that one connection (a TCP socket) moves; no limit when absent");
    t.field("connections_per_channel", &NetworkSpec::connections_per_channel)
        .range(1, 64)
        .doc("connections that a channel of a collective, or a message, is cut into; counts with connection_rate");
    t.field("message_latency", &NetworkSpec::message_latency)
        .required()
        .range(Duration(), kLongestLatency)
        .doc("software cost of a message between servers");
    t.field("pipeline_fill", &NetworkSpec::pipeline_fill)
        .range(Duration(), kLongestLatency)
        .doc("how long a pipeline of chunks between servers takes to fill; makes bandwidth ramp up with size");
    t.field("link_latency", &NetworkSpec::link_latency)
        .required()
        .range(Duration(), kLongestLatency)
        .doc("one cable and the switch behind it");
    routing_field(t, &NetworkSpec::routing).required().doc("how flows choose among equal-cost paths");
    queue_pairs_field(t, &NetworkSpec::queue_pairs)
        .doc("over which each connection is split evenly; matters where paths are hashed");
    flowlet_share_field(t, &NetworkSpec::flowlet_share)
        .doc("of the bytes of a flow, what follows a gap; with routing: flowlet");
    t.validate([](const NetworkSpec& n, Section& at) { check_flowlet_share(n.flowlet_share, at); });
    return t;
  }();
  return table;
}

}  // namespace lockstep
