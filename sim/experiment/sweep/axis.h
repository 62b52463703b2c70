// SPDX-License-Identifier: Apache-2.0
// One swept key: a path of cluster or job, `seed` or `network`, and the values it takes, in order.
//
//   job.tp: [1, 2, 4]                                          values of any shape that the key may have
//   cluster.nodes: {from: 2, to: 16, step: 2}                  a range: 2, 4, ... 16
//   cluster.host_link.latency: {from: 0.5 us, to: 2.0 us}      without step: one in the last digit written, here 0.1 us
//   cluster.nodes: {from: 1, to: 16, factor: 2}                1, 2, 4, 8, 16
//
// A range is from + k step or from x factor^k in exact decimals, at most `to`; from, to and step are written with the same unit, a
// factor is a whole number. Not modelled: negative numbers.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/field_table.h"

namespace lockstep {

class Axis {
 public:
  // Values as nodes of a document that outlives the axis. `where` is the position of the key, or of the first value.
  Axis(std::string path, std::vector<Node> values, Position where)
      : path_(std::move(path)), values_(std::move(values)), where_(std::move(where)) {}
  // Reads what stands beside a path. Empty, with errors in the context, when it is neither a list nor a range.
  [[nodiscard]] static std::optional<Axis> read(const Node& node, const std::string& axis_path, const Position& where,
                                                ReadContext& context, const std::string& path);

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] const Position& where() const { return where_; }
  [[nodiscard]] bool is_range() const { return values_.empty(); }
  [[nodiscard]] std::uint64_t count() const { return is_range() ? range_.count : values_.size(); }
  // PRE for all: i < count().
  [[nodiscard]] std::string label(std::uint64_t i) const;                  // as tables show it: "100 Gbps", "[0-7, 16-23]"
  [[nodiscard]] Position position(std::uint64_t i) const;                  // where it was written
  bool assign(std::uint64_t i, Document& document, Diagnostics& d) const;  // at path(); false when there is no such place

 private:
  struct Range {
    std::uint64_t from = 0;  // in units of 10^-decimals
    std::uint64_t step = 1;
    std::uint64_t factor = 1;  // above 1: instead of step
    std::uint64_t count = 0;
    int decimals = 0;
    std::string unit;
    [[nodiscard]] std::uint64_t value(std::uint64_t i) const;  // PRE: i < count
  };

  std::string path_;
  std::vector<Node> values_;
  Range range_;
  Position where_;
};

// A value as YAML in one line; a scalar without its quotes.
[[nodiscard]] std::string flow_text(const Node& node);

}  // namespace lockstep
