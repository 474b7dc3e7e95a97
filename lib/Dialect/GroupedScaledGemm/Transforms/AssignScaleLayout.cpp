//===- AssignScaleLayout.cpp - The pass gsg-assign-scale-layout -*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Re-layouts stand beside the product, on the host: a later pass may move those
// of weights to where the weights are made.
//
//===----------------------------------------------------------------------===//

#include "nvfp4/Dialect/GroupedScaledGemm/IR/GroupedScaledGemm.h"
#include "nvfp4/Dialect/GroupedScaledGemm/IR/GroupingForm.h"
#include "nvfp4/Dialect/GroupedScaledGemm/Transforms/KernelSupport.h"
#include "nvfp4/Dialect/GroupedScaledGemm/Transforms/ListProblem.h"
#include "nvfp4/Dialect/GroupedScaledGemm/Transforms/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

namespace nvfp4::gsg {
#define GEN_PASS_DEF_ASSIGNSCALELAYOUTPASS
#include "nvfp4/Dialect/GroupedScaledGemm/Transforms/Passes.h.inc"
} // namespace nvfp4::gsg

using namespace mlir;
using namespace nvfp4::gsg;

namespace {
/// What is made for one product and freed behind it.
class ProductScales {
public:
  ProductScales(Operation *product, const KernelTarget &target)
      : product(product), op(dyn_cast<MatmulOp>(product)), b(product),
        loc(product->getLoc()), target(target) {}

  LogicalResult assignGateLayout();
  void assignLhs();
  void assignLinearLhs(const ScaledOperand &lhs);
  void assignRhs();
  void assignList(MatmulListOp list);

private:
  Value allocate(MemRefType type, ValueRange sizes);
  Value size(Value memref, int64_t index) {
    return memref::DimOp::create(b, loc, memref, index);
  }
  Value ceilDiv(Value a, int64_t by) {
    Value divisor = arith::ConstantIndexOp::create(b, loc, by);
    return arith::CeilDivSIOp::create(b, loc, a, divisor);
  }
  bool isAlongK() { return getForm(op.getGrouping()).cutsK(); }
  /// The launch lays scales out itself.
  bool isLinear() { return target.getFeatures().linearScales || isAlongK(); }
  /// Where code that reads linear scales expects those of a group: at the
  /// group's row; along K wherever they are.
  GroupStart getStart(ScaledType from) {
    return isAlongK() ? from.getGroupStart() : GroupStart::Whole;
  }
  /// Row tiles of the scales of `operand` as `to`.
  Value countRowTiles(const ScaledOperand &operand, ScaledType to);
  /// The scales of `operand` as `to`.
  Value relayout(const ScaledOperand &operand, ScaledType to);

  Operation *product;
  /// The same, if it is no list.
  MatmulOp op;
  OpBuilder b;
  Location loc;
  const KernelTarget &target;
};
} // namespace

Value ProductScales::allocate(MemRefType type, ValueRange sizes) {
  Value memory = memref::AllocOp::create(b, loc, type, sizes);
  OpBuilder after(product->getContext());
  after.setInsertionPointAfter(product);
  memref::DeallocOp::create(after, loc, memory);
  return memory;
}

Value ProductScales::countRowTiles(const ScaledOperand &operand,
                                   ScaledType to) {
  int64_t rank = to.getRank();
  Value rows = size(operand.data, rank - 2);
  if (to.getGroupStart() == GroupStart::UpperBound) {
    // Group g starts at floor((start + 127 g) / 128), and the last one ends at
    // most 127 rows later.
    // The values of weights laid out for a target have another rank.
    Value groups =
        op.getRhsType().getRank() == 3
            ? size(op.getRhs()[0], 0)
            : arith::ConstantIndexOp::create(b, loc, op.getRhs().size());
    Value pad = arith::MulIOp::create(
        b, loc, groups, arith::ConstantIndexOp::create(b, loc, 127));
    rows = arith::AddIOp::create(b, loc, rows, pad);
  }
  return ceilDiv(rows, 128);
}

