//===- IsaEmitter.h - what differs between instruction sets -----*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The whole of what an instruction set contributes to a kernel: function
// attributes, the decoding of E2M1 weights to unsigned bytes or pairs of bf16,
// their dot products, and optionally a faster decoding of scales. Everything
// else is shared. One file per Isa, or for two that share most.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_LIB_CONVERSION_GSGTOCPU_KERNEL_ISAEMITTER_H
#define NVFP4_LIB_CONVERSION_GSGTOCPU_KERNEL_ISAEMITTER_H

#include "nvfp4/Conversion/GsgArithmetic/KernelBuilder.h"
#include "nvfp4/Conversion/GsgToCpu/Kernel/KernelSpec.h"

#include <memory>
#include <utility>

namespace nvfp4::gsg::cpu {

using arithmetic::KernelBuilder;

/// 2 * e2m1 + 12 for the 16 codes: weights as unsigned bytes in 0..24.
inline constexpr int8_t kBiasedE2M1[16] = {12, 13, 14, 15, 16, 18, 20, 24,
                                           12, 11, 10, 9,  8,  6,  4,  0};

class IsaEmitter {
public:
  virtual ~IsaEmitter() = default;

  static std::unique_ptr<IsaEmitter> create(Isa isa);

  /// LLVM target features of every function.
  virtual llvm::StringRef targetFeatures() const = 0;
  /// Whether f32 fma is one instruction.
  virtual bool hasFma() const = 0;

  /// From one packed dword per lane, the biased values of the low and of the
  /// high nibble of every byte, as i8 vectors. Integer route only.
  virtual std::pair<mlir::Value, mlir::Value>
  decodeNibbles(KernelBuilder &kb, mlir::Value dwords) const;

  /// bias + the sum over i of the 4-byte dot products, per 32-bit lane, of
  /// weights[i] (unsigned, 0..24) with activations[i] (signed, -12..12).
  /// Exact. Integer route only.
  virtual mlir::Value blockDot(KernelBuilder &kb, mlir::Value bias,
                               llvm::ArrayRef<mlir::Value> weights,
                               llvm::ArrayRef<mlir::Value> activations) const;

  /// From one packed dword per lane, its elements as four vectors of pairs of
  /// bf16 per 32-bit lane, the earlier one in the lower half. Pairs only.
  virtual llvm::SmallVector<mlir::Value> decodePairs(KernelBuilder &kb,
                                                     mlir::Value dwords) const;

  /// sum + the dot products of two vectors of pairs of bf16, as KernelSpec.h
  /// defines them for numbers that are not too small. Pairs only.
  virtual mlir::Value pairDot(KernelBuilder &kb, mlir::Value sum,
                              mlir::Value weights,
                              mlir::Value activations) const;

  /// Element `index` of one dword of E2M1 codes per lane, as f32 lanes; empty
  /// if the instruction set has nothing better than the portable way.
  virtual mlir::Value decodeE2M1(KernelBuilder &, mlir::Value,
                                 int64_t /*index*/) const {
    return {};
  }

  /// From one word of four scales per lane, the four scales as f32 lanes; empty
  /// if the instruction set has nothing better than the portable way.
  virtual llvm::SmallVector<mlir::Value>
  decodeScaleWords(KernelBuilder &, format::ScaleKind, mlir::Value) const {
    return {};
  }
};

/// From one packed dword of codes per lane, the entries of `table`, words of
/// which it has 32 and the codes choose by four bits, for codes 0 and 1 of each
/// dword, then 2 and 3, 4 and 5, 6 and 7. AVX-512 VBMI.
llvm::SmallVector<mlir::Value> lookUpWords(KernelBuilder &kb,
                                           mlir::Value dwords,
                                           llvm::ArrayRef<int8_t> table);

/// The numbers of E2M1 codes, which are the lower four bits of 16 lanes of i32.
/// AVX-512.
mlir::Value lookUpE2M1(KernelBuilder &kb, mlir::Value codes);

std::unique_ptr<IsaEmitter> createGenericEmitter();
std::unique_ptr<IsaEmitter> createAVX2Emitter();
std::unique_ptr<IsaEmitter> createAVX512VNNIEmitter();
std::unique_ptr<IsaEmitter> createAVX512BF16Emitter();
std::unique_ptr<IsaEmitter> createAMXEmitter();

} // namespace nvfp4::gsg::cpu

#endif // NVFP4_LIB_CONVERSION_GSGTOCPU_KERNEL_ISAEMITTER_H
