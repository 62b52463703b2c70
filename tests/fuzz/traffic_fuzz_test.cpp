// SPDX-License-Identifier: Apache-2.0
// Flow lists that are nearly right: whatever is changed, the reader either takes the file or says what is wrong with it.
#include <gtest/gtest.h>

#include <sstream>

#include "base/random.h"
#include "sim/experiment/traffic_table.h"

namespace lockstep {
namespace {

constexpr const char* kGood =
    "src,dst,bytes,start_s,path,after\n"
    "0,1,1000,0,3,\n"
    "1,2,\"2000\",1.5e-6,-1,0\n"
    "2,3,3000,,,0;1\n"
    "3,0,9223372036854775807,106,15,2\n";

// One to four changes: a byte replaced, removed, doubled, or a stretch cut out.
std::string mutated(std::uint64_t seed) {
  std::string text = kGood;
  auto draw = [seed, next = std::uint32_t{0}](std::size_t n) mutable {
    return static_cast<std::size_t>(random_below(n, seed, RandomStream::kTieShuffle, 0, next++));
  };
  const std::string alphabet = "0123456789,;\"\n\r-+.eE \tx\xEF\xBB\xBF\x80" + std::string(1, '\0');
  for (std::size_t changes = 1 + draw(4); changes > 0 && !text.empty(); --changes) {
    const std::size_t at = draw(text.size());
    switch (draw(4)) {
      case 0:
        text[at] = alphabet[draw(alphabet.size())];
        break;
      case 1:
        text.erase(at, 1);
        break;
      case 2:
        text.insert(at, 1, alphabet[draw(alphabet.size())]);
        break;
      default:
        text.erase(at, 1 + draw(20));
        break;
    }
  }
  return text;
}

TEST(TrafficFuzz, TheReaderNeverBreaksAndNeverInventsRows) {
  int accepted = 0;
  for (std::uint64_t seed = 0; seed < 30'000; ++seed) {
    std::istringstream in(mutated(seed));
    Diagnostics d;
    const TrafficTable table = read_traffic(in, "f.csv", 4, d);
    if (d.has_errors()) continue;
    ++accepted;
    ASSERT_LE(table.size(), 5u) << seed;
    for (std::size_t row = 0; row < table.size(); ++row) {
      ASSERT_LT(table.src[row].value(), 4u) << seed;
      ASSERT_LT(table.dst[row].value(), 4u) << seed;
      ASSERT_NE(table.src[row], table.dst[row]) << seed;
      ASSERT_GE(table.bytes[row], 0) << seed;
      ASSERT_GE(table.not_before[row], Duration()) << seed;
      for (const std::uint32_t before : table.after(row)) ASSERT_LT(before, table.size()) << seed;
    }
  }
  EXPECT_GT(accepted, 1000);  // most single digits may change without harm
}

}  // namespace
}  // namespace lockstep
