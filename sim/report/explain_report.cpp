// SPDX-License-Identifier: Apache-2.0
#include "sim/report/explain_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <vector>

#include "base/csv.h"
#include "sim/report/render.h"

namespace lockstep {
namespace {

using Json = nlohmann::ordered_json;

std::string seconds(double s) {
  const double size = s < 0 ? -s : s;
  if (size >= 1) return fmt::format("{:.3f} s", s);
  if (size >= 1e-3) return fmt::format("{:.2f} ms", s * 1e3);
  return fmt::format("{:.2f} us", s * 1e6);
}

double share(const Waterfall& w, const WaterfallTerm& term) { return term.time.seconds() / w.step.seconds(); }

// Nothing that a person would see: below a twentieth of a per cent.
bool is_shown(const Waterfall& w, const WaterfallTerm& term) {
  const double s = share(w, term);
  return s >= 0.0005 || s <= -0.0005;
}

std::string mfu_text(const Waterfall& w, std::size_t i) {
  const std::optional<double> mfu = w.mfu_after(i);
  return mfu ? fmt::format("{:.1f} %", 100 * *mfu) : "";
}

std::string set_text(const UpgradeResult& u) {
  std::string out;
  for (const std::string& s : u.set) out += (out.empty() ? "--set " : " --set ") + s;
  return out;
}

std::string headline(const Explanation& e) {
  const Cause& first = e.causes.front();
  return fmt::format("{}; {} would help", first.text, first.remedy);
}

Json waterfall_json(const Waterfall& w) {
  Json out = Json::array();
  for (std::size_t i = 0; i < w.terms.size(); ++i) {
    const WaterfallTerm& term = w.terms[i];
    Json j = {{"name", to_text(term.loss)}, {"seconds", term.time.seconds()}, {"picoseconds", term.time.picos()}};
    j["share"] = share(w, term);
    if (const auto mfu = w.mfu_after(i)) j["mfu_after"] = *mfu;
    out.push_back(std::move(j));
  }
  return out;
}

Json upgrade_json(const UpgradeResult& u) {
  Json j = {{"name", u.name}, {"kind", u.is_plan ? "plan" : "hardware"}, {"what", u.words}};
  if (u.gain) {
    j["step_time_s"] = *u.step_s;
    j["gain"] = *u.gain;
  } else {
    j["reason"] = u.reason;
  }
  if (!u.set.empty()) j["set"] = u.set;
  return j;
}

// A bar that begins where the one before ends.
std::string bar(double before, double length) {
  constexpr double kWidth = 40;
  const auto column = [](double s) { return static_cast<std::size_t>(std::clamp(s, 0.0, 1.0) * kWidth + 0.5); };
  const std::size_t begin = column(std::min(before, before + length));
  const std::size_t end = column(std::max(before, before + length));
  return std::string(begin, ' ') + (end > begin ? std::string(end - begin, '#') : "|");
}

std::string waterfall_table(const Waterfall& w) {
  std::string out = "From the peak to what is achieved (mean over GPUs)\n";
  double before = 0;
  for (std::size_t i = 0; i < w.terms.size(); ++i) {
    const WaterfallTerm& term = w.terms[i];
    const double s = share(w, term);
    if (is_shown(w, term)) {
      const std::string mfu = w.has_flops() ? fmt::format("{:>9}", mfu_text(w, i)) : "";
      out += fmt::format("  {:<28}{:>11}{:>8.1f} %{}  {}\n", words(term.loss), seconds(term.time.seconds()), 100 * s, mfu,
                         bar(before, s));
    }
    before += s;
  }
  return out + fmt::format("  {:<28}{:>11}{:>8.1f} %\n", "step", seconds(w.step.seconds()), 100.0);
}

std::string causes_table(const Explanation& e) {
  std::string out = fmt::format("\nWhat holds it back: {}.\n", headline(e));
  for (std::size_t i = 1; i < e.causes.size(); ++i) {
    out += fmt::format("  {}. {}; {}\n", i + 1, e.causes[i].text, e.causes[i].remedy);
  }
  return out;
}

std::string upgrades_table(const std::vector<UpgradeResult>& upgrades) {
  if (upgrades.empty()) return {};
  std::string out = "\nWhat each change alone would bring (throughput)\n";
  for (const UpgradeResult& u : upgrades) {
    if (!u.gain) continue;
    std::string line = fmt::format("  {:>+7.1f} %{:>11}  {:<48}{}", 100 * *u.gain, seconds(*u.step_s), u.words, set_text(u));
    line.erase(line.find_last_not_of(' ') + 1);
    out += line + "\n";
  }
  out += "Not possible, or nothing to change\n";
  for (const UpgradeResult& u : upgrades) {
    if (!u.gain) out += fmt::format("  {}: {}\n", u.words, u.reason);
  }
  return out;
}

}  // namespace

std::string to_json(const Explanation& e) {
  Json j;
  j["schema_version"] = kSchemaVersion;
  j["version"] = e.run.version;
  j["scenario"] = e.run.scenario;
  j["cluster"] = e.run.cluster;
  j["job"] = e.run.job;
  j["plan"] = e.run.plan;
  if (!e.run.set.empty()) j["set"] = e.run.set;
  j["network"] = e.run.network;
  j["seed"] = e.run.seed;
  j["gpus"] = e.run.gpus;
  j["step_time_s"] = e.waterfall.step.seconds();
  if (e.run.mfu) j["mfu"] = *e.run.mfu;
  if (e.run.memory) j["fits"] = e.run.fits();
  j["bottleneck"] = e.run.bottleneck;
  j["waterfall"] = waterfall_json(e.waterfall);
  j["causes"] = Json::array();
  for (const Cause& c : e.causes) {
    j["causes"].push_back({{"name", c.name}, {"share", c.share}, {"text", c.text}, {"remedy", c.remedy}});
  }
  j["upgrades"] = Json::array();
  for (const UpgradeResult& u : e.upgrades) j["upgrades"].push_back(upgrade_json(u));
  return j.dump(2) + "\n";
}

std::string to_csv(const Explanation& e) {
  const auto number = [](const std::optional<double>& v) { return v ? Json(*v).dump() : std::string(); };
  std::string out = csv_row({"table", "name", "seconds", "share", "mfu_after", "gain", "reason"});
  const Waterfall& w = e.waterfall;
  for (std::size_t i = 0; i < w.terms.size(); ++i) {
    const WaterfallTerm& term = w.terms[i];
    out += csv_row(
        {"waterfall", to_text(term.loss), number(term.time.seconds()), number(share(w, term)), number(w.mfu_after(i)), "", ""});
  }
  for (const Cause& c : e.causes) out += csv_row({"cause", c.name, "", number(c.share), "", "", c.text});
  for (const UpgradeResult& u : e.upgrades) {
    out += csv_row({"upgrade", u.name, number(u.step_s), "", "", number(u.gain), u.reason});
  }
  return out;
}

std::string to_markdown(const Explanation& e) {
  std::string out = "| from the peak to what is achieved | time | share | MFU after |\n|---|---:|---:|---:|\n";
  for (std::size_t i = 0; i < e.waterfall.terms.size(); ++i) {
    const WaterfallTerm& term = e.waterfall.terms[i];
    if (!is_shown(e.waterfall, term)) continue;
    out += fmt::format("| {} | {} | {:.1f} % | {} |\n", words(term.loss), seconds(term.time.seconds()),
                       100 * share(e.waterfall, term), mfu_text(e.waterfall, i));
  }
  out +=
      fmt::format("| step | {} | 100.0 % | |\n\nWhat holds it back: {}.\n", seconds(e.waterfall.step.seconds()), headline(e));
  if (e.upgrades.empty()) return out;
  out += "\n| change | throughput | step | |\n|---|---:|---:|---|\n";
  for (const UpgradeResult& u : e.upgrades) {
    out += u.gain ? fmt::format("| {} | {:+.1f} % | {} | {} |\n", u.words, 100 * *u.gain, seconds(*u.step_s), set_text(u))
                  : fmt::format("| {} | | | {} |\n", u.words, u.reason);
  }
  return out;
}

std::string to_table(const Explanation& e) {
  std::string out =
      fmt::format("{}\n{}, {} on {} GPUs, network model {}\n\n", e.run.scenario.empty() ? e.run.job : e.run.scenario, e.run.job,
                  e.run.plan, e.run.gpus, e.run.network);
  out += waterfall_table(e.waterfall) + causes_table(e) + upgrades_table(e.upgrades);
  return out + fmt::format("\nBottleneck: {}.\n", e.run.bottleneck);
}

}  // namespace lockstep
