//===- KernelBenchmark.cpp - speed of the CPU inner kernels -----*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One thread, whole GEMM: rows are prepared once and every panel of 64 columns
// runs over all of K. Weights of small problems cycle through more memory than
// the last cache holds. FLOP/s count 2 * M * N * K. The argument --isa=<name>
// keeps one instruction set. intrinsics/nvfp4 is the same GEMM with the tile
// that a person wrote; before anything is measured its bits are compared.
//
//===----------------------------------------------------------------------===//

#include "IntrinsicsTile.h"
#include "KernelJit.h"
#include "WholeCore.h"

#include "benchmark/benchmark.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

using namespace nvfp4;
using namespace nvfp4::gsg::cpu;
using format::BlockFormat;

namespace {

constexpr int64_t kWeightPool = 160 << 20;

struct AlignedBytes {
  explicit AlignedBytes(int64_t size)
      : data(static_cast<uint8_t *>(
            std::aligned_alloc(4096, (size + 4095) / 4096 * 4096))) {}
  ~AlignedBytes() { std::free(data); }
  AlignedBytes(const AlignedBytes &) = delete;
  AlignedBytes &operator=(const AlignedBytes &) = delete;
  uint8_t *data;
};

void fill(uint8_t *bytes, int64_t size, bool scales, BlockFormat format) {
  std::minstd_rand random(1);
  for (int64_t i = 0; i < size; ++i)
    bytes[i] = !scales ? uint8_t(random() >> 8) & 0x77
               : format::scaleKind(format) == format::ScaleKind::UE4M3
                   ? 0x30 + (random() >> 8) % 16
                   : 120 + (random() >> 8) % 16;
}

/// The whole product, n / 64 tiles; `hand` takes the tile of IntrinsicsTile.h.
std::vector<float> runGemm(benchmark::State *state, CompiledKernel kernel,
                           BlockFormat format, bool hand, int64_t m, int64_t n,
                           int64_t k) {
  int64_t rowBytes = format::rowBytes(format, k);
  int64_t rowScales = format::scaleColumns(format, k);
  int64_t matrices =
      m <= 8 ? std::max<int64_t>(1, kWeightPool / (n * (rowBytes + rowScales)))
             : 1;
  AlignedBytes weights(matrices * n * rowBytes);
  AlignedBytes weightScales(matrices * n * rowScales);
  AlignedBytes rows(m * rowBytes), scales(m * rowScales);
  fill(weights.data, matrices * n * rowBytes, false, format);
  fill(weightScales.data, matrices * n * rowScales, true, format);
  fill(rows.data, m * rowBytes, false, format);
  fill(scales.data, m * rowScales, true, format);
  AlignedBytes prepared(kernel.plan.getPreparedBytes(m, k));
  AlignedBytes scratch(kernel.plan.getScratchBytes());
  AlignedBytes acc(kernel.plan.getAccumulatorBytes(m));
  std::vector<float> output(m * n);
  std::vector<int64_t> rowData, rowScale, columnData, columnScale;
  for (int64_t r = 0; r < m; ++r) {
    rowData.push_back(r * rowBytes);
    rowScale.push_back(r * rowScales);
  }
  for (int64_t r = 0; r < n; ++r) {
    columnData.push_back(r * rowBytes);
    columnScale.push_back(r * rowScales);
  }
  int64_t matrix = 0;
  auto run = [&] {
    kernel.prepareRows(rows.data, scales.data, rowData.data(), rowScale.data(),
                       m, k, 4, 0, prepared.data);
    for (int64_t column = 0; column < n; column += kPanelColumns) {
      int64_t next = column + kPanelColumns < n ? column + kPanelColumns : 0;
      auto *sums = reinterpret_cast<float *>(acc.data);
      const uint8_t *data = weights.data + matrix * n * rowBytes;
      const uint8_t *dataScales = weightScales.data + matrix * n * rowScales;
      if (hand)
        bench::intrinsicsTile(
            prepared.data, m, k, data, dataScales, columnData.data() + column,
            columnScale.data() + column, columnData.data() + next,
            columnScale.data() + next, sums);
      else
        kernel.gemmTile(prepared.data, m, k, data, dataScales,
                        columnData.data() + column, columnScale.data() + column,
                        kPanelColumns, 4, 0, columnData.data() + next,
                        columnScale.data() + next, scratch.data, sums);
      for (int64_t r = 0; r < m; ++r)
        std::copy_n(sums + r * kPanelColumns, kPanelColumns,
                    output.data() + r * n + column);
    }
    benchmark::ClobberMemory();
    matrix = (matrix + 1) % matrices;
  };
  if (!state) {
    run();
    return output;
  }
  bench::measure(*state, 1, run);
  state->counters["GFLOP/s"] =
      benchmark::Counter(2e-9 * double(m) * double(n) * double(k),
                         benchmark::Counter::kIsIterationInvariantRate);
  state->counters["GB/s(W)"] =
      benchmark::Counter(1e-9 * double(n) * double(rowBytes + rowScales),
                         benchmark::Counter::kIsIterationInvariantRate);
  return output;
}

} // namespace

