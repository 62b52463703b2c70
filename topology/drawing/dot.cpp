// SPDX-License-Identifier: Apache-2.0
#include "topology/drawing/dot.h"

#include <fmt/format.h>

#include <iterator>
#include <map>

#include "base/quantity.h"

namespace lockstep {
namespace {

constexpr std::size_t kMostLabels = 60;  // more cables hide each other's labels

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out;
}

std::string_view fill_of(const DrawnBox& box) {
  if (box.kind == DrawnBox::Kind::kNode) return "#f5f5f5";
  switch (box.device) {
    case DeviceKind::kLeaf:
      return "#d5e8d4";
    case DeviceKind::kSpine:
      return "#dae8fc";
    case DeviceKind::kCore:
      return "#e1d5e7";
    default:
      return "#fff2cc";
  }
}

class DotWriter {
 public:
  explicit DotWriter(const Drawing& drawing) : d_(drawing) {}

  std::string write() {
    const std::string title = escaped(d_.title);
    add("graph \"{}\" {{\n  label=\"{}\"; labelloc=t; splines=line; ranksep=0.9; fontname=\"Helvetica\";\n", title, title);
    add("  node [shape=box, style=\"rounded,filled\", fillcolor=\"#f5f5f5\", fontname=\"Helvetica\", fontsize=10];\n");
    add("  edge [color=\"#808080\", fontname=\"Helvetica\", fontsize=8];\n");
    // A ring and a grid have no above and below.
    if (d_.arrangement != Arrangement::kRow) add("  layout=fdp;\n");
    write_group(d_.root, "", 1);
    const std::string_view attribute = d_.cables.size() <= kMostLabels ? "label" : "tooltip";
    for (const DrawnCable& c : d_.cables) {
      const DrawnBox& low = d_.boxes[c.low];
      const DrawnBox& high = d_.boxes[c.high];
      const bool is_dead = c.rate == Rate();
      add("  \"{}\" -- \"{}\" [{}=\"{}{}\"{}{}];\n", escaped(high.name), escaped(low.name), attribute,
          c.count > 1 ? fmt::format("{} x ", c.count) : "", is_dead ? "failed" : to_text(c.rate),
          low.tier == high.tier ? ", constraint=false" : "", is_dead ? ", style=dashed, color=\"#c92a2a\"" : "");
    }
    return out_ + "}\n";
  }

 private:
  template <class... Args>
  void add(fmt::format_string<Args...> format, Args&&... args) {
    fmt::format_to(std::back_inserter(out_), format, std::forward<Args>(args)...);
  }

  void write_box(const DrawnBox& box, const std::string& indent) {
    const std::string detail = box.detail.empty() ? "" : "\\n" + escaped(box.detail);
    add("{}\"{}\" [label=\"{}{}\", fillcolor=\"{}\"{}];\n", indent, escaped(box.name), escaped(box.label), detail, fill_of(box),
        box.hidden > 0 ? ", style=\"rounded,dashed\"" : "");
  }

  // Invisible edges keep the order of a row. `path` numbers the group within those around it: "_0_2".
  void write_group(const DrawnGroup& g, const std::string& path, std::size_t depth) {
    const std::string indent(2 * depth, ' ');
    std::map<int, std::vector<std::uint32_t>> tiers;
    for (const std::uint32_t b : g.switches) tiers[d_.boxes[b].tier].push_back(b);
    for (const auto& [tier, row] : tiers) {
      add("{}{{ rank=same;\n", indent);
      for (const std::uint32_t b : row) write_box(d_.boxes[b], indent + "  ");
      for (std::size_t i = 1; i < row.size(); ++i) {
        add("{}  \"{}\"--\"{}\" [style=invis];\n", indent, escaped(d_.boxes[row[i - 1]].name), escaped(d_.boxes[row[i]].name));
      }
      add("{}}}\n", indent);
    }
    for (const std::uint32_t b : g.nodes) write_box(d_.boxes[b], indent);
    for (std::size_t i = 0; i < g.groups.size(); ++i) {
      const DrawnGroup& child = g.groups[i];
      const std::string name = fmt::format("{}_{}", path, i);
      if (child.hidden > 0) {
        add("{}\"group{}\" [label=\"{}\", style=\"rounded,dashed\"];\n", indent, name, escaped(child.title));
        continue;
      }
      if (child.title.empty()) {
        write_group(child, name, depth);
        continue;
      }
      add("{}subgraph cluster{} {{ label=\"{}\"; color=\"#b0b0b0\";\n", indent, name, escaped(child.title));
      write_group(child, name, depth + 1);
      add("{}}}\n", indent);
    }
  }

  const Drawing& d_;
  std::string out_;
};

}  // namespace

std::string to_dot(const Drawing& drawing) { return DotWriter(drawing).write(); }

}  // namespace lockstep
