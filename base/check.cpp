// SPDX-License-Identifier: Apache-2.0
#include "base/check.h"

namespace lockstep::detail {

void fail_check(const char* file, int line, const char* condition, const std::string& message) {
  throw InternalError(fmt::format("{}:{}: broken invariant ({}): {}", file, line, condition, message));
}

}  // namespace lockstep::detail
