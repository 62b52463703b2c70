// SPDX-License-Identifier: Apache-2.0
#include "topology/drawing/svg.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>

#include "base/quantity.h"
#include "topology/drawing/layout.h"

namespace lockstep {
namespace {

constexpr double kMargin = 24;
constexpr double kTitleHeight = 34;
constexpr double kLineHeight = 18;
constexpr double kLegendLine = 32;
constexpr double kArcHeight = 40;  // of cables between boxes side by side, above these
constexpr double kFaint = 0.6;
constexpr double kNear = 40;        // between boxes side by side: nothing stands between them
constexpr double kFewCables = 100;  // more are drawn thinner, down to half as thick

struct Colors {
  std::string_view fill;
  std::string_view stroke;
};

Colors colors_of(const DrawnBox& box) {
  if (box.kind == DrawnBox::Kind::kNode) return {"#ffffff", "#7a8699"};
  switch (box.device) {
    case DeviceKind::kGpu:
      return {"#e3f1d8", "#6a9a3f"};
    case DeviceKind::kNvSwitch:
      return {"#cfe6b8", "#55852f"};
    case DeviceKind::kNic:
      return {"#fdebd0", "#c08a35"};
    case DeviceKind::kPcieHub:
    case DeviceKind::kPcieSwitch:
    case DeviceKind::kRootComplex:
    case DeviceKind::kHostMemory:
      return {"#ececec", "#8a8a8a"};
    case DeviceKind::kLeaf:
      return {"#d8ecd9", "#5d9b63"};
    case DeviceKind::kSpine:
      return {"#d9e7f8", "#5580b8"};
    case DeviceKind::kCore:
      return {"#e6dcf0", "#8465a3"};
    default:
      return {"#fbf1cf", "#b8993a"};
  }
}

std::string_view color_of(LinkTier tier) {
  switch (tier) {
    case LinkTier::kNvlink:
    case LinkTier::kXgmi:
      return "#76a33f";
    case LinkTier::kPcie:
    case LinkTier::kInterSocket:
    case LinkTier::kHostMemory:
      return "#a0a0a0";
    case LinkTier::kHost:
      return "#6f9f74";
    case LinkTier::kSpineCore:
      return "#9a7fb5";
    case LinkTier::kGlobal:
      return "#c07a6b";
    default:
      return "#7b9ccb";
  }
}

std::string_view tier_text(LinkTier tier) {
  switch (tier) {
    case LinkTier::kHost:
      return "node to switch";
    case LinkTier::kLocal:
      return "inside groups";
    case LinkTier::kGlobal:
      return "between groups";
    case LinkTier::kSwitch:
      return "between switches";
    default:
      return to_text(tier);
  }
}

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      default:
        // Control characters are not allowed in XML, not even escaped.
        if (static_cast<unsigned char>(c) >= 0x20) out += c;
    }
  }
  return out;
}

std::string cables_text(std::int64_t count, Rate rate) {
  if (rate == Rate()) return count == 1 ? "failed" : fmt::format("{} x failed", count);
  return count == 1 ? to_text(rate) : fmt::format("{} x {}", count, to_text(rate));
}

class SvgWriter {
 public:
  std::string write(const Drawing& network, const Drawing& inside) {
    const Layout main = lay_out(network, kMargin, kMargin + kTitleHeight);
    const double below = main.whole.bottom() + kMargin;
    const bool has_arcs = std::any_of(inside.cables.begin(), inside.cables.end(), [&inside](const DrawnCable& c) {
      return inside.boxes[c.low].tier == inside.boxes[c.high].tier;
    });
    const Layout node = lay_out(inside, kMargin + legend_width(network), below + kTitleHeight + (has_arcs ? kArcHeight : 0));
    double width = std::max(main.whole.right(), kMargin + legend_width(network));
    double height = below + legend_height(network);
    if (!inside.boxes.empty()) {
      width = std::max(width, node.whole.right());
      height = std::max(height, node.whole.bottom() + kMargin + legend_height(inside));
    }
    width += kMargin;
    height += kMargin;
    add("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:.0f}\" height=\"{1:.0f}\" viewBox=\"0 0 {0:.0f} {1:.0f}\" "
        "font-family=\"Helvetica, Arial, sans-serif\" font-size=\"11\" fill=\"#2b2f36\">\n",
        width, height);
    add("<title>{}</title>\n<rect width=\"100%\" height=\"100%\" fill=\"#fcfcfd\"/>\n", escaped(network.title));
    add_text(kMargin, kMargin + 12, network.title, "font-size=\"18\" font-weight=\"bold\"");
    add_picture(network, main, (width - main.whole.w) / 2 - kMargin);
    add_legend(network, kMargin, below);
    if (!inside.boxes.empty()) {
      add_text(node.whole.x, below + 14, inside.title, "font-size=\"14\" font-weight=\"bold\"");
      add_picture(inside, node, 0);
      add_legend(inside, node.whole.x, node.whole.bottom() + kMargin / 2);
    }
    return out_ + "</svg>\n";
  }

