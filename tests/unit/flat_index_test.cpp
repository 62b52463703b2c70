// SPDX-License-Identifier: Apache-2.0
#include "sim/engine/flat_index.h"

#include <gtest/gtest.h>

#include <map>

#include "base/random.h"

namespace lockstep {
namespace {

// 200,000 insertions and deletions on 2,000 keys that collide heavily (multiples of 2^40): always what a std::map says.
TEST(FlatIndex, EqualsAMapUnderInsertionAndDeletion) {
  FlatIndex index;
  std::map<std::uint64_t, std::uint32_t> map;
  for (std::uint32_t i = 0; i < 200'000; ++i) {
    const std::uint64_t r = random_u64(5, RandomStream::kTieShuffle, i);
    const std::uint64_t key = (r % 2000) << ((r >> 20) % 2 * 40);
    const auto known = map.find(key);
    ASSERT_EQ(index.find(key), known == map.end() ? FlatIndex::kAbsent : known->second);
    if (known != map.end()) {
      index.erase(key);
      map.erase(known);
    } else {
      index.insert(key, i);
      map[key] = i;
    }
    ASSERT_EQ(index.size(), map.size());
  }
  EXPECT_GT(map.size(), 100u);
}

TEST(FlatIndex, TakesEveryKey) {
  FlatIndex index;
  for (const std::uint64_t key : {std::uint64_t{0}, ~std::uint64_t{0}, std::uint64_t{1} << 63}) {
    EXPECT_EQ(index.find(key), FlatIndex::kAbsent);
    index.insert(key, 7);
    EXPECT_EQ(index.find(key), 7u);
  }
}

}  // namespace
}  // namespace lockstep
