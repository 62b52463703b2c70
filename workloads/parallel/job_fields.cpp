// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <filesystem>

#include "base/field_table.h"
#include "base/text_file.h"
#include "workloads/import/model_document.h"
#include "workloads/kernels/timings.h"
#include "workloads/parallel/job.h"

namespace lockstep {
namespace {

constexpr std::int64_t kMostRanks = 1 << 20;

bool has_model(const JobSpec& job) { return job.model.layers > 0; }

const FieldTable<SoftwareSpec>& software_fields() {
  static const FieldTable<SoftwareSpec> table = [] {
    FieldTable<SoftwareSpec> t;
    t.choice("framework", &SoftwareSpec::framework,
             {{"megatron", Framework::kMegatron, "Megatron-LM, Megatron Core, NeMo"},
              {"pytorch", Framework::kPytorch, "PyTorch's own DDP and FSDP, llm-foundry, TorchTitan"},
              {"deepspeed", Framework::kDeepspeed, "DeepSpeed, Megatron-DeepSpeed"}})
        .doc("whose kernels and host code run");
    t.field("released", &SoftwareSpec::released).doc("year and month of its release, like 2024-06; absent: the newest known");
    return t;
  }();
  return table;
}

// Relative to the document that names it; to the working directory when a person does.
std::string file_of(const Node& node) {
  const Position where = node.position();
  if (where.line == 0) return node.text();
  return (std::filesystem::path(where.file).parent_path() / node.text()).lexically_normal().string();
}

void read_kernel_timings(const Node& node, std::shared_ptr<const KernelTimings>& out, ReadContext& context,
                         const std::string& path) {
  if (!node.is_scalar() || node.text().empty()) {
    context.error(path, fmt::format("the name of a CSV file is expected, not {}", to_text(node.kind())));
    return;
  }
  constexpr std::size_t kMostBytes = 16u << 20;
  const std::string file = file_of(node);
  Diagnostics of_file;
  const std::optional<std::string> bytes = read_file(file, kMostBytes, of_file);
  const std::optional<std::string> text = bytes ? clean_text(*bytes, file, of_file) : std::nullopt;
  if (text) {
    out = std::make_shared<const KernelTimings>(parse_kernel_timings(*text, file, of_file));
  } else if (!bytes) {
    context.error(path, fmt::format("{}: {}", file, of_file.items().front().message),
                  "a CSV file of measured kernels, relative to this document");
    return;
  }
  for (const Diagnostic& item : of_file.items()) context.diagnostics().add(item);
}

void print_kernel_timings(const std::shared_ptr<const KernelTimings>& timings, ConfigPrinter& printer, std::string_view key,
                          const std::string& path) {
  if (timings) printer.value(path, key, Codec<std::string>::print(timings->file));
}

void check_what_computes(const JobSpec& job, Section& s) {
  if (job.profile && has_model(job)) {
    s.error("profile", "a job computes a model or a profile, not both", "leave one of them out");
  } else if (job.profile) {
    if (job.kernel_timings) s.error("kernel_timings", "a profile is measured itself", "leave it out");
    if (job.seq_len > 0) s.error("seq_len", "a profile has samples, not sequences of tokens", "leave it out");
  } else {
    if (!has_model(job)) {
      s.error("model", "the key 'model' is missing",
              "a shipped model or a YAML file; or a profile: gradient bytes and time per sample");
    }
    if (job.seq_len == 0) s.error("seq_len", "the key 'seq_len' is missing", "length of a sequence, in tokens");
  }
}

void add_batch(FieldTable<JobSpec>& t) {
  t.reference("model", &JobSpec::model, model_fields(), FieldTable<JobSpec>::Loader<TransformerSpec>(read_model))
      .doc("a shipped model, a YAML file, or the config.json of a Hugging Face model; required unless profile is given");
  t.print_when([](const JobSpec& job) { return has_model(job); });
  t.section("profile", &JobSpec::profile, profile_fields())
      .doc("instead of model: a data-parallel job by measurement, gradient bytes and time per sample");
  t.section("lora", &JobSpec::lora, lora_fields())
      .doc(
          "low-rank adapters are trained beside frozen weights, which have no gradients and no optimizer; absent: all weights "
          "are trained");
  t.field("seq_len", &JobSpec::seq_len).range(1, 1 << 24).unit("tokens").doc("length of a sequence; required with a model");
  t.print_when([](const JobSpec& job) { return job.seq_len > 0; });
  t.field("micro_batch", &JobSpec::micro_batch)
      .range(1, 65'536)
      .unit("sequences")
      .doc("computed at once by a data-parallel rank");
  t.field("global_batch", &JobSpec::global_batch)
      .range(1, std::int64_t{1} << 40)
      .unit("sequences")
      .doc("per step, of all ranks; or give gradient_accumulation");
  t.field("gradient_accumulation", &JobSpec::gradient_accumulation)
      .range(1, kMostMicroBatches)
      .unit("micro-batches")
      .doc("per data-parallel rank and step; 1 when global_batch is absent too");
}

void add_parallelism(FieldTable<JobSpec>& t) {
  t.field("tp", &JobSpec::tp).range(1, kMostRanks).doc("tensor-parallel ranks; fewer KV heads than ranks are copied");
  t.field("pp", &JobSpec::pp).range(1, kMostRanks).doc("pipeline stages");
  t.field("dp", &JobSpec::dp).range(AutoCount(), AutoCount(kMostRanks)).doc("data-parallel ranks; auto fills the cluster");
  t.field("cp", &JobSpec::cp).range(1, kMostRanks).doc("context-parallel ranks, that share each sequence");
  t.choice("cp_exchange", &JobSpec::cp_exchange,
           {{"ring", CpExchange::kRing, "keys and values go round, beside the attention of those at hand"},
            {"all_gather", CpExchange::kAllGather, "all keys and values are gathered before the attention"},
            {"all_to_all", CpExchange::kAllToAll, "heads instead of tokens are split during the attention (Ulysses)"}})
      .doc("how context-parallel ranks come to all keys and values");
  t.field("ep", &JobSpec::ep)
      .range(1, kMostRanks)
      .doc("expert-parallel ranks, carved out of dp x cp, and of tp where expert_tp is 1");
  t.field("expert_tp", &JobSpec::expert_tp).range(1, kMostRanks).doc("tensor-parallel ranks of one expert: 1 or tp");
  t.field("expert_skew", &JobSpec::expert_skew)
      .range(1, 1'000)
      .doc("tokens that the busiest expert-parallel rank receives, over the mean; 1: balanced routing");
  t.choice("expert_dispatch", &JobSpec::expert_dispatch,
           {{"plain", ExpertDispatch::kPlain, "a token travels once for each of its experts"},
            {"deduplicated", ExpertDispatch::kDeduplicated, "once for each node that has any of its experts (DeepEP)"}})
      .doc("how tokens travel to their experts and back");
  t.field("overlap_shared_expert", &JobSpec::overlap_shared_expert)
      .doc("the shared expert computes beside the exchange of tokens");
  t.field("overlap_expert_exchange", &JobSpec::overlap_expert_exchange)
      .doc("exchanges of tokens of one micro-batch run beside the computation of another");
  t.choice("schedule", &JobSpec::schedule,
           {{"1f1b", PipelineSchedule::kOneForwardOneBackward, "one forward, one backward; interleaved with virtual_stages"},
            {"gpipe", PipelineSchedule::kGpipe, "all forwards, then all backwards"},
            {"zb_h1", PipelineSchedule::kZeroBubbleH1, "weight gradients fill a part of the bubble, at the memory of 1f1b"},
            {"zb_h2", PipelineSchedule::kZeroBubbleH2, "weight gradients fill the bubble, at twice the memory"},
            {"zb_v", PipelineSchedule::kZeroBubbleV, "two chunks a stage, down and up again: no bubble at the memory of 1f1b"},
            {"v_half", PipelineSchedule::kVHalf, "the same at half the memory"},
            {"v_min", PipelineSchedule::kVMin, "the same at a third of the memory"},
            {"dualpipe", PipelineSchedule::kDualPipe, "micro-batches enter at both ends; every stage holds two"}})
      .doc("order of the passes of a pipeline");
  t.field("virtual_stages", &JobSpec::virtual_stages)
      .range(1, 10'000)
      .doc("model chunks per pipeline stage; above 1 the schedule is interleaved 1F1B");
  t.field("stages", &JobSpec::stages)
      .range(1, 10'000)
      .unit("layers")
      .doc(
          "layers of each pipeline stage; absent: even, embedding and head counting as a layer each where that does not "
          "divide");
  t.field("sequence_parallel", &JobSpec::sequence_parallel)
      .doc("norms, dropout and residuals work on tp parts of the sequence");
  t.choice("tp_overlap", &JobSpec::tp_overlap,
           {{"none", TpOverlap::kNone, "tensor-parallel collectives block compute"},
            {"backward", TpOverlap::kBackward,
             "backward reduces the gradient of a part's input beside the gradient of its weights, and with sequence_parallel "
             "gathers "
             "the saved input beside the rest of the part"},
            {"pipelined", TpOverlap::kPipelined, "the same, and forward collectives in chunks beside the matrix product"}})
      .doc("which tensor-parallel collectives compute beside them")
      .source("Megatron-LM's linear layers with asynchronous communication do as `backward` says");
  t.field("scatter_gather", &JobSpec::scatter_gather)
      .doc("pipeline messages are cut by tp and gathered on arrival; no effect with sequence_parallel, which cuts them anyway");
  t.field("gpus", &JobSpec::gpus)
      .range(1, kMostRanks)
      .doc(
          "GPUs the job takes, whole nodes if more than one; absent: all of the cluster, or of the placement's free nodes or "
          "hosts");
  t.section_or_value("placement", &JobSpec::placement, placement_fields(), "policy", "endpoints")
      .doc("where the job runs: a policy, a list of endpoints in the order of ranks, like [8-15, 0-7], or a map");
  t.field("rank_order", &JobSpec::rank_order)
      .doc(
          "which axis runs fastest over the GPUs of the placement: tp, cp, dp and pp in any order, fastest first; absent: "
          "tp-cp-dp-pp, with rail_aligned tp-cp-pp-dp");
}

void add_data_parallelism(FieldTable<JobSpec>& t) {
  t.choice("strategy", &JobSpec::strategy,
           {{"ddp", Strategy::kDdp, "weights copied, gradients all-reduced in buckets"},
            {"zero2", Strategy::kZero2, "gradients and optimizer sharded, weights copied"},
            {"fsdp", Strategy::kFsdp, "weights, gradients and optimizer sharded (ZeRO-3): gathered layer by layer"}})
      .doc("how data-parallel ranks keep in step");
  t.field("distributed_optimizer", &JobSpec::distributed_optimizer)
      .doc(
          "ddp: every rank updates its share of the weights (ZeRO-1): buckets of gradients are reduce-scattered, weights "
          "gathered")
      .source("Megatron-LM, --use-distributed-optimizer");
  t.field("overlap_param_gather", &JobSpec::overlap_param_gather)
      .doc("distributed_optimizer: weights are gathered beside the first forward of the next step, not after the optimizer")
      .source("Megatron-LM, --overlap-param-gather");
  t.field("prefetch", &JobSpec::prefetch)
      .range(0, 1'000)
      .unit("layers")
      .doc("fsdp: gathered ahead of the layer that computes")
      .source("PyTorch FSDP gathers the next layer while one computes");
  t.field("shard_group", &JobSpec::shard_group)
      .range(2, kMostRanks)
      .unit("data-parallel ranks")
      .doc(
          "fsdp: consecutive ranks that shard the weights among themselves; gradients are then all-reduced between such "
          "groups; "
          "absent: all ranks shard")
      .source("PyTorch FSDP, HYBRID_SHARD: a group is a node");
  t.field("bucket_size", &JobSpec::bucket_size)
      .at_least(Bytes(1))
      .doc(
          "ddp: a bucket of gradients leaves when it holds this much; absent: 25 MiB, with distributed_optimizer the larger of "
          "40 M and dp x 1 M gradients")
      .source("PyTorch DistributedDataParallel, bucket_cap_mb; Megatron-LM, --ddp-bucket-size");
  t.field("first_bucket_size", &JobSpec::first_bucket_size)
      .at_least(Bytes(1))
      .doc("ddp: the same for the first bucket; absent: 1 MiB, with distributed_optimizer bucket_size")
      .source("PyTorch DistributedDataParallel");
  t.field("overlap_grad_reduce", &JobSpec::overlap_grad_reduce)
      .doc("ddp: buckets leave during the last backward, not after it");
}

void add_collectives(FieldTable<JobSpec>& t) {
  t.choice(
       "algorithm", &JobSpec::algorithm,
       {{"ring", Algorithm::kRing, "along all ranks, node by node"},
        {"tree", Algorithm::kTree, "all_reduce: two binary trees between nodes, chains inside"},
        {"nvls", Algorithm::kNvls,
         "sums and multicast in the NVSwitch; all_reduce over several nodes with in-network reduction"},
        {"nvls_tree", Algorithm::kNvlsTree, "all_reduce: nvls inside the nodes, two binary trees between them"},
        {"collnet_direct", Algorithm::kCollnetDirect,
         "all_reduce: sums in the switches of the fabric, exchanges inside the nodes"},
        {"collnet_chain", Algorithm::kCollnetChain, "all_reduce: sums in the switches of the fabric, chains inside the nodes"},
        {"pat", Algorithm::kPat, "all_gather and reduce_scatter with ranks 1, 2, 4, ... ahead"},
        {"hierarchical", Algorithm::kHierarchical,
         "inside the nodes, then across them, where all nodes have equally many members"},
        {"halving_doubling", Algorithm::kHalvingDoubling, "exchanges with ranks 1, 2, 4, ... away"},
        {"auto", Algorithm::kAuto, "of each collective the one of NCCL's that would be fastest alone"}})
      .doc("of its collectives; what it cannot do runs as a ring");
}

void add_numerics(FieldTable<JobSpec>& t) {
  t.choice("recompute", &JobSpec::recompute,
           {{"none", Recompute::kNone, "all activations are kept"},
            {"selective", Recompute::kSelective,
             "the attention core runs again in backward; with attention: flash its scores are not kept anyway, and nothing is "
             "saved"},
            {"full", Recompute::kFull, "every layer runs again in backward; only its input is kept"}})
      .doc("what backward computes again to save memory");
  t.choice("attention", &JobSpec::attention,
           {{"flash", AttentionKernel::kFlash, "fused: scores stay on the chip, half of the causal square is skipped"},
            {"unfused", AttentionKernel::kUnfused, "scores go through memory, the whole square is computed"},
            {"flash1", AttentionKernel::kFlash1, "FlashAttention of 2022"},
            {"flash2", AttentionKernel::kFlash2, "FlashAttention-2 of 2023"},
            {"flash3", AttentionKernel::kFlash3, "FlashAttention-3 and cuDNN of 2024"}})
      .doc("how the attention core is computed");
  t.field("recompute_layers", &JobSpec::recompute_layers)
      .range(0, 10'000)
      .unit("layers")
      .doc("recompute: full of so many layers of each stage, the first ones; absent: of all");
  t.choice("precision", &JobSpec::precision,
           {{"bf16", DataType::kBf16, "16 bits"},
            {"fp16", DataType::kFp16, "16 bits"},
            {"fp32", DataType::kFp32, "32 bits; matrix products in TF32 where the GPU has it"},
            {"fp8", DataType::kFp8, "8 bits, one scale a tensor"},
            {"mxfp8", DataType::kMxfp8, "8 bits, one scale per 32 values"},
            {"nvfp4", DataType::kNvfp4, "4 bits, one scale per 16 values"}})
      .doc("of matrix products of layers; weights, activations and other products keep 16 bits, with fp32 32");
  t.field("optimizer_offload", &JobSpec::optimizer_offload).doc("share of the optimizer's state kept and updated on the host");
  t.choice("execution", &JobSpec::execution,
           {{"eager", Execution::kEager, "kernel by kernel from the framework"},
            {"compiled", Execution::kCompiled, "compiled, with pointwise kernels fused"},
            {"cuda_graphs", Execution::kCudaGraphs, "recorded once, replayed without the host"}})
      .doc("what starts kernels");
  t.section("software", &JobSpec::software, software_fields())
      .doc("the training software, which decides kernels and host costs");
  t.choice("grad_dtype", &JobSpec::grad_dtype,
           {{"bf16", DataType::kBf16, "16 bits"}, {"fp32", DataType::kFp32, "32 bits, Megatron-LM's default"}})
      .doc("of gradients, as stored and as reduced");
  t.choice("optimizer", &JobSpec::optimizer, {{"adam", Optimizer::kAdam, "32-bit master weight and two moments"}})
      .doc("bound by memory bandwidth");
  t.tree<std::shared_ptr<const KernelTimings>>("kernel_timings", &JobSpec::kernel_timings, "file", read_kernel_timings,
                                               print_kernel_timings)
      .doc(
          "times that were measured: a CSV file of matrix products (kernel,m,n,k,batch,precision,time) and parts of the model "
          "(part,direction,tokens,tp,precision,time), relative to this document; what it does not list follows the model");
}

}  // namespace

const FieldTable<JobSpec>& job_fields() {
  static const FieldTable<JobSpec> table = [] {
    FieldTable<JobSpec> t("job");
    add_batch(t);
    add_parallelism(t);
    add_data_parallelism(t);
    add_collectives(t);
    add_numerics(t);
    t.validate(check_what_computes);
    return t;
  }();
  return table;
}

}  // namespace lockstep
