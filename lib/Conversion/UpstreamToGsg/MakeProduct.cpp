//===- MakeProduct.cpp - Operations of a product ----------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Operands arranged, paired with their scales and multiplied.
//
//===----------------------------------------------------------------------===//

#include "MakeProduct.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace nvfp4::gsg;

/// [N, ..] with `count` times the tensor `source`, which is that if it is 0.
static Value repeat(OpBuilder &b, Location loc, Value source, int64_t count) {
  if (!count)
    return source;
  SmallVector<OpFoldResult> sizes = tensor::getMixedSizes(b, loc, source);
  sizes.insert(sizes.begin(), b.getIndexAttr(count));
  Value empty = tensor::EmptyOp::create(
      b, loc, sizes, cast<RankedTensorType>(source.getType()).getElementType());
  return linalg::BroadcastOp::create(b, loc, source, empty,
                                     ArrayRef<int64_t>{0})
      ->getResult(0);
}

/// `tokens`: the row of `operand` that each is to be, or null.
static Value makeOperand(OpBuilder &b, Location loc,
                         const RaisedOperand &operand, Value tokens = {}) {
  auto order = [&](Value matrix) {
    return tokens ? gatherRows(b, loc, matrix, tokens)
                  : repeat(b, loc, matrix, operand.repeat);
  };
  Value data = arrange(b, loc, operand.data);
  if (!operand.type)
    return order(data);
  if (!operand.type.isFP4())
    data = bitcastElements(b, loc, data, operand.codeType);
  else if (!operand.isPacked)
    data = packNibbles(b, loc, data);
  Value scales = bitcastElements(b, loc, arrange(b, loc, operand.scales),
                                 operand.scaleType);
  ScaledType type = operand.type;
  if (tokens) {
    SmallVector<int64_t> shape(type.getShape());
    shape[0] = cast<RankedTensorType>(tokens.getType()).getDimSize(0);
    type = ScaledType::get(b.getContext(), shape, type.getFormat());
  }
  Value ordered = order(data);
  return MakeScaledOp::create(b, loc, type, ordered, order(scales));
}

/// The product of the further factors of matrix `number`, in f32.
static Value multiplyGlobals(OpBuilder &b, Location loc,
                             ArrayRef<Factor> globals, ValueRange number) {
  Value product;
  for (const Factor &factor : globals) {
    Value value = factor.source;
    // A constant may be in the body that the product replaces.
    if (Operation *op = value.getDefiningOp();
        op && op->hasTrait<OpTrait::ConstantLike>())
      value = b.clone(*op)->getResult(0);
    if (isa<RankedTensorType>(value.getType())) {
      SmallVector<Value> indices;
      for (AffineExpr index : factor.indices)
        indices.push_back(makeIndex(b, loc, index, number));
      value = tensor::ExtractOp::create(b, loc, value, indices);
    }
    unsigned width = value.getType().getIntOrFloatBitWidth();
    if (width < 32)
      value = arith::ExtFOp::create(b, loc, b.getF32Type(), value);
    else if (width > 32)
      value = arith::TruncFOp::create(b, loc, b.getF32Type(), value);
    if (factor.isDivisor) {
      if (!product)
        product = arith::ConstantOp::create(b, loc, b.getF32FloatAttr(1));
      product = arith::DivFOp::create(b, loc, product, value);
    } else {
      product = product ? arith::MulFOp::create(b, loc, product, value) : value;
    }
  }
  return product;
}

/// `alpha`: nothing, one number, or one a matrix.
static Value makeAlpha(OpBuilder &b, Location loc,
                       const ScaledContraction &product, Value destination) {
  if (product.globals.empty())
    return {};
  bool isUniform = llvm::all_of(product.globals, [](const Factor &factor) {
    return llvm::none_of(factor.indices, [](AffineExpr index) {
      return index.isFunctionOfDim(0);
    });
  });
  if (isUniform)
    return multiplyGlobals(b, loc, product.globals, ValueRange());
  SmallVector<Value> sizes;
  if (ShapedType::isDynamic(product.count))
    sizes.push_back(tensor::DimOp::create(b, loc, destination, 0));
  return tensor::GenerateOp::create(
      b, loc, RankedTensorType::get({product.count}, b.getF32Type()), sizes,
      [&](OpBuilder &nested, Location, ValueRange indices) {
        tensor::YieldOp::create(
            nested, loc,
            multiplyGlobals(nested, loc, product.globals, indices));
      });
}

Value nvfp4::gsg::makeProduct(OpBuilder &b, Location loc,
                              const ScaledContraction &product,
                              OffsetsKind offsets, Value groups, Value out,
                              Value tokens) {
  Value alpha = makeAlpha(b, loc, product, out);
  Value beta;
  if (product.readsDestination && !product.routing)
    beta = arith::ConstantOp::create(b, loc, b.getF32FloatAttr(1.0f));
  auto grouping = GroupingAttr::get(b.getContext(), product.kind, offsets, 1);
  Value bias = product.bias ? arrange(b, loc, *product.bias) : Value();
  Value lhs = makeOperand(b, loc, product.lhs, tokens);
  Value rhs = makeOperand(b, loc, product.rhs);
  return MatmulOp::create(
             b, loc, out.getType(), grouping, groups, lhs,
             /*lhs_scales=*/ValueRange(), /*lhs_types=*/ArrayAttr(), rhs,
             /*rhs_scales=*/ValueRange(), /*rhs_types=*/ArrayAttr(), alpha,
             /*row_scale=*/Value(), bias, /*prob=*/Value(),
             ProbPosition::PostActivation, beta,
             /*addend=*/Value(), ActivationAttr(),
             /*outer_gate=*/GateAttr(), /*activation_params=*/Value(),
             /*gradient_of=*/ActivationAttr(), /*preact=*/Value(),
             /*row=*/ValueRange(), /*column=*/ValueRange(),
             /*group=*/ValueRange(), QuantizerAttr(), /*global_scale=*/Value(),
             /*seed=*/Value(), /*copies=*/ArrayAttr(),
             /*copy_global_scales=*/ValueRange(), /*copy_seeds=*/ValueRange(),
             MathMode::Strict, TailMode::Preserve, Determinism::Deterministic,
             StrategyAttr(),
             /*expected_rows=*/IntegerAttr(), /*preact_out=*/Value(), out,
             /*out_scales=*/Value(), /*out_types=*/ArrayAttr(),
             /*amax_out=*/Value(), /*prob_out=*/Value(),
             /*copy_outs=*/ValueRange(),
             /*copy_out_scales=*/ValueRange(), /*copy_types=*/ArrayAttr())
      ->getResult(0);
}
