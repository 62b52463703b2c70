// SPDX-License-Identifier: Apache-2.0
// What a drawing shows, counted by hand; and that its SVG is XML with those boxes.
#include "topology/drawing/drawing.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <numeric>
#include <pugixml.hpp>

#include "tests/support/cluster_fixtures.h"
#include "tests/support/topology_fixtures.h"
#include "topology/drawing/dot.h"
#include "topology/drawing/layout.h"
#include "topology/drawing/svg.h"

namespace lockstep {
namespace {

const Wire kWire = Wire::pure(Rate::gbps(100), Duration::micros(1));

Network hosts_on_clos(std::uint32_t nodes, const FabricShape& counts) {
  FabricShape shape = counts;
  shape.host = shape.leaf_spine = shape.spine_core = kWire;
  return Network({.nodes = nodes, .server = BareHost{}, .fabric = shape});
}

std::int64_t shown(const Drawing& d, DeviceKind kind, DrawnBox::Kind box) {
  return std::count_if(d.boxes.begin(), d.boxes.end(), [&](const DrawnBox& b) {
    return b.kind == box && b.hidden == 0 && (box == DrawnBox::Kind::kNode || b.device == kind);
  });
}
std::int64_t nodes_shown(const Drawing& d) { return shown(d, DeviceKind::kHost, DrawnBox::Kind::kNode); }
std::int64_t switches_shown(const Drawing& d, DeviceKind kind) { return shown(d, kind, DrawnBox::Kind::kSwitch); }

// Nodes and racks that are drawn or stood for, below a group.
std::int64_t nodes_below(const Drawing& d, const DrawnGroup& g) {
  std::int64_t n = 0;
  for (const std::uint32_t b : g.nodes) n += std::max<std::int64_t>(d.boxes[b].hidden, 1);
  for (const DrawnGroup& child : g.groups) n += nodes_below(d, child);
  return n;
}

// 6 hosts in 3 racks, 2 spines: everything is drawn. 6 host cables and 3 x 2 upwards.
TEST(Drawing, OfASmallClusterShowsEverything) {
  const Drawing d = draw_network(hosts_on_clos(6, {.nodes_per_leaf = 2, .spines = 2}), "small");
  EXPECT_EQ(nodes_shown(d), 6);
  EXPECT_EQ(switches_shown(d, DeviceKind::kLeaf), 3);
  EXPECT_EQ(switches_shown(d, DeviceKind::kSpine), 2);
  EXPECT_EQ(d.boxes.size(), 6u + 3 + 2);
  EXPECT_EQ(d.cables.size(), 6u + 6);
  ASSERT_EQ(d.root.groups.size(), 3u);
  EXPECT_EQ(d.root.groups[1].title, "rack 1");
  EXPECT_EQ(d.root.groups[1].nodes.size(), 2u);
  EXPECT_EQ(d.notes, (std::vector<std::string>{"6 hosts", "3 leaf switches, 2 spine switches"}));
}

// 1,280 hosts in 40 racks of 32, 20 spines. Drawn: racks 0, 1, 2 and 39 and one for 36; of each rack 3 hosts, one box for 28, and the
// last host; spines 0 to 6 and 19 and one for 12. Cables between those: 4 x 4 host cables, 4 x 8 upwards.
TEST(Drawing, OfALargeClusterShowsTheFirstAndTheLast) {
  const Drawing d = draw_network(hosts_on_clos(1280, {.nodes_per_leaf = 32, .spines = 20, .leaf_spine_cables = 2}), "large");
  EXPECT_EQ(nodes_shown(d), 4 * 4);
  EXPECT_EQ(switches_shown(d, DeviceKind::kLeaf), 4);
  EXPECT_EQ(switches_shown(d, DeviceKind::kSpine), 8);
  EXPECT_EQ(d.cables.size(), 16u + 32);
  ASSERT_EQ(d.root.groups.size(), 5u);
  EXPECT_EQ(d.root.groups[3].hidden, 36);
  EXPECT_EQ(d.root.groups[3].title, "36 more racks");
  EXPECT_EQ(d.root.groups[4].title, "rack 39");
  EXPECT_EQ(nodes_below(d, d.root.groups[4]), 32);
  // The legend counts all, two cables in parallel between leaves and spines.
  ASSERT_EQ(d.legend.size(), 2u);
  EXPECT_EQ(d.legend[0].count, 1280);
  EXPECT_EQ(d.legend[1].count, 40 * 20 * 2);
}

TEST(Drawing, WithoutLimitsShowsAll) {
  const Network net = hosts_on_clos(1280, {.nodes_per_leaf = 32, .spines = 20});
  const Drawing d = draw_network(net, "all", DrawingLimits::none());
  EXPECT_EQ(d.boxes.size(), 1280u + 40 + 20);
  EXPECT_EQ(d.cables.size(), net.link_count() / 2);
}

// What is not drawn is never one alone: a box would take as much room.
TEST(Drawing, NeverHidesASingleOne) {
  for (std::uint32_t nodes = 1; nodes < 40; ++nodes) {
    const Drawing d = draw_network(hosts_on_clos(nodes, {.nodes_per_leaf = 20, .spines = static_cast<int>(nodes)}), "x");
    for (const DrawnBox& b : d.boxes) EXPECT_NE(b.hidden, 1) << nodes << " nodes";
    EXPECT_EQ(nodes_below(d, d.root), nodes);
  }
}

Network hosts_on_graph(std::uint32_t nodes, std::uint32_t nodes_per_switch, SwitchLayout layout) {
  GraphShape shape{.layout = std::move(layout), .switch_of_port = {}, .host = kWire};
  for (std::uint32_t n = 0; n < nodes; ++n) shape.switch_of_port.push_back(n / nodes_per_switch);
  return Network({.nodes = nodes, .server = BareHost{}, .graph = shape});
}

Network dragonfly(int groups, int routers) {
  return hosts_on_graph(static_cast<std::uint32_t>(2 * groups * routers), 2,
                        Dragonfly({.groups = groups, .routers_per_group = routers, .global_cables = 2}, kWire, kWire));
}

Network torus(const std::vector<int>& dimensions) {
  const int switches = std::accumulate(dimensions.begin(), dimensions.end(), 1, std::multiplies<>());
  return hosts_on_graph(static_cast<std::uint32_t>(switches), 1, Torus(dimensions, kWire));
}

// 3 groups of 4 routers: 6 local cables each, and from each group 2 to both others, 6 in all. A router says that it has 2 nodes.
TEST(Drawing, OfADragonflyIsARingOfGroups) {
  const Drawing d = draw_network(dragonfly(3, 4), "d");
  EXPECT_EQ(d.arrangement, Arrangement::kRing);
  EXPECT_EQ(d.boxes.size(), 12u);
  EXPECT_EQ(d.boxes[5].name, "group1.router1");
  EXPECT_EQ(d.boxes[5].label, "router1");
  EXPECT_EQ(d.boxes[5].detail, "2 nodes");
  EXPECT_EQ(d.cables.size(), 3u * 6 + 6);
}

// 20 groups of 10 routers: groups 0 to 6 and 19, of each routers 0 to 3 and 9.
TEST(Drawing, OfALargeDragonflyShowsTheFirstAndTheLast) {
  const Drawing d = draw_network(dragonfly(20, 10), "d");
  ASSERT_EQ(d.root.groups.size(), 9u);
  EXPECT_EQ(d.root.groups[7].title, "12 more groups");
  EXPECT_EQ(switches_shown(d, DeviceKind::kSwitch), 8 * 5);
}

// 4 x 3 switches: every one has a cable on in each dimension, 24 in all. Number (x 3 + y) is in column x and row y.
TEST(Drawing, OfATorusIsAGrid) {
  const Drawing d = draw_network(torus({4, 3}), "t");
  EXPECT_EQ(d.arrangement, Arrangement::kGrid);
  EXPECT_EQ(d.boxes.size(), 12u);
  EXPECT_EQ(d.cables.size(), 24u);
  EXPECT_EQ(d.boxes[7].name, "switch(2,1)");
  EXPECT_EQ(d.root.groups[7].cell.column, 2);
  EXPECT_EQ(d.root.groups[7].cell.row, 1);
}

// 10 x 10 x 10: of every dimension 0, 1, 2 and 9. In each of four planes a gap for columns, and one for rows in every column.
TEST(Drawing, OfALargeTorusShowsTheFirstAndTheLast) {
  const Drawing d = draw_network(torus({10, 10, 10}), "t");
  EXPECT_EQ(switches_shown(d, DeviceKind::kSwitch), 64);
  const auto hidden =
      std::count_if(d.root.groups.begin(), d.root.groups.end(), [](const DrawnGroup& g) { return g.hidden > 0; });
  EXPECT_EQ(hidden, 4 * (1 + 4) + 1);
}

// Two halls of two racks with four nodes and two spines each: 16 bundles to nodes, 8 of leaves and spines, 2 between the halls.
TEST(Drawing, OfACustomGraphHasRacksPodsAndTiers) {
  const Drawing d = draw_network(build_network(test::shipped_cluster("h100-two-halls")), "halls");
  ASSERT_EQ(d.root.groups.size(), 2u);
  EXPECT_EQ(d.root.groups[0].groups.size(), 2u);
  EXPECT_EQ(d.root.groups[0].switches.size(), 2u);
  EXPECT_TRUE(d.root.switches.empty());
  EXPECT_EQ(nodes_shown(d), 16);
  EXPECT_EQ(d.cables.size(), 16u + 8 + 2);
}

// Boxes do not overlap, and lie within the picture.
TEST(Drawing, LayoutKeepsBoxesApart) {
  const std::vector<Network> networks{
      hosts_on_clos(120, {.nodes_per_leaf = 4, .spines = 5}),
      hosts_on_clos(120, {.nodes_per_leaf = 4, .leaves_per_pod = 3, .spines = 5, .cores_per_spine = 4}),
      dragonfly(1, 3),
      dragonfly(2, 3),
      dragonfly(5, 1),
      dragonfly(9, 6),
      dragonfly(40, 40),
      torus({5}),
      torus({4, 3}),
      torus({10, 10, 10}),
      torus({2, 2, 2, 2})};
  for (std::size_t i = 0; i < networks.size(); ++i) {
    const Drawing d = draw_network(networks[i], "x");
    const Layout l = lay_out(d, 10, 20);
    for (std::size_t a = 0; a < l.boxes.size(); ++a) {
      const Rect& r = l.boxes[a];
      EXPECT_TRUE(r.x >= 10 && r.y >= 20 && r.right() <= l.whole.right() + 1e-6 && r.bottom() <= l.whole.bottom() + 1e-6)
          << "network " << i << ": " << d.boxes[a].name;
      for (std::size_t b = 0; b < a; ++b) {
        const Rect& s = l.boxes[b];
        EXPECT_TRUE(r.right() <= s.x || s.right() <= r.x || r.bottom() <= s.y || s.bottom() <= r.y)
            << "network " << i << ": " << d.boxes[a].name << " on " << d.boxes[b].name;
      }
    }
  }
}

std::size_t count_of(const pugi::xml_node& root, const char* path) { return root.select_nodes(path).size(); }

// A box is a group of title, rectangle and text; a cable a path with a title. A second picture has the 8 GPUs, NVSwitch, PCIe and
// 8 NICs of a DGX H100 and its 24 cables.
TEST(Svg, IsXmlWithEveryBoxAndCable) {
  const Network net = build_network(test::shipped_cluster("dgx-h100", {"nodes=8"}));
  const Drawing d = draw_network(net, "<a> & \"b\"");
  const Drawing node = draw_node(net);
  EXPECT_EQ(node.boxes.size(), 18u);
  EXPECT_EQ(node.cables.size(), 24u);
  const std::string svg = to_svg(d, node);
  pugi::xml_document xml;
  ASSERT_TRUE(xml.load_string(svg.c_str()));
  EXPECT_EQ(count_of(xml, "//g[title]/rect"), d.boxes.size() + node.boxes.size());
  EXPECT_EQ(count_of(xml, "//path[title]"), d.cables.size() + node.cables.size());
  EXPECT_STREQ(xml.select_node("/svg/title").node().text().get(), "<a> & \"b\"");
  EXPECT_EQ(svg, to_svg(draw_network(net, "<a> & \"b\""), draw_node(net)));
}

// 72 GPUs on one NVSwitch and one PCIe hub with 18 NICs: GPUs 0 to 6 and 71, NICs 0 to 6 and 17. A GPU has two cables, a NIC one.
TEST(Drawing, OfALargeNodeShowsTheFirstAndTheLast) {
  const Drawing d = draw_node(test::boxes(1, 72, 18));
  EXPECT_EQ(d.boxes.size(), 2u + 9 + 9);
  EXPECT_EQ(d.cables.size(), 8u * 2 + 8);
}

TEST(Svg, OfBareHostsHasNoInside) {
  const Network net = hosts_on_clos(4, {.nodes_per_leaf = 2, .spines = 1});
  EXPECT_TRUE(draw_node(net).boxes.empty());
  EXPECT_EQ(to_svg(draw_network(net, "x"), draw_node(net)).find("inside"), std::string::npos);
}

// Of 131,072 GPUs: well under a megabyte.
TEST(Svg, OfALargeClusterIsSmall) {
  const Network net = build_network(test::shipped_cluster("h100-rail-131072"));
  EXPECT_LT(to_svg(draw_network(net, "x"), draw_node(net)).size(), 1'000'000u);
}

TEST(Dot, StandsForWhatIsNotDrawn) {
  const std::string dot = to_dot(draw_network(hosts_on_clos(1280, {.nodes_per_leaf = 32, .spines = 20}), "x"));
  EXPECT_NE(dot.find("\"36 more racks\", style=\"rounded,dashed\""), std::string::npos);
  EXPECT_NE(dot.find("\"28 more\""), std::string::npos);
}

}  // namespace
}  // namespace lockstep
