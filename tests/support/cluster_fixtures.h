// SPDX-License-Identifier: Apache-2.0
// Clusters from text, with the shipped hardware at hand.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/config_library.h"
#include "base/field_table.h"
#include "topology/cluster_spec.h"

namespace lockstep::test {

struct ReadCluster {
  ClusterSpec spec;
  std::vector<std::string> messages;  // errors and warnings, as printed
  bool is_good = false;
};

// `text` goes into a file called c.yaml; `sets` are applied after it.
inline ReadCluster read_cluster(const std::string& text, const std::vector<std::string>& sets = {}) {
  const ConfigLibrary library({LOCKSTEP_TEST_CONFIGS});
  Diagnostics d;
  ReadCluster result;
  std::optional<Document> document = Document::parse(text, "c.yaml", d);
  if (document) {
    for (const std::string& s : sets) document->set(s, d);
    ReadContext context(d, &library);
    cluster_fields().read_document(*document, result.spec, context);
  }
  for (const Diagnostic& item : d.items()) result.messages.push_back(to_text(item));
  result.is_good = !d.has_errors();
  return result;
}

// A shipped cluster by name.
inline ClusterSpec shipped_cluster(const std::string& name, const std::vector<std::string>& sets = {}) {
  const ConfigLibrary library({LOCKSTEP_TEST_CONFIGS});
  Diagnostics d;
  ClusterSpec spec;
  std::optional<Document> document = library.open("cluster", name, {"test", 0, 0}, {}, d);
  if (document) {
    for (const std::string& s : sets) document->set(s, d);
    ReadContext context(d, &library);
    cluster_fields().read_document(*document, spec, context);
  }
  for (const Diagnostic& item : d.items()) ADD_FAILURE() << to_text(item);
  return spec;
}

}  // namespace lockstep::test
