//===- RowTiling.h - TilingInterface of row-wise operations -----*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// External models, as for destination style, attached when the dialect is
// loaded.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_LIB_DIALECT_GROUPEDSCALEDGEMM_IR_ROWTILING_H
#define NVFP4_LIB_DIALECT_GROUPEDSCALEDGEMM_IR_ROWTILING_H

namespace mlir {
class MLIRContext;
} // namespace mlir

namespace nvfp4::gsg {

/// Attaches TilingInterface to glu, hadamard, quantize and dequantize.
void attachRowTiling(mlir::MLIRContext *context);

} // namespace nvfp4::gsg

#endif // NVFP4_LIB_DIALECT_GROUPEDSCALEDGEMM_IR_ROWTILING_H
