// SPDX-License-Identifier: Apache-2.0
// WHAT every rank does: per-rank streams of operations, as on a GPU. A stream runs its operations in order; streams of a rank run
// side by side; kWait makes a stream wait until another stream of the same rank has completed a number of operations. Programs
// are generated on demand (expand() appends the next slot of a rank), never stored whole: a rank's program is a function of its
// coordinates. Pure description: knows no clock; compute carries the id of a kernel whose cost is in the KernelTable.
//
// Matching: the n-th collective of a communicator is the same one on all of its members, and starts when all have arrived.
// The n-th send from rank a to rank b meets the n-th receive of b from a on the opposite stream (kPpSendNext and kPpRecvPrev,
// kPpSendPrev and kPpRecvNext). A send is buffered: it starts when it is posted, and the receive completes when it has arrived.
//
// Roles: role() and ports() say which ranks push the same operations. Whoever runs a program expands one rank of a role for all
// (sim/runtime/role_log.h), and finds equals among them without running anything (sim/symmetry).
//
// Expansion: expand() is called when the compute stream of the rank has run dry. A slot must therefore hold every operation that
// can start before the next slot's compute does, and an operation that must not start yet must wait for the stream it depends on.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/time.h"
#include "base/units.h"
#include "workloads/collectives/algorithm.h"
#include "workloads/collectives/token_routing.h"

