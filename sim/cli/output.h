// SPDX-License-Identifier: Apache-2.0
// Standard output that notices when it cannot be written: a full disk or a closed pipe throws OutputError instead of looking like
// success. Flush before it goes out of scope; the destructor drops what is left.
#pragma once

#include <array>
#include <atomic>
#include <ostream>
#include <stdexcept>
#include <streambuf>
#include <string>

namespace lockstep::cli {

// Whether an interrupted command goes on where it stopped when it is given again; said by the handler of SIGINT.
inline std::atomic<bool> goes_on_when_repeated{false};

class OutputError : public std::runtime_error {
 public:
  explicit OutputError(int error_number);
  [[nodiscard]] bool is_closed_pipe() const;

 private:
  int error_number_;
};

class DescriptorBuffer : public std::streambuf {
 public:
  explicit DescriptorBuffer(int descriptor);

 protected:
  int_type overflow(int_type c) override;
  int sync() override;

 private:
  void write_out();

  int descriptor_;
  std::array<char, 65536> bytes_;
};

class DescriptorStream : public std::ostream {
 public:
  explicit DescriptorStream(int descriptor);

 private:
  DescriptorBuffer buffer_;
};

}  // namespace lockstep::cli
