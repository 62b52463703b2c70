// SPDX-License-Identifier: Apache-2.0
// Runs the built lockstep as a user would, for tests of what it prints and how it ends.
#pragma once

#include <sys/wait.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include <gtest/gtest.h>

namespace lockstep::test {

struct Ended {
  int code = -1;  // the exit code, or 1000 + the signal that killed it
  std::string out;
  std::string err;
};

// A folder of its own for one test, removed with it. Commands run in it, so messages show the bare names of files.
class Sandbox {
 public:
  Sandbox() {
    const testing::TestInfo* test = testing::UnitTest::GetInstance()->current_test_info();
    std::string name = std::string("lockstep-") + test->test_suite_name() + "-" + test->name();
    for (char& c : name) c = c == '/' ? '-' : c;
    folder_ = std::filesystem::temp_directory_path() / name;
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
  }
  Sandbox(const Sandbox&) = delete;
  Sandbox& operator=(const Sandbox&) = delete;
  ~Sandbox() { std::filesystem::remove_all(folder_); }

  void write(const std::string& file, const std::string& text) const { std::ofstream(folder_ / file) << text; }

  // `command` is for the shell; $L is the binary. Output that the command does not redirect is collected.
  [[nodiscard]] Ended run(const std::string& command) const {
    write("command.sh", "export LC_ALL=C L='" LOCKSTEP_BINARY "'\n" + command + "\n");
    const std::string shell = "cd '" + folder_.string() + "' && sh ./command.sh > stdout.txt 2> stderr.txt < /dev/null";
    const int status = std::system(shell.c_str());
    Ended ended{WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status), text_of("stdout.txt"),
                text_of("stderr.txt")};
    return ended;
  }

 private:
  [[nodiscard]] std::string text_of(const std::string& file) const {
    std::ifstream in(folder_ / file);
    return {std::istreambuf_iterator<char>(in), {}};
  }

  std::filesystem::path folder_;
};

}  // namespace lockstep::test