namespace lockstep {

using Rank = Id<struct RankTag>;
using KernelId = Id<struct KernelTag>;
using CommId = Id<struct CommTag>;

enum class Stream : std::uint8_t {
  kCompute,
  kTp,
  kCp,
  kEp,
  kDpGather,    // parameter all-gathers
  kDpReduce,    // gradient all-reduces and reduce-scatters
  kPpSendNext,  // activations to the next stage
  kPpRecvPrev,
  kPpSendPrev,  // gradients to the previous stage
  kPpRecvNext,
  kTie,          // embedding tie between the first and last stage; counts as pp
  kDpReplicate,  // gradient all-reduces between shard groups
};
inline constexpr int kStreamCount = 12;

// Keys of breakdown_s.
enum class TimeClass : std::uint8_t { kCompute, kTp, kPp, kDp, kCp, kEp, kBubble, kHost, kOther };
inline constexpr int kTimeClassCount = 9;
[[nodiscard]] TimeClass time_class(Stream stream);
[[nodiscard]] const char* to_text(TimeClass c);  // "compute", "tp", ...

enum class CollectiveKind : std::uint8_t { kAllReduce, kAllGather, kReduceScatter, kBroadcast, kReduce, kAllToAll, kSendRecv };
inline constexpr CollectiveKind kCollectiveKinds[] = {
    CollectiveKind::kAllReduce, CollectiveKind::kAllGather, CollectiveKind::kReduceScatter, CollectiveKind::kBroadcast,
    CollectiveKind::kReduce,    CollectiveKind::kAllToAll,  CollectiveKind::kSendRecv};
[[nodiscard]] const char* to_text(CollectiveKind k);  // "all_reduce", ...

enum class OpKind : std::uint8_t {
  kCompute,
  kCollective,
  kSend,
  kRecv,
  kWait,
  kBarrier,  // done when all members of the communicator have come to it; costs nothing
};
// Program::collective_kinds() of a communicator that runs barriers alone.
inline constexpr std::uint32_t kBarrierOnly = 1u << 31;

struct Op {
  OpKind kind = OpKind::kCompute;
  CollectiveKind collective = CollectiveKind::kAllReduce;
  Stream wait_stream = Stream::kCompute;  // kWait: until that stream ...
  KernelId kernel;                        // kCompute
  CommId comm;                            // kCollective, kBarrier
  Rank peer;                              // kSend, kRecv
  std::int64_t bytes = 0;       // kCollective: the larger per-rank buffer, as nccl-tests defines size; kSend/kRecv: message
  std::int64_t wait_count = 0;  // kWait: ... has completed this many operations (waits count as operations)
};

// A kernel with its cost. flops and bytes describe the work; time is what one GPU of the cluster needs undisturbed, `host` included.
struct Kernel {
  std::string name;
  double flops = 0;  // executed
  double bytes = 0;  // HBM traffic
  Duration time;
  Duration host;  // of that, what the starting of its parts adds to their time on the GPU (workloads/kernels/roofline.h)
  bool is_pause = false;  // time of the clock: the GPU does nothing, and a slow one takes no longer
};
struct KernelTable {
  std::vector<Kernel> kernels;
  [[nodiscard]] const Kernel& operator[](KernelId id) const { return kernels[id.index()]; }
};

// Receives the operations of one rank; `pushed` counts operations per stream since the start of the program, which is what
// kWait refers to.
class OpSink {
 public:
  virtual ~OpSink() = default;
  virtual void push(Stream stream, const Op& op) = 0;
};

// A rank's place in its program; owned by whoever runs the rank. pushed[] counts operations per stream.
struct ProgramCursor {
  std::int64_t slot = 0;
  std::int64_t pushed[kStreamCount] = {};
  std::int64_t scratch[16] = {};  // generator's own
};

// What a rank has to do with others: a communicator it belongs to, or a rank it sends to or receives from.
struct Port {
  enum class Kind : std::uint8_t { kCommunicator, kSend, kReceive };
  Kind kind = Kind::kCommunicator;
  Stream stream = Stream::kCompute;  // kSend and kReceive: of the operations of this rank
  CommId comm;                       // kCommunicator
  Rank peer;                         // kSend, kReceive
};

class Program {
 public:
  virtual ~Program() = default;
  [[nodiscard]] virtual std::uint32_t world_size() const = 0;
  [[nodiscard]] virtual const KernelTable& kernels() const = 0;
  // Appends the next slot of `rank` (about one layer's worth). Returns false when the program has ended (nothing appended).
  // Must advance cursor.slot and keep cursor.pushed equal to the number of operations pushed per stream.
  virtual bool expand(Rank rank, ProgramCursor& cursor, OpSink& sink) const = 0;
  // Members in rank order of the communicator; the ring order over the network is chosen by the collectives.
  virtual void members(CommId comm, std::vector<Rank>& out) const = 0;
  [[nodiscard]] virtual std::uint32_t communicator_count() const = 0;
  // Bit (1 << kind) for every CollectiveKind that runs on the communicator.
  [[nodiscard]] virtual std::uint32_t collective_kinds(CommId comm) const = 0;
  // How the collectives of the communicator run: by the one with the least undisturbed time (kAuto), or by this one where it can.
  [[nodiscard]] virtual Algorithm algorithm(CommId /*comm*/) const { return Algorithm::kRing; }
  // How the tokens that an all_to_all of the communicator carries choose experts; none: they are copied for each.
  [[nodiscard]] virtual TokenRouting routing(CommId /*comm*/) const { return {}; }
  // Ranks of equal role push equal operations, up to the communicators and peers in them, which are the same by position in ports().
  [[nodiscard]] virtual std::uint32_t role(Rank rank) const = 0;
  // Repetition (sim/runtime/repetition.h): how many times the rank has gone round the part of its program that repeats ...
  [[nodiscard]] virtual std::int64_t lap(Rank /*rank*/, const ProgramCursor& /*at*/) const { return 0; }
  // ... and how often the operations appended between two cursors, `now` the later one, come again after `now`, with every count in them and every word of the
  // cursor moved on by the difference of the two each time. 0: not once, or unknown.
  [[nodiscard]] virtual std::int64_t repetitions(Rank /*rank*/, const ProgramCursor& /*then*/,
                                                 const ProgramCursor& /*now*/) const {
    return 0;
  }
  // Programs of several jobs (workloads/schedule/combined_program.h) say whose a rank is, and what its numbers are in its own job: by those
  // paths are chosen.
  [[nodiscard]] virtual std::uint32_t job_count() const { return 1; }
  [[nodiscard]] virtual std::uint32_t job_of(Rank /*rank*/) const { return 0; }
  [[nodiscard]] virtual Rank rank_in_job(Rank rank) const { return rank; }
  [[nodiscard]] virtual CommId comm_in_job(CommId comm) const { return comm; }
  // Everything the operations of `rank` name, each once.
  virtual void ports(Rank rank, std::vector<Port>& out) const = 0;
};

}  // namespace lockstep
