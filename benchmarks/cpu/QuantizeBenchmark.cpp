//===- QuantizeBenchmark.cpp - Speed of compiled quantisers -----*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// bf16 rows of 4096 to block-scaled values through gsg-to-cpu, by quantiser and
// scale layout. Throughput counts the bf16 bytes read.
// Names: quantize_<format>_<quantiser>[_<layout>]_m<rows>/threads.
//
//===----------------------------------------------------------------------===//

#include "CompiledProgram.h"
#include "WholeCore.h"

#include "nvfp4/Runtime/nvfp4_runtime.h"

#include "benchmark/benchmark.h"
#include "llvm/Support/raw_ostream.h"

#include <cstring>

using namespace nvfp4;
using namespace nvfp4::bench;
using tensorio::DType;
using tensorio::Tensor;

namespace {
constexpr int64_t kColumns = 4096;

struct Case {
  const char *name;
  const char *format, *quantizer;
  bool blocked, globalScale;
  int64_t rows;
};

const Case kCases[] = {
    {"quantize_nvfp4_te_m512", "nvfp4", "te", false, true, 512},
    {"quantize_nvfp4_te_blocked_m512", "nvfp4", "te", true, true, 512},
    {"quantize_nvfp4_trtllm_m512", "nvfp4", "trtllm", false, true, 512},
    {"quantize_nvfp4_four_over_six_m512", "nvfp4", "four_over_six", false, true,
     512},
    {"quantize_mxfp4_ocp_m512", "mxfp4", "ocp", false, false, 512},
    {"quantize_mxfp8_ocp_m512", "mxfp8_e4m3", "ocp", false, false, 512},
};

bool isFp4(const Case &c) { return std::strncmp(c.format, "mxfp8", 5) != 0; }
int64_t blockSize(const Case &c) {
  return std::strcmp(c.format, "nvfp4") == 0 ? 16 : 32;
}

std::vector<int64_t> scaleShape(const Case &c) {
  int64_t blocks = kColumns / blockSize(c);
  if (c.blocked)
    return {(c.rows + 127) / 128, (blocks + 3) / 4, 32, 4, 4};
  return {c.rows, blocks};
}

std::string memref(const std::vector<int64_t> &shape, const char *element) {
  std::string type = "memref<";
  for (int64_t extent : shape)
    type += std::to_string(extent) + "x";
  return type + element + ">";
}

std::string getModule(const Case &c) {
  std::string text;
  llvm::raw_string_ostream os(text);
  std::string x = memref({c.rows, kColumns}, "bf16");
  std::string v = memref({c.rows, isFp4(c) ? kColumns / 2 : kColumns},
                         isFp4(c) ? "i8" : "f8E4M3FN");
  std::string s =
      memref(scaleShape(c), blockSize(c) == 16 ? "f8E4M3FN" : "f8E8M0FNU");
  os << "func.func @quantize(%x: " << x << ", %v: " << v << ", %s: " << s
     << ") {\n";
  if (c.globalScale)
    os << "  %scale = arith.constant 700.0 : f32\n";
  os << "  grouped_scaled_gemm.quantize <" << c.quantizer << ">(%x : " << x
     << ")" << (c.globalScale ? " global_scale(%scale : f32)" : "")
     << " outs(%v scaled_by %s : " << v << ", " << s
     << " as !grouped_scaled_gemm.scaled<" << c.rows << "x" << kColumns << ", "
     << c.format << (c.blocked ? ", blocked" : "") << ">)\n  return\n}\n";
  return text;
}

/// Normal values with one outlier of 30 sigma in 64.
Tensor activations(const Case &c) {
  std::mt19937 random(1);
  std::normal_distribution<float> normal;
  Tensor tensor = allocate(DType::BF16, {c.rows, kColumns});
  auto *out = reinterpret_cast<uint16_t *>(tensor.mutableBytes().data());
  for (int64_t i = 0; i < c.rows * kColumns; ++i) {
    float value = normal(random) * (random() % 64 == 0 ? 30.0f : 1.0f);
    uint32_t bits;
    std::memcpy(&bits, &value, sizeof(bits));
    out[i] = static_cast<uint16_t>(bits >> 16);
  }
  return tensor;
}

void run(benchmark::State &state, const Case &c) {
  Program program = Program::compile(getModule(c), "quantize");
  std::vector<Tensor> arguments{
      activations(c),
      isFp4(c) ? allocate(DType::U8, {c.rows, kColumns / 2})
               : allocate(DType::F8E4M3FN, {c.rows, kColumns}),
      allocate(blockSize(c) == 16 ? DType::F8E4M3FN : DType::F8E8M0FNU,
               scaleShape(c))};
  const int threads = static_cast<int>(state.range(0));
  nvfp4_set_num_threads(threads);
  measure(state, threads, [&] { program.call(arguments); });
  state.counters["gbs"] =
      benchmark::Counter(2e-9 * static_cast<double>(c.rows * kColumns),
                         benchmark::Counter::kIsIterationInvariantRate);
}
} // namespace

int main(int argc, char **argv) {
  for (const Case &c : kCases)
    add(c.name, [&c](benchmark::State &state) { run(state, c); });
  return runAll(argc, argv);
}
