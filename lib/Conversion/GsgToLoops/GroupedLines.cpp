//===- GroupedLines.cpp - Lines of a tensor with groups ---------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "nvfp4/Conversion/GsgToLoops/GroupedLines.h"
#include "nvfp4/Dialect/GroupedScaledGemm/IR/GroupingForm.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace nvfp4::gsg;
using namespace nvfp4::gsg::arithmetic;
using namespace nvfp4::gsg::loops;

bool GroupedLines::cutsLines() const {
  if (!grouping || !type)
    return false;
  const GroupingForm &form = getForm(grouping);
  if (form.cutsK())
    return type.getAxis() == type.getRank() - 1;
  return !form.coversRows() && type.getAxis() == type.getRank() - 2;
}

Value loops::emitGroupEntry(MathBuilder &mb, Value value, Value group) {
  auto type = value ? dyn_cast<MemRefType>(value.getType()) : MemRefType();
  if (!type)
    return value;
  SmallVector<Value> indices;
  if (type.getRank() > 0) {
    Value index = arith::IndexCastOp::create(mb.builder, mb.loc,
                                             mb.builder.getIndexType(), group);
    Value dim = memref::DimOp::create(mb.builder, mb.loc, value, 0);
    Value last = mb.sub(dim, mb.constant(dim.getType(), 1));
    indices.push_back(mb.minS(index, last));
  }
  return memref::LoadOp::create(mb.builder, mb.loc, value, indices);
}
