//===- LaunchCosts.cpp - Times of kernels beside products -------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Straight lines through the times of gpt-oss-20b (32 experts, top 4) and
// Qwen3-30B-A3B (128 experts, top 8) on an H200 (benchmarks/h200/device-layer),
// of single kernels from 1 to 4096 tokens within 20 % and of one launch for all
// (its `order`) from 1 to 64 tokens within 12 %.
//
//===----------------------------------------------------------------------===//

#include "nvfp4/KernelTarget/LaunchCosts.h"

#include <algorithm>

using namespace nvfp4::strategy;

/// Microseconds of a kernel with nothing to do, after another one.
static constexpr double kLaunch = 1.7;
/// Bytes of a microsecond, read and written, of rows that move.
static constexpr double kMoved = 3.4e6;

/// A warp that chooses the experts of a token.
static double predictWarp(const TokenMoves &moves) {
  return 0.065 * double(moves.slots) + 0.0037 * double(moves.experts);
}

static double predictMove(const TokenMoves &moves, int64_t tokens) {
  return double(tokens * (moves.slots + 1) * moves.rowBytes) / kMoved;
}

double TokenMoves::predictRoute(int64_t tokens) const {
  // Multiprocessors run so many warps beside one another.
  constexpr double together = 1200;
  return kLaunch + predictWarp(*this) * (1 + double(tokens) / together);
}

double TokenMoves::predictSort(int64_t tokens) const {
  auto entries = double(tokens * slots);
  return entries <= kFewEntries
             ? kLaunch + 1.4 + 0.0022 * double(experts) + 0.0011 * entries
             : 3 * kLaunch + 0.000175 * entries;
}

double TokenMoves::predictPermute(int64_t tokens) const {
  return kLaunch + 0.2 + predictMove(*this, tokens);
}

double TokenMoves::predictCombine(int64_t tokens) const {
  // Bytes of a microsecond: rows that the product has left in L2, and others.
  constexpr double inCache = 40e6, ofCache = 9e6, ofMemory = 3.1e6;
  auto bytes = double(tokens * (slots + 1) * rowBytes);
  return kLaunch + 0.16 * double(slots) + std::min(bytes, inCache) / ofCache +
         std::max(bytes - inCache, 0.0) / ofMemory;
}

double TokenMoves::predictApart(int64_t tokens, bool movesRows) const {
  constexpr double early = 0.45;
  double time = predictRoute(tokens) + predictSort(tokens) - early;
  return movesRows ? time + predictPermute(tokens) - early : time;
}

double TokenMoves::predictOneLaunch(int64_t tokens, bool movesRows) const {
  // One multiprocessor chooses for so many tokens in the time of one warp.
  constexpr double together = 8.8;
  double choice = predictWarp(*this) * std::max(1.0, double(tokens) / together);
  double order = 1.3 + 0.0094 * double(experts);
  double moves = movesRows ? 0.2 + predictMove(*this, tokens) : 0;
  return kLaunch + choice + order + moves;
}

/// A kernel that quantises so many numbers: arithmetic, not memory, takes its
/// time.
static double predictNumbers(double numbers) {
  constexpr double numbersOfMicrosecond = 0.66e6;
  return kLaunch + 0.2 + numbers / numbersOfMicrosecond;
}

double QuantizedMoves::predictApart(int64_t tokens) const {
  return TokenMoves{0, slots, rowBytes}.predictPermute(tokens) +
         predictOneLaunch(tokens);
}

double QuantizedMoves::predictOneLaunch(int64_t tokens) const {
  return predictNumbers(double(tokens * slots * columns));
}

double QuantizedMoves::predictQuantize(int64_t tokens) const {
  return predictNumbers(double(tokens * columns));
}

double QuantizedMoves::predictOncePerToken(int64_t tokens) const {
  // A thread has the few bytes of a block.
  constexpr double moved = 2.0e6;
  auto bytes = double(tokens * (slots + 1) * quantizedBytes);
  return predictQuantize(tokens) + kLaunch + 0.2 + bytes / moved;
}

double nvfp4::strategy::predictBothDirections(int64_t rows, int64_t columns) {
  return predictNumbers(2 * double(rows * columns));
}
