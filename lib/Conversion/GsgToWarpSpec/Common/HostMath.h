//===- HostMath.h - Numbers that the host knows -----------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Extents and what follows from them, in constants wherever that is possible.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_LIB_CONVERSION_GSGTOWARPSPEC_COMMON_HOSTMATH_H
#define NVFP4_LIB_CONVERSION_GSGTOWARPSPEC_COMMON_HOSTMATH_H

#include "mlir/IR/Builders.h"

#include <optional>

namespace nvfp4::gsg::kernels {

/// A number that the host knows: while compiling, or while running (i64).
struct HostNumber {
  std::optional<int64_t> known;
  mlir::Value value;
};

/// Arithmetic on them before an operation.
class HostMath {
public:
  HostMath(mlir::OpBuilder &builder, mlir::Location loc)
      : builder(builder), loc(loc) {}

  HostNumber constant(int64_t value) const { return {value, {}}; }
  HostNumber dim(mlir::Value memref, int64_t index);
  HostNumber add(HostNumber a, HostNumber b);
  HostNumber mul(HostNumber a, HostNumber b);
  HostNumber mul(HostNumber a, int64_t b) { return mul(a, constant(b)); }
  HostNumber ceilDiv(HostNumber a, int64_t b);
  HostNumber ceilDiv(HostNumber a, HostNumber b);
  HostNumber atLeastOne(HostNumber a);
  HostNumber atMost(HostNumber a, int64_t most);
  /// `a` if `number` is at most `most`, else `b`.
  HostNumber choose(HostNumber number, int64_t most, HostNumber a,
                    HostNumber b);
  mlir::Value toI64(HostNumber number);
  mlir::Value toIndex(HostNumber number);
  mlir::OpFoldResult toFoldResult(HostNumber number);

private:
  mlir::OpBuilder &builder;
  mlir::Location loc;
};

} // namespace nvfp4::gsg::kernels

#endif // NVFP4_LIB_CONVERSION_GSGTOWARPSPEC_COMMON_HOSTMATH_H
