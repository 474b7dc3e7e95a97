//===- AddressBuilder.cpp - Addresses of a kernel and pointers to them ----===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "AddressBuilder.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace nvfp4::warpspec;

Value AddressBuilder::constant(int64_t value) {
  return arith::ConstantIntOp::create(b, loc, value, 32);
}
Value AddressBuilder::constant64(uint64_t value) {
  return arith::ConstantOp::create(
      b, loc, b.getI64IntegerAttr(static_cast<int64_t>(value)));
}
Value AddressBuilder::add(Value x, Value y) {
  return arith::AddIOp::create(b, loc, x, y);
}
Value AddressBuilder::add(Value x, int64_t y) {
  return y == 0 ? x : add(x, constant(y));
}
Value AddressBuilder::multiply(Value x, int64_t y) {
  return arith::MulIOp::create(b, loc, x, constant(y));
}
Value AddressBuilder::bitAnd(Value x, int64_t mask) {
  return arith::AndIOp::create(b, loc, x, constant(mask));
}
Value AddressBuilder::shiftRight(Value x, int64_t by) {
  return arith::ShRUIOp::create(b, loc, x, constant(by));
}

Value AddressBuilder::getSharedAddress(int64_t offset) {
  auto type = LLVM::LLVMPointerType::get(b.getContext(),
                                         static_cast<unsigned>(Space::Shared));
  Value start = LLVM::AddressOfOp::create(b, loc, type, kSharedMemory);
  return add(LLVM::PtrToIntOp::create(b, loc, getI32(), start), offset);
}

Value AddressBuilder::getPointer(Space space, Value address) {
  auto type =
      LLVM::LLVMPointerType::get(b.getContext(), static_cast<unsigned>(space));
  return LLVM::IntToPtrOp::create(b, loc, type, address);
}

Value AddressBuilder::getGlobal(Value memref, Value index, int64_t bytes) {
  Value pointer =
      memref::ExtractAlignedPointerAsIndexOp::create(b, loc, memref);
  Value base = arith::IndexCastOp::create(b, loc, getI64(), pointer);
  Value entry = index.getType().isIndex()
                    ? Value(arith::IndexCastOp::create(b, loc, getI64(), index))
                    : arith::ExtSIOp::create(b, loc, getI64(), index);
  Value offset = arith::MulIOp::create(b, loc, entry, constant64(bytes));
  return getPointer(Space::Global, arith::AddIOp::create(b, loc, base, offset));
}
