// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>

#include <algorithm>
#include <charconv>

#include "workloads/import/megatron/job_import.h"

namespace lockstep {
namespace {

// sum := product (+ product)*; product := list (* number)*; list := [ number , ... ] | ( sum ). Python's meaning of + and * on lists.
class Pattern {
 public:
  explicit Pattern(std::string_view text) {
    for (const char c : text) {
      if (c != ' ') text_.push_back(c);
    }
  }
  std::vector<std::int64_t> whole() {
    std::vector<std::int64_t> list = sum(0);
    if (at_ != text_.size()) list.clear();
    return list;
  }

 private:
  static constexpr std::size_t kMostLayers = 10'000;
  [[nodiscard]] bool is_next(char c) const { return at_ < text_.size() && text_[at_] == c; }

  bool number(std::int64_t& out) {
    const auto [end, error] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), out);
    if (error != std::errc()) return false;
    at_ = static_cast<std::size_t>(end - text_.data());
    return true;
  }

  std::vector<std::int64_t> sum(int depth) {
    std::vector<std::int64_t> list = product(depth);
    while (is_next('+') && list.size() <= kMostLayers) {
      ++at_;
      const std::vector<std::int64_t> next = product(depth);
      list.insert(list.end(), next.begin(), next.end());
    }
    return list;
  }

  std::vector<std::int64_t> product(int depth) {
    std::vector<std::int64_t> list = one(depth);
    std::int64_t times = 0;
    while (is_next('*')) {
      ++at_;
      if (!number(times) || times < 0 || static_cast<std::size_t>(times) * list.size() > kMostLayers)
        return at_ = 0, std::vector<std::int64_t>();
      const std::vector<std::int64_t> once = list;
      list.clear();
      for (std::int64_t i = 0; i < times; ++i) list.insert(list.end(), once.begin(), once.end());
    }
    return list;
  }

  std::vector<std::int64_t> one(int depth) {
    constexpr int kMostBrackets = 32;
    std::vector<std::int64_t> list;
    if (depth < kMostBrackets && is_next('(')) {
      ++at_;
      list = sum(depth + 1);
      if (is_next(')')) ++at_;
    } else if (is_next('[')) {
      ++at_;
      for (std::int64_t value = 0; number(value);) {
        list.push_back(value);
        if (is_next(',')) ++at_;
      }
      if (is_next(']')) ++at_;
    }
    return list;
  }

  std::string text_;
  std::size_t at_ = 0;
};

std::int64_t expert_layers(const TransformerSpec& m) {
  std::int64_t count = 0;
  for (std::int64_t layer = 0; layer < m.layers; ++layer) count += m.is_expert_layer(layer) ? 1 : 0;
  return count;
}

// Which layers have experts, as first dense ones and an interval. Megatron's frequency N has them at layers 0, N, 2N, ...
void import_frequency(LaunchReader& a, TransformerSpec& m) {
  const LaunchArgument* frequency = a.find("moe-layer-freq");
  if (frequency == nullptr) return;
  const std::string text = a.text(frequency);
  if (text.empty()) return;  // what is wrong with it has been said
  std::vector<std::int64_t> pattern = layer_pattern(text);
  if (pattern.empty()) {
    const std::int64_t every = a.integer(frequency, 1);
    for (std::int64_t layer = 0; layer < m.layers; ++layer) pattern.push_back(layer % every == 0 ? 1 : 0);
  }
  if (static_cast<std::int64_t>(pattern.size()) != m.layers) {
    return a.error(*frequency, fmt::format("has {} layers, the model {}", pattern.size(), m.layers));
  }
  const std::int64_t wanted = std::count(pattern.begin(), pattern.end(), 1);
  const auto first = std::find(pattern.begin(), pattern.end(), 1);
  const auto second = first == pattern.end() ? first : std::find(first + 1, pattern.end(), 1);
  m.moe->interval = second == pattern.end() ? 1 : second - first;
  m.moe->dense_layers = std::max<std::int64_t>(0, first - pattern.begin() - (m.moe->interval - 1));
  for (const char* key : {"interval", "dense_layers"})
    a.context().note_origin(fmt::format("model.moe.{}", key), frequency->position);
  bool is_same = true;
  for (std::int64_t layer = 0; layer < m.layers; ++layer) {
    is_same = is_same && m.is_expert_layer(layer) == (pattern[static_cast<std::size_t>(layer)] == 1);
  }
  if (is_same) return;
  if (expert_layers(m) != wanted) {
    a.error(*frequency, "this pattern of expert layers is not modelled", "some dense layers, then every n-th with experts");
  } else {
    a.warning(*frequency, "as many layers have experts, but each of them comes somewhat later");
  }
}

}  // namespace

