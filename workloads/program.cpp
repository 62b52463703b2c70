// SPDX-License-Identifier: Apache-2.0
#include "workloads/program.h"

#include <array>

namespace lockstep {

TimeClass time_class(Stream stream) {
  switch (stream) {
    case Stream::kCompute:
      return TimeClass::kCompute;
    case Stream::kTp:
      return TimeClass::kTp;
    case Stream::kCp:
      return TimeClass::kCp;
    case Stream::kEp:
      return TimeClass::kEp;
    case Stream::kDpGather:
    case Stream::kDpReduce:
    case Stream::kDpReplicate:
      return TimeClass::kDp;
    case Stream::kPpSendNext:
    case Stream::kPpRecvPrev:
    case Stream::kPpSendPrev:
    case Stream::kPpRecvNext:
    case Stream::kTie:
      return TimeClass::kPp;
  }
  return TimeClass::kOther;
}

const char* to_text(TimeClass c) {
  constexpr std::array<const char*, kTimeClassCount> names = {"compute", "tp",     "pp",   "dp",   "cp",
                                                              "ep",      "bubble", "host", "other"};
  return names[static_cast<std::size_t>(c)];
}

const char* to_text(CollectiveKind k) {
  constexpr std::array<const char*, 7> names = {"all_reduce", "all_gather", "reduce_scatter", "broadcast",
                                                "reduce",     "all_to_all", "send_recv"};
  return names[static_cast<std::size_t>(k)];
}

}  // namespace lockstep
