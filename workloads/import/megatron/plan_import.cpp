// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>

#include <algorithm>

#include "workloads/import/megatron/job_import.h"

namespace lockstep {
namespace {

// "gpu:8", "gpu:h100:8" of --gres.
std::int64_t gpus_of_gres(LaunchReader& a, const LaunchArgument& gres) {
  const std::string text = a.text(&gres);
  LaunchArgument last = gres;
  last.values.front().text = text.substr(text.rfind(':') + 1);
  return text.starts_with("gpu") ? a.integer(&last, 1) : 1;
}

// Nodes x processes per node, as torchrun, deepspeed, srun or mpirun were told; warns where one of them is not known.
void import_world(LaunchReader& a, JobSpec& job) {
  const LaunchArgument* nodes = a.find({"N", "nodes", "num-nodes", "nnodes"});
  const LaunchArgument* per_node = a.find({"nproc-per-node", "num-gpus", "gpus-per-node"});
  const LaunchArgument* tasks = a.find({"ntasks-per-node"});
  const LaunchArgument* gres = a.find("gres");
  const LaunchArgument* all = a.find({"n", "np", "ntasks"});
  const auto is_known = [](const LaunchArgument* x) {
    return x != nullptr && !x->values.empty() && x->values.front().unknown.empty();
  };
  for (const LaunchArgument* x : {nodes, per_node}) {
    if (x == nullptr || is_known(x)) continue;
    const std::string unknown = x->values.empty() ? "no value" : x->values.front().unknown;
    return a.warning(*x, fmt::format("is {}, which is not known here: the job will fill the cluster it is given", unknown),
                     LaunchReader::way_out(*x) + ", or set gpus in the job");
  }
  std::int64_t gpus = 0;
  const LaunchArgument* from = nullptr;
  if (is_known(per_node)) {
    gpus = a.integer(per_node, 1);
    from = per_node;
  } else if (is_known(tasks) && a.integer(tasks, 1) > 1) {
    gpus = a.integer(tasks, 1);
    from = tasks;
  } else if (is_known(gres)) {
    gpus = gpus_of_gres(a, *gres);
    from = gres;
  }
  if (from == nullptr && is_known(all)) {
    gpus = a.integer(all, 1);
    from = all;
  } else if (from != nullptr && is_known(nodes)) {
    gpus *= a.integer(nodes, 1);
    from = nodes;
  }
  if (from != nullptr) a.set(job.gpus, gpus, "gpus", from);
}

void import_batch(LaunchReader& a, JobSpec& job) {
  const LaunchArgument* length = a.find({"seq-length", "encoder-seq-length"});
  a.set(job.seq_len, a.required({"seq-length", "encoder-seq-length"}), "seq_len", length);
  const LaunchArgument* micro = a.find({"micro-batch-size", "batch-size", "train-micro-batch-size-per-gpu"});
  a.set(job.micro_batch, a.required({"micro-batch-size", "batch-size", "train-micro-batch-size-per-gpu"}), "micro_batch",
        micro);
  const LaunchArgument* global = a.find({"global-batch-size", "train-batch-size"});
  const LaunchArgument* accumulation = a.find({"gradient-accumulation-steps", "gas"});
  if (global != nullptr) {
    a.set(job.global_batch, a.integer(global, 1), "global_batch", global);
  } else {
    a.set(job.gradient_accumulation, a.integer(accumulation, 1), "gradient_accumulation", accumulation);
  }
  const LaunchArgument* growth = a.find("rampup-batch-size");
  if (growth != nullptr) a.warning(*growth, "the batch does not grow here: every step has the whole one");
}

// Layers of each stage where Megatron is told that the first, the last, the embedding or the loss count otherwise.
void import_stages(LaunchReader& a, JobSpec& job) {
  const LaunchArgument* first = a.find({"decoder-first-pipeline-num-layers", "num-layers-in-first-pipeline-stage"});
  const LaunchArgument* last = a.find({"decoder-last-pipeline-num-layers", "num-layers-in-last-pipeline-stage"});
  const LaunchArgument* embedding = a.find("account-for-embedding-in-pipeline-split");
  const LaunchArgument* loss = a.find("account-for-loss-in-pipeline-split");
  const LaunchArgument* layout = a.find({"pipeline-model-parallel-layout"});
  if (layout != nullptr) a.error(*layout, "layouts are not imported", "leave it out, and give the job `stages`");
  const bool counts_embedding = LaunchReader::is_set(embedding);
  const bool counts_loss = LaunchReader::is_set(loss);
  if (job.pp == 1 || (first == nullptr && last == nullptr && !counts_embedding && !counts_loss)) return;
  const auto stages = static_cast<std::size_t>(job.pp);
  std::vector<std::int64_t> split(stages, 0);
  const LaunchArgument* from = first != nullptr ? first : last != nullptr ? last : counts_loss ? loss : embedding;
  if (first != nullptr || last != nullptr) {
    std::int64_t rest = job.model.layers;
    const std::int64_t free = job.pp - (first != nullptr ? 1 : 0) - (last != nullptr ? 1 : 0);
    if (first != nullptr) rest -= split.front() = a.integer(first, 1);
    if (last != nullptr) rest -= split.back() = a.integer(last, 1);
    if (rest < 0 || (free == 0 ? rest != 0 : rest % free != 0)) {
      return a.error(*from, fmt::format("{} layers are left for {} stages", rest, free), "they must divide evenly");
    }
    for (std::size_t s = 0; s < stages; ++s) {
      const bool is_told = (s == 0 && first != nullptr) || (s + 1 == stages && last != nullptr);
      if (!is_told) split[s] = rest / free;
    }
  } else {
    const std::int64_t all = job.model.layers + (counts_embedding ? 1 : 0) + (counts_loss ? 1 : 0);
    if (all % job.pp != 0) return a.error(*from, fmt::format("{} layers and ends do not divide by {} stages", all, job.pp));
    std::fill(split.begin(), split.end(), all / job.pp);
    split.front() -= counts_embedding ? 1 : 0;
    split.back() -= counts_loss ? 1 : 0;
  }
  a.set(job.stages, split, "stages", from);
}

void import_virtual_stages(LaunchReader& a, JobSpec& job) {
  const LaunchArgument* layers = a.find("num-layers-per-virtual-pipeline-stage");
  const LaunchArgument* count = a.find("num-virtual-stages-per-pipeline-rank");
  if (job.pp == 1) return;
  if (count != nullptr) return a.set(job.virtual_stages, a.integer(count, 1), "virtual_stages", count);
  if (layers == nullptr) return;
  const std::int64_t chunk = a.integer(layers, 1) * job.pp;
  if (job.model.layers % chunk != 0 && job.stages.empty()) {
    return a.error(*layers, fmt::format("{} layers do not divide by {} stages x {}", job.model.layers, job.pp, chunk / job.pp));
  }
  a.set(job.virtual_stages, std::max<std::int64_t>(1, (job.model.layers + chunk - 1) / chunk), "virtual_stages", layers);
}

void import_schedule(LaunchReader& a, JobSpec& job) {
  const LaunchArgument* h1 = a.find({"enable-zbh1-pipeline", "enable-zero-bubble"});
  const LaunchArgument* v = a.find("zero-bubble-v-schedule");
  const LaunchArgument* memory = a.find("zero-bubble-v-schedule-mem-setup");
  if (LaunchReader::is_set(v)) {
    const std::string kind = a.text(memory, "zb");
    const PipelineSchedule s = kind == "half"  ? PipelineSchedule::kVHalf
                               : kind == "min" ? PipelineSchedule::kVMin
                                               : PipelineSchedule::kZeroBubbleV;
    a.set(job.schedule, s, "schedule", memory != nullptr ? memory : v);
  } else if (LaunchReader::is_set(h1)) {
    a.set(job.schedule, PipelineSchedule::kZeroBubbleH1, "schedule", h1);
  }
}

void import_context(LaunchReader& a, JobSpec& job) {
  const LaunchArgument* cp = a.find("context-parallel-size");
  const LaunchArgument* ulysses = a.find("ds-sequence-parallel-size");
  const LaunchArgument* kind = a.find("cp-comm-type");
  if (ulysses != nullptr && a.integer(ulysses, 1) > 1) {
    a.set(job.cp, a.integer(ulysses, 1), "cp", ulysses);
    return a.set(job.cp_exchange, CpExchange::kAllToAll, "cp_exchange", ulysses);
  }
  if (cp == nullptr || a.integer(cp, 1) <= 1) return;
  a.set(job.cp, a.integer(cp, 1), "cp", cp);
  const std::string name = a.text(kind, "p2p");
  const CpExchange exchange = name == "a2a"                                 ? CpExchange::kAllToAll
                              : name == "allgather" || name == "all_gather" ? CpExchange::kAllGather
                                                                            : CpExchange::kRing;
  if (kind != nullptr && name != "p2p" && exchange == CpExchange::kRing) {
    a.error(*kind, fmt::format("'{}' is not modelled", name), "p2p, allgather or a2a");
  }
  a.set(job.cp_exchange, exchange, "cp_exchange", kind);
}

}  // namespace

void import_plan(LaunchReader& a, JobSpec& job) {
  const LaunchArgument* tp = a.find({"tensor-model-parallel-size", "model-parallel-size"});
  const LaunchArgument* pp = a.find({"pipeline-model-parallel-size", "pipe-parallel-size"});
  if (tp != nullptr) a.set(job.tp, a.integer(tp, 1), "tp", tp);
  if (pp != nullptr) a.set(job.pp, std::max<std::int64_t>(1, a.integer(pp, 1, 0)), "pp", pp);  // GPT-NeoX: 0 is none
  import_batch(a, job);
  import_world(a, job);
  import_context(a, job);
  const LaunchArgument* sequence = a.find("sequence-parallel");
  if (LaunchReader::is_set(sequence) && job.tp > 1) a.set(job.sequence_parallel, true, "sequence_parallel", sequence);
  const LaunchArgument* buffers = a.find("tp-comm-overlap");
  const LaunchArgument* no_async = a.find("no-async-tensor-model-parallel-allreduce");
  for (const char* detail : {"tp-comm-overlap-cfg", "tp-comm-bootstrap-backend", "tp-comm-overlap-ag", "tp-comm-overlap-rs"}) {
    (void)a.find(detail);
  }
  if (job.tp > 1) {
    const bool overlaps = !LaunchReader::is_set(no_async) && !is_deepspeed(a);
    const TpOverlap kind = LaunchReader::is_set(buffers) ? TpOverlap::kPipelined
                           : overlaps                    ? TpOverlap::kBackward
                                                         : TpOverlap::kNone;
    a.set(job.tp_overlap, kind, "tp_overlap", LaunchReader::is_set(buffers) ? buffers : no_async);
  }
  const LaunchArgument* whole = a.find("no-scatter-gather-tensors-in-pipeline");
  if (job.tp > 1 && job.pp > 1 && !job.sequence_parallel && !is_deepspeed(a)) {
    a.set(job.scatter_gather, !LaunchReader::is_set(whole), "scatter_gather", whole);
  }
  for (const char* detail : {"overlap-p2p-communication", "no-overlap-p2p-communication", "batch-p2p-communication",
                             "microbatch-group-size-per-virtual-pipeline-stage", "defer-embedding-wgrad-compute",
                             "deallocate-pipeline-outputs", "no-pipeline-parallel"}) {
    (void)a.find(detail);
  }
  const LaunchArgument* order = a.find("use-tp-pp-dp-mapping");
  if (LaunchReader::is_set(order)) {
    job.rank_order = RankOrder{{ParallelAxis::kTp, ParallelAxis::kCp, ParallelAxis::kPp, ParallelAxis::kDp}};
    a.context().note_origin("rank_order", order->position);
  }
}

void import_pipeline(LaunchReader& a, JobSpec& job) {
  import_stages(a, job);
  import_virtual_stages(a, job);
  import_schedule(a, job);
}

}  // namespace lockstep
