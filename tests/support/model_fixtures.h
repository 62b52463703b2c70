// SPDX-License-Identifier: Apache-2.0
// Models with experts and latent attention that tests share.
#pragma once

#include "tests/support/workload_fixtures.h"

namespace lockstep::test {

inline TransformerSpec mixtral_8x7b() {
  return {.name = "mixtral-8x7b",
          .layers = 32,
          .hidden = 4096,
          .heads = 32,
          .kv_heads = 8,
          .head_dim = 128,
          .ffn = 14336,
          .vocab = 32000,
          .max_positions = 32768,
          .moe = MoeSpec{.experts = 8, .top_k = 2, .ffn = 14336}};
}

inline TransformerSpec deepseek_v3() {
  return {
      .name = "deepseek-v3",
      .layers = 61,
      .hidden = 7168,
      .heads = 128,
      .kv_heads = 128,
      .head_dim = 128,
      .ffn = 18432,
      .vocab = 129280,
      .max_positions = 163840,
      .moe = MoeSpec{.experts = 256, .top_k = 8, .ffn = 2048, .shared_ffn = 2048, .dense_layers = 3, .has_router_bias = true},
      .mla = MlaSpec{.q_rank = 1536, .kv_rank = 512, .nope_dim = 128, .rope_dim = 64, .v_dim = 128},
      .mtp_layers = 1};
}

}  // namespace lockstep::test
