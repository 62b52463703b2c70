// SPDX-License-Identifier: Apache-2.0
// Which rows: all_reduce, all_gather, reduce_scatter, broadcast and reduce of at least 1 GiB on one node whose GPUs are joined
// by an NVSwitch or a mesh and where a ring is known to have run: a GPU whose library knows no NVLS (Volta, Ampere, CDNA 3), or
// a table that says `ring` or `nvlsoff`. Which cluster: one node, the DGX of that GPU or the board of eight; H200 stands for
// its generation.
#include <fmt/core.h>

#include <map>
#include <memory>

#include "base/csv.h"
#include "base/field_table.h"
#include "sim/experiment/cluster_run.h"
#include "sim/experiment/collective.h"
#include "sim/experiment/validation_suites.h"

namespace lockstep {
namespace {

constexpr std::int64_t kSmallest = std::int64_t{1} << 30;
constexpr const char* kRule =
    "all_reduce, all_gather, reduce_scatter, broadcast, reduce rows of at least 1 GiB on one node with NVSwitch or mesh of "
    "Volta, "
    "Ampere or CDNA 3 GPUs, or of Hopper or Blackwell GPUs where the table names a ring or NVLS off";

bool contains(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

// The server that stands for a table's GPU, or the reason why there is none.
struct ServerChoice {
  std::string server;
  std::string reason;
};

ServerChoice server_for(std::string_view table, std::string_view gpu, std::string_view intra, std::string_view inter) {
  if (inter != "none") return {{}, "more than one node"};
  if (contains(gpu, "MI300X")) return {"mi300x-8", {}};
  if (contains(gpu, "PCIe") || !contains(intra, "NVLink")) return {{}, "no NVSwitch or mesh of all GPUs"};
  if (contains(gpu, "A100")) return {"dgx-a100", {}};
  if (gpu == "V100") return {"dgx-1-v100", {}};
  const bool is_hopper = contains(gpu, "H100") || contains(gpu, "H200");
  if (is_hopper || contains(gpu, "B200 SXM")) {
    if (contains(table, "ring") || contains(table, "nvlsoff")) return {is_hopper ? "dgx-h200" : "dgx-b200", {}};
    return {{}, "NVLS or an unknown algorithm ran, not a ring"};
  }
  return {{}, fmt::format("no shipped server for {}", gpu)};
}

std::optional<CollectiveKind> ring_kind(std::string_view name) {
  for (const CollectiveKind k : {CollectiveKind::kAllReduce, CollectiveKind::kAllGather, CollectiveKind::kReduceScatter,
                                 CollectiveKind::kBroadcast, CollectiveKind::kReduce}) {
    if (name == to_text(k)) return k;
  }
  return {};
}

class Predictor {
 public:
  explicit Predictor(const ConfigLibrary& library) : library_(library) {}

  double busbw(const std::string& server, CollectiveKind kind, int gpus, std::int64_t size) {
    const PreparedCluster& cluster = prepared(server);
    CollectiveRequest request{.kind = kind, .sizes = {size}};
    for (int i = 0; i < gpus; ++i) request.members.push_back(EndpointId(static_cast<std::uint32_t>(i)));
    return run_collective(request, cluster.router, cluster.tunings, NetworkKind::kFlow).front().busbw_gb_per_s;
  }
  [[nodiscard]] int gpus_of(const std::string& server) { return static_cast<int>(prepared(server).network.endpoint_count()); }

 private:
  const PreparedCluster& prepared(const std::string& server) {
    std::unique_ptr<PreparedCluster>& entry = clusters_[server];
    if (!entry) {
      Diagnostics d;
      ClusterSpec spec;
      if (const auto document = library_.open("server", server, {}, {}, d)) {
        ReadContext context(d, &library_);
        ServerSpec value;
        server_fields().read_document(*document, value, context);
        spec.server = value;
      }
      throw_if_errors(d);
      spec.name = server;
      spec.nodes = 1;
      entry = std::make_unique<PreparedCluster>(spec, 0);
    }
    return *entry;
  }

  const ConfigLibrary& library_;
  std::map<std::string, std::unique_ptr<PreparedCluster>> clusters_;
};

}  // namespace

SuiteResult run_collectives_suite(std::istream& csv, const std::string& file, const ConfigLibrary& library,
                                  Diagnostics& diagnostics) {
  SuiteResult result{.suite = "collectives", .rule = kRule};
  CsvReader reader(csv, file, diagnostics);
  std::map<std::string, std::size_t, std::less<>> at;
  for (const char* name :
       {"table_id", "collective", "gpu_type", "n_gpus", "intra_fabric", "inter_fabric", "size_bytes", "busbw_GBps"}) {
    at[name] = reader.column(name);
    if (at[name] == CsvReader::npos) diagnostics.error({file, 1, 1}, {}, fmt::format("the column '{}' is missing", name));
  }
  if (diagnostics.has_errors()) return result;

  Predictor predictor(library);
  while (reader.next()) {
    const auto cell = [&](const char* name) { return reader[at.find(name)->second]; };
    const std::string table(cell("table_id"));
    const auto skip = [&](std::string reason) { result.skipped.push_back({table, reader.line(), std::move(reason)}); };
    const Parsed<std::int64_t> size = parse_int(cell("size_bytes"));
    const Parsed<double> busbw = parse_double(cell("busbw_GBps"));
    const Parsed<std::int64_t> gpus = parse_int(cell("n_gpus"));
    const std::optional<CollectiveKind> kind = ring_kind(cell("collective"));
    if (!kind) {
      skip(fmt::format("{} is not a ring collective", cell("collective")));
    } else if (!size || !busbw || !gpus || *busbw.value <= 0) {
      skip("size, busbw or number of GPUs is not published");
    } else if (*size.value < kSmallest) {
      skip("below 1 GiB");
    } else if (const ServerChoice choice = server_for(table, cell("gpu_type"), cell("intra_fabric"), cell("inter_fabric"));
               choice.server.empty()) {
      skip(choice.reason);
    } else if (*gpus.value < 2 || *gpus.value > predictor.gpus_of(choice.server)) {
      skip(fmt::format("{} GPUs on one node", *gpus.value));
    } else {
      result.predictions.push_back(
          {.source = table,
           .row = reader.line(),
           .what = fmt::format("{} {} GPUs {} MiB", to_text(*kind), *gpus.value, *size.value >> 20),
           .metric = "busbw_gb_per_s",
           .measured = *busbw.value,
           .predicted = predictor.busbw(choice.server, *kind, static_cast<int>(*gpus.value), *size.value)});
    }
  }
  return result;
}

}  // namespace lockstep
