// SPDX-License-Identifier: Apache-2.0
#include "sim/experiment/collective_names.h"

#include <array>
#include <cctype>
#include <string>

namespace lockstep {
namespace {

// Letters and digits in lower case: "All_Reduce" -> "allreduce".
std::string squeezed(std::string_view s) {
  std::string out;
  for (const char letter : s) {
    const auto c = static_cast<unsigned char>(letter);
    if (std::isalnum(c) != 0) out += static_cast<char>(std::tolower(c));
  }
  return out;
}

struct CollectiveName {
  const char* squeezed;
  CollectiveKind kind;
};
// Longer names first: "reduce" is part of three others.
constexpr std::array<CollectiveName, 7> kNames = {{{"reducescatter", CollectiveKind::kReduceScatter},
                                                   {"allreduce", CollectiveKind::kAllReduce},
                                                   {"allgather", CollectiveKind::kAllGather},
                                                   {"broadcast", CollectiveKind::kBroadcast},
                                                   {"alltoall", CollectiveKind::kAllToAll},
                                                   {"sendrecv", CollectiveKind::kSendRecv},
                                                   {"reduce", CollectiveKind::kReduce}}};

}  // namespace

std::optional<CollectiveKind> collective_named(std::string_view name) {
  const std::string s = squeezed(name);
  for (const CollectiveName& n : kNames) {
    if (s == n.squeezed || s == std::string(n.squeezed) + "perf") return n.kind;
  }
  return {};
}

std::optional<CollectiveKind> collective_named_within(std::string_view text) {
  const std::string s = squeezed(text);
  for (const CollectiveName& n : kNames) {
    if (s.find(n.squeezed) != std::string::npos) return n.kind;
  }
  return {};
}

}  // namespace lockstep
