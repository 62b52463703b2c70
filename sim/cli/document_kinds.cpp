// SPDX-License-Identifier: Apache-2.0
#include "sim/cli/document_kinds.h"

namespace lockstep::cli {

std::vector<DocumentKind> document_kinds() {
  return {};
}

}  // namespace lockstep::cli
