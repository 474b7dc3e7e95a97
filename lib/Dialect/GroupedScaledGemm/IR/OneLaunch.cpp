//===- OneLaunch.cpp - Operations that share a launch -----------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The generated class of one_launch, and its verifier.
//
//===----------------------------------------------------------------------===//

#include "nvfp4/Dialect/GroupedScaledGemm/IR/OneLaunch.h"

#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace nvfp4;
using namespace nvfp4::gsg;

#define GET_OP_CLASSES
#include "nvfp4/Dialect/GroupedScaledGemm/IR/LaunchOps.cpp.inc"

/// launch_c4: what the first operation writes, the second one reads.
static LogicalResult verifyFlow(Operation &reader, Value read,
                                Operation &writer, Value written,
                                StringRef what) {
  if (read == written)
    return success();
  return reader.emitOpError("expected to read the ")
         << what << " that '" << writer.getName() << "' of the launch writes";
}

int64_t OneLaunchOp::countWarps(RouteOp route, int64_t tokens) {
  int64_t experts = cast<ShapedType>(route.getLogits().getType()).getDimSize(1);
  return std::clamp<int64_t>(tokens, 8, experts > 256 ? 8 : 32);
}

ScaledType OneLaunchOp::getTokensType() {
  return getTokenType() ? dyn_cast<ScaledType>(*getTokenType()) : ScaledType();
}

/// launch_c5: `quantized` is the input of `permute` as `quantize` makes it.
static LogicalResult verifyTokens(OneLaunchOp op) {
  if (!op.getTokens())
    return success();
  auto quantize = op.find<QuantizeOp>();
  if (!quantize)
    return op.emitOpError("expected no quantized without quantize");
  ScaledType type = op.getTokensType(), result = quantize.getScaledResultType();
  if (type && result && type.isKMajor() &&
      type.getLayout() == ScaleLayout::Linear &&
      type.getFormat() == result.getFormat() && type.getRank() == 2 &&
      type.getDimSize(1) == result.getDimSize(1))
    return success();
  return op.emitOpError("expected quantized rows of the format and length of ")
         << result << " with linear scales, but got " << op.getTokenTypeAttr();
}

std::string nvfp4::gsg::explainNoPair(QuantizeOp rows, QuantizeOp columns) {
  if (rows.getInput() != columns.getInput())
    return "expected both quantize to read one matrix";
  ScaledType ofRows = rows.getScaledResultType();
  ScaledType ofColumns = columns.getScaledResultType();
  if (!ofRows || !ofColumns || ofRows.getRank() != 2 ||
      ofColumns.getRank() != 2 || !ofRows.isKMajor() || !ofColumns.isKMajor())
    return "expected matrices with blocks along their last dimension";
  if (rows.getTransposed() || !columns.getTransposed())
    return "expected rows, and then the transposed matrix";
  if (rows.getQuantizer().getTwoD() || columns.getQuantizer().getTwoD())
    return "expected blocks of one line, but got squares (two_d)";
  int64_t block = ofRows.getBlockSize(), length = ofRows.getDimSize(1);
  if (ofColumns.getBlockSize() != block)
    return llvm::formatv("expected blocks of one size, but got {0} and {1}",
                         block, ofColumns.getBlockSize());
  if (ShapedType::isDynamic(length) || length % block != 0)
    return llvm::formatv(
        "expected rows of a known multiple of {0} columns, "
        "but got {1}",
        block, ShapedType::isDynamic(length) ? "?" : std::to_string(length));
  auto grouping = columns.getGrouping();
  if (ofColumns.isFP4() && grouping &&
      (grouping->getOffsets() != OffsetsKind::Ends ||
       grouping->getAlign() % 2 != 0))
    return "expected groups that begin at even rows, since a byte has two "
           "values";
  return "";
}

LogicalResult OneLaunchOp::verifyRegions() {
  SmallVector<Operation *> ops;
  std::string names;
  for (Operation &op : *getBody()) {
    names += (ops.empty() ? "" : ", ") + op.getName().stripDialect().str();
    ops.push_back(&op);
  }
  auto is = [&](auto... isOp) {
    size_t i = 0;
    return ops.size() == sizeof...(isOp) && (isOp(*ops[i++]) && ...);
  };
  auto isA = [](auto type) {
    return [](Operation &op) { return isa<decltype(type)>(op); };
  };
  bool isRouted = is(isA(RouteOp()), isA(SortTokensOp())) ||
                  is(isA(RouteOp()), isA(SortTokensOp()), isA(PermuteOp()));
  bool isPair = is(isA(QuantizeOp()), isA(QuantizeOp()));
  // launch_c1
  if (!isRouted && !isPair && !is(isA(PermuteOp()), isA(QuantizeOp())))
    return emitOpError("expected route and sort_tokens; or route, sort_tokens "
                       "and permute; or permute and quantize; or two quantize, "
                       "but got ")
           << (names.empty() ? "nothing" : names);
  // launch_c2
  for (Operation *op : ops)
    for (Value operand : op->getOperands())
      if (!isa<FloatType, IntegerType, MemRefType>(operand.getType()))
        return op->emitOpError("expected memrefs in storage form as operands "
                               "in a launch, but got ")
               << operand.getType();
  // launch_c3
  std::optional<int64_t> most = getMostTokens();
  if (isRouted && (!most || *most < 1 || *most > kMostTokens))
    return emitOpError("expected most_tokens from 1 to ")
           << kMostTokens << " beside route, but got "
           << (most ? std::to_string(*most) : "none");
  if (!isRouted && most)
    return emitOpError("expected no most_tokens without route, but got ")
           << *most;
  // launch_c5
  if (failed(verifyTokens(*this)))
    return failure();
  // launch_c6
  if (isPair) {
    if (getTokens())
      return emitOpError("expected no quantized beside two quantize");
    std::string reason =
        explainNoPair(cast<QuantizeOp>(ops[0]), cast<QuantizeOp>(ops[1]));
    return reason.empty() ? success() : emitOpError(reason);
  }
  if (!isRouted) {
    auto permute = cast<PermuteOp>(ops[0]);
    return verifyFlow(*ops[1], cast<QuantizeOp>(ops[1]).getInput(), *ops[0],
                      permute.getOut(), "rows");
  }
  auto sort = cast<SortTokensOp>(ops[1]);
  if (failed(verifyFlow(*ops[1], sort.getExperts(), *ops[0],
                        cast<RouteOp>(ops[0]).getExpertsOut(), "experts")))
    return failure();
  return ops.size() < 3
             ? success()
             : verifyFlow(*ops[2], cast<PermuteOp>(ops[2]).getTokenOfRow(),
                          *ops[1], sort.getTokenOfRowOut(), "tokens of rows");
}
