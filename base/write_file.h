// SPDX-License-Identifier: Apache-2.0
// Files that are whole or not there: written beside their place, put on the disk, then renamed. A reader sees the old file or the new one,
// also when the writer is killed or the power fails.
// Devices and pipes, like /dev/stdout, are written in place: nothing is renamed over them.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

namespace lockstep {

// What cannot be written or kept: a full disk, a folder without permission, a damaged store.
class StorageError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

class WholeFile {
 public:
  explicit WholeFile(std::string file);  // throws StorageError, as all functions here
  WholeFile(const WholeFile&) = delete;
  WholeFile& operator=(const WholeFile&) = delete;
  ~WholeFile();  // without commit(): nothing has happened

  void write(std::string_view bytes);
  void commit();

 private:
  void flush();

  std::string file_;
  std::string temporary_;  // empty: written in place
  std::string buffer_;
  int descriptor_ = -1;
};

// Makes a folder and those above it.
void make_folder(const std::string& folder);

}  // namespace lockstep
