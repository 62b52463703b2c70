// SPDX-License-Identifier: Apache-2.0
#include "sim/experiment/sweep/axis.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/decimal.h"

namespace lockstep {
namespace {

constexpr std::uint64_t kLargestNumber = std::uint64_t{1} << 62;
constexpr const char* kRangeForm = "{from: A, to: B, step: C} or {from: A, to: B, factor: 2}";

struct Bounds {
  Node from;
  Node to;
  Node step;
  Node factor;
};

struct Number {
  Decimal decimal;
  std::string unit;
};

std::optional<Number> read_number(const Node& node, ReadContext& context, const std::string& path) {
  const auto refuse = [&](std::string message, std::string hint) {
    context.diagnostics().error(node.position(), path, std::move(message), std::move(hint));
    return std::nullopt;
  };
  if (!node.is_scalar()) return refuse(fmt::format("a number is expected, not {}", to_text(node.kind())), {});
  const NumberAndRest split = split_number(node.text());
  if (const NumberFault fault = number_fault(node.text(), split); !fault.error.empty()) return refuse(fault.error, fault.hint);
  const std::optional<Decimal> decimal = decimal_of(split.number);
  if (!decimal) return refuse(fmt::format("'{}' has too many digits", node.text()), {});
  if (decimal->is_negative) return refuse(fmt::format("'{}' is negative", node.text()), "ranges begin at 0 or above");
  return Number{*decimal, std::string(split.rest)};
}

// In units of 10^-decimals; nothing when it is too large.
std::optional<std::uint64_t> scaled(const Decimal& d, int decimals) {
  UInt128 value = d.mantissa;
  for (int e = d.exponent; e > -decimals; --e) {
    value *= 10;
    if (value > kLargestNumber) return std::nullopt;
  }
  if (value > kLargestNumber) return std::nullopt;
  return static_cast<std::uint64_t>(value);
}

// Numbers from, from x factor, ... up to `to`.
std::uint64_t powers_up_to(std::uint64_t from, std::uint64_t to, std::uint64_t factor) {
  std::uint64_t count = 1;
  for (std::uint64_t value = from; value <= to / factor; value *= factor) ++count;
  return count;
}

std::optional<Bounds> read_bounds(const Node& node, ReadContext& context, const std::string& path) {
  Bounds bounds;
  for (std::size_t i = 0; i < node.size(); ++i) {
    const std::string& key = node.key(i);
    Node* bound = key == "from"     ? &bounds.from
                  : key == "to"     ? &bounds.to
                  : key == "step"   ? &bounds.step
                  : key == "factor" ? &bounds.factor
                                    : nullptr;
    if (bound == nullptr) {
      context.diagnostics().error(node.key_position(i), path, fmt::format("unknown key '{}'", key),
                                  "a range has from, to and step or factor");
      return std::nullopt;
    }
    *bound = node.at(i);
  }
  return bounds;
}

std::string flow_element(const Node& node) {
  if (node.is_scalar() && node.is_quoted()) return Codec<std::string>::print(node.text());
  return flow_text(node);
}

}  // namespace

std::string flow_text(const Node& node) {
  if (node.is_null()) return "null";
  if (node.is_scalar()) return node.text();
  std::string text;
  for (std::size_t i = 0; i < node.size(); ++i) {
    if (i > 0) text += ", ";
    if (node.is_map()) text += Codec<std::string>::print(node.key(i)) + ": ";
    text += flow_element(node.at(i));
  }
  return node.is_map() ? "{" + text + "}" : "[" + text + "]";
}

std::optional<Axis> Axis::read(const Node& node, const std::string& axis_path, const Position& where, ReadContext& context,
                               const std::string& path) {
  const auto refuse = [&](const Node& at, std::string message, std::string hint) {
    context.diagnostics().error(at.position(), path, std::move(message), std::move(hint));
    return std::nullopt;
  };
  if (node.is_sequence()) {
    if (node.size() == 0) return refuse(node, "the list of values is empty", "give at least one value");
    std::vector<Node> values;
    for (std::size_t i = 0; i < node.size(); ++i) values.push_back(node.at(i));
    return Axis(axis_path, std::move(values), where);
  }
  if (!node.is_map()) {
    return refuse(node, fmt::format("a list of values or a range is expected, not {}", to_text(node.kind())),
                  fmt::format("[A, B, ...], {}", kRangeForm));
  }
  const std::optional<Bounds> bounds = read_bounds(node, context, path);
  if (!bounds) return std::nullopt;
  if (!bounds->from || !bounds->to) return refuse(node, "a range has from and to", kRangeForm);
  if (bounds->step && bounds->factor) return refuse(bounds->factor, "is given together with step", "one of the two");

  const std::optional<Number> from = read_number(bounds->from, context, path + ".from");
  const std::optional<Number> to = read_number(bounds->to, context, path + ".to");
  std::optional<Number> step;
  std::optional<Number> factor;
  if (bounds->step) step = read_number(bounds->step, context, path + ".step");
  if (bounds->factor) factor = read_number(bounds->factor, context, path + ".factor");
  if (!from || !to || (bounds->step && !step) || (bounds->factor && !factor)) return std::nullopt;
  if (from->unit != to->unit || (step && step->unit != from->unit)) {
    return refuse(to->unit != from->unit ? bounds->to : bounds->step, "another unit than 'from'",
                  "write all with the same unit");
  }
  Axis axis(axis_path, {}, where);
  Range& range = axis.range_;
  range.unit = from->unit;
  range.decimals = std::max({0, -from->decimal.exponent, -to->decimal.exponent, step ? -step->decimal.exponent : 0});
  const auto first = scaled(from->decimal, range.decimals);
  const auto last = scaled(to->decimal, range.decimals);
  const auto by = step ? scaled(step->decimal, range.decimals) : std::optional<std::uint64_t>(1);
  if (!first || !last || !by) return refuse(node, "the numbers are too large or have too many digits", {});
  if (*by == 0) return refuse(bounds->step, "a step of 0", "a positive step");
  if (*last < *first) return refuse(bounds->to, "'to' is below 'from'", {});
  range.from = *first;
  range.step = *by;
  range.count = (*last - *first) / *by + 1;
  if (!factor) return axis;

  const std::optional<std::uint64_t> times = scaled(factor->decimal, 0);
  if (!times || *times < 2 || factor->decimal.exponent < 0 || !factor->unit.empty()) {
    return refuse(bounds->factor, fmt::format("'{}' is no factor", bounds->factor.text()), "a whole number of at least 2");
  }
  if (*first == 0) return refuse(bounds->from, "0 stays 0 whatever the factor", "begin above 0");
  range.factor = *times;
  range.count = powers_up_to(*first, *last, *times);
  return axis;
}

std::uint64_t Axis::Range::value(std::uint64_t i) const {
  if (factor == 1) return from + i * step;
  std::uint64_t value = from;
  for (; i > 0; --i) value *= factor;
  return value;
}

std::string Axis::label(std::uint64_t i) const {
  if (!is_range()) return flow_text(values_[i]);
  std::string text = fmt::format("{}", range_.value(i));
  if (const auto places = static_cast<std::size_t>(range_.decimals); places > 0) {
    if (text.size() <= places) text.insert(0, places + 1 - text.size(), '0');
    text.insert(text.size() - places, ".");
    text.erase(text.find_last_not_of('0') + 1);
    if (text.back() == '.') text.pop_back();
  }
  return range_.unit.empty() ? text : fmt::format("{} {}", text, range_.unit);
}

Position Axis::position(std::uint64_t i) const { return is_range() ? where_ : values_[i].position(); }

bool Axis::assign(std::uint64_t i, Document& document, Diagnostics& d) const {
  return is_range() ? document.assign(path_, label(i), origin_text(&where_), d) : document.assign(path_, values_[i], d);
}

}  // namespace lockstep
