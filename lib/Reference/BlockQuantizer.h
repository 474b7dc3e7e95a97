//===- BlockQuantizer.h - Quantisation of uncertain values ------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Runs one block through a named quantiser of Format and finds how far the
// dequantised values may be off when the inputs are: codes and scales are
// evaluated at both ends of every input's interval.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_LIB_REFERENCE_BLOCKQUANTIZER_H
#define NVFP4_LIB_REFERENCE_BLOCKQUANTIZER_H

#include "nvfp4/Format/Quantizer.h"
#include "nvfp4/Reference/Value.h"

#include <optional>

namespace nvfp4::reference {

/// max|x| of what shares a scale, and the interval that it lies in.
struct AmaxInterval {
  float low = 0.0f;
  float value = 0.0f;
  float high = 0.0f;
  /// Something was left out by sampling.
  bool leftOut = false;

  /// Adds one more value.
  void include(Real x, bool ignoreNaN);
};

/// The 16-point Hadamard transform in place, each addition rounded to f32.
void transformHadamard(llvm::MutableArrayRef<Real> run, bool normalized,
                       uint32_t signMask);

/// A quantiser with its parameters checked.
class BlockQuantizer {
public:
  static llvm::Expected<BlockQuantizer>
  create(gsg::QuantizerAttr attr, gsg::BlockFormat format, uint64_t seed);

  /// Sets the second-level scale of the blocks to come; fails when it is not
  /// one that the quantiser takes.
  llvm::Error setGlobalScale(Real scale);

  bool ignoresNaN() const { return format::traits(kind).amaxIgnoresNaN; }
  bool isTwoD() const { return twoD; }

  /// Quantises a block, returns the scale byte, and writes one code and one
  /// bound of the value `code * scale` for each input. `shared` replaces the
  /// block's own maximum.
  uint8_t quantize(llvm::ArrayRef<Real> x, llvm::MutableArrayRef<uint8_t> codes,
                   llvm::MutableArrayRef<double> bounds, uint64_t elementIndex,
                   const AmaxInterval *shared) const;

private:
  double decode(uint8_t code, uint8_t scale) const;
  void widen(llvm::ArrayRef<float> low, llvm::ArrayRef<float> high,
             const AmaxInterval &amax, uint8_t refScale,
             llvm::ArrayRef<uint8_t> codes,
             llvm::MutableArrayRef<double> bounds, uint64_t elementIndex) const;

  format::Quantizer kind = format::Quantizer::Cutlass;
  format::QuantizeParams params;
  double relativeScaleBound = 0.0;
  bool twoD = false;
};

} // namespace nvfp4::reference

#endif // NVFP4_LIB_REFERENCE_BLOCKQUANTIZER_H
