// SPDX-License-Identifier: Apache-2.0
#include <malloc.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <iostream>
#include <string>
#include <string_view>
#include <vector>

#include "sim/cli/command_line.h"
#include "sim/cli/output.h"
#include "sim/cli/verbs.h"

namespace {

extern "C" void exit_interrupted(int) {
  constexpr std::string_view kPlain = "\nlockstep: interrupted\n";
  constexpr std::string_view kGoesOn = "\nlockstep: interrupted; the same command goes on from here\n";
  const std::string_view text = lockstep::cli::goes_on_when_repeated ? kGoesOn : kPlain;
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, text.data(), text.size());
  ::_exit(lockstep::cli::kInterrupted);
}

// Arrays that grow by doubling stay on the heap, where realloc() extends them in place, and freed memory is kept: a simulation grows, then
// ends. Saves an eighth of the solver's time on 16,384 flows in page faults (scripts/bench/flow).
void keep_memory() {
#ifdef __GLIBC__
  mallopt(M_MMAP_THRESHOLD, 1 << 30);
  mallopt(M_TRIM_THRESHOLD, 1 << 30);
  mallopt(M_TOP_PAD, 64 << 20);
#endif
}

}  // namespace

int main(int argc, char** argv) {
  namespace cli = lockstep::cli;
  keep_memory();
  std::signal(SIGPIPE, SIG_IGN);  // a closed pipe is an error of write(), not a death
  if (std::signal(SIGINT, exit_interrupted) == SIG_IGN) std::signal(SIGINT, SIG_IGN);
  const char* no_color = std::getenv("NO_COLOR");
  const bool may_color = no_color == nullptr || *no_color == '\0';
  cli::DescriptorStream out(STDOUT_FILENO);
  const std::vector<std::string> words(argv + (argc > 0 ? 1 : 0), argv + argc);
  return cli::run_command_line(
      cli::all_verbs(), words, cli::default_library(),
      {out, std::cerr, may_color && ::isatty(STDOUT_FILENO) == 1, may_color && ::isatty(STDERR_FILENO) == 1});
}
