// SPDX-License-Identifier: Apache-2.0
#include "sim/experiment/calibration/constants.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

namespace lockstep {
namespace {

constexpr double kAdditionUnit = 10e-6;  // seconds
constexpr double kMostFactor = 3;        // offset of a factor of 20
constexpr double kMostAddition = 17;     // 170 us, or by its root 3 ms

// How far a constant may well be off: a judgement. Launching kernels depends on the host and on how many GPUs a process drives. Payload
// shares are known within some per cent where lanes and clocks are those of the data sheet; fabrics between nodes may be shared or
// badly set up, and one that moves 0.6 of what its NICs could has to be followed.
constexpr double kLatencyDeviation = 1;
constexpr double kHopDeviation = 0.4;
constexpr double kAdditionDeviation = 2;
constexpr double kNvlsDeviation = 0.03;
constexpr double kPcieDeviation = 0.05;
constexpr double kLinkDeviation = 0.1;
constexpr double kNicDeviation = 0.25;

template <class Owner, class Of>
TunableConstant duration(std::string path, std::string doc, Of of, Duration Owner::*member) {
  return {.path = std::move(path),
          .doc = std::move(doc),
          .is_duration = true,
          .prior_deviation = kLatencyDeviation,
          .value = [of, member](const TuningSpec& t) { return (of(t).*member).seconds(); },
          .set = [of, member](double v, TuningSpec& t) { of(t).*member = Duration::from_seconds(v); }};
}

template <class Owner, class Of>
TunableConstant share(std::string path, std::string doc, Of of, double Owner::*member, double deviation) {
  return {.path = std::move(path),
          .doc = std::move(doc),
          .prior_deviation = deviation,
          .value = [of, member](const TuningSpec& t) { return of(t).*member; },
          .set = [of, member](double v, TuningSpec& t) { of(t).*member = v; }};
}

void add_generation(const ServerSpec& server, std::vector<TunableConstant>& out) {
  const GpuGeneration generation = server.gpu.generation;
  const auto of = [generation](auto& t) -> auto& { return t.of(generation); };
  const std::string at = fmt::format("generations.{}.", to_text(generation));
  out.push_back(duration(at + "launch", "start of a collective", of, &GenerationTuning::launch));
  out.push_back(share(at + "hop_scale", "steps inside a node", of, &GenerationTuning::hop_scale, kHopDeviation));
  if (server.gpu_ports() != nullptr) {
    out.push_back(duration(at + "fill", "filling of pipelines", of, &GenerationTuning::fill));
    out.back().acts_by_root = true;
    out.push_back(share(at + "link_payload", "payload of NVLink or xGMI", of, &GenerationTuning::link_payload, kLinkDeviation));
  } else {
    out.push_back(share(at + "pcie_payload", "payload of PCIe", of, &GenerationTuning::pcie_payload, kPcieDeviation));
  }
}

void add_nvls(const ServerSpec& server, std::vector<TunableConstant>& out) {
  if (!server.nvls) return;
  const GpuGeneration generation = server.gpu.generation;
  const auto of = [generation](auto& t) -> auto& { return t.of(generation); };
  out.push_back(share(fmt::format("generations.{}.nvls_share", to_text(generation)), "NVLS on NVLink", of,
                      &GenerationTuning::nvls_share, kNvlsDeviation));
}

void add_transport(Transport transport, std::vector<TunableConstant>& out) {
  const auto of = [transport](auto& t) -> auto& { return t.of(transport); };
  const std::string at = fmt::format("transports.{}.", to_text(transport));
  out.push_back(share(at + "hop_scale", "steps between nodes", of, &TransportTuning::hop_scale, kHopDeviation));
  out.push_back(share(at + "fill_scale", "filling between nodes", of, &TransportTuning::fill_scale, kLatencyDeviation));
  out.push_back(share(at + "payload", "payload of NICs", of, &TransportTuning::payload, kNicDeviation));
}

}  // namespace

FitParameter TunableConstant::parameter(const TuningSpec& before) const {
  if (value(before) == 0) return {.prior_deviation = kAdditionDeviation, .lowest = 0, .highest = kMostAddition};
  return {.prior_deviation = prior_deviation, .lowest = -kMostFactor, .highest = kMostFactor};
}

void TunableConstant::move(double x, const TuningSpec& before, TuningSpec& out) const {
  const double v = value(before);
  set(v == 0 ? kAdditionUnit * (acts_by_root ? x * x : x) : v * std::exp(x), out);
}

void TunableConstant::round(TuningSpec& tuning) const {
  const double unit = is_duration ? 1e-9 : 1e-4;
  set(std::round(value(tuning) / unit) * unit, tuning);
}

std::string TunableConstant::text(const TuningSpec& tuning) const {
  return is_duration ? fmt::format("{:.2f} us", value(tuning) * 1e6) : fmt::format("{:.3f}", value(tuning));
}

std::string TunableConstant::deviation_text(double x, double deviation, const TuningSpec& before) const {
  if (value(before) != 0) return fmt::format("{:.1f} %", 100 * deviation);
  return fmt::format("{:.2f} us", deviation * kAdditionUnit * 1e6 * (acts_by_root ? 2 * x : 1));
}

std::vector<TunableConstant> tunable_constants(const ClusterSpec& cluster, bool spans_nodes) {
  std::vector<TunableConstant> constants;
  if (cluster.server) {
    add_generation(*cluster.server, constants);
    add_nvls(*cluster.server, constants);
  }
  if (cluster.network && spans_nodes) add_transport(cluster.network->transport, constants);
  return constants;
}

}  // namespace lockstep
