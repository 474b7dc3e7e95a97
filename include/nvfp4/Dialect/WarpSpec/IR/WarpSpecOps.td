//===- WarpSpecOps.td - All operations ---------------------*- tablegen -*-===//
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

#ifndef NVFP4_DIALECT_WARPSPEC_IR_OPS_TD
#define NVFP4_DIALECT_WARPSPEC_IR_OPS_TD

include "nvfp4/Dialect/WarpSpec/IR/BufferOps.td"
include "nvfp4/Dialect/WarpSpec/IR/HostOps.td"
include "nvfp4/Dialect/WarpSpec/IR/LoweredOps.td"
include "nvfp4/Dialect/WarpSpec/IR/MathOps.td"
include "nvfp4/Dialect/WarpSpec/IR/MemoryOps.td"
include "nvfp4/Dialect/WarpSpec/IR/PipelineOps.td"
include "nvfp4/Dialect/WarpSpec/IR/RoleOps.td"
include "nvfp4/Dialect/WarpSpec/IR/StagingOps.td"
include "nvfp4/Dialect/WarpSpec/IR/TileLoopOps.td"
include "nvfp4/Dialect/WarpSpec/IR/TmaOps.td"

#endif // NVFP4_DIALECT_WARPSPEC_IR_OPS_TD
