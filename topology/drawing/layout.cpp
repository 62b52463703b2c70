// SPDX-License-Identifier: Apache-2.0
#include "topology/drawing/layout.h"

#include <algorithm>
#include <functional>
#include <map>

namespace lockstep {
namespace {

constexpr double kPad = 12;       // inside a frame
constexpr double kTitle = 20;     // height of a frame's title
constexpr double kGap = 8;        // between boxes
constexpr double kGroupGap = 20;  // between frames
constexpr double kSwitchHeight = 28;
constexpr double kNodeHeight = 34;
constexpr double kHiddenHeight = 22;
constexpr double kNodeGap = 12;   // between nodes of a stack, where their cables show
constexpr double kStackGap = 26;  // between switches and the stack below
constexpr double kFont = 11;
constexpr double kHiddenGroupWidth = 96;
constexpr double kCellGap = 26;  // between cells of a grid
constexpr double kPlaneGap = 54;

struct Size {
  double w = 0;
  double h = 0;
};

constexpr double kPi = 3.14159265358979323846;

// Sine by its series, for |x| <= pi: the library's may differ in the last bit from one platform to another.
double sine(double x) {
  double term = x;
  double sum = x;
  for (int k = 1; k < 16; ++k) {
    term *= -x * x / (2 * k * (2 * k + 1));
    sum += term;
  }
  return sum;
}

class Placer {
 public:
  explicit Placer(const Drawing& d) : d_(d) {
    out_.boxes.resize(d.boxes.size());
    out_.is_stacked.resize(d.boxes.size());
    out_.planes.resize(d.boxes.size());
  }

  Layout run(double x, double y) {
    Size size;
    if (d_.arrangement == Arrangement::kRing) {
      size = place_ring(x, y);
    } else if (d_.arrangement == Arrangement::kGrid) {
      size = place_grid(x, y);
    } else {
      size = measure(d_.root);
      place(d_.root, {x, y, size.w, size.h}, -1);
    }
    out_.whole = {x, y, size.w, size.h};
    return std::move(out_);
  }

 private:
  using Rows = std::map<int, std::vector<std::uint32_t>, std::greater<>>;

  [[nodiscard]] Rows rows_of(const DrawnGroup& g) const {
    Rows rows;
    for (const std::uint32_t b : g.switches) rows[d_.boxes[b].tier].push_back(b);
    return rows;
  }

  [[nodiscard]] double box_width(std::uint32_t b) const {
    const DrawnBox& box = d_.boxes[b];
    const double text = std::max(text_width(box.label, kFont), text_width(box.detail, kFont - 2));
    return std::max(text + 14, box.kind == DrawnBox::Kind::kNode ? 104.0 : 44.0);
  }

  [[nodiscard]] double node_height(std::uint32_t b) const { return d_.boxes[b].hidden > 0 ? kHiddenHeight : kNodeHeight; }

  [[nodiscard]] double row_width(const std::vector<std::uint32_t>& row) const {
    double w = kGap * static_cast<double>(row.size() - 1);
    for (const std::uint32_t b : row) w += box_width(b);
    return w;
  }

  [[nodiscard]] double row_height(const std::vector<std::uint32_t>& row) const {
    const bool has_detail =
        std::any_of(row.begin(), row.end(), [this](std::uint32_t b) { return !d_.boxes[b].detail.empty(); });
    return has_detail ? kNodeHeight : kSwitchHeight;
  }

  [[nodiscard]] static bool is_framed(const DrawnGroup& g) { return !g.title.empty(); }

  // Between switches and what is below them: more where cables run far sideways.
  [[nodiscard]] static double cable_gap(double width) { return std::clamp(width / 10, 48.0, 150.0); }

  [[nodiscard]] Size measure_groups(const DrawnGroup& g) const {
    Size s{kGroupGap * static_cast<double>(g.groups.size() - 1), 0};
    for (const DrawnGroup& child : g.groups) {
      const Size c = measure(child);
      s.w += c.w;
      s.h = std::max(s.h, c.h);
    }
    return s;
  }

  // The inside of a group, without frame.
  [[nodiscard]] Size measure_inside(const DrawnGroup& g) const {
    Size s;
    const Rows rows = rows_of(g);
    for (const auto& [tier, row] : rows) s.w = std::max(s.w, row_width(row));
    for (const std::uint32_t n : g.nodes) s.w = std::max(s.w, box_width(n));
    Size below;
    if (!g.groups.empty()) below = measure_groups(g);
    s.w = std::max(s.w, below.w);
    const auto tiers = static_cast<double>(rows.size());
    for (const auto& [tier, row] : rows) s.h += row_height(row);
    s.h += std::max(tiers - 1, 0.0) * cable_gap(s.w);
    if (!g.groups.empty()) s.h += (rows.empty() ? 0 : cable_gap(s.w)) + below.h;
    if (!g.nodes.empty()) {
      s.h += rows.empty() ? 0 : kStackGap;
      for (const std::uint32_t n : g.nodes) s.h += node_height(n) + kNodeGap;
      s.h -= kNodeGap;
    }
    return s;
  }

