// SPDX-License-Identifier: Apache-2.0
#include "topology/server/server_wiring.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace lockstep {
namespace {

using LocalLinks = std::vector<std::uint32_t>;

class Wiring {
 public:
  explicit Wiring(const ServerParts& parts) : parts_(parts) {
    plan_.gpus = parts.gpus;
    plan_.nics = parts.nics;
    add_devices();
    add_fast_links();
    add_pcie();
    add_paths();
  }
  [[nodiscard]] WiredServer::Plan take() { return std::move(plan_); }

 private:
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};

  // Of a device in the PCIe tree.
  struct Place {
    std::uint32_t parent = kNone;  // a switch, a root complex or the hub; none for those at the top
    std::uint32_t up = kNone;      // the link to it
  };

  [[nodiscard]] int sockets() const { return parts_.tree ? parts_.tree->sockets : 1; }
  [[nodiscard]] int switches() const { return parts_.tree ? sockets() * parts_.tree->switches_per_socket : 0; }
  [[nodiscard]] bool has_memory() const { return parts_.host_memory && (!parts_.has_p2p || !parts_.nics_reach_gpus); }
  [[nodiscard]] std::uint32_t root(int socket) const { return first_root_ + static_cast<std::uint32_t>(socket); }
  [[nodiscard]] std::uint32_t nic(int i) const {
    return static_cast<std::uint32_t>(plan_.devices.size()) - static_cast<std::uint32_t>(parts_.nics - i);
  }
  [[nodiscard]] static std::size_t index(int i) { return static_cast<std::size_t>(i); }

  std::uint32_t add_device(DeviceKind kind, std::string name) {
    plan_.devices.push_back({kind, std::move(name)});
    return static_cast<std::uint32_t>(plan_.devices.size() - 1);
  }

  void add_devices() {
    for (int g = 0; g < parts_.gpus; ++g) add_device(DeviceKind::kGpu, fmt::format("gpu{}", g));
    if (parts_.nvswitch) nvswitch_ = add_device(DeviceKind::kNvSwitch, "nvswitch");
    first_switch_ = static_cast<std::uint32_t>(plan_.devices.size());
    for (int s = 0; s < switches(); ++s) add_device(DeviceKind::kPcieSwitch, fmt::format("pcie{}", s));
    first_root_ = static_cast<std::uint32_t>(plan_.devices.size());
    if (!parts_.tree) {
      add_device(DeviceKind::kPcieHub, "pcie");
    } else {
      for (int s = 0; s < sockets(); ++s) add_device(DeviceKind::kRootComplex, fmt::format("socket{}", s));
    }
    first_memory_ = static_cast<std::uint32_t>(plan_.devices.size());
    for (int s = 0; has_memory() && s < sockets(); ++s) add_device(DeviceKind::kHostMemory, fmt::format("memory{}", s));
    for (int i = 0; i < parts_.nics; ++i) add_device(DeviceKind::kNic, fmt::format("nic{}", i));
    places_.resize(plan_.devices.size());
  }

  // The first of the two links.
  std::uint32_t join(std::uint32_t a, std::uint32_t b, const Wire& wire, LinkTier tier) {
    const auto first = static_cast<std::uint32_t>(plan_.links.size());
    plan_.links.push_back({DeviceId(a), DeviceId(b), wire.capacity, wire.nominal, wire.latency, tier});
    plan_.links.push_back({DeviceId(b), DeviceId(a), wire.capacity, wire.nominal, wire.latency, tier});
    return first;
  }

