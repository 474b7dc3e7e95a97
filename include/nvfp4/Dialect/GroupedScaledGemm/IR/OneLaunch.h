//===- OneLaunch.h - Operations that share a launch -------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// one_launch, which few files read.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_DIALECT_GROUPEDSCALEDGEMM_IR_ONELAUNCH_H
#define NVFP4_DIALECT_GROUPEDSCALEDGEMM_IR_ONELAUNCH_H

#include "nvfp4/Dialect/GroupedScaledGemm/IR/GroupedScaledGemm.h"

#include "mlir/IR/RegionKindInterface.h"

#define GET_OP_CLASSES
#include "nvfp4/Dialect/GroupedScaledGemm/IR/LaunchOps.h.inc"

namespace nvfp4::gsg {
/// The reason why the first `quantize`, of rows, and the second one, of the
/// transposed matrix, are no launch together (launch_c6), or an empty text.
std::string explainNoPair(QuantizeOp rows, QuantizeOp columns);
} // namespace nvfp4::gsg

#endif // NVFP4_DIALECT_GROUPEDSCALEDGEMM_IR_ONELAUNCH_H
