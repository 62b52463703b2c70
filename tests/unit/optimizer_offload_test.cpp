// SPDX-License-Identifier: Apache-2.0
// Time of an optimizer on the host, and the way there.
#include <gtest/gtest.h>

#include "tests/support/workload_fixtures.h"
#include "topology/hardware/server_spec.h"
#include "workloads/kernels/host_path.h"
#include "workloads/kernels/transformer_kernels.h"

namespace lockstep {
namespace {

Kernel optimizer(double offload) {
  JobSpec job;
  job.model = test::llama3_8b();
  job.seq_len = 128;
  job.optimizer_offload = Fraction{offload};
  GpuPerformance gpu = test::ideal_gpu();
  gpu.host_path = {.link_bytes_per_s = 50e9, .memory_bytes_per_s = 100e9};
  return fuse("optimizer", optimizer_kernels(test::plan_of(job, 1), 1'000'000'000), gpu);
}

// Half of 1e9 parameters stays: 15 GB at 1 TB/s, 15 ms. Of the others gradients leave, 2 GB at 50 GB/s, 40 ms; the host moves 15 GB at
// 100 GB/s, 150 ms; weights return, 1 GB, 20 ms. 225 ms in all; memory of the GPU moves 15 + 2 + 1 GB.
TEST(OptimizerOffload, GradientsLeaveTheHostUpdatesWeightsReturn) {
  EXPECT_EQ(optimizer(0.5).time, Duration::micros(225'000));
  EXPECT_DOUBLE_EQ(optimizer(0.5).bytes, 18e9);
}

// Nothing: 30 GB on the GPU. Everything: 80 + 300 + 40 ms.
TEST(OptimizerOffload, NothingAndEverything) {
  EXPECT_EQ(optimizer(0).time, Duration::micros(30'000));
  EXPECT_EQ(optimizer(1).time, Duration::micros(420'000));
}

ServerSpec server() {
  ServerSpec s;
  s.gpus = 8;
  s.gpu.generation = GpuGeneration::kAmpere;
  s.gpu.pcie = {.rate = Rate::bytes_per_second(32e9), .payload = Rate::bytes_per_second(24e9)};
  return s;
}

// Eight GPUs on four switches: two share an uplink of 24 GB/s. Two sockets of 160 GB/s are 40 GB/s each.
TEST(HostPath, GpusShareUplinksAndMemory) {
  ServerSpec s = server();
  s.pcie =
      PcieTreeSpec{.host_memory = PcieSpec{.rate = Rate::bytes_per_second(200e9), .payload = Rate::bytes_per_second(160e9)}};
  EXPECT_DOUBLE_EQ(host_path_of(s).link_bytes_per_s, 12e9);
  EXPECT_DOUBLE_EQ(host_path_of(s).memory_bytes_per_s, 40e9);
  s.pcie->switches_per_socket = 0;  // every GPU at the root
  EXPECT_DOUBLE_EQ(host_path_of(s).link_bytes_per_s, 24e9);
}

// The DGX of the time: 16 channels of 25.6 GB/s (DDR4-3200) or 38.4 GB/s (DDR5-4800) for eight GPUs, of it 80 %.
TEST(HostPath, AServerWithoutMemoryHasThatOfADgx) {
  ServerSpec s = server();
  EXPECT_DOUBLE_EQ(host_path_of(s).link_bytes_per_s, 24e9);
  EXPECT_DOUBLE_EQ(host_path_of(s).memory_bytes_per_s, 40.96e9);
  s.gpu.generation = GpuGeneration::kHopper;
  EXPECT_DOUBLE_EQ(host_path_of(s).memory_bytes_per_s, 61.44e9);
}

}  // namespace
}  // namespace lockstep
