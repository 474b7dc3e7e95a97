//===- DestinationStyle.h - Destination style of the dialect's ops --------===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The interface is an external model, attached to every operation that writes
// when the dialect is loaded.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_LIB_DIALECT_GROUPEDSCALEDGEMM_IR_DESTINATIONSTYLE_H
#define NVFP4_LIB_DIALECT_GROUPEDSCALEDGEMM_IR_DESTINATIONSTYLE_H

namespace mlir {
class MLIRContext;
} // namespace mlir

namespace nvfp4::gsg {

/// Attaches DestinationStyleOpInterface to every op that writes `outs`.
void attachDestinationStyle(mlir::MLIRContext *context);

} // namespace nvfp4::gsg

#endif // NVFP4_LIB_DIALECT_GROUPEDSCALEDGEMM_IR_DESTINATIONSTYLE_H
