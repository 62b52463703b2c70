// SPDX-License-Identifier: Apache-2.0
// Runs a flow workload (of write_flows, without `after`) in SimGrid as a pure max-min fluid and prints what it took:
//
//   simgrid_flows FLOWS.csv HOSTS LATENCY_S [SimGrid options]
//
// Fabric: 32 hosts a leaf, 16 spines, 100 Gbit/s a direction, LATENCY_S a link; the spine is the flow's `path`. One actor per host posts
// all its sends and receives through one mailbox a flow and waits for them, which is SimGrid's fastest way for many flows (its
// host-to-host sends are kept in a linear list). The reported CPU time is that of the simulation itself, without building the platform.
#include <simgrid/kernel/routing/NetPoint.hpp>
#include <simgrid/kernel/routing/NetZoneImpl.hpp>
#include <simgrid/s4u.hpp>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string>
#include <unordered_map>
#include <vector>

#include "tests/support/bench_workloads.h"

namespace {

namespace s4u = simgrid::s4u;
namespace routing = simgrid::kernel::routing;
using lockstep::test::bench_spine;
using lockstep::test::BenchFlow;
using lockstep::test::kBenchHostsPerLeaf;
using lockstep::test::kBenchSpines;

constexpr double kBytesPerSecond = 12.5e9;

// A leaf-spine whose routes are computed when asked for: a table of all pairs would not fit.
class LeafSpine : public routing::NetZoneImpl {
 public:
  explicit LeafSpine(const std::string& name) : NetZoneImpl(name) {}

  void build(std::uint32_t hosts, double latency) {
    latency_ = latency;
    const std::uint32_t leaves = (hosts + kBenchHostsPerLeaf - 1) / kBenchHostsPerLeaf;
    s4u::NetZone* zone = get_iface();
    for (std::uint32_t i = 0; i < hosts; ++i) {
      hosts_.push_back(zone->create_host("host" + std::to_string(i), 1e9)->seal());
      number_[hosts_.back()->get_netpoint()] = i;
    }
    add_links("up", hosts, up_);
    add_links("down", hosts, down_);
    add_links("leaf-up", leaves * kBenchSpines, leaf_up_);
    add_links("leaf-down", leaves * kBenchSpines, leaf_down_);
    zone->seal();
  }

  void get_local_route(const routing::NetPoint* from, const routing::NetPoint* to, routing::Route* route,
                       double* latency) override {
    const std::uint32_t src = number_.at(from);
    const std::uint32_t dst = number_.at(to);
    const std::uint32_t src_leaf = src / kBenchHostsPerLeaf;
    const std::uint32_t dst_leaf = dst / kBenchHostsPerLeaf;
    auto& links = route->link_list_;
    links.push_back(up_[src]->get_impl());
    if (src_leaf != dst_leaf) {
      const std::uint32_t spine = bench_spine(src, dst);
      links.push_back(leaf_up_[src_leaf * kBenchSpines + spine]->get_impl());
      links.push_back(leaf_down_[dst_leaf * kBenchSpines + spine]->get_impl());
    }
    links.push_back(down_[dst]->get_impl());
    if (latency != nullptr) *latency += latency_ * static_cast<double>(links.size());
  }

  s4u::Host* host(std::uint32_t i) const { return hosts_[i]; }

 private:
  void add_links(const std::string& kind, std::uint32_t count, std::vector<s4u::Link*>& links) {
    for (std::uint32_t i = 0; i < count; ++i) {
      links.push_back(get_iface()->create_link(kind + std::to_string(i), kBytesPerSecond)->set_latency(latency_)->seal());
    }
  }

  double latency_ = 0;
  std::vector<s4u::Host*> hosts_;
  std::vector<s4u::Link*> up_, down_, leaf_up_, leaf_down_;
  std::unordered_map<const routing::NetPoint*, std::uint32_t> number_;
};

std::vector<BenchFlow> read_flows(const char* file) {
  std::vector<BenchFlow> flows;
  FILE* in = std::fopen(file, "r");
  if (in == nullptr) return flows;
  char line[256];
  if (std::fgets(line, sizeof line, in) == nullptr) line[0] = '\0';  // the header
  while (std::fgets(line, sizeof line, in) != nullptr) {
    BenchFlow f;
    long long bytes = 0;
    if (std::sscanf(line, "%u,%u,%lld", &f.src, &f.dst, &bytes) != 3) continue;
    f.bytes = bytes;
    flows.push_back(f);
  }
  std::fclose(in);
  return flows;
}

double cpu_seconds() {
  timespec t = {};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

}  // namespace

int main(int argc, char** argv) {
  // A fluid without TCP effects; options of the command line come later and win.
  std::vector<std::string> words = {argv[0],
                                    "--cfg=network/model:CM02",
                                    "--cfg=network/crosstraffic:no",
                                    "--cfg=network/TCP-gamma:1e30",
                                    "--cfg=network/latency-factor:1",
                                    "--cfg=network/bandwidth-factor:1",
                                    "--cfg=network/weight-S:0",
                                    "--cfg=contexts/stack-size:64",
                                    "--cfg=contexts/guard-size:0",
                                    "--log=root.thres:warning"};
  words.insert(words.end(), argv + 1, argv + argc);
  std::vector<char*> pointers;
  for (std::string& w : words) pointers.push_back(w.data());
  int count = static_cast<int>(pointers.size());
  pointers.push_back(nullptr);
  s4u::Engine engine(&count, pointers.data());
  if (count != 4) {
    std::fprintf(stderr, "usage: simgrid_flows FLOWS.csv HOSTS LATENCY_S [SimGrid options]\n");
    return 2;
  }
  const std::vector<BenchFlow> flows = read_flows(pointers[1]);
  const auto hosts = static_cast<std::uint32_t>(std::atoi(pointers[2]));
  auto* fabric = new LeafSpine("fabric");  // the engine owns it
  fabric->build(hosts, std::atof(pointers[3]));

  std::vector<std::vector<std::size_t>> sent(hosts);
  std::vector<std::vector<std::size_t>> received(hosts);
  for (std::size_t i = 0; i < flows.size(); ++i) {
    sent[flows[i].src].push_back(i);
    received[flows[i].dst].push_back(i);
  }
  double makespan = 0;
  std::size_t done = 0;
  const auto mailbox = [](std::size_t flow) { return s4u::Mailbox::by_name(std::to_string(flow)); };
  for (std::uint32_t h = 0; h < hosts; ++h) {
    s4u::Actor::create("host" + std::to_string(h), fabric->host(h), [&, h] {
      static char message;
      std::vector<void*> payloads(received[h].size());
      std::vector<s4u::CommPtr> sends;
      std::vector<s4u::CommPtr> receives;
      for (const std::size_t f : sent[h])
        sends.push_back(mailbox(f)->put_async(&message, static_cast<std::uint64_t>(flows[f].bytes)));
      for (std::size_t i = 0; i < payloads.size(); ++i)
        receives.push_back(mailbox(received[h][i])->get_async<void>(&payloads[i]));
      for (s4u::CommPtr& c : receives) {
        c->wait();
        makespan = std::max(makespan, c->get_finish_time());
        ++done;
        c = nullptr;
      }
      for (const s4u::CommPtr& c : sends) c->wait();
    });
  }
  const double begin = cpu_seconds();
  engine.run();
  std::printf("{\"flows\": %zu, \"makespan_s\": %.12f, \"cpu_s\": %.6f}\n", done, makespan, cpu_seconds() - begin);
  std::fflush(stdout);
  std::_Exit(done == flows.size() ? 0 : 1);  // taking SimGrid down again is not part of the measurement
}