  [[nodiscard]] Size measure(const DrawnGroup& g) const {
    if (g.hidden > 0) return {kHiddenGroupWidth, 0};
    Size s = measure_inside(g);
    if (!is_framed(g)) return s;
    s.w = std::max(s.w, text_width(g.title, kFont)) + 2 * kPad;
    s.h += 2 * kPad + kTitle;
    return s;
  }

  void place(const DrawnGroup& g, const Rect& r, int depth) {
    if (is_framed(g)) out_.frames.push_back({r, g.title, g.hidden, depth});
    if (g.hidden > 0) return;
    const double pad = is_framed(g) ? kPad : 0;
    const double width = r.w - 2 * pad;
    double y = r.y + pad + (is_framed(g) ? kTitle : 0);
    const Rows rows = rows_of(g);
    const double gap = cable_gap(measure_inside(g).w);
    for (const auto& [tier, row] : rows) {
      double x = r.x + pad + (width - row_width(row)) / 2;
      for (const std::uint32_t b : row) {
        out_.boxes[b] = {x, y, box_width(b), row_height(row)};
        x += box_width(b) + kGap;
      }
      y += row_height(row) + gap;
    }
    if (!rows.empty()) y -= gap;
    if (!g.groups.empty()) {
      y += rows.empty() ? 0 : gap;
      const Size row = measure_groups(g);
      double x = r.x + pad + (width - row.w) / 2;
      for (const DrawnGroup& child : g.groups) {
        const Size c = measure(child);
        place(child, {x, y, c.w, row.h}, depth + 1);
        x += c.w + kGroupGap;
      }
    }
    if (!rows.empty()) y += kStackGap;
    for (const std::uint32_t n : g.nodes) {
      out_.boxes[n] = {r.x + pad, y, width, node_height(n)};
      out_.is_stacked[n] = true;
      y += node_height(n) + kNodeGap;
    }
  }

  // The largest group without what only stands for others.
  [[nodiscard]] Size largest_group() const {
    Size most;
    for (const DrawnGroup& g : d_.root.groups) {
      if (g.hidden > 0) continue;
      const Size s = measure(g);
      most = {std::max(most.w, s.w), std::max(most.h, s.h)};
    }
    return most;
  }

  // With width and height of a group as units of length, neighbours at least 1.15 sqrt(2) apart on a circle are 1.15 apart in
  // one direction, so they do not touch. Flat groups count as higher, for a rounder ring.
  Size place_ring(double x, double y) {
    const std::vector<DrawnGroup>& groups = d_.root.groups;
    Size cell = largest_group();
    cell.h = std::max(cell.h, cell.w / 3);
    const auto n = static_cast<double>(groups.size());
    const double radius = n < 2 ? 0 : 1.15 * 1.4142135623730951 / (2 * sine(kPi / n));
    const Size size{(2 * radius + 1) * cell.w, (2 * radius + 1) * cell.h};
    for (std::size_t i = 0; i < groups.size(); ++i) {
      // From the top, clockwise; angles within +-pi.
      const double turn = static_cast<double>(i) / n;
      const double angle = 2 * kPi * (turn > 0.5 ? turn - 1 : turn);
      const double cosine = 1 - 2 * sine(angle / 2) * sine(angle / 2);
      const double center_x = x + size.w / 2 + radius * cell.w * sine(angle);
      const double center_y = y + size.h / 2 - radius * cell.h * cosine;
      const Size s = groups[i].hidden > 0 ? Size{kHiddenGroupWidth, kHiddenGroupWidth} : measure(groups[i]);
      place(groups[i], {center_x - s.w / 2, center_y - s.h / 2, s.w, s.h}, 0);
    }
    return size;
  }

  Size place_grid(double x, double y) {
    const Size cell = largest_group();
    GridCell last;
    for (const DrawnGroup& g : d_.root.groups) {
      last = {std::max(last.column, g.cell.column), std::max(last.row, g.cell.row), std::max(last.plane, g.cell.plane)};
    }
    const double step_x = cell.w + kCellGap;
    const double step_y = cell.h + kCellGap;
    const Size plane{(last.column + 1) * step_x - kCellGap, (last.row + 1) * step_y - kCellGap};
    // Room above for the cables that go round.
    const double top = y + kCellGap;
    for (const DrawnGroup& g : d_.root.groups) {
      const double left = x + g.cell.plane * (plane.w + kPlaneGap);
      Rect r{left + g.cell.column * step_x, top + g.cell.row * step_y, cell.w, cell.h};
      if (g.hidden > 0 && g.cell.row == 0) r.h = plane.h;  // stands for whole columns
      place(g, r, 0);
      for (const std::uint32_t b : g.switches) out_.planes[b] = g.cell.plane;
    }
    return {(last.plane + 1) * (plane.w + kPlaneGap), plane.h + 2 * kCellGap};
  }

  const Drawing& d_;
  Layout out_;
};

}  // namespace

// Of common sans-serif fonts a letter is about 0.56 of the font size wide on average.
double text_width(std::string_view text, double font_size) { return 0.56 * font_size * static_cast<double>(text.size()); }

Layout lay_out(const Drawing& drawing, double x, double y) { return Placer(drawing).run(x, y); }

}  // namespace lockstep
