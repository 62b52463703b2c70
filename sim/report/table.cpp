// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>

#include <algorithm>
#include <string>

#include "sim/report/render.h"

namespace lockstep {
namespace {

std::string seconds(double s) {
  if (s >= 1) return fmt::format("{:.3f} s", s);
  if (s >= 1e-3) return fmt::format("{:.2f} ms", s * 1e3);
  return fmt::format("{:.2f} us", s * 1e6);
}

std::string grouped(double v) {
  std::string digits = fmt::format("{:.0f}", v);
  for (int i = static_cast<int>(digits.size()) - 3; i > 0; i -= 3) digits.insert(static_cast<std::size_t>(i), ",");
  return digits;
}

std::string gib(std::int64_t bytes) { return fmt::format("{:.1f} GiB", static_cast<double>(bytes) / (1024.0 * 1024 * 1024)); }

// "key            value" with the values in one column.
std::string line(const std::string& key, const std::string& value) { return fmt::format("  {:<26}{}\n", key, value); }

std::string throughput(const RunResult& r) {
  std::string out = line("Step time", seconds(r.step_time_s));
  if (r.tokens_per_s) {
    out += line("Tokens/s", fmt::format("{}   ({} per GPU)", grouped(*r.tokens_per_s),
                                        grouped(*r.tokens_per_s / static_cast<double>(r.gpus))));
  }
  if (r.samples_per_s) out += line("Samples/s", fmt::format("{:.2f}", *r.samples_per_s));
  if (r.tflops_per_gpu) {
    out += line("Model TFLOP/s per GPU", fmt::format("{:.0f} of {:.0f}   (MFU {:.1f} %, HFU {:.1f} %)", *r.tflops_per_gpu,
                                                     r.peak_tflops, 100 * r.mfu.value_or(0), 100 * r.hfu.value_or(0)));
  }
  if (r.has_stragglers) {
    out += line("Slow GPUs", fmt::format("{} of {}{}", r.slow_gpus, r.gpus, r.slow_gpus == 0 ? "   (none of this job)" : ""));
  }
  if (r.kernel_timings) {
    const KernelTimingsReport& t = *r.kernel_timings;
    out += line("Measured kernels", fmt::format("{} matrix product{} and {} part{} of the model, from {}", t.products,
                                                t.products == 1 ? "" : "s", t.parts, t.parts == 1 ? "" : "s", t.file));
  }
  const double effective = r.step_time_s > 0 ? static_cast<double>(r.gpus) * r.ideal_step_time_s / r.step_time_s : 0;
  out += line("Effective GPUs", fmt::format("{:.1f} of {}   (an ideal network would deliver all of them{})", effective, r.gpus,
                                            r.slow_gpus > 0 ? "; slow GPUs stay slow" : ""));
  return out;
}

std::string breakdown(const RunResult& r) {
  std::string out = "\nWhere the time goes (mean over GPUs)\n";
  constexpr int kBarWidth = 40;
  for (std::size_t c = 0; c < kTimeClassCount; ++c) {
    if (r.breakdown_s[c] <= 0) continue;
    const double share = r.breakdown_s[c] / r.step_time_s;
    const auto width = static_cast<std::size_t>(std::clamp(share * kBarWidth + 0.5, 0.0, 1.0 * kBarWidth));
    out += fmt::format("  {:<10}{:>10} {:>6.1f} %  {}\n", to_text(static_cast<TimeClass>(c)), seconds(r.breakdown_s[c]),
                       100 * share, std::string(width, '#'));
  }
  return out;
}

// "context 0.5 GiB, nccl 0.6 GiB": what is worth a tenth of a GiB.
std::string buffer_parts(const MemoryReport& m) {
  std::string out;
  for (const auto& [name, bytes] : m.buffer_parts) {
    if (bytes < (1 << 30) / 10) continue;
    out += fmt::format("{}{} {}", out.empty() ? "" : ", ", name, gib(bytes));
  }
  return out;
}

std::string stage_totals(const MemoryReport& m) {
  constexpr std::size_t kShown = 16;
  std::string out;
  for (std::size_t i = 0; i < std::min(kShown, m.stages.size()); ++i) {
    out += fmt::format("{}{:.1f}", i == 0 ? "" : ", ", static_cast<double>(m.stages[i].total) / (1024.0 * 1024 * 1024));
  }
  return out + (m.stages.size() > kShown ? ", ... GiB" : " GiB");
}

std::string memory(const RunResult& r) {
  if (!r.memory) return {};
  const MemoryReport& m = *r.memory;
  std::string out = "\nMemory of the fullest GPU\n";
  out += line("Parameters", gib(m.parameters)) + line("Gradients", gib(m.gradients)) + line("Optimizer", gib(m.optimizer)) +
         line("Activations", gib(m.activations)) + line("Buffers", fmt::format("{}   ({})", gib(m.buffers), buffer_parts(m)));
  out += line("Total", fmt::format("{} of {}   {}", gib(m.total), gib(m.capacity), r.fits() ? "fits" : "DOES NOT FIT"));
  if (m.host > 0) out += line("On the host, per GPU", gib(m.host));
  if (m.stages.size() > 1) out += line("By pipeline stage", stage_totals(m));
  if (m.misfit) {
    out +=
        line("First that does not fit", fmt::format("rank {}, stage {}, {}", m.misfit->rank, m.misfit->stage, m.misfit->gpu));
  }
  if (!r.memory_advice.empty()) out += line("To make it fit", r.memory_advice);
  return out;
}

std::string busiest(const std::vector<LinkReport>& links) {
  if (links.empty()) return {};
  constexpr std::size_t kShown = 5;
  std::string out = "\nBusiest links\n";
  for (std::size_t i = 0; i < std::min(kShown, links.size()); ++i) {
    const LinkReport& l = links[i];
    out += fmt::format("  {:<34}{:<12}{:>6.1f} % used  {:>9.2f} GB\n", l.name, l.tier, 100 * l.utilization,
                       static_cast<double>(l.bytes) / 1e9);
  }
  return out;
}

std::string fault_lines(const std::vector<FaultReport>& faults) {
  std::string out = "\nFaults\n";
  for (const FaultReport& f : faults) {
    std::string when = f.when.empty() ? "for good" : fmt::format("{}; first at {}", f.when, seconds(f.first_s));
    if (f.times > 1) when += fmt::format(", {} times", f.times);
    if (f.rerouted > 0) when += fmt::format(", {} transfer{} rerouted", f.rerouted, f.rerouted == 1 ? "" : "s");
    out += line(f.what, when);
  }
  return out;
}

std::string faults(const RunResult& r) {
  if (r.faults.empty() && !r.healthy_step_time_s) return {};
  std::string out = fault_lines(r.faults);
  if (r.healthy_step_time_s) {
    const double more = r.step_time_s - *r.healthy_step_time_s;
    out += line("Step without them", fmt::format("{}   ({:.1f} % of it is lost to faults)", seconds(*r.healthy_step_time_s),
                                                 100 * more / *r.healthy_step_time_s));
  }
  return out;
}

std::string locality(const RunResult& r) {
  if (r.locality.empty()) return {};
  std::string out = "\nLocality         groups x size    nodes  racks   pods    edges between nodes   racks    pods\n";
  for (const GroupLocality& g : r.locality) {
    out += fmt::format("  {:<10}{:>12} x {:<6}{:>7.1f}{:>7.1f}{:>7.1f}{:>20.1f} %{:>6.1f} %{:>6.1f} %\n", g.name, g.groups,
                       g.size, g.mean(g.nodes), g.mean(g.racks), g.mean(g.pods), 100 * g.share(g.edges_between_nodes),
                       100 * g.share(g.edges_between_racks), 100 * g.share(g.edges_between_pods));
  }
  return out;
}

std::string cost(const RunResult& r) {
  if (!r.cost) return {};
  std::string out = "\nCost\n";
  out += line("Price", fmt::format("{:.2f} USD per GPU-hour   (effective {:.2f})", r.cost->usd_per_gpu_hour,
                                   r.cost->effective_usd_per_gpu_hour));
  if (r.cost->usd_per_million_tokens) out += line("Million tokens", fmt::format("{:.3f} USD", *r.cost->usd_per_million_tokens));
  return out;
}

}  // namespace

std::string to_table(const RunResult& r) {
  std::string out = fmt::format("{}\n{}, {} on {} GPUs, network model {}\n\n", r.scenario.empty() ? r.job : r.scenario, r.job,
                                r.plan, r.gpus, r.network);
  out += throughput(r) + breakdown(r) + memory(r) + busiest(r.links) + faults(r) + locality(r) + cost(r);
  return out + fmt::format("\nBottleneck: {}.\nSymmetry: {}.\n", r.bottleneck, symmetry_sentence(r.symmetry, r.gpus));
}

std::string to_table(const SharedRunResult& r) {
  std::string out = fmt::format("{}\n{} jobs on {} GPUs of {}, network model {}\n", r.scenario, r.jobs.size(), r.gpus(),
                                r.cluster, r.network);
  for (const SharedJob& job : r.jobs) {
    const RunResult& run = job.run;
    out += fmt::format("\n{}: {}, {} on {} GPUs\n\n", job.name, run.job, run.plan, run.gpus);
    out += throughput(run) + breakdown(run) + memory(run) + locality(run) + cost(run);
    out += fmt::format("\nBottleneck: {}.\n", run.bottleneck);
  }
  out += fmt::format("\nSlow-downs\n  {:<20}{:>12}{:>7}{:>14}{:>14}{:>11}\n", "job", "start", "steps", "step alone",
                     "beside others", "slow-down");
  for (const SharedJob& job : r.jobs) {
    out += fmt::format("  {:<20}{:>12}{:>7}{:>14}{:>14}{:>11.3f}\n", job.name, seconds(job.start_s), job.steps,
                       seconds(job.alone_step_time_s), seconds(job.run.step_time_s), job.slowdown);
  }
  out += busiest(r.links);
  if (!r.faults.empty()) out += fault_lines(r.faults);
  return out + fmt::format("\nSymmetry: {}.\n", symmetry_sentence(r.symmetry, r.gpus()));
}

}  // namespace lockstep
