// SPDX-License-Identifier: Apache-2.0
// Mutations of valid documents: reading never crashes and never throws, it gives a tree or errors, and every position it names is in
// the text. Mutations are drawn from (seed, case), so a failing case can be run again alone.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "base/config_library.h"
#include "base/random.h"
#include "sim/cli/document_kinds.h"
#include "tests/support/document_text.h"

namespace lockstep {
namespace {

// Pieces that mean something to YAML, JSON or the field tables.
const std::vector<std::string> kPieces = {":",
                                          ": ",
                                          "- ",
                                          "? ",
                                          "[",
                                          "]",
                                          "{",
                                          "}",
                                          ",",
                                          "\"",
                                          "'",
                                          "&a ",
                                          "*a",
                                          "<<: *a",
                                          "!",
                                          "!!int ",
                                          "|",
                                          ">",
                                          "|2\n",
                                          "#",
                                          "%",
                                          "@",
                                          "`",
                                          "---\n",
                                          "...\n",
                                          "\n",
                                          "\n  ",
                                          "\t",
                                          " ",
                                          "\r",
                                          "~",
                                          "null",
                                          "NO",
                                          "010",
                                          "0x1",
                                          "1e400",
                                          "-1",
                                          ".nan",
                                          "99999999999999999999",
                                          "400 Gbps",
                                          "kind: cluster\n",
                                          "\\",
                                          "\\u",
                                          "\\ud800",
                                          "\xC3\xA9",
                                          "\xFF",
                                          std::string(1, '\0'),
                                          "\xEF\xBB\xBF",
                                          "preset: ",
                                          "%YAML 1.2\n"};

class Draws {
 public:
  Draws(std::uint64_t seed, std::uint64_t entity) : seed_(seed), entity_(entity) {}
  std::size_t below(std::size_t n) { return random_below(n, seed_, RandomStream::kTieShuffle, entity_, draw_++); }

 private:
  std::uint64_t seed_;
  std::uint64_t entity_;
  std::uint32_t draw_ = 0;
};

std::string mutate(std::string text, Draws& draws) {
  const std::size_t count = 1 + draws.below(4);
  for (std::size_t k = 0; k < count && !text.empty(); ++k) {
    const std::size_t at = draws.below(text.size());
    const std::size_t length = std::min(draws.below(20) + 1, text.size() - at);
    switch (draws.below(5)) {
      case 0:
        text.insert(at, kPieces[draws.below(kPieces.size())]);
        break;
      case 1:
        text.replace(at, 1, kPieces[draws.below(kPieces.size())]);
        break;
      case 2:
        text.erase(at, length);
        break;
      case 3:
        text.insert(draws.below(text.size()), text.substr(at, length));
        break;
      default:
        text.resize(at);
        break;
    }
  }
  return text;
}

std::vector<std::size_t> line_lengths(const std::string& text) {
  std::vector<std::size_t> lengths(1, 0);
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\n' || (text[i] == '\r' && (i + 1 == text.size() || text[i + 1] != '\n'))) {
      lengths.push_back(0);
    } else {
      ++lengths.back();
    }
  }
  return lengths;
}

void expect_positions_inside(const Diagnostics& d, const std::string& text) {
  const std::vector<std::size_t> lengths = line_lengths(text);
  for (const Diagnostic& item : d.items()) {
    if (item.position.file != "fuzz" || item.position.line == 0) continue;
    const auto line = static_cast<std::size_t>(item.position.line);
    ASSERT_LE(line, lengths.size()) << to_text(item) << "\n" << text;
    ASSERT_GE(item.position.column, 1) << to_text(item) << "\n" << text;
    ASSERT_LE(static_cast<std::size_t>(item.position.column), lengths[line - 1] + 1) << to_text(item) << "\n" << text;
  }
}

// Reads `text` as every kind of document the command line knows.
void read_as_all_kinds(const std::string& text, DocumentFormat format, const ConfigLibrary& library) {
  Diagnostics d;
  const std::optional<Document> document = Document::parse(text, "fuzz", d, format);
  ASSERT_TRUE(document || d.has_errors()) << text;
  expect_positions_inside(d, text);
  if (!document) return;
  for (const DocumentKind& kind : cli::document_kinds()) {
    Diagnostics kind_errors;
    ReadContext context(kind_errors, &library);
    const bool is_good = kind.check(*document, context);
    ASSERT_TRUE(is_good || kind_errors.has_errors()) << kind.name << "\n" << text;
    expect_positions_inside(kind_errors, text);
  }
}

