//===- PeerBenchmark.cpp - Dense products of other libraries ----*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What other libraries make of the shapes of MatmulBenchmark.cpp: 4096 x 4096
// weights in f32, bf16 or int8, without block scales, since no other CPU
// library knows NVFP4. oneDNN chooses the layout of its weights ahead of time;
// OpenBLAS packs on every call. For few rows the weights rotate through more
// memory than the last-level cache holds.
// Names: <library>_<element>_m<rows>/threads. With --isa=avx512bf16 oneDNN may
// use AVX-512 with BF16 and no AMX: onednn_avx512bf16_m<rows>/threads, and
// nothing else.
//
//===----------------------------------------------------------------------===//

#include "WholeCore.h"

#include "benchmark/benchmark.h"

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#ifdef NVFP4_BENCHMARK_OPENBLAS
#include <cblas.h>
#endif
#ifdef NVFP4_BENCHMARK_ONEDNN
#include <dnnl.hpp>
#endif

namespace {
constexpr int64_t kN = 4096, kK = 4096;

/// Weight matrices to go through; f32 and bf16 ones are larger than ours.
int64_t countCopies(int64_t m) { return m <= 8 ? 6 : 1; }

void measureCalls(benchmark::State &state, int64_t m,
                  const std::function<void(size_t)> &call) {
  size_t next = 0, copies = static_cast<size_t>(countCopies(m));
  nvfp4::bench::measure(state, static_cast<int>(state.range(0)), [&] {
    call(next);
    next = (next + 1) % copies;
  });
  state.counters["gflops"] =
      benchmark::Counter(2e-9 * static_cast<double>(m * kN * kK),
                         benchmark::Counter::kIsIterationInvariantRate);
}

void add(const std::string &name, int64_t m,
         std::function<void(benchmark::State &, int64_t)> run) {
  benchmark::RegisterBenchmark(
      (name + "_m" + std::to_string(m)).c_str(),
      [run = std::move(run), m](benchmark::State &state) { run(state, m); })
      ->Arg(1)
      ->Arg(2)
      ->ArgName("threads")
      ->UseManualTime()
      ->Unit(benchmark::kMicrosecond);
}

#ifdef NVFP4_BENCHMARK_OPENBLAS
void runOpenBlas(benchmark::State &state, int64_t m) {
  openblas_set_num_threads(static_cast<int>(state.range(0)));
  std::vector<float> x(m * kK, 0.5f), y(m * kN);
  std::vector<std::vector<float>> w(countCopies(m),
                                    std::vector<float>(kN * kK, 0.25f));
  measureCalls(state, m, [&](size_t copy) {
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, static_cast<int>(m),
                kN, kK, 1.0f, x.data(), kK, w[copy].data(), kK, 0.0f, y.data(),
                kN);
  });
}
#endif

#ifdef NVFP4_BENCHMARK_ONEDNN
extern "C" void omp_set_num_threads(int);

void runOneDnn(benchmark::State &state, int64_t m,
               dnnl::memory::data_type source, dnnl::memory::data_type weight,
               dnnl::memory::data_type result) {
  using tag = dnnl::memory::format_tag;
  omp_set_num_threads(static_cast<int>(state.range(0)));
  dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  dnnl::stream stream(engine);
  dnnl::memory::desc x({m, kK}, source, tag::ab);
  dnnl::memory::desc any({kK, kN}, weight, tag::any);
  dnnl::memory::desc y({m, kN}, result, tag::ab);
  dnnl::matmul::primitive_desc plan(dnnl::matmul::desc(x, any, y), engine);
  dnnl::matmul product(plan);
  auto allocate = [&](const dnnl::memory::desc &desc) {
    dnnl::memory memory(desc, engine);
    // The same small number in every element, whatever its type.
    auto *bytes = static_cast<uint8_t *>(memory.get_data_handle());
    for (size_t i = 0, size = desc.get_size(); i < size; ++i)
      bytes[i] = i % 2 ? 0x3E : 0;
    return memory;
  };
  dnnl::memory source0 = allocate(x), result0 = allocate(y);
  std::vector<dnnl::memory> weights;
  for (int64_t i = 0; i < countCopies(m); ++i)
    weights.push_back(allocate(plan.weights_desc()));
  measureCalls(state, m, [&](size_t copy) {
    product.execute(stream, {{DNNL_ARG_SRC, source0},
                             {DNNL_ARG_WEIGHTS, weights[copy]},
                             {DNNL_ARG_DST, result0}});
    stream.wait();
  });
}
#endif
} // namespace

int main(int argc, char **argv) {
  benchmark::Initialize(&argc, argv);
  const bool isLimited =
      argc == 2 && std::strcmp(argv[1], "--isa=avx512bf16") == 0;
  if (argc > 1 && !isLimited) {
    std::fprintf(stderr,
                 "expected no argument or --isa=avx512bf16, but got '%s'\n",
                 argv[argc - 1]);
    return 1;
  }
#ifdef NVFP4_BENCHMARK_ONEDNN
  if (isLimited && (!__builtin_cpu_supports("avx512bf16") ||
                    dnnl::set_max_cpu_isa(dnnl::cpu_isa::avx512_core_bf16) !=
                        dnnl::status::success)) {
    std::fprintf(stderr, "expected a CPU with AVX-512 BF16 and a oneDNN that "
                         "can be kept to it\n");
    return 1;
  }
#endif
  for (int64_t m : {1, 8, 64, 512}) {
    (void)m;
#ifdef NVFP4_BENCHMARK_OPENBLAS
    if (!isLimited)
      add("openblas_f32", m, runOpenBlas);
#endif
#ifdef NVFP4_BENCHMARK_ONEDNN
    using type = dnnl::memory::data_type;
    auto addOneDnn = [&](const char *name, type x, type w, type y) {
      add(name, m, [=](benchmark::State &state, int64_t rows) {
        runOneDnn(state, rows, x, w, y);
      });
    };
    if (isLimited) {
      addOneDnn("onednn_avx512bf16", type::bf16, type::bf16, type::f32);
      continue;
    }
    addOneDnn("onednn_f32", type::f32, type::f32, type::f32);
    addOneDnn("onednn_bf16", type::bf16, type::bf16, type::f32);
    addOneDnn("onednn_u8s8", type::u8, type::s8, type::s32);
#endif
  }
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
}
