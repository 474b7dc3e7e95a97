//===- StackWeights.cpp - gsg-stack-weights ---------------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Kernels have the weights of all experts in one matrix.
//
//===----------------------------------------------------------------------===//

#include "nvfp4/Dialect/GroupedScaledGemm/IR/GroupedScaledGemm.h"
#include "nvfp4/Dialect/GroupedScaledGemm/Transforms/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

namespace nvfp4::gsg {
#define GEN_PASS_DEF_STACKWEIGHTSPASS
#include "nvfp4/Dialect/GroupedScaledGemm/Transforms/Passes.h.inc"
} // namespace nvfp4::gsg

using namespace mlir;
using namespace nvfp4::gsg;

/// The elements of a dense memref, in a row.
static Value flatten(OpBuilder &b, Location loc, Value memref) {
  int64_t rank = cast<MemRefType>(memref.getType()).getRank();
  if (rank == 1)
    return memref;
  return memref::CollapseShapeOp::create(
      b, loc, memref,
      ArrayRef<ReassociationIndices>{
          llvm::to_vector(llvm::seq<int64_t>(0, rank))});
}

/// Copies `part` to matrix `number` of `memory`. A dense part is copied as one
/// row, so that its strides need not be static.
static void copyPart(OpBuilder &b, Location loc, Value part, Value memory,
                     int64_t number) {
  auto type = cast<MemRefType>(part.getType());
  bool isRow = type.getLayout().isIdentity();
  SmallVector<OpFoldResult> offsets, sizes, strides;
  SmallVector<int64_t> shape(type.getShape());
  if (isRow) {
    part = flatten(b, loc, part);
    memory = flatten(b, loc, memory);
    shape = llvm::to_vector(cast<MemRefType>(part.getType()).getShape());
    Value size = getValueOrCreateConstantIndexOp(
        b, loc, memref::getMixedSize(b, loc, part, 0));
    Value index = arith::ConstantIndexOp::create(b, loc, number);
    offsets.push_back(
        getAsOpFoldResult(b.createOrFold<arith::MulIOp>(loc, index, size)));
    sizes.push_back(getAsOpFoldResult(size));
  } else {
    offsets.assign(type.getRank() + 1, b.getIndexAttr(0));
    offsets.front() = b.getIndexAttr(number);
    sizes = memref::getMixedSizes(b, loc, part);
    sizes.insert(sizes.begin(), b.getIndexAttr(1));
  }
  strides.assign(offsets.size(), b.getIndexAttr(1));
  auto placed = memref::SubViewOp::inferRankReducedResultType(
      shape, cast<MemRefType>(memory.getType()), offsets, sizes, strides);
  Value place = memref::SubViewOp::create(b, loc, placed, memory, offsets,
                                          sizes, strides);
  memref::CopyOp::create(b, loc, part, place);
}

/// `parts`, which have one shape, in a new memref of `type` one after the
/// other.
static Value stack(OpBuilder &b, MatmulOp op, ValueRange parts,
                   MemRefType type) {
  Location loc = op.getLoc();
  SmallVector<Value> sizes;
  // The extents of a part are the last ones. Factors of packed weights have one
  // dimension before and after: one for each matrix.
  int64_t rank = cast<MemRefType>(parts.front().getType()).getRank();
  for (int64_t d = 0; d < type.getRank(); ++d)
    if (type.isDynamicDim(d))
      sizes.push_back(memref::DimOp::create(b, loc, parts.front(),
                                            d - (type.getRank() - rank)));
  Value memory = memref::AllocOp::create(b, loc, type, sizes);
  for (auto [number, part] : llvm::enumerate(parts))
    copyPart(b, loc, part, memory, static_cast<int64_t>(number));
  OpBuilder after(op->getContext());
  after.setInsertionPointAfter(op);
  memref::DeallocOp::create(after, loc, memory);
  return memory;
}

static MemRefType getMemRef(RankedTensorType type) {
  return MemRefType::get(type.getShape(), type.getElementType());
}

static void stackWeights(MatmulOp op) {
  OpBuilder b(op);
  ScaledType from = op.getRhsType();
  SmallVector<int64_t> shape = {static_cast<int64_t>(op.getRhs().size())};
  llvm::append_range(shape, from.getShape());
  auto to = ScaledType::get(op.getContext(), shape, from.getFormat(),
                            from.getLayout(), from.getGroupStart(),
                            from.getAxis() + 1);
  Value values = stack(b, op, op.getRhs(), getMemRef(to.getDataTensorType()));
  Value scales =
      stack(b, op, op.getRhsScales(), getMemRef(to.getScaleTensorType()));
  op.getRhsMutable().assign(values);
  op.getRhsScalesMutable().assign(scales);
  op.setRhsTypesAttr(b.getArrayAttr(TypeAttr::get(to)));
}

namespace {
struct StackWeights : nvfp4::gsg::impl::StackWeightsPassBase<StackWeights> {
  void runOnOperation() override {
    getOperation()->walk([](MatmulOp op) {
      bool isStored = !op.getRhsScales().empty() &&
                      isa<MemRefType>(op.getLhs()[0].getType());
      if (isStored && op.getRhs().size() > 1)
        stackWeights(op);
    });
  }
};
} // namespace
