// SPDX-License-Identifier: Apache-2.0
// Launch scripts are followed, never run: each test gives a script and the words of the commands that a shell would reach.
#include "workloads/import/shell/shell_script.h"

#include <gtest/gtest.h>

namespace lockstep {
namespace {

std::vector<std::string> commands_of(const std::string& text, Diagnostics& d,
                                     const std::vector<std::pair<std::string, std::string>>& fixed = {}) {
  ShellScript script(text, "s.sh", fixed);
  script.run(d);
  std::vector<std::string> lines;
  for (const ShellCommand& c : script.commands()) {
    std::string line;
    for (const TracedText& f : c.fields) line += (line.empty() ? "[" : " [") + f.text + "]";
    lines.push_back(line);
  }
  return lines;
}

std::string command_of(const std::string& text) {
  Diagnostics d;
  const std::vector<std::string> lines = commands_of(text, d);
  return lines.size() == 1 ? lines.front() : "not one command but " + std::to_string(lines.size());
}

TEST(ShellScript, QuotesContinuationsAndComments) {
  EXPECT_EQ(command_of("run \\\n  --a 'x y' # not --b\n"), "[run] [--a] [x y]");
  EXPECT_EQ(command_of("A=\"1 2\"; run $A \"$A\" '$A'"), "[run] [1] [2] [1 2] [$A]");
  EXPECT_EQ(command_of("run \"a # b\" c\\ d 2>&1 | tee log"), "not one command but 2");
}

TEST(ShellScript, ArraysKeepTheirItemsInQuotesAndSplitOutsideOfThem) {
  EXPECT_EQ(command_of("A=(--x 1 \"--y 2\") # c\nA+=(--z)\nrun \"${A[@]}\""), "[run] [--x] [1] [--y 2] [--z]");
  EXPECT_EQ(command_of("A=(\"--y 2\")\nrun ${A[@]} ${#A[@]}"), "[run] [--y] [2] [1]");
}

TEST(ShellScript, DefaultsAndArithmetic) {
  // $((8 * N)) with N = 3 and a default of 5 that is not needed: 24; (7 - 1) / 2 % 2 = 1.
  EXPECT_EQ(command_of("N=3\nrun $((8*N)) ${N:-5} ${M:-5} ${M:=6} $M $(((7-1)/2%2))"), "[run] [24] [3] [5] [6] [6] [1]");
}

TEST(ShellScript, ConditionsAreDecidedByVariables) {
  EXPECT_EQ(command_of("T=fp8\nif [[ $T == \"fp8\" ]]; then A=1; elif [ $T = bf16 ]; then A=2; else A=3; fi\nrun $A"),
            "[run] [1]");
  EXPECT_EQ(command_of("if [ -z \"$UNSET\" ]; then A=4; fi\nrun $A"), "[run] [4]");
  EXPECT_EQ(command_of("S=7b\ncase $S in 7b|8b) L=32 ;; *) L=80 ;; esac\nrun $L"), "[run] [32]");
  EXPECT_EQ(command_of("[ 2 -gt 1 ] && A=5\n[ 2 -lt 1 ] || B=6\nrun $A $B"), "[run] [5] [6]");
}

TEST(ShellScript, LoopsAndFunctionsAreEntered) {
  Diagnostics d;
  EXPECT_EQ(commands_of("for t in 1 2; do run $t; done", d), (std::vector<std::string>{"[run] [1]", "[run] [2]"}));
  EXPECT_EQ(commands_of("f() { run $1 \"$@\"; }\nf x y", d), (std::vector<std::string>{"[run] [x] [x] [y]"}));
  EXPECT_EQ(commands_of("usage() { exit 1; }\nrun", d), (std::vector<std::string>{"[run]"}));
}

TEST(ShellScript, WhatCannotBeDecidedIsLeftOutAndTold) {
  Diagnostics d;
  EXPECT_EQ(commands_of("A=1\nif [ -f x ]; then\n  A=2\nfi\nif [ ! -d y ]; then mkdir y; fi\nrun $A", d),
            (std::vector<std::string>{"[run] [1]"}));
  ASSERT_EQ(d.items().size(), 1u);  // making a folder sets nothing
  EXPECT_EQ(d.items()[0].position.line, 2);
}

TEST(ShellScript, UnknownValuesKeepTheirNamesAndPlaces) {
  ShellScript script("A=$1\nrun --x $A", "s.sh", {});
  Diagnostics d;
  script.run(d);
  const TracedText& word = script.commands().at(0).fields.at(2);
  ASSERT_EQ(word.text, std::string(1, TracedText::kUnknown));
  EXPECT_EQ(script.variables().unknown_at(word.at[0]), "$1");
  EXPECT_EQ(script.position(word).line, 1);
  EXPECT_EQ(script.position(word).column, 3);
  EXPECT_EQ(commands_of("A=$1\nrun $A", d, {{"1", "out"}}), (std::vector<std::string>{"[run] [out]"}));
}

TEST(ShellScript, HereDocumentsAreFiles) {
  ShellScript script("N=4\ncat <<EOT > c.json\n{\"n\": $N}\nEOT\ncat <<'E' > d.json\n$N\nE\nrun", "s.sh", {});
  Diagnostics d;
  script.run(d);
  EXPECT_EQ(script.files().at("c.json").text, "{\"n\": 4}\n");
  EXPECT_EQ(script.files().at("d.json").text, "$N\n");
  EXPECT_EQ(script.commands().size(), 1u);
}

TEST(ShellScript, EndsOnAnyText) {
  for (const char* text : {"if", "for x in", "case $x in a", "A=(", "\"", "${", "$((", "$(", "<<", "f() {", "[[", "fi fi", ")",
                           "((", "`", "a <<E"}) {
    Diagnostics d;
    (void)commands_of(text, d);
  }
}

TEST(ShellArithmetic, RefusesWhatIsNone) {
  EXPECT_EQ(shell_arithmetic("2 + 3 * (4 - 1)"), 11);
  EXPECT_EQ(shell_arithmetic("-7 / 2"), -3);
  EXPECT_EQ(shell_arithmetic("1 / 0"), std::nullopt);
  EXPECT_EQ(shell_arithmetic("9223372036854775807 + 1"), std::nullopt);
  EXPECT_EQ(shell_arithmetic("2 x"), std::nullopt);
}

}  // namespace
}  // namespace lockstep
