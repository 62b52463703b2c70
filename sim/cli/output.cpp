// SPDX-License-Identifier: Apache-2.0
#include "sim/cli/output.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace lockstep::cli {

OutputError::OutputError(int error_number)
    : std::runtime_error(std::string("cannot write to standard output: ") + std::strerror(error_number)),
      error_number_(error_number) {}

bool OutputError::is_closed_pipe() const { return error_number_ == EPIPE; }

DescriptorBuffer::DescriptorBuffer(int descriptor) : descriptor_(descriptor) {
  setp(bytes_.data(), bytes_.data() + bytes_.size());
}

DescriptorBuffer::int_type DescriptorBuffer::overflow(int_type c) {
  write_out();
  if (!traits_type::eq_int_type(c, traits_type::eof())) {
    *pptr() = traits_type::to_char_type(c);
    pbump(1);
  }
  return traits_type::not_eof(c);
}

int DescriptorBuffer::sync() {
  write_out();
  return 0;
}

void DescriptorBuffer::write_out() {
  const char* at = pbase();
  while (at < pptr()) {
    const ssize_t count = ::write(descriptor_, at, static_cast<std::size_t>(pptr() - at));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) {
      const int error = errno;
      setp(bytes_.data(), bytes_.data() + bytes_.size());
      throw OutputError(error);
    }
    at += count;
  }
  setp(bytes_.data(), bytes_.data() + bytes_.size());
}

DescriptorStream::DescriptorStream(int descriptor) : std::ostream(nullptr), buffer_(descriptor) {
  rdbuf(&buffer_);
  exceptions(std::ios::badbit);
}

}  // namespace lockstep::cli
