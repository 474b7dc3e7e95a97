//===- EpilogueRegion.cpp - the region of a custom activation ---*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Clones the region on vectors where every operation works element by element,
// else on scalars.
//
//===----------------------------------------------------------------------===//

#include "ProductEmitter.h"

#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace nvfp4::gsg;
using namespace nvfp4::gsg::cpu;

bool ProductEmitter::isCustomVectorizable() const {
  return llvm::all_of(product.custom->without_terminator(), [](Operation &op) {
    if (op.hasTrait<OpTrait::ConstantLike>())
      return op.getNumResults() == 1 &&
             op.getResult(0).getType().isIntOrFloat();
    return op.hasTrait<OpTrait::Vectorizable>() && op.getNumRegions() == 0 &&
           llvm::all_of(op.getResultTypes(),
                        [](Type type) { return type.isIntOrFloat(); });
  });
}

Value ProductEmitter::customEpilogue(ValueRange in) {
  Location loc = product.loc;
  IRMapping mapping;
  mapping.map(product.custom->getArguments(), in);
  auto constantOf = [&](Value value) -> Value {
    TypedAttr attr;
    if (!matchPattern(value, m_Constant(&attr)))
      return {};
    if (lanes > 1)
      attr = DenseElementsAttr::get(cast<VectorType>(lanesOf(value.getType())),
                                    Attribute(attr));
    return arith::ConstantOp::create(builder, loc, attr);
  };
  for (auto [value, slot] : product.captured) {
    Value inside = constantOf(value);
    if (!inside)
      inside = mb.spread(slotF32(slot), in.front());
    mapping.map(value, inside);
  }
  for (Operation &op : product.custom->without_terminator()) {
    if (op.hasTrait<OpTrait::ConstantLike>()) {
      mapping.map(op.getResult(0), constantOf(op.getResult(0)));
      continue;
    }
    Operation *clone = builder.clone(op, mapping);
    if (lanes > 1)
      for (Value result : clone->getResults())
        result.setType(lanesOf(result.getType()));
  }
  return mapping.lookup(product.custom->getTerminator()->getOperand(0));
}