 private:
  template <class... Args>
  void add(fmt::format_string<Args...> format, Args&&... args) {
    fmt::format_to(std::back_inserter(out_), format, std::forward<Args>(args)...);
  }

  void add_text(double x, double y, std::string_view text, std::string_view attributes) {
    add("<text x=\"{:.1f}\" y=\"{:.1f}\"{}{}>{}</text>\n", x, y, attributes.empty() ? "" : " ", attributes, escaped(text));
  }

  // Frames, cables, boxes, moved to the right.
  void add_picture(const Drawing& d, const Layout& layout, double shift) {
    add("<g transform=\"translate({:.1f} 0)\">\n", shift);
    for (const PlacedFrame& f : layout.frames) add_frame(f);
    double most = 1;
    for (const DrawnCable& c : d.cables) most = std::max(most, total_rate(c));
    most = std::max(most, 1.0);  // where all are dead
    const auto cables = static_cast<double>(d.cables.size());
    const double thickness = std::clamp(kFewCables / std::max(cables, 1.0), 0.5, 1.0);
    for (const DrawnCable& c : d.cables) add_cable(d, layout, c, thickness * (0.8 + 2.8 * std::sqrt(total_rate(c) / most)));
    for (const PlacedFrame& f : layout.frames) add_frame_title(f);
    for (std::size_t b = 0; b < d.boxes.size(); ++b) add_box(d.boxes[b], layout.boxes[b]);
    for (const DrawnCable& c : d.cables) add_port(layout, c);
    add("</g>\n");
  }

  [[nodiscard]] static std::string_view frame_fill(const PlacedFrame& f) { return f.depth % 2 == 0 ? "#f1f3f6" : "#e7ebf0"; }

  void add_frame(const PlacedFrame& f) {
    const Rect& r = f.rect;
    add("<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" rx=\"10\" fill=\"{}\" stroke=\"#b9c0cb\"{}/>\n",
        r.x, r.y, r.w, r.h, f.hidden > 0 ? "none" : frame_fill(f), f.hidden > 0 ? " stroke-dasharray=\"4 4\"" : "");
  }

  // Above the cables, and readable where they cross it.
  void add_frame_title(const PlacedFrame& f) {
    const Rect& r = f.rect;
    if (f.hidden > 0) {
      const bool is_high = r.h > 2 * kLineHeight;
      if (is_high)
        add_text(r.center_x(), r.center_y() - 8, "\xe2\x8b\xaf", "text-anchor=\"middle\" font-size=\"18\" fill=\"#6b7380\"");
      add_text(r.center_x(), r.center_y() + (is_high ? 10 : 4), f.title, "text-anchor=\"middle\" fill=\"#6b7380\"");
      return;
    }
    add_text(r.x + 12, r.y + 18, f.title,
             fmt::format("fill=\"#59616e\" font-weight=\"bold\" paint-order=\"stroke\" stroke=\"{}\" stroke-width=\"4\"",
                         frame_fill(f)));
  }

  void add_box(const DrawnBox& box, const Rect& r) {
    const Colors colors = colors_of(box);
    add("<g><title>{}</title><rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" rx=\"5\" fill=\"{}\" "
        "stroke=\"{}\"{}/>",
        escaped(box.hidden > 0 ? fmt::format("{} that are not drawn", box.label)
                               : box.name + (box.detail.empty() ? "" : ": " + box.detail)),
        r.x, r.y, r.w, r.h, box.hidden > 0 ? "#f8f9fa" : colors.fill, colors.stroke,
        box.hidden > 0 ? " stroke-dasharray=\"3 3\"" : "");
    const double middle = r.center_y() + (box.detail.empty() ? 4 : -2);
    add("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\"{}>{}</text>", r.center_x(), middle,
        box.hidden > 0 ? " fill=\"#6b7380\" font-size=\"10\"" : "", escaped(box.label));
    if (!box.detail.empty()) {
      add("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\" font-size=\"9\" fill=\"#59616e\">{}</text>", r.center_x(),
          r.center_y() + 11, escaped(box.detail));
    }
    add("</g>\n");
  }

  [[nodiscard]] static double total_rate(const DrawnCable& c) {
    return static_cast<double>(c.count) * c.rate.bytes_per_second();
  }

