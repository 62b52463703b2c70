// SPDX-License-Identifier: Apache-2.0
#include "sim/engine/event_queue.h"

#include <gtest/gtest.h>

#include <numeric>
#include <tuple>

namespace lockstep {
namespace {

using Queue = EventQueue<int>;

std::vector<int> drain(Queue& q) {
  std::vector<int> out;
  while (!q.empty()) out.push_back(q.pop().payload);
  return out;
}

// Keys (2 ps), (1 ps, settle), (1 ps, end), (1 ps, end) in this order of pushing -> time first, then class, then sequence.
TEST(EventQueue, OrdersByTimeThenClassThenSequence) {
  Queue q;
  q.push(Instant::picos(2), EventClass::kEnd, 0);
  q.push(Instant::picos(1), EventClass::kSettle, 1);
  q.push(Instant::picos(1), EventClass::kEnd, 2);
  q.push(Instant::picos(1), EventClass::kEnd, 3);
  EXPECT_EQ(drain(q), (std::vector<int>{2, 3, 1, 0}));
}

// While settling at t, an end pushed at the same t comes before the next settle: class beats sequence also for "now".
TEST(EventQueue, PushedAtTheCurrentInstantStillObeysTheClass) {
  Queue q;
  q.push(Instant::picos(5), EventClass::kSettle, 0);
  q.push(Instant::picos(5), EventClass::kSettle, 1);
  EXPECT_EQ(q.pop().payload, 0);
  q.push(Instant::picos(5), EventClass::kEnd, 2);
  EXPECT_EQ(q.next_time(), Instant::picos(5));
  EXPECT_EQ(drain(q), (std::vector<int>{2, 1}));
}

// The queue runs dry at 5 ps; a push between 5 ps and the next known instant is found first.
TEST(EventQueue, AcceptsInstantsBetweenNowAndTheNextKnownOne) {
  Queue q;
  q.push(Instant::picos(5), EventClass::kEnd, 0);
  q.push(Instant::picos(9), EventClass::kEnd, 1);
  EXPECT_EQ(q.pop().payload, 0);
  EXPECT_EQ(q.next_time(), Instant::picos(9));
  q.push(Instant::picos(7), EventClass::kEnd, 2);
  q.push(Instant::picos(5), EventClass::kEnd, 3);
  EXPECT_EQ(drain(q), (std::vector<int>{3, 2, 1}));
  EXPECT_TRUE(q.next_time().is_never());
}

TEST(EventQueue, RefusesThePast) {
  Queue q;
  q.push(Instant::picos(5), EventClass::kEnd, 0);
  (void)q.pop();
  EXPECT_THROW(q.push(Instant::picos(4), EventClass::kEnd, 1), InternalError);
  EXPECT_THROW((void)q.pop(), InternalError);
}

// 100 events of one instant and class: a shuffled queue returns each once, in another order, the same order for the same seed.
TEST(EventQueue, ShufflesTiesReproduciblyAndLosesNothing) {
  const auto run = [](Queue q) {
    for (int i = 0; i < 100; ++i) q.push(Instant::picos(3), EventClass::kBegin, i);
    q.push(Instant::picos(3), EventClass::kSettle, 100);
    q.push(Instant::picos(4), EventClass::kEnd, 101);
    return drain(q);
  };
  std::vector<int> plain = run(Queue());
  std::vector<int> shuffled = run(Queue::shuffled(7));
  EXPECT_EQ(shuffled, run(Queue::shuffled(7)));
  EXPECT_NE(shuffled, run(Queue::shuffled(8)));
  EXPECT_NE(shuffled, plain);
  EXPECT_EQ(shuffled[100], 100);  // classes and instants keep their order
  EXPECT_EQ(shuffled[101], 101);
  std::sort(shuffled.begin(), shuffled.end());
  EXPECT_EQ(shuffled, plain);
}

// Against a plain sorted list of keys (time, class, sequence) over 20,000 pseudo-random pushes and pops on few instants.
TEST(EventQueue, EqualsASortedListOfKeys) {
  using Key = std::tuple<std::int64_t, int, int>;
  Queue q;
  std::vector<Key> expected;
  std::vector<Key> popped;
  for (int i = 0; i < 20'000; ++i) {
    const std::uint64_t r = random_u64(1, RandomStream::kTieShuffle, static_cast<std::uint64_t>(i));
    if (r % 5 < 3 || q.empty()) {
      const std::int64_t t = q.now().picos() + static_cast<std::int64_t>((r >> 8) % 7);
      const int c = static_cast<int>((r >> 16) % 3);
      q.push(Instant::picos(t), static_cast<EventClass>(c), i);
      expected.emplace_back(t, c, i);
    } else {
      const Queue::Event e = q.pop();
      const auto least = std::min_element(expected.begin(), expected.end());
      EXPECT_EQ(*least, Key(e.time.picos(), static_cast<int>(e.event_class), e.payload));
      expected.erase(least);
    }
  }
}

}  // namespace
}  // namespace lockstep
