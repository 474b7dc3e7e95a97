//===- Quantize.h - one block through a named quantiser ---------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Emits the quantisers of nvfp4/Format/Quantizer.h, byte for byte, for one
// block in registers. Shared by fused epilogues and the standalone operation.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_CONVERSION_GSGARITHMETIC_QUANTIZE_H
#define NVFP4_CONVERSION_GSGARITHMETIC_QUANTIZE_H

#include "nvfp4/Conversion/GsgArithmetic/MathBuilder.h"
#include "nvfp4/Dialect/GroupedScaledGemm/IR/GroupedScaledGemm.h"
#include "nvfp4/Format/Quantizer.h"

#include "mlir/IR/Builders.h"

namespace nvfp4::gsg::arithmetic {

/// A quantiser with everything that is known when code is emitted.
struct BlockQuantizer {
  format::Quantizer kind = format::Quantizer::Cutlass;
  format::BlockFormat format = format::BlockFormat::NVFP4;
  format::NegativeZero negativeZero = format::NegativeZero::Keep;
  bool stochastic = false;

  /// The quantiser that `attr` names, for values of `format`.
  static BlockQuantizer get(QuantizerAttr attr, BlockFormat format);

  /// Elements under one scale.
  int64_t getBlockSize() const { return format::blockSize(format); }
};

/// What varies where the code runs.
struct QuantizeInputs {
  /// S or G, f32 scalar; null means 1.
  mlir::Value globalScale;
  /// i64 scalars, for stochastic rounding: the seed and the index of the first
  /// element of the block.
  mlir::Value seed, elementIndex;
};

/// A quantised block: codes are vector<block x i8>, one code in the low bits of
/// each; the scale is an i8.
struct QuantizedBlock {
  mlir::Value codes, scale;
};

/// A block under its scale, of which codes are still to be made: a vector<block
/// x f32>, and the scale as an i8.
struct ScaledBlock {
  mlir::Value scaled, scale;
};

/// max|x| of a vector<n x f32>, as the quantiser wants it (NaN ignored or
/// kept).
mlir::Value emitBlockAmax(mlir::OpBuilder &builder, mlir::Location loc,
                          const BlockQuantizer &quantizer, mlir::Value x);

/// Quantises x, a vector<block x f32> with zeros where the block is not full.
QuantizedBlock emitQuantizeBlock(mlir::OpBuilder &builder, mlir::Location loc,
                                 const BlockQuantizer &quantizer,
                                 const QuantizeInputs &inputs, mlir::Value x);

/// The same but for the codes, for a machine with an instruction that rounds to
/// them. Not for FourOverSix, which needs them to choose the scale.
ScaledBlock emitScaleBlock(mlir::OpBuilder &builder, mlir::Location loc,
                           const BlockQuantizer &quantizer,
                           const QuantizeInputs &inputs, mlir::Value x);

/// emitQuantizeBlock with a given max|x|, for scales shared beyond the block.
/// Not for FourOverSix.
QuantizedBlock emitQuantizeBlockWithAmax(mlir::OpBuilder &builder,
                                         mlir::Location loc,
                                         const BlockQuantizer &quantizer,
                                         const QuantizeInputs &inputs,
                                         mlir::Value amax, mlir::Value x);

/// Codes (i8) times the scale of that byte, without rounding: f32 under UE4M3
/// scales, f64 under powers of two, which may leave the range of f32.
mlir::Value emitDequantizeExactly(MathBuilder &mb, format::BlockFormat format,
                                  mlir::Value codes, mlir::Value scaleByte);

/// The bytes to store for a vector<n x i8> of codes: two to a byte, the even
/// one low, for 4-bit elements; else the codes.
mlir::Value emitPackCodes(mlir::OpBuilder &builder, mlir::Location loc,
                          format::ElementKind kind, mlir::Value codes);

} // namespace nvfp4::gsg::arithmetic

#endif // NVFP4_CONVERSION_GSGARITHMETIC_QUANTIZE_H
