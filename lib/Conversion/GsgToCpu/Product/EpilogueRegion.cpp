//===- EpilogueRegion.cpp - the region of a custom activation ---*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Clones the region on vectors; every operation in it works on single elements.
//
//===----------------------------------------------------------------------===//

#include "ProductEmitter.h"

#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace nvfp4;
using namespace nvfp4::gsg;
using namespace nvfp4::gsg::cpu;

bool cpu::isVectorizable(Block &region) {
  return llvm::all_of(region.without_terminator(), [](Operation &op) {
    bool scalar = llvm::all_of(op.getResultTypes(), [](Type type) {
      return type.isIntOrIndexOrFloat();
    });
    return scalar && op.getNumRegions() == 0 &&
           (op.hasTrait<OpTrait::ConstantLike>() ||
            op.hasTrait<OpTrait::Vectorizable>());
  });
}

Value ProductEmitter::customEpilogue(ValueRange in) {
  IRMapping mapping;
  mapping.map(product.custom->getArguments(), in);
  for (Operation &op : product.custom->without_terminator()) {
    TypedAttr attr;
    if (matchPattern(&op, m_Constant(&attr))) {
      auto type = cast<VectorType>(lanesOf(attr.getType()));
      mapping.map(op.getResult(0),
                  arith::ConstantOp::create(
                      builder, product.loc,
                      DenseElementsAttr::get(type, Attribute(attr))));
      continue;
    }
    Operation *clone = builder.clone(op, mapping);
    for (Value result : clone->getResults())
      result.setType(lanesOf(result.getType()));
  }
  return mapping.lookup(product.custom->getTerminator()->getOperand(0));
}
