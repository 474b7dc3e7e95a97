//===- WholeCore.h - Measuring while cores are not shared -------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Two hardware threads may share a core. In a virtual machine the other one can
// be somebody else's: it comes and goes within tenths of a second, halves the
// speed of what needs the units of the core, and no counter of this system
// shows it. But it can be felt. A chain of multiplications waits for itself and
// takes as long as ever, while a run of nops, which needs every issue slot,
// takes up to twice as long. Measured so, a time counts only if the core was
// whole before and after, in comparison with the most nops that were seen so
// far: who never saw a whole core takes a shared one for it. On other CPUs than
// x86-64 every time counts.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_BENCHMARKS_CPU_WHOLECORE_H
#define NVFP4_BENCHMARKS_CPU_WHOLECORE_H

#include "benchmark/benchmark.h"

#include <functional>

namespace nvfp4::bench {

/// The iterations of a benchmark with UseManualTime: processor time of the
/// caller with one thread, else wall time. Waits and measures again where a
/// core was shared, NVFP4_BENCHMARK_PATIENCE seconds (2) a call at most; the
/// counter `whole` is the share of iterations that had whole cores, and
/// `nops` what NVFP4_BENCHMARK_NOPS may be for later programs.
void measure(benchmark::State &state, int threads,
             const std::function<void()> &run);

} // namespace nvfp4::bench

#endif // NVFP4_BENCHMARKS_CPU_WHOLECORE_H
