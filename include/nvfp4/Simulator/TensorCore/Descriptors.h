//===- Descriptors.h - shared-memory and instruction descriptors ----------===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Decodes the 64-bit matrix descriptor and the 32-bit instruction descriptor of
// the tensor cores (PTX 9.7.16.4), checks them, and gives the shared-memory
// address of a matrix element.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_SIMULATOR_TENSORCORE_DESCRIPTORS_H
#define NVFP4_SIMULATOR_TENSORCORE_DESCRIPTORS_H

#include "nvfp4/Simulator/Async/TensorMap.h"
#include "nvfp4/Simulator/Machine/MiniFloat.h"

#include <cstdint>
#include <string>

namespace nvfp4::sim {

/// A matrix in shared memory.
struct SmemDescriptor {
  uint32_t start = 0;
  uint32_t leadingBytes = 0;
  uint32_t strideBytes = 0;
  unsigned baseOffset = 0;
  TensorSwizzle swizzle = TensorSwizzle::None;
  /// Bytes of a swizzled row: 32, 64 or 128; 16 without swizzle.
  unsigned span = 16;

  /// Address of byte `byte` of row `row` along K.
  uint32_t addressKMajor(unsigned row, unsigned byte) const;
  /// Address of element (`row`, `k`) of `bytes` bytes, contiguous along rows.
  uint32_t addressMnMajor(unsigned row, unsigned k, unsigned bytes) const;
};

/// Decodes a tcgen05 descriptor; returns what is wrong, or an empty string.
std::string decodeSmemDescriptor(uint64_t bits, SmemDescriptor &descriptor);

/// Decodes a wgmma descriptor, whose fields differ in the top bits.
std::string decodeWgmmaDescriptor(uint64_t bits, SmemDescriptor &descriptor);

/// The kinds of tcgen05.mma.
enum class MmaKind : uint8_t {
  F16,
  TF32,
  F8F6F4,
  I8,
  MxF8F6F4,
  MxF4,
  MxF4NvF4
};

/// Format of block scales.
enum class ScaleType : uint8_t { UE4M3, UE8M0 };

/// A decoded instruction descriptor.
struct InstructionDescriptor {
  unsigned m = 0;
  unsigned n = 0;
  /// Elements of the K dimension; of a sparse A half of them are stored.
  unsigned k = 0;
  FloatFormat a{};
  FloatFormat b{};
  /// Bits of an element in shared memory's packed form (4, 8, 16 or 32), and
  /// bytes of 16-element groups of sub-byte types padded to 16.
  unsigned aBits = 0;
  unsigned bBits = 0;
  bool aPadded = false;
  bool bPadded = false;
  bool f16Result = false;
  /// kind::i8: signs of the elements, and whether the sum saturates.
  bool signedA = false;
  bool signedB = false;
  bool saturate = false;
  bool negateA = false;
  bool negateB = false;
  bool transposeA = false;
  bool transposeB = false;
  ScaleType scale = ScaleType::UE8M0;
  unsigned scaleIdA = 0;
  unsigned scaleIdB = 0;
  bool sparse = false;
  /// Sparse f16 and tf32: the column of the metadata behind the first one.
  unsigned sparsitySelector = 0;
};

/// Decodes the descriptor for `kind`, dense or sparse, and a CTA group of 1 or
/// 2, and checks all fields and the shape. Returns what is wrong, or an empty
/// string.
std::string decodeInstructionDescriptor(uint32_t bits, MmaKind kind,
                                        bool sparse, unsigned ctaGroup,
                                        InstructionDescriptor &descriptor);

} // namespace nvfp4::sim

#endif // NVFP4_SIMULATOR_TENSORCORE_DESCRIPTORS_H
