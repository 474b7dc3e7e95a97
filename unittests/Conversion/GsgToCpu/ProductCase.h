//===- ProductCase.h - a product, its IR and its expected result *- C++ ---===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Describes one `matmul`, writes it as IR in storage form, fills its operands
// with values for which every f32 sum is exact in any order, and computes the
// result naively in f64.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_UNITTESTS_CONVERSION_GSGTOCPU_PRODUCTCASE_H
#define NVFP4_UNITTESTS_CONVERSION_GSGTOCPU_PRODUCTCASE_H

#include "ProductJit.h"
#include "nvfp4/Dialect/GroupedScaledGemm/IR/GroupedScaledGemm.h"
#include "nvfp4/Format/GateLayout.h"
#include "nvfp4/Format/Quantizer.h"

#include <functional>
#include <random>

namespace nvfp4::gsg::cpu {

struct ProductCase {
  GroupingKind kind = GroupingKind::Dense;
  OffsetsKind offsets = OffsetsKind::Ends;
  int64_t align = 1;
  bool wideOffsets = false;
  /// Rows of each group, or (ragged K) its K; else the number of groups counts.
  std::vector<int64_t> sizes = {1};
  /// Rows of each group where they do not differ (masked: of the buffer).
  int64_t rows = 1;
  /// What every second E8M0 scale of the activations has more, and of the
  /// weights less, in its exponent; or all of one row or one column have more.
  int scaleShift = 0;
  int64_t shiftedRow = -1, shiftedColumn = -1;
  /// Rows of the buffers behind the last group.
  int64_t spareRows = 0;
  int64_t columns = 1, depth = 16;
  format::BlockFormat format = format::BlockFormat::NVFP4;
  /// If not that of the activations.
  std::optional<format::BlockFormat> weightFormat;
  ScaleLayout lhsLayout = ScaleLayout::Linear;
  ScaleLayout rhsLayout = ScaleLayout::Linear;
  GroupStart start = GroupStart::Whole;
  bool discrete = false;
  std::string out = "f32";

  /// 0 none, 1 scalar, 2 one a group, 3 gate and up.
  int alpha = 0;
  /// 0 none, 1 bf16 [N], 2 f32 [G, N].
  int bias = 0;
  std::string prob;
  bool addend = false, beta = false;
  /// "<swiglu, gate = <1, gate_first>>"; with its pieces for the oracle.
  std::string activation;
  std::optional<format::NamedGateLayout> gate;
  /// y of z, or of gate and up; identity if empty.
  std::function<double(double, double)> function;
  /// Between `activation` and the results: row(...), epilogue {...}.
  std::string custom;
  bool preact = false, amax = false, zeroTail = false;
  std::optional<format::Quantizer> quantizer;
  ScaleLayout outLayout = ScaleLayout::Linear;
  GroupStart outStart = GroupStart::Whole;
  /// 0: exact.
  double tolerance = 0;

  std::string describe() const;
};

/// Runs the case under `options` and compares; reports through GoogleTest.
/// Returns the bytes of all results.
std::vector<uint8_t> checkCase(const ProductCase &product,
                               const RunOptions &options);

/// The same for every instruction set of this machine, which must agree.
void checkEverywhere(const ProductCase &product);

} // namespace nvfp4::gsg::cpu

#endif // NVFP4_UNITTESTS_CONVERSION_GSGTOCPU_PRODUCTCASE_H
