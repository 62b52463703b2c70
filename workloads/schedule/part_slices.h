// SPDX-License-Identifier: Apache-2.0
// The kernels of a part up to and with the product its input meets (entry), its core (middle), and from the product that leaves it on (exit):
// where collectives run beside one of them, the three are operations of their own. An attention part splits around the attention core, a dense
// feed-forward part around the activation function; of an expert layer the middle of kMoe is the shared expert, the entry everything else.
#pragma once

#include <cstdint>
#include <vector>

#include "workloads/kernels/transformer_kernels.h"

namespace lockstep {

enum class OverlapSlice : std::uint8_t { kEntry, kMiddle, kExit };
inline constexpr OverlapSlice kOverlapSlices[] = {OverlapSlice::kEntry, OverlapSlice::kMiddle, OverlapSlice::kExit};

// Those of `kernels`, which are the part's, that are of the slice.
[[nodiscard]] std::vector<KernelWork> slice_kernels(const TrainingPlan& plan, ModelPart part, OverlapSlice slice,
                                                    const std::vector<KernelWork>& kernels);

}  // namespace lockstep
