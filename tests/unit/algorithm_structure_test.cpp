// SPDX-License-Identifier: Apache-2.0
// Who talks with whom in a collective algorithm, against definitions and a chunk interpreter that know nothing of costs.
#include <gtest/gtest.h>

#include <bit>
#include <map>
#include <set>

#include "workloads/collectives/halving_doubling.h"
#include "workloads/collectives/tree.h"

namespace lockstep {
namespace {

// Every position but one has a parent, following parents ends at that one (no cycles: a spanning tree), no position has more than two
// children, and who has children in one tree has none in the other. Depth is that of a balanced tree, floor(log2 n).
TEST(DoubleTree, IsTwoSpanningTreesWithAtMostOneInnerRoleEach) {
  for (std::uint32_t n = 1; n <= 130; ++n) {
    std::vector<int> inner(n, 0);
    for (const bool is_second : {false, true}) {
      const std::vector<std::uint32_t> parent = binary_tree(n, is_second);
      ASSERT_EQ(parent.size(), n);
      std::vector<int> children(n, 0);
      int roots = 0;
      int depth = 0;
      for (std::uint32_t i = 0; i < n; ++i) {
        if (parent[i] == n) {
          ++roots;
        } else {
          ASSERT_LT(parent[i], n);
          ++children[parent[i]];
        }
        int steps = 0;
        for (std::uint32_t at = i; parent[at] != n; at = parent[at]) ASSERT_LE(++steps, static_cast<int>(n));
        depth = std::max(depth, steps);
      }
      EXPECT_EQ(roots, 1) << n;
      EXPECT_EQ(depth, static_cast<int>(std::bit_width(n)) - 1) << n;
      for (std::uint32_t i = 0; i < n; ++i) {
        EXPECT_LE(children[i], 2) << n;
        if (children[i] > 0) ++inner[i];
      }
    }
    for (std::uint32_t i = 0; i < n; ++i) EXPECT_LE(inner[i], 1) << "position " << i << " of " << n;
  }
}

// Plays a list of stages with blocks. A rank holds for each block the set of ranks whose part is in it. What a rank answers for (`mine`)
// halves with a partner that answers for the same, or joins with one that answers for something else.
class ChunkPlayer {
 public:
  using Parts = std::set<std::uint32_t>;
  struct State {
    std::set<std::uint32_t> mine;          // blocks
    std::map<std::uint32_t, Parts> parts;  // of blocks
  };

  // blocks of S; every rank begins with its own part of all of them, or (gather) with its own block whole.
  ChunkPlayer(std::uint32_t n, std::uint32_t blocks, bool gathers) : blocks_(blocks), ranks_(n) {
    Parts all;
    for (std::uint32_t r = 0; r < n; ++r) all.insert(r);
    for (std::uint32_t r = 0; r < n; ++r) {
      for (std::uint32_t b = 0; b < blocks; ++b) {
        if (gathers && b != r) continue;
        ranks_[r].mine.insert(b);
        ranks_[r].parts[b] = gathers ? all : Parts{r};
      }
    }
  }

  void play(const ExchangeStage& stage, const std::vector<Exchange>& flows) {
    const std::vector<State> before = ranks_;
    for (const Exchange& x : flows) {
      const bool is_mutual = stage.form != RouteForm::kFold && stage.form != RouteForm::kUnfold;
      std::set<std::uint32_t> sent = before[x.from].mine;
      if (is_mutual && stage.reduces) {
        ASSERT_EQ(before[x.from].mine, before[x.to].mine) << x.from << " and " << x.to << " halve different things";
        sent = half(before[x.from].mine, x.to > x.from);
        for (const std::uint32_t b : half(before[x.to].mine, x.to < x.from)) ranks_[x.to].mine.erase(b);
      }
      EXPECT_EQ(sent.size() << stage.halvings, blocks_) << "bytes of the stage are not what is sent";
      for (const std::uint32_t b : sent) {
        Parts& to = ranks_[x.to].parts[b];
        const Parts& from = before[x.from].parts.at(b);
        if (stage.reduces) {
          for (const std::uint32_t p : from) EXPECT_TRUE(to.insert(p).second) << "the part of " << p << " is added twice";
        } else {
          EXPECT_FALSE(is_mutual && before[x.to].mine.count(b) > 0) << "block " << b << " arrives twice";
          to = from;
          ranks_[x.to].mine.insert(b);
        }
      }
    }
  }
  [[nodiscard]] const State& rank(std::uint32_t r) const { return ranks_[r]; }

 private:
  static std::set<std::uint32_t> half(const std::set<std::uint32_t>& all, bool upper) {
    std::set<std::uint32_t> out;
    std::size_t i = 0;
    for (const std::uint32_t b : all) {
      if ((2 * i++ >= all.size()) == upper) out.insert(b);
    }
    return out;
  }
  std::uint32_t blocks_;
  std::vector<State> ranks_;
};

// all_reduce of any n: every rank ends with the parts of all ranks in every block, each added once.
TEST(HalvingDoubling, AllReduceAddsEveryPartOnce) {
  for (std::uint32_t n = 2; n <= 36; ++n) {
    const std::uint32_t blocks = std::bit_floor(n);
    ChunkPlayer player(n, blocks, false);
    for (const ExchangeStage& s : exchange_stages(CollectiveKind::kAllReduce, n)) player.play(s, exchanges(s.form, n));
    for (std::uint32_t r = 0; r < n; ++r) {
      ASSERT_EQ(player.rank(r).parts.size(), blocks) << n;
      for (const auto& [block, parts] : player.rank(r).parts) EXPECT_EQ(parts.size(), n) << "rank " << r << " of " << n;
    }
  }
}

// Powers of two: all_gather brings every block to every rank, once; reduce_scatter leaves every rank a block of its own, with all parts.
TEST(HalvingDoubling, GathersAndScattersEveryBlockOnce) {
  for (std::uint32_t n = 2; n <= 32; n *= 2) {
    ChunkPlayer gather(n, n, true);
    for (const ExchangeStage& s : exchange_stages(CollectiveKind::kAllGather, n)) gather.play(s, exchanges(s.form, n));
    ChunkPlayer scatter(n, n, false);
    for (const ExchangeStage& s : exchange_stages(CollectiveKind::kReduceScatter, n)) scatter.play(s, exchanges(s.form, n));
    std::set<std::uint32_t> owned;
    for (std::uint32_t r = 0; r < n; ++r) {
      EXPECT_EQ(gather.rank(r).mine.size(), n);
      ASSERT_EQ(scatter.rank(r).mine.size(), 1u);
      const std::uint32_t block = *scatter.rank(r).mine.begin();
      EXPECT_TRUE(owned.insert(block).second);
      EXPECT_EQ(scatter.rank(r).parts.at(block).size(), n);
    }
  }
  EXPECT_TRUE(exchange_stages(CollectiveKind::kAllGather, 6).empty());
}

}  // namespace
}  // namespace lockstep
