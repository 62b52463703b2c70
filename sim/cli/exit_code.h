// SPDX-License-Identifier: Apache-2.0
// The exit codes of the command line. Scripts depend on them.
#pragma once

namespace lockstep::cli {

enum ExitCode : int {
  kOk = 0,
  kCheckFailed = 1,  // ran, but a check, threshold or comparison failed
  kBadInput = 2,     // usage or configuration error
  kSimulationFailed =
      3,            // deadlock, unreachable peer, lost bytes, out of range, does not fit where required, output not writable
  kSomeFailed = 4,  // some points of a sweep failed
  kInterrupted = 130,
  kOutputClosed = 141,  // the reader of stdout went away (`| head`); results are incomplete
};

}  // namespace lockstep::cli
