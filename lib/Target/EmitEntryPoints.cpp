//===- EmitEntryPoints.cpp - Uniform entries for the runtime ----*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One function for each entry point that takes an array of pointers, so that
// the runtime calls any signature in the same way and makes no code.
//
//===----------------------------------------------------------------------===//

#include "nvfp4/Target/Passes.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/BuiltinOps.h"

namespace nvfp4::target {
#define GEN_PASS_DEF_EMITENTRYPOINTSPASS
#include "nvfp4/Target/Passes.h.inc"
} // namespace nvfp4::target

using namespace mlir;

static constexpr StringLiteral kInterfacePrefix = "_mlir_ciface_";
static constexpr StringLiteral kEntryPrefix = "nvfp4_entry_";

/// The pointer in `values[index]`.
static Value loadPointer(OpBuilder &builder, Location loc, Value values,
                         int32_t index) {
  Type ptr = LLVM::LLVMPointerType::get(builder.getContext());
  Value slot = LLVM::GEPOp::create(builder, loc, ptr, ptr, values,
                                   ArrayRef<LLVM::GEPArg>{index});
  return LLVM::LoadOp::create(builder, loc, ptr, slot);
}

static void emitEntryPoint(LLVM::LLVMFuncOp interface, bool hasResultArgument,
                           StringRef name, OpBuilder &builder) {
  MLIRContext *context = builder.getContext();
  Location loc = interface.getLoc();
  Type ptr = LLVM::LLVMPointerType::get(context);
  auto type = LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(context),
                                          {ptr}, /*isVarArg=*/false);
  auto entry =
      LLVM::LLVMFuncOp::create(builder, loc, (kEntryPrefix + name).str(), type);
  OpBuilder::InsertionGuard guard(builder);
  Block *body = entry.addEntryBlock(builder);
  builder.setInsertionPointToStart(body);
  Value values = body->getArgument(0);

  ArrayRef<Type> parameters = interface.getArgumentTypes();
  if (hasResultArgument)
    parameters = parameters.drop_front();
  SmallVector<Value> arguments;
  if (hasResultArgument)
    arguments.push_back(loadPointer(builder, loc, values, parameters.size()));
  for (auto [index, parameter] : llvm::enumerate(parameters)) {
    Value pointer = loadPointer(builder, loc, values, index);
    bool isDescriptor = isa<LLVM::LLVMPointerType>(parameter);
    arguments.push_back(
        isDescriptor ? pointer
                     : LLVM::LoadOp::create(builder, loc, parameter, pointer));
  }
  auto call = LLVM::CallOp::create(builder, loc, interface, arguments);
  if (call.getNumResults() == 1) {
    Value storage = loadPointer(builder, loc, values, parameters.size());
    LLVM::StoreOp::create(builder, loc, call.getResult(), storage);
  }
  LLVM::ReturnOp::create(builder, loc, ValueRange());
}

namespace {
struct EmitEntryPoints final
    : nvfp4::target::impl::EmitEntryPointsPassBase<EmitEntryPoints> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    OpBuilder builder = OpBuilder::atBlockEnd(module.getBody());
    for (auto function : module.getOps<LLVM::LLVMFuncOp>())
      if (function.isPrivate() && !function.isExternal())
        function.setLinkage(LLVM::Linkage::Internal);
    for (auto interface : llvm::to_vector(module.getOps<LLVM::LLVMFuncOp>())) {
      StringRef name = interface.getSymName();
      if (interface.isExternal() || !name.consume_front(kInterfacePrefix))
        continue;
      auto function = module.lookupSymbol<LLVM::LLVMFuncOp>(name);
      if (!function) {
        interface.emitOpError("expected a function '")
            << name << "' beside its C interface";
        return signalPassFailure();
      }
      bool hasResultArgument =
          isa<LLVM::LLVMStructType>(function.getFunctionType().getReturnType());
      emitEntryPoint(interface, hasResultArgument, name, builder);
    }
  }
};
} // namespace
