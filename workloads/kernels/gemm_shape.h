// SPDX-License-Identifier: Apache-2.0
// What the shape of a matrix product takes off the efficiency of a large one. The m x n results are cut into tiles, one for a
// multiprocessor at a time; each tile runs over K.
//
//   efficiency = asymptote x K / (K + ramp_k)                 filling and draining the pipeline of a tile
//                          x m n / (tiles x tile_m tile_n)    tiles that stick out compute for nothing
//                          / (1 + waves x (ceil(w) / w - 1))  w = tiles / multiprocessors; a last, partly filled wave leaves some idle
//                          x misaligned                       where a row does not begin at a multiple of 16 bytes: no vector loads
//
// Sources: NVIDIA, "Matrix Multiplication Background User's Guide" (tile and wave quantisation, alignment); constants fit to 697
// measured shapes (configs/validation/gemm-efficiency.csv, SimuMax). cuBLAS picks among several tiles and may split K, hence a weight on
// waves. Of a product in tile_m x tile_n or its transpose the better counts. Not modelled: which layout operands have, caches.
#pragma once

namespace lockstep {

struct GemmCosts {
  double ramp_k = 0;
  double tile_m = 0;  // 0: tiles and waves are not modelled
  double tile_n = 0;
  double waves = 0;
  double epilogue = 0;  // share of KernelWork::exposed_bytes that does not overlap
  double misaligned = 1;
  double multiprocessors = 0;  // 0: waves are not modelled
};

// `batch` products C[m,n] = A[m,k] B[k,n] with elements of `bytes` in memory; rows of A, B and C hold k, n and n elements.
struct ProductShape {
  double m = 0;  // 0: only k is known
  double n = 0;
  double k = 0;
  double batch = 1;
  double bytes = 2;
};

// What is left of the asymptote, 0..1.
[[nodiscard]] double shape_efficiency(const GemmCosts& costs, const ProductShape& shape);

}  // namespace lockstep
