// SPDX-License-Identifier: Apache-2.0
#include "topology/drawing/dot.h"

#include <fmt/format.h>

#include <iterator>
#include <map>

#include "base/quantity.h"
#include "topology/link_rows.h"

namespace lockstep {
namespace {

class DotWriter {
 public:
  DotWriter(const Network& net, std::string_view title) : net_(net) {
    const std::string name = escaped(title);
    add("graph \"{}\" {{\n  label=\"{}\"; labelloc=t; rankdir=BT; fontname=\"Helvetica\";\n", name, name);
    add("  node [shape=box, style=\"rounded,filled\", fillcolor=\"#f5f5f5\", fontname=\"Helvetica\", fontsize=10];\n");
    add("  edge [color=\"#808080\", fontname=\"Helvetica\", fontsize=8];\n");
  }

  std::string write() {
    write_nodes();
    write_switches();
    write_cables();
    return out_ + "}\n";
  }

 private:
  template <class... Args>
  void add(fmt::format_string<Args...> format, Args&&... args) {
    fmt::format_to(std::back_inserter(out_), format, std::forward<Args>(args)...);
  }

  [[nodiscard]] static std::string escaped(std::string_view text) {
    std::string out;
    for (const char c : text) {
      if (c == '"' || c == '\\') out += '\\';
      out += c;
    }
    return out;
  }

  [[nodiscard]] static std::string count(int n, std::string_view word) {
    return fmt::format("{} {}{}", n, word, n == 1 ? "" : "s");
  }

  [[nodiscard]] std::string node_name(std::uint32_t n) const {
    return net_.nics_per_node() > 0 || net_.endpoints_per_node() > 1 ? fmt::format("node{}", n) : fmt::format("host{}", n);
  }

  [[nodiscard]] std::string node_label(std::uint32_t n) const {
    if (net_.nics_per_node() == 0 && net_.endpoints_per_node() == 1) return node_name(n);
    return fmt::format("{}\\n{}, {}", node_name(n), count(net_.endpoints_per_node(), "GPU"),
                       count(net_.nics_per_node(), "NIC"));
  }

  // A box per rack with the switch of its nodes, where it has one; other switches by tier.
  void write_graph_nodes(const GraphFabric& f) {
    std::map<std::uint32_t, std::vector<std::uint32_t>> racks;
    for (std::uint32_t n = 0; n < net_.node_count(); ++n) racks[net_.rack_of(NodeId(n))].push_back(n);
    std::map<std::uint32_t, std::uint32_t> rack_of_switch;
    for (std::uint32_t n = 0; n < net_.node_count(); ++n) rack_of_switch.emplace(f.switch_of({n, 0}), net_.rack_of(NodeId(n)));
    const std::uint32_t first = net_.first_switch().value();
    for (const auto& [rack, nodes] : racks) {
      add("  subgraph cluster_rack{} {{ label=\"rack {}\"; color=\"#d0d0d0\";\n", rack, rack);
      for (const auto& [s, of] : rack_of_switch) {
        if (of == rack) add("    \"{}\" [fillcolor=\"#d5e8d4\"];\n", net_.name(DeviceId(first + s)));
      }
      for (const std::uint32_t n : nodes) add("    \"{}\" [label=\"{}\"];\n", node_name(n), node_label(n));
      add("  }}\n");
    }
    std::map<int, std::vector<DeviceId>> tiers;
    for (std::uint32_t s = 0; s < f.device_count(); ++s) {
      if (rack_of_switch.count(s) == 0) tiers[f.tier_of(DeviceId(first + s))].push_back(DeviceId(first + s));
    }
    for (const auto& [tier, switches] : tiers) {
      add("  {{ rank=same;\n");
      for (const DeviceId s : switches) add("    \"{}\" [fillcolor=\"#dae8fc\"];\n", net_.name(s));
      add("  }}\n");
    }
  }

