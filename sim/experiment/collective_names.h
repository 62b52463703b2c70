// SPDX-License-Identifier: Apache-2.0
// What collectives are called in tables and logs: as here and in nccl-tests ("all_reduce", "all_reduce_perf", "alltoall", "sendrecv"), or as in
// NCCL ("AllReduce"). Letters and digits count, in any case.
#pragma once

#include <optional>
#include <string_view>

#include "workloads/program.h"

namespace lockstep {

[[nodiscard]] std::optional<CollectiveKind> collective_named(std::string_view name);
// Of a longer text, such as the name of a file, that has a name in it.
[[nodiscard]] std::optional<CollectiveKind> collective_named_within(std::string_view text);

}  // namespace lockstep
