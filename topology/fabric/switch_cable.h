// SPDX-License-Identifier: Apache-2.0
// A cable between two switches of a fabric that is no folded Clos. Switches are numbered from 0; cable c is the directed links
// 2c (from > to) and 2c + 1 (to > from).
#pragma once

#include <cstdint>

#include "topology/link.h"

namespace lockstep {

struct SwitchCable {
  std::uint32_t from = 0;
  std::uint32_t to = 0;
  std::uint32_t sort = 0;  // into the list of CableSorts
};

struct CableSort {
  Wire wire = {};
  LinkTier tier = LinkTier::kSwitch;
};

}  // namespace lockstep