Value ProductScales::relayout(const ScaledOperand &operand, ScaledType to) {
  SmallVector<int64_t> shape = to.getScaleShape();
  SmallVector<Value> sizes;
  int64_t rank = to.getRank();
  for (auto [d, extent] : llvm::enumerate(shape)) {
    if (!ShapedType::isDynamic(extent))
      continue;
    int64_t dim = static_cast<int64_t>(d);
    if (to.getLayout() == ScaleLayout::Linear) {
      Value extent = size(operand.data, dim);
      int64_t stored = to.isFP4() ? 2 : 1;
      if (dim == rank - 1) {
        extent = ceilDiv(extent, to.getBlockSize() / stored);
        // The last block of each group may be short.
        if (to.getGroupStart() != GroupStart::Whole)
          extent =
              arith::AddIOp::create(b, loc, extent, size(op.getGroups(), 0));
      }
      sizes.push_back(extent);
    } else if (dim == rank - 2) {
      sizes.push_back(countRowTiles(operand, to));
    } else if (dim == rank - 1) {
      Value values = size(operand.data, rank - 1);
      int64_t stored = to.isFP4() ? 2 : 1;
      sizes.push_back(ceilDiv(values, 4 * to.getBlockSize() / stored));
    } else {
      sizes.push_back(size(operand.data, dim));
    }
  }
  Value target =
      allocate(MemRefType::get(shape, to.getScaleElementType()), sizes);
  bool isByGroup = to.getGroupStart() != GroupStart::Whole ||
                   operand.type.getGroupStart() != GroupStart::Whole;
  RelayoutScalesOp::create(b, loc, TypeRange(), operand.data, operand.scales,
                           b.getArrayAttr(TypeAttr::get(operand.type)),
                           isByGroup ? op.getGroups() : Value(),
                           isByGroup ? op.getGroupingAttr() : GroupingAttr(),
                           target, TypeAttr::get(to));
  return target;
}

void ProductScales::assignLinearLhs(const ScaledOperand &lhs) {
  ScaledType to = lhs.type.withLayout(ScaleLayout::Linear, getStart(lhs.type));
  if (to == lhs.type)
    return;
  op.getLhsScalesMutable().assign(relayout(lhs, to));
  op.setLhsTypesAttr(b.getArrayAttr(TypeAttr::get(to)));
}

void ProductScales::assignLhs() {
  ScaledOperand lhs = getScaledOperands(op.getLhs(), op.getLhsScales(),
                                        op.getLhsTypesAttr())[0];
  GroupingAttr grouping = op.getGrouping();
  bool isRagged = getForm(grouping).cutsRows();
  if (!lhs.type)
    return;
  if (isLinear()) {
    if (lhs.type.isKMajor())
      assignLinearLhs(lhs);
    return;
  }
  bool isCut = isRagged && grouping.getAlign() % 128 != 0;
  GroupStart start = isCut ? GroupStart::UpperBound : GroupStart::Whole;
  ScaledType to = lhs.type.withLayout(ScaleLayout::Blocked, start);
  if (to == lhs.type || !lhs.type.isKMajor())
    return;
  op.getLhsScalesMutable().assign(relayout(lhs, to));
  op.setLhsTypesAttr(b.getArrayAttr(TypeAttr::get(to)));
}

void ProductScales::assignList(MatmulListOp list) {
  auto assign = [&](MutableOperandRange operands, ValueRange data,
                    ValueRange scales, ArrayAttr types) {
    SmallVector<Value> assigned;
    SmallVector<Attribute> assignedTypes;
    for (const ScaledOperand &operand :
         getScaledOperands(data, scales, types)) {
      ScaledType to = operand.type;
      if (to.isKMajor() && !to.isCoded())
        to = to.withLayout(target.getFeatures().linearScales
                               ? ScaleLayout::Linear
                               : ScaleLayout::Blocked,
                           GroupStart::Whole);
      bool stays = to == operand.type;
      assigned.push_back(stays ? operand.scales : relayout(operand, to));
      assignedTypes.push_back(TypeAttr::get(to));
    }
    operands.assign(assigned);
    return b.getArrayAttr(assignedTypes);
  };
  list.setLhsTypesAttr(assign(list.getLhsScalesMutable(), list.getLhs(),
                              list.getLhsScales(), list.getLhsTypesAttr()));
  list.setRhsTypesAttr(assign(list.getRhsScalesMutable(), list.getRhs(),
                              list.getRhsScales(), list.getRhsTypesAttr()));
}

void ProductScales::assignRhs() {
  SmallVector<ScaledOperand> parts =
      getScaledOperands(op.getRhs(), op.getRhsScales(), op.getRhsTypesAttr());
  // Weights of separate operands have one type.
  ScaledType from = parts.front().type;
  if (from.isCoded())
    return;
  ScaledType to = from.withLayout(
      isLinear() ? ScaleLayout::Linear : ScaleLayout::Blocked, getStart(from));
  if (to == from || !from.isKMajor())
    return;
  SmallVector<Value> scales;
  for (const ScaledOperand &part : parts)
    scales.push_back(relayout(part, to));
  op.getRhsScalesMutable().assign(scales);
  SmallVector<Attribute> types(parts.size(), TypeAttr::get(to));
  op.setRhsTypesAttr(b.getArrayAttr(types));
}

/// Granularity for columns that are moved: a power of two up to 32 that splits
/// N. Runs of 32 fill a chunk of the epilogue, and every tile of 64 columns has
/// whole pairs of them; longer ones would ask for wider tiles and gain nothing.
static int64_t getTileGranularity(int64_t n) {
  int64_t q = 32;
  while (q > 1 && (ShapedType::isDynamic(n) || n % (2 * q) != 0))
    q /= 2;
  return q;
}

