// SPDX-License-Identifier: Apache-2.0
// The books of links are linear: whatever is written in parts sums up to what is written at once, to the last bit.
#include "sim/network/transfer_ledger.h"

#include <gtest/gtest.h>

#include "sim/network/analytic_network.h"
#include "sim/network/flow_network.h"
#include "tests/support/network_fixtures.h"

namespace lockstep {
namespace {

using test::at;
using test::run;

const LinkId kLink(0);
// A prime, so that no quotient is exact.
const std::vector<Rate> kCapacity = {Rate::units(65'535'999'999'999'989)};

void deliver(TransferLedger& ledger, std::int64_t coefficient, std::int64_t weight, std::int64_t bytes) {
  const std::vector<LinkShare> shares = {{kLink, coefficient}};
  ledger.close(ledger.open({.shares = shares, .weight = weight, .bytes = bytes}));
}

// A third of 7 bytes three times is 7 bytes, not 3 x floor(7/3) = 6; what is left of a byte shows when it is whole.
TEST(TransferLedger, AddsPartsOfBytesExactly) {
  TransferLedger ledger(kCapacity);
  deliver(ledger, 1, 3, 7);
  EXPECT_EQ(ledger.usage(kLink, at(0)).bytes, 2);
  deliver(ledger, 1, 3, 7);
  EXPECT_EQ(ledger.usage(kLink, at(0)).bytes, 4);
  deliver(ledger, 1, 3, 7);
  EXPECT_EQ(ledger.usage(kLink, at(0)).bytes, 7);
}

// 1/3 + 1/4 + 1/6 + 1/4 = 1: every new weight makes the unit finer, 1/3, 1/12, 1/12 of a byte.
TEST(TransferLedger, AddsPartsOfDifferentWeightsExactly) {
  TransferLedger ledger(kCapacity);
  deliver(ledger, 1, 3, 1);
  deliver(ledger, 1, 4, 1);
  deliver(ledger, 1, 6, 1);
  EXPECT_EQ(ledger.usage(kLink, at(0)).bytes, 0);
  deliver(ledger, 1, 4, 1);
  EXPECT_EQ(ledger.usage(kLink, at(0)).bytes, 1);
}

// 4 EB at weight 2^20 + 7 and then 1 byte at 2^21 + 17, both prime: 2^62 x 2^41 needs 103 bits. A unit beyond int64 is refused.
TEST(TransferLedger, KeepsExabytesInFineUnits) {
  constexpr std::int64_t kLarge = std::int64_t{1} << 62;
  TransferLedger ledger(kCapacity);
  deliver(ledger, 1'048'583, 1'048'583, kLarge);
  deliver(ledger, 2'097'169, 2'097'169, 1);
  EXPECT_EQ(ledger.usage(kLink, at(0)).bytes, kLarge + 1);
  EXPECT_THROW(deliver(ledger, 1, 8'388'617, 1), InternalError);
}

// A load of 3 x 1/7 of the capacity for 1,000,003 ps, noted every 101 ps and once.
TEST(TransferLedger, AddsSpansOfUseExactly) {
  const std::int64_t load = kCapacity[0].units() / 7 * 3;
  TransferLedger once(kCapacity);
  TransferLedger often(kCapacity);
  once.set_load(kLink, load, at(0));
  for (std::int64_t ps = 0; ps < 1'000'003; ps += 101) often.set_load(kLink, load, at(ps));
  EXPECT_EQ(once.usage(kLink, at(1'000'003)).busy_s, often.usage(kLink, at(1'000'003)).busy_s);
  EXPECT_NEAR(once.usage(kLink, at(1'000'003)).busy_s, 3.0 / 7 * 1'000'003e-12, 1e-20);
}

// Half the capacity for 100 ps is 50 ps of full use; the same load after the capacity halved is 100 ps more. Nothing at capacity 0.
TEST(TransferLedger, CountsUseAgainstTheCapacityOfTheTime) {
  TransferLedger ledger(std::vector<Rate>{Rate::units(1000)});
  ledger.set_load(kLink, 500, at(0));
  ledger.set_capacity(kLink, 500, at(100));
  EXPECT_DOUBLE_EQ(ledger.usage(kLink, at(200)).busy_s, 150e-12);
  ledger.set_load(kLink, 0, at(200));
  ledger.set_capacity(kLink, 0, at(200));
  EXPECT_DOUBLE_EQ(ledger.usage(kLink, at(1000)).busy_s, 150e-12);
}

// One transfer with coefficient 3 and three with coefficient 1, on a link that another one joins at 100 ps and that slows down at
// 150 ps: levels are floor(capacity / 3), then floor(capacity / 4), then less.
template <class Model>
LinkUsage use(std::int64_t copies, std::int64_t coefficient) {
  const std::vector<LinkShare> shares = {{kLink, coefficient}};
  const std::vector<LinkShare> other = {{kLink, 1}};
  Model net(kCapacity);
  std::vector<Completion> out;
  for (std::int64_t i = 0; i < copies; ++i) net.start(at(0), {.shares = shares, .weight = 7, .bytes = 10'030});
  net.settle(at(0));
  net.advance(at(100), out);
  net.start(at(100), {.shares = other, .weight = 7, .bytes = 1700});
  net.settle(at(100));
  net.advance(at(150), out);
  net.set_capacity(at(150), kLink, Rate::units(kCapacity[0].units() / 11 * 5));
  net.settle(at(150));
  run(net);
  return net.usage(kLink, at(1'000'000));
}

TEST(TransferLedger, OneFlowStandsForThreeEqualOnes) {
  const LinkUsage one = use<FlowNetwork>(1, 3);
  const LinkUsage three = use<FlowNetwork>(3, 1);
  EXPECT_EQ(one.bytes, (3 * 10'030 + 1700) / 7);
  EXPECT_EQ(one.bytes, three.bytes);
  EXPECT_EQ(one.busy_s, three.busy_s);
}

// Without contention they move at different rates, but the bytes are the same.
TEST(TransferLedger, OneUncontendedTransferCarriesTheBytesOfThree) {
  EXPECT_EQ(use<AnalyticNetwork>(1, 3).bytes, (3 * 10'030 + 1700) / 7);
  EXPECT_EQ(use<AnalyticNetwork>(3, 1).bytes, (3 * 10'030 + 1700) / 7);
}

// 1000 bytes at 1 byte/ps end at 1000 ps, when the link slows down: 1000 ps of full use, whatever is called first.
TEST(TransferLedger, WhatEndsWithAChangeCountsAgainstTheOldCapacity) {
  AnalyticNetwork net(std::vector<Rate>{test::kBytePerPico});
  std::vector<Completion> out;
  net.start(at(0), {.shares = test::kLink0, .bytes = 1000});
  net.set_capacity(at(1000), kLink, Rate::units(test::kBytePerPico.units() / 4));
  net.advance(at(1000), out);
  EXPECT_EQ(out.size(), 1u);
  EXPECT_DOUBLE_EQ(net.usage(kLink, at(1000)).busy_s, 1000e-12);
}

}  // namespace
}  // namespace lockstep
