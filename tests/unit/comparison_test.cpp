// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "sim/report/comparison/comparison_report.h"

namespace lockstep {
namespace {

FlatResult parsed(const std::string& text, const std::string& source, const std::vector<std::string>& keys = {}) {
  Diagnostics d;
  std::optional<FlatResult> r = parse_result(text, source, keys, d);
  for (const Diagnostic& x : d.items()) ADD_FAILURE() << to_text(x);
  return r ? *std::move(r) : FlatResult{};
}

std::string refusal(const std::string& text, const std::string& source, const std::vector<std::string>& keys = {}) {
  Diagnostics d;
  EXPECT_FALSE(parse_result(text, source, keys, d));
  return d.items().empty() ? "" : to_text(d.items().front());
}

Comparison compared(const FlatResult& a, const FlatResult& b, const ComparisonOptions& options = {}) {
  Diagnostics d;
  Comparison c = compare_results(a, b, options, d);
  for (const Diagnostic& x : d.items()) ADD_FAILURE() << to_text(x);
  return c;
}

const Difference& at(const Comparison& c, std::string_view metric, std::string_view row = "") {
  for (const Difference& x : c.cells) {
    if (x.metric == metric && x.row == row) return x;
  }
  ADD_FAILURE() << "no " << metric << " at '" << row << "'";
  return c.cells.front();
}

std::string run_json(const std::string& step, const std::string& more = "") {
  return R"({"cluster": "c", "network": "flow", "step_time_s": )" + step + more + "}";
}

// 2 s -> 2.5 s is +0.5 s, a quarter of A; a longer step is worse, more tokens are better.
TEST(Comparison, differences_are_of_a_and_know_which_way_is_better) {
  const FlatResult a = parsed(run_json("2", R"(, "tokens_per_s": 100, "x": {"y": -4})"), "a");
  const FlatResult b = parsed(run_json("2.5", R"(, "tokens_per_s": 150, "x": {"y": -5})"), "b");
  const Comparison c = compared(a, b);
  EXPECT_EQ(at(c, "step_time_s").change, 0.5);
  EXPECT_EQ(at(c, "step_time_s").relative, 0.25);
  EXPECT_EQ(at(c, "step_time_s").verdict, Verdict::kWorse);
  EXPECT_EQ(at(c, "tokens_per_s").relative, 0.5);
  EXPECT_EQ(at(c, "tokens_per_s").verdict, Verdict::kBetter);
  EXPECT_EQ(at(c, "x.y").relative, -0.25);  // -1 of |-4|
  EXPECT_EQ(at(c, "x.y").verdict, Verdict::kDifferent);
  EXPECT_EQ(at(c, "network").verdict, Verdict::kSame);
  EXPECT_FALSE(c.is_same());
  EXPECT_EQ(c.failures(), 0u);  // nothing is judged without a bound
}

// 2^53 and 2^53 + 1 are the same double; 2^63 - 1 minus -2^63 fits in no 64 bits.
TEST(Comparison, integers_are_compared_exactly) {
  const FlatResult a = parsed(run_json("1", R"(, "n": 9007199254740992, "m": -9223372036854775808)"), "a");
  const FlatResult b = parsed(run_json("1.0", R"(, "n": 9007199254740993, "m": 9223372036854775807)"), "b");
  const Comparison c = compared(a, b);
  EXPECT_EQ(at(c, "n").change_text, "1");
  EXPECT_EQ(at(c, "n").verdict, Verdict::kDifferent);
  EXPECT_EQ(at(c, "m").change_text, "18446744073709551615");
  EXPECT_EQ(at(c, "step_time_s").verdict, Verdict::kSame);  // 1 and 1.0 are one number
}

TEST(Comparison, a_zero_to_begin_with_has_no_share_and_is_above_any_bound) {
  const FlatResult a = parsed(run_json("1", R"(, "breakdown_s": {"tp": 0.0, "pp": 0})"), "a");
  const FlatResult b = parsed(run_json("1", R"(, "breakdown_s": {"tp": 1e-9, "pp": 0.0})"), "b");
  const Comparison c = compared(a, b, {.bounds = {{"", 1000}}});
  EXPECT_FALSE(at(c, "breakdown_s.tp").relative);
  EXPECT_TRUE(at(c, "breakdown_s.tp").is_failure);
  EXPECT_FALSE(at(c, "breakdown_s.pp").is_failure);  // 0 and 0.0
  EXPECT_EQ(c.failures(), 1u);
  EXPECT_NE(to_table({&c, 1}, false).find("from zero"), std::string::npos);
}

// The difference of the two largest doubles is none.
TEST(Comparison, differences_beyond_the_doubles_do_not_become_infinite_numbers) {
  const FlatResult a = parsed(run_json("1", R"(, "x": -1.5e308)"), "a");
  const FlatResult b = parsed(run_json("1", R"(, "x": 1.5e308)"), "b");
  const Comparison c = compared(a, b, {.bounds = {{"", 0.05}}});
  EXPECT_FALSE(at(c, "x").change);
  EXPECT_EQ(c.failures(), 1u);
  EXPECT_TRUE(nlohmann::json::accept(to_json({&c, 1})));
}

// A is 100; 105 is 5 % above, which is not more than 5 %.
TEST(Comparison, bounds_are_the_most_that_is_allowed_and_the_closest_one_counts) {
  const FlatResult a = parsed(run_json("100", R"(, "mfu": 0.5, "locality": {"edges": 10})"), "a");
  const FlatResult b = parsed(run_json("105", R"(, "mfu": 0.4, "locality": {"edges": 20})"), "b");
  EXPECT_EQ(compared(a, b, {.bounds = {{"", 0.05}}}).failures(), 2u);  // mfu and edges
  EXPECT_EQ(compared(a, b, {.bounds = {{"", 0.049}}}).failures(), 3u);
  EXPECT_EQ(compared(a, b, {.bounds = {{"", 0.05}, {"mfu", 0.3}}}).failures(), 1u);
  EXPECT_EQ(compared(a, b, {.bounds = {{"mfu", 0.3}}}).failures(), 0u);
  EXPECT_EQ(compared(a, b, {.bounds = {{"edges", 0.5}}}).failures(), 1u);  // the end of a dotted key
  EXPECT_EQ(compared(b, a, {.bounds = {{"", 0}}, .only_worse = true}).failures(), 0u);
  EXPECT_EQ(compared(a, b, {.bounds = {{"", 0}}, .only_worse = true}).failures(), 2u);  // edges are neither
  EXPECT_EQ(compared(a, b, {.metrics = {"step*"}, .bounds = {{"", 0}}}).failures(), 1u);
}

TEST(Comparison, the_question_is_not_judged_and_words_only_where_named) {
  const FlatResult a = parsed(run_json("1", R"(, "seed": 1, "bottleneck": "x", "fits": true)"), "a");
  const FlatResult b = parsed(run_json("1", R"(, "seed": 2, "bottleneck": "y", "fits": false)"), "b");
  EXPECT_EQ(compared(a, b, {.bounds = {{"", 0}}}).failures(), 1u);  // fits
  EXPECT_EQ(compared(a, b, {.bounds = {{"", 0}, {"bottleneck", 0}}}).failures(), 2u);
  EXPECT_EQ(compared(a, b, {.metrics = {"bottleneck"}, .bounds = {{"", 0}}}).failures(), 1u);
}

TEST(Comparison, what_the_simulator_took_is_compared_on_request) {
  const std::string more = R"(, "events": 5, "measured": {"wall_s": 1})";
  const FlatResult a = parsed(run_json("1", more), "a");
  const FlatResult b = parsed(run_json("1", R"(, "events": 6, "measured": {"wall_s": 2})"), "b");
  EXPECT_TRUE(compared(a, b).is_same());
  EXPECT_FALSE(compared(a, b, {.with_simulator = true}).is_same());
  EXPECT_FALSE(compared(a, b, {.metrics = {"wall_s"}}).is_same());
}

// Rows are met by their size, whatever the order; 4 and 32 have no counterpart.
TEST(Comparison, rows_meet_by_what_names_them) {
  const FlatResult a = parsed(R"({"collective": "all_reduce", "rows": [
      {"size_bytes": 4, "time_s": 1}, {"size_bytes": 8, "time_s": 2}, {"size_bytes": 16, "time_s": 3}]})",
                              "a");
  const FlatResult b = parsed("size_bytes,time_s\n16,6\n8,2\n32,1\n", "b.csv");
  const Comparison c = compared(a, b, {.bounds = {{"", 5}}});
  EXPECT_EQ(at(c, "time_s", "16").relative, 1.0);
  EXPECT_EQ(at(c, "time_s", "8").verdict, Verdict::kSame);
  EXPECT_EQ(c.only_a, std::vector<std::string_view>{"4"});
  EXPECT_EQ(c.only_b, std::vector<std::string_view>{"32"});
  EXPECT_EQ(c.failures(), 2u);
  EXPECT_EQ(failure_sentence(c, "B"), "without counterpart in A or B: 2 rows");
}

