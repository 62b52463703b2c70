// SPDX-License-Identifier: Apache-2.0
#include "sim/report/validation_chart.h"

#include <fmt/core.h>

#include <algorithm>

namespace lockstep {
namespace {

constexpr double kLeast = 0.5;
constexpr double kMost = 1.5;
constexpr double kLabels = 290;  // pixels left of the scale
constexpr double kWidth = 620;   // of the scale
constexpr double kStrip = 34;    // height of a source
constexpr double kTop = 40;
constexpr int kLanes = 7;  // dots of neighbouring rows are set apart

double x_of(double ratio) { return kLabels + (std::clamp(ratio, kLeast, kMost) - kLeast) / (kMost - kLeast) * kWidth; }

std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '<') {
      out += "&lt;";
    } else if (c == '&') {
      out += "&amp;";
    } else {
      out += c;
    }
  }
  return out;
}

std::string scale(double bottom) {
  std::string out;
  for (int percent = -50; percent <= 50; percent += 10) {
    const double x = x_of(1 + percent / 100.0);
    out += fmt::format("<line x1=\"{0:.1f}\" y1=\"{1:.0f}\" x2=\"{0:.1f}\" y2=\"{2:.0f}\" stroke=\"{3}\"/>\n", x, kTop, bottom,
                       percent == 0 ? "#333" : "#ddd");
    out += fmt::format("<text x=\"{:.1f}\" y=\"{:.0f}\" text-anchor=\"middle\">{:+d} %</text>\n", x, kTop - 8, percent);
  }
  return out;
}

std::string strip(const SuiteResult& r, const std::string& source, double middle) {
  const ErrorStatistics s = statistics(r, source);
  std::string out =
      fmt::format("<text x=\"8\" y=\"{:.0f}\" fill=\"#222\" fill-opacity=\"1\">{}</text>\n", middle - 2, escaped(source));
  out += fmt::format("<text x=\"8\" y=\"{:.0f}\" fill=\"#777\">{} rows, median {:.1f} %</text>\n", middle + 12, s.rows,
                     100 * s.median_abs_error);
  int lane = 0;
  for (const Prediction& p : r.predictions) {
    if (p.source != source) continue;
    const double y = middle + (lane - kLanes / 2) * 3.0;
    lane = (lane + 3) % kLanes;
    out += fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"2.2\"><title>line {}: {} ({:+.1f} %)</title></circle>\n",
                       x_of(p.predicted / p.measured), y, p.row, escaped(p.what), 100 * p.error());
  }
  return out;
}

}  // namespace

std::string to_chart(const SuiteResult& r) {
  const std::vector<std::string> names = sources(r);
  const double bottom = kTop + kStrip * static_cast<double>(names.size());
  std::string out = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:.0f}\" height=\"{1:.0f}\" viewBox=\"0 0 {0:.0f} {1:.0f}\" "
      "font-family=\"sans-serif\" "
      "font-size=\"11\" fill=\"#222\">\n<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n",
      kLabels + kWidth + 30, bottom + 12);
  out += scale(bottom) + "<g fill=\"#1f5fa8\" fill-opacity=\"0.55\">\n";
  for (std::size_t i = 0; i < names.size(); ++i) out += strip(r, names[i], kTop + kStrip * (static_cast<double>(i) + 0.5));
  return out + "</g>\n</svg>\n";
}

}  // namespace lockstep
