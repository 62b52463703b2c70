// SPDX-License-Identifier: Apache-2.0
// What nccl-tests prints, as people keep it: logs of one or more runs, with mpirun's or srun's prefixes, lines of NCCL_DEBUG=INFO in
// between, Windows line ends. A table is a header line of columns (# size count type ... time algbw busbw ...) and the rows below it; only the
// columns out of place are read. Ranks are the lines "# Rank 0 ... on HOST device 0 [0x07] NAME". Which collective it is
// says the program's name (all_reduce_perf) in the log, else the file's name, else a busbw above algbw (only all_reduce has that). A program's name is that of the next table alone.
//
// Old versions without the columns root, redop or #wrong are read as well: columns are counted from the right. Not read: in-place
// columns, data types. Rows that the check found wrong are a warning.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/diagnostics.h"
#include "sim/experiment/measured_tables.h"

namespace lockstep {

struct NcclTable {
  std::string name;  // "FILE", "FILE table 2", or the table's id in a CSV
  Position position;
  std::optional<CollectiveKind> kind;
  int gpus = 0;                  // 0: not said
  int nodes = 0;                 // 0: not said
  bool is_kind_guessed = false;  // by the file's name or busbw / algbw: what a user says goes before
  bool are_gpus_guessed = false;
  double factor = 0;           // busbw / algbw of the row that rounding harms least; 0: not known
  double factor_rounding = 0;  // how far off that may be
  Position factor_position;
  std::string gpu_name;      // of the first rank; may be empty
  std::string intra_fabric;  // what connects GPUs and nodes, in words; logs do not say it
  std::string inter_fabric;
  std::vector<MeasuredRow> rows;
};

// Rows without a time, and what looks like a row and is none, are warnings; a file without any table is an error.
[[nodiscard]] std::vector<NcclTable> read_nccl_log(std::string_view text, const std::string& file, Diagnostics& d);

// Columns table_id, collective, n_gpus, size_bytes, and time_us, algbw_GBps or busbw_GBps; n_nodes if there is more than one node.
[[nodiscard]] std::vector<NcclTable> read_nccl_csv(std::istream& in, const std::string& file, Diagnostics& d);

}  // namespace lockstep