  void add_fast_links() {
    const std::size_t pairs = index(parts_.gpus) * index(parts_.gpus);
    plan_.direct_links.assign(pairs, 0);
    direct_.assign(pairs, kNone);
    for (int g = 0; parts_.nvswitch && g < parts_.gpus; ++g) {
      ports_.push_back(join(static_cast<std::uint32_t>(g), nvswitch_, *parts_.nvswitch, LinkTier::kNvlink));
    }
    for (const MeshCable& c : parts_.mesh) {
      LOCKSTEP_CHECK(c.a >= 0 && c.b >= 0 && c.a < parts_.gpus && c.b < parts_.gpus && c.a != c.b && c.links > 0 &&
                         direct_[pair(c.a, c.b)] == kNone,
                     "{} links between GPUs {} and {} of {}", c.links, c.a, c.b, parts_.gpus);
      const Wire all{parts_.mesh_link.capacity * c.links, parts_.mesh_link.nominal * c.links, parts_.mesh_link.latency};
      const std::uint32_t first = join(static_cast<std::uint32_t>(c.a), static_cast<std::uint32_t>(c.b), all, parts_.mesh_tier);
      direct_[pair(c.a, c.b)] = first;
      direct_[pair(c.b, c.a)] = first + 1;
      plan_.direct_links[pair(c.a, c.b)] = plan_.direct_links[pair(c.b, c.a)] = c.links;
    }
  }

  // Where a GPU's slot is.
  [[nodiscard]] std::uint32_t above(int gpu) const {
    if (switches() > 0) return first_switch_ + static_cast<std::uint32_t>(gpu * switches() / parts_.gpus);
    return root(gpu * sockets() / parts_.gpus);
  }
  // The GPU that NIC i sits beside.
  [[nodiscard]] int served(int i) const {
    if (parts_.nics <= parts_.gpus) return (i * parts_.gpus + parts_.nics - 1) / parts_.nics;
    return ((i + 1) * parts_.gpus - 1) / parts_.nics;
  }

  void place(std::uint32_t device, std::uint32_t parent, const Wire& wire) {
    places_[device] = {parent, join(device, parent, wire, LinkTier::kPcie)};
  }

  void add_pcie() {
    for (int g = 0; g < parts_.gpus; ++g) place(static_cast<std::uint32_t>(g), above(g), parts_.gpu_slot);
    for (int s = 0; s < switches(); ++s) {
      place(first_switch_ + static_cast<std::uint32_t>(s), root(s / parts_.tree->switches_per_socket), parts_.tree->uplink);
    }
    for (int a = 0; a < sockets(); ++a) {
      for (int b = a + 1; b < sockets(); ++b) {
        between_.push_back(join(root(a), root(b), parts_.tree->inter_socket, LinkTier::kInterSocket));
      }
    }
    for (int s = 0; has_memory() && s < sockets(); ++s) {
      memory_.push_back(
          join(root(s), first_memory_ + static_cast<std::uint32_t>(s), *parts_.host_memory, LinkTier::kHostMemory));
    }
    for (int i = 0; i < parts_.nics; ++i) place(nic(i), above(served(i)), parts_.nic_slot);
  }

  [[nodiscard]] std::size_t pair(int a, int b) const { return index(a) * index(parts_.gpus) + index(b); }

  // The devices from `device` to the top.
  [[nodiscard]] std::vector<std::uint32_t> way_up(std::uint32_t device) const {
    std::vector<std::uint32_t> way = {device};
    while (places_[way.back()].parent != kNone) way.push_back(places_[way.back()].parent);
    return way;
  }

  // The link from one root complex to another.
  [[nodiscard]] std::uint32_t crossing(std::uint32_t from, std::uint32_t to) const {
    std::size_t i = 0;
    for (int a = 0; a < sockets(); ++a) {
      for (int b = a + 1; b < sockets(); ++b, ++i) {
        if (from == root(a) && to == root(b)) return between_[i];
        if (from == root(b) && to == root(a)) return between_[i] + 1;
      }
    }
    LOCKSTEP_CHECK(false, "no link joins devices {} and {}", from, to);
  }

