// SPDX-License-Identifier: Apache-2.0
// Results that are nearly right: whatever is changed, compare either refuses the file or lays it beside the good one, and everything it
// prints is well-formed.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/random.h"
#include "sim/report/comparison/comparison_report.h"

namespace lockstep {
namespace {

const std::string kJson =
    R"({"schema_version": 1, "cluster": "c", "step_time_s": 0.5, "mfu": 4e-1, "fits": true, "set": ["a=1", "b"],
  "locality": {"dp": {"edges": 16}}, "bottleneck": "é \" | \ud83d\ude00", "measured": {"wall_s": 1.5},
  "links": [{"name": "p", "utilization": 0.25, "bytes": 9223372036854775807}, {"name": "q", "utilization": -1e308}]})";
const std::string kCsv =
    "point,job.tp,status,error,step_time_s,mfu,fits,fingerprint\n0,1,ok,,2.5,0.5,true,0123\n1,2,error,\"a, "
    "\"\"b\"\"\",,,,\n2,4,ok,,3,1e-3,"
    "false,12e4\n";

// One to four changes: a byte replaced, removed or doubled, a stretch cut out or repeated.
std::string mutated(const std::string& good, std::uint64_t seed) {
  std::string text = good;
  auto draw = [seed, next = std::uint32_t{0}](std::size_t n) mutable {
    return static_cast<std::size_t>(random_below(n, seed, RandomStream::kTieShuffle, 0, next++));
  };
  const std::string alphabet = "0123456789,:;\"\\\n\r-+.eE{}[]ntu \tx\xEF\xBB\xBF\x80" + std::string(1, '\0');
  for (std::size_t changes = 1 + draw(4); changes > 0 && !text.empty(); --changes) {
    const std::size_t at = draw(text.size());
    switch (draw(5)) {
      case 0:
        text[at] = alphabet[draw(alphabet.size())];
        break;
      case 1:
        text.erase(at, 1);
        break;
      case 2:
        text.insert(at, 1, alphabet[draw(alphabet.size())]);
        break;
      case 3:
        text.insert(at, text.substr(at, 1 + draw(30)));
        break;
      default:
        text.erase(at, 1 + draw(20));
        break;
    }
  }
  return text;
}

void compare_with_mutations(const std::string& good, std::uint64_t seeds, int least_accepted) {
  Diagnostics none;
  const std::optional<FlatResult> a = parse_result(good, "a", {}, none);
  ASSERT_TRUE(a && none.items().empty());
  int accepted = 0;
  for (std::uint64_t seed = 0; seed < seeds; ++seed) {
    Diagnostics d;
    const std::optional<FlatResult> b = parse_result(mutated(good, seed), "b", {}, d);
    ASSERT_NE(b.has_value(), d.has_errors()) << seed;
    if (!b) continue;
    const Comparison c = compare_results(*a, *b, {.bounds = {{"", 0.05}}, .with_simulator = true}, d);
    if (d.has_errors()) continue;
    ++accepted;
    ASSERT_TRUE(nlohmann::json::accept(to_json({&c, 1}))) << seed;
    ASSERT_FALSE(to_table({&c, 1}, false).empty()) << seed;
    ASSERT_FALSE(to_markdown({&c, 1}, true).empty()) << seed;
    ASSERT_FALSE(to_csv({&c, 1}).empty()) << seed;
    ASSERT_EQ(c.failures() == 0, failure_sentence(c, "B").empty()) << seed;
  }
  EXPECT_GT(accepted, least_accepted);  // many bytes may change without harm
}

TEST(ComparisonFuzz, JsonIsRefusedOrCompared) { compare_with_mutations(kJson, 20'000, 500); }
TEST(ComparisonFuzz, CsvIsRefusedOrCompared) { compare_with_mutations(kCsv, 20'000, 500); }

}  // namespace
}  // namespace lockstep
