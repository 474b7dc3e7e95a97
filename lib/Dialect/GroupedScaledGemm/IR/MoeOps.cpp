//===- MoeOps.cpp - GLU, routing, permutation, combination ---*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "nvfp4/Dialect/GroupedScaledGemm/IR/GroupedScaledGemm.h"

using namespace mlir;
using namespace nvfp4::gsg;

LogicalResult GluOp::verify() { return success(); }
LogicalResult RouteOp::verify() { return success(); }
LogicalResult SortTokensOp::verify() { return success(); }
LogicalResult PermuteOp::verify() { return success(); }
LogicalResult CombineOp::verify() { return success(); }
