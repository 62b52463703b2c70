// SPDX-License-Identifier: Apache-2.0
// Times of kernels that somebody measured, which stand in the place of the model's (key kernel_timings of a job). A CSV file with a header;
// a row is a matrix product by its shape, or a part of the model in one direction:
//
//   kernel,m,n,k,batch,precision,time          part,direction,tokens,tp,precision,time
//   gemm,4096,28672,4096,,bf16,1.42 ms         attention,forward,4096,1,,2.1 ms
//
// A product is C[m,n] = A[m,k] B[k,n], `batch` of them at once (blank: 1). Of Y[T,o] = X[T,i] W[i,o] with T tokens, forward is m = T, n = o,
// k = i, the gradient of X m = T, n = i, k = o, that of W m = i, n = o, k = T; and as C^T = B^T A^T is the same work, a row with m and n
// exchanged holds too, where none has them in this order. A part is the whole operation of a program: its kernels keep their shares of
// the time, of which the slices of an operation are made. It overrides products inside. Blank tokens (of a micro-batch on a rank), tp and
// precision match any; the row that says more counts. A column `note` is for people.
// Not modelled: layouts of operands, times that depend on the data, hardware other than that of the measurement.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep {

class Diagnostics;
enum class DataType : std::uint8_t;   // workloads/parallel/job.h
enum class Direction : std::uint8_t;  // workloads/kernels/transformer_kernels.h
enum class ModelPart : std::uint8_t;  // workloads/model/transformer.h
struct KernelWork;                    // workloads/kernels/roofline.h

struct KernelTimings {
  using Shape = std::array<std::int64_t, 4>;  // m, n, k, batch
  struct Row {
    double seconds = 0;
    int line = 0;
    std::string what;  // "gemm 4096 x 28672 x 4096", "attention forward"
    std::optional<DataType> precision;
    std::optional<std::int64_t> tokens;  // of parts
    std::optional<std::int64_t> tp;
  };

  std::string file;  // as opened
  std::uint64_t content_hash = 0;
  std::vector<Row> rows;  // in the order of the file, of equal ones the first
  std::map<Shape, std::vector<std::size_t>> products;
  std::map<std::pair<ModelPart, Direction>, std::vector<std::size_t>> parts;
};

// Everything wrong with the text is added to `d`, with its line and column; then the result is of no use.
[[nodiscard]] KernelTimings parse_kernel_timings(const std::string& text, const std::string& file, Diagnostics& d);

// As the column `precision` has it.
[[nodiscard]] std::string_view precision_word(DataType type);

// m, n, k and batch of a matrix product in whole numbers; nothing for other kernels and products in parts of a row.
[[nodiscard]] std::optional<KernelTimings::Shape> shape_of_product(const KernelWork& work);

// For keys of stored results: empty without a table.
[[nodiscard]] std::string content_text(const std::shared_ptr<const KernelTimings>& timings);

// What a job's kernels have of a table. Equal everywhere in a job.
struct MeasuredKernels {
  std::shared_ptr<const KernelTimings> table;  // none: the model's times
  DataType linear{};                           // of KernelClass::kLinear
  DataType other{};                            // of KernelClass::kGemm

  [[nodiscard]] DataType precision(const KernelWork& work) const;  // of a product
  // Index of the row that holds for a product, if there is one.
  [[nodiscard]] std::optional<std::size_t> product(const KernelWork& work) const;
  [[nodiscard]] std::optional<std::size_t> part(ModelPart part, Direction direction, std::int64_t tokens,
                                                std::int64_t tp) const;
};

}  // namespace lockstep
