//===- KernelMath.h - Numbers of 32 bits in a kernel ------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Short spellings for the arithmetic on extents and places, which kernels do in
// i32; addresses of elements have 64 bits.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_LIB_CONVERSION_GSGTOWARPSPEC_COMMON_KERNELMATH_H
#define NVFP4_LIB_CONVERSION_GSGTOWARPSPEC_COMMON_KERNELMATH_H

#include "mlir/IR/Builders.h"

namespace nvfp4::gsg::kernels {

/// Builds at the insertion point of `b`. Divisions are of numbers that are not
/// negative.
class KernelMath {
public:
  using Value = mlir::Value;

  KernelMath(mlir::OpBuilder &builder, mlir::Location loc)
      : b(builder), loc(loc) {}

  Value i32(int64_t value) const;
  Value add(Value a, Value b) const;
  Value sub(Value a, Value b) const;
  Value mul(Value a, Value b) const;
  Value mul(Value a, int64_t b) const { return mul(a, i32(b)); }
  Value div(Value a, int64_t b) const;
  Value ceilDiv(Value a, int64_t b) const;
  /// `b` is not 0.
  Value ceilDiv(Value a, Value b) const;
  Value atLeastOne(Value a) const;
  Value atMost(Value a, int64_t most) const;
  /// `a` if `number` is at most `most`, else `other`.
  Value choose(Value number, int64_t most, Value a, Value other) const;
  Value clamp(Value a, Value low, Value high) const;
  Value less(Value a, Value b) const;
  Value toIndex(Value i32Value) const;
  Value index(int64_t value) const;
  /// row * stride + column, in 64 bits.
  Value flatten(Value row, Value stride, Value column) const;
  Value broadcast(Value scalar, Value like) const;

  mlir::OpBuilder &b;
  const mlir::Location loc;
};

} // namespace nvfp4::gsg::kernels

#endif // NVFP4_LIB_CONVERSION_GSGTOWARPSPEC_COMMON_KERNELMATH_H
