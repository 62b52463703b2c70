// SPDX-License-Identifier: Apache-2.0
#include "base/document.h"

#include <gtest/gtest.h>

#include "tests/support/document_text.h"

namespace lockstep {
namespace {

using test::all_text;
using test::parse_text;
using test::tree_text;

std::string json(const std::string& text) { return parse_text(text, DocumentFormat::kJson); }

TEST(Document, KeepsTextAsWritten) {
  EXPECT_EQ(parse_text("a: 010\nb: NO\nc: '8'\nd: 1e3\ne: \"x\"\nf: on\n"), "{a: 010, b: NO, c: '8', d: 1e3, e: 'x', f: on}");
}

TEST(Document, NullIsEmptyTildeOrTheWord) {
  EXPECT_EQ(parse_text("a:\nb: ~\nc: null\nd: 'null'\n"), "{a: null, b: null, c: null, d: 'null'}");
}

TEST(Document, KnowsWhereEverythingWasWritten) {
  Diagnostics d;
  const std::optional<Document> doc = Document::parse("a: 1\nfabric:\n  spines: 8\n  \xC3\xA9: [x, {y: z}]\n", "f", d);
  ASSERT_TRUE(doc);
  const Node fabric = doc->root().find("fabric");
  EXPECT_EQ(fabric.find("spines").position().line, 3);
  EXPECT_EQ(fabric.find("spines").position().column, 11);
  EXPECT_EQ(fabric.key_position(0).column, 3);
  EXPECT_EQ(fabric.find("spines").path(), "fabric.spines");
  const Node list = fabric.at(1);
  // "  e: [x, {y: z}]": columns count characters, so the bracket is at 6 although it is byte 7.
  EXPECT_EQ(list.position().column, 6);
  EXPECT_EQ(list.at(1).find("y").path(), "fabric.\xC3\xA9[1].y");
  EXPECT_EQ(list.at(1).find("y").position().column, 14);
  EXPECT_FALSE(doc->root().find("spines"));
}

TEST(Document, DuplicateKeysAreReportedAndReadingGoesOn) {
  EXPECT_EQ(
      parse_text("a: 1\nb: {c: 1, c: 2}\na: 2\n"),
      "f:2:11: error: duplicate key 'c', first given on line 2\nf:3:1: error: duplicate key 'a', first given on line 1\n");
}

TEST(Document, MergeKeysAreRefused) {
  EXPECT_EQ(parse_text("a: &a {x: 1}\nb:\n  <<: *a\n"),
            "f:3:3: error: merge keys (<<) are not supported (write the keys out, or refer to a preset by name)\n");
}

TEST(Document, AliasesAreCopies) {
  EXPECT_EQ(parse_text("a: &n {x: [1, 2]}\nb: *n\nc: [*n, 3]\n"), "{a: {x: [1, 2]}, b: {x: [1, 2]}, c: [{x: [1, 2]}, 3]}");
  EXPECT_EQ(parse_text("a: &n [1, *n]\n"), "f:1:11: error: the alias is inside the value it stands for\n");
  EXPECT_EQ(parse_text("a: *n\n"), "f:1:4: error: is not valid YAML: the referenced anchor is not defined\n");
  EXPECT_EQ(parse_text("? &k a\n: 1\n*k : 2\n"), "f:3:1: error: an alias cannot be a key\n");
}

// Nine levels of nine aliases stand for 9^9 = 387 million values.
TEST(Document, AliasesCannotGrowWithoutBound) {
  std::string text = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 9; ++i) {
    const std::string use = "*a" + std::to_string(i - 1);
    text += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [" + use;
    for (int k = 0; k < 8; ++k) text += ", " + use;
    text += "]\n";
  }
  EXPECT_NE(parse_text(text).find("more than 1000000 values"), std::string::npos);
}

TEST(Document, TagsDocumentsAndOddKeysAreRefused) {
  EXPECT_EQ(parse_text("a: !!int 3\n"),
            "f:1:4: error: tags are not supported: tag:yaml.org,2002:int (quote text that begins with !)\n");
  EXPECT_EQ(parse_text("a: 1\n---\nb: 1\n"),
            "f:2:1: error: a second document begins here (one document per file; check the indentation)\n");
  EXPECT_EQ(parse_text("? [a, b]\n: 1\n"),
            "f:1:3: error: a key must be text, not a list (close every bracket; quote text that begins with one)\n");
  EXPECT_EQ(parse_text("~: 1\n"), "f:1:1: error: a key is missing or null (quote a key named null or ~)\n");
}

TEST(Document, TabsDoNotIndent) {
  EXPECT_EQ(parse_text("a:\n\tb: 1\n"), "f:2:1: error: a tab is used for indentation (use spaces)\n");
  EXPECT_EQ(parse_text("a:\n  \tb: 1\n"), "f:2:3: error: a tab is used for indentation (use spaces)\n");
  EXPECT_EQ(parse_text("a:\t1\t# note\n\t\n\t# note\n"), "{a: 1}");
}

TEST(Document, BrokenSyntaxHasAPosition) {
  EXPECT_EQ(parse_text("a: b: c\n"), "f:1:5: error: is not valid YAML: illegal map value (quote text that contains ': ')\n");
  EXPECT_EQ(parse_text("a: 1\nb: \"x y\nc: 2\n"), "f:2:4: error: the quote is not closed\n");
  EXPECT_EQ(parse_text("a: 'it''s\n"), "f:1:4: error: the quote is not closed\n");
  EXPECT_EQ(parse_text("a: 'it''s'\nb: \"\\\"\"\n"), "{a: 'it's', b: '\"'}");
}

TEST(Document, NestingHasALimit) {
  EXPECT_EQ(parse_text(std::string(64, '[') + std::string(64, ']')).substr(0, 4), "[[[[");
  EXPECT_EQ(parse_text(std::string(65, '[') + std::string(65, ']')), "f:1:65: error: nested more than 64 levels deep\n");
  // 40 levels, of which an alias puts another 40 inside: 80 > 64.
  const std::string deep = std::string(40, '[') + "x" + std::string(40, ']');
  EXPECT_NE(
      parse_text("a: &a " + deep + "\nb: " + std::string(40, '[') + "*a" + std::string(40, ']')).find("nested more than 64"),
      std::string::npos);
}

TEST(Document, OnlyUtf8TextIsRead) {
  EXPECT_EQ(parse_text(std::string("a: 1\0", 5)), "f: error: is a binary file: it contains NUL bytes\n");
  EXPECT_EQ(parse_text("a: 1\nb: \xFF\n"), "f:2:4: error: is not UTF-8 text: byte 0xFF\n");
  EXPECT_EQ(parse_text("a: \xC0\xAF\n"), "f:1:4: error: is not UTF-8 text: byte 0xC0\n");      // overlong
  EXPECT_EQ(parse_text("a: \xED\xA0\x80\n"), "f:1:4: error: is not UTF-8 text: byte 0xED\n");  // a surrogate
  EXPECT_EQ(parse_text("a: \x1B[31m\n"), "f:1:4: error: contains the control character 0x1B\n");
  EXPECT_EQ(parse_text("\xFF\xFE"
                       "a"),
            "f: error: is UTF-16 text (save it as UTF-8)\n");
  EXPECT_EQ(parse_text("\xEF\xBB\xBF"
                       "a: \xE2\x82\xAC\r\nb: 2\r\n"),
            "{a: \xE2\x82\xAC, b: 2}");
}

TEST(Document, EmptyIsAnError) {
  for (const char* text : {"", " \n\t\n", "# only a comment\n", "---\n", "~\n"}) {
    EXPECT_EQ(parse_text(text), "f: error: is empty\n") << text;
  }
}

TEST(Document, FilesThatAreNoneAreRefused) {
  const auto load = [](const std::string& file) {
    Diagnostics d;
    EXPECT_FALSE(Document::load(file, d));
    return all_text(d);
  };
  EXPECT_EQ(load("/nonexistent/x.yaml"), "/nonexistent/x.yaml: error: no such file\n");
  EXPECT_EQ(load("/tmp"), "/tmp: error: is a directory, not a file\n");
  EXPECT_EQ(load("/dev/zero"), "/dev/zero: error: is a device, not a file\n");
}

TEST(Document, JsonHasPositionsToo) {
  Diagnostics d;
  const std::optional<Document> doc =
      Document::parse("{\n\t\"a\": [1, \"\xC3\xA9\", null],\n\t\"b\": {\"c\": true}}\n", "f", d, DocumentFormat::kJson);
  ASSERT_TRUE(doc) << all_text(d);
  EXPECT_EQ(tree_text(doc->root()), "{a: [1, '\xC3\xA9', null], b: {c: true}}");
  EXPECT_EQ(doc->root().find("a").at(2).position().column, 16);  // \t"a": [1, "e", null]
  EXPECT_EQ(doc->root().find("b").find("c").position().line, 3);
}

TEST(Document, JsonEscapesAreDecoded) {
  EXPECT_EQ(json(R"({"a": "\u00e9\n\/\\\"\ud83d\ude00"})"), "{a: '\xC3\xA9\n/\\\"\xF0\x9F\x98\x80'}");
}

TEST(Document, BrokenJsonHasAPosition) {
  EXPECT_EQ(json("{\"a\": 1,\n \"a\": 2}"), "f:2:2: error: duplicate key 'a', first given on line 1\n");
  EXPECT_EQ(json("{\"a\": [1,, 2]}").rfind("f:1:10: error: is not valid JSON: syntax error", 0), 0u)
      << json("{\"a\": [1,, 2]}");
  EXPECT_NE(json("{\"a\": 1e400}").find("number overflow"), std::string::npos);
  EXPECT_NE(json("{\"a\": NaN}").find("is not valid JSON"), std::string::npos);
  EXPECT_NE(json("{} x").find("f:1:4: error: is not valid JSON"), std::string::npos) << json("{} x");
  EXPECT_NE(json(std::string(100'000, '[')).find("is not valid JSON"), std::string::npos);
  EXPECT_NE(json(std::string(100'000, '[') + std::string(100'000, ']')).find("nested more than 64"), std::string::npos);
}

std::string after_set(const std::string& text, const std::vector<std::string>& assignments) {
  Diagnostics d;
  std::optional<Document> doc = Document::parse(text, "f", d);
  for (const std::string& a : assignments) doc->set(a, d);
  return d.items().empty() ? tree_text(doc->root()) : all_text(d);
}

TEST(DocumentSet, CreatesAndReplaces) {
  EXPECT_EQ(after_set("a: {b: 1}\n", {"a.b=2", "a.c=x y", "d.e.f=[1, 2]", "g='8'"}),
            "{a: {b: 2, c: x y}, d: {e: {f: [1, 2]}}, g: '8'}");
  EXPECT_EQ(after_set("a: {b: 1}\n", {"a=3"}), "{a: 3}");
  EXPECT_EQ(after_set("a:\n", {"a.b=1"}), "{a: {b: 1}}");
  EXPECT_EQ(after_set("a: 1\n", {"a=2", "a=3"}), "{a: 3}");
  EXPECT_EQ(after_set("a: 1\n", {"a=x=y"}), "{a: x=y}");
}

TEST(DocumentSet, IndexesLists) {
  EXPECT_EQ(after_set("jobs: [{tp: 1}, {tp: 2}]\n", {"jobs[0].tp=8", "jobs.1.tp=4"}), "{jobs: [{tp: 8}, {tp: 4}]}");
  EXPECT_EQ(after_set("a: [1]\n", {"a[1]=2"}), "{a: [1, 2]}");
  EXPECT_EQ(after_set("a: [1]\n", {"a[3]=2"}), "--set a[3]=2: error: a[3]: there is no element 3: the list has 1\n");
  EXPECT_EQ(after_set("a: [1]\n", {"a.b=2"}),
            "--set a.b=2: error: a.b: 'b' is not an index into a list (lists are counted from 0: jobs[0].tp)\n");
}

TEST(DocumentSet, LaysKeysOverANamedPreset) {
  Diagnostics d;
  std::optional<Document> doc = Document::parse("server: dgx-h100\n", "f", d);
  ASSERT_TRUE(doc->set("server.gpus=4", d) && doc->set("server.gpu.memory=40 GiB", d)) << all_text(d);
  const Node server = doc->root().find("server");
  EXPECT_EQ(server.text(), "dgx-h100");
  EXPECT_EQ(tree_text(server.overrides()), "{gpus: 4, gpu: {memory: 40 GiB}}");
}

TEST(DocumentSet, IsThePositionOfWhatItMade) {
  Diagnostics d;
  std::optional<Document> doc = Document::parse("a: {b: 1}\n", "f", d);
  doc->set("a.b=2", d);
  doc->set("a.c=3", d);
  const Node a = doc->root().find("a");
  EXPECT_EQ(a.position().file, "f");
  EXPECT_EQ(a.find("b").position().file, "--set a.b=2");
  EXPECT_EQ(a.find("b").position().line, 0);
  EXPECT_EQ(a.find("b").path(), "a.b");
  EXPECT_EQ(a.key_position(0).file, "f");
  EXPECT_EQ(a.key_position(1).file, "--set a.c=3");
}

TEST(DocumentSet, MalformedAssignmentsAreRefused) {
  const std::string form = ": error: an assignment has the form PATH=VALUE (for example --set fabric.spines=8)\n";
  EXPECT_EQ(after_set("a: 1\n", {"a"}), "--set a" + form);
  EXPECT_EQ(after_set("a: 1\n", {"=1"}), "--set =1" + form);
  EXPECT_EQ(after_set("a: 1\n", {"a="}), "--set a=" + form);
  const std::string keys = " is not a path (keys joined by dots: fabric.spines, jobs[0].tp)\n";
  EXPECT_EQ(after_set("a: 1\n", {"a..b=1"}), "--set a..b=1: error: 'a..b'" + keys);
  EXPECT_EQ(after_set("a: 1\n", {"a[0=1"}), "--set a[0=1: error: 'a[0'" + keys);
  EXPECT_EQ(after_set("a: 1\n", {"a=[1"}),
            "--set a=[1: error: a: a key must be text, not a list (close every bracket; quote text that begins with one)\n");
}

}  // namespace
}  // namespace lockstep
