// SPDX-License-Identifier: Apache-2.0
// Pinned 64-bit hashing for ECMP, fingerprints and manifests. The numbers are part of results: never change them.
// mix64 is the finaliser of SplitMix64 (Steele, Lea, Flood, OOPSLA 2014).
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string_view>

namespace lockstep {

[[nodiscard]] constexpr std::uint64_t mix64(std::uint64_t z) {
  z += 0x9E3779B97F4A7C15ull;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
  return z ^ (z >> 31);
}

// Order-dependent combination of a few words.
[[nodiscard]] constexpr std::uint64_t hash_words(std::initializer_list<std::uint64_t> words) {
  std::uint64_t h = 0x6c6f636b73746570ull;
  for (const std::uint64_t w : words) h = mix64(h ^ w);
  return h;
}

[[nodiscard]] constexpr std::uint64_t hash_text(std::string_view text) {
  std::uint64_t h = 0xcbf29ce484222325ull;
  for (const char c : text) h = mix64(h ^ static_cast<unsigned char>(c));
  return h;
}

}  // namespace lockstep
