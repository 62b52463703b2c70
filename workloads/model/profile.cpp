// SPDX-License-Identifier: Apache-2.0
#include "workloads/model/profile.h"

#include <fmt/format.h>

#include "base/field_table.h"
#include "base/wide.h"

namespace lockstep {
namespace {

constexpr std::int64_t kMostParts = 10'000;
constexpr Duration kLongest = Duration::micros(1'000'000'000);

std::int64_t sum(const std::vector<Bytes>& list) {
  std::int64_t total = 0;
  for (const Bytes b : list) total = checked_add(total, b.count());
  return total;
}

void check(const ProfileSpec& p, Section& s) {
  if (p.layer_bytes.empty()) {
    if (!p.gradient_bytes) {
      s.error("gradient_bytes", "nothing says how many bytes of gradients there are",
              "gradient_bytes: 4 B x parameters for 32-bit gradients, or layer_bytes");
    }
    return;
  }
  if (p.layers) s.error("layers", "layer_bytes lists the parts already", "give one of the two");
  if (std::ssize(p.layer_bytes) > kMostParts) {
    s.error("layer_bytes", fmt::format("{} parts", p.layer_bytes.size()), fmt::format("at most {}", kMostParts));
  } else if (const std::int64_t total = sum(p.layer_bytes); p.gradient_bytes && p.gradient_bytes->count() != total) {
    s.error("layer_bytes",
            fmt::format("the parts hold {}, gradient_bytes says {}", to_text(Bytes(total)), to_text(*p.gradient_bytes)),
            "they must add up, or leave gradient_bytes out");
  }
}

}  // namespace

std::int64_t ProfileSpec::parts() const { return layer_bytes.empty() ? layers.value_or(kEqualParts) : std::ssize(layer_bytes); }

std::vector<std::int64_t> ProfileSpec::part_bytes() const {
  std::vector<std::int64_t> out;
  for (const Bytes b : layer_bytes) out.push_back(b.count());
  if (!out.empty()) return out;
  const std::int64_t n = parts();
  const std::int64_t total = gradient_bytes.value_or(Bytes()).count();
  for (std::int64_t i = 0; i < n; ++i) out.push_back(total / n + (i < total % n ? 1 : 0));
  return out;
}

double ProfileSpec::forward_seconds() const {
  const double share = forward_share ? forward_share->value : kForwardShare;
  return time_per_sample.seconds() * share / static_cast<double>(parts());
}

double ProfileSpec::backward_seconds() const {
  const double share = forward_share ? forward_share->value : kForwardShare;
  return time_per_sample.seconds() * (1 - share) / static_cast<double>(parts());
}

const FieldTable<ProfileSpec>& profile_fields() {
  static const FieldTable<ProfileSpec> table = [] {
    constexpr std::int64_t most_bytes = std::int64_t{1} << 50;
    FieldTable<ProfileSpec> t;
    t.field("gradient_bytes", &ProfileSpec::gradient_bytes)
        .range(Bytes(1), Bytes(most_bytes))
        .doc("that a step exchanges: parameters times the bytes of a gradient; absent: the sum of layer_bytes");
    t.field("time_per_sample", &ProfileSpec::time_per_sample)
        .required()
        .range(Duration::nanos(1), kLongest)
        .doc("forward and backward of one sample on one GPU at this micro_batch, compute only");
    t.field("forward_share", &ProfileSpec::forward_share)
        .range(Fraction{0}, Fraction{1})
        .doc("of time_per_sample; absent: a third")
        .source("backward runs two matrix products for each one of forward");
    t.field("layers", &ProfileSpec::layers).range(1, kMostParts).doc("equal parts in which gradients become ready; absent: 50");
    t.field("layer_bytes", &ProfileSpec::layer_bytes)
        .range(Bytes(0), Bytes(most_bytes / kMostParts))
        .doc("gradients of each part in forward order, where they are not equal; every part takes the same time");
    t.field("fixed_time", &ProfileSpec::fixed_time)
        .range(Duration(), kLongest)
        .doc("of every step after its gradients are reduced, whatever the batch: optimizer, input pipeline");
    t.validate(check);
    return t;
  }();
  return table;
}

}  // namespace lockstep
