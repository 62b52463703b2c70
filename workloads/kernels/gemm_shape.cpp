// SPDX-License-Identifier: Apache-2.0
#include "workloads/kernels/gemm_shape.h"

#include <algorithm>
#include <cmath>

namespace lockstep {
namespace {

double tile_efficiency(const GemmCosts& c, const ProductShape& s, double tile_m, double tile_n) {
  const double tiles = std::ceil(s.m / tile_m) * std::ceil(s.n / tile_n) * s.batch;
  double efficiency = s.m * s.n * s.batch / (tiles * tile_m * tile_n);
  if (c.multiprocessors > 0) {
    const double waves = tiles / c.multiprocessors;
    efficiency /= 1 + c.waves * (std::ceil(waves) / waves - 1);
  }
  return efficiency;
}

bool is_aligned(double elements, double bytes) {
  constexpr double kVector = 16;  // bytes
  const double vectors = elements * bytes / kVector;
  return vectors == std::floor(vectors);
}

}  // namespace

double shape_efficiency(const GemmCosts& c, const ProductShape& s) {
  double efficiency = s.k / (s.k + c.ramp_k);
  if (s.m <= 0) return efficiency;
  if (!is_aligned(s.k, s.bytes) || !is_aligned(s.n, s.bytes)) efficiency *= c.misaligned;
  if (c.tile_m <= 0 || c.tile_n <= 0) return efficiency;
  return efficiency * std::max(tile_efficiency(c, s, c.tile_m, c.tile_n), tile_efficiency(c, s, c.tile_n, c.tile_m));
}

}  // namespace lockstep
