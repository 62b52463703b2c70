// SPDX-License-Identifier: Apache-2.0
// Random systems of links and entities for the tests of the solver and of the flow network.
#pragma once

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <sstream>
#include <vector>

#include "topology/routing/router.h"

namespace lockstep::test {

// A property with at least `successes` random cases; RC_PARAMS may ask for more or fix the seed.
template <class Property>
void check_property(int successes, Property property) {
  rc::detail::TestParams params = rc::detail::configuration().testParams;
  params.maxSuccess = std::max(params.maxSuccess, successes);
  rc::detail::TestMetadata metadata;
  metadata.description = ::testing::UnitTest::GetInstance()->current_test_info()->name();
  const rc::detail::TestResult result = rc::detail::checkProperty(rc::detail::toProperty(property), metadata, params);
  if (result.is<rc::detail::SuccessResult>()) return;
  std::ostringstream text;
  rc::detail::printResultMessage(result, text);
  FAIL() << text.str() << "\nRC_PARAMS=\"seed=" << params.seed << "\"";
}

// Capacities a solver meets: dead links, a few units, thirds and sevenths of round rates, up to 800 Gbit/s.
inline rc::Gen<std::int64_t> any_capacity() {
  return rc::gen::weightedOneOf<std::int64_t>({
      {1, rc::gen::just<std::int64_t>(0)},
      {4, rc::gen::inRange<std::int64_t>(1, 40)},
      {3, rc::gen::map(rc::gen::inRange<std::int64_t>(1, 801), [](std::int64_t g) { return Rate::gbps(g).units(); })},
      {2, rc::gen::map(rc::gen::inRange<std::int64_t>(1, 25), [](std::int64_t g) { return Rate::gbps(100).units() / 3 * g; })},
      {2, rc::gen::element<std::int64_t>(Rate::gbps(100).units() / 7, Rate::gbps(400).units(), Rate::gbps(800).units())},
  });
}

// One to `most` distinct links out of `links`, each with weight x multiplicity.
inline std::vector<LinkShare> random_shares(std::size_t links, std::size_t most) {
  const auto count = *rc::gen::inRange<std::size_t>(1, most + 1);
  const std::int64_t weight = *rc::gen::weightedElement<std::int64_t>({{6, 1}, {2, 2}, {1, 3}, {1, 16}, {1, 4096}});
  std::vector<LinkShare> shares;
  for (std::size_t i = 0; i < count; ++i) {
    const LinkId link = LinkId::from_index(*rc::gen::inRange<std::size_t>(0, links));
    const auto same = [link](const LinkShare& s) { return s.link == link; };
    if (std::any_of(shares.begin(), shares.end(), same)) continue;
    const std::int64_t members = *rc::gen::weightedElement<std::int64_t>({{6, 1}, {2, 2}, {1, 7}});
    shares.push_back({link, weight * members});
  }
  std::sort(shares.begin(), shares.end());
  return shares;
}

}  // namespace lockstep::test
