//===- SeparateQuantization.cpp - gsg-separate-quantization -----*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A kernel quantises the part of one row that a thread holds, and blocks of the
// rows that the lanes of a warp hold. A quantisation that needs more becomes an
// operation beside the product, as it does on the CPU where blocks cross tiles.
//
//===----------------------------------------------------------------------===//

#include "nvfp4/Dialect/GroupedScaledGemm/Transforms/SeparateQuantization.h"
#include "nvfp4/Dialect/GroupedScaledGemm/IR/GroupingForm.h"
#include "nvfp4/Dialect/GroupedScaledGemm/Transforms/KernelSupport.h"
#include "nvfp4/Dialect/GroupedScaledGemm/Transforms/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/PatternMatch.h"

namespace nvfp4::gsg {
#define GEN_PASS_DEF_SEPARATEQUANTIZATIONPASS
#include "nvfp4/Dialect/GroupedScaledGemm/Transforms/Passes.h.inc"
} // namespace nvfp4::gsg

using namespace mlir;
using namespace nvfp4::gsg;

/// Memory for y in f32 while `op` and what follows it run.
static Value allocateResult(OpBuilder &b, MatmulOp op) {
  Location loc = op.getLoc();
  const GroupingForm &form = getForm(op.getGrouping());
  SmallVector<int64_t, 3> shape;
  SmallVector<Value> extents;
  auto addDim = [&](int64_t known, function_ref<Value()> read) {
    shape.push_back(known);
    if (ShapedType::isDynamic(known))
      extents.push_back(read());
  };
  auto dimOf = [&](Value memref, int64_t d) -> Value {
    return memref::DimOp::create(b, loc, memref, d);
  };
  auto number = [&](int64_t value) -> Value {
    return arith::ConstantIndexOp::create(b, loc, value);
  };
  Value lhs = op.getLhs()[0];
  auto lhsType = cast<MemRefType>(lhs.getType());
  int64_t rows = form.stacksRows ? 1 : 0;
  if (form.stacksResult)
    addDim(op.getNumGroups(), [&]() -> Value {
      if (form.stacksRows)
        return dimOf(lhs, 0);
      Value count = dimOf(op.getGroups(), 0);
      if (!hasStarts(op.getGrouping()))
        return count;
      return arith::SubIOp::create(b, loc, count, number(1));
    });
  // Extents that disagree do not lead outside the destinations.
  auto limit = [&](Value extent, int64_t fromEnd) {
    SmallVector<std::pair<ScaledOperand, bool>> outs;
    if (ScaledType type = op.getQuantizedType())
      outs.push_back({{op.getOut(), op.getOutScales(), type}, false});
    for (const ProductCopy &copy : op.getCopyList())
      outs.push_back({copy.out, copy.attr.getTransposed()});
    for (const auto &[out, isTransposed] : outs) {
      bool isLast = (fromEnd == 1) != isTransposed;
      int64_t d = out.type.getRank() - (isLast ? 1 : 2);
      if (!out.type.isDynamicDim(static_cast<unsigned>(d)))
        continue;
      Value stored = dimOf(out.data, d);
      if (isLast && out.type.isFP4())
        stored = arith::MulIOp::create(b, loc, stored, number(2));
      extent = arith::MinSIOp::create(b, loc, extent, stored);
    }
    return extent;
  };
  addDim(lhsType.getDimSize(rows), [&] { return limit(dimOf(lhs, rows), 2); });
  // N of packed weights is known (scaled_c8).
  addDim(op.getNumOutputColumns(), [&]() -> Value {
    Value weights = op.getRhs().front();
    Value n = dimOf(weights, cast<MemRefType>(weights.getType()).getRank() - 2);
    if (op.getActivationOrIdentity().isPaired())
      n = arith::DivUIOp::create(b, loc, n, number(2));
    return limit(n, 1);
  });
  return memref::AllocOp::create(b, loc, MemRefType::get(shape, b.getF32Type()),
                                 extents, b.getI64IntegerAttr(64));
}

