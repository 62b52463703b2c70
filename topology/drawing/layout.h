// SPDX-License-Identifier: Apache-2.0
// Where the boxes and frames of a drawing stand on paper, in pixels from the top left corner.
//
//   group    switches in rows by tier, below them its groups in a row, or its nodes one under the other
//   frame    round every group with a title
//   ring     groups of the whole at equal angles on an ellipse
//   grid     groups of the whole in columns and rows, planes side by side
//
// Only + - * / are used, so that a drawing has the same bytes everywhere.
#pragma once

#include <string>
#include <vector>

#include "topology/drawing/drawing.h"

namespace lockstep {

struct Rect {
  double x = 0;
  double y = 0;
  double w = 0;
  double h = 0;
  [[nodiscard]] double center_x() const { return x + w / 2; }
  [[nodiscard]] double center_y() const { return y + h / 2; }
  [[nodiscard]] double right() const { return x + w; }
  [[nodiscard]] double bottom() const { return y + h; }
};

struct PlacedFrame {
  Rect rect;
  std::string title;
  std::int64_t hidden = 0;  // > 0: stands for groups that are not drawn
  int depth = 0;            // 0: outermost
};

struct Layout {
  std::vector<Rect> boxes;          // as those of the drawing
  std::vector<PlacedFrame> frames;  // outer ones first
  std::vector<bool> is_stacked;     // by box: a node in a stack, cabled along the stack
  std::vector<int> planes;          // by box, in a grid
  Rect whole;
};

[[nodiscard]] Layout lay_out(const Drawing& drawing, double x, double y);

// About how wide a text is in a font of that size.
[[nodiscard]] double text_width(std::string_view text, double font_size);

}  // namespace lockstep