std::vector<std::int64_t> layer_pattern(std::string_view text) { return Pattern(text).whole(); }

void import_experts(LaunchReader& a, JobSpec& job) {
  TransformerSpec& m = job.model;
  const LaunchArgument* experts = a.find("num-experts");
  const LaunchArgument* top_k = a.find({"moe-router-topk", "topk"});
  const LaunchArgument* width = a.find("moe-ffn-hidden-size");
  const LaunchArgument* shared = a.find("moe-shared-expert-intermediate-size");
  const LaunchArgument* ep = a.find({"expert-model-parallel-size", "moe-expert-parallel-size"});
  const LaunchArgument* etp = a.find("expert-tensor-parallel-size");
  const LaunchArgument* gate = a.find("moe-use-shared-expert-gate");
  const LaunchArgument* bias = a.find("moe-router-enable-expert-bias");
  const LaunchArgument* beside = a.find("moe-shared-expert-overlap");
  const LaunchArgument* exchange = a.find({"overlap-moe-expert-parallel-comm", "combined-1f1b"});
  const LaunchArgument* dispatcher = a.find({"moe-token-dispatcher-type"});
  const LaunchArgument* deepep = a.find({"moe-enable-deepep", "moe-flex-dispatcher-backend"});
  const LaunchArgument* capacity = a.find("moe-expert-capacity-factor");
  for (const char* padding : {"moe-pad-expert-input-to-capacity", "moe-token-drop-policy", "moe-router-padding-for-fp8"}) {
    (void)a.find(padding);
  }
  if (experts == nullptr || a.integer(experts, 1) <= 1) return;
  m.moe.emplace();
  a.set(m.moe->experts, a.integer(experts, 1), "model.moe.experts", experts);
  a.set(m.moe->top_k, a.integer(top_k, 2), "model.moe.top_k", top_k);
  a.set(m.moe->ffn, a.integer(width, m.ffn), "model.moe.ffn", width);
  if (shared != nullptr) a.set(m.moe->shared_ffn, a.integer(shared, 0, 0), "model.moe.shared_ffn", shared);
  if (LaunchReader::is_set(gate)) a.set(m.moe->has_shared_gate, true, "model.moe.shared_gate", gate);
  if (LaunchReader::is_set(bias)) a.set(m.moe->has_router_bias, true, "model.moe.router_bias", bias);
  import_frequency(a, m);
  if (ep != nullptr) a.set(job.ep, a.integer(ep, 1), "ep", ep);
  a.set(job.expert_tp, a.integer(etp, job.tp), "expert_tp", etp);
  if (LaunchReader::is_set(beside)) a.set(job.overlap_shared_expert, true, "overlap_shared_expert", beside);
  if (LaunchReader::is_set(exchange)) a.set(job.overlap_expert_exchange, true, "overlap_expert_exchange", exchange);
  if (LaunchReader::is_set(deepep)) a.set(job.expert_dispatch, ExpertDispatch::kDeduplicated, "expert_dispatch", deepep);
  if (dispatcher != nullptr && a.text(dispatcher) == "allgather") {
    a.warning(*dispatcher, "tokens are exchanged all to all here", "alltoall or flex are modelled");
  }
  if (capacity != nullptr)
    a.warning(*capacity, "no token is dropped or padded here: routing is balanced", "expert_skew in the job");
}

}  // namespace lockstep
