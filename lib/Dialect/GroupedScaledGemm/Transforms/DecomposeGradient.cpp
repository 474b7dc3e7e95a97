//===- DecomposeGradient.cpp - gsg-decompose-gradient -----------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The gradient of an activation as an operation beside its product, on tensors
// and on memrefs, in value and in storage form. The product writes dy in f32,
// so that nothing is rounded that the clauses do not round.
//
//===----------------------------------------------------------------------===//

#include "nvfp4/Dialect/GroupedScaledGemm/Transforms/Passes.h"
#include "nvfp4/Dialect/GroupedScaledGemm/Transforms/SeparateQuantization.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/PatternMatch.h"

namespace nvfp4::gsg {
#define GEN_PASS_DEF_DECOMPOSEGRADIENTPASS
#include "nvfp4/Dialect/GroupedScaledGemm/Transforms/Passes.h.inc"
} // namespace nvfp4::gsg

using namespace mlir;
using namespace nvfp4::gsg;

namespace {
/// Rewrites one product; `run` returns what takes the place of its results.
class GradientDecomposer {
public:
  GradientDecomposer(RewriterBase &rewriter, MatmulOp op)
      : b(rewriter), loc(op.getLoc()), op(op),
        onTensors(isa<RankedTensorType>(op.getPreact().getType())) {}

  SmallVector<Value> run() {
    bool isQuantized = op.getQuantizedType() != nullptr;
    Value dy = allocate(op.getGradientOf()->isPaired());
    dy = createProduct(dy);
    bool hasOwnMemory = isQuantized || !op.getOut();
    Value out = hasOwnMemory ? allocate(/*halvesColumns=*/false)
                             : prepareDestination(op.getOut());
    Value probOut =
        op.getProbOut() ? prepareDestination(op.getProbOut()) : Value();
    SmallVector<Value> gradients = createGradient(dy, out, probOut);
    Value dz = onTensors ? gradients.front() : out;

    SmallVector<Value> results;
    if (isQuantized)
      llvm::append_range(
          results,
          quantize(op.getQuantizerAttr(), dz, op.getGlobalScale(), op.getSeed(),
                   {op.getOut(), op.getOutScales(), op.getQuantizedType()}));
    else if (op.getOut() && onTensors)
      results.push_back(dz);
    if (op.getProbOut() && onTensors)
      results.push_back(gradients.back());
    // In storage form the values of all copies come before the scales.
    SmallVector<Value> scales;
    for (const ProductCopy &copy : op.getCopyList()) {
      SmallVector<Value> made = quantize(
          copy.attr.getQuantizer(), dz, copy.globalScale, copy.seed, copy.out,
          copy.attr.getHadamard(), copy.attr.getTransposed());
      if (!made.empty())
        results.push_back(made.front());
      if (made.size() == 2)
        scales.push_back(made.back());
    }
    llvm::append_range(results, scales);
    return results;
  }

private:
  /// f32 of the shape of the pre-activation, or with half of its columns. The
  /// deallocation of buffers, which takes no IR that frees, frees a memref.
  Value allocate(bool halvesColumns) {
    Value like = op.getPreact();
    auto type = cast<ShapedType>(like.getType());
    SmallVector<int64_t> shape(type.getShape());
    SmallVector<Value> extents;
    for (int64_t d = 0; d < type.getRank(); ++d) {
      bool halves = halvesColumns && d == type.getRank() - 1;
      if (!type.isDynamicDim(d)) {
        shape[d] /= halves ? 2 : 1;
        continue;
      }
      Value extent = onTensors
                         ? tensor::DimOp::create(b, loc, like, d).getResult()
                         : memref::DimOp::create(b, loc, like, d).getResult();
      if (halves) {
        Value two = arith::ConstantIndexOp::create(b, loc, 2);
        extent = arith::DivUIOp::create(b, loc, extent, two);
      }
      extents.push_back(extent);
    }
    if (onTensors)
      return tensor::EmptyOp::create(b, loc, shape, b.getF32Type(), extents);
    return memref::AllocOp::create(b, loc,
                                   MemRefType::get(shape, b.getF32Type()),
                                   extents, b.getI64IntegerAttr(64));
  }

