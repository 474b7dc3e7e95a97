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

#include "nvfp4/Target/PackedArguments.h"
#include "nvfp4/Target/Passes.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"

namespace nvfp4::target {
#define GEN_PASS_DEF_PACKENTRYPOINTSPASS
#include "nvfp4/Target/Passes.h.inc"
} // namespace nvfp4::target

using namespace mlir;
using namespace nvfp4;

bool nvfp4::target::canPackArgument(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor && tensor.getRank() > 0 && !tensor.getEncoding() &&
         isa<Float4E2M1FNType>(tensor.getElementType());
}

static RankedTensorType getPackedType(RankedTensorType type) {
  SmallVector<int64_t> shape(type.getShape());
  if (!ShapedType::isDynamic(shape.back()))
    shape.back() /= 2;
  return RankedTensorType::get(shape, IntegerType::get(type.getContext(), 8));
}

/// The values of `bytes` as a tensor of `type`.
static Value unpack(OpBuilder &b, Location loc, Value bytes,
                    RankedTensorType type) {
  unsigned last = type.getRank() - 1;
  SmallVector<OpFoldResult> sizes = tensor::getMixedSizes(b, loc, bytes);
  AffineExpr size = b.getAffineDimExpr(0);
  sizes[last] =
      affine::makeComposedFoldedAffineApply(b, loc, size * 2, sizes[last]);
  Type element = type.getElementType();
  Value empty = tensor::EmptyOp::create(b, loc, sizes, element);
  AffineMap value = b.getMultiDimIdentityMap(last + 1);
  SmallVector<AffineExpr> byte(value.getResults());
  byte[last] = byte[last].floorDiv(2);
  SmallVector<AffineMap> maps = {
      AffineMap::get(last + 1, 0, byte, b.getContext()), value};
  SmallVector<utils::IteratorType> loops(last + 1,
                                         utils::IteratorType::parallel);
  return linalg::GenericOp::create(
             b, loc, type, bytes, empty, maps, loops,
             [&](OpBuilder &nested, Location, ValueRange arguments) {
               Value index = linalg::IndexOp::create(nested, loc, last);
               Value two = arith::ConstantIndexOp::create(nested, loc, 2);
               Value half = arith::RemUIOp::create(nested, loc, index, two);
               Value low = arith::IndexCastOp::create(nested, loc,
                                                      nested.getI8Type(), half);
               Value four = arith::ConstantOp::create(
                   nested, loc, nested.getI8IntegerAttr(4));
               Value shift = arith::MulIOp::create(nested, loc, low, four);
               Value code =
                   arith::ShRUIOp::create(nested, loc, arguments[0], shift);
               code = arith::TruncIOp::create(nested, loc,
                                              nested.getIntegerType(4), code);
               code = arith::BitcastOp::create(nested, loc, element, code);
               linalg::YieldOp::create(nested, loc, code);
             })
      .getResult(0);
}

/// Fails after a diagnostic if the type of argument `index` may not change.
static LogicalResult check(func::FuncOp function, unsigned index,
                           ModuleOp module) {
  auto type = cast<RankedTensorType>(function.getArgument(index).getType());
  int64_t extent = type.getShape().back();
  if (!ShapedType::isDynamic(extent) && extent % 2)
    return function.emitOpError("expected argument ")
           << index
           << " to have an even last extent, two values of which are a byte, "
              "but got "
           << extent << " in " << type;
  auto uses = SymbolTable::getSymbolUses(function, module);
  if (uses && uses->empty())
    return success();
  InFlightDiagnostic error =
      function.emitOpError("expected no use in the module of a function whose "
                           "argument ")
      << index << ", a " << type
      << ", becomes bytes; make it private and call it from a public one";
  if (uses)
    error.attachNote(uses->begin()->getUser()->getLoc()) << "used here";
  return error;
}

static LogicalResult pack(func::FuncOp function, ModuleOp module) {
  SmallVector<unsigned> packed;
  for (auto [index, type] : llvm::enumerate(function.getArgumentTypes()))
    if (target::canPackArgument(type))
      packed.push_back(index);
  for (unsigned index : packed)
    if (failed(check(function, index, module)))
      return failure();
  SmallVector<Type> types(function.getArgumentTypes());
  Block &entry = function.front();
  auto b = OpBuilder::atBlockBegin(&entry);
  for (unsigned index : packed) {
    BlockArgument values = entry.getArgument(index);
    auto type = cast<RankedTensorType>(values.getType());
    types[index] = getPackedType(type);
    Value bytes = entry.insertArgument(index, types[index], values.getLoc());
    values.replaceAllUsesWith(unpack(b, values.getLoc(), bytes, type));
    entry.eraseArgument(index + 1);
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
