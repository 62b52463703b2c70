// SPDX-License-Identifier: Apache-2.0
#include "base/write_file.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <utility>

namespace lockstep {
namespace {

constexpr std::size_t kBufferBytes = 1 << 16;

[[noreturn]] void fail(const std::string& what) {
  throw StorageError(fmt::format("cannot write {}: {}", what, std::strerror(errno)));
}

// A rename is on the disk when its folder is. Not every file system can do that; then the rename is still whole.
void sync_folder(const std::string& file) {
  const std::filesystem::path folder = std::filesystem::path(file).parent_path();
  const int descriptor = ::open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return;
  ::fsync(descriptor);
  ::close(descriptor);
}

// The file behind symbolic links, which stay: a rename would take the place of a link.
std::string behind_links(std::string file) {
  std::error_code error;
  if (!std::filesystem::is_symlink(file, error) || !std::filesystem::is_regular_file(file, error)) return file;
  const std::filesystem::path real = std::filesystem::canonical(file, error);
  return error ? file : real.string();
}

// What exists and is no regular file, also behind symbolic links: a rename would take its place.
bool is_device_or_pipe(const std::string& file) {
  std::error_code error;
  const std::filesystem::file_status status = std::filesystem::status(file, error);
  return std::filesystem::exists(status) && !std::filesystem::is_regular_file(status) && !std::filesystem::is_directory(status);
}

}  // namespace

WholeFile::WholeFile(std::string file)
    : file_(behind_links(std::move(file))),
      temporary_(is_device_or_pipe(file_) ? std::string() : fmt::format("{}.{}.part", file_, ::getpid())) {
  descriptor_ = temporary_.empty() ? ::open(file_.c_str(), O_WRONLY | O_CLOEXEC)
                                   : ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (descriptor_ < 0) fail(file_);
}

WholeFile::~WholeFile() {
  if (descriptor_ < 0) return;
  ::close(descriptor_);
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

void WholeFile::write(std::string_view bytes) {
  buffer_ += bytes;
  if (buffer_.size() >= kBufferBytes) flush();
}

void WholeFile::flush() {
  std::string_view rest = buffer_;
  while (!rest.empty()) {
    const ssize_t count = ::write(descriptor_, rest.data(), rest.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) fail(file_);
    rest.remove_prefix(static_cast<std::size_t>(count));
  }
  buffer_.clear();
}

void WholeFile::commit() {
  flush();
  if (temporary_.empty()) {
    if (::close(std::exchange(descriptor_, -1)) != 0) fail(file_);
    return;
  }
  if (::fsync(descriptor_) != 0) fail(file_);
  const int descriptor = descriptor_;
  descriptor_ = -1;
  if (::close(descriptor) != 0 || std::rename(temporary_.c_str(), file_.c_str()) != 0) {
    const int error = errno;
    ::unlink(temporary_.c_str());
    errno = error;
    fail(file_);
  }
  sync_folder(file_);
}

void make_folder(const std::string& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) throw StorageError(fmt::format("cannot make the folder {}: {}", folder, error.message()));
}

}  // namespace lockstep
