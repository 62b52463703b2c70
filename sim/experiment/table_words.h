// SPDX-License-Identifier: Apache-2.0
// Words and numbers in the free text of published tables.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace lockstep {

// Whether `word` stands in `text`, letters of either case. A space of the word is any run of spaces, hyphens, underscores and dots, or nothing ("2080 ti" is in
// "RTX2080Ti"). The word ends where letters meet digits or other signs: "a100" is in "8xA100-80GB" and in "A100SXM", not in "RTX A1000".
[[nodiscard]] bool has_word(std::string_view text, std::string_view word);

// The NICs of a node as text has them; what is absent is not written.
struct NicWords {
  std::optional<std::int64_t> count;         // "8x400G", "8x CX-7 ..."
  std::optional<std::int64_t> gbps;          // of one NIC
  std::optional<std::int64_t> gbps_of_node;  // "3200 Gb/s per node"
  bool has_bad_rate = false;                 // a rate is written that none can have: "8x0Gb/s"
};
// The first N x RATE; else the first "N x" and the first rate. Rates have a unit (G, Gb, Gbps, GbE, Gbit, Gb/s; GB/s counts bytes), and one beyond what
// a NIC has (800 Gb/s) or "per node" is that of all together.
[[nodiscard]] NicWords read_nics(std::string_view text);

}  // namespace lockstep
