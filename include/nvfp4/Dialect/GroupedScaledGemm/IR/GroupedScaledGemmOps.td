//===- GroupedScaledGemmOps.td - All operations ------------*- tablegen -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The one file that is given to mlir-tblgen: all operations of the dialect,
// which are defined by family in the files that this one includes.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_DIALECT_GROUPEDSCALEDGEMM_IR_OPS_TD
#define NVFP4_DIALECT_GROUPEDSCALEDGEMM_IR_OPS_TD

include "nvfp4/Dialect/GroupedScaledGemm/IR/EpilogueOps.td"
include "nvfp4/Dialect/GroupedScaledGemm/IR/ExchangeOps.td"
include "nvfp4/Dialect/GroupedScaledGemm/IR/LaunchOps.td"
include "nvfp4/Dialect/GroupedScaledGemm/IR/MatmulOps.td"
include "nvfp4/Dialect/GroupedScaledGemm/IR/MoeOps.td"
include "nvfp4/Dialect/GroupedScaledGemm/IR/QuantizationOps.td"
include "nvfp4/Dialect/GroupedScaledGemm/IR/StorageOps.td"

#endif // NVFP4_DIALECT_GROUPEDSCALEDGEMM_IR_OPS_TD