Value nvfp4::gsg::clearMemory(OpBuilder &b, Location loc, Value destination) {
  Type element = cast<ShapedType>(destination.getType()).getElementType();
  TypedAttr zero = b.getZeroAttr(element);
  // Of UE8M0 the byte 0 is no zero.
  if (auto type = dyn_cast<FloatType>(element))
    zero = FloatAttr::get(
        type, APFloat(type.getFloatSemantics(), APInt(type.getWidth(), 0)));
  Value value = arith::ConstantOp::create(b, loc, zero);
  auto fill = linalg::FillOp::create(b, loc, value, destination);
  return fill->getNumResults() ? fill->getResult(0) : destination;
}

void nvfp4::gsg::clearCopy(OpBuilder &builder, Location loc,
                           const ProductCopy &copy) {
  clearMemory(builder, loc, copy.out.data);
  clearMemory(builder, loc, copy.out.scales);
}

GroupingAttr nvfp4::gsg::getResultGrouping(MatmulOp op, bool isTransposed) {
  GroupingAttr grouping = op.getGrouping();
  // Groups along K have a matrix of the result each.
  if (!grouping.hasGroupsOperand() || getForm(grouping).cutsK())
    return {};
  if (!isTransposed)
    return grouping;
  return GroupingAttr::get(op.getContext(), GroupingKind::RaggedK,
                           grouping.getOffsets(), grouping.getAlign());
}

/// Makes `copies` all that `op` has.
static void setCopies(MatmulOp op, ArrayRef<ProductCopy> copies) {
  SmallVector<Attribute> attributes, types;
  SmallVector<Value> globalScales, seeds, values, scales;
  for (const ProductCopy &copy : copies) {
    attributes.push_back(copy.attr);
    types.push_back(TypeAttr::get(copy.out.type));
    if (copy.globalScale)
      globalScales.push_back(copy.globalScale);
    if (copy.seed)
      seeds.push_back(copy.seed);
    values.push_back(copy.out.data);
    scales.push_back(copy.out.scales);
  }
  MLIRContext *context = op.getContext();
  if (copies.empty()) {
    op.removeCopiesAttr();
    op.removeCopyTypesAttr();
  } else {
    op.setCopiesAttr(ArrayAttr::get(context, attributes));
    op.setCopyTypesAttr(ArrayAttr::get(context, types));
  }
  op.getCopyGlobalScalesMutable().assign(globalScales);
  op.getCopySeedsMutable().assign(seeds);
  op.getCopyOutsMutable().assign(values);
  op.getCopyOutScalesMutable().assign(scales);
}

void nvfp4::gsg::separateQuantization(
    RewriterBase &rewriter, MatmulOp op,
    function_ref<bool(const ProductCopy &)> keeps) {
  Location loc = op.getLoc();
  auto quantize = [&](QuantizerAttr quantizer, Value y, Value globalScale,
                      Value seed, const ScaledOperand &out,
                      HadamardAttr hadamard, bool isTransposed) {
    GroupingAttr grouping = getResultGrouping(op, isTransposed);
    QuantizeOp::create(rewriter, loc, TypeRange(), quantizer, y,
                       grouping ? op.getGroups() : Value(), grouping,
                       globalScale, seed, out.data, out.scales,
                       rewriter.getTypeArrayAttr(Type(out.type)), hadamard,
                       isTransposed, /*per_row=*/false);
  };
  SmallVector<ProductCopy> kept, copies;
  for (const ProductCopy &copy : op.getCopyList())
    (keeps && keeps(copy) ? kept : copies).push_back(copy);
  ScaledOperand out{op.getOut(), op.getOutScales(), op.getQuantizedType()};
  bool hasOwnMemory = out.type || !out.data;
  Value y = hasOwnMemory ? allocateResult(rewriter, op) : out.data;
  if (op.getTail() == TailMode::Zero) {
    if (out.type) {
      clearMemory(rewriter, loc, out.data);
      clearMemory(rewriter, loc, out.scales);
    }
    for (const ProductCopy &copy : copies)
      clearCopy(rewriter, loc, copy);
  }
  OpBuilder::InsertionGuard guard(rewriter);
  rewriter.setInsertionPointAfter(op);
  if (out.type)
    quantize(op.getQuantizerAttr(), y, op.getGlobalScale(), op.getSeed(), out,
             HadamardAttr(), /*isTransposed=*/false);
  for (const ProductCopy &copy : copies)
    quantize(copy.attr.getQuantizer(), y, copy.globalScale, copy.seed, copy.out,
             copy.attr.getHadamard(), copy.attr.getTransposed());
  if (hasOwnMemory)
    memref::DeallocOp::create(rewriter, loc, y);
  rewriter.modifyOpInPlace(op, [&] {
    op.removeQuantizerAttr();
    op.removeOutTypesAttr();
    op.getGlobalScaleMutable().clear();
    op.getSeedMutable().clear();
    op.getOutScalesMutable().clear();
    op.getOutMutable().assign(y);
    setCopies(op, kept);
  });
}

