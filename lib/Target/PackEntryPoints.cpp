//===- PackEntryPoints.cpp - Entry points take packed bytes -----*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// No caller can hand over a tensor of elements of half a byte; two of them are
// a byte of the argument.
//
//===----------------------------------------------------------------------===//

#include "nvfp4/Target/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/ReshapeOpsUtils.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"

namespace nvfp4::target {
#define GEN_PASS_DEF_PACKENTRYPOINTSPASS
#include "nvfp4/Target/Passes.h.inc"
} // namespace nvfp4::target

using namespace mlir;

/// The type of the packed argument, or null for types that stay.
static RankedTensorType getPackedType(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor || tensor.getRank() == 0 ||
      !isa<Float4E2M1FNType>(tensor.getElementType()))
    return nullptr;
  SmallVector<int64_t> shape(tensor.getShape());
  if (!ShapedType::isDynamic(shape.back()))
    shape.back() /= 2;
  return RankedTensorType::get(shape, IntegerType::get(type.getContext(), 8));
}

/// The values of `bytes` as a tensor of `type`.
static Value unpack(OpBuilder &b, Location loc, Value bytes,
                    RankedTensorType type) {
  int64_t rank = type.getRank();
  SmallVector<OpFoldResult> sizes = tensor::getMixedSizes(b, loc, bytes);
  sizes.push_back(b.getIndexAttr(2));
  Type element = type.getElementType();
  Value empty = tensor::EmptyOp::create(b, loc, sizes, element);
  AffineMap halves = b.getMultiDimIdentityMap(rank + 1);
  SmallVector<AffineMap> maps = {halves.dropResult(rank), halves};
  SmallVector<utils::IteratorType> loops(rank + 1,
                                         utils::IteratorType::parallel);
  auto unpacked = linalg::GenericOp::create(
      b, loc, empty.getType(), bytes, empty, maps, loops,
      [&](OpBuilder &nested, Location, ValueRange arguments) {
        Type byte = nested.getI8Type();
        Value half = linalg::IndexOp::create(nested, loc, rank);
        half = arith::IndexCastOp::create(nested, loc, byte, half);
        Value four =
            arith::ConstantOp::create(nested, loc, nested.getI8IntegerAttr(4));
        Value shift = arith::MulIOp::create(nested, loc, half, four);
        Value code = arith::ShRUIOp::create(nested, loc, arguments[0], shift);
        code = arith::TruncIOp::create(nested, loc, nested.getIntegerType(4),
                                       code);
        code = arith::BitcastOp::create(nested, loc, element, code);
        linalg::YieldOp::create(nested, loc, code);
      });
  SmallVector<ReassociationIndices> groups(rank);
  for (int64_t i = 0; i <= rank; ++i)
    groups[std::min(i, rank - 1)].push_back(i);
  return tensor::CollapseShapeOp::create(b, loc, type, unpacked.getResult(0),
                                         groups);
}

static LogicalResult pack(func::FuncOp function, ModuleOp module) {
  SmallVector<Type> types(function.getArgumentTypes());
  auto b = OpBuilder::atBlockBegin(&function.front());
  for (auto [index, argument] : llvm::enumerate(function.getArguments())) {
    RankedTensorType packed = getPackedType(argument.getType());
    if (!packed)
      continue;
    auto type = cast<RankedTensorType>(argument.getType());
    if (!type.isDynamicDim(type.getRank() - 1) && type.getShape().back() % 2)
      return function.emitOpError("expected an even last extent of argument ")
             << index << ", two values of which are a byte, but got " << type;
    if (!SymbolTable::symbolKnownUseEmpty(function, module))
      return function.emitOpError("expected an entry point to pack argument ")
             << index << " of, which no function of the module calls";
    types[index] = packed;
    argument.setType(packed);
    Value values = unpack(b, argument.getLoc(), argument, type);
    argument.replaceUsesWithIf(values, [&](OpOperand &use) {
      // Those of the unpacking itself come before its result.
      return values.getDefiningOp()->isBeforeInBlock(
          function.front().findAncestorOpInBlock(*use.getOwner()));
    });
  }
  function.setType(FunctionType::get(function.getContext(), types,
                                     function.getResultTypes()));
  return success();
}

namespace {
struct PackEntryPoints final
    : nvfp4::target::impl::PackEntryPointsPassBase<PackEntryPoints> {
  void runOnOperation() override {
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (function.isPublic() && !function.isExternal() &&
          failed(pack(function, getOperation())))
        return signalPassFailure();
  }
};
} // namespace
