// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <set>

#include "workloads/parallel/layout.h"
#include "workloads/schedule/pipeline_order.h"

namespace lockstep {
namespace {

std::vector<std::uint32_t> members(const ParallelLayout& layout, CommId comm) {
  std::vector<Rank> ranks;
  layout.members(comm, ranks);
  std::vector<std::uint32_t> out;
  for (const Rank r : ranks) out.push_back(r.value());
  return out;
}

// tp 2 x dp 3 x pp 2: rank = (pp x 3 + dp) x 2 + tp.
TEST(ParallelLayout, TensorParallelIsFastestAndPipelineSlowest) {
  const ParallelLayout layout({.tp = 2, .cp = 1, .dp = 3, .pp = 2});
  EXPECT_EQ(layout.world_size(), 12u);
  EXPECT_EQ(layout.rank_of({.tp = 1, .cp = 0, .dp = 2, .pp = 1}).value(), (1u * 3 + 2) * 2 + 1);
  const Coordinates c = layout.coordinates(Rank(7));
  EXPECT_EQ(c, (Coordinates{.tp = 1, .cp = 0, .dp = 0, .pp = 1}));
  EXPECT_EQ(members(layout, layout.comm(CommFamily::kTp, c)), (std::vector<std::uint32_t>{6, 7}));
  EXPECT_EQ(members(layout, layout.comm(CommFamily::kDpReduce, c)), (std::vector<std::uint32_t>{7, 9, 11}));
  EXPECT_EQ(members(layout, layout.comm(CommFamily::kTie, c)), (std::vector<std::uint32_t>{1, 7}));
}

// Groups of two of six replicas: replicas 0-1, 2-3, 4-5 shard together; the first of each hold equal shards, and so do the second.
TEST(ParallelLayout, ShardGroupsAreConsecutiveReplicasAndTheirLikesStandApart) {
  const ParallelLayout layout({.tp = 2, .dp = 6, .pp = 2, .shard_group = 2});
  const Coordinates c = layout.coordinates(Rank(12 + 2 * 3 + 1));  // stage 1, replica 3, second of tp
  EXPECT_EQ(members(layout, layout.comm(CommFamily::kDpGather, c)), (std::vector<std::uint32_t>{12 + 5, 12 + 7}));
  EXPECT_EQ(members(layout, layout.comm(CommFamily::kDpReduce, c)), (std::vector<std::uint32_t>{12 + 5, 12 + 7}));
  EXPECT_EQ(members(layout, layout.comm(CommFamily::kDpReplicate, c)), (std::vector<std::uint32_t>{12 + 3, 12 + 7, 12 + 11}));
}

// One group of all replicas is no group: the same communicators under the same numbers.
TEST(ParallelLayout, OneShardGroupIsNone) {
  const ParallelLayout all({.tp = 2, .dp = 6, .pp = 2});
  const ParallelLayout one({.tp = 2, .dp = 6, .pp = 2, .shard_group = 6});
  ASSERT_EQ(one.communicator_count(), all.communicator_count());
  for (std::uint32_t c = 0; c < all.communicator_count(); ++c) {
    EXPECT_EQ(members(one, CommId(c)), members(all, CommId(c)));
    EXPECT_EQ(one.family(CommId(c)), all.family(CommId(c)));
  }
}

// Every rank is in its own communicators, every communicator has the size of its family, members are in rank order, and the
// communicators of a family share no rank: for all small sizes, cp, shard groups and experts included.
TEST(ParallelLayout, CommunicatorsPartitionTheRanks) {
  for (std::uint32_t code = 0; code < 3 * 2 * 4 * 3 * 4 * 4 * 2; ++code) {
    ParallelLayout::Sizes sizes{.tp = 1 + code % 3,
                                .cp = 1 + code / 3 % 2,
                                .dp = 1 + code / 6 % 4,
                                .pp = 1 + code / 24 % 3,
                                .ep = 1 + code / 288 % 4,
                                .expert_tp = code / 1152,
                                .shard_group = code / 72 % 4};
    if (sizes.shard_group > 0 && sizes.dp * sizes.cp % sizes.shard_group != 0) continue;
    if (sizes.dp * sizes.cp * (sizes.expert_tp == 1 ? sizes.tp : 1) % sizes.ep != 0) continue;
    const ParallelLayout layout(sizes);
    std::vector<std::set<std::uint32_t>> seen(16);
    for (std::uint32_t c = 0; c < layout.communicator_count(); ++c) {
      const CommFamily family = layout.family(CommId(c));
      const std::vector<std::uint32_t> ranks = members(layout, CommId(c));
      EXPECT_EQ(ranks.size(), layout.comm_size(family));
      EXPECT_TRUE(std::is_sorted(ranks.begin(), ranks.end()));
      for (const std::uint32_t r : ranks) {
        EXPECT_TRUE(seen[static_cast<std::size_t>(family)].insert(r).second) << "rank " << r << " twice";
        EXPECT_EQ(layout.comm(family, layout.coordinates(Rank(r))), CommId(c));
      }
    }
    for (const CommFamily f : {CommFamily::kTp, CommFamily::kDpGather, CommFamily::kDpReduce, CommFamily::kDpReplicate,
                               CommFamily::kCp, CommFamily::kEp, CommFamily::kExpertGather, CommFamily::kExpertReduce}) {
      const bool is_absent = (f == CommFamily::kDpReplicate && layout.shard_groups() == 1) ||
                             (f == CommFamily::kCp && sizes.cp == 1) || (f == CommFamily::kEp && sizes.ep == 1) ||
                             (f >= CommFamily::kExpertGather && !layout.has_expert_groups());
      EXPECT_EQ(seen[static_cast<std::size_t>(f)].size(), is_absent ? 0 : layout.world_size());
    }
    for (std::uint32_t r = 0; r < layout.world_size(); ++r) EXPECT_EQ(layout.rank_of(layout.coordinates(Rank(r))), Rank(r));
  }
}

std::string order(const PipelineShape& shape, std::int64_t stage) {
  std::string text;
  for (std::int64_t i = 0; i < action_count(shape); ++i) {
    const PipelineAction a = pipeline_action(shape, stage, i);
    if (!text.empty()) text += ' ';
    text += "FBW"[static_cast<std::size_t>(a.pass)];
    if (shape.chunks > 1) text += static_cast<char>('a' + a.chunk);
    text += std::to_string(a.micro_batch);
  }
  return text;
}

// Four stages, five micro-batches (Narayanan et al. 2021, figure 4): stage 0 warms up with three forwards, the last with none.
TEST(PipelineOrder, PlainOneForwardOneBackward) {
  const PipelineShape shape{.stages = 4, .micro_batches = 5, .chunks = 1};
  EXPECT_EQ(order(shape, 0), "F0 F1 F2 F3 B0 F4 B1 B2 B3 B4");
  EXPECT_EQ(order(shape, 2), "F0 F1 B0 F2 B1 F3 B2 F4 B3 B4");
  EXPECT_EQ(order(shape, 3), "F0 B0 F1 B1 F2 B2 F3 B3 F4 B4");
}

// Two stages, two chunks, two micro-batches: chunk a of both, then chunk b; backward the other way round.
TEST(PipelineOrder, InterleavedGoesThroughChunksInGroups) {
  const PipelineShape shape{.stages = 2, .micro_batches = 2, .chunks = 2};
  EXPECT_EQ(order(shape, 0), "Fa0 Fa1 Fb0 Fb1 Bb0 Bb1 Ba0 Ba1");
  EXPECT_EQ(order(shape, 1), "Fa0 Fa1 Fb0 Bb0 Fb1 Bb1 Ba0 Ba1");
}

// In flight on stage i: min(m, p - i); on the first stage of an interleaved pipeline v p + p - 1 chunks, which is
// (1 + (p - 1)/(p v)) L layers.
TEST(PipelineOrder, PeakInFlightIsTheWarmUpAndOne) {
  EXPECT_EQ(peak_in_flight({.stages = 8, .micro_batches = 64, .chunks = 1}, 0), 8);
  EXPECT_EQ(peak_in_flight({.stages = 8, .micro_batches = 64, .chunks = 1}, 5), 3);
  EXPECT_EQ(peak_in_flight({.stages = 8, .micro_batches = 4, .chunks = 1}, 0), 4);
  EXPECT_EQ(peak_in_flight({.stages = 8, .micro_batches = 64, .chunks = 3}, 0), 3 * 8 + 7);
}

}  // namespace
}  // namespace lockstep
