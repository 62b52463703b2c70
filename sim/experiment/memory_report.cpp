// SPDX-License-Identifier: Apache-2.0
#include "sim/experiment/memory_report.h"

#include "workloads/model/fit.h"
#include "workloads/model/memory.h"

namespace lockstep {

std::string gpu_name(const Network& network, EndpointId endpoint) { return network.name(network.device_of(endpoint)); }

MemoryReport report_memory(const TrainingPlan& plan, std::int64_t capacity, const std::function<std::string(Rank)>& name_of) {
  MemoryReport r;
  r.capacity = capacity;
  for (std::int64_t stage = 0; stage < plan.pp(); ++stage) {
    const MemoryBytes m = held_within(stage_memory(plan, stage), capacity);
    const Rank first = plan.layout.rank_of({.pp = static_cast<std::uint32_t>(stage)});
    r.stages.push_back({.stage = stage,
                        .rank = first.value(),
                        .parameters = m.parameters,
                        .gradients = m.gradients,
                        .optimizer = m.optimizer,
                        .activations = m.activations,
                        .buffers = m.buffers(),
                        .total = m.total()});
    if (m.total() > capacity && (!r.misfit || first.value() < r.misfit->rank)) {
      r.misfit = {.stage = stage, .rank = first.value(), .gpu = name_of(first)};
    }
    if (m.total() <= r.total) continue;
    r.fullest_stage = stage;
    r.parameters = m.parameters;
    r.gradients = m.gradients;
    r.optimizer = m.optimizer;
    r.activations = m.activations;
    r.buffers = m.buffers();
    r.total = m.total();
    r.host = m.host;
    const BufferBytes& b = m.buffer_parts;
    r.buffer_parts = {
        {"context", b.context},   {"nccl", b.nccl},           {"gathered", b.gathered},          {"logits", b.logits},
        {"exchange", b.exchange}, {"workspace", b.workspace}, {"fragmentation", b.fragmentation}};
  }
  return r;
}

void add_memory(const TrainingPlan& plan, const GpuSpec& gpu, const std::function<std::string(Rank)>& name_of, RunResult& r) {
  r.memory = report_memory(plan, gpu.memory.count(), name_of);
  if (r.fits()) return;
  const std::vector<std::string> ways = ways_to_fit(plan, gpu.memory.count());
  for (const std::string& way : ways) r.memory_advice += (r.memory_advice.empty() ? "" : "; or ") + way;
  if (ways.empty()) r.memory_advice = "more GPUs (add nodes), or a smaller model";
}

}  // namespace lockstep
