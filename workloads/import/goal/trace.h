// SPDX-License-Identifier: Apache-2.0
// A trace of communicating processes: of each rank operations that send, receive or compute, and which of them wait for which. Read from
// GOAL (Group Operation Assembly Language), the text that LogGOPSim and ATLAHS replay:
//
//   num_ranks 2
//   rank 0 {                       // comments as in C
//     l1: calc 1000 cpu 1          // nanoseconds
//     l2: send 4096b to 1 tag 7
//     l2 requires l1               // begins when l1 has ended; irequires: when l1 has begun
//   }
//   rank 1 { l1: recv 4096b from 0 tag 7 }
//
// Source: Hoefler, Siebert, Lumsdaine, "Group Operation Assembly Language", ICPP 2009; Hoefler, Schneider, Lumsdaine, "LogGOPSim", HPDC 2010.
// Read as a stream: flat arrays of about 60 bytes an operation. Not read: wildcards for sources and tags, the binary form.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/diagnostics.h"

namespace lockstep {

enum class TraceKind : std::uint8_t { kSend, kReceive, kCompute };

struct Trace {
  // One that waits, and whether for the end or the beginning of the other.
  struct Successor {
    std::uint32_t op = 0;
    bool at_begin = false;
  };
  [[nodiscard]] std::size_t size() const { return kind.size(); }
  [[nodiscard]] std::span<const Successor> successors(std::uint32_t op) const {
    return {successor.data() + successor_begin[op], successor_begin[op + 1] - successor_begin[op]};
  }
  [[nodiscard]] std::string_view label(std::uint32_t op) const {
    return std::string_view(labels).substr(label_begin[op], label_begin[op + 1] - label_begin[op]);
  }
  // "rank 3: l2 (line 17)".
  [[nodiscard]] std::string name(std::uint32_t op) const;

  std::uint32_t ranks = 0;
  // By operation; those of a rank stand together.
  std::vector<TraceKind> kind;
  std::vector<std::uint32_t> rank;
  std::vector<std::uint32_t> peer;
  std::vector<std::int64_t> amount;  // bytes, or nanoseconds
  std::vector<std::uint32_t> tag;
  std::vector<std::uint32_t> cpu;      // given number; link() replaces it by one of all (rank, cpu) pairs
  std::vector<std::uint32_t> channel;  // of (source, destination, tag), numbered; set by link()
  std::vector<std::uint32_t> line;
  std::vector<std::size_t> label_begin = {0};
  std::string labels;
  std::vector<std::size_t> successor_begin;
  std::vector<Successor> successor;
  std::vector<std::uint32_t> waits;        // predecessors
  std::vector<std::size_t> channel_begin;  // of the messages of each channel, in one count of all
  std::uint32_t cpus = 0;
  std::int64_t messages = 0;
  std::int64_t bytes = 0;
};

// Everything wrong goes to `d` with its line: syntax, unknown ranks and labels, sends without receives or of other sizes, circles. After
// kMostTraceErrors errors reading stops.
inline constexpr std::size_t kMostTraceErrors = 100;
[[nodiscard]] Trace read_goal(std::istream& in, const std::string& file, Diagnostics& d);

namespace detail {

struct TraceEdge {
  std::uint32_t before = 0;
  std::uint32_t after = 0;
  bool at_begin = false;
};
// Numbers channels and processors, pairs sends with receives, sorts the edges and looks for circles.
void link_trace(Trace& trace, const std::vector<TraceEdge>& edges, const std::string& file, Diagnostics& d);

}  // namespace detail
}  // namespace lockstep
