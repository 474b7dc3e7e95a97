//===- GuardAllocations.cpp - nvfp4-guard-allocations -----------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The lowering of memref.alloc multiplies extents without a look at overflow,
// so that is done here, where they are still known.
//
//===----------------------------------------------------------------------===//

#include "nvfp4/Transforms/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Interfaces/DataLayoutInterfaces.h"
#include "llvm/Support/MathExtras.h"

namespace nvfp4 {
#define GEN_PASS_DEF_GUARDALLOCATIONSPASS
#include "nvfp4/Transforms/Passes.h.inc"
} // namespace nvfp4

using namespace mlir;

/// The bytes that the element type and the known extents make, or the largest
/// number.
static int64_t countKnownBytes(MemRefType type, const DataLayout &layout) {
  auto bytes = static_cast<int64_t>(
      layout.getTypeSize(type.getElementType()).getFixedValue());
  for (int64_t extent : type.getShape())
    if (!ShapedType::isDynamic(extent) &&
        llvm::MulOverflow(bytes, extent, bytes))
      return std::numeric_limits<int64_t>::max();
  return bytes;
}

namespace {
struct GuardAllocations
    : nvfp4::impl::GuardAllocationsPassBase<GuardAllocations> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    SmallVector<memref::AllocOp> allocations;
    module.walk([&](memref::AllocOp op) { allocations.push_back(op); });
    if (allocations.empty())
      return;
    auto i64 = IntegerType::get(&getContext(), 64);
    auto pointer = LLVM::LLVMPointerType::get(&getContext());
    auto allocate = declare("_mlir_memref_to_llvm_alloc", pointer, {i64});
    allocate.setResultAttr(0, LLVM::LLVMDialect::getNoAliasAttrName(),
                           UnitAttr::get(&getContext()));
    auto count = declare("nvfp4_memory_bytes", i64, {i64, i64});
    DataLayout layout(module);
    for (memref::AllocOp op : allocations)
      guard(op, layout, count);
  }

private:
  LLVM::LLVMFuncOp declare(StringRef name, Type result,
                           ArrayRef<Type> arguments) {
    if (auto known = getOperation().lookupSymbol<LLVM::LLVMFuncOp>(name))
      return known;
    auto builder = OpBuilder::atBlockBegin(getOperation().getBody());
    return LLVM::LLVMFuncOp::create(
        builder, getOperation().getLoc(), name,
        LLVM::LLVMFunctionType::get(result, arguments));
  }

  void guard(memref::AllocOp op, const DataLayout &layout,
             LLVM::LLVMFuncOp count) {
    OpBuilder builder(op);
    Location loc = op.getLoc();
    Type i64 = builder.getI64Type();
    auto constant = [&](int64_t value) -> Value {
      return LLVM::ConstantOp::create(builder, loc, i64, value);
    };
    int64_t known = countKnownBytes(op.getType(), layout);
    SmallVector<Value> extents;
    for (Value size : op.getDynamicSizes())
      extents.push_back(arith::IndexCastOp::create(builder, loc, i64, size));
    if (known == std::numeric_limits<int64_t>::max())
      extents.push_back(constant(1));
    if (extents.empty())
      return;
    Value bytes = constant(known);
    for (Value extent : extents)
      bytes =
          LLVM::CallOp::create(builder, loc, count, ValueRange{bytes, extent})
              .getResult();
  }
};
} // namespace
