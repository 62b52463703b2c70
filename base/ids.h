// SPDX-License-Identifier: Apache-2.0
// 32-bit strong ids that index vectors. `using LinkId = Id<struct LinkTag>;`
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>

namespace lockstep {

template <class Tag>
class Id {
 public:
  constexpr Id() = default;  // no id
  explicit constexpr Id(std::uint32_t v) : v_(v) {}
  [[nodiscard]] static constexpr Id from_index(std::size_t i) { return Id(static_cast<std::uint32_t>(i)); }
  [[nodiscard]] static constexpr Id none() { return Id(); }
  [[nodiscard]] constexpr bool is_none() const { return v_ == kNone; }
  [[nodiscard]] constexpr std::uint32_t value() const { return v_; }
  [[nodiscard]] constexpr std::size_t index() const { return v_; }
  constexpr auto operator<=>(const Id&) const = default;

 private:
  static constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();
  std::uint32_t v_ = kNone;
};

}  // namespace lockstep

template <class Tag>
struct std::hash<lockstep::Id<Tag>> {
  std::size_t operator()(lockstep::Id<Tag> id) const noexcept { return id.value(); }
};