  // Inside a rack a cable runs along the stack to its node. In a ring and a grid it goes the straight way between different
  // heights, and round what is between where both ends stand side by side.
  [[nodiscard]] static std::string path_of(const Drawing& d, const Layout& layout, const DrawnCable& c) {
    const Rect& low = layout.boxes[c.low];
    const Rect& high = layout.boxes[c.high];
    if (runs_along_stack(layout, c)) return fmt::format("M{:.1f} {:.1f}V{:.1f}", high.center_x(), high.bottom(), low.y);
    const bool is_row = low.y == high.y;
    const bool is_column = d.arrangement == Arrangement::kGrid && std::abs(low.center_x() - high.center_x()) < 0.5;
    if (c.tier == LinkTier::kGlobal) return line(low.center_x(), low.center_y(), high.center_x(), high.center_y());
    if (is_row) {
      const Rect& left = low.x < high.x ? low : high;
      const Rect& right = low.x < high.x ? high : low;
      if (right.x - left.right() < kNear) return line(left.right(), left.center_y(), right.x, right.center_y());
      const double bend = std::min(10 + (right.x - left.x) / 6, 80.0);
      return fmt::format("M{:.1f} {:.1f}Q{:.1f} {:.1f} {:.1f} {:.1f}", left.center_x(), left.y,
                         (left.center_x() + right.center_x()) / 2, left.y - bend, right.center_x(), right.y);
    }
    const Rect& upper = low.y < high.y ? low : high;
    const Rect& lower = low.y < high.y ? high : low;
    if (is_column && lower.y - upper.bottom() >= kNear) {
      const double bend = std::min(10 + (lower.y - upper.y) / 6, 50.0);
      return fmt::format("M{:.1f} {:.1f}Q{:.1f} {:.1f} {:.1f} {:.1f}", upper.right(), upper.center_y(), upper.right() + bend,
                         (upper.center_y() + lower.center_y()) / 2, lower.right(), lower.center_y());
    }
    return line(upper.center_x(), upper.bottom(), lower.center_x(), lower.y);
  }

  [[nodiscard]] static std::string line(double x0, double y0, double x1, double y1) {
    return fmt::format("M{:.1f} {:.1f}L{:.1f} {:.1f}", x0, y0, x1, y1);
  }

  void add_cable(const Drawing& d, const Layout& layout, const DrawnCable& c, double thickness) {
    // Between planes there is a cable from every switch: too many to be looked at one by one.
    const bool is_faint = layout.planes[c.low] != layout.planes[c.high];
    const bool is_dead = c.rate == Rate();
    add("<path d=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"{:.1f}\" stroke-opacity=\"{}\"{}><title>{}</title></path>\n",
        path_of(d, layout, c), is_dead ? "#c92a2a" : color_of(c.tier), is_faint ? kFaint : thickness, is_faint ? "0.4" : "0.7",
        is_dead ? " stroke-dasharray=\"5 4\"" : "",
        escaped(fmt::format("{} to {}: {}", d.boxes[c.low].name, d.boxes[c.high].name, cables_text(c.count, c.rate))));
  }

  // A dot where a cable that runs along a stack enters its node.
  void add_port(const Layout& layout, const DrawnCable& c) {
    if (!runs_along_stack(layout, c)) return;
    add("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3\" fill=\"{}\"/>\n", layout.boxes[c.high].center_x(), layout.boxes[c.low].y,
        color_of(c.tier));
  }

  [[nodiscard]] static bool runs_along_stack(const Layout& layout, const DrawnCable& c) {
    const Rect& low = layout.boxes[c.low];
    const Rect& high = layout.boxes[c.high];
    return layout.is_stacked[c.low] && high.bottom() <= low.y && high.center_x() >= low.x && high.center_x() <= low.right();
  }

  [[nodiscard]] static std::string legend_text(const CableCount& c) {
    if (c.rate == Rate()) return fmt::format("{} failed {}, {}", c.count, c.count == 1 ? "cable" : "cables", tier_text(c.tier));
    return fmt::format("{} {} of {}, {}", c.count, c.count == 1 ? "cable" : "cables", to_text(c.rate), tier_text(c.tier));
  }

  [[nodiscard]] static double legend_height(const Drawing& d) {
    return kLineHeight * static_cast<double>(d.notes.size() + d.legend.size());
  }

  [[nodiscard]] static double legend_width(const Drawing& d) {
    double w = 0;
    for (const std::string& note : d.notes) w = std::max(w, text_width(note, 11));
    for (const CableCount& c : d.legend) w = std::max(w, kLegendLine + 10 + text_width(legend_text(c), 11));
    return w + 2 * kMargin;
  }

  void add_legend(const Drawing& d, double x, double y) {
    for (const std::string& note : d.notes) add_text(x, (y += kLineHeight) - 5, note, "");
    for (const CableCount& c : d.legend) {
      y += kLineHeight;
      add("<path d=\"M{:.1f} {:.1f}h{:.1f}\" stroke=\"{}\" stroke-width=\"3\"/>\n", x, y - 9, kLegendLine, color_of(c.tier));
      add_text(x + kLegendLine + 10, y - 5, legend_text(c), "");
    }
  }

  std::string out_;
};

}  // namespace

std::string to_svg(const Drawing& network, const Drawing& inside) { return SvgWriter().write(network, inside); }

}  // namespace lockstep
