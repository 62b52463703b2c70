// SPDX-License-Identifier: Apache-2.0
#include "sim/experiment/traffic_table.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "base/csv.h"
#include "base/decimal.h"
#include "base/quantity.h"
#include "sim/experiment/traffic_order.h"

namespace lockstep {
namespace {

constexpr std::array<std::string_view, 6> kColumns = {"src", "dst", "bytes", "start_s", "path", "after"};
constexpr std::size_t kRequiredColumns = 3;

class TrafficReader {
 public:
  TrafficReader(CsvReader& csv, std::size_t endpoints, Diagnostics& d) : csv_(csv), endpoints_(endpoints), d_(d) {}

  // Finds the columns; false when one is missing or unknown.
  bool read_header();
  TrafficTable read_rows();

 private:
  enum Column : std::size_t { kSrc, kDst, kBytes, kStart, kPath, kAfter };

  [[nodiscard]] bool has(Column c) const { return at_[c] != CsvReader::npos; }
  [[nodiscard]] std::string_view cell(Column c) const { return has(c) ? csv_[at_[c]] : std::string_view(); }
  void fault(Column c, std::string message, std::string hint = {}) {
    d_.error(csv_.position(at_[c]), std::string(kColumns[c]), std::move(message), std::move(hint));
  }
  std::int64_t whole_number(Column c, std::string_view text);
  EndpointId endpoint(Column c);
  std::int64_t size();
  Duration start();
  std::int64_t path();
  void predecessors();