TEST(Comparison, points_of_a_sweep_meet_by_their_swept_keys_not_by_their_numbers) {
  const FlatResult a = parsed("point,job.tp,seed,status,error,step_time_s\n0,1,0,ok,,2\n1,2,0,ok,,3\n", "a.csv");
  const FlatResult b = parsed("point,job.tp,seed,status,error,step_time_s\n0,2,0,ok,,3\n1,4,0,error,no room,\n", "b.csv");
  const Comparison c = compared(a, b);
  EXPECT_EQ(at(c, "step_time_s", "job.tp=2, seed=0").verdict, Verdict::kSame);
  EXPECT_EQ(c.only_a, std::vector<std::string_view>{"job.tp=1, seed=0"});
  EXPECT_EQ(c.only_b, std::vector<std::string_view>{"job.tp=4, seed=0"});
}

TEST(Comparison, flows_between_the_same_endpoints_meet_in_order) {
  const FlatResult a = parsed("src,dst,bytes,start_s,end_s,fct_s\n0,1,5,0,1,1\n0,1,5,0,2,2\n", "a.csv");
  const FlatResult b = parsed("src,dst,bytes,start_s,end_s,fct_s\n0,1,5,0,1,1\n0,1,5,0,4,4\n", "b.csv");
  const Comparison c = compared(a, b);
  EXPECT_EQ(at(c, "fct_s", "0, 1").verdict, Verdict::kSame);
  EXPECT_EQ(at(c, "fct_s", "0, 1 #2").relative, 1.0);
}

