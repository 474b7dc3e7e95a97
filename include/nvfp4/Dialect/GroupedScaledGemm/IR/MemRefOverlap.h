//===- MemRefOverlap.h - Memrefs that share memory --------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the IR says about two memrefs: whether one is a view of the other, or
// both are parts of one buffer. What it leaves open is checked at run time.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_DIALECT_GROUPEDSCALEDGEMM_IR_MEMREFOVERLAP_H
#define NVFP4_DIALECT_GROUPEDSCALEDGEMM_IR_MEMREFOVERLAP_H

#include "mlir/IR/Value.h"

namespace nvfp4::gsg {

/// What is known of the memory of two memrefs.
enum class Overlap { None, Unknown, Certain };

/// Whether memrefs `a` and `b` share memory. Views are followed through
/// ViewLikeOpInterface. Certain: they are one value, one is a view of the
/// other, or both are static parts of one memref that meet. None: one has no
/// elements, they are static parts that do not meet, or one is an allocation
/// and the other another one or an argument of the function.
Overlap getMemRefOverlap(mlir::Value a, mlir::Value b);

} // namespace nvfp4::gsg

#endif // NVFP4_DIALECT_GROUPEDSCALEDGEMM_IR_MEMREFOVERLAP_H
