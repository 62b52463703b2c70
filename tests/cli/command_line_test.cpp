// SPDX-License-Identifier: Apache-2.0
// The contract of the command line: exit codes, no abbreviations, results on stdout and all else on stderr, output that cannot be
// written is noticed.
#include <gtest/gtest.h>

#include "tests/support/run_binary.h"

namespace lockstep {
namespace {

using test::Ended;
using test::Sandbox;

void expect_usage_error(const std::string& arguments, const std::string& error) {
  const Ended ended = Sandbox().run("$L " + arguments);
  EXPECT_EQ(ended.err, error);
  EXPECT_EQ(ended.out, "");
  EXPECT_EQ(ended.code, 2);
}

TEST(CommandLine, HelpNamesEveryVerbAndExitCode) {
  const Ended ended = Sandbox().run("$L --help");
  EXPECT_EQ(ended.code, 0);
  EXPECT_EQ(ended.err, "");
  for (const char* word : {"check", "list", "schema", "  0 ", "  1 ", "  2 ", "  3 ", "  4 ", "  130 ", "  141 "}) {
    EXPECT_NE(ended.out.find(word), std::string::npos) << word;
  }
  EXPECT_EQ(Sandbox().run("$L check --help").code, 0);
  EXPECT_EQ(Sandbox().run("$L --version").out.rfind("lockstep ", 0), 0u);
}

TEST(CommandLine, NothingIsAUsageError) {
  const Ended ended = Sandbox().run("$L");
  EXPECT_EQ(ended.code, 2);
  EXPECT_EQ(ended.out, "");
}

TEST(CommandLine, UnknownWordsGetASuggestion) {
  expect_usage_error("chek", "error: unknown verb 'chek' (did you mean 'check'?)\n");
  expect_usage_error("--foo", "error: unknown option --foo (see lockstep --help)\n");
  expect_usage_error("schema cluster --kye x", "error: unknown option --kye (did you mean --key?)\n");
  expect_usage_error(
      "list clusers",
      "error: WHAT: unknown value 'clusers' (did you mean clusters? one of hardware, clusters, models, jobs, scenarios, "
      "sweeps, collectives, networks)\n");
  expect_usage_error("schema cluster --key host_link.latncy",
                     "error: a cluster has no key 'host_link.latncy' (did you mean 'host_link.latency'?)\n");
}

TEST(CommandLine, OptionsAreNotAbbreviated) {
  expect_usage_error("list clusters --form json", "error: unknown option --form (did you mean --format?)\n");
}

TEST(CommandLine, OptionsAreGivenOnceAndWhole) {
  expect_usage_error("list clusters --format json --format json", "error: --format is given 2 times (give it once)\n");
  expect_usage_error("list clusters --format", "error: --format needs a value (see lockstep list --help)\n");
  expect_usage_error("list clusters --format=", "error: --format needs a value (see lockstep list --help)\n");
  expect_usage_error("list clusters --format xml", "error: --format: unknown value 'xml' (one of table, json)\n");
  expect_usage_error("list", "error: the argument WHAT is missing: what to list (see lockstep list --help)\n");
  expect_usage_error("list clusters jobs", "error: unexpected argument 'jobs' (see lockstep list --help)\n");
}

TEST(CommandLine, AFullDiskIsNotSuccess) {
  const Ended ended = Sandbox().run("$L list clusters > /dev/full");
  EXPECT_EQ(ended.err, "lockstep: cannot write to standard output: No space left on device\n");
  EXPECT_EQ(ended.code, 3);
}

TEST(CommandLine, AClosedOutputIsNotSuccess) {
  EXPECT_EQ(Sandbox().run("$L list clusters >&-").code, 3);
  // The reader is gone before anything is written: quiet, but no success.
  const Ended ended = Sandbox().run("{ sleep 0.3; $L list clusters; echo $? > code; } | true; cat code");
  EXPECT_EQ(ended.out, "141\n");
  EXPECT_EQ(ended.err, "");
}

TEST(CommandLine, NoColourOutsideATerminal) { EXPECT_EQ(Sandbox().run("$L chek").err.find('\033'), std::string::npos); }

TEST(CommandLine, AnInterruptEndsWith130) {
  // A shell ignores SIGINT for what it starts in the background, and lockstep respects that; python resets it.
  const Ended ended = Sandbox().run(
      "mkfifo f; sleep 5 > f & holder=$!; "
      "python3 -c \"import signal, subprocess, sys, time; "
      "p = subprocess.Popen([sys.argv[1], 'check', 'f'], preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL)); "
      "time.sleep(0.5); p.send_signal(signal.SIGINT); print(p.wait())\" \"$L\"; kill $holder");
  EXPECT_EQ(ended.out, "130\n") << ended.err;
  EXPECT_NE(ended.err.find("lockstep: interrupted\n"), std::string::npos);
}

TEST(CommandLine, ListsComeFromTheFilesThemselves) {
  const Sandbox sandbox;
  const Ended made = sandbox.run(
      "mkdir -p own/clusters; printf 'kind: cluster\\nwhat: mine alone\\nsource: me\\n' > own/clusters/mine.yaml; "
      "LOCKSTEP_CONFIGS=own $L list clusters");
  EXPECT_EQ(made.code, 0);
  EXPECT_NE(made.out.find("mine"), std::string::npos);
  EXPECT_NE(made.out.find("mine alone"), std::string::npos);
  EXPECT_NE(made.out.find("dgx-h100"), std::string::npos);
  EXPECT_NE(sandbox.run("$L list collectives").out.find("reduce_scatter"), std::string::npos);
}

TEST(CommandLine, EveryShippedDocumentChecks) {
  const Ended ended = Sandbox().run("find '" LOCKSTEP_TEST_CONFIGS "' -name '*.yaml' | sort | xargs $L check");
  EXPECT_EQ(ended.code, 0) << ended.err;
  EXPECT_EQ(ended.err, "");
}

}  // namespace
}  // namespace lockstep