TEST(Comparison, several_jobs_are_known_by_name_in_json_and_csv) {
  const FlatResult a =
      parsed(R"({"jobs": [{"name": "big", "step_time_s": 1}, {"name": "late", "step_time_s": 2}], "seed": 0})", "a");
  const FlatResult b = parsed("seed,jobs.0.name,jobs.0.step_time_s,jobs.1.name,jobs.1.step_time_s\n0,late,2,big,3\n", "b.csv");
  const Comparison c = compared(a, b);
  EXPECT_EQ(at(c, "jobs.step_time_s", "jobs big").relative, 2.0);
  EXPECT_EQ(at(c, "jobs.step_time_s", "jobs late").verdict, Verdict::kSame);
}

// Both lists hold the busiest links only, so that one is missing says nothing of it.
TEST(Comparison, links_that_are_not_among_the_busiest_do_not_fail) {
  const FlatResult a =
      parsed(run_json("1", R"(, "links": [{"name": "p", "utilization": 0.5}, {"name": "q", "utilization": 0.5}])"), "a");
  const FlatResult b = parsed(run_json("1", R"(, "links": [{"name": "p", "utilization": 0.5}])"), "b");
  const Comparison c = compared(a, b, {.bounds = {{"", 0}}});
  EXPECT_EQ(c.failures(), 0u);
  EXPECT_EQ(c.samples_apart, 1u);
  const FlatResult csv = parsed("step_time_s,cluster,network\n1,c,flow\n", "c.csv");  // has no lists at all
  EXPECT_TRUE(compared(a, csv).is_same());
}

TEST(Comparison, a_number_that_goes_away_counts) {
  const FlatResult a = parsed(run_json("1", R"(, "mfu": 0.5)"), "a");
  const FlatResult b = parsed(run_json("1"), "b");
  EXPECT_EQ(compared(a, b, {.bounds = {{"", 100}}}).failures(), 1u);
  EXPECT_EQ(compared(b, a, {.bounds = {{"", 100}}, .only_worse = true}).failures(), 1u);
  const FlatResult null = parsed(run_json("1", R"(, "mfu": null)"), "null");
  EXPECT_EQ(compared(a, null, {.bounds = {{"", 100}}}).failures(), 1u);
  EXPECT_TRUE(compared(b, null).is_same());
}

TEST(Comparison, what_cannot_be_compared_is_refused_where_it_stands) {
  Diagnostics d;
  const FlatResult run = parsed(run_json("1", R"(, "x": 1)"), "a.json");
  const FlatResult word = parsed(run_json("1", R"(, "x": "one")"), "b.json");
  (void)compare_results(run, word, {}, d);
  (void)compare_results(run, parsed("size_bytes,time_s\n1,1\n", "c.csv"), {}, d);
  (void)compare_results(run, run, {.metrics = {"step_tme_s"}}, d);
  ASSERT_EQ(d.items().size(), 3u);
  EXPECT_EQ(to_text(d.items()[0]),
            "b.json:1:60: error: x: 'one' is text, but a.json:1:60 has a number, '1' (are these results of the same kind?)");
  EXPECT_EQ(to_text(d.items()[1]),
            "c.csv: error: is a collective result, but a.json is a run result (compare results of the same verb)");
  EXPECT_EQ(to_text(d.items()[2]), "error: --metric: no metric is called 'step_tme_s' (did you mean 'step_time_s'?)");
}

