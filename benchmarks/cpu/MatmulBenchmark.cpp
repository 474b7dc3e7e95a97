//===- MatmulBenchmark.cpp - Speed of compiled products ---------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Whole `matmul` operations through gsg-to-cpu, as nvfp4-run executes them:
// dense 4096 x 4096 and grouped (32 experts, top 4, 2880 x 2880), one format on
// both sides, f32 results; `glu` is the first product of a layer, with SwiGLU
// and a quantised result, and the rows of `bf16` are numbers without scales.
// For few rows the weights rotate through more memory than the last-level cache
// holds. `weight_gbs` counts the bytes of weights, which are all that few rows
// wait for. Names: <format>_<form>_<rows>[_<isa>]/threads.
//
//===----------------------------------------------------------------------===//

#include "CompiledProgram.h"
#include "WholeCore.h"

#include "nvfp4/Runtime/nvfp4_runtime.h"

#include "benchmark/benchmark.h"
#include "llvm/Support/raw_ostream.h"

#include <algorithm>
#include <optional>
#include <random>
#include <string_view>

using namespace nvfp4;
using namespace nvfp4::bench;
using tensorio::DType;
using tensorio::Tensor;

namespace {
constexpr int64_t kRotatedBytes = 160 << 20;

struct Case {
  const char *name;
  const char *format;
  const char *isa;
  int64_t experts; // 0: dense
  int64_t tokens;
  int64_t n, k;
  bool glu = false;
  /// Rows of bf16 instead of `format`.
  bool plain = false;
  int64_t rows() const { return experts ? 4 * tokens : tokens; }
  bool isNvfp4() const { return std::string_view(format) == "nvfp4"; }
  int64_t blocks() const { return k / (isNvfp4() ? 16 : 32); }
  int64_t matrices() const { return std::max<int64_t>(experts, 1); }
  int64_t weightBytes() const { return matrices() * n * (k / 2 + blocks()); }
};

const Case kCases[] = {
    {"nvfp4_dense_m1", "nvfp4", "native", 0, 1, 4096, 4096},
    {"nvfp4_dense_m8", "nvfp4", "native", 0, 8, 4096, 4096},
    {"nvfp4_dense_m64", "nvfp4", "native", 0, 64, 4096, 4096},
    {"nvfp4_dense_m512", "nvfp4", "native", 0, 512, 4096, 4096},
    {"nvfp4_grouped_t1", "nvfp4", "native", 32, 1, 2880, 2880},
    {"nvfp4_grouped_t64", "nvfp4", "native", 32, 64, 2880, 2880},
    {"nvfp4_grouped_t512", "nvfp4", "native", 32, 512, 2880, 2880},
    {"nvfp4_glu_t64", "nvfp4", "native", 32, 64, 5760, 2880, true},
    {"nvfp4_glu_t512", "nvfp4", "native", 32, 512, 5760, 2880, true},
    {"mxfp4_dense_m1", "mxfp4", "native", 0, 1, 4096, 4096},
    {"mxfp4_dense_m8", "mxfp4", "native", 0, 8, 4096, 4096},
    {"mxfp4_dense_m64", "mxfp4", "native", 0, 64, 4096, 4096},
    {"mxfp4_dense_m512", "mxfp4", "native", 0, 512, 4096, 4096},
    {"mxfp4_grouped_t1", "mxfp4", "native", 32, 1, 2880, 2880},
    {"mxfp4_grouped_t64", "mxfp4", "native", 32, 64, 2880, 2880},
    {"mxfp4_grouped_t512", "mxfp4", "native", 32, 512, 2880, 2880},
    {"nvfp4_bf16_m1", "nvfp4", "native", 0, 1, 4096, 4096, false, true},
    {"nvfp4_bf16_m8", "nvfp4", "native", 0, 8, 4096, 4096, false, true},
    {"nvfp4_bf16_m64", "nvfp4", "native", 0, 64, 4096, 4096, false, true},
    {"nvfp4_bf16_m512", "nvfp4", "native", 0, 512, 4096, 4096, false, true},
    {"mxfp4_bf16_m1", "mxfp4", "native", 0, 1, 4096, 4096, false, true},
    {"mxfp4_bf16_m8", "mxfp4", "native", 0, 8, 4096, 4096, false, true},
    {"mxfp4_bf16_m64", "mxfp4", "native", 0, 64, 4096, 4096, false, true},
    {"mxfp4_bf16_m512", "mxfp4", "native", 0, 512, 4096, 4096, false, true},
    {"nvfp4_dense_m512_avx2", "nvfp4", "avx2", 0, 512, 4096, 4096},
    {"nvfp4_grouped_t64_avx2", "nvfp4", "avx2", 32, 64, 2880, 2880},
};

std::string memref(const std::string &extents, const std::string &element) {
  return "memref<" + extents + element + ">";
}

/// The product on memrefs, so that results are written in place.
std::string getModule(const Case &c) {
  std::string text;
  llvm::raw_string_ostream os(text);
  std::string scale = c.isNvfp4() ? "f8E4M3FN" : "f8E8M0FNU";
  std::string k = std::to_string(c.k), format = c.format;
  std::string half = std::to_string(c.k / 2) + "x";
  std::string blocks = std::to_string(c.blocks()) + "x";
  std::string rows = (c.experts ? std::to_string(c.experts) + "x" : "") +
                     std::to_string(c.n) + "x";
  auto scaled = [&](const std::string &extents) {
    return "!grouped_scaled_gemm.scaled<" + extents + ", " + format + ">";
  };
  std::string x = memref("?x" + half, "i8"), xs = memref("?x" + blocks, scale);
  std::string w = memref(rows + half, "i8"), ws = memref(rows + blocks, scale);
  std::string ends = memref(std::to_string(c.experts) + "x", "i32");
  std::string out = memref("?x" + std::to_string(c.n) + "x", "f32");
  std::string outScales;
  if (c.glu) {
    out = memref("?x" + std::to_string(c.n / 4) + "x", "i8");
    outScales = memref("?x" + std::to_string(c.n / 32) + "x", scale);
  }
  std::string operand = "%x scaled_by %xs : " + x + ", " + xs + " as " +
                        scaled("?x" + k),
              parameters = "%x: " + x + ", %xs: " + xs;
  if (c.plain) {
    x = memref("?x" + k + "x", "bf16");
    operand = "%x : " + x;
    parameters = "%x: " + x;
  }
  os << "func.func @product(" << parameters << ", %w: " << w << ", %ws: " << ws
     << (c.experts ? ", %ends: " + ends : "") << ", %out: " << out
     << (c.glu ? ", %outs: " + outScales : "") << ") {\n";
  if (c.glu)
    os << "  %scale = arith.constant 0.01 : f32\n";
  os << "  grouped_scaled_gemm.matmul ";
  if (c.experts)
    os << "<ragged_rows, ends> groups(%ends : " << ends << ")";
  else
    os << "<dense>";
  os << " lhs(" << operand << ") rhs(%w scaled_by %ws : " << w << ", " << ws
     << " as " << scaled(rows + k) << ")";
  if (c.glu)
    os << " activation = <swiglu, gate = <halves, gate_first>> quantizer = "
          "<trtllm> global_scale(%scale : f32) outs(%out scaled_by %outs : "
       << out << ", " << outScales << " as "
       << scaled("?x" + std::to_string(c.n / 2)) << ")";
  else
    os << " outs(%out : " << out << ")";
  os << "\n  return\n}\n";
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

/// Scales from 1/2 to 2.
Tensor randomScales(const Case &c, std::vector<int64_t> shape,
                    std::mt19937 &random) {
  if (c.isNvfp4())
    return randomBytes(DType::F8E4M3FN, std::move(shape), 0x30, 0x40, random);
  return randomBytes(DType::F8E8M0FNU, std::move(shape), 126, 128, random);
}

/// A compiled case and its operands.
struct Prepared {
  Program program;
  std::vector<std::vector<Tensor>> arguments;
};

Prepared prepare(const Case &c) {
  std::mt19937 random(1);
  Prepared result{Program::compile(getModule(c), "product", c.isa), {}};
  int64_t copies = c.rows() <= 32
                       ? (kRotatedBytes + c.weightBytes() - 1) / c.weightBytes()
                       : 1;
  auto weightShape = [&](int64_t columns) {
    return c.experts ? std::vector<int64_t>{c.experts, c.n, columns}
                     : std::vector<int64_t>{c.n, columns};
  };
  for (int64_t i = 0; i < copies; ++i) {
    std::vector<Tensor> &a = result.arguments.emplace_back();
    if (c.plain) {
      // Upper and lower bytes of numbers from 2^-8 to 2.
      a.push_back(
          randomBytes(DType::BF16, {c.rows(), c.k}, 0x3C, 0x3F, random));
    } else {
      a.push_back(randomBytes(DType::U8, {c.rows(), c.k / 2}, 0, 255, random));
      a.push_back(randomScales(c, {c.rows(), c.blocks()}, random));
    }
    a.push_back(randomBytes(DType::U8, weightShape(c.k / 2), 0, 255, random));
    a.push_back(randomScales(c, weightShape(c.blocks()), random));
    if (c.experts)
      a.push_back(makeEnds(c, random));
    if (c.glu) {
      a.push_back(allocate(DType::U8, {c.rows(), c.n / 4}));
      a.push_back(allocate(DType::F8E4M3FN, {c.rows(), c.n / 32}));
    } else {
      a.push_back(allocate(DType::F32, {c.rows(), c.n}));
    }
  }
  return result;
}

void run(benchmark::State &state, const Case &c) {
  // One case after the other: repetitions share what was prepared.
  static const Case *last = nullptr;
  static std::optional<Prepared> prepared;
  if (last != &c) {
    prepared.reset();
    prepared.emplace(prepare(c));
    last = &c;
  }
  auto &[program, arguments] = *prepared;
  const int threads = static_cast<int>(state.range(0));
  nvfp4_set_num_threads(threads);
  size_t next = 0;
  measure(state, threads, [&, &program = program, &arguments = arguments] {
    program.call(arguments[next]);
    next = (next + 1) % arguments.size();
  });
  // One token reads the weights of its four experts.
  double bytes = static_cast<double>(c.weightBytes());
  if (c.experts)
    bytes *= static_cast<double>(std::min(c.rows(), c.experts)) /
             static_cast<double>(c.experts);
  state.counters["gflops"] =
      benchmark::Counter(2e-9 * static_cast<double>(c.rows() * c.n * c.k),
                         benchmark::Counter::kIsIterationInvariantRate);
  if (c.rows() <= 8)
    state.counters["weight_gbs"] = benchmark::Counter(
        1e-9 * bytes, benchmark::Counter::kIsIterationInvariantRate);
}
} // namespace

int main(int argc, char **argv) {
  for (const Case &c : kCases)
    add(c.name, [&c](benchmark::State &state) { run(state, c); });
  return runAll(argc, argv);
}
