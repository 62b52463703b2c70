// SPDX-License-Identifier: Apache-2.0
// The store of finished points, and the table made from it.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "base/write_file.h"
#include "sim/experiment/sweep/point_locks.h"
#include "sim/experiment/sweep/sweep_files.h"
#include "tests/support/sweep_text.h"

namespace lockstep {
namespace {

class SweepStore : public ::testing::Test {
 protected:
  SweepStore() {
    std::filesystem::remove_all(root_);
    std::filesystem::create_directories(root_);
  }
  ~SweepStore() override { std::filesystem::remove_all(root_); }

  [[nodiscard]] std::string folder(const std::string& name) const { return (root_ / name).string(); }
  [[nodiscard]] std::string file(const std::string& name) const {
    std::ifstream in(root_ / name);
    return {std::istreambuf_iterator<char>(in), {}};
  }

  std::filesystem::path root_ =
      std::filesystem::temp_directory_path() /
      (std::string("lockstep-store-") + testing::UnitTest::GetInstance()->current_test_info()->name());
};

TEST_F(SweepStore, KeepsTheFirstResultOfAKey) {
  const PointKey key{1, 2};
  {
    PointStore store(folder("a"), PointStore::Access::kWrite);
    EXPECT_FALSE(store.has(key));
    store.insert(key, {true, "{\"a\":1}", 0.5, 7});
    store.insert(key, {false, "other"});
  }
  const PointStore again(folder("a"), PointStore::Access::kRead);
  const std::optional<StoredPoint> found = again.find(key);
  ASSERT_TRUE(found.has_value());
  EXPECT_TRUE(found->says_the_same({true, "{\"a\":1}"}));
  EXPECT_EQ(found->wall_s, 0.5);
  EXPECT_EQ(found->peak_rss_bytes, 7);
  EXPECT_FALSE(again.has({1, 3}));
}

TEST_F(SweepStore, WhatIsNoStoreIsSaidSo) {
  std::filesystem::create_directories(folder("a"));
  std::ofstream(root_ / "a" / "store.sqlite") << std::string(5000, 'x');
  EXPECT_THROW(PointStore(folder("a"), PointStore::Access::kWrite), StorageError);
  EXPECT_THROW(PointStore(folder("absent"), PointStore::Access::kRead), StorageError);
}

TEST_F(SweepStore, APointIsLockedOnce) {
  PointLocks locks(root_.string());
  EXPECT_TRUE(locks.try_lock({0, 4}));
  EXPECT_FALSE(locks.try_lock({0, 4}));
  EXPECT_TRUE(locks.try_lock({0, 8}));
  locks.unlock({0, 4});
  EXPECT_TRUE(locks.try_lock({0, 4}));
}

TEST_F(SweepStore, AFileIsWrittenWholeOrNotAtAll) {
  { WholeFile(folder("f")).write("half"); }
  EXPECT_FALSE(std::filesystem::exists(folder("f")));
  WholeFile whole(folder("f"));
  whole.write("all");
  whole.commit();
  EXPECT_EQ(file("f"), "all");
}

// A pipe, and a device behind a symbolic link, are there after the writing as before it; the reader of the pipe has the bytes.
TEST_F(SweepStore, NothingIsRenamedOverPipesAndDevices) {
  ASSERT_EQ(::mkfifo(folder("pipe").c_str(), 0600), 0);
  const int reader = ::open(folder("pipe").c_str(), O_RDONLY | O_NONBLOCK);
  ASSERT_GE(reader, 0);
  std::filesystem::create_symlink("/dev/null", folder("null"));
  for (const char* name : {"pipe", "null"}) {
    WholeFile whole(folder(name));
    whole.write("all");
    whole.commit();
  }
  EXPECT_TRUE(std::filesystem::is_fifo(folder("pipe")));
  EXPECT_TRUE(std::filesystem::is_symlink(folder("null")));
  char bytes[8] = {};
  EXPECT_EQ(::read(reader, bytes, sizeof bytes), 3);
  EXPECT_STREQ(bytes, "all");
  ::close(reader);
}

// A link to a file stays a link, and the file behind it is the new one.
TEST_F(SweepStore, ALinkToAFileStaysALink) {
  std::ofstream(root_ / "old") << "old";
  std::filesystem::create_symlink("old", folder("link"));
  WholeFile whole(folder("link"));
  whole.write("new");
  whole.commit();
  EXPECT_TRUE(std::filesystem::is_symlink(folder("link")));
  EXPECT_EQ(file("old"), "new");
}

// Three points, of which the second does not fit its cluster and the third has not run: two rows; columns that only some rows have
// stand where those rows have them.
TEST_F(SweepStore, RowsAreInPointOrderAndColumnsAreUnited) {
  const Sweep sweep = test::good_sweep("axes: {job.tp: [1, 64, 2], seed: [3]}");
  PointStore store(folder("a"), PointStore::Access::kWrite);
  PointStatuses statuses(3);
  const SweepRunOptions options{.library = test::shipped(), .version = "1"};
  complete_statuses(sweep, nullptr, options, statuses);
  statuses[1].error = "too large, by far";
  store.insert(statuses[0].key, {true, R"({"version":"1","x":{"a":1.5,"b":true},"seed":3,"links":[1]})"});
  const SweepCounts counts = write_sweep_files(sweep, statuses, store, {.folder = folder("a"), .version = "1"});
  EXPECT_EQ(file("a/results.csv"),
            "point,job.tp,seed,status,error,version,x.a,x.b\n"
            "0,1,3,ok,,1,1.5,true\n"
            "1,64,3,error,\"too large, by far\",,,\n");
  EXPECT_EQ(counts.good, 1u);
  EXPECT_EQ(counts.failed, 1u);
  EXPECT_EQ(counts.missing(), 1u);

  store.insert(statuses[2].key, {true, R"({"version":"1","x":{"a":2.5,"new":"q","b":false}})"});
  write_sweep_files(sweep, statuses, store, {.folder = folder("a"), .version = "1"});
  EXPECT_EQ(file("a/results.csv").substr(0, 56), "point,job.tp,seed,status,error,version,x.a,x.new,x.b\n0,1");
}

TEST_F(SweepStore, ShardsThatDifferAreNotJoined) {
  const Sweep sweep = test::good_sweep("axes: {seed: [3]}");
  PointStatuses statuses(1);
  complete_statuses(sweep, nullptr, {.library = test::shipped(), .version = "1"}, statuses);
  PointStore(folder("a"), PointStore::Access::kWrite).insert(statuses[0].key, {true, "{}"});
  PointStore(folder("b"), PointStore::Access::kWrite).insert(statuses[0].key, {true, "{\"a\":1}"});
  PointStore out(folder("out"), PointStore::Access::kWrite);
  EXPECT_THROW(merge_stores({folder("a"), folder("b")}, statuses, out), StorageError);
}

}  // namespace
}  // namespace lockstep
