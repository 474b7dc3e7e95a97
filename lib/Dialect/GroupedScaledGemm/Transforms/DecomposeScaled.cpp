//===- DecomposeScaled.cpp - Scaled values become tensors -------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The 1:N conversion of `scaled` into packed values and scales. Operations
// keep the logical type as an attribute, so the layout stays checked.
//
//===----------------------------------------------------------------------===//

#include "StorageDestinations.h"
#include "nvfp4/Dialect/GroupedScaledGemm/IR/GroupedScaledGemm.h"
#include "nvfp4/Dialect/GroupedScaledGemm/Transforms/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Func/Transforms/FuncConversions.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/SCF/Transforms/Patterns.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Transforms/DialectConversion.h"

namespace nvfp4::gsg {
#define GEN_PASS_DEF_DECOMPOSESCALEDPASS
#include "nvfp4/Dialect/GroupedScaledGemm/Transforms/Passes.h.inc"
} // namespace nvfp4::gsg

using namespace mlir;
using namespace nvfp4::gsg;

namespace {

/// Casts a tensor to the storage type that the conversion promises.
Value castTo(OpBuilder &builder, Location loc, Value value, Type type) {
  if (value.getType() == type)
    return value;
  return tensor::CastOp::create(builder, loc, type, value);
}

struct DecomposeMakeScaled : OpConversionPattern<MakeScaledOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult
  matchAndRewrite(MakeScaledOp op, OneToNOpAdaptor,
                  ConversionPatternRewriter &rewriter) const override {
    if (!isa<TensorType>(op.getData().getType()))
      return rewriter.notifyMatchFailure(op, "operands are memrefs");
    ScaledType type = op.getType();
    Value data =
        castTo(rewriter, op.getLoc(), op.getData(), type.getDataTensorType());
    Value scales = castTo(rewriter, op.getLoc(), op.getScales(),
                          type.getScaleTensorType());
    rewriter.replaceOpWithMultiple(op, {ValueRange{data, scales}});
    return success();
  }
};

struct DecomposeSplitScaled : OpConversionPattern<SplitScaledOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult
  matchAndRewrite(SplitScaledOp op, OneToNOpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    ValueRange storage = adaptor.getInput();
    rewriter.replaceOp(
        op,
        {castTo(rewriter, op.getLoc(), storage[0], op.getData().getType()),
         castTo(rewriter, op.getLoc(), storage[1], op.getScales().getType())});
    return success();
  }
};

/// Where an op keeps its scaled operands: operand segments of values and of
/// scales, and the property that holds the types in storage form.
template <typename OpTy> struct ScaledGroup {
  unsigned values;
  unsigned scales;
  ArrayAttr OpTy::Properties::*types;
};

