//===- EpilogueFastMath.cpp - The sigmoid of math = fast --------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The exponential and the reciprocal of the special function unit in place of
// f64, of which GPUs have little.
//
//===----------------------------------------------------------------------===//

#include "Epilogue.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace nvfp4;
using namespace nvfp4::gsg;
using namespace nvfp4::gsg::kernels;

// 1 / (1 + 2^(-x log2(e))): infinity gives 0, NaN stays NaN.
Value kernels::emitFastSigmoid(OpBuilder &b, Location loc, Value x) {
  auto type = cast<VectorType>(x.getType());
  auto constant = [&](float value) -> Value {
    return arith::ConstantOp::create(
        b, loc, DenseElementsAttr::get(type, b.getF32FloatAttr(value)));
  };
  auto each = [&](StringRef intrinsic, Value in) -> Value {
    SmallVector<Value> out;
    for (int64_t i = 0; i < type.getNumElements(); ++i) {
      Value element = vector::ExtractOp::create(b, loc, in, i);
      out.push_back(LLVM::CallIntrinsicOp::create(b, loc, b.getF32Type(),
                                                  b.getStringAttr(intrinsic),
                                                  ValueRange(element))
                        .getResult(0));
    }
    return vector::FromElementsOp::create(b, loc, type, out);
  };
  Value exponent = arith::MulFOp::create(b, loc, x, constant(-0x1.715476p+0f));
  Value e = each("llvm.nvvm.ex2.approx", exponent);
  return each("llvm.nvvm.rcp.approx.ftz.f",
              arith::AddFOp::create(b, loc, e, constant(1.0f)));
}
