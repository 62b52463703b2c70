// SPDX-License-Identifier: Apache-2.0
// Always-on invariants. A broken invariant is a bug of ours, never the user's: it throws InternalError with the values
// in the message. User errors are Diagnostics (base/diagnostics.h).
#pragma once

#include <fmt/core.h>

#include <stdexcept>
#include <string>

namespace lockstep {

class InternalError : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

// A simulation that cannot go on (deadlock, lost bytes, time out of range): exit code 3.
class SimulationError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

namespace detail {
[[noreturn]] void fail_check(const char* file, int line, const char* condition, const std::string& message);
}

}  // namespace lockstep

#define LOCKSTEP_CHECK(condition, ...)                                                            \
  do {                                                                                            \
    if (!(condition)) [[unlikely]] {                                                              \
      ::lockstep::detail::fail_check(__FILE__, __LINE__, #condition, ::fmt::format(__VA_ARGS__)); \
    }                                                                                             \
  } while (false)