  // `is_staged`: in host memory, and so over the root complex.
  void add_pcie_path(std::uint32_t from, std::uint32_t to, bool is_staged, LocalLinks& out) const {
    std::vector<std::uint32_t> up = way_up(from);
    std::vector<std::uint32_t> down = way_up(to);
    const bool is_one_root = up.back() == down.back();
    if (is_one_root && !is_staged) {
      // Cut what is above the first common device.
      while (up.size() > 1 && down.size() > 1 && up[up.size() - 2] == down[down.size() - 2]) {
        up.pop_back();
        down.pop_back();
      }
    }
    for (std::size_t i = 0; i + 1 < up.size(); ++i) out.push_back(places_[up[i]].up);
    if (is_staged && has_memory()) {
      const std::uint32_t written = memory_[up.back() - first_root_];
      out.push_back(written);
      out.push_back(written + 1);
    }
    if (!is_one_root) out.push_back(crossing(up.back(), down.back()));
    for (std::size_t i = down.size() - 1; i-- > 0;) out.push_back(places_[down[i]].up + 1);
  }

  // False when nothing but PCIe joins the two.
  bool add_fast_path(int a, int b, LocalLinks& out) const {
    if (direct_[pair(a, b)] != kNone) {
      out.push_back(direct_[pair(a, b)]);
      return true;
    }
    if (!parts_.nvswitch) return false;
    out.push_back(ports_[index(a)]);
    out.push_back(ports_[index(b)] + 1);
    return true;
  }

  // Whether the path is staged in host memory.
  bool add_path_inside(int a, int b, LocalLinks& out) const {
    if (add_fast_path(a, b, out)) return false;
    add_pcie_path(static_cast<std::uint32_t>(a), static_cast<std::uint32_t>(b), !parts_.has_p2p, out);
    return !parts_.has_p2p;
  }

  void add_path_out(int gpu, int i, LocalLinks& out) const {
    const std::uint32_t beside = places_[nic(i)].parent;
    const auto sits_there = [&](int g) { return places_[static_cast<std::size_t>(g)].parent == beside; };
    int from = gpu;
    if (parts_.nics_reach_gpus && !sits_there(gpu)) {
      for (int g = served(i); g < parts_.gpus && sits_there(g) && from == gpu; ++g) {
        if (add_fast_path(gpu, g, out)) from = g;
      }
    }
    add_pcie_path(static_cast<std::uint32_t>(from), nic(i), !parts_.nics_reach_gpus, out);
  }

  void add_paths() {
    LocalLinks path;
    for (int a = 0; a < parts_.gpus; ++a) {
      for (int b = 0; b < parts_.gpus; ++b) {
        path.clear();
        const bool is_staged = a != b && add_path_inside(a, b, path);
        plan_.inside.push_all(path);
        plan_.inside.end_row();
        plan_.extra_latency.push_back(is_staged ? parts_.staging_latency : Duration());
      }
    }
    for (int g = 0; g < parts_.gpus; ++g) {
      for (int i = 0; i < parts_.nics; ++i) {
        path.clear();
        add_path_out(g, i, path);
        plan_.out.push_all(path);
        plan_.out.end_row();
      }
    }
  }

  const ServerParts& parts_;
  WiredServer::Plan plan_;
  std::vector<Place> places_;           // by device
  std::vector<std::uint32_t> ports_;    // by GPU: its link to the NVSwitch
  std::vector<std::uint32_t> direct_;   // by pair of GPUs: the link between them
  std::vector<std::uint32_t> between_;  // by pair of sockets, the lower one first
  std::vector<std::uint32_t> memory_;   // by socket: the link to its memory
  std::uint32_t nvswitch_ = kNone;
  std::uint32_t first_switch_ = kNone;
  std::uint32_t first_root_ = kNone;
  std::uint32_t first_memory_ = kNone;
};

}  // namespace

WiredServer wire_server(const ServerParts& parts) {
  LOCKSTEP_CHECK(parts.gpus > 0 && parts.nics >= 0, "a server of {} GPUs and {} NICs", parts.gpus, parts.nics);
  LOCKSTEP_CHECK(!parts.tree || (parts.tree->sockets > 0 && parts.tree->switches_per_socket >= 0),
                 "a PCIe tree of {} sockets with {} switches each", parts.tree->sockets, parts.tree->switches_per_socket);
  return WiredServer(Wiring(parts).take());
}

}  // namespace lockstep
