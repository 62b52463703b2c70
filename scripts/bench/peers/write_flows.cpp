// SPDX-License-Identifier: Apache-2.0
// Writes a flow workload as CSV for `lockstep traffic` and for the peers: write_flows w1|w1h|w2|w3|w3h HOSTS
#include <cstdio>
#include <cstdlib>
#include <string>

#include "tests/support/bench_workloads.h"

using namespace lockstep::test;

int main(int argc, char** argv) {
  const std::string name = argc == 3 ? argv[1] : "";
  const auto hosts = static_cast<std::uint32_t>(argc == 3 ? std::atoi(argv[2]) : 0);
  std::vector<BenchFlow> flows;
  if (hosts >= 2) {
    if (name == "w1") flows = permutation_flows(hosts);
    if (name == "w1h") flows = permutation_distinct_flows(hosts);
    if (name == "w2") flows = ring_all_reduce_flows(hosts);
    if (name == "w3") flows = all_to_all_flows(hosts);
    if (name == "w3h") flows = all_to_all_distinct_flows(hosts);
  }
  if (flows.empty()) {
    std::fprintf(stderr, "usage: write_flows w1|w1h|w2|w3|w3h HOSTS\n");
    return 2;
  }
  std::puts("src,dst,bytes,path,after");
  for (const BenchFlow& f : flows) {
    std::printf("%u,%u,%lld,%u,", f.src, f.dst, static_cast<long long>(f.bytes), bench_spine(f.src, f.dst));
    if (f.after >= 0) std::printf("%lld", static_cast<long long>(f.after));
    std::putchar('\n');
  }
  return 0;
}
