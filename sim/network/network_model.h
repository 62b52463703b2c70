// SPDX-License-Identifier: Apache-2.0
// One interface for three fidelities. A model is given transfers and says when they end.
//
// A transfer (flow entity) couples member flows of equal bytes: on a link where coefficient/weight of its members run, it
// takes coefficient x level; every member moves at weight x level (in Rate units); it ends when a member has moved `bytes`.
// It consumes nothing during its latency. Completion = start + latency + transfer, rounded up to a whole picosecond and at least
// one picosecond after the transfer phase began, also for zero bytes.
//
// Protocol, at every instant t at which something happens, in any order of calls within the instant:
//   advance(t, out)       everything due at t: latencies end, transfers complete
//   start(t, ...) / set_capacity(t, ...)   whatever the caller adds at t
//   settle(t)             one re-solve for the whole batch
// At an instant at which routes change, reroute(t, ...) comes first, before advance().
// next_event() is only valid after settle() and is never() when nothing will happen by itself. Time must not pass an event without
// advance(). A transfer on a link of capacity 0 does not end. The order of `out` is unspecified. The order of calls inside an instant never changes a result.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/time.h"
#include "base/units.h"
#include "sim/network/network_checkpoint.h"
#include "topology/routing/router.h"

namespace lockstep {

struct TransferSpec {
  std::span<const LinkShare> shares;  // sorted by link, distinct; must outlive the transfer (routes are cached by the caller)
  // One transfer may stand for many equal ones: then `shares` holds what all of them put on a link and `alone` what one does, for models
  // without contention. Empty: `shares`.
  std::span<const LinkShare> alone;
  std::int64_t weight = 1;         // > 0
  std::int64_t bytes = 0;          // per member, >= 0; members x bytes must stay within int64
  Duration latency;                // >= 0
  Rate rate_cap = Rate::units(0);  // upper bound on a member's rate; 0: none. Acts as a private link
  std::int64_t members = 1;        // for delivered-byte accounting: members x bytes, of all equals
  std::uint64_t token = 0;         // handed back on completion
};

struct Completion {
  std::uint64_t token = 0;
  std::int64_t bytes = 0;  // delivered: members x bytes of the transfer
};

struct LinkUsage {
  // Integral of the rate over time is not used for accounting: bytes are counted per completed transfer.
  std::int64_t bytes = 0;  // delivered over this link: the sum of coefficient/weight x bytes, rounded down once
  double busy_s = 0;       // time integral of rate/capacity: seconds of full use
};

// Another way for a transfer: as TransferSpec's. Equal shares: it stays on its way.
struct NewRoute {
  std::span<const LinkShare> shares;
  std::span<const LinkShare> alone;
  [[nodiscard]] bool is_other_than(std::span<const LinkShare> usual) const {
    return !std::equal(shares.begin(), shares.end(), usual.begin(), usual.end());
  }
};
using RouteOfToken = std::function<NewRoute(std::uint64_t token)>;

// How messages name a link.
using LinkNames = std::function<std::string(LinkId)>;
[[nodiscard]] inline std::string number_of(LinkId link) { return "link " + std::to_string(link.value()); }

class NetworkModel {
 public:
  virtual ~NetworkModel() = default;
  virtual void start(Instant now, const TransferSpec& spec) = 0;
  virtual void set_capacity(Instant now, LinkId link, Rate capacity) = 0;
  // Every transfer in flight goes on by its new route with the bytes it has left; those it has moved count on the links they took. One that
  // ends at this instant ends. `moved`: tokens of those that have another way now. PRE: nothing else has been called at this instant but set_capacity().
  virtual void reroute(Instant now, const RouteOfToken& route_of, std::vector<std::uint64_t>& moved) = 0;
  virtual void advance(Instant now, std::vector<Completion>& out) = 0;
  virtual void settle(Instant now) = 0;
  [[nodiscard]] virtual Instant next_event() const = 0;
  [[nodiscard]] virtual std::int64_t in_flight() const = 0;
  [[nodiscard]] virtual LinkUsage usage(LinkId link, Instant now) const = 0;
  // What is under way and what holds it back, a few lines at most; for the message when next_event() is never() although
  // in_flight() > 0 and nobody else has anything to do: that is a stall or a completion beyond the range of time.
  [[nodiscard]] virtual std::string describe_pending(const LinkNames& name = number_of) const = 0;
  // Both after settle(now). repeat: the span from `then` to `now`, the present, happens `times` more in no time: totals grow
  // by as much each time, and what is under way is as far from its end as before, later. PRE: now.repeats(then).
  virtual void save(Instant now, NetworkCheckpoint& out) const = 0;
  virtual void repeat(const NetworkCheckpoint& then, const NetworkCheckpoint& now, std::int64_t times) = 0;
  // The end of a run. Throws SimulationError, naming what is left, unless every transfer ended and every byte was delivered.
  virtual void finish(Instant now) const = 0;
};

}  // namespace lockstep
