// SPDX-License-Identifier: Apache-2.0
#include "topology/faults/fault_states.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <tuple>

#include "base/check.h"
#include "base/diagnostics.h"
#include "base/field_table.h"

namespace lockstep {
namespace {

bool is_between_switches(const Network& net, const Link& l) {
  return l.from >= net.first_switch() && l.to >= net.first_switch();
}

// Devices by name. Those of nodes are looked up in their node, switches in a list made once.
class DeviceNames {
 public:
  explicit DeviceNames(const Network& net) : net_(net), devices_per_node_(net.first_switch().value() / net.node_count()) {}

  [[nodiscard]] std::optional<DeviceId> find(const std::string& name) {
    for (const DeviceId d : candidates(name)) {
      if (net_.name(d) == name) return d;
    }
    return std::nullopt;
  }
  [[nodiscard]] std::string hint(const std::string& name) {
    std::vector<std::string> names;
    for (const DeviceId d : candidates(name)) names.push_back(net_.name(d));
    const std::string guess = closest(name, names);
    if (!guess.empty()) return fmt::format("did you mean '{}'?", guess);
    if (names.empty()) return fmt::format("nodes are 0 to {}", net_.node_count() - 1);
    names.resize(std::min<std::size_t>(names.size(), 6));
    return fmt::format("like {}", fmt::join(names, ", "));
  }

 private:
  // Those of the node the name begins with, and switches.
  [[nodiscard]] std::vector<DeviceId> candidates(const std::string& name) const {
    std::vector<DeviceId> out;
    const std::size_t digit = std::min(name.find_first_of("0123456789"), name.size());
    const std::string stem = name.substr(0, digit);
    const std::size_t end = std::min(name.find_first_not_of("0123456789", digit), name.size());
    if ((stem == "node" || stem == "host") && end > digit && end - digit < 9) {
      const std::uint64_t node = std::stoul(name.substr(digit, end - digit));
      for (std::uint64_t i = 0; i < devices_per_node_ && node < net_.node_count(); ++i) {
        out.push_back(DeviceId::from_index(node * devices_per_node_ + i));
      }
      return out;
    }
    for (std::size_t d = net_.first_switch().index(); d < net_.device_count(); ++d) out.push_back(DeviceId::from_index(d));
    return out;
  }

  const Network& net_;
  std::uint64_t devices_per_node_;
};

// What a link must be like to be meant by a fault.
struct Target {
  std::uint32_t fault = 0;
  DeviceId a;
  DeviceId b;  // none: any link of `a`
  bool both_ways = true;
  bool host_only = false;  // links to switches
  std::string one_of;      // the whole name of one of parallel cables
};

std::string names_of_neighbours(const Network& net, DeviceId d) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < net.link_count() && names.size() < 4; ++i) {
    const Link l = net.link(LinkId::from_index(i));
    if (l.from == d) names.push_back(net.name(LinkId::from_index(i)));
  }
  return fmt::format("like {}", fmt::join(names, ", "));
}

class Locator {
 public:
  Locator(const Network& net, const std::vector<FaultSpec>& faults, const FaultError& report)
      : net_(net), faults_(faults), report_(report), names_(net) {}

  std::vector<LinkFault> run() {
    for (std::uint32_t i = 0; i < faults_.size(); ++i) add(i);
    std::vector<std::size_t> found(targets_.size(), 0);
    std::vector<LinkFault> out;
    for (std::size_t i = 0; i < net_.link_count() && !targets_.empty(); ++i) {
      const LinkId id = LinkId::from_index(i);
      const Link l = net_.link(id);
      if (!is_marked(l.from) && !is_marked(l.to)) continue;
      for (std::size_t t = 0; t < targets_.size(); ++t) {
        if (!means(targets_[t], id, l)) continue;
        ++found[t];
        out.push_back({id, targets_[t].fault});
      }
    }
    for (std::size_t t = 0; t < targets_.size(); ++t) {
      if (found[t] == 0) report_missing(targets_[t]);
    }
    std::sort(out.begin(), out.end());
    out.erase(std::unique(out.begin(), out.end()), out.end());
    return out;
  }

