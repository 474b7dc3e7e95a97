//===- PredictParallel.h - a layer on several GPUs --------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_BENCHMARKS_STRATEGY_PREDICTPARALLEL_H
#define NVFP4_BENCHMARKS_STRATEGY_PREDICTPARALLEL_H

/// Prints one JSON object for each of three layers on 8 GPUs and each number of
/// tokens of a GPU, with times in microseconds.
void printParallelLayers();

#endif // NVFP4_BENCHMARKS_STRATEGY_PREDICTPARALLEL_H
