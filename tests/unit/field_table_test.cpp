// SPDX-License-Identifier: Apache-2.0
#include "base/field_table.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "base/config_library.h"
#include "base/document_kind.h"
#include "tests/support/document_text.h"

namespace lockstep {
namespace {

using test::all_text;

enum class Policy { kEcmp, kSpray };
struct LinkSpec {
  Rate speed = Rate::gbps(100);
  Duration latency;
  std::optional<Bytes> buffer;
};
struct ServerSpec {
  std::string name;
  int gpus = 8;
  LinkSpec nvlink;
};
struct ClusterSpec {
  std::string name;
  int nodes = 0;
  Policy policy = Policy::kEcmp;
  LinkSpec link;
  ServerSpec server;
  std::optional<ServerSpec> spare;
  std::vector<int> stages;
  std::vector<LinkSpec> cables;
  std::map<std::string, double> weights;
  std::map<std::string, LinkSpec> tiers;
  bool is_managed = false;
};

const FieldTable<LinkSpec>& link_fields() {
  static const FieldTable<LinkSpec> table = [] {
    FieldTable<LinkSpec> t;
    t.field("speed", &LinkSpec::speed).doc("line rate");
    t.field("latency", &LinkSpec::latency).range(Duration(), Duration::micros(100));
    t.field("buffer", &LinkSpec::buffer);
    return t;
  }();
  return table;
}

const FieldTable<ServerSpec>& server_fields() {
  static const FieldTable<ServerSpec> table = [] {
    FieldTable<ServerSpec> t("server");
    t.field("name", &ServerSpec::name);
    t.field("gpus", &ServerSpec::gpus).required().range(1, 72);
    t.section("nvlink", &ServerSpec::nvlink, link_fields());
    return t;
  }();
  return table;
}

const FieldTable<ClusterSpec>& cluster_fields() {
  static const FieldTable<ClusterSpec> table = [] {
    FieldTable<ClusterSpec> t("cluster");
    t.field("name", &ClusterSpec::name);
    t.field("nodes", &ClusterSpec::nodes).required().range(1, 65536).doc("servers");
    t.choice("policy", &ClusterSpec::policy, {{"ecmp", Policy::kEcmp, "hash per flow"}, {"spray", Policy::kSpray, "even"}});
    t.section("link", &ClusterSpec::link, link_fields()).doc("every cable");
    t.reference("server", &ClusterSpec::server, server_fields());
    t.reference("spare", &ClusterSpec::spare, server_fields());
    t.field("stages", &ClusterSpec::stages).range(1, 99);
    t.list("cables", &ClusterSpec::cables, link_fields());
    t.field("weights", &ClusterSpec::weights);
    t.named("tiers", &ClusterSpec::tiers, link_fields());
    t.field("is_managed", &ClusterSpec::is_managed);
    t.validate([](const ClusterSpec& c, Section& s) {
      if (c.nodes == 13) s.error("nodes", "13 brings bad luck", "take 14");
    });
    return t;
  }();
  return table;
}

// A folder of presets that goes away with the test.
class FieldTableTest : public testing::Test {
 protected:
  void SetUp() override {
    root_ = std::filesystem::temp_directory_path() /
            (std::string("lockstep-") + testing::UnitTest::GetInstance()->current_test_info()->name());
    std::filesystem::create_directories(root_ / "hardware/server");
    write("hardware/server/dgx-a.yaml", "kind: server\nwhat: eight of them\ngpus: 8\nnvlink: {speed: 300 GB/s}\n");
    write("hardware/server/broken.yaml", "kind: server\ngpus: 100\n");
  }
  void TearDown() override { std::filesystem::remove_all(root_); }
  void write(const std::string& file, const std::string& text) { std::ofstream(root_ / file) << text; }

  // The errors of reading `text` as a cluster; empty when there are none.
  std::string read(const std::string& text, const std::vector<std::string>& sets = {}) {
    Diagnostics d;
    std::optional<Document> doc = Document::parse(text, (root_ / "c.yaml").string(), d);
    for (const std::string& s : sets) doc->set(s, d);
    const ConfigLibrary library({root_.string()});
    ReadContext context(d, &library);
    spec_ = {};
    if (doc) cluster_fields().read_document(*doc, spec_, context);
    ConfigPrinter printer(context);
    cluster_fields().print(spec_, printer);
    shown_ = printer.text();
    return without_root(all_text(d));
  }

