// SPDX-License-Identifier: Apache-2.0
// Every kind of document the command line knows. A kind is added here and nowhere else.
#pragma once

#include <vector>

#include "base/document_kind.h"

namespace lockstep::cli {

[[nodiscard]] std::vector<DocumentKind> document_kinds();

}  // namespace lockstep::cli
