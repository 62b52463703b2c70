// SPDX-License-Identifier: Apache-2.0
#include "base/quantity.h"

#include <gtest/gtest.h>

#include "base/random.h"

namespace lockstep {
namespace {

// Binary prefixes are powers of 1024, decimal ones of 1000; b is an eighth of B.
TEST(Quantity, SizesAreExactBytes) {
  EXPECT_EQ(parse_bytes("80 GiB").value, Bytes(80ll * 1024 * 1024 * 1024));
  EXPECT_EQ(parse_bytes("25 MB").value, Bytes(25'000'000));
  EXPECT_EQ(parse_bytes("25MB").value, Bytes(25'000'000));
  EXPECT_EQ(parse_bytes("1048576 B").value, Bytes(1 << 20));
  EXPECT_EQ(parse_bytes("1.5 KiB").value, Bytes(1536));
  EXPECT_EQ(parse_bytes("8 Gbit").value, Bytes(1'000'000'000));
  EXPECT_EQ(parse_bytes("8 Gb").value, parse_bytes("1 GB").value);
  EXPECT_EQ(parse_bytes("1e3 B").value, Bytes(1000));
}

// 400 Gbps = 50 GB/s = 50e9 x 65536 units of 2^-16 byte/s.
TEST(Quantity, BitsAndBytesOfARateDifferByEight) {
  EXPECT_EQ(parse_rate("400 Gbps").value, Rate::units(50'000'000'000 * 65536));
  EXPECT_EQ(parse_rate("400 Gbit/s").value, parse_rate("50 GB/s").value);
  EXPECT_EQ(parse_rate("400 Gb/s").value, parse_rate("50 GB/s").value);
  EXPECT_EQ(parse_rate("3.35 TB/s").value, Rate::units(3'350'000'000'000 * 65536));
  EXPECT_EQ(parse_rate("1 GiB/s").value, Rate::units((1ll << 30) * 65536));
}

// 0.00001 B/s x 65536 = 0.65536 units -> 0; 0.00002 B/s -> 1.31072 -> 1.
TEST(Quantity, RatesRoundDownToTheUnit) {
  EXPECT_EQ(parse_rate("0.00001 B/s").value, Rate::units(0));
  EXPECT_EQ(parse_rate("0.00002 B/s").value, Rate::units(1));
}

TEST(Quantity, DurationsAreExactPicoseconds) {
  EXPECT_EQ(parse_duration("0.1 ns").value, Duration::picos(100));
  EXPECT_EQ(parse_duration("1.5 us").value, Duration::picos(1'500'000));
  EXPECT_EQ(parse_duration("2 h").value, Duration::picos(7'200'000'000'000'000));
  EXPECT_EQ(parse_duration("106 d").value, Duration::picos(106ll * 86'400'000'000'000'000));
}

TEST(Quantity, ALossOfPrecisionIsAnError) {
  EXPECT_EQ(parse_duration("0.0001 ns").error, "'0.0001 ns' is not a whole number of picoseconds");
  EXPECT_EQ(parse_bytes("0.3 B").error, "'0.3 B' is not a whole number of bytes");
  EXPECT_EQ(parse_bytes("4 b").error, "'4 b' is not a whole number of bytes");
  EXPECT_EQ(parse_bytes("1e-300 B").error, "'1e-300 B' is not a whole number of bytes");
}

// 2^63 - 1 = 9223372036854775807; 107 d is 9.24e18 ps.
TEST(Quantity, WhatDoesNotFitIn64BitsIsAnError) {
  EXPECT_EQ(parse_bytes("9223372036854775807 B").value, Bytes(9223372036854775807ll));
  EXPECT_EQ(parse_bytes("9223372036854775808 B").error, "'9223372036854775808 B' is too large");
  EXPECT_EQ(parse_duration("107 d").error, "'107 d' is too large");
  EXPECT_EQ(parse_rate("2 Pbps").error, "'2 Pbps' is too large");
  EXPECT_EQ(parse_bytes("1e400 GB").error, "'1e400 GB' is too large");
  EXPECT_EQ(parse_int("9223372036854775808").error, "'9223372036854775808' is too large");
  EXPECT_EQ(parse_int("-9223372036854775808").value, std::numeric_limits<std::int64_t>::min());
}

TEST(Quantity, AMissingUnitIsAnErrorThatShowsOne) {
  const Parsed<Rate> rate = parse_rate("400");
  EXPECT_EQ(rate.error, "'400' has no unit");
  EXPECT_NE(rate.hint.find("400 Gbps"), std::string::npos) << rate.hint;
  EXPECT_EQ(parse_flop_rate("989").error, "'989' has no unit");
  EXPECT_EQ(parse_usd_per_hour("2.95").error, "'2.95' has no unit");
}

TEST(Quantity, AUnitOfAnotherKindIsNamed) {
  EXPECT_EQ(parse_rate("50 GB").error, "'50 GB' is a size, but a rate is expected");
  EXPECT_EQ(parse_bytes("50 GB/s").error, "'50 GB/s' is a rate, but a size is expected");
  EXPECT_EQ(parse_duration("5 B").error, "'5 B' is a size, but a duration is expected");
}

TEST(Quantity, AMisspeltUnitGetsASuggestion) {
  const Parsed<Rate> rate = parse_rate("400 gbps");
  EXPECT_EQ(rate.error, "'400 gbps' has the unknown unit 'gbps'");
  EXPECT_EQ(rate.hint.rfind("did you mean 400 Gbps?", 0), 0u) << rate.hint;
}

TEST(Quantity, IntegersAreDecimalAndPlain) {
  EXPECT_EQ(parse_int("8").value, 8);
  EXPECT_EQ(parse_int("0").value, 0);
  EXPECT_EQ(parse_int("-3").value, -3);
  EXPECT_EQ(parse_int("010").error, "'010' has a leading zero");
  EXPECT_EQ(parse_int("010").hint, "numbers are decimal: write 10");
  EXPECT_EQ(parse_int("00").hint, "numbers are decimal: write 0");
  EXPECT_EQ(parse_int("0x10").error, "'0x10' is not a decimal number");
  EXPECT_EQ(parse_int("0o17").error, "'0o17' is not a decimal number");
  EXPECT_EQ(parse_int("1_000").error, "'1_000' has separators between digits");
  EXPECT_EQ(parse_int("1,000").error, "'1,000' has separators between digits");
  EXPECT_EQ(parse_int("1e3").error, "'1e3' is not an integer");
  EXPECT_EQ(parse_int("8.0").error, "'8.0' is not an integer");
  EXPECT_EQ(parse_int("8 GB").error, "'8 GB' is not an integer");
  EXPECT_EQ(parse_int("+8").error, "'+8' has a plus sign");
  EXPECT_EQ(parse_int("").error, "'' is not a number");
  EXPECT_EQ(parse_int("NO").error, "'NO' is not a number");
}

TEST(Quantity, NumbersAreFinite) {
  EXPECT_EQ(parse_double("0.1").value, 0.1);
  EXPECT_EQ(parse_double("1e-5").value, 1e-5);
  EXPECT_EQ(parse_double(".nan").error, "'.nan' is not a finite number");
  EXPECT_EQ(parse_double("-Inf").error, "'-Inf' is not a finite number");
  EXPECT_EQ(parse_double("1e400").error, "'1e400' is outside the range of numbers");
  EXPECT_EQ(parse_double("007.5").error, "'007.5' has a leading zero");
  EXPECT_EQ(parse_double(".5").hint, "write 0.5");
  EXPECT_EQ(parse_rate("nan GB/s").error, "'nan GB/s' is not a number");
}

TEST(Quantity, NothingIsNegative) {
  EXPECT_EQ(parse_bytes("-5 GB").error, "'-5 GB' is negative");
  EXPECT_EQ(parse_usd_per_hour("-1 USD/h").error, "'-1 USD/h' is negative");
}

TEST(Quantity, OnlyTrueAndFalseAreTruthValues) {
  EXPECT_EQ(parse_bool("true").value, true);
  EXPECT_EQ(parse_bool("false").value, false);
  for (const char* word : {"NO", "yes", "on", "True", "1", "~"}) EXPECT_FALSE(parse_bool(word)) << word;
}

TEST(Quantity, SharesArePercentOrPlain) {
  EXPECT_EQ(parse_fraction("5%").value, Fraction{0.05});
  EXPECT_EQ(parse_fraction("0.05").value, Fraction{0.05});
  EXPECT_EQ(parse_fraction("12.5 %").value, Fraction{0.125});
  EXPECT_EQ(parse_fraction("5 percent").error, "'5 percent' is not a number");
}

TEST(Quantity, FlopRatesAndPricesAreTheNearestDouble) {
  EXPECT_EQ(parse_flop_rate("989 TFLOP/s").value, FlopRate{989e12});
  EXPECT_EQ(parse_flop_rate("0.989 PFLOP/s").value, FlopRate{989e12});
  EXPECT_EQ(parse_usd_per_hour("2.95 USD/h").value, UsdPerHour{2.95});
}

TEST(Quantity, TextIsScaled) {
  EXPECT_EQ(to_text(Bytes(80ll << 30)), "80 GiB");
  EXPECT_EQ(to_text(Bytes(25'000'000)), "25 MB");
  EXPECT_EQ(to_text(Bytes(0)), "0 B");
  EXPECT_EQ(to_text(Bytes(1)), "1 B");
  EXPECT_EQ(to_text(Bytes(1'234'567)), "1234567 B");
  EXPECT_EQ(to_text(Rate::gbps(400)), "400 Gbps");
  EXPECT_EQ(to_text(Rate::gbps(400), RateStyle::kBytes), "50 GB/s");
  EXPECT_EQ(to_text(Rate::units(0)), "0 bps");
  EXPECT_EQ(to_text(Duration::nanos(600)), "600 ns");
  EXPECT_EQ(to_text(Duration::nanos(1500)), "1.5 us");
  EXPECT_EQ(to_text(*parse_duration("2 h").value), "2 h");
  EXPECT_EQ(to_text(FlopRate{989e12}), "989 TFLOP/s");
  EXPECT_EQ(to_text(UsdPerHour{2.95}), "2.95 USD/h");
  EXPECT_EQ(to_text(Fraction{0.05}), "5%");
}

// Values over all magnitudes: a draw shifted right by 0 to 62 bits.
TEST(Quantity, WhatIsPrintedParsesBackToTheSameValue) {
  for (std::uint32_t i = 0; i < 20'000; ++i) {
    const std::uint64_t draw = random_u64(1, RandomStream::kTieShuffle, i) >> 1;
    const auto v = static_cast<std::int64_t>(draw >> (i % 63));
    ASSERT_EQ(parse_bytes(to_text(Bytes(v))).value, Bytes(v)) << to_text(Bytes(v));
    ASSERT_EQ(parse_duration(to_text(Duration::picos(v))).value, Duration::picos(v));
    ASSERT_EQ(parse_rate(to_text(Rate::units(v))).value, Rate::units(v)) << to_text(Rate::units(v));
    ASSERT_EQ(parse_rate(to_text(Rate::units(v), RateStyle::kBytes)).value, Rate::units(v));
    const double x = static_cast<double>(v) * 0.37;
    ASSERT_EQ(parse_flop_rate(to_text(FlopRate{x})).value, FlopRate{x});
    ASSERT_EQ(parse_fraction(to_text(Fraction{x})).value, Fraction{x});
    ASSERT_EQ(parse_double(double_to_text(x)).value, x);
  }
}

}  // namespace
}  // namespace lockstep
