//===- Quantizer.h - the named quantisers, byte-exact -----------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Quantisation of f32 blocks into codes and a scale byte, the way each known
// producer does it. The bytes differ between producers on the same input, so a
// quantiser is always chosen by name. Arithmetic is f32 with every operation
// rounded to nearest even; reciprocals are the correctly rounded 1/x (devices
// that approximate it may differ in the last code).
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_FORMAT_QUANTIZER_H
#define NVFP4_FORMAT_QUANTIZER_H

#include "nvfp4/Format/BlockFormat.h"
#include "nvfp4/Format/ScaleLayout.h"

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace nvfp4::format {
/// Meaning of QuantizeParams::globalScale for a quantiser.
enum class GlobalScaleKind {
  /// Not used; must be 1. So it is for TE with E8M0 scales.
  None,
  /// An encode scale S, 2688/amax of the tensor; see encodeScaleFor.
  Encode,
  /// A multiplier G = 1/S.
  Multiplier,
};

/// Constant facts about a quantiser.
struct QuantizerTraits {
  Quantizer quantizer;
  bool emitsUE4M3;
  bool emitsE8M0;
  GlobalScaleKind global;
  /// True when A ignores NaN elements instead of becoming NaN.
  bool amaxIgnoresNaN;
  /// The quantiser's own treatment of results that are zero.
  NegativeZero negativeZero;
};

/// One row per Quantizer, in the order of the enumeration.
inline constexpr std::array<QuantizerTraits, 9> kQuantizers = {{
    {Quantizer::Cutlass, true, true, GlobalScaleKind::Encode, false,
     NegativeZero::Keep},
    {Quantizer::Trtllm, true, true, GlobalScaleKind::Encode, true,
     NegativeZero::Keep},
    {Quantizer::TE, true, true, GlobalScaleKind::Encode, true,
     NegativeZero::Keep},
    {Quantizer::ModelOpt, true, false, GlobalScaleKind::Multiplier, false,
     NegativeZero::KeepRounded},
    {Quantizer::Mega16, true, false, GlobalScaleKind::None, true,
     NegativeZero::Keep},
    {Quantizer::UE8M0Up, false, true, GlobalScaleKind::None, false,
     NegativeZero::Keep},
    {Quantizer::OCP, false, true, GlobalScaleKind::None, false,
     NegativeZero::Keep},
    {Quantizer::TritonNearest, true, false, GlobalScaleKind::Encode, true,
     NegativeZero::Keep},
    {Quantizer::FourOverSix, true, false, GlobalScaleKind::Encode, true,
     NegativeZero::Keep},
}};
/// The row of `q`.
constexpr const QuantizerTraits &traits(Quantizer q) {
  return kQuantizers[static_cast<size_t>(q)];
}

/// True when the quantiser can emit the format (its scale kind, and for the
/// UE4M3 formats its element).
constexpr bool supports(Quantizer q, BlockFormat format) {
  return scaleKind(format) == ScaleKind::UE4M3 ? traits(q).emitsUE4M3
                                               : traits(q).emitsE8M0;
}

/// How elements are rounded once scaled.
enum class ElementRounding {
  NearestEven,
  /// Nearest, ties toward zero: the comparison chain of DeepGEMM's host cast.
  /// E2M1 elements only.
  NearestTiesTowardZero,
  /// E2M1 elements only.
  Stochastic,
};

/// The error that FourOverSix minimises.
enum class BlockError { MeanAbsolute, MeanSquare };

/// Everything that a quantiser depends on besides the values.
struct QuantizeParams {
  BlockFormat format = BlockFormat::NVFP4;
  /// S or G, see GlobalScaleKind; finite and positive.
  float globalScale = 1.0f;
  ElementRounding rounding = ElementRounding::NearestEven;
  /// Overrides QuantizerTraits::negativeZero. E2M1 elements only.
  std::optional<NegativeZero> negativeZero;
  /// Stochastic rounding draws Philox{seed, offset}.uniform(element index).
  uint64_t seed = 0;
  uint64_t offset = 0;
  /// UE8M0Up only: the smallest A. DeepGEMM uses 1e-4, Triton 0.
  float amaxFloor = 0.0f;
  /// FourOverSix only.
  BlockError blockError = BlockError::MeanSquare;
};

/// Why the quantiser cannot run with these parameters, in the form of a
/// diagnostic; empty when it can.
std::string checkQuantizer(Quantizer q, const QuantizeParams &params);

/// The encode scale 6*maxScale/amax of a tensor with the given max|x|: 1 when
/// amax is 0 or NaN or the quotient is 0, at most the largest f32. `maxScale`
/// is 448, or 256 for the FourOverSix variant that leaves headroom.
float encodeScaleFor(float amax, float maxScale = kE4M3Max);

/// max|x|; NaN elements are ignored or make the result NaN. 0 for no elements.
float blockAmax(std::span<const float> x, bool ignoreNaN);

/// Quantises one block of at most blockSize(format) values (missing ones count
/// as zero) and returns the scale byte. `codes` receives one code per value, in
/// the low bits. `elementIndex` is the index of x[0] for stochastic rounding.
/// The parameters must have passed checkQuantizer.
uint8_t quantizeBlock(Quantizer q, const QuantizeParams &params,
                      std::span<const float> x, std::span<uint8_t> codes,
                      uint64_t elementIndex = 0);

/// quantizeBlock with A given, for scales that are shared beyond the block
/// (two-dimensional mode). Not for FourOverSix, which has no single A.
uint8_t quantizeBlockWithAmax(Quantizer q, const QuantizeParams &params,
                              float amax, std::span<const float> x,
                              std::span<uint8_t> codes,
                              uint64_t elementIndex = 0);

/// A strided f32 matrix to read. Blocks run along the columns; a transposed
/// view therefore quantises the columns of the stored matrix.
struct MatrixView {
  const float *data = nullptr;
  int64_t rows = 0;
  int64_t columns = 0;
  /// Elements from one row to the next, and from one column to the next.
  int64_t rowStride = 0;
  int64_t columnStride = 1;

  /// Element (i, j), which must exist.
  constexpr float at(int64_t i, int64_t j) const {
    return data[i * rowStride + j * columnStride];
  }
  /// The same elements with rows and columns exchanged.
  constexpr MatrixView transposed() const {
    return {data, columns, rows, columnStride, rowStride};
  }
};

/// How far a scale reaches: a block of one row, or a square of blockSize rows
/// (TE's 16x16 mode), where every row of the square stores the same byte.
enum class ScaleExtent { Row, Square };

/// Quantises a matrix. `codes` gets rows * rowBytes(format, columns) bytes,
/// each row packed on its own. `scales` is filled completely in the layout of
/// `scaleMatrix`, whose extents are rows x scaleColumns(format, columns);
/// padding scales hold paddingScale. The element index of (i, j) is
/// i * columns + j. Returns an empty string, or a diagnostic (then nothing has
/// been written).
std::string quantizeMatrix(Quantizer q, const QuantizeParams &params,
                           const MatrixView &x, std::span<uint8_t> codes,
                           const ScaleMatrix &scaleMatrix,
                           std::span<uint8_t> scales,
                           ScaleExtent extent = ScaleExtent::Row);

/// The exact inverse of the storage of quantizeMatrix: out[i * columns + j] =
/// code * scale * multiplier in f64. Returns an empty string, or a diagnostic
/// (then nothing has been written).
std::string dequantizeMatrix(BlockFormat format, int64_t rows, int64_t columns,
                             std::span<const uint8_t> codes,
                             const ScaleMatrix &scaleMatrix,
                             std::span<const uint8_t> scales, float multiplier,
                             std::span<double> out);

} // namespace nvfp4::format

#endif // NVFP4_FORMAT_QUANTIZER_H