LogicalResult ProductScales::assignGateLayout() {
  ActivationAttr activation = op.getActivationOrIdentity();
  GateAttr gate = activation.getGate();
  if (!gate)
    return success();
  int64_t q = gate.getGranularity();
  // A thread quantises what it finishes at a time: 16 pairs of shorter runs.
  bool hasWideBlocks =
      getRowBlock(op) > 16 ||
      (op.getQuantizer() && op.getQuantizedType().getBlockSize() > 16);
  // The two halves of a pair are in one thread's rows of the product.
  int64_t least = hasWideBlocks ? 32 : 1,
          most = target.getFeatures().longestGateRun;
  if (q >= least && q <= most && llvm::isPowerOf2_64(q))
    return success();
  // What is coded has no rows to move: convert-gsg-to-warpspec says so.
  if (op.getRhsType().isCoded())
    return success();
  SmallVector<ScaledOperand> parts =
      getScaledOperands(op.getRhs(), op.getRhsScales(), op.getRhsTypesAttr());
  // relayout_gate moves no weights whose groups are along K.
  if (llvm::any_of(parts, [](const ScaledOperand &part) {
        return part.type.getGroupStart() != GroupStart::Whole;
      }))
    return refuseKernel(op, target, "the gate layout ")
           << gate << " of groups along K; use runs of "
           << listGateRuns(least, most);
  // Columns of an addend and of a stored pre-activation stay where they are.
  if (op.getAddend() || op.getPreactOut()) {
    if (!target.getFeatures().outerGate)
      return success();
    if (!op.getOuterGate())
      op.setOuterGateAttr(gate);
  }
  // Blocks of 32 pairs split N, known or not.
  auto to = GateAttr::get(op.getContext(),
                          hasWideBlocks ? 32 : getTileGranularity(op.getN()),
                          gate.getOrder());
  auto like = [&](Value memref) {
    auto type = cast<MemRefType>(memref.getType());
    SmallVector<Value> sizes;
    for (int64_t d = 0; d < type.getRank(); ++d)
      if (type.isDynamicDim(d))
        sizes.push_back(size(memref, d));
    return allocate(type, sizes);
  };
  auto move = [&](Value input, Value scales, ArrayAttr types) {
    Value out = like(input), outScales;
    if (scales) {
      outScales = like(scales);
      // Padding scales are finite, and only rows are moved.
      auto element =
          cast<FloatType>(cast<MemRefType>(scales.getType()).getElementType());
      Value finite = arith::ConstantOp::create(
          b, loc, b.getFloatAttr(element, isa<Float8E8M0FNUType>(element)));
      linalg::FillOp::create(b, loc, finite, outScales);
    }
    RelayoutGateOp::create(b, loc, TypeRange(), input, scales, types, gate, to,
                           out, outScales, types);
    return std::pair(out, outScales);
  };
  SmallVector<Value> values, scales;
  for (const ScaledOperand &part : parts) {
    auto [moved, movedScales] =
        move(part.data, part.scales, b.getArrayAttr(TypeAttr::get(part.type)));
    values.push_back(moved);
    scales.push_back(movedScales);
  }
  op.getRhsMutable().assign(values);
  op.getRhsScalesMutable().assign(scales);
  if (Value bias = op.getBias())
    op.getBiasMutable().assign(move(bias, Value(), ArrayAttr()).first);
  op.setActivationAttr(ActivationAttr::get(
      op.getContext(), activation.getKind(), to, activation.getAlpha(),
      activation.getBeta(), activation.getLimit(), activation.getRoundBf16()));
  return success();
}

namespace {
struct AssignScaleLayout
    : nvfp4::gsg::impl::AssignScaleLayoutPassBase<AssignScaleLayout> {
  using AssignScaleLayoutPassBase::AssignScaleLayoutPassBase;

  void runOnOperation() override {
    FailureOr<const KernelTarget *> kernels =
        getKernelTarget(getOperation(), target);
    if (failed(kernels))
      return signalPassFailure();
    SmallVector<MatmulOp> products;
    SmallVector<MatmulListOp> lists;
    getOperation()->walk([&](MatmulOp op) { products.push_back(op); });
    getOperation()->walk([&](MatmulListOp op) { lists.push_back(op); });
    for (MatmulListOp list : lists)
      if (hasOneKernel(list))
        ProductScales(list, **kernels).assignList(list);
    for (MatmulOp op : products) {
      // The others are told what is missing by convert-gsg-to-warpspec.
      if (op.getRhsScales().empty() ||
          !isa<MemRefType>(op.getLhs()[0].getType()))
        continue;
      ProductScales scales(op, **kernels);
      if (failed(scales.assignGateLayout()))
        return signalPassFailure();
      scales.assignLhs();
      scales.assignRhs();
    }
  }
};
} // namespace
