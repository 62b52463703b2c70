// SPDX-License-Identifier: Apache-2.0
// Lists of different lengths in one flat array (compressed sparse rows), filled row by row.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace lockstep {

template <class T>
class Rows {
 public:
  void reserve(std::size_t rows, std::size_t items) {
    begin_.reserve(rows + 1);
    items_.reserve(items);
  }
  void push(const T& item) { items_.push_back(item); }
  void push_all(std::span<const T> items) { items_.insert(items_.end(), items.begin(), items.end()); }
  // What was pushed since the last call is one row.
  void end_row() { begin_.push_back(items_.size()); }

  [[nodiscard]] std::size_t size() const { return begin_.size() - 1; }
  [[nodiscard]] std::size_t item_count() const { return items_.size(); }
  [[nodiscard]] std::span<const T> items() const { return items_; }
  [[nodiscard]] T& item(std::size_t i) { return items_[i]; }
  [[nodiscard]] std::span<const T> operator[](std::size_t row) const {
    return {items_.data() + begin_[row], begin_[row + 1] - begin_[row]};
  }
  [[nodiscard]] std::span<T> operator[](std::size_t row) {
    return {items_.data() + begin_[row], begin_[row + 1] - begin_[row]};
  }

 private:
  std::vector<std::size_t> begin_{0};
  std::vector<T> items_;
};

}  // namespace lockstep
