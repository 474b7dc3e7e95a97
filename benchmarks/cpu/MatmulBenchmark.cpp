//===- MatmulBenchmark.cpp - Speed of compiled products ---------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Whole `matmul` operations through gsg-to-cpu, as nvfp4-run executes them:
// dense 4096 x 4096 and grouped (32 experts, top 4, 2880 x 2880), NVFP4 both
// sides, f32 results. For few rows the weights rotate through more memory than
// the last-level cache holds. Names: <format>_<form>_<rows>/threads.
//
//===----------------------------------------------------------------------===//

#include "CompiledProgram.h"

#include "nvfp4/Runtime/nvfp4_runtime.h"

#include "benchmark/benchmark.h"
#include "llvm/Support/raw_ostream.h"

#include <algorithm>
#include <random>

using namespace nvfp4;
using namespace nvfp4::bench;
using tensorio::DType;
using tensorio::Tensor;

namespace {
constexpr int64_t kRotatedBytes = 160 << 20;

struct Case {
  const char *name;
  int64_t experts; // 0: dense
  int64_t tokens;
  int64_t n, k;
  int64_t rows() const { return experts ? 4 * tokens : tokens; }
};

const Case kCases[] = {
    {"nvfp4_dense_m1", 0, 1, 4096, 4096},
    {"nvfp4_dense_m8", 0, 8, 4096, 4096},
    {"nvfp4_dense_m64", 0, 64, 4096, 4096},
    {"nvfp4_dense_m512", 0, 512, 4096, 4096},
    {"nvfp4_grouped_t1", 32, 1, 2880, 2880},
    {"nvfp4_grouped_t64", 32, 64, 2880, 2880},
    {"nvfp4_grouped_t512", 32, 512, 2880, 2880},
};

/// The product on memrefs, so that results are written in place.
std::string getModule(const Case &c) {
  std::string text;
  llvm::raw_string_ostream os(text);
  int64_t blocks = (c.k + 15) / 16;
  std::string stack = c.experts ? std::to_string(c.experts) + "x" : "";
  std::string x = "memref<?x" + std::to_string(c.k / 2) + "xi8>";
  std::string xs = "memref<?x" + std::to_string(blocks) + "xf8E4M3FN>";
  std::string rows = stack + std::to_string(c.n) + "x";
  std::string w = "memref<" + rows + std::to_string(c.k / 2) + "xi8>";
  std::string ws = "memref<" + rows + std::to_string(blocks) + "xf8E4M3FN>";
  std::string out = "memref<?x" + std::to_string(c.n) + "xf32>";
  std::string ends = "memref<" + std::to_string(c.experts) + "xi32>";
  std::string lhs =
      "!grouped_scaled_gemm.scaled<?x" + std::to_string(c.k) + ", nvfp4>";
  std::string rhs =
      "!grouped_scaled_gemm.scaled<" + rows + std::to_string(c.k) + ", nvfp4>";
  os << "func.func @product(%x: " << x << ", %xs: " << xs << ", %w: " << w
     << ", %ws: " << ws << (c.experts ? ", %ends: " + ends : "")
     << ", %out: " << out << ") {\n  grouped_scaled_gemm.matmul ";
  if (c.experts)
    os << "<ragged_rows, ends> groups(%ends : " << ends << ")";
  else
    os << "<dense>";
  os << " lhs(%x scaled_by %xs : " << x << ", " << xs << " as " << lhs
     << ") rhs(%w scaled_by %ws : " << w << ", " << ws << " as " << rhs
     << ") outs(%out : " << out << ")\n  return\n}\n";
  return text;
}

/// Ends of the rows of each expert: every token takes four experts.
Tensor makeEnds(const Case &c, std::mt19937 &random) {
  std::vector<int32_t> counts(c.experts, 0);
  std::vector<int64_t> order(c.experts);
  for (int64_t i = 0; i < c.experts; ++i)
    order[i] = i;
  for (int64_t t = 0; t < c.tokens; ++t) {
    std::shuffle(order.begin(), order.end(), random);
    for (int s = 0; s < 4; ++s)
      ++counts[order[s]];
  }
  Tensor tensor = allocate(DType::I32, {c.experts});
  auto *ends = reinterpret_cast<int32_t *>(tensor.mutableBytes().data());
  int32_t end = 0;
  for (int64_t e = 0; e < c.experts; ++e)
    ends[e] = end += counts[e];
  return tensor;
}

void run(benchmark::State &state, const Case &c) {
  std::mt19937 random(1);
  Program program = Program::compile(getModule(c), "product");
  int64_t blocks = (c.k + 15) / 16, experts = std::max<int64_t>(c.experts, 1);
  int64_t weightBytes = experts * c.n * (c.k / 2 + blocks);
  int64_t copies =
      c.rows() <= 32 ? (kRotatedBytes + weightBytes - 1) / weightBytes : 1;
  std::vector<std::vector<Tensor>> arguments;
  auto weightShape = [&](int64_t columns) {
    return c.experts ? std::vector<int64_t>{c.experts, c.n, columns}
                     : std::vector<int64_t>{c.n, columns};
  };
  for (int64_t i = 0; i < copies; ++i) {
    std::vector<Tensor> &a = arguments.emplace_back();
    a.push_back(randomBytes(DType::U8, {c.rows(), c.k / 2}, 0, 255, random));
    // Codes 0x30 to 0x40: scales from 0.5 to 2.
    a.push_back(
        randomBytes(DType::F8E4M3FN, {c.rows(), blocks}, 0x30, 0x40, random));
    a.push_back(randomBytes(DType::U8, weightShape(c.k / 2), 0, 255, random));
    a.push_back(
        randomBytes(DType::F8E4M3FN, weightShape(blocks), 0x30, 0x40, random));
    if (c.experts)
      a.push_back(makeEnds(c, random));
    a.push_back(allocate(DType::F32, {c.rows(), c.n}));
  }
  nvfp4_set_num_threads(static_cast<int>(state.range(0)));
  size_t next = 0;
  for (auto _ : state) {
    program.call(arguments[next]);
    next = (next + 1) % arguments.size();
  }
  state.counters["gflops"] =
      benchmark::Counter(2e-9 * static_cast<double>(c.rows() * c.n * c.k),
                         benchmark::Counter::kIsIterationInvariantRate);
}
} // namespace

int main(int argc, char **argv) {
  for (const Case &c : kCases)
    add(c.name, [&c](benchmark::State &state) { run(state, c); });
  return runAll(argc, argv);
}