TEST(Comparison, what_is_no_result_is_refused_with_its_place) {
  EXPECT_EQ(refusal("{\"step_time_s\": 1e999}", "a.json").substr(0, 42), "a.json:1:21: error: is not valid JSON: num");
  EXPECT_EQ(refusal("{\"step_time_s\": 1,\n", "a.json").substr(0, 42), "a.json:2:1: error: is not valid JSON: synt");
  EXPECT_EQ(refusal("step_time_s,mfu\n1,nan\n", "a.csv"), "a.csv:2:3: error: mfu: 'nan' is not a finite number");
  EXPECT_EQ(refusal("step_time_s,mfu\n1,-Infinity\n", "a.csv"), "a.csv:2:3: error: mfu: '-Infinity' is not a finite number");
  EXPECT_EQ(refusal("step_time_s,mfu\n1\n", "a.csv"),
            "a.csv:2:1: error: the row has 1 fields where the header has 2 (quote fields that contain commas)");
  EXPECT_EQ(refusal("a,b\n1,2\n", "a.csv").substr(0, 42), "a.csv:1:1: error: is no table of lockstep ");
  EXPECT_EQ(refusal("size,busbw\n1,2\n", "a.csv", {"sizes"}),
            "a.csv:1:1: error: there is no column 'sizes' (did you mean 'size'?)");
  EXPECT_EQ(refusal("{}", "a.json").substr(0, 45), "a.json:1:1: error: is no result of lockstep (");
  EXPECT_EQ(refusal("[1, 2]", "a.json").substr(0, 45), "a.json:1:1: error: is no result of lockstep (");
  EXPECT_EQ(refusal("{\"points_hash\": \"1\"}", "m.json"),
            "m.json:1:1: error: is the manifest of a sweep (compare the results.csv beside it)");
  EXPECT_EQ(refusal(" \n", "a.csv"), "a.csv: error: is empty");
  EXPECT_EQ(refusal(std::string("step_time_s,x\n1,a\0b\n", 20), "a.csv").substr(0, 28), "a.csv: error: is a binary fi");
  EXPECT_EQ(refusal("{\"a\": \"" + std::string(17u << 20, 'x') + "\"}", "a.json"),
            "a.json: error: is JSON of more than 16 MiB (compare the results as CSV)");
  // Only files are told by their ending; what was run may be called anything (the text is no table all the same).
  const std::string file = ::testing::TempDir() + "is_no_result.yaml";
  std::ofstream(file) << "kind: cluster\n";
  Diagnostics d;
  EXPECT_FALSE(read_result(file, {}, d));
  ASSERT_EQ(d.error_count(), 1u);
  EXPECT_EQ(d.items().front().message, "is a configuration, not a result");
  EXPECT_EQ(refusal("kind: cluster\n", "set=tuning=a.yaml").find("is a configuration"), std::string::npos);
}

TEST(Comparison, any_table_meets_by_the_columns_that_are_named) {
  const FlatResult a = parsed("gpu,size,busbw\nH100,8,1\nH200,8,2\n", "a.csv", {"gpu", "size"});
  const FlatResult b = parsed("size,gpu,busbw\n8,H200,3\n8,H100,1\n", "b.csv", {"gpu", "size"});
  const Comparison c = compared(a, b);
  EXPECT_EQ(at(c, "busbw", "H200, 8").relative, 0.5);
  EXPECT_EQ(at(c, "busbw", "H100, 8").verdict, Verdict::kSame);
}

// A hash of digits alone is a name, not a number: 16 digits would lose their end in a double.
TEST(Comparison, fingerprints_are_words) {
  const FlatResult a = parsed("step_time_s,fingerprint\n1,9007199254740993\n", "a.csv");
  const FlatResult b = parsed("step_time_s,fingerprint\n1,1e10000000000000\n", "b.csv");
  EXPECT_EQ(at(compared(a, b), "fingerprint").verdict, Verdict::kDifferent);
}

}  // namespace
}  // namespace lockstep
