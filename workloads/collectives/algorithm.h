// SPDX-License-Identifier: Apache-2.0
// The collective algorithms by name, and which kinds of collective each can do:
//
//                      all_reduce  all_gather  reduce_scatter  broadcast  reduce  all_to_all  send_recv
//   ring                   x           x             x             x         x
//   tree                   x                                       x         x
//   hierarchical           x           x             x                                                   several nodes, equally many members (>1) on each
//   halving_doubling       x           x             x                                                   all_gather, reduce_scatter: n a power of two
//   direct                                                                               x         x
#pragma once

#include <cstdint>
#include <string_view>

namespace lockstep {

enum class CollectiveKind : std::uint8_t;  // workloads/program.h

// kAuto is a wish, not an algorithm: the one with the least undisturbed time.
enum class Algorithm : std::uint8_t { kRing, kTree, kHierarchical, kHalvingDoubling, kDirect, kAuto };
inline constexpr Algorithm kAlgorithms[] = {Algorithm::kRing, Algorithm::kTree, Algorithm::kHierarchical,
                                            Algorithm::kHalvingDoubling, Algorithm::kDirect};
[[nodiscard]] std::string_view to_text(Algorithm a);  // "ring", "tree", ..., "auto"

// Whether the algorithm can do the kind at all; on which members is for its shape to say.
[[nodiscard]] bool applies(Algorithm a, CollectiveKind kind);
// What an algorithm needs, for hints: "tree does all_reduce, broadcast and reduce".
[[nodiscard]] std::string_view terms_of(Algorithm a);

}  // namespace lockstep
