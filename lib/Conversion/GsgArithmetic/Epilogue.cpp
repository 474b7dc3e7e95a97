//===- Epilogue.cpp - The order of an epilogue ------------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A region is cloned on vectors: every operation in it works on single
// elements.
//
//===----------------------------------------------------------------------===//

#include "nvfp4/Conversion/GsgArithmetic/Epilogue.h"

#include "nvfp4/Conversion/GsgArithmetic/MathBuilder.h"
#include "nvfp4/Conversion/GsgArithmetic/Rounding.h"

#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace nvfp4::gsg;
using namespace nvfp4::gsg::arithmetic;

/// x times prob, if the product has it at `position`.
static Value applyProb(MathBuilder &mb, const EpilogueOrder &order,
                       EpilogueAccess &access, ProbPosition position, Value x) {
  if (order.prob != position)
    return x;
  Value prob = access.prob(x);
  return prob ? mb.mulF(x, prob) : x;
}

Value arithmetic::emitPreActivation(OpBuilder &builder, Location loc,
                                    const EpilogueOrder &order,
                                    EpilogueAccess &access, Value acc) {
  MathBuilder mb(builder, loc);
  Value z = acc;
  if (Value alpha = access.alpha(z))
    z = mb.mulF(alpha, z);
  z = applyProb(mb, order, access, ProbPosition::Gemm, z);
  if (Value addend = access.addend(z)) {
    if (Value beta = access.beta(addend))
      addend = mb.mulF(beta, addend);
    z = mb.addF(z, addend);
  }
  if (Value bias = access.bias(z))
    z = mb.addF(z, applyProb(mb, order, access, ProbPosition::Bias, bias));
  z = applyProb(mb, order, access, ProbPosition::PreActivation, z);
  access.storePreActivation(z);
  return z;
}

/// The result of the region for `in`, on vectors of their shape.
static Value emitRegion(OpBuilder &builder, Location loc, Block &region,
                        ValueRange in) {
  ArrayRef<int64_t> shape = cast<VectorType>(in.front().getType()).getShape();
  auto lanesOf = [&](Type element) { return VectorType::get(shape, element); };
  IRMapping mapping;
  mapping.map(region.getArguments(), in);
  for (Operation &op : region.without_terminator()) {
    TypedAttr attr;
    if (matchPattern(&op, m_Constant(&attr))) {
      auto all =
          DenseElementsAttr::get(lanesOf(attr.getType()), Attribute(attr));
      mapping.map(op.getResult(0),
                  arith::ConstantOp::create(builder, loc, all));
      continue;
    }
    Operation *clone = builder.clone(op, mapping);
    for (Value result : clone->getResults())
      result.setType(lanesOf(result.getType()));
  }
  return mapping.lookup(region.getTerminator()->getOperand(0));
}

Value arithmetic::emitResult(OpBuilder &builder, Location loc,
                             const EpilogueOrder &order, EpilogueAccess &access,
                             ArrayRef<Value> z) {
  MathBuilder mb(builder, loc);
  Value y;
  if (order.region) {
    SmallVector<Value> in(z);
    if (order.roundsBf16)
      for (Value &value : in)
        value = emitRoundToBF16(builder, loc, value);
    llvm::append_range(in, access.regionOperands(z.front()));
    y = emitRegion(builder, loc, *order.region, in);
  } else {
    y = access.activate(z);
  }
  return applyProb(mb, order, access, ProbPosition::PostActivation, y);
}

bool arithmetic::isVectorizable(Block &region) {
  return llvm::all_of(region.without_terminator(), [](Operation &op) {
    bool scalar = llvm::all_of(op.getResultTypes(), [](Type type) {
      return type.isIntOrIndexOrFloat();
    });
    return scalar && op.getNumRegions() == 0 &&
           (op.hasTrait<OpTrait::ConstantLike>() ||
            op.hasTrait<OpTrait::Vectorizable>());
  });
}
