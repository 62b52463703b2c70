// SPDX-License-Identifier: Apache-2.0
// Reading a whole text file without trusting it: regular files and pipes only, a size limit before anything is parsed, UTF-8 without
// control characters.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "base/diagnostics.h"

namespace lockstep {

// The bytes of `file` ("-": stdin), or nothing and an error: missing, a directory, a device, unreadable, over `limit` bytes.
[[nodiscard]] std::optional<std::string> read_file(const std::string& file, std::size_t limit, Diagnostics& d);

// Drops a byte order mark and turns CR LF and CR into LF. Nothing and an error when `bytes` is no UTF-8 text (NUL, control characters,
// invalid sequences, UTF-16) or has nothing but white space.
[[nodiscard]] std::optional<std::string> clean_text(std::string_view bytes, const std::string& file, Diagnostics& d);

}  // namespace lockstep