void nvfp4::gsg::promoteCopy(RewriterBase &rewriter, MatmulOp op) {
  SmallVector<ProductCopy> copies = op.getCopyList();
  auto *rows = llvm::find_if(copies, [](const ProductCopy &copy) {
    return !copy.attr.getTransposed() && !copy.attr.getHadamard();
  });
  if (op.getOut() || rows == copies.end())
    return;
  ProductCopy copy = *rows;
  copies.erase(rows);
  rewriter.modifyOpInPlace(op, [&] {
    op.setQuantizerAttr(copy.attr.getQuantizer());
    op.setOutTypesAttr(rewriter.getTypeArrayAttr(Type(copy.out.type)));
    op.getOutMutable().assign(copy.out.data);
    op.getOutScalesMutable().assign(copy.out.scales);
    if (copy.globalScale)
      op.getGlobalScaleMutable().assign(copy.globalScale);
    if (copy.seed)
      op.getSeedMutable().assign(copy.seed);
    setCopies(op, copies);
  });
}

namespace {
struct SeparateQuantization
    : nvfp4::gsg::impl::SeparateQuantizationPassBase<SeparateQuantization> {
  using SeparateQuantizationPassBase::SeparateQuantizationPassBase;

  void runOnOperation() override {
    IRRewriter rewriter(&getContext());
    getOperation()->walk([&](MatmulOp op) {
      if (op->getNumResults() || op.getRhsScales().empty())
        return;
      if (op.getGradientOf()) {
        op.emitOpError("expected no gradient_of; run gsg-decompose-gradient "
                       "first");
        return signalPassFailure();
      }
      rewriter.setInsertionPoint(op);
      promoteCopy(rewriter, op);
      separate(rewriter, op);
    });
  }

private:
  void separate(RewriterBase &rewriter, MatmulOp op) {
    bool isQuantized = op.getQuantizedType() != nullptr;
    std::string ofResult = explainSeparateResult(op);
    SmallVector<std::string> ofCopies;
    for (const ProductCopy &copy : op.getCopyList()) {
      ofCopies.push_back(explainSeparateCopy(op, copy));
      if (ofCopies.back().empty() && !op.getOut())
        ofCopies.back() = "the product has no rows to store beside it";
    }
    bool isAny = !ofResult.empty() ||
                 llvm::any_of(ofCopies, [](const std::string &reason) {
                   return !reason.empty();
                 });
    if (!isAny)
      return;
    if (explain)
      remark(op, isQuantized, ofResult, ofCopies);
    // y in f32 takes the place of a quantised result.
    if (isQuantized || !op.getOut())
      return separateQuantization(rewriter, op);
    separateQuantization(rewriter, op, [&](const ProductCopy &copy) {
      return explainSeparateCopy(op, copy).empty();
    });
  }

  static void remark(MatmulOp op, bool isQuantized, StringRef ofResult,
                     ArrayRef<std::string> ofCopies) {
    bool isTogether = isQuantized || !op.getOut();
    InFlightDiagnostic diag = op.emitRemark()
                              << "results are quantised by operations after "
                                 "the product, in a second pass over memory:";
    StringRef together = "the product writes f32 for the others";
    if (isQuantized)
      diag << "\n  the result: " << (ofResult.empty() ? together : ofResult);
    for (auto [i, reason] : llvm::enumerate(ofCopies))
      if (!reason.empty() || isTogether)
        diag << "\n  copy " << i << ": "
             << (reason.empty() ? together : StringRef(reason));
  }
};
} // namespace
