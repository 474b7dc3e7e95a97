//===- CheckModule.h - Calls of the runtime's checks ------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The texts and declarations that checks add to a module, for every conversion
// that lets the runtime check something.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_CONVERSION_GSGTORUNTIMECHECKS_CHECKMODULE_H
#define NVFP4_CONVERSION_GSGTORUNTIMECHECKS_CHECKMODULE_H

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringMap.h"

namespace nvfp4::gsg::checks {

/// The texts of a module and the functions that it declares.
class CheckModule {
public:
  explicit CheckModule(mlir::ModuleOp module) : module(module) {}

  /// A pointer to `text`, which ends in a zero byte.
  mlir::Value text(mlir::OpBuilder &builder, mlir::Location loc,
                   llvm::StringRef text);
  /// The function of the runtime, declared with the types of `arguments`.
  mlir::LLVM::LLVMFuncOp function(llvm::StringRef name,
                                  mlir::ValueRange arguments);

private:
  mlir::ModuleOp module;
  llvm::StringMap<mlir::LLVM::GlobalOp> texts;
  llvm::StringMap<mlir::LLVM::LLVMFuncOp> functions;
};

/// "file:line:column: operation", as far as the place is known.
std::string describePlace(mlir::Operation *op);

} // namespace nvfp4::gsg::checks

#endif // NVFP4_CONVERSION_GSGTORUNTIMECHECKS_CHECKMODULE_H