  /// A destination whose rows outside every group, and padding of scales, hold
  /// what `tail` says.
  Value prepareDestination(Value destination) {
    bool isZeroed = op.getTail() == TailMode::Zero;
    return isZeroed ? clearMemory(b, loc, destination) : destination;
  }

  /// The product alone, which writes to `dy`; returns what it has written.
  Value createProduct(Value dy) {
    SmallVector<Type> types;
    if (onTensors)
      types.push_back(dy.getType());
    OperationState state(loc, op->getName(), op->getOperands(), types,
                         op->getAttrs());
    state.addRegion();
    auto product = cast<MatmulOp>(b.create(state));
    product.removeGradientOfAttr();
    product.removeQuantizerAttr();
    product.removeOutTypesAttr();
    product.removeCopiesAttr();
    product.removeCopyTypesAttr();
    // Each range is asked for when the ones before it have been cleared.
    for (auto getRange :
         {&MatmulOp::getPreactMutable, &MatmulOp::getProbMutable,
          &MatmulOp::getGlobalScaleMutable, &MatmulOp::getSeedMutable,
          &MatmulOp::getCopyGlobalScalesMutable, &MatmulOp::getCopySeedsMutable,
          &MatmulOp::getOutScalesMutable, &MatmulOp::getProbOutMutable,
          &MatmulOp::getCopyOutsMutable, &MatmulOp::getCopyOutScalesMutable})
      (product.*getRange)().clear();
    product.getOutMutable().assign(dy);
    // glu_backward reads no rows outside every group.
    product.setTail(TailMode::Preserve);
    return onTensors ? product->getResult(0) : dy;
  }

  SmallVector<Value> createGradient(Value dy, Value out, Value probOut) {
    SmallVector<Type> types;
    if (onTensors) {
      types.push_back(out.getType());
      if (probOut)
        types.push_back(probOut.getType());
    }
    bool hasGroups = op.getGrouping().hasGroupsOperand();
    auto gradient = GluBackwardOp::create(
        b, loc, types, *op.getGradientOf(), op.getPreact(), dy,
        hasGroups ? op.getGroups() : Value(),
        hasGroups ? op.getGroupingAttr() : GroupingAttr(), op.getProb(), out,
        probOut);
    return SmallVector<Value>(gradient->getResults());
  }

  /// Quantises dz; `out` holds destinations in storage form.
  SmallVector<Value> quantize(QuantizerAttr quantizer, Value dz,
                              Value globalScale, Value seed, ScaledOperand out,
                              HadamardAttr hadamard = {},
                              bool isTransposed = false) {
    SmallVector<Type> types;
    ArrayAttr outTypes;
    if (!out.data || !out.scales) {
      out.data = out.scales = Value();
      types.push_back(out.type);
    } else {
      out.data = prepareDestination(out.data);
      out.scales = prepareDestination(out.scales);
      outTypes = b.getTypeArrayAttr(Type(out.type));
      if (onTensors)
        types.append({out.data.getType(), out.scales.getType()});
    }
    GroupingAttr grouping = getResultGrouping(op, isTransposed);
    auto made = QuantizeOp::create(
        b, loc, types, quantizer, dz, grouping ? op.getGroups() : Value(),
        grouping, globalScale, seed, out.data, out.scales, outTypes, hadamard,
        isTransposed);
    return SmallVector<Value>(made->getResults());
  }

  RewriterBase &b;
  Location loc;
  MatmulOp op;
  bool onTensors;
};

struct DecomposeGradient
    : nvfp4::gsg::impl::DecomposeGradientPassBase<DecomposeGradient> {
  using DecomposeGradientPassBase::DecomposeGradientPassBase;

  void runOnOperation() override {
    IRRewriter rewriter(&getContext());
    getOperation()->walk([&](MatmulOp op) {
      if (!op.getGradientOf())
        return;
      if (explain)
        op.emitRemark("the gradient of the activation is computed by "
                      "glu_backward after the product, in a second pass over "
                      "memory: the product writes dy in f32");
      rewriter.setInsertionPoint(op);
      SmallVector<Value> results = GradientDecomposer(rewriter, op).run();
      rewriter.replaceOp(op, results);
    });
  }
};
} // namespace
