// SPDX-License-Identifier: Apache-2.0
// Appends one slot of a TrainingProgram for one rank. Internal to the schedule folder.
#pragma once

#include "workloads/schedule/training_program.h"

namespace lockstep {

class SlotWriter {
 public:
  SlotWriter(const TrainingProgram& program, const Coordinates& at, ProgramCursor& cursor, OpSink& sink);
  // False when the program has ended.
  bool write();

  // Program::lap and Program::repetitions of a rank of `stage`.
  [[nodiscard]] static std::int64_t lap(const TrainingProgram& program, const ProgramCursor& at);
  [[nodiscard]] static std::int64_t repetitions(const TrainingProgram& program, std::int64_t stage, const ProgramCursor& then,
                                                const ProgramCursor& now);

 private:
  // What a cursor remembers between slots.
  enum Scratch : std::size_t {
    kAction,         // index into the pipeline order
    kStep,           // units of that action already written
    kNextBucket,     // DDP buckets handed to the network
    kGathersIssued,  // FSDP gathers pushed
    kGathersUsed,    // gathers waited for by compute
    kGatherAction,   // where the next gather to issue belongs
    kGatherStep,
    kTpSeenByCompute,  // operations of the other stream already waited for
    kComputeSeenByTp,
    kComputeSeenByReduce,
    kGatherOperations,  // of the gather stream that those used are made of
    kExchange,          // operations of the expert stream up to the last exchange
    kExchangeSeen,      // ... already waited for by compute
  };
  struct Unit {
    PipelineAction action;
    ChunkUnits chunk;
    std::int64_t index = 0;  // in forward order
    [[nodiscard]] bool is_embedding() const { return chunk.is_embedding(index); }
    [[nodiscard]] bool is_head() const { return chunk.is_head(index); }
    [[nodiscard]] bool is_layer() const { return !is_embedding() && !is_head(); }
  };

  std::int64_t& scratch(Scratch s) { return cursor_.scratch[s]; }
  [[nodiscard]] std::int64_t pushed(Stream s) const { return cursor_.pushed[static_cast<std::size_t>(s)]; }
  [[nodiscard]] Unit unit_at(std::int64_t action, std::int64_t step) const;
  [[nodiscard]] PipelineAction action_at(std::int64_t action) const {
    const PipelineTable& table = program_.table_;
    return table.is_empty() ? pipeline_action(program_.shape_, at_.pp, action) : table.at(at_.pp, action);
  }
  // Its gradients are those of all micro-batches of the chunk.
  [[nodiscard]] bool is_last_of_chunk(const PipelineAction& action) const;
  [[nodiscard]] std::int64_t action_total() const { return action_count(program_.shape_); }

  void push(Stream stream, const Op& op);
  void wait(Stream stream, Stream target, std::int64_t count);
  void wait_all(Stream stream, Stream target) { wait(stream, target, pushed(target)); }
  // Waits for everything pushed to `target`, unless `seen` says the stream already does.
  void catch_up(Stream stream, Stream target, Scratch seen);

  void compute(KernelId kernel);      // after all tensor-parallel collectives so far
  void push_kernel(KernelId kernel);  // beside them
  [[nodiscard]] std::int64_t root(const std::vector<std::int64_t>& by_chunk, const Unit& unit) const {
    return by_chunk[static_cast<std::size_t>(unit.action.chunk)];
  }
  void compute(ModelPart part, bool is_forward) { compute(part_kernel_id(part, is_forward)); }
  void collective(Stream stream, CommFamily family, CollectiveKind kind, std::int64_t bytes);
  void tp_collective(CollectiveKind kind, std::int64_t bytes);
  void enter_part();    // hidden states a part needs whole
  void gather_saved();  // ... and read forward, in backward
  void leave_part();    // partial sums a part leaves

  void forward(const Unit& unit);
  void backward(const Unit& unit);
  void weight_gradients(const Unit& unit);  // of a schedule that splits backward
  [[nodiscard]] bool has_experts(const Unit& unit) const;
  void layer_forward(const Unit& unit);
  void layer_backward(const Unit& unit);
  void part_backward(ModelPart part);
  void head_forward();

  // layer_writer.cpp
  [[nodiscard]] bool is_sliced(ModelPart part) const;
  void part_forward(ModelPart part);
  void layer_part_backward(const Unit& unit, ModelPart part);
  void sliced_part_forward(ModelPart part);
  void sliced_part_backward(ModelPart part);
  void enter_beside(KernelId kernel);
  void leave_beside(KernelId kernel);
  void middle(ModelPart part, bool is_forward);
  void cp_collective(CollectiveKind kind, std::int64_t bytes);
  void exchange_context(bool is_forward);

  // expert_writer.cpp
  void experts_forward(const Unit& unit);
  void experts_backward(const Unit& unit);
  void compute_experts(bool is_forward);
  void push_exchange();
  void exchange_tokens(const Unit& unit);
  void settle_exchange();
  [[nodiscard]] bool has_partner(const Unit& unit) const;

  // Messages between stages (slot_messages.cpp). stage_offset: +1 for the next stage, -1 for the previous one.
  [[nodiscard]] bool has_neighbour(std::int64_t stage_offset) const;
  [[nodiscard]] bool waits_for_sends() const;
  [[nodiscard]] Op message(OpKind kind, std::int64_t stage_offset) const;
  void enter(const Unit& unit);  // what the pass begins with comes from another stage
  void leave(const Unit& unit);  // what it ends with goes on to one

  [[nodiscard]] std::int64_t gather_bytes(const Unit& unit) const;
  [[nodiscard]] std::int64_t expert_gather_bytes(const Unit& unit) const;
  void issue_gathers();
  void use_gather(const Unit& unit);
  // Weights that a distributed optimizer updated.
  void gather_updates();
  void use_updates(const Unit& unit, ModelPart part);
  void reduce_ready(const Unit& unit, ModelPart part);
  void scatter_gradient(CommFamily family, std::int64_t bytes);
  void push_bucket();
  void add_copies();  // gradients of the stage that holds the same layers
  void push_bucket(const GradientBucket& bucket);
  void scatter_buckets(const GradientPoint& here);  // ZeRO-2
  void finish();

  const TrainingProgram& program_;
  const TrainingPlan& plan_;
  Coordinates at_;
  const TrainingProgram::StageData& stage_;
  ProgramCursor& cursor_;
  OpSink& sink_;
  bool is_fsdp_;
  bool is_replicated_;    // somebody holds the same weights, or the same experts
  bool gathers_updates_;  // of a distributed optimizer, or ZeRO-2
  bool gathers_ahead_;    // ... at the start of the next step instead of the end of this one
};

}  // namespace lockstep
