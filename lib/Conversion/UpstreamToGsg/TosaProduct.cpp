//===- TosaProduct.cpp - TOSA's block-scaled product ------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// `tosa.matmul_t_block_scaled` is written out as a contraction, which is raised
// as others are. Operands `[L, M, K]` and `[L, N, K]` make a batch. A second
// operand `[1, N, K]` belongs to all matrices of the first one, whose rows then
// are those of one matrix.
//
//===----------------------------------------------------------------------===//

#include "TosaProduct.h"

#include "ContractionMatcher.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tosa/IR/TosaOps.h"

using namespace mlir;
using namespace nvfp4::gsg;

using TosaOp = tosa::MatmulTBlockScaledOp;

/// Why `op` is no product of the dialect; empty if it is one.
static std::string findReason(TosaOp op) {
  auto fail = [](const char *format, Type type) {
    return llvm::formatv(false, format, print(type)).str();
  };
  SmallVector<Type> types(op->getOperandTypes());
  types.push_back(op.getType());
  for (Type type : types) {
    if (!isa<RankedTensorType>(type))
      return fail("expected tensors of known rank, but got {0}", type);
    if (!isCountable(type))
      return fail(kUncountable, type);
  }
  Type a = op.getAData().getType(), w = op.getBData().getType();
  for (Type codes : {a, w}) {
    auto type = cast<RankedTensorType>(codes);
    if (!isa<Float4E2M1FNType, Float8E4M3FNType, Float8E5M2Type>(
            type.getElementType()))
      return fail("expected codes of f4E2M1FN, f8E4M3FN or f8E5M2, but got {0}",
                  type.getElementType());
    if (type.isDynamicDim(2))
      return fail("expected a known K, but got {0}", type);
  }
  Type sum = getElementTypeOrSelf(op.getOutputData().getType());
  if (!sum.isF32())
    return fail("expected a sum in f32, but got {0}", sum);
  // One matrix would be that of all.
  if (cast<RankedTensorType>(w).isDynamicDim(0))
    return fail("expected a known number of matrices of the second operand, "
                "but got {0}",
                w);
  return {};
}

/// `tensor` as a matrix, or as a stack of `count` of them.
static Value reshapeOperand(OpBuilder &b, Location loc, Value tensor,
                            int64_t count) {
  auto type = cast<RankedTensorType>(tensor.getType());
  if (count == 1)
    return tensor::CollapseShapeOp::create(
        b, loc, tensor, ArrayRef<ReassociationIndices>{{0, 1}, {2}});
  auto stack = RankedTensorType::get(
      {count, type.getDimSize(1), type.getDimSize(2)}, type.getElementType());
  return stack == type
             ? tensor
             : tensor::CastOp::create(b, loc, stack, tensor).getResult();
}

/// `sum` plus the product of two codes and their scales.
static void makeTerm(OpBuilder &b, Location loc, ValueRange arguments) {
  Value term;
  for (Value argument : arguments.drop_back()) {
    Value factor = arith::ExtFOp::create(b, loc, b.getF32Type(), argument);
    term = term ? arith::MulFOp::create(b, loc, term, factor) : factor;
  }
  Value sum = arith::AddFOp::create(b, loc, arguments.back(), term);
  linalg::YieldOp::create(b, loc, sum);
}

namespace {

struct WriteOutTosaProduct : OpRewritePattern<TosaOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(TosaOp op, PatternRewriter &b) const override {
    if (std::string reason = findReason(op); !reason.empty())
      return b.notifyMatchFailure(op, reason);
    Location loc = op.getLoc();
    int64_t count =
        cast<RankedTensorType>(op.getBData().getType()).getDimSize(0);
    SmallVector<OpFoldResult> sizes = {
        tensor::getMixedSize(b, loc, op.getAData(), 0),
        tensor::getMixedSize(b, loc, op.getAData(), 1),
        tensor::getMixedSize(b, loc, op.getBData(), 1)};
    Value zero = arith::ConstantOp::create(b, loc, b.getF32FloatAttr(0));
    Value empty = tensor::EmptyOp::create(b, loc, sizes, b.getF32Type());
    Type type = empty.getType();
    Value out = reshapeOperand(b, loc, empty, count);
    out = linalg::FillOp::create(b, loc, zero, out).getResult(0);
    SmallVector<Value> inputs;
    for (Value operand : op->getOperands())
      inputs.push_back(reshapeOperand(b, loc, operand, count));

    unsigned batch = count == 1 ? 0 : 1, numLoops = batch + 3;
    AffineExpr m = b.getAffineDimExpr(batch), n = b.getAffineDimExpr(batch + 1),
               k = b.getAffineDimExpr(batch + 2), block = k.floorDiv(32);
    SmallVector<AffineMap> maps;
    for (auto [row, column] :
         {std::pair(m, k), {m, block}, {n, k}, {n, block}, {m, n}}) {
      SmallVector<AffineExpr> results;
      if (batch)
        results.push_back(b.getAffineDimExpr(0));
      results.append({row, column});
      maps.push_back(AffineMap::get(numLoops, 0, results, b.getContext()));
    }
    SmallVector<utils::IteratorType> loops(numLoops,
                                           utils::IteratorType::parallel);
    loops.back() = utils::IteratorType::reduction;
    Value result = linalg::GenericOp::create(b, loc, out.getType(), inputs, out,
                                             maps, loops, makeTerm)
                       .getResult(0);
    if (count == 1)
      result = tensor::ExpandShapeOp::create(
          b, loc, type, result, ArrayRef<ReassociationIndices>{{0, 1}, {2}},
          sizes);
    if (result.getType() != op.getType())
      result = tensor::CastOp::create(b, loc, op.getType(), result);
    b.replaceOp(op, result);
    return success();
  }
};

} // namespace

void nvfp4::gsg::populateWriteOutTosaProductPatterns(
    RewritePatternSet &patterns) {
  patterns.add<WriteOutTosaProduct>(patterns.getContext());
}

std::optional<std::string> nvfp4::gsg::explainTosaProduct(Operation *op) {
  auto product = dyn_cast<TosaOp>(op);
  std::string reason = product ? findReason(product) : std::string();
  return reason.empty() ? std::nullopt : std::optional(reason);
}
