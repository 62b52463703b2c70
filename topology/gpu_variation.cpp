// SPDX-License-Identifier: Apache-2.0
#include "topology/gpu_variation.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "base/field_table.h"
#include "base/random.h"

namespace lockstep {
namespace {

constexpr double kPerMille = 1'000;
constexpr double kFarthest = 4;  // standard deviations

// Natural logarithm from + - x / alone: x = m 2^e with m in [0.7, 1.4], ln m = 2 atanh((m - 1) / (m + 1)).
double natural_log(double x) {
  constexpr double kLn2 = 0.693147180559945309;
  int exponent = 0;
  for (; x < 0.7; x *= 2) --exponent;
  for (; x > 1.4; x /= 2) ++exponent;
  const double z = (x - 1) / (x + 1);
  double power = z;
  double sum = 0;
  for (int k = 1; k < 40; k += 2, power *= z * z) sum += power / k;
  return 2 * sum + exponent * kLn2;
}

template <std::size_t N>
double polynomial(const double (&coefficients)[N], double x) {
  double sum = 0;
  for (const double c : coefficients) sum = sum * x + c;
  return sum;
}

double lower_tail(double p) {
  constexpr double kC[] = {-7.784894002430293e-03, -3.223964580411365e-01, -2.400758277161838e+00,
                           -2.549732539343734e+00, 4.374664141464968e+00,  2.938163982698783e+00};
  constexpr double kD[] = {7.784695709041462e-03, 3.224671290700398e-01, 2.445134137142996e+00, 3.754408661907416e+00, 1};
  const double q = std::sqrt(-2 * natural_log(p));
  return polynomial(kC, q) / polynomial(kD, q);
}

double draw(std::uint64_t seed, std::uint64_t gpu) {
  constexpr std::uint64_t kSteps = std::uint64_t{1} << 52;
  const std::uint64_t u = random_below(kSteps, seed, RandomStream::kVariation, gpu);
  const double z = normal_quantile((static_cast<double>(u) + 0.5) / static_cast<double>(kSteps));
  return std::clamp(z, -kFarthest, kFarthest);
}

}  // namespace

double normal_quantile(double p) {
  LOCKSTEP_CHECK(p > 0 && p < 1, "a quantile of {}", p);
  constexpr double kTail = 0.02425;
  constexpr double kA[] = {-3.969683028665376e+01, 2.209460984245205e+02,  -2.759285104469687e+02,
                           1.383577518672690e+02,  -3.066479806614716e+01, 2.506628277459239e+00};
  constexpr double kB[] = {-5.447609879822406e+01, 1.615858368580409e+02,  -1.556989798598866e+02,
                           6.680131188771972e+01,  -1.328068155288572e+01, 1};
  if (p < kTail) return lower_tail(p);
  if (p > 1 - kTail) return -lower_tail(1 - p);
  const double q = p - 0.5;
  return polynomial(kA, q * q) * q / polynomial(kB, q * q);
}

double expected_maximum(std::int64_t n) {
  LOCKSTEP_CHECK(n >= 1, "the largest of {} draws", n);
  return normal_quantile((static_cast<double>(n) - 0.375) / (static_cast<double>(n) + 0.25));
}

const FieldTable<VariationSpec>& variation_fields() {
  static const FieldTable<VariationSpec> table = [] {
    FieldTable<VariationSpec> t;
    t.field("spread", &VariationSpec::spread)
        .range({0}, {0.2})
        .doc("standard deviation of the time of kernels from GPU to GPU, of their mean");
    t.choice("mode", &VariationSpec::mode,
             {{"expected", VariationMode::kExpected, "every GPU takes the expected time of the slowest of all"},
              {"sampled", VariationMode::kSampled, "every GPU is drawn by the seed"}})
        .doc("how the slowest is found");
    return t;
  }();
  return table;
}

std::vector<std::int64_t> with_variation(const VariationSpec& spec, std::vector<std::int64_t> slowdowns, std::int64_t gpus,
                                         std::uint64_t seed) {
  if (spec.spread.value == 0) return slowdowns;
  slowdowns.resize(static_cast<std::size_t>(gpus), 0);
  const double expected = expected_maximum(gpus);
  for (std::size_t g = 0; g < slowdowns.size(); ++g) {
    const double z = spec.mode == VariationMode::kExpected ? expected : draw(seed, g);
    const double own = 1 + static_cast<double>(slowdowns[g]) / kPerMille;
    slowdowns[g] = std::llround(kPerMille * (own * (1 + spec.spread.value * z) - 1));
  }
  return slowdowns;
}

}  // namespace lockstep
