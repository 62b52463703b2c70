// SPDX-License-Identifier: Apache-2.0
// Independent pieces of work on several threads.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace lockstep {

// Calls work(i) for i < count on several threads. What one of them throws stops all and is thrown here.
template <class Work>
void in_parallel(std::size_t count, std::size_t threads, const Work& work) {
  std::atomic<std::size_t> next = 0;
  std::mutex mutex;
  std::exception_ptr thrown;
  const auto take = [&] {
    try {
      for (std::size_t i = next++; i < count; i = next++) work(i);
    } catch (...) {
      next = count;
      const std::lock_guard lock(mutex);
      if (!thrown) thrown = std::current_exception();
    }
  };
  {
    std::vector<std::jthread> others;
    for (std::size_t t = 1; t < std::min(threads, count); ++t) others.emplace_back(take);
    take();
  }
  if (thrown) std::rethrow_exception(thrown);
}

}  // namespace lockstep
