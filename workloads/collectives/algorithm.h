// SPDX-License-Identifier: Apache-2.0
// The collective algorithms by name, and which kinds of collective each can do:
//
//                      all_reduce  all_gather  reduce_scatter  broadcast  reduce  all_to_all  send_recv
//   ring                   x           x             x             x         x
//   tree                   x                                       x         x
//   nvls                   x           x             x                                                   NVLS; on several nodes all_reduce, with SHARP
//   nvls_tree              x                                                                             NVLS, several nodes
//   collnet_direct         x                                                                             SHARP, several nodes, at most 8 members on each
//   collnet_chain          x                                                                             SHARP, several nodes
//   pat                                x             x
//   hierarchical           x           x             x                                                   several nodes, equally many members (>1) on each
//   halving_doubling       x           x             x                                                   all_gather, reduce_scatter: n a power of two
//   direct                                                                               x         x
//
// On which members, eligibility.h says.
#pragma once

#include <cstdint>
#include <string_view>

namespace lockstep {

enum class CollectiveKind : std::uint8_t;  // workloads/program.h

// kAuto is a wish, not an algorithm: the one with the least undisturbed time, of those that NCCL has.
enum class Algorithm : std::uint8_t {
  kRing,
  kTree,
  kNvls,
  kNvlsTree,
  kCollnetDirect,
  kCollnetChain,
  kPat,
  kHierarchical,
  kHalvingDoubling,
  kDirect,
  kAuto
};
inline constexpr Algorithm kAlgorithms[] = {Algorithm::kRing,     Algorithm::kTree,          Algorithm::kNvls,
                                            Algorithm::kNvlsTree, Algorithm::kCollnetDirect, Algorithm::kCollnetChain,
                                            Algorithm::kPat,      Algorithm::kHierarchical,  Algorithm::kHalvingDoubling,
                                            Algorithm::kDirect};
[[nodiscard]] std::string_view to_text(Algorithm a);  // "ring", "tree", ..., "auto"

// Whether NCCL has it, so that kAuto may choose it.
[[nodiscard]] constexpr bool is_of_nccl(Algorithm a) {
  return a != Algorithm::kHierarchical && a != Algorithm::kHalvingDoubling;
}
// Whether it is told how many channels to use, and in which protocol.
[[nodiscard]] constexpr bool takes_channels(Algorithm a) { return a == Algorithm::kRing || a == Algorithm::kTree; }
[[nodiscard]] constexpr bool takes_protocol(Algorithm a) { return takes_channels(a) || !is_of_nccl(a); }

// Whether the algorithm can do the kind at all; on which members is for eligibility.h to say.
[[nodiscard]] bool applies(Algorithm a, CollectiveKind kind);
// What an algorithm needs, for hints: "tree does all_reduce, broadcast and reduce".
[[nodiscard]] std::string_view terms_of(Algorithm a);

}  // namespace lockstep
