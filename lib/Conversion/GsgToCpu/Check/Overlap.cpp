//===- Overlap.cpp - Run-time checks of destinations ------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An output shares no memory with another operand. The verifier knows what the
// IR says; callers may pass one buffer twice. Bufferization writes tensors into
// buffers of their own, for which nothing is emitted.
//
//===----------------------------------------------------------------------===//

#include "CheckBuilder.h"
#include "nvfp4/Dialect/GroupedScaledGemm/IR/MemRefOverlap.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Interfaces/DestinationStyleOpInterface.h"

using namespace mlir;
using namespace nvfp4::gsg;
using namespace nvfp4::gsg::cpu;

/// The memory of a memref as rows of bytes: address, number of rows, bytes a
/// row, bytes from row to row. A layout that is no such matrix is one row from
/// its first byte to its last.
SmallVector<Value> CheckBuilder::rowsOfBytes(Value memref) {
  auto type = cast<MemRefType>(memref.getType());
  int64_t width = type.getElementTypeBitWidth() / 8;
  auto metadata =
      memref::ExtractStridedMetadataOp::create(builder, loc, memref);
  int64_t offset;
  SmallVector<int64_t> strides;
  bool isStrided = succeeded(type.getStridesAndOffset(strides, offset));
  auto stride = [&](int64_t d) -> Extent {
    if (isStrided && !ShapedType::isDynamic(strides[d]))
      return constant(strides[d]);
    return {std::nullopt, i64(metadata.getStrides()[d])};
  };
  Extent rows = constant(1), bytes = constant(width), pitch = constant(0);
  int64_t rank = type.getRank();
  if (type.getLayout().isIdentity()) {
    for (int64_t d = 0; d < rank; ++d)
      bytes = mul(bytes, dim(memref, d));
  } else if (rank == 1 || (rank == 2 && isStrided && strides[1] == 1)) {
    rows = dim(memref, 0);
    pitch = mul(stride(0), width);
    if (rank == 2)
      bytes = mul(bytes, dim(memref, 1));
  } else {
    Extent last = constant(1), count = constant(1);
    for (int64_t d = 0; d < rank; ++d) {
      last = add(last, mul(add(dim(memref, d), -1), stride(d)));
      count = mul(count, dim(memref, d));
    }
    Value isEmpty = arith::CmpIOp::create(
        builder, loc, arith::CmpIPredicate::eq, i64(count), i64(0));
    bytes = {std::nullopt,
             arith::SelectOp::create(builder, loc, isEmpty, i64(0),
                                     i64(mul(last, width)))};
  }
  return {addressOf(memref, metadata), i64(rows), i64(bytes), i64(pitch)};
}

void CheckBuilder::destinations(Operation *op) {
  auto destination = dyn_cast<DestinationStyleOpInterface>(op);
  if (!destination)
    return;
  auto nameOf = [](OpOperand &operand) {
    return "operand #" + std::to_string(operand.getOperandNumber());
  };
  for (OpOperand &init : destination.getDpsInitsMutable())
    for (OpOperand &other : op->getOpOperands()) {
      // Two outputs are compared once.
      if (!isa<MemRefType>(other.get().getType()) ||
          (destination.isDpsInit(&other) &&
           other.getOperandNumber() >= init.getOperandNumber()) ||
          getMemRefOverlap(other.get(), init.get()) != Overlap::Unknown)
        continue;
      SmallVector<Value> arguments{module.text(builder, loc, nameOf(other))};
      arguments.append(rowsOfBytes(init.get()));
      arguments.append(rowsOfBytes(other.get()));
      check("nvfp4_check_disjoint", "dest_c3", nameOf(init), arguments);
    }
}