template <typename OpTy> struct StorageTraits;
template <> struct StorageTraits<MatmulOp> {
  static constexpr ScaledGroup<MatmulOp> kInputs[] = {
      {MatmulOp::odsIndex_lhs, MatmulOp::odsIndex_lhs_scales,
       &MatmulOp::Properties::lhs_types},
      {MatmulOp::odsIndex_rhs, MatmulOp::odsIndex_rhs_scales,
       &MatmulOp::Properties::rhs_types}};
  static constexpr ScaledGroup<MatmulOp> kOut = {
      MatmulOp::odsIndex_out, MatmulOp::odsIndex_out_scales,
      &MatmulOp::Properties::out_types};
  static constexpr ScaledGroup<MatmulOp> kCopies = {
      MatmulOp::odsIndex_copy_outs, MatmulOp::odsIndex_copy_out_scales,
      &MatmulOp::Properties::copy_types};
};
template <> struct StorageTraits<MatmulListOp> {
  static constexpr ScaledGroup<MatmulListOp> kInputs[] = {
      {MatmulListOp::odsIndex_lhs, MatmulListOp::odsIndex_lhs_scales,
       &MatmulListOp::Properties::lhs_types},
      {MatmulListOp::odsIndex_rhs, MatmulListOp::odsIndex_rhs_scales,
       &MatmulListOp::Properties::rhs_types}};
};
template <> struct StorageTraits<QuantizeOp> {
  static constexpr std::array<ScaledGroup<QuantizeOp>, 0> kInputs = {};
  static constexpr ScaledGroup<QuantizeOp> kOut = {
      QuantizeOp::odsIndex_out, QuantizeOp::odsIndex_out_scales,
      &QuantizeOp::Properties::out_types};
};
template <> struct StorageTraits<DequantizeOp> {
  static constexpr ScaledGroup<DequantizeOp> kInputs[] = {
      {DequantizeOp::odsIndex_input, DequantizeOp::odsIndex_input_scales,
       &DequantizeOp::Properties::input_types}};
};
template <> struct StorageTraits<RelayoutScalesOp> {
  static constexpr ScaledGroup<RelayoutScalesOp> kInputs[] = {
      {RelayoutScalesOp::odsIndex_input,
       RelayoutScalesOp::odsIndex_input_scales,
       &RelayoutScalesOp::Properties::input_types}};
};
template <> struct StorageTraits<RelayoutGateOp> {
  static constexpr ScaledGroup<RelayoutGateOp> kInputs[] = {
      {RelayoutGateOp::odsIndex_input, RelayoutGateOp::odsIndex_input_scales,
       &RelayoutGateOp::Properties::input_types}};
  static constexpr ScaledGroup<RelayoutGateOp> kOut = {
      RelayoutGateOp::odsIndex_out, RelayoutGateOp::odsIndex_out_scales,
      &RelayoutGateOp::Properties::out_types};
};
template <> struct StorageTraits<RelayoutWeightsOp> {
  static constexpr ScaledGroup<RelayoutWeightsOp> kInputs[] = {
      {RelayoutWeightsOp::odsIndex_input,
       RelayoutWeightsOp::odsIndex_input_scales,
       &RelayoutWeightsOp::Properties::input_types}};
  static constexpr ScaledGroup<RelayoutWeightsOp> kOut = {
      RelayoutWeightsOp::odsIndex_out, RelayoutWeightsOp::odsIndex_out_scales,
      &RelayoutWeightsOp::Properties::out_types};
};

