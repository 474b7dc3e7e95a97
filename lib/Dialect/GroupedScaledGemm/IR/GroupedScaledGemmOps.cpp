//===- GroupedScaledGemmOps.cpp - Generated operation classes ---*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The generated definitions. Verifiers, folds and interfaces live in the file
// of their family: MatmulOps, QuantizationOps, MoeOps, StorageOps.
//
//===----------------------------------------------------------------------===//

#include "AssemblyFormat.h"
#include "nvfp4/Dialect/GroupedScaledGemm/IR/GroupedScaledGemm.h"

#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace nvfp4::gsg;

#define GET_OP_CLASSES
#include "nvfp4/Dialect/GroupedScaledGemm/IR/GroupedScaledGemmOps.cpp.inc"
