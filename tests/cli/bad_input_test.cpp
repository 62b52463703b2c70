// SPDX-License-Identifier: Apache-2.0
// Bad documents, as a user meets them: each gives its message with position and hint on stderr, nothing on stdout, and exit code 2.
#include <gtest/gtest.h>

#include <ostream>

#include "tests/support/run_binary.h"

namespace lockstep {
namespace {

using test::Ended;
using test::Sandbox;

struct BadDocument {
  const char* name;
  std::string text;
  const char* errors;  // all of stderr
};
std::ostream& operator<<(std::ostream& out, const BadDocument& b) { return out << b.name; }

class BadDocuments : public testing::TestWithParam<BadDocument> {};

TEST_P(BadDocuments, AreRefusedWithPositionAndHint) {
  const Sandbox sandbox;
  sandbox.write("c.yaml", GetParam().text);
  const Ended ended = sandbox.run("$L check c.yaml");
  EXPECT_EQ(ended.err, GetParam().errors);
  EXPECT_EQ(ended.out, "");
  EXPECT_EQ(ended.code, 2);
}

const std::string kGood =
    "kind: cluster\nendpoints: 64\nfabric: {nodes_per_leaf: 32, spines: 16}\n"
    "host_link: {speed: 100 Gbps, latency: 1 us}\nfabric_link: {speed: 100 Gbps, latency: 1 us}\n";

INSTANTIATE_TEST_SUITE_P(
    Check, BadDocuments,
    testing::Values(
        BadDocument{"UnknownKey", kGood + "core_lnk: {speed: 100 Gbps, latency: 1 us}\n",
                    "c.yaml:6:1: error: core_lnk: unknown key 'core_lnk' (did you mean 'core_link'?)\n"},
        BadDocument{"DuplicateKey", kGood + "endpoints: 64\n",
                    "c.yaml:6:1: error: duplicate key 'endpoints', first given on line 2\n"},
        BadDocument{"MissingUnit", "kind: cluster\nendpoints: 64\nhost_link: {speed: 100, latency: 1 us}\n",
                    "c.yaml:3:20: error: host_link.speed: '100' has no unit (a rate needs one, as in 100 Gbps; units: Gbps, "
                    "Mbps, Tbps, "
                    "GB/s, MB/s, TB/s)\n"},
        BadDocument{
            "WrongUnit", "kind: cluster\nendpoints: 64\nhost_link: {speed: 100 GB, latency: 1 us}\n",
            "c.yaml:3:20: error: host_link.speed: '100 GB' is a size, but a rate is expected (units: Gbps, Mbps, Tbps, GB/s, "
            "MB/s, TB/s)\n"},
        BadDocument{"Octal", "kind: cluster\nendpoints: 010\n",
                    "c.yaml:2:12: error: endpoints: '010' has a leading zero (numbers are decimal: write 10)\n"},
        BadDocument{"Norway", "kind: cluster\nendpoints: NO\n",
                    "c.yaml:2:12: error: endpoints: 'NO' is not a number (1 to 1048576)\n"},
        BadDocument{"OutOfRange", "kind: cluster\nendpoints: 0\n",
                    "c.yaml:2:12: error: endpoints: '0' is out of range (1 to 1048576)\n"},
        BadDocument{"Negative", "kind: cluster\nendpoints: 64\nhost_link: {latency: -1 us}\n",
                    "c.yaml:3:22: error: host_link.latency: '-1 us' is negative (0 ps to 1 s)\n"},
        BadDocument{"NotFinite", "kind: cluster\nendpoints: 64\nhost_link: {speed: .inf Gbps}\n",
                    "c.yaml:3:20: error: host_link.speed: '.inf Gbps' is not a number (1 Mbps to 100 Tbps)\n"},
        BadDocument{"OverInt64", "kind: cluster\nendpoints: 99999999999999999999\n",
                    "c.yaml:2:12: error: endpoints: '99999999999999999999' is too large (it does not fit in 64 bits)\n"},
        BadDocument{"ListForValue", "kind: cluster\nendpoints: [64]\n",
                    "c.yaml:2:12: error: endpoints: a list was given, but an integer is expected\n"},
        BadDocument{"UnknownPreset", "kind: cluster\nnodes: 2\nserver: dgx-h10\nnetwork: ib-8x400\n",
                    "c.yaml:3:9: error: server: unknown server 'dgx-h10' (did you mean 'dgx-h100'? known: a10-2, a10-4, "
                    "a100-pcie-8, a100-pcie-8-bridged, a40-8, dgx-1-v100, dgx-2, dgx-a100, dgx-a100-40, dgx-b200, dgx-b300, "
                    "dgx-h100, dgx-h200, gb200-nvl72, gb300-nvl72, h100-nvl-8, h100-pcie-8, hgx-a800, hgx-h20, hgx-h800, l4-8, "
                    "l40s-4, l40s-8-pcie, mi300x-8, mi325x-8, rtx-2080-ti-2, rtx-3090-2, rtx-4090-8, rtx-5090-8, "
                    "rtx-6000-ada-4, rtx-6000d-8, rtx-a6000-4, t4-8, titan-rtx-2, v100-8-cube, v100-pcie-8)\n"},
        BadDocument{
            "MergeKey", kGood + "<<: {a: 1}\n",
            "c.yaml:6:1: error: merge keys (<<) are not supported (write the keys out, or refer to a preset by name)\n"},
        BadDocument{"Empty", "", "c.yaml: error: is empty\n"},
        BadDocument{"Binary",
                    std::string("\x7F"
                                "ELF\0\0",
                                6),
                    "c.yaml: error: is a binary file: it contains NUL bytes\n"},
        BadDocument{"NotUtf8", "kind: \xE9\n", "c.yaml:1:7: error: is not UTF-8 text: byte 0xE9\n"},
        BadDocument{"Tab", "kind: cluster\nfabric:\n\tspines: 1\n",
                    "c.yaml:3:1: error: a tab is used for indentation (use spaces)\n"},
        BadDocument{"TwoDocuments", "kind: cluster\n---\nkind: cluster\n",
                    "c.yaml:2:1: error: a second document begins here (one document per file; check the indentation)\n"},
        BadDocument{"Syntax", "kind: a: b\n",
                    "c.yaml:1:8: error: is not valid YAML: illegal map value (quote text that contains ': ')\n"}),
    [](const testing::TestParamInfo<BadDocument>& p) { return p.param.name; });

TEST(BadInput, ADocumentSaysItsKind) {
  const Sandbox sandbox;
  sandbox.write("none.yaml", "endpoints: 64\n");
  sandbox.write("odd.yaml", "kind: clutser\n");
  EXPECT_EQ(sandbox.run("$L check none.yaml")
                .err.rfind("none.yaml:1:1: error: kind: the key 'kind' is missing (begin the file with kind: ", 0),
            0u);
  EXPECT_EQ(sandbox.run("$L check odd.yaml")
                .err.rfind("odd.yaml:1:7: error: kind: unknown kind 'clutser' (did you mean 'cluster'? known: ", 0),
            0u);
}

TEST(BadInput, EveryErrorOfEveryFileIsReported) {
  const Sandbox sandbox;
  sandbox.write("good.yaml", kGood);
  sandbox.write("a.yaml", "kind: cluster\nendpoints: 0\nspine: 1\n");
  sandbox.write("b.yaml", "kind: cluster\nendpoints: x\n");
  const Ended ended = sandbox.run("$L check a.yaml good.yaml b.yaml");
  EXPECT_EQ(ended.out, "good.yaml: ok (cluster)\n");
  EXPECT_EQ(ended.err,
            "a.yaml:2:12: error: endpoints: '0' is out of range (1 to 1048576)\n"
            "a.yaml:3:1: error: spine: unknown key 'spine' (did you mean 'fabric.spines'?)\n"
            "b.yaml:2:12: error: endpoints: 'x' is not a number (1 to 1048576)\n");
  EXPECT_EQ(ended.code, 2);
}

TEST(BadInput, WhatIsNoDocumentIsRefusedBeforeParsing) {
  const Sandbox sandbox;
  EXPECT_EQ(sandbox.run("$L check none.yaml").err, "none.yaml: error: no such file\n");
  EXPECT_EQ(sandbox.run("$L check .").err, ".: error: is a directory, not a file\n");
  EXPECT_EQ(sandbox.run("$L check /dev/zero").err, "/dev/zero: error: is a device, not a file\n");
  const Ended big = sandbox.run("head -c 16777217 /dev/zero | tr '\\0' a > big.yaml; $L check big.yaml");
  EXPECT_EQ(big.err, "big.yaml: error: is larger than 16 MiB, the limit for a document (is this the right file?)\n");
  EXPECT_EQ(big.code, 2);
}

TEST(BadInput, StandardInputIsADocumentToo) {
  const Sandbox sandbox;
  const Ended ended = sandbox.run("printf 'kind: cluster\\nendpoints: 0\\n' | $L check -");
  EXPECT_EQ(ended.err, "stdin:2:12: error: endpoints: '0' is out of range (1 to 1048576)\n");
  EXPECT_EQ(ended.code, 2);
}

// A file of 16 MiB that is legal but pointless takes seconds at most; 200,000 keys that repeat are all found.
TEST(BadInput, LargeDocumentsAreReadInTime) {
  const Sandbox sandbox;
  const Ended ended = sandbox.run(
      "awk 'BEGIN { for (i = 0; i < 200000; ++i) print \"key\" i \": [1, 2]\" }' > l.yaml; timeout 20 $L check l.yaml");
  EXPECT_EQ(ended.code, 2);
  EXPECT_NE(ended.err.find("the key 'kind' is missing"), std::string::npos) << ended.err.substr(0, 300);
  const Ended line = sandbox.run(
      "awk 'BEGIN { printf \"a: [\"; for (i = 0; i < 300000; ++i) printf \"{b: 1}, \"; print \"]\" }' > o.yaml; "
      "timeout 20 $L check o.yaml");
  EXPECT_EQ(line.code, 2) << line.err.substr(0, 300);
}

}  // namespace
}  // namespace lockstep