/// Puts an op into storage form: scaled operands split into the segments of
/// values and scales, scaled results get destinations.
template <typename OpTy> struct DecomposeOp : OpConversionPattern<OpTy> {
  using OpConversionPattern<OpTy>::OpConversionPattern;
  using Adaptor = typename OpConversionPattern<OpTy>::OneToNOpAdaptor;
  using Traits = StorageTraits<OpTy>;
  using Segments = SmallVector<SmallVector<Value>>;

  LogicalResult
  matchAndRewrite(OpTy op, Adaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    typename OpTy::Properties properties = op.getProperties();
    Segments segments = splitOperands(op, adaptor, properties, rewriter);
    SmallVector<Type> resultTypes;
    unsigned numCopies = countCopies(op);
    for (Type type : llvm::drop_end(op->getResultTypes(), numCopies)) {
      if (auto scaled = dyn_cast<ScaledType>(type))
        addDestinations(op, scaled, segments, properties, resultTypes,
                        rewriter);
      else
        resultTypes.push_back(type);
    }
    addCopies(op, numCopies, segments, properties, resultTypes, rewriter);

    SmallVector<Value> operands;
    for (auto [segment, size] :
         llvm::zip_equal(segments, properties.operandSegmentSizes)) {
      size = segment.size();
      llvm::append_range(operands, segment);
    }
    OpTy storage =
        OpTy::create(rewriter, op.getLoc(), resultTypes, operands, properties);
    storage->setDiscardableAttrs(op->getDiscardableAttrDictionary());
    for (auto [from, to] :
         llvm::zip_equal(op->getRegions(), storage->getRegions()))
      rewriter.inlineRegionBefore(from, to, to.begin());
    replaceResults(op, segments, storage, rewriter);
    return success();
  }

private:
  static Segments splitOperands(OpTy op, Adaptor adaptor,
                                typename OpTy::Properties &properties,
                                OpBuilder &builder) {
    Segments values, scales;
    unsigned next = 0;
    for (int32_t size : properties.operandSegmentSizes) {
      values.emplace_back();
      scales.emplace_back();
      for (int32_t i = 0; i < size; ++i) {
        ValueRange converted = adaptor.getOperands()[next++];
        values.back().push_back(converted[0]);
        if (converted.size() == 2)
          scales.back().push_back(converted[1]);
      }
    }
    for (const ScaledGroup<OpTy> &group : Traits::kInputs) {
      if (scales[group.values].empty())
        continue;
      unsigned first = 0;
      for (unsigned i = 0; i < group.values; ++i)
        first += op.getProperties().operandSegmentSizes[i];
      SmallVector<Type> types;
      for (unsigned i = 0; i < scales[group.values].size(); ++i)
        types.push_back(op->getOperand(first + i).getType());
      properties.*group.types = builder.getTypeArrayAttr(types);
      values[group.scales] = scales[group.values];
    }
    return values;
  }

  /// Results of type scaled that are copies; they are the last.
  static unsigned countCopies(OpTy op) {
    if constexpr (std::is_same_v<OpTy, MatmulOp>)
      if (op.getCopies() && op.getCopyOuts().empty())
        return op.getCopies()->size();
    return 0;
  }

  /// Destinations of copies: all values, then all scales.
  static void addCopies(OpTy op, unsigned numCopies, Segments &segments,
                        typename OpTy::Properties &properties,
                        SmallVector<Type> &resultTypes, OpBuilder &builder) {
    if constexpr (std::is_same_v<OpTy, MatmulOp>) {
      if (!numCopies)
        return;
      SmallVector<Type> types;
      for (const ProductCopy &copy : op.getCopyList()) {
        StorageDestinations destinations = createStorageDestinations(
            builder, op, copy.out.type, segments, copy.attr.getTransposed());
        segments[Traits::kCopies.values].push_back(destinations.values);
        segments[Traits::kCopies.scales].push_back(destinations.scales);
        types.push_back(copy.out.type);
      }
      properties.*Traits::kCopies.types = builder.getTypeArrayAttr(types);
      for (unsigned segment : {Traits::kCopies.values, Traits::kCopies.scales})
        llvm::append_range(resultTypes,
                           ValueRange(segments[segment]).getTypes());
    }
  }

  static void addDestinations(OpTy op, ScaledType type, Segments &segments,
                              typename OpTy::Properties &properties,
                              SmallVector<Type> &resultTypes,
                              OpBuilder &builder) {
    StorageDestinations destinations =
        createStorageDestinations(builder, op, type, segments);
    if constexpr (std::is_same_v<OpTy, RelayoutScalesOp>) {
      // The values stay as they are.
      segments[3] = {destinations.scales};
      properties.out_type = TypeAttr::get(op.getResult().getType());
      resultTypes.push_back(destinations.scales.getType());
    } else if constexpr (requires { Traits::kOut; }) {
      segments[Traits::kOut.values] = {destinations.values};
      segments[Traits::kOut.scales] = {destinations.scales};
      properties.*Traits::kOut.types =
          builder.getTypeArrayAttr(Type(destinations.type));
      resultTypes.push_back(destinations.values.getType());
      resultTypes.push_back(destinations.scales.getType());
    }
  }

  static void replaceResults(OpTy op, const Segments &segments, OpTy storage,
                             ConversionPatternRewriter &rewriter) {
    Location loc = op.getLoc();
    SmallVector<SmallVector<Value>> replacements;
    unsigned next = 0;
    unsigned numCopies = countCopies(op);
    for (Type type : llvm::drop_end(op->getResultTypes(), numCopies)) {
      SmallVector<Value> &values = replacements.emplace_back();
      auto scaled = dyn_cast<ScaledType>(type);
      if (!scaled) {
        values.push_back(storage->getResult(next++));
        continue;
      }
      if (std::is_same_v<OpTy, RelayoutScalesOp>)
        values.push_back(segments[0].front());
      else
        values.push_back(castTo(rewriter, loc, storage->getResult(next++),
                                scaled.getDataTensorType()));
      values.push_back(castTo(rewriter, loc, storage->getResult(next++),
                              scaled.getScaleTensorType()));
    }
    for (unsigned i = 0; i < numCopies; ++i) {
      auto scaled = cast<ScaledType>(
          op->getResult(op->getNumResults() - numCopies + i).getType());
      replacements.push_back(
          {castTo(rewriter, loc, storage->getResult(next + i),
                  scaled.getDataTensorType()),
           castTo(rewriter, loc, storage->getResult(next + numCopies + i),
                  scaled.getScaleTensorType())});
    }
    rewriter.replaceOpWithMultiple(op, std::move(replacements));
  }
};

