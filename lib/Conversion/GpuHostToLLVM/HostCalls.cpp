//===- HostCalls.cpp - Calls of the runtime by patterns ---------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// See HostCalls.h.
//
//===----------------------------------------------------------------------===//

#include "HostCalls.h"
#include "nvfp4/Target/KernelEntry.h"

#include "mlir/Dialect/LLVMIR/FunctionCallUtils.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

using namespace mlir;
using namespace nvfp4;

Value HostCalls::i32(int64_t value) {
  return LLVM::ConstantOp::create(b, loc, b.getI32Type(),
                                  b.getI32IntegerAttr(value));
}

Value HostCalls::i64(int64_t value) {
  return LLVM::ConstantOp::create(b, loc, b.getI64Type(),
                                  b.getI64IntegerAttr(value));
}

Value HostCalls::i64(OpFoldResult size, Value dynamic) {
  if (auto known = dyn_cast<Attribute>(size))
    return i64(cast<IntegerAttr>(known).getInt());
  return dynamic;
}

Value HostCalls::where() {
  return texts.text(b, loc, gsg::checks::describePlace(op));
}

Value HostCalls::call(StringRef name, Type result, ValueRange arguments) {
  Operation *module = op->getParentOfType<ModuleOp>();
  Type returned = result ? result : LLVM::LLVMVoidType::get(b.getContext());
  auto function = LLVM::lookupOrCreateFn(
      b, module, name, llvm::to_vector(arguments.getTypes()), returned);
  auto made = LLVM::CallOp::create(b, loc, *function, arguments);
  return result ? made.getResult() : Value();
}

Value HostCalls::room(int64_t bytes, int64_t alignment) {
  OpBuilder::InsertionGuard guard(b);
  // Each thread of a parallel loop has room of its own.
  Operation *scope = op->getParentOp();
  while (!isa<FunctionOpInterface, scf::ParallelOp, scf::ForallOp>(scope))
    scope = scope->getParentOp();
  b.setInsertionPointToStart(&scope->getRegion(0).front());
  return LLVM::AllocaOp::create(b, loc, pointer(), b.getI8Type(), i64(bytes),
                                static_cast<unsigned>(alignment));
}

void HostCalls::store(Value value, Value base, int64_t offset) {
  Value at =
      LLVM::GEPOp::create(b, loc, pointer(), b.getI8Type(), base,
                          ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(offset)});
  LLVM::StoreOp::create(b, loc, value, at);
}

Value HostCalls::array(ValueRange values, int64_t bytes) {
  auto count = static_cast<int64_t>(values.size());
  Value base = room(std::max<int64_t>(count, 1) * bytes, bytes);
  for (auto [number, value] : llvm::enumerate(values))
    store(value, base, static_cast<int64_t>(number) * bytes);
  return base;
}

Value HostCalls::address(Type memref, Value descriptor,
                         const LLVMTypeConverter &converter) {
  return MemRefDescriptor(descriptor)
      .bufferPtr(b, loc, converter, cast<MemRefType>(memref));
}

Value HostCalls::parameter(Type type, Value converted,
                           const LLVMTypeConverter &converter) {
  if (isa<MemRefType>(type))
    return address(type, converted, converter);
  if (type.isIndex())
    return call("nvfp4_kernel_extent", b.getI32Type(), {where(), converted});
  return converted;
}

Value HostCalls::entry(SymbolRefAttr kernel) {
  auto module = op->getParentOfType<ModuleOp>();
  std::string name = target::getKernelEntryName(kernel.getRootReference(),
                                                kernel.getLeafReference());
  auto global = module.lookupSymbol<LLVM::GlobalOp>(name);
  if (!global) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(module.getBody());
    // Defined where the kernels become constants.
    global = LLVM::GlobalOp::create(b, loc, b.getI8Type(), /*isConstant=*/true,
                                    LLVM::Linkage::External, name, Attribute());
  }
  return LLVM::AddressOfOp::create(b, loc, global);
}
