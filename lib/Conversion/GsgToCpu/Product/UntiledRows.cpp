//===- UntiledRows.cpp - tiles that AMX cannot compute ----------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// With E8M0 scales far from 1 tiled kernels give NaN, see KernelSpec.h. Other
// kernels then compute the tile, slowly: its rows are prepared again for each
// panel of columns, in memory of this task's own.
//
//===----------------------------------------------------------------------===//

#include "ProductEmitter.h"

#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace nvfp4::gsg;
using namespace nvfp4::gsg::cpu;

Value ProductEmitter::findNaN(Value tile, Value rows) {
  auto bits = VectorType::get(16, mb.i32);
  Value end = mb.mul(rows, 4 * kPanelColumns);
  Value largest =
      mb.forLoop(mb.i64Constant(0), end, 64, ValueRange{mb.constant(bits, 0)},
                 [&](Value at, ValueRange carried) {
                   Value magnitude = mb.bitAnd(
                       mb.load(bits, mb.ptrAdd(tile, at)), 0x7FFFFFFF);
                   return SmallVector<Value>{arith::MaxUIOp::create(
                       builder, product.loc, carried[0], magnitude)};
                 })[0];
  Value one = vector::ReductionOp::create(
      builder, product.loc, vector::CombiningKind::MAXUI, largest);
  return mb.cmp(arith::CmpIPredicate::ugt, one, 0x7F800000);
}

LLVM::LLVMFuncOp ProductEmitter::emitUntiledRows() {
  auto declare = [&](StringRef name, Type result, Type argument) {
    if (auto found = module.lookupSymbol<LLVM::LLVMFuncOp>(name))
      return found;
    builder.setInsertionPointToEnd(module.getBody());
    return LLVM::LLVMFuncOp::create(
        builder, product.loc, name,
        LLVM::LLVMFunctionType::get(result, {argument}));
  };
  Func allocate = declare("nvfp4_memory_of_thread", mb.ptr, mb.i64);
  Func release =
      declare("free", LLVM::LLVMVoidType::get(module.getContext()), mb.ptr);
  auto func =
      beginFunction("_untiled", {mb.ptr, mb.i64, mb.i64, mb.i64, mb.ptr, mb.ptr,
                                 mb.ptr, mb.ptr, mb.ptr, mb.ptr});
  Value entry = func.getArgument(1), row0 = func.getArgument(2),
        rows = func.getArgument(3), tile = func.getArgument(10);
  Value offsets = buffer(2 * 8 * kPrepareRows);
  mb.ifThen(findNaN(tile, rows), [&] {
    Value depth = field(entry, problem::Depth);
    Value padded = buildPaddedRows(builder, product.loc, plan, rows);
    Value bytes =
        buildPreparedOffset(builder, product.loc, plan, padded, depth);
    Value memory =
        LLVM::CallOp::create(builder, product.loc, allocate, ValueRange{bytes})
            .getResult();
    Value address =
        LLVM::PtrToIntOp::create(builder, product.loc, mb.i64, memory);
    // Without memory the call fails, and what the tile holds is not looked at.
    mb.ifThen(
        mb.cmp(arith::CmpIPredicate::ne, address, mb.i64Constant(0)), [&] {
          mb.forLoop(mb.i64Constant(0), rows, kPrepareRows, [&](Value row) {
            Value at =
                buildPreparedOffset(builder, product.loc, plan, row, depth);
            prepareRows(addressOf(kernels.prepareRows), entry,
                        mb.add(row0, row),
                        mb.minS(mb.sub(rows, row), kPrepareRows), offsets,
                        mb.ptrAdd(memory, at));
          });
          multiply(addressOf(kernels.gemmTile), entry, memory,
                   func.getArguments().drop_front(2));
          mb.call(release, {memory});
        });
  });
  endFunction();
  return func;
}
