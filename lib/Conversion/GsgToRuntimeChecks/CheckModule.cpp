//===- CheckModule.cpp - Calls of the runtime's checks ----------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A text is one constant of the module, a function is declared at its first
// use.
//
//===----------------------------------------------------------------------===//

#include "nvfp4/Conversion/GsgToRuntimeChecks/CheckModule.h"

#include "nvfp4/Dialect/GroupedScaledGemm/IR/GroupedScaledGemm.h"

using namespace mlir;
using namespace nvfp4::gsg;
using namespace nvfp4::gsg::checks;

Value CheckModule::text(OpBuilder &builder, Location loc, StringRef text) {
  LLVM::GlobalOp &global = texts[text];
  if (!global) {
    OpBuilder globals = OpBuilder::atBlockBegin(module.getBody());
    std::string name;
    for (size_t number = texts.size() - 1; name.empty(); ++number) {
      name = "nvfp4_check_text_" + std::to_string(number);
      if (module.lookupSymbol(name))
        name.clear();
    }
    std::string bytes = text.str();
    bytes.push_back('\0');
    auto type = LLVM::LLVMArrayType::get(globals.getI8Type(), bytes.size());
    global =
        LLVM::GlobalOp::create(globals, module.getLoc(), type,
                               /*isConstant=*/true, LLVM::Linkage::Internal,
                               name, globals.getStringAttr(bytes));
  }
  return LLVM::AddressOfOp::create(builder, loc, global);
}

LLVM::LLVMFuncOp CheckModule::function(StringRef name, ValueRange arguments) {
  LLVM::LLVMFuncOp &function = functions[name];
  if (!function)
    function = module.lookupSymbol<LLVM::LLVMFuncOp>(name);
  if (!function) {
    OpBuilder builder = OpBuilder::atBlockEnd(module.getBody());
    auto type = LLVM::LLVMFunctionType::get(
        builder.getI32Type(), llvm::to_vector(arguments.getTypes()));
    function = LLVM::LLVMFuncOp::create(builder, module.getLoc(), name, type);
  }
  return function;
}

std::string checks::describePlace(Operation *op) {
  std::string name = op->getName().getStringRef().str();
  // Launches and staging have the name of the operation they were made for.
  auto named = op->getLoc()->findInstanceOf<NameLoc>();
  if (named && !isa_and_nonnull<GroupedScaledGemmDialect>(op->getDialect()))
    name = named.getName().str();
  auto place = op->getLoc()->findInstanceOf<FileLineColLoc>();
  if (!place)
    return name;
  return place.getFilename().str() + ":" + std::to_string(place.getLine()) +
         ":" + std::to_string(place.getColumn()) + ": " + name;
}