  std::string without_root(std::string text) const {
    for (std::size_t at; (at = text.find(root_.string() + "/")) != std::string::npos;)
      text.erase(at, root_.string().size() + 1);
    return text;
  }

  std::filesystem::path root_;
  ClusterSpec spec_;
  std::string shown_;
};

TEST_F(FieldTableTest, EveryKindOfValueIsRead) {
  EXPECT_EQ(
      read("kind: cluster\nwhat: a test\nsource: none\nsources: {nodes: here, link.speed: there}\nnodes: 4\npolicy: spray\n"
           "link: {speed: 400 Gbps, latency: 600 ns, buffer: 1 MB}\nserver: {gpus: 2, nvlink: {latency: 1 us}}\n"
           "stages: [1, 2, 3]\ncables: [{speed: 1 Gbps}, {latency: 2 us}]\nweights: {a: 1, b: 0.5}\n"
           "tiers: {leaf: {latency: 1 us}}\nis_managed: true\n"),
      "");
  EXPECT_EQ(spec_.name, "c");  // the file's
  EXPECT_EQ(spec_.nodes, 4);
  EXPECT_EQ(spec_.policy, Policy::kSpray);
  EXPECT_EQ(spec_.link.speed, Rate::gbps(400));
  EXPECT_EQ(spec_.link.buffer, Bytes(1'000'000));
  EXPECT_EQ(spec_.server.gpus, 2);
  EXPECT_EQ(spec_.server.nvlink.speed, Rate::gbps(100));  // default
  EXPECT_EQ(spec_.stages, (std::vector{1, 2, 3}));
  EXPECT_EQ(spec_.cables[1].latency, Duration::micros(2));
  EXPECT_EQ(spec_.weights.at("b"), 0.5);
  EXPECT_EQ(spec_.tiers.at("leaf").latency, Duration::micros(1));
  EXPECT_TRUE(spec_.is_managed);
  EXPECT_FALSE(spec_.spare);
}

TEST_F(FieldTableTest, AllErrorsAreReportedAtOnce) {
  EXPECT_EQ(
      read("kind: cluster\nnodes: 0\nlink: {speed: 400, latncy: 1 us}\npolicy: sprey\nis_managed: NO\nstages: [1, 010]\n"
           "server: {}\nspines: 3\n"),
      "c.yaml:2:8: error: nodes: '0' is out of range (1 to 65536)\n"
      "c.yaml:3:15: error: link.speed: '400' has no unit (a rate needs one, as in 400 Gbps; units: Gbps, Mbps, Tbps, GB/s, "
      "MB/s, TB/s)\n"
      "c.yaml:3:20: error: link.latncy: unknown key 'latncy' (did you mean 'latency'?)\n"
      "c.yaml:4:9: error: policy: 'sprey' is not one of the choices (did you mean 'spray'? one of ecmp, spray)\n"
      "c.yaml:5:13: error: is_managed: 'NO' is neither true nor false (write true or false)\n"
      "c.yaml:6:13: error: stages[1]: '010' has a leading zero (numbers are decimal: write 10)\n"
      "c.yaml:7:9: error: server.gpus: the key 'gpus' is missing\n"
      "c.yaml:8:1: error: spines: unknown key 'spines' (keys here: name, nodes, policy, link, server, spare, stages, cables, "
      "weights, tiers, is_managed)\n");
}

TEST_F(FieldTableTest, WrongShapesAreNamed) {
  EXPECT_EQ(read("kind: cluster\nnodes: [1]\nlink: fast\nstages: 3\ncables: {a: 1}\nweights: [1]\npolicy:\n"),
            "c.yaml:2:8: error: nodes: a list was given, but an integer is expected\n"
            "c.yaml:3:7: error: link: a map of keys is expected, not 'fast' (keys: speed, latency, buffer)\n"
            "c.yaml:4:9: error: stages: a list is expected, not a single value (stages: [...])\n"
            "c.yaml:5:9: error: cables: a list is expected, not a map (cables: [...])\n"
            "c.yaml:6:10: error: weights: a map from names is expected, not a list (weights: {name: ...})\n"
            "c.yaml:7:1: error: policy: there is no value, but a choice is expected\n");
}

TEST_F(FieldTableTest, AQuotedNumberIsNoNumber) {
  EXPECT_EQ(read("kind: cluster\nnodes: '4'\nlink: {speed: '400 Gbps'}\n"),
            "c.yaml:2:8: error: nodes: '4' is text because it is quoted (remove the quotes)\n");
}

TEST_F(FieldTableTest, ADocumentSaysItsKind) {
  EXPECT_EQ(read("nodes: 4\n"), "c.yaml:1:1: error: kind: the key 'kind' is missing (begin the file with kind: cluster)\n");
  EXPECT_EQ(read("kind: server\n"), "c.yaml:1:7: error: kind: the file is of kind 'server', but a cluster is expected\n");
  EXPECT_EQ(read("[1]\n"), "c.yaml:1:1: error: a cluster is expected, not a list (begin the file with kind: cluster)\n");
}

TEST_F(FieldTableTest, ValidationErrorsPointAtTheValue) {
  EXPECT_EQ(read("kind: cluster\nnodes: 13\n"), "c.yaml:2:8: error: nodes: 13 brings bad luck (take 14)\n");
  EXPECT_EQ(read("kind: cluster\nnodes: 4\n", {"nodes=13"}), "--set nodes=13: error: nodes: 13 brings bad luck (take 14)\n");
}

TEST_F(FieldTableTest, SourcesNameKeysThatExist) {
  EXPECT_EQ(read("kind: cluster\nnodes: 1\nsources: {link.sped: x}\n"),
            "c.yaml:3:11: error: sources: unknown key 'link.sped' (did you mean 'link.speed'?)\n");
}

TEST_F(FieldTableTest, SetPathsAreCheckedLikeWrittenOnes) {
  EXPECT_EQ(read("kind: cluster\nnodes: 1\n", {"link.speed=10 Gbps"}), "");
  EXPECT_EQ(spec_.link.speed, Rate::gbps(10));
  EXPECT_EQ(read("kind: cluster\nnodes: 1\n", {"link.sped=10 Gbps", "lnk.speed=1", "buffer=1 MB", "nodes.x=1"}),
            "--set nodes.x=1: error: nodes: has no keys below it: it is a single value\n"
            "--set link.sped=10 Gbps: error: link.sped: unknown key 'sped' (did you mean 'speed'?)\n"
            "--set lnk.speed=1: error: lnk: unknown key 'lnk' (did you mean 'link'?)\n"
            "--set buffer=1 MB: error: buffer: unknown key 'buffer' (did you mean 'link.buffer'?)\n");
}

TEST_F(FieldTableTest, AReferenceIsANameAFileOrAMap) {
  EXPECT_EQ(read("kind: cluster\nnodes: 1\nserver: dgx-a\n"), "");
  EXPECT_EQ(spec_.server.gpus, 8);
  EXPECT_EQ(spec_.server.name, "dgx-a");
  EXPECT_EQ(read("kind: cluster\nnodes: 1\nserver: hardware/server/dgx-a.yaml\n"), "");
  EXPECT_EQ(spec_.server.nvlink.speed, *parse_rate("300 GB/s").value);
  EXPECT_EQ(read("kind: cluster\nnodes: 1\nspare: {preset: dgx-a, nvlink: {latency: 1 us}}\n"), "");
  ASSERT_TRUE(spec_.spare);
  EXPECT_EQ(spec_.spare->nvlink.speed, *parse_rate("300 GB/s").value);  // the preset's, not the default
  EXPECT_EQ(spec_.spare->nvlink.latency, Duration::micros(1));
}

TEST_F(FieldTableTest, AssignmentsReachIntoAPreset) {
  EXPECT_EQ(read("kind: cluster\nnodes: 1\nserver: dgx-a\n", {"server.gpus=4"}), "");
  EXPECT_EQ(spec_.server.gpus, 4);
  EXPECT_EQ(spec_.server.nvlink.speed, *parse_rate("300 GB/s").value);
  EXPECT_EQ(read("kind: cluster\nnodes: 1\nserver: dgx-a\n", {"server.gpu=4"}),
            "--set server.gpu=4: error: server.gpu: unknown key 'gpu' (did you mean 'gpus'?)\n");
}

TEST_F(FieldTableTest, UnknownAndBrokenPresetsAreReported) {
  EXPECT_EQ(read("kind: cluster\nnodes: 1\nserver: dgx-b\n"),
            "c.yaml:3:9: error: server: unknown server 'dgx-b' (did you mean 'dgx-a'? known: broken, dgx-a)\n");
  EXPECT_EQ(read("kind: cluster\nnodes: 1\nserver: ./none.yaml\n"), "c.yaml:3:9: error: server: no such file: none.yaml\n");
  EXPECT_EQ(read("kind: cluster\nnodes: 1\nserver: broken\n"),
            "hardware/server/broken.yaml:2:7: error: server.gpus: '100' is out of range (1 to 72)\n");
}

TEST_F(FieldTableTest, TheResolvedConfigurationNamesOriginsAndReadsBack) {
  const std::string text = "kind: cluster\nnodes: 4\nserver: dgx-a\nstages: [1, 2]\ncables: [{speed: 1 Gbps}]\n";
  ASSERT_EQ(read(text, {"link.latency=3 us"}), "");
  const std::string shown = without_root(shown_);
  EXPECT_NE(shown.find("nodes: 4                                    # c.yaml:2:8\n"), std::string::npos) << shown;
  EXPECT_NE(shown.find("policy: ecmp                                # default\n"), std::string::npos) << shown;
  EXPECT_NE(shown.find("  latency: 3 us                             # --set link.latency=3 us\n"), std::string::npos) << shown;
  EXPECT_NE(shown.find("  gpus: 8                                   # hardware/server/dgx-a.yaml:3:7\n"), std::string::npos)
      << shown;
  const std::string first = shown_;
  ASSERT_EQ(read("kind: cluster\n" + first), "") << first;
  EXPECT_EQ(spec_.link.latency, Duration::micros(3));
  EXPECT_EQ(spec_.server.nvlink.speed, *parse_rate("300 GB/s").value);
  EXPECT_EQ(spec_.cables[0].speed, Rate::gbps(1));
}

TEST_F(FieldTableTest, DocsCarryTypeUnitDefaultAndRange) {
  const std::vector<FieldDoc> docs = cluster_fields().docs();
  const FieldDoc* speed = find_field(docs, "link.speed");
  ASSERT_NE(speed, nullptr);
  EXPECT_EQ(speed->default_text, "100 Gbps");
  EXPECT_EQ(speed->type, "rate");
  EXPECT_EQ(find_field(docs, "nodes")->range, "1 to 65536");
  EXPECT_TRUE(find_field(docs, "nodes")->is_required);
  EXPECT_EQ(find_field(docs, "server")->reference_kind, "server");
  EXPECT_NE(find_field(docs, "tiers.leaf.latency"), nullptr);
  EXPECT_NE(find_field(docs, "cables[2].latency"), nullptr);
  EXPECT_EQ(find_field(docs, "link.sped"), nullptr);
  EXPECT_EQ(find_field(docs, "stages")->type, "list of integer");
  EXPECT_NE(schema_text(docs).find("nodes: integer, 1 to 65536, required\n    servers\n"), std::string::npos);
}

TEST(DocumentKindTest, ChecksWithoutKnowingTheType) {
  const DocumentKind kind = document_kind("a server", &server_fields);
  EXPECT_EQ(kind.name, "server");
  Diagnostics d;
  const std::optional<Document> doc = Document::parse("kind: server\ngpus: 99\n", "f", d);
  ReadContext context(d);
  EXPECT_FALSE(kind.check(*doc, context));
  EXPECT_EQ(all_text(d), "f:2:7: error: gpus: '99' is out of range (1 to 72)\n");
}

TEST(Closest, SuggestsNearWordsOnly) {
  const std::vector<std::string> words = {"spines", "leaves", "latency"};
  EXPECT_EQ(closest("spine", words), "spines");
  EXPECT_EQ(closest("psines", words), "spines");  // a swap counts once
  EXPECT_EQ(closest("latncy", words), "latency");
  EXPECT_EQ(closest("LATENCY", words), "latency");
  EXPECT_EQ(closest("bandwidth", words), "");
  EXPECT_EQ(closest("x", {"y"}), "");
}

}  // namespace
}  // namespace lockstep
