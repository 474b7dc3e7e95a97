//===- WarpSpecDialect.cpp - Registration -----------------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the dialect registers, and the aliases that keep its text short.
//
//===----------------------------------------------------------------------===//

#include "nvfp4/Dialect/WarpSpec/IR/WarpSpec.h"

#include "mlir/IR/DialectImplementation.h"
#include "mlir/Target/LLVMIR/LLVMTranslationInterface.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace nvfp4::warpspec;

#include "nvfp4/Dialect/WarpSpec/IR/WarpSpecDialect.cpp.inc"
#include "nvfp4/Dialect/WarpSpec/IR/WarpSpecEnums.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "nvfp4/Dialect/WarpSpec/IR/WarpSpecAttrs.cpp.inc"

#define GET_TYPEDEF_CLASSES
#include "nvfp4/Dialect/WarpSpec/IR/WarpSpecTypes.cpp.inc"

#include "nvfp4/Dialect/WarpSpec/IR/WarpSpecInterfaces.cpp.inc"

namespace {
struct WarpSpecAsmInterface : OpAsmDialectInterface {
  using OpAsmDialectInterface::OpAsmDialectInterface;

  AliasResult getAlias(Type type, raw_ostream &os) const final {
    if (!isa<PipelineType>(type))
      return AliasResult::NoAlias;
    os << "pipeline";
    return AliasResult::OverridableAlias;
  }
};

/// Facts of launches are no part of LLVM IR; nothing else should have got
/// there.
struct WarpSpecTranslation : LLVMTranslationDialectInterface {
  using LLVMTranslationDialectInterface::LLVMTranslationDialectInterface;

  LogicalResult convertOperation(Operation *op, llvm::IRBuilderBase &,
                                 LLVM::ModuleTranslation &) const final {
    return success(isa<KernelInfoOp>(op));
  }
};
} // namespace

void WarpSpecDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "nvfp4/Dialect/WarpSpec/IR/WarpSpecAttrs.cpp.inc"
      >();
  addTypes<
#define GET_TYPEDEF_LIST
#include "nvfp4/Dialect/WarpSpec/IR/WarpSpecTypes.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "nvfp4/Dialect/WarpSpec/IR/WarpSpecOps.cpp.inc"
      >();
  addInterfaces<WarpSpecAsmInterface, WarpSpecTranslation>();
}
