//===- VerifyExtents.cpp - Types that no machine can hold -----------------===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Sizes and strides of static shapes are computed in 64 bits without a look at
// overflow, and allocated without a look at the result. A shape that cannot
// be in memory is refused before that.
//
//===----------------------------------------------------------------------===//

#include "nvfp4/Dialect/GroupedScaledGemm/IR/GroupedScaledGemm.h"
#include "nvfp4/Dialect/GroupedScaledGemm/Transforms/Passes.h"

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/Support/MathExtras.h"

namespace nvfp4::gsg {
#define GEN_PASS_DEF_VERIFYEXTENTSPASS
#include "nvfp4/Dialect/GroupedScaledGemm/Transforms/Passes.h.inc"
} // namespace nvfp4::gsg

using namespace mlir;

/// Half of what a process of x86-64 can address.
static constexpr int64_t kMaxBytes = int64_t(1) << 46;

/// True if the static extents of `type`, without those that are zero, fit.
static bool fits(ShapedType type) {
  if (!type.hasRank() || !type.getElementType().isIntOrIndexOrFloat())
    return true;
  int64_t bytes = type.getElementType().isIndex()
                      ? 8
                      : llvm::divideCeil(type.getElementTypeBitWidth(), 8);
  for (int64_t extent : type.getShape())
    // Strides are products of the extents even where there is no element.
    if (!ShapedType::isDynamic(extent) && extent != 0 &&
        (llvm::MulOverflow(bytes, extent, bytes) || bytes > kMaxBytes))
      return false;
  return true;
}

static bool fits(Type type) {
  if (auto scaled = dyn_cast<nvfp4::gsg::ScaledType>(type))
    return fits(scaled.getDataTensorType()) &&
           fits(scaled.getScaleTensorType());
  auto shaped = dyn_cast<ShapedType>(type);
  return !shaped || fits(shaped);
}

namespace {
struct VerifyExtents : nvfp4::gsg::impl::VerifyExtentsPassBase<VerifyExtents> {
  void runOnOperation() override {
    auto check = [](Location loc, TypeRange types) {
      for (Type type : types)
        if (!fits(type))
          return static_cast<LogicalResult>(
              emitError(loc, "expected a type of at most 2^46 bytes, but got ")
              << type);
      return success();
    };
    WalkResult result = getOperation()->walk([&](Operation *op) {
      if (failed(check(op->getLoc(), op->getResultTypes())))
        return WalkResult::interrupt();
      if (auto function = dyn_cast<FunctionOpInterface>(op))
        if (failed(check(op->getLoc(), function.getArgumentTypes())) ||
            failed(check(op->getLoc(), function.getResultTypes())))
          return WalkResult::interrupt();
      for (Region &region : op->getRegions())
        for (Block &block : region)
          if (failed(check(op->getLoc(), block.getArgumentTypes())))
            return WalkResult::interrupt();
      return WalkResult::advance();
    });
    if (result.wasInterrupted())
      signalPassFailure();
  }
};
} // namespace