 private:
  void add(std::uint32_t i) {
    const FaultSpec& f = faults_[i];
    if (f.node && static_cast<std::size_t>(*f.node) >= net_.node_count()) {
      return report_(i, "node", fmt::format("the cluster has no node {}", *f.node),
                     fmt::format("nodes are 0 to {}", net_.node_count() - 1));
    }
    if (!f.concerns_links()) return;
    if (f.link) return add_link(i, *f.link);
    if (f.node) {
      const std::uint32_t devices = net_.first_switch().value() / static_cast<std::uint32_t>(net_.node_count());
      const std::uint32_t first = static_cast<std::uint32_t>(*f.node) * devices;
      for (std::uint32_t d = first; d < first + devices; ++d) {
        const DeviceKind kind = net_.kind(DeviceId(d));
        if (kind == DeviceKind::kNic || kind == DeviceKind::kHost)
          add_target({.fault = i, .a = DeviceId(d), .host_only = true});
      }
      return;
    }
    const std::string& name = f.nic ? *f.nic : *f.switch_name;
    const std::optional<DeviceId> device = find(i, f.nic ? "nic" : "switch", name);
    if (!device) return;
    const DeviceKind kind = net_.kind(*device);
    const bool is_nic = kind == DeviceKind::kNic;
    if (f.nic && !is_nic) return report_(i, "nic", fmt::format("'{}' is no NIC", name), "like node0.nic0");
    if (f.switch_name && (is_nic || kind == DeviceKind::kGpu || kind == DeviceKind::kHost)) {
      return report_(i, "switch", fmt::format("'{}' is no switch", name), "give nic, node or link for what is no switch");
    }
    add_target({.fault = i, .a = *device, .host_only = is_nic});
  }

  void add_link(std::uint32_t i, const std::string& text) {
    const std::size_t arrow = text.find('>');
    if (arrow == std::string::npos) {
      return report_(i, "link", fmt::format("'{}' names no link", text), "FROM>TO, like \"leaf0>spine1\"");
    }
    const std::size_t mark = text.find('#', arrow);
    const std::optional<DeviceId> a = find(i, "link", text.substr(0, arrow));
    const std::optional<DeviceId> b =
        find(i, "link", text.substr(arrow + 1, mark == std::string::npos ? mark : mark - arrow - 1));
    if (!a || !b) return;
    add_target({.fault = i,
                .a = *a,
                .b = *b,
                .both_ways = faults_[i].direction == FaultDirection::kBoth,
                .one_of = mark == std::string::npos ? "" : text.substr(mark)});
  }

  std::optional<DeviceId> find(std::uint32_t i, std::string_view key, const std::string& name) {
    std::optional<DeviceId> device = names_.find(name);
    if (!device) report_(i, key, fmt::format("nothing is called '{}'", name), names_.hint(name));
    return device;
  }

  void add_target(Target t) {
    if (marked_.empty()) marked_.assign(net_.device_count(), false);
    marked_[t.a.index()] = true;
    targets_.push_back(std::move(t));
  }
  [[nodiscard]] bool is_marked(DeviceId d) const { return marked_[d.index()]; }

  [[nodiscard]] bool means(const Target& t, LinkId id, const Link& l) const {
    if (t.b.is_none()) return (l.from == t.a || l.to == t.a) && (!t.host_only || l.tier == LinkTier::kHost);
    const bool forward = l.from == t.a && l.to == t.b;
    const bool backward = l.from == t.b && l.to == t.a;
    if (!forward && !(backward && t.both_ways)) return false;
    return t.one_of.empty() || net_.name(id).ends_with(t.one_of);
  }

  void report_missing(const Target& t) {
    const FaultSpec& f = faults_[t.fault];
    if (f.link) {
      report_(t.fault, "link", fmt::format("no link is called '{}'", *f.link), names_of_neighbours(net_, t.a));
    } else if (f.node) {
      report_(t.fault, "node", "the node has no link to a switch", "its rate and state are those of its NICs");
    } else {
      report_(t.fault, f.nic ? "nic" : "switch", "has no link", "name what is cabled");
    }
  }

  const Network& net_;
  const std::vector<FaultSpec>& faults_;
  const FaultError& report_;
  DeviceNames names_;
  std::vector<Target> targets_;
  std::vector<bool> marked_;  // by device: an end of a target
};

}  // namespace

std::vector<LinkFault> locate_faults(const Network& network, const std::vector<FaultSpec>& faults, const FaultError& report) {
  return Locator(network, faults, report).run();
}

