// SPDX-License-Identifier: Apache-2.0
#include "base/text_file.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

namespace lockstep {
namespace {

class FileDescriptor {
 public:
  explicit FileDescriptor(int fd, bool is_owned) : fd_(fd), is_owned_(is_owned) {}
  FileDescriptor(const FileDescriptor&) = delete;
  FileDescriptor& operator=(const FileDescriptor&) = delete;
  ~FileDescriptor() {
    if (is_owned_ && fd_ >= 0) ::close(fd_);
  }
  [[nodiscard]] int value() const { return fd_; }

 private:
  int fd_;
  bool is_owned_;
};

std::string what_it_is(mode_t mode) {
  if (S_ISDIR(mode)) return "is a directory, not a file";
  if (S_ISCHR(mode) || S_ISBLK(mode)) return "is a device, not a file";
  if (S_ISSOCK(mode)) return "is a socket, not a file";
  return {};
}

// Length of the valid UTF-8 sequence at `text[i]`, or 0. Overlong forms, surrogates and values above U+10FFFF are invalid.
std::size_t utf8_length(std::string_view text, std::size_t i) {
  const auto byte = [&](std::size_t k) { return k < text.size() ? static_cast<unsigned char>(text[k]) : 0u; };
  const unsigned lead = byte(i);
  if (lead < 0x80) return 1;
  const std::size_t length = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  if (lead < 0xC2 || lead > 0xF4) return 0;
  unsigned code = lead & (0x7Fu >> length);
  for (std::size_t k = 1; k < length; ++k) {
    if ((byte(i + k) & 0xC0u) != 0x80u) return 0;
    code = (code << 6) | (byte(i + k) & 0x3Fu);
  }
  constexpr std::array<unsigned, 5> kLowest = {0, 0, 0x80, 0x800, 0x10000};
  const bool is_surrogate = code >= 0xD800 && code <= 0xDFFF;
  return code < kLowest[length] || code > 0x10FFFF || is_surrogate ? 0 : length;
}

}  // namespace

std::optional<std::string> read_file(const std::string& file, std::size_t limit, Diagnostics& d) {
  const bool is_stdin = file == "-";
  const Position position{is_stdin ? "stdin" : file, 0, 0};
  const FileDescriptor fd(is_stdin ? STDIN_FILENO : ::open(file.c_str(), O_RDONLY | O_CLOEXEC), !is_stdin);
  if (fd.value() < 0) {
    const int error = errno;
    d.error(position, {}, error == ENOENT ? "no such file" : fmt::format("cannot be opened: {}", std::strerror(error)));
    return std::nullopt;
  }
  struct stat status = {};
  if (::fstat(fd.value(), &status) == 0) {
    const std::string other = what_it_is(status.st_mode);
    if (!other.empty() && !is_stdin) {
      d.error(position, {}, other);
      return std::nullopt;
    }
  }
  std::string bytes;
  std::array<char, 65536> buffer;
  while (true) {
    const ssize_t count = ::read(fd.value(), buffer.data(), buffer.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) {
      d.error(position, {}, fmt::format("cannot be read: {}", std::strerror(errno)));
      return std::nullopt;
    }
    if (count == 0) return bytes;
    bytes.append(buffer.data(), static_cast<std::size_t>(count));
    if (bytes.size() > limit) {
      d.error(position, {}, fmt::format("is larger than {} MiB, the limit for a document", limit >> 20),
              "is this the right file?");
      return std::nullopt;
    }
  }
}

std::optional<std::string> clean_text(std::string_view bytes, const std::string& file, Diagnostics& d) {
  const auto refuse = [&](int line, int column, std::string message, std::string hint = {}) {
    d.error({file, line, column}, {}, std::move(message), std::move(hint));
    return std::nullopt;
  };
  if (bytes.starts_with("\xEF\xBB\xBF")) bytes.remove_prefix(3);
  if (bytes.starts_with("\xFF\xFE") || bytes.starts_with("\xFE\xFF")) {
    return refuse(0, 0, "is UTF-16 text", "save it as UTF-8");
  }
  if (bytes.find('\0') != std::string_view::npos) return refuse(0, 0, "is a binary file: it contains NUL bytes");
  std::string text;
  text.reserve(bytes.size());
  int line = 1;
  int column = 1;
  bool is_blank = true;
  for (std::size_t i = 0; i < bytes.size();) {
    const auto c = static_cast<unsigned char>(bytes[i]);
    const std::size_t length = utf8_length(bytes, i);
    if (length == 0) return refuse(line, column, fmt::format("is not UTF-8 text: byte 0x{:02X}", c));
    if ((c < 0x20 && c != '\t' && c != '\n' && c != '\r') || c == 0x7F) {
      return refuse(line, column, fmt::format("contains the control character 0x{:02X}", c));
    }
    if (c == '\n' || c == '\r') {
      text += '\n';
      ++line;
      column = 1;
      i += bytes.substr(i).starts_with("\r\n") ? 2u : 1u;
      continue;
    }
    is_blank = is_blank && (c == ' ' || c == '\t');
    text.append(bytes.substr(i, length));
    i += length;
    ++column;
  }
  if (is_blank) return refuse(0, 0, "is empty");
  return text;
}

}  // namespace lockstep
