//===- RoutedProduct.cpp - Rows in the order of experts ---------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A product in which each row has an expert of its own: `sort_tokens`, rows
// gathered, `ragged_rows`, and rows scattered.
//
//===----------------------------------------------------------------------===//

#include "MakeProduct.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace nvfp4::gsg;

static Value makeEmpty(OpBuilder &b, Location loc, ArrayRef<int64_t> shape,
                       Type element, Value dynamicSize) {
  SmallVector<Value> sizes;
  if (ShapedType::isDynamic(shape.front()))
    sizes.push_back(dynamicSize);
  return tensor::EmptyOp::create(b, loc, shape, element, sizes);
}

/// `number`, or -1 if it is none of `count`.
static Value dropOthers(OpBuilder &b, Location loc, Value number,
                        int64_t count) {
  Type type = number.getType();
  Value end = arith::ConstantOp::create(b, loc, b.getIntegerAttr(type, count));
  Value none = arith::ConstantOp::create(b, loc, b.getIntegerAttr(type, -1));
  Value isExpert =
      arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult, number, end);
  return arith::SelectOp::create(b, loc, isExpert, number, none);
}

Value nvfp4::gsg::gatherRows(OpBuilder &b, Location loc, Value matrix,
                             Value tokens) {
  auto type = cast<RankedTensorType>(matrix.getType());
  int64_t rows = cast<RankedTensorType>(tokens.getType()).getDimSize(0);
  Value size;
  if (ShapedType::isDynamic(rows))
    size = tensor::DimOp::create(b, loc, tokens, 0);
  Value empty = makeEmpty(b, loc, {rows, type.getDimSize(1)},
                          type.getElementType(), size);
  if (isa<Float32Type, Float16Type, BFloat16Type>(type.getElementType()))
    return PermuteOp::create(b, loc, empty.getType(), matrix, tokens, empty)
        ->getResult(0);
  // Codes and scales are no numbers to `permute`.
  AffineMap map = b.getMultiDimIdentityMap(2);
  AffineMap row = map.getSubMap({0});
  SmallVector<utils::IteratorType> loops(2, utils::IteratorType::parallel);
  return linalg::GenericOp::create(
             b, loc, empty.getType(), tokens, empty,
             ArrayRef<AffineMap>{row, map}, loops,
             [&](OpBuilder &nested, Location, ValueRange arguments) {
               Value zero = arith::ConstantOp::create(nested, loc,
                                                      b.getI32IntegerAttr(0));
               Value token =
                   arith::MaxSIOp::create(nested, loc, arguments[0], zero);
               Value indices[] = {arith::IndexCastOp::create(
                                      nested, loc, b.getIndexType(), token),
                                  linalg::IndexOp::create(nested, loc, 1)};
               Value element =
                   tensor::ExtractOp::create(nested, loc, matrix, indices);
               linalg::YieldOp::create(nested, loc, element);
             })
      .getResult(0);
}

Value nvfp4::gsg::makeRoutedProduct(OpBuilder &b, Location loc,
                                    const ScaledContraction &product,
                                    Value out) {
  const Routing &routing = *product.routing;
  auto outType = cast<RankedTensorType>(out.getType());
  int64_t products = outType.getDimSize(0), slots = routing.slots;
  bool isDynamic = ShapedType::isDynamic(products);
  int64_t rows = isDynamic ? products : products / slots;
  Value numProducts, numRows;
  if (isDynamic) {
    numRows = numProducts = tensor::DimOp::create(b, loc, out, 0);
    if (slots > 1)
      numRows = arith::DivUIOp::create(
          b, loc, numProducts, arith::ConstantIndexOp::create(b, loc, slots));
  }
  Type i32 = b.getI32Type();
  Value experts = tensor::GenerateOp::create(
      b, loc, RankedTensorType::get({rows, slots}, i32),
      isDynamic ? ValueRange(numRows) : ValueRange(),
      [&](OpBuilder &nested, Location, ValueRange dims) {
        Value expert = makeScalar(nested, loc, routing.expert, dims);
        if (routing.dropsOthers)
          expert = dropOthers(nested, loc, expert, product.count);
        tensor::YieldOp::create(
            nested, loc,
            getValueOrCreateCastToIndexLike(nested, loc, i32, expert));
      });
  Value ends = makeEmpty(b, loc, {product.count}, i32, {});
  Value tokens = makeEmpty(b, loc, {products}, i32, numProducts);
  Value places = makeEmpty(b, loc, {rows, slots}, i32, numRows);
  auto sort = SortTokensOp::create(
      b, loc, TypeRange{ends.getType(), tokens.getType(), places.getType()},
      experts, /*align=*/1, ends, tokens, places);
  Value empty = makeEmpty(b, loc, outType.getShape(), outType.getElementType(),
                          numProducts);
  Value sorted = makeProduct(b, loc, product, OffsetsKind::Ends,
                             sort->getResult(0), empty, sort->getResult(1));
  Value result = gatherRows(b, loc, sorted,
                            reshape(b, loc, sort->getResult(2), {products}));
  if (product.readsDestination)
    result = linalg::AddOp::create(b, loc, ValueRange{out, result}, out)
                 ->getResult(0);
  return result;
}
