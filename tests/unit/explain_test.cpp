// SPDX-License-Identifier: Apache-2.0
// Upgrades: a better part never costs time, a change of the plan is what its --set says. Causes: each is named where it was built in.
#include "sim/experiment/explain/explain.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "sim/experiment/explain/upgrades.h"
#include "tests/support/shipped.h"

namespace lockstep {
namespace {

using Assignments = std::vector<std::string>;

Explanation explained(const std::string& name, const Assignments& assignments, bool runs_upgrades = false) {
  return explain(test::scenario(name, assignments),
                 {.network = NetworkKind::kAnalytic, .threads = 2, .runs_upgrades = runs_upgrades});
}

// Two nodes of eight A100, short enough to be run some thirty times.
const Assignments kSmall = {"cluster.nodes=2", "job.model.layers=4", "job.gradient_accumulation=4"};

Assignments with(Assignments base, const Assignments& more) {
  base.insert(base.end(), more.begin(), more.end());
  return base;
}

const UpgradeResult& upgrade(const Explanation& e, const std::string& name) {
  const auto found = std::find_if(e.upgrades.begin(), e.upgrades.end(), [&](const UpgradeResult& u) { return u.name == name; });
  if (found == e.upgrades.end()) throw std::runtime_error("no upgrade " + name);
  return *found;
}

bool is_named(const Explanation& e, const std::string& cause) {
  return std::any_of(e.causes.begin(), e.causes.end(), [&](const Cause& c) { return c.name == cause; });
}

TEST(Upgrades, OfHardwareNeverCostTime) {
  for (const Assignments& plan : {Assignments{}, Assignments{"job.tp=2", "job.pp=2"}, Assignments{"job.strategy=fsdp"},
                                  Assignments{"cluster.gpudirect=false", "cluster.nics_per_node=2"}}) {
    const Explanation e = explained("llama3.2-1b-ddp", with(kSmall, plan), true);
    for (const UpgradeResult& u : e.upgrades) {
      EXPECT_NE(u.gain.has_value(), !u.reason.empty()) << u.name;
      if (u.gain && !u.is_plan) {
        EXPECT_GE(*u.gain, -1e-9) << u.name;
      }
    }
    EXPECT_TRUE(std::is_sorted(e.upgrades.begin(), e.upgrades.end(), [](const UpgradeResult& a, const UpgradeResult& b) {
      return a.gain.value_or(-2) > b.gain.value_or(-2);
    }));
  }
}

// What --set does to the scenario is what the upgrade did.
TEST(Upgrades, OfPlansAreWhatTheirSetSays) {
  int compared = 0;
  for (const Assignments& plan :
       {Assignments{}, Assignments{"job.tp=4", "job.pp=2", "job.recompute=full", "job.attention=unfused"},
        Assignments{"job.strategy=fsdp", "job.recompute=selective"}}) {
    const Assignments all = with(kSmall, plan);
    const Explanation e = explained("llama3.2-1b-ddp", all, true);
    for (const UpgradeResult& u : e.upgrades) {
      if (!u.is_plan || !u.gain) continue;
      ASSERT_FALSE(u.set.empty()) << u.name;
      const Scenario changed = test::scenario("llama3.2-1b-ddp", with(all, u.set));
      const RunResult run =
          run_job(changed.spec.cluster, changed.plan, {.network = NetworkKind::kAnalytic, .compares_with_ideal = false});
      EXPECT_EQ(run.step_time_s, *u.step_s) << u.name;
      EXPECT_EQ(changed.plan.global_batch, test::scenario("llama3.2-1b-ddp", all).plan.global_batch) << u.name;
      ++compared;
    }
  }
  EXPECT_GE(compared, 15);
}

TEST(Upgrades, ThatDoNotApplySayWhy) {
  const Explanation e = explained("llama3.2-1b-ddp", with(kSmall, {"cluster.nodes=1"}), true);
  EXPECT_EQ(upgrade(e, "network_rate_x2").reason, "one node has no network");
  EXPECT_EQ(upgrade(e, "gpudirect").reason, "one node has no network");
  EXPECT_EQ(upgrade(e, "recompute_none").reason, "nothing is recomputed");
  EXPECT_EQ(upgrade(e, "tp_half_pp_x2").reason, "tp is 1");
  EXPECT_EQ(upgrade(e, "virtual_stages_x2").reason, "there is no pipeline");
  EXPECT_EQ(upgrade(e, "no_slow_parts").reason, "nothing is slow or broken");
}

// Without recomputation 96 GB of activations have no place.
TEST(Upgrades, ThatDoNotFitSayHowMuch) {
  const Explanation e = explained("llama3.2-1b-ddp", {"cluster.nodes=1", "job.recompute=full", "job.micro_batch=16"}, true);
  ASSERT_TRUE(e.run.fits());
  EXPECT_TRUE(upgrade(e, "recompute_none").reason.starts_with("does not fit: ")) << upgrade(e, "recompute_none").reason;
}

TEST(Causes, AreNamedWhereTheyWereBuiltIn) {
  struct Case {
    const char* cause;
    Assignments assignments;
  };
  const Case cases[] = {
      {"dp_network", {"cluster.network=ib-1x25"}},
      {"gpudirect_off", {"cluster.network=tcp-1x25", "cluster.gpudirect=false"}},
      {"oversubscription", {"cluster.nodes=8", "cluster.fabric.nodes_per_leaf=2", "cluster.fabric.oversubscription=16"}},
      {"tp_across_nodes", {"job.tp=16", "job.model.heads=32", "job.model.kv_heads=16"}},
      {"tp_communication", {"job.tp=8"}},
      {"bubble", {"job.pp=4"}},
      {"imbalance", {"job.pp=2", "job.stages=[3,1]", "job.gradient_accumulation=16"}},
      {"recompute", {"job.recompute=full"}},
      {"host_bound",
       {"job.gpus=1", "job.seq_len=4096", "job.micro_batch=1", "job.model.hidden=512", "job.model.heads=8",
        "job.model.kv_heads=8", "job.model.head_dim=64", "job.model.ffn=1024", "job.model.vocab=1024"}},
      {"small_micro_batch", {"job.seq_len=128", "job.micro_batch=1", "job.gradient_accumulation=32"}},
      {"slow_parts", {"cluster.stragglers.gpus=[3]", "cluster.stragglers.slowdown=30 %"}},
      {"unfused_attention", {"job.attention=unfused"}},
  };
  for (const Case& c : cases) {
    const Explanation e = explained("llama3.2-1b-ddp", with(kSmall, c.assignments));
    std::string named;
    for (const Cause& cause : e.causes) named += cause.name + " ";
    EXPECT_TRUE(is_named(e, c.cause)) << c.cause << " is not among " << named;
  }
}

TEST(Causes, AreOrderedAndThereIsAlwaysOne) {
  const Explanation e = explained("llama3.2-1b-ddp", with(kSmall, {"job.pp=4", "cluster.network=ib-1x25"}));
  ASSERT_GE(e.causes.size(), 2u);
  for (std::size_t i = 1; i < e.causes.size(); ++i) EXPECT_LE(e.causes[i].share, e.causes[i - 1].share);
  // One GPU, a large micro-batch, free starts: nothing to hold it back but what it multiplies.
  Scenario alone = test::scenario("llama3.2-1b-ddp", {"cluster.nodes=1", "job.gpus=1", "job.gradient_accumulation=64",
                                                      "job.model.hidden=8192", "job.model.ffn=32768", "job.model.layers=2",
                                                      "job.model.heads=64", "job.model.head_dim=128", "job.model.vocab=1024"});
  alone.spec.cluster.software = {};
  const Explanation one = explain(alone, {.runs_upgrades = false});
  ASSERT_EQ(one.causes.size(), 1u) << one.causes.front().text;
  EXPECT_EQ(one.causes.front().name, "compute");
}

}  // namespace
}  // namespace lockstep