/// The types of arguments or results, with the scaled type of each half.
void annotate(ArrayRef<Type> types, unsigned shiftedIndex,
              function_ref<void(unsigned, StringRef, Type)> set) {
  unsigned index = shiftedIndex;
  for (Type type : types) {
    if (isa<ScaledType>(type)) {
      set(index++, GroupedScaledGemmDialect::getValuesOfAttrName(), type);
      set(index++, GroupedScaledGemmDialect::getScalesOfAttrName(), type);
    } else {
      ++index;
    }
  }
}

struct DecomposeScaled
    : nvfp4::gsg::impl::DecomposeScaledPassBase<DecomposeScaled> {
  void runOnOperation() override {
    MLIRContext *context = &getContext();
    // The signature is rewritten by upstream patterns, which know nothing of
    // scaled types; what an argument was is recorded first.
    DenseMap<StringAttr, std::pair<SmallVector<Type>, SmallVector<Type>>> types;
    getOperation().walk([&](func::FuncOp func) {
      types[func.getSymNameAttr()] = {llvm::to_vector(func.getArgumentTypes()),
                                      llvm::to_vector(func.getResultTypes())};
    });

    TypeConverter converter;
    populateDecomposeScaledTypeConversion(converter);
    RewritePatternSet patterns(context);
    ConversionTarget target(*context);
    populateDecomposeScaledPatterns(converter, patterns);
    populateFunctionOpInterfaceTypeConversionPattern<func::FuncOp>(patterns,
                                                                   converter);
    populateCallOpTypeConversionPattern(patterns, converter);
    populateReturnOpTypeConversionPattern(patterns, converter);
    scf::populateSCFStructuralTypeConversionsAndLegality(converter, patterns,
                                                         target);
    target.addDynamicallyLegalOp<func::FuncOp>([&](func::FuncOp op) {
      return converter.isSignatureLegal(op.getFunctionType()) &&
             converter.isLegal(&op.getBody());
    });
    target.markUnknownOpDynamicallyLegal(
        [&](Operation *op) { return converter.isLegal(op); });
    if (failed(
            applyFullConversion(getOperation(), target, std::move(patterns))))
      return signalPassFailure();

    getOperation().walk([&](func::FuncOp func) {
      auto it = types.find(func.getSymNameAttr());
      if (it == types.end())
        return;
      annotate(it->second.first, 0, [&](unsigned i, StringRef name, Type type) {
        func.setArgAttr(i, name, TypeAttr::get(type));
      });
      annotate(it->second.second, 0,
               [&](unsigned i, StringRef name, Type type) {
                 func.setResultAttr(i, name, TypeAttr::get(type));
               });
    });
  }
};

} // namespace

void nvfp4::gsg::populateDecomposeScaledTypeConversion(
    TypeConverter &converter) {
  converter.addConversion([](Type type) { return type; });
  converter.addConversion([](ScaledType type, SmallVectorImpl<Type> &types) {
    types.push_back(type.getDataTensorType());
    types.push_back(type.getScaleTensorType());
    return success();
  });
}

void nvfp4::gsg::populateDecomposeScaledPatterns(const TypeConverter &converter,
                                                 RewritePatternSet &patterns) {
  patterns.add<DecomposeMakeScaled, DecomposeSplitScaled, DecomposeOp<MatmulOp>,
               DecomposeOp<MatmulListOp>, DecomposeOp<QuantizeOp>,
               DecomposeOp<DequantizeOp>, DecomposeOp<RelayoutScalesOp>,
               DecomposeOp<RelayoutGateOp>, DecomposeOp<RelayoutWeightsOp>>(
      converter, patterns.getContext());
}
