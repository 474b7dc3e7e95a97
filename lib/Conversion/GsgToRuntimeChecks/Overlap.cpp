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
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/SmallPtrSet.h"

using namespace mlir;
using namespace nvfp4::gsg;
using namespace nvfp4::gsg::checks;

/// So many pairs are compared by a call each.
static constexpr size_t kCallsOfPairs = 8;

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

/// A call for each pair of operands that the IR leaves open would make code of
/// `outs` times `operands` calls: the runtime looks at the pairs of a table.
void CheckBuilder::disjoint(ArrayRef<OpOperand *> operands, int64_t outputs) {
  constexpr int64_t words = 5;
  Type i64Type = builder.getI64Type();
  auto pointer = LLVM::LLVMPointerType::get(builder.getContext());
  auto rows = static_cast<int64_t>(operands.size());
  Value table;
  {
    OpBuilder::InsertionGuard guard(builder);
    Operation *parent = builder.getInsertionBlock()->getParentOp();
    auto function = dyn_cast<FunctionOpInterface>(parent);
    if (!function)
      function = parent->getParentOfType<FunctionOpInterface>();
    builder.setInsertionPointToStart(&function.getFunctionBody().front());
    Value count = LLVM::ConstantOp::create(builder, loc, i64Type, rows * words);
    table = LLVM::AllocaOp::create(builder, loc, pointer, i64Type, count);
  }
  int32_t at = 0;
  auto add = [&](Value word) {
    Value place = LLVM::GEPOp::create(builder, loc, pointer, i64Type, table,
                                      ArrayRef<LLVM::GEPArg>{at++});
    LLVM::StoreOp::create(builder, loc, word, place);
  };
  for (OpOperand *operand : operands) {
    add(i64(constant(operand->getOperandNumber())));
    for (Value word : rowsOfBytes(operand->get()))
      add(word);
  }
  check("nvfp4_check_all_disjoint", "dest_c3", "",
        {table, i64(constant(rows)), i64(constant(outputs))});
}

void CheckBuilder::destinations(Operation *op) {
  auto destination = dyn_cast<DestinationStyleOpInterface>(op);
  if (!destination)
    return;
  // Outputs are the last operands; two of them are compared once.
  SmallVector<std::pair<OpOperand *, OpOperand *>> open;
  llvm::SmallPtrSet<OpOperand *, 8> inPairs;
  bool isExact = true;
  for (OpOperand &init : destination.getDpsInitsMutable())
    for (OpOperand &other :
         op->getOpOperands().take_front(init.getOperandNumber())) {
      auto type = dyn_cast<MemRefType>(other.get().getType());
      if (!type)
        continue;
      if (getMemRefOverlap(other.get(), init.get()) == Overlap::Unknown) {
        open.emplace_back(&init, &other);
        inPairs.insert({&init, &other});
      }
      // Of parts of one matrix the runtime may know less than the IR.
      isExact &=
          type.getLayout().isIdentity() &&
          cast<MemRefType>(init.get().getType()).getLayout().isIdentity();
    }
  if (open.size() <= kCallsOfPairs || !isExact) {
    for (auto [init, other] : open) {
      auto nameOf = [](OpOperand *operand) {
        return "operand #" + std::to_string(operand->getOperandNumber());
      };
      SmallVector<Value> arguments{module.text(builder, loc, nameOf(other))};
      arguments.append(rowsOfBytes(init->get()));
      arguments.append(rowsOfBytes(other->get()));
      check("nvfp4_check_disjoint", "dest_c3", nameOf(init), arguments);
    }
    return;
  }
  SmallVector<OpOperand *> operands;
  int64_t outputs = 0;
  for (OpOperand &operand : op->getOpOperands())
    if (inPairs.contains(&operand)) {
      operands.push_back(&operand);
      outputs += destination.isDpsInit(&operand);
    }
  disjoint(operands, outputs);
}