std::vector<std::string> shipped_documents() {
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(LOCKSTEP_TEST_CONFIGS)) {
    if (entry.path().extension() == ".yaml") files.push_back(entry.path().string());
  }
  std::sort(files.begin(), files.end());
  return files;
}

std::string content(const std::string& file) {
  std::ifstream in(file);
  return {std::istreambuf_iterator<char>(in), {}};
}

TEST(DocumentFuzz, MutatedConfigurationsGiveErrorsAndNothingWorse) {
  constexpr std::uint64_t kCasesPerFile = 300;
  const ConfigLibrary library({LOCKSTEP_TEST_CONFIGS});
  const std::vector<std::string> files = shipped_documents();
  ASSERT_FALSE(files.empty());
  for (std::size_t f = 0; f < files.size(); ++f) {
    const std::string text = content(files[f]);
    for (std::uint64_t i = 0; i < kCasesPerFile; ++i) {
      Draws draws(f, i);
      SCOPED_TRACE(files[f] + " case " + std::to_string(i));
      ASSERT_NO_THROW(read_as_all_kinds(mutate(text, draws), DocumentFormat::kYaml, library));
      if (HasFatalFailure()) return;
    }
  }
}

TEST(DocumentFuzz, ShortStringsOfSyntaxGiveErrorsAndNothingWorse) {
  const ConfigLibrary library({LOCKSTEP_TEST_CONFIGS});
  for (std::uint64_t i = 0; i < 20'000; ++i) {
    Draws draws(1000, i);
    std::string text;
    for (std::size_t k = 1 + draws.below(12); k > 0; --k) text += kPieces[draws.below(kPieces.size())];
    SCOPED_TRACE("case " + std::to_string(i) + ": " + text);
    ASSERT_NO_THROW(read_as_all_kinds(text, DocumentFormat::kYaml, library));
    ASSERT_NO_THROW(read_as_all_kinds(text, DocumentFormat::kJson, library));
    if (HasFatalFailure()) return;
  }
}

TEST(DocumentFuzz, MutatedJsonGivesErrorsAndNothingWorse) {
  const ConfigLibrary library({LOCKSTEP_TEST_CONFIGS});
  const std::string text =
      "{\n \"architectures\": [\"LlamaForCausalLM\"],\n \"hidden_size\": 4096, \"rope_theta\": 5e5,\n"
      " \"rope_scaling\": {\"factor\": 8.0, \"name\": \"\\u00e9\\ud83d\\ude00\\/\"}, \"tie\": false, \"x\": null\n}\n";
  for (std::uint64_t i = 0; i < 10'000; ++i) {
    Draws draws(2000, i);
    SCOPED_TRACE("case " + std::to_string(i));
    ASSERT_NO_THROW(read_as_all_kinds(mutate(text, draws), DocumentFormat::kJson, library));
    if (HasFatalFailure()) return;
  }
}

TEST(DocumentFuzz, RandomAssignmentsGiveErrorsAndNothingWorse) {
  const std::vector<std::string> steps = {"nodes", "server", "gpu", ".",      ".", ".",  "[0]",  "[1]",
                                          "[",     "]",      "0",   "fabric", "=", "=1", "=[1]", "={a: 1}"};
  for (std::uint64_t i = 0; i < 10'000; ++i) {
    Draws draws(3000, i);
    Diagnostics d;
    std::optional<Document> document = Document::parse("nodes: 3\nserver: x\nlist: [1, {a: 2}]\n", "fuzz", d);
    for (int k = 0; k < 3; ++k) {
      std::string assignment;
      for (std::size_t n = 1 + draws.below(8); n > 0; --n) assignment += steps[draws.below(steps.size())];
      const std::size_t errors = d.error_count();
      bool is_set = false;
      ASSERT_NO_THROW(is_set = document->set(assignment, d)) << assignment;
      ASSERT_EQ(is_set, d.error_count() == errors) << assignment;
    }
    ASSERT_FALSE(test::tree_text(document->root()).empty());
  }
}

}  // namespace
}  // namespace lockstep