FaultStates::FaultStates(const Network& network, const std::vector<FaultSpec>& faults, Duration reroute_after)
    : faults_(faults),
      links_(locate_faults(network, faults, [](std::size_t i, std::string_view key, std::string message, std::string hint) {
        throw UserError(fmt::format("faults[{}].{}: {}", i, key, message), std::move(hint));
      })) {
  std::vector<LinkId> trunks;
  for (const LinkFault& l : links_) {
    if (!is_between_switches(network, network.link(l.link))) continue;
    if (trunks.empty() || trunks.back() != l.link) trunks.push_back(l.link);
    const FaultSpec& f = faults_[l.fault];
    const bool is_noticed = !f.until || f.from.value_or(Duration()) + reroute_after < *f.until;
    if (f.is_timed() && f.is_failure() && is_noticed) noticed_.push_back(l.fault);
  }
  std::sort(noticed_.begin(), noticed_.end());
  noticed_.erase(std::unique(noticed_.begin(), noticed_.end()), noticed_.end());
  list_states(reroute_after);
  if (trunks.empty()) return;
  for (const FaultSet& state : states_) {
    std::vector<LinkId> failed;
    std::vector<LinkId> avoided;
    for (const LinkCondition& c : conditions(network, state)) {
      if (!is_between_switches(network, network.link(c.link))) continue;
      if (c.is_failed) failed.push_back(c.link);
      if (c.is_avoided) avoided.push_back(c.link);
    }
    paths_.emplace_back(network.fabric(), std::move(failed), std::move(avoided), trunks);
  }
  SurvivingPaths::agree_on_weight(network.fabric(), paths_);
}

bool FaultStates::has_timed() const {
  return std::any_of(links_.begin(), links_.end(), [this](const LinkFault& l) { return faults_[l.fault].is_timed(); });
}

// What comes once is noticed from its beginning and `reroute_after` on until its end, so every set of such is one at one of these
// instants. What comes again may meet any of them. Listing ends once there are too many.
void FaultStates::list_states(Duration reroute_after) {
  using Window = std::tuple<Duration, Duration, std::optional<Duration>>;  // from when on it is noticed, until when, how often
  std::map<Window, FaultSet> windows;
  for (const std::uint32_t i : noticed_) {
    const FaultSpec& f = faults_[i];
    windows[{f.from.value_or(Duration()) + reroute_after, f.until.value_or(Instant::never() - Instant()), f.every}].push_back(
        i);
  }
  const auto joined = [](const FaultSet& a, const FaultSet& b) {
    FaultSet out;
    std::set_union(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(out));
    return out;
  };
  std::set<Duration> instants;
  for (const auto& [window, group] : windows) {
    const auto& [begin, end, every] = window;
    if (!every) instants.insert({begin, end});
  }
  std::set<FaultSet> sets{FaultSet()};
  for (const Duration t : instants) {
    FaultSet state;
    for (const auto& [window, group] : windows) {
      const auto& [begin, end, every] = window;
      if (!every && begin <= t && t < end) state.insert(state.end(), group.begin(), group.end());
    }
    std::sort(state.begin(), state.end());
    sets.insert(std::move(state));
    if (sets.size() > kMostStates) break;
  }
  for (const auto& [window, group] : windows) {
    if (!std::get<2>(window)) continue;
    const std::vector<FaultSet> without(sets.begin(), sets.end());
    for (const FaultSet& s : without) sets.insert(joined(s, group));
    if (sets.size() > kMostStates) break;
  }
  if (sets.size() > kMostStates) {
    throw UserError(fmt::format("faults that come and go make more than {} different networks", kMostStates),
                    "fewer failures that come again, or the same times for those of one cause");
  }
  states_.assign(sets.begin(), sets.end());
}

std::vector<LinkCondition> FaultStates::conditions(const Network& healthy, const FaultSet& state) const {
  std::vector<LinkCondition> out;
  for (const LinkFault& l : links_) {
    const FaultSpec& f = faults_[l.fault];
    if (out.empty() || out.back().link != l.link) {
      const Link link = healthy.link(l.link);
      out.push_back({.link = l.link, .capacity = link.capacity, .nominal = link.nominal});
    }
    LinkCondition& c = out.back();
    if (f.is_timed()) {
      c.is_avoided = c.is_avoided || std::binary_search(state.begin(), state.end(), l.fault);
      continue;
    }
    const Link link = healthy.link(l.link);
    const double left = f.is_failure() ? 0 : f.rate->value;
    if (f.is_failure() && !c.is_failed) {
      c.is_failed = true;
      c.fault = l.fault;
    }
    c.capacity = std::min(c.capacity, link.capacity.scaled(left));
    c.nominal = std::min(c.nominal, link.nominal.scaled(left));
  }
  return out;
}

Network FaultStates::network(const Network& healthy, std::size_t state) const {
  std::vector<std::string> reasons;
  for (const FaultSpec& f : faults_) reasons.push_back(to_text(f));
  return healthy.with(conditions(healthy, states_[state]), std::move(reasons),
                      paths_.empty() ? std::nullopt : std::optional<SurvivingPaths>(paths_[state]));
}

}  // namespace lockstep
