// SPDX-License-Identifier: Apache-2.0
// What users of real clusters reported: the suite covers its cases, and the directions hold whatever the sizes of the errors.
#include <gtest/gtest.h>

#include <fstream>
#include <set>
#include <sstream>

#include "sim/experiment/cluster_run.h"
#include "sim/experiment/collective.h"
#include "sim/experiment/job_run.h"
#include "sim/experiment/validation_suites.h"
#include "tests/support/shipped.h"

namespace lockstep {
namespace {

const SuiteResult& field_cases() {
  static const SuiteResult result = [] {
    const std::string file = std::string(LOCKSTEP_TEST_CONFIGS) + "/validation/field-cases.csv";
    std::ifstream csv(file);
    Diagnostics d;
    SuiteResult r = run_field_suite(csv, file, test::shipped(), d);
    if (d.has_errors()) throw std::runtime_error(test::messages(d));
    return r;
  }();
  return result;
}

// The prediction of the row whose words are `what`.
double predicted(const std::string& what) {
  for (const Prediction& p : field_cases().predictions) {
    if (p.what.find(what) != std::string::npos) return p.predicted;
  }
  throw std::runtime_error("no row says '" + what + "'");
}

double step(const std::string& scenario, std::vector<std::string> assignments) {
  const Scenario s = test::scenario(scenario, std::move(assignments));
  return run_job(s.spec.cluster, s.plan, {.compares_with_ideal = false}).step_time_s;
}

double samples(const std::string& scenario, std::vector<std::string> assignments) {
  const Scenario s = test::scenario(scenario, std::move(assignments));
  return *run_job(s.spec.cluster, s.plan, {.compares_with_ideal = false}).samples_per_s;
}

TEST(FieldValidation, NineCasesArePredicted) {
  std::set<std::string> cases;
  for (const Prediction& p : field_cases().predictions) cases.insert(p.what.substr(0, p.what.find(':')));
  for (const char* name : {"case 1", "case 2", "case 6", "case 35", "case 36", "case 42", "case 47", "case 50", "case 57"}) {
    EXPECT_EQ(cases.count(name), 1u) << name;
  }
}

// NVIDIA/nccl#319: rings that visit two switches in turn share the cables between them at every hop.
TEST(FieldValidation, ASplitOverTwoSwitchesHurtsTheRing) { EXPECT_LT(predicted("two switches against one: ring"), 0.7); }

// NVIDIA/nccl#1357, nccl-tests#196: on two nodes a tree moves every byte once each way and busbw = 15/8 algbw, so that it exceeds the rate
// of the NIC; an H100 PCIe node with one 100G NIC, 12.5 GB/s.
TEST(FieldValidation, ATreeOverTwoNodesHasABusBandwidthAboveTheNic) {
  ClusterSpec spec = test::cluster("dgx-h100", {"nodes=2", "server=h100-pcie-8", "network=ib-1x100"});
  const PreparedCluster prepared(spec, 0);
  CollectiveRequest request{
      .kind = CollectiveKind::kAllReduce, .sizes = {std::int64_t{1} << 32}, .algorithm = Algorithm::kTree};
  for (std::uint32_t i = 0; i < 16; ++i) request.members.push_back(EndpointId(i));
  const CollectiveRow row = run_collective(request, prepared.router, prepared.tunings, NetworkKind::kFlow).front();
  EXPECT_GT(row.busbw_gb_per_s, 12.5);
  EXPECT_LT(row.algbw_gb_per_s, 12.5);
}

// horovod/horovod#2581, #693: 138 M gradients of 32 bit every 64 images.
TEST(FieldValidation, TwoNodesAreSlowerThanOneForVgg16OnSlowEthernet) {
  const double one = samples("field-vgg-16-p3dn", {"cluster.nodes=1"});
  for (const char* network : {"cluster.network=tcp-1x1", "cluster.network=tcp-1x10"}) {
    EXPECT_LT(samples("field-vgg-16-p3dn", {network}), one) << network;
  }
}

// WeatherGenerator#1246: sharding inside nodes beats sharding across them where nodes are poorly connected.
TEST(FieldValidation, HybridShardBeatsFullShardOnASlowFabric) {
  for (const char* network : {"cluster.network=tcp-1x100", "cluster.network=roce-2x100"}) {
    const double full = step("field-mpt-7b", {network, "cluster.nodes=4"});
    EXPECT_LT(step("field-mpt-7b", {network, "cluster.nodes=4", "job.shard_group=8"}), full) << network;
  }
}

// InternLM/InternLM#22: 4,234 tokens/s on an NVLink node, 2,105 on a PCIe node. The model finds 1.3 times (docs/validation.md).
TEST(FieldValidation, AnNvlinkNodeTrainsAMidSizedModelFasterThanAPcieNode) { EXPECT_GT(predicted("NVLink against PCIe"), 1.2); }

// huggingface/transformers#9371.
TEST(FieldValidation, DdpWithoutNvlinkIsSlowerThanWithIt) { EXPECT_GT(predicted("PCIe against NVLink"), 1.0); }

// A file of a user's own may be wrong in every way a row can be.
TEST(FieldValidation, WrongRowsAreReportedWithTheirPlace) {
  const std::string header =
      "case,source,what,metric,measured,scenario,cluster,collective,gpus,size,set,per_scenario,per_set,remark\n";
  const auto faults = [&](const std::string& row) {
    std::istringstream csv(header + row + "\n");
    Diagnostics d;
    const SuiteResult r = run_field_suite(csv, "f.csv", test::shipped(), d);
    EXPECT_TRUE(r.predictions.empty());
    return test::messages(d);
  };
  EXPECT_EQ(faults("1,s,w,step_time_s,0,field-mpt-7b,,,,,,,,"), "f.csv:2:19: error: measured: a positive number is expected\n");
  EXPECT_NE(faults("1,s,w,mfus,1,field-mpt-7b,,,,,,,,").find("metric: 'mfus' is no number of such a run"), std::string::npos);
  EXPECT_NE(faults("1,s,w,step_time_s,1,field-mpt-8b,,,,,,,,").find("did you mean 'field-mpt-7b'?"), std::string::npos);
  EXPECT_NE(faults("1,s,w,busbw_gb_per_s,1,,dgx-h100,all_reduce ring,4,,,,,").find("f.csv:2:52: error: size: "),
            std::string::npos)
      << faults("1,s,w,busbw_gb_per_s,1,,dgx-h100,all_reduce ring,4,,,,,");
  EXPECT_NE(faults("1,s,w,busbw_gb_per_s,1,,dgx-h100,all_reduce ring,4000,1 GiB,,,,").find("the cluster has 128"),
            std::string::npos);
}

}  // namespace
}  // namespace lockstep