int main(int argc, char **argv) {
  std::vector<Isa> isas = {Isa::Generic, Isa::AVX2, Isa::AVX512VNNI, Isa::AMX};
  std::erase_if(isas, [](Isa isa) { return isa > detectHostIsa(); });
  for (int i = 1; i < argc; ++i) {
    llvm::StringRef argument(argv[i]);
    if (!argument.consume_front("--isa="))
      continue;
    std::optional<Isa> only = parseIsa(argument);
    if (!only || *only > detectHostIsa()) {
      std::fprintf(stderr, "error: this CPU has no instruction set '%s'\n",
                   argument.str().c_str());
      return 1;
    }
    isas = {*only};
    std::swap(argv[i], argv[argc - 1]);
    --argc;
    break;
  }
  std::vector<KernelSpec> specs;
  std::vector<BlockFormat> formats;
  for (Isa isa : isas)
    for (BlockFormat format :
         {BlockFormat::NVFP4, BlockFormat::MXFP4, BlockFormat::MXFP8_E4M3}) {
      KernelSpec spec = *KernelSpec::get(isa, format, format);
      if (spec.isa != isa)
        continue;
      specs.push_back(spec);
      formats.push_back(format);
    }
  std::vector<std::unique_ptr<KernelJit>> jits;
  for (const KernelSpec &spec : specs) {
    const KernelJit &jit =
        *jits.emplace_back(std::make_unique<KernelJit>(spec));
    if (!jit.succeeded())
      return 1;
    std::printf("%s: passes %.0f ms, compilation %.0f ms\n",
                spec.name().c_str(), jit.getPassSeconds() * 1e3,
                jit.getJitSeconds() * 1e3);
    if (const char *folder = std::getenv("NVFP4_DUMP_OBJECTS"))
      jit.dumpObject(std::string(folder) + "/" + spec.name() + ".o");
  }
  for (auto [spec, format, jit] : llvm::zip_equal(specs, formats, jits)) {
    CompiledKernel kernel = jit->get(spec);
    std::string name =
        (stringify(spec.isa) + "/" + llvm::StringRef(format::stringify(format)))
            .str();
    auto *registered = benchmark::RegisterBenchmark(
        name.c_str(), [kernel, format = format](benchmark::State &state) {
          runGemm(&state, kernel, format, /*hand=*/false, state.range(0),
                  state.range(1), state.range(2));
        });
    registered->ArgNames({"M", "N", "K"})
        ->Unit(benchmark::kMillisecond)
        ->UseManualTime();
    for (int64_t m : {1, 8, 64, 512})
      registered->Args({m, 4096, 4096});
    registered->Args({1, 2880, 2880})->Args({8, 2880, 2880});
  }
  for (auto [spec, format, jit] : llvm::zip_equal(specs, formats, jits)) {
    if (spec.isa != Isa::AVX512VNNI || format != BlockFormat::NVFP4 ||
        !bench::hasIntrinsicsTile())
      continue;
    CompiledKernel kernel = jit->get(spec);
    if (runGemm(nullptr, kernel, format, false, 64, 256, 1280) !=
        runGemm(nullptr, kernel, format, true, 64, 256, 1280)) {
      std::fprintf(stderr, "error: the tile with intrinsics differs\n");
      return 1;
    }
    benchmark::RegisterBenchmark(
        "intrinsics/nvfp4",
        [kernel, format = format](benchmark::State &state) {
          runGemm(&state, kernel, format, /*hand=*/true, state.range(0),
                  state.range(1), state.range(2));
        })
        ->ArgNames({"M", "N", "K"})
        ->Unit(benchmark::kMillisecond)
        ->UseManualTime()
        ->Args({64, 4096, 4096})
        ->Args({512, 4096, 4096});
  }
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv))
    return 1;
  benchmark::RunSpecifiedBenchmarks();
}