  // One box per rack (unit) with its leaves and nodes; pods around them where there are several.
  void write_nodes() {
    if (net_.rack_count() == 0) {
      for (std::uint32_t n = 0; n < net_.node_count(); ++n) add("  \"{}\" [label=\"{}\"];\n", node_name(n), node_label(n));
      return;
    }
    if (const auto* graph = std::get_if<GraphFabric>(&net_.fabric())) return write_graph_nodes(*graph);
    const FoldedClos& f = std::get<FoldedClos>(net_.fabric());
    const bool has_pods = net_.pod_count() > 1;
    const std::string_view word = f.shape().wiring == Wiring::kRack ? "rack" : "unit";
    std::uint32_t in_pod = 0;
    std::uint32_t n = 0;
    for (std::uint32_t rack = 0; rack < net_.rack_count(); ++rack) {
      const std::uint32_t first_leaf = rack * f.rails();
      const std::uint32_t pod = f.pod_of_leaf(first_leaf);
      const bool is_first = rack == 0 || f.pod_of_leaf(first_leaf - 1) != pod;
      in_pod = is_first ? 0 : in_pod + 1;
      if (has_pods && is_first)
        add("{}  subgraph cluster_pod{} {{ label=\"pod {}\"; color=\"#b0b0b0\";\n", rack == 0 ? "" : "  }\n", pod, pod);
      add("  subgraph cluster_rack{} {{ label=\"{} {}\"; color=\"#d0d0d0\";\n", rack, word, in_pod);
      for (std::uint32_t l = first_leaf; l < first_leaf + f.rails(); ++l) {
        add("    \"{}\" [fillcolor=\"#d5e8d4\"];\n", net_.name(f.leaf(l)));
      }
      for (; n < net_.node_count() && net_.rack_of(NodeId(n)) == rack; ++n) {
        add("    \"{}\" [label=\"{}\"];\n", node_name(n), node_label(n));
      }
      add("  }}\n");
    }
    if (has_pods) add("  }}\n");
  }

  void write_switches() {
    const auto* clos = std::get_if<FoldedClos>(&net_.fabric());
    if (clos == nullptr) return;
    const FoldedClos& f = *clos;
    const auto rank = [this](std::uint32_t count, auto device, std::string_view color) {
      if (count == 0) return;
      add("  {{ rank=same;\n");
      for (std::uint32_t i = 0; i < count; ++i) add("    \"{}\" [fillcolor=\"{}\"];\n", net_.name(device(i)), color);
      add("  }}\n");
    };
    rank(
        f.spines(), [&f](std::uint32_t i) { return f.spine(i); }, "#dae8fc");
    rank(
        f.cores(), [&f](std::uint32_t i) { return f.core(i); }, "#e1d5e7");
  }

  // A link is drawn where its far end has the larger device number, which is up in a folded Clos; not the other direction of
  // the cable.
  void write_cables() {
    struct Bundle {
      int cables = 0;
      Rate rate;
    };
    const std::uint32_t first_switch = net_.first_switch().value();
    const auto write = [this](const std::string& from, const std::map<std::uint32_t, Bundle>& row) {
      for (const auto& [to, b] : row) {
        add("  \"{}\" -- \"{}\" [label=\"{}{}\"];\n", from, net_.name(DeviceId(to)),
            b.cables > 1 ? fmt::format("{} x ", b.cables) : "", to_text(b.rate));
      }
    };
    const LinkRows rows(net_);
    const auto collect = [this, first_switch, &rows](DeviceId d, std::map<std::uint32_t, Bundle>& row) {
      for (const LinkId id : rows.from(d)) {
        const Link l = net_.link(id);
        if (l.to.value() < first_switch || l.to < d) continue;
        Bundle& b = row[l.to.value()];
        b = {b.cables + 1, l.nominal};
      }
    };
    const std::uint32_t per_node = net_.node_count() == 0 ? 0 : first_switch / static_cast<std::uint32_t>(net_.node_count());
    for (std::uint32_t n = 0; n < net_.node_count(); ++n) {
      std::map<std::uint32_t, Bundle> row;
      for (std::uint32_t d = 0; d < per_node; ++d) collect(DeviceId(n * per_node + d), row);
      write(node_name(n), row);
    }
    for (std::uint32_t d = first_switch; d < net_.device_count(); ++d) {
      std::map<std::uint32_t, Bundle> row;
      collect(DeviceId(d), row);
      write(net_.name(DeviceId(d)), row);
    }
  }

  const Network& net_;
  std::string out_;
};

}  // namespace

std::string to_dot(const Network& network, std::string_view title) { return DotWriter(network, title).write(); }

}  // namespace lockstep
