// SPDX-License-Identifier: Apache-2.0
// The few constants of the collective library that a calibration may move: those of one generation of GPU and those of one transport, each with
// a physical meaning and a belief how far off it may be. What the tables of the tuner say of protocols is left alone: one factor scales
// the hops of all. A constant is moved by an offset x, 0 being the value it has:
//
//   value x exp(x), or where a latency is zero x times 10 us, which for the filling of pipelines (a time that grows with its root) is
//   x squared times 10 us
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "sim/experiment/calibration/least_squares.h"
#include "topology/cluster_spec.h"

namespace lockstep {

struct TunableConstant {
  std::string path;  // in a tuning file: "generations.ampere.launch"
  std::string doc;
  bool is_duration = false;
  bool acts_by_root = false;                       // times depend on the root of it
  double prior_deviation = 1;                      // of x: how far off a value that is not zero may well be
  std::function<double(const TuningSpec&)> value;  // seconds, or a share
  std::function<void(double, TuningSpec&)> set;    // the same

  [[nodiscard]] FitParameter parameter(const TuningSpec& before) const;
  // The constant of `out` becomes that of `before` moved by x.
  void move(double x, const TuningSpec& before, TuningSpec& out) const;
  // To a nanosecond, or four digits: no measurement tells more.
  void round(TuningSpec& tuning) const;
  // "12.3 us", "0.97".
  [[nodiscard]] std::string text(const TuningSpec& tuning) const;
  // What a standard deviation of the offset x makes of the value: "4.0 %", "0.52 us".
  [[nodiscard]] std::string deviation_text(double x, double deviation, const TuningSpec& before) const;
};

// Those that collectives on this cluster, on one node or more, can depend on.
[[nodiscard]] std::vector<TunableConstant> tunable_constants(const ClusterSpec& cluster, bool spans_nodes);

}  // namespace lockstep