  CsvReader& csv_;
  std::size_t endpoints_;
  Diagnostics& d_;
  std::array<std::size_t, kColumns.size()> at_{};
  std::vector<std::uint32_t> after_;  // of the row being read
  TrafficPositions positions_;
};

bool TrafficReader::read_header() {
  if (csv_.columns().empty()) return false;
  bool is_complete = true;
  for (std::size_t c = 0; c < kColumns.size(); ++c) {
    at_[c] = csv_.column(kColumns[c]);
    if (at_[c] != CsvReader::npos || c >= kRequiredColumns) continue;
    d_.error({csv_.name(), 1, 1}, {}, fmt::format("there is no column '{}'", kColumns[c]),
             "the first line must name the columns: src,dst,bytes[,start_s][,path][,after]");
    is_complete = false;
  }
  const std::vector<std::string> known(kColumns.begin(), kColumns.end());
  for (const std::string& name : csv_.columns()) {
    if (std::find(known.begin(), known.end(), name) != known.end()) continue;
    const std::string near = closest(name, known);
    d_.error({csv_.name(), 1, 1}, {}, fmt::format("there is no meaning for a column '{}'", name),
             near.empty() ? "known are src, dst, bytes, start_s, path and after" : fmt::format("did you mean '{}'?", near));
    is_complete = false;
  }
  return is_complete;
}

TrafficTable TrafficReader::read_rows() {
  TrafficTable table;
  while (csv_.next() && d_.error_count() < kMostTrafficErrors) {
    const EndpointId src = endpoint(kSrc);
    const EndpointId dst = endpoint(kDst);
    if (src == dst && !src.is_none()) {
      fault(kDst, fmt::format("a flow from endpoint {} to itself", src.value()), "a flow needs two different endpoints");
    }
    const std::int64_t bytes = size();
    const Duration not_before = start();
    const std::int64_t fixed_path = path();
    predecessors();
    if (!after_.empty()) {
      const Position p = csv_.position(at_[kAfter]);
      positions_.push_back({static_cast<std::uint32_t>(table.size()), p.line, p.column});
    }
    table.add(src, dst, bytes, not_before, fixed_path, after_);
  }
  if (d_.error_count() >= kMostTrafficErrors) {
    d_.error({csv_.name(), 0, 0}, {}, "too many errors, the rest was not read");
  } else {
    check_order(table, positions_, csv_.name(), d_);
  }
  return table;
}

// Plain decimal digits go the short way; everything else is worth a message that says what is wrong with it.
std::int64_t TrafficReader::whole_number(Column c, std::string_view text) {
  std::int64_t value = 0;
  const char* end = text.data() + text.size();
  const bool has_leading_zero = text.size() > 1 && text.front() == '0';
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error == std::errc() && stop == end && !text.empty() && !has_leading_zero) return value;
  if (error == std::errc::result_out_of_range) {
    fault(c, fmt::format("'{}' is beyond {}", text, std::numeric_limits<std::int64_t>::max()));
    return 0;
  }
  const Parsed<std::int64_t> parsed = parse_int(text);
  if (parsed) return *parsed.value;
  fault(c, text.empty() ? "the value is missing" : parsed.error, parsed.hint);
  return 0;
}

EndpointId TrafficReader::endpoint(Column c) {
  const std::size_t before = d_.error_count();
  const std::int64_t value = whole_number(c, cell(c));
  if (d_.error_count() > before) return EndpointId::none();
  if (value < 0 || static_cast<std::uint64_t>(value) >= endpoints_) {
    fault(c, fmt::format("there is no endpoint {}", value), fmt::format("the cluster has {}, numbered from 0", endpoints_));
    return EndpointId::none();
  }
  return EndpointId(static_cast<std::uint32_t>(value));
}

std::int64_t TrafficReader::size() {
  const std::int64_t value = whole_number(kBytes, cell(kBytes));
  if (value < 0) fault(kBytes, fmt::format("{} bytes: a size cannot be negative", value));
  return std::max<std::int64_t>(value, 0);
}

Duration TrafficReader::start() {
  const std::string_view text = cell(kStart);
  if (text.empty() || text == "0") return {};
  const NumberAndRest split = split_number(text);
  const NumberFault wrong = number_fault(text, split);
  if (!wrong.error.empty() || !split.rest.empty()) {
    fault(kStart, wrong.error.empty() ? fmt::format("'{}' is not a number of seconds", text) : wrong.error, wrong.hint);
    return {};
  }
  const std::optional<Decimal> seconds = decimal_of(split.number);
  if (seconds && seconds->is_negative && seconds->mantissa != 0) {
    fault(kStart, fmt::format("'{}': a flow cannot start before 0", text));
    return {};
  }
  const ScaledInteger ps = seconds ? scale(*seconds, kPicosPerSecond, 1) : ScaledInteger{0, Exactness::kTooManyDigits};
  const bool is_never = ps.exactness == Exactness::kExact && ps.value == Instant::never().picos();
  if (ps.exactness == Exactness::kExact && !is_never) return Duration::picos(ps.value);
  if (ps.exactness == Exactness::kTooLarge || is_never) {
    fault(kStart, fmt::format("'{}' is beyond the range of time (about 106 days)", text));
  } else {
    fault(kStart, fmt::format("'{}' is finer than a picosecond", text), "at most 12 decimals");
  }
  return {};
}

std::int64_t TrafficReader::path() {
  const std::string_view text = cell(kPath);
  if (text.empty() || text == "-1") return TrafficTable::kRouted;
  const std::int64_t value = whole_number(kPath, text);
  if (value < 0)
    fault(kPath, fmt::format("there is no path {}", value), "paths count from 0; empty or -1 leaves it to routing");
  return std::max<std::int64_t>(value, 0);
}

void TrafficReader::predecessors() {
  after_.clear();
  std::string_view rest = cell(kAfter);
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find(';'), rest.size());
    const std::size_t before = d_.error_count();
    const std::int64_t row = whole_number(kAfter, rest.substr(0, end));
    if (d_.error_count() == before) {
      if (row < 0 || row >= std::numeric_limits<std::uint32_t>::max()) {
        fault(kAfter, fmt::format("there is no row {}", row), "rows count from 0, without the header");
      } else {
        after_.push_back(static_cast<std::uint32_t>(row));
      }
    }
    rest = rest.substr(std::min(end + 1, rest.size()));
  }
}

}  // namespace

void TrafficTable::add(EndpointId from, EndpointId to, std::int64_t size, Duration start, std::int64_t fixed_path,
                       std::span<const std::uint32_t> predecessors) {
  src.push_back(from);
  dst.push_back(to);
  bytes.push_back(size);
  not_before.push_back(start);
  path.push_back(fixed_path);
  after_rows.insert(after_rows.end(), predecessors.begin(), predecessors.end());
  after_begin.push_back(after_rows.size());
}

TrafficTable read_traffic(std::istream& in, const std::string& name, std::size_t endpoints, Diagnostics& d) {
  CsvReader csv(in, name, d);
  TrafficReader reader(csv, endpoints, d);
  if (!reader.read_header()) return {};
  return reader.read_rows();
}

}  // namespace lockstep
