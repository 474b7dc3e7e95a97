//===- Descriptors.h - Fields of tcgen05 descriptors ------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Bit layouts of the PTX ISA's instruction and shared-memory descriptors.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_CONVERSION_WARPSPECTONVVM_DESCRIPTORS_H
#define NVFP4_CONVERSION_WARPSPECTONVVM_DESCRIPTORS_H

#include "nvfp4/Dialect/WarpSpec/IR/WarpSpec.h"

namespace nvfp4::warpspec {

/// What the instruction descriptor of a block-scaled multiplication says.
struct ScaledInstruction {
  ScaledKind kind;
  /// Full extents: M is 256 for a pair of blocks.
  int64_t m, n;
  /// Element types; ignored for FP4 kinds, which have one.
  mlir::Type a, b;
  /// UE8M0 scales; implied by `mxf4` and `mxf8f6f4`.
  bool ue8m0;
  /// Which bytes of the scale words are used, 0 to 3.
  int64_t aScaleId, bScaleId;
};

/// The 32-bit instruction descriptor.
uint32_t encodeInstruction(const ScaledInstruction &instruction);

/// The same of a multiplication without scales, 128 by `n`, of `element`: bf16
/// or f16, summed in f32.
uint32_t encodeInstruction(mlir::Type element, int64_t n);

/// The descriptor of a K-major operand with `swizzle` bytes of span, without
/// its address.
uint64_t encodeOperand(unsigned swizzle);

/// The descriptor of atoms of scales, without its address.
uint64_t encodeScaleAtom();

} // namespace nvfp4::warpspec

#endif // NVFP4_CONVERSION_WARPSPECTONVVM_DESCRIPTORS_H
