//===- WarpSpecOps.cpp - Generated definitions of the operations ----------===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The generated definitions of all operations. What is written by hand for them
// is in the files of their families.
//
//===----------------------------------------------------------------------===//

#include "nvfp4/Dialect/WarpSpec/IR/WarpSpec.h"

#include "AssemblyFormat.h"

using namespace mlir;
using namespace nvfp4::warpspec;

#define GET_OP_CLASSES
#include "nvfp4/Dialect/WarpSpec/IR/WarpSpecOps.cpp.inc"
