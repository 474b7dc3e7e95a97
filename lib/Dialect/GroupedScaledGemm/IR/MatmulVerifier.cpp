//===- MatmulVerifier.cpp - Verifier of matmul ------------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// `matmul` against docs/Spec.md; comments name the constraints. Shared ones are
// in Verification.h, those of its region in EpilogueVerifier.cpp.
//
//===----------------------------------------------------------------------===//

#include "Verification.h"
#include "nvfp4/Dialect/GroupedScaledGemm/IR/GroupingForm.h"

#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace nvfp4::gsg;

namespace {
/// Extents of one product, as far as its operand types tell.
struct ProductExtents {
  int64_t groups = ShapedType::kDynamic;
  int64_t rows = ShapedType::kDynamic;
  int64_t n = ShapedType::kDynamic;
  int64_t k = ShapedType::kDynamic;
  int64_t columns = ShapedType::kDynamic;
};

/// The more specific of two compatible extents.
int64_t meet(int64_t a, int64_t b) { return ShapedType::isDynamic(a) ? b : a; }

/// Checks the operands of one matmul, in the order of the assembly.
class MatmulChecker {
public:
  explicit MatmulChecker(MatmulOp op)
      : op(op), kind(op.getGrouping().getKind()), form(getForm(kind)) {}

  LogicalResult run() {
    for (auto check : {&MatmulChecker::operands, &MatmulChecker::factors,
                       &MatmulChecker::groups, &MatmulChecker::gradient,
                       &MatmulChecker::terms, &MatmulChecker::activation,
                       &MatmulChecker::outerGate, &MatmulChecker::result,
                       &MatmulChecker::copies, &MatmulChecker::destinations})
      if (failed((this->*check)()))
        return failure();
    return success();
  }

private:
  bool isBatchedForm() const { return form.stacksRows; }

  /// Forms and storage of lhs and rhs.
  LogicalResult operands() {
    if (failed(verifyForm(op)) ||
        failed(verifyScaledOperands(op, "lhs", op.getLhs(), op.getLhsScales(),
                                    op.getLhsTypesAttr(), /*orPlain=*/true)) ||
        failed(verifyScaledOperands(op, "rhs", op.getRhs(), op.getRhsScales(),
                                    op.getRhsTypesAttr())) ||
        failed(verifyScaledOut(op, op.getOut(), op.getOutScales(),
                               op.getOutTypesAttr())))
      return failure();
    // matmul_c1
    if (op.getLhs().size() != 1 || op.getRhs().empty())
      return op.emitOpError("expected 1 lhs and at least 1 rhs, but got ")
             << op.getLhs().size() << " and " << op.getRhs().size();
    bool storage = !op.getRhsScales().empty();
    Type lhsType = op.getLhs()[0].getType();
    if (op.getLhsType()) {
      if (failed(verifySameForm(op, !op.getLhsScales().empty(), "lhs", storage,
                                "rhs")))
        return failure();
    } else if (Type element = getElementTypeOrSelf(lhsType);
               !element.isBF16() && !element.isF16()) {
      // matmul_c40
      return op.emitOpError("expected lhs of type scaled, with scales "
                            "(scaled_by), or of bf16 or f16, but got ")
             << lhsType;
    }
    if (op.getOutScales() ||
        llvm::any_of(op.getResultTypes(), llvm::IsaPred<ScaledType>))
      return verifySameForm(op, storage, op.getLhsType() ? "lhs" : "rhs",
                            static_cast<bool>(op.getOutScales()), "result");
    return success();
  }

  /// Shapes and formats of lhs and rhs.
  LogicalResult factors() {
    lhs = op.getLhsType();
    rhs = op.getRhsType();
    Type lhsType = lhs ? Type(lhs) : op.getLhs()[0].getType();
    lhsShape = getShapeOf(lhsType);
    int64_t lhsRank = isBatchedForm() ? 3 : 2;
    // matmul_c2
    if (static_cast<int64_t>(lhsShape.size()) != lhsRank)
      return op.emitOpError("expected lhs of rank ")
             << lhsRank << " for grouping '" << stringifyGroupingKind(kind)
             << "', but got " << lhsType;
    bool stackable = form.hasOwnWeights;
    int64_t count = op.getRhs().size();
    // matmul_c3
    if (rhs.getRank() != 2 && !(stackable && count == 1 && rhs.getRank() == 3))
      return op.emitOpError("expected rhs ")
             << (stackable ? "[G, N, K], or one [N, K] a group," : "[N, K]")
             << " for grouping '" << stringifyGroupingKind(kind)
             << "', but got " << rhs;
    if (!stackable && count != 1)
      return op.emitOpError("expected 1 rhs for grouping '")
             << stringifyGroupingKind(kind) << "', but got " << count;
    for (int64_t i = 1; i < count; ++i)
      // matmul_c4
      if (op.getRhsType(i) != rhs)
        return op.emitOpError("expected weights of one type, but got ")
               << rhs << " and " << op.getRhsType(i);
    for (auto [name, type] : {std::pair<StringRef, ScaledType>("lhs", lhs),
                              std::pair<StringRef, ScaledType>("rhs", rhs)})
      // matmul_c5
      if (type && !type.isKMajor())
        return op.emitOpError("expected ")
               << name << " with blocks along K, axis " << type.getRank() - 1
               << ", but got axis " << type.getAxis()
               << "; quantise it along K";
    // matmul_c42
    if (rhs.isCoded() && form.cutsK())
      return op.emitOpError("expected linear weights for grouping '")
             << stringifyGroupingKind(kind)
             << "', whose groups begin anywhere along K, but got " << rhs;
    // matmul_c43
    bool isF16 = !lhs && getElementTypeOrSelf(lhsType).isF16();
    ScaleLayout coded = isF16 ? ScaleLayout::WgmmaF16 : ScaleLayout::Wgmma;
    if (rhs.isCoded() && rhs.getLayout() != coded)
      return op.emitOpError("expected the layout '")
             << stringifyScaleLayout(coded) << "' of weights for rows that are "
             << "multiplied in " << (isF16 ? "f16" : "bf16") << ", but got '"
             << stringifyScaleLayout(rhs.getLayout()) << "'";
    // matmul_c6
    if (lhs && !haveOneScaleType(lhs, rhs))
      return op.emitOpError("expected lhs and rhs of equal block size and "
                            "scale type, but got ")
             << stringifyBlockFormat(lhs.getFormat()) << " ("
             << lhs.getBlockSize() << ", " << lhs.getScaleElementType()
             << ") and " << stringifyBlockFormat(rhs.getFormat()) << " ("
             << rhs.getBlockSize() << ", "
             << rhs.withLayout(ScaleLayout::Linear, GroupStart::Whole)
                    .getScaleElementType()
             << ")";
    int64_t lhsK = lhsShape.back(), rhsK = rhs.getShape().back();
    // matmul_c7
    if (!areCompatible(lhsK, rhsK))
      return op.emitOpError("expected lhs and rhs of equal K, but got ")
             << lhsK << " and " << rhsK;
    dims.k = meet(lhsK, rhsK);
    dims.rows = lhsShape[lhsRank - 2];
    dims.n = rhs.getDimSize(rhs.getRank() - 2);
    return success();
  }

  /// The number of groups, and the groups operand.
  LogicalResult groups() {
    bool discrete = rhs.getRank() == 2;
    if (form.hasOwnWeights)
      dims.groups = discrete ? static_cast<int64_t>(op.getRhs().size())
                             : rhs.getDimSize(0);
    else
      dims.groups = form.hasOffsets()
                        ? getGroupCount(op.getGrouping(), op.getGroups())
                        : 1;
    if (isBatchedForm()) {
      // matmul_c8
      if (!areCompatible(dims.groups, lhsShape[0]))
        return op.emitOpError("expected as many groups in lhs as in rhs, but "
                              "got ")
               << lhsShape[0] << " and " << dims.groups;
      dims.groups = meet(dims.groups, lhsShape[0]);
    }
    bool alongK = form.cutsK();
    // matmul_c3
    if (discrete && !alongK && op.getGrouping().hasGroupsOperand()) {
      int64_t wanted = getGroupCount(op.getGrouping(), op.getGroups());
      if (!areCompatible(wanted, dims.groups))
        return op.emitOpError("expected rhs [G, N, K], or one [N, K] a group, "
                              "for ")
               << wanted << " groups, but got " << dims.groups << " of type "
               << rhs;
    }
    if (failed(verifyGroups(op, op.getGrouping(), op.getGroups(), dims.groups,
                            alongK ? dims.k : dims.rows)))
      return failure();
    if (ShapedType::isDynamic(dims.groups))
      dims.groups =
          meet(dims.groups, getGroupCount(op.getGrouping(), op.getGroups()));
    if (lhs && failed(verifyGroupStarts(op, "lhs", lhs, op.getGrouping(),
                                        op.getGroups(), form.getCutDim())))
      return failure();
    std::optional<int64_t> rhsRagged;
    if (alongK)
      rhsRagged = form.getCutDim();
    return verifyGroupStarts(op, "rhs", rhs, op.getGrouping(), op.getGroups(),
                             rhsRagged);
  }

  /// `[M, columns]` with the group in front where the form has one.
  NamedShape productShape(int64_t columns) {
    if (form.stacksResult)
      return {{dims.groups, dims.rows, columns}, form.resultShape};
    return {{dims.rows, columns}, form.resultShape};
  }

  NamedShape rowShape() {
    if (isBatchedForm())
      return {{dims.groups, dims.rows}, "[G, M]"};
    return {{dims.rows}, "[M]"};
  }

  static Type typeOf(Value value) { return value ? value.getType() : Type(); }

  /// gradient_of, its operands and what cannot stand beside it.
  LogicalResult gradient() {
    ActivationAttr of = op.getGradientOfAttr();
    // matmul_c44
    if (static_cast<bool>(of) != static_cast<bool>(op.getPreact()))
      return op.emitOpError(
                 "expected gradient_of and preact together, but got ")
             << (of ? "gradient_of" : "preact") << " alone";
    // matmul_c45
    if (!of && op.getProbOut())
      return op.emitOpError("expected prob_outs with gradient_of only, but got "
                            "no gradient_of");
    if (!of)
      return success();
    // matmul_c46
    if (of.getKind() == ActivationKind::Custom)
      return op.emitOpError("expected gradient_of an activation with a "
                            "formula, but got 'custom'");
    // matmul_c47
    for (auto [name, isThere, instead] :
         {std::tuple<StringRef, bool, StringRef>(
              "activation", op.getActivation().has_value(),
              "apply it in the product of the forward pass"),
          {"activation_params", static_cast<bool>(op.getActivationParams()),
           "write alpha, beta and limit in gradient_of"},
          {"bias", static_cast<bool>(op.getBias()),
           "add it in the product of the forward pass"},
          {"preact_outs", static_cast<bool>(op.getPreactOut()),
           "compute the product without gradient_of to keep it"},
          {"amax_outs", static_cast<bool>(op.getAmaxOut()),
           "use grouped_scaled_gemm.amax on the result"}})
      if (isThere)
        return op.emitOpError("expected no ")
               << name << " beside gradient_of, but got one; " << instead;
    if (op.getProb() && op.getProbPosition() != ProbPosition::PostActivation)
      return op.emitOpError("expected prob at 'post_activation' beside "
                            "gradient_of, but got '")
             << stringifyProbPosition(op.getProbPosition()) << "'";
    if (op.getBeta() && !op.getAddend())
      return op.emitOpError("expected an addend with beta beside gradient_of, "
                            "because the destination holds no gradient of y");
    if (form.cutsK())
      return op.emitOpError("expected no gradient_of for grouping '")
             << stringifyGroupingKind(kind)
             << "', which the gradient of weights has; use ragged_rows";
    dims.columns =
        of.isPaired() && !ShapedType::isDynamic(dims.n) ? 2 * dims.n : dims.n;
    NamedShape shape = productShape(dims.columns);
    // matmul_c48
    if (failed(verifyShape(op, "preact", typeOf(op.getPreact()), shape)) ||
        failed(verifyGate(op, of.getGate(),
                          getShapeOf(op.getPreact().getType()).back())))
      return failure();
    // matmul_c49
    return verifyShape(op, "prob_outs", typeOf(op.getProbOut()), rowShape());
  }

  /// alpha, row_scale, beta, addend, bias, prob.
  LogicalResult terms() {
    bool paired = op.getActivationOrIdentity().isPaired();
    if (!op.getGradientOf())
      dims.columns =
          ShapedType::isDynamic(dims.n) || !paired ? dims.n : dims.n / 2;
    SmallVector<NamedShape, 2> perGroup{{{dims.groups}, "[G]"}};
    SmallVector<NamedShape, 2> alphas = perGroup;
    if (paired)
      alphas.push_back({{dims.groups, 2}, "[G, 2]"});
    NamedShape product = productShape(dims.n);
    // matmul_c9
    if (failed(verifyShape(op, "alpha", typeOf(op.getAlpha()), alphas,
                           /*orScalar=*/true)))
      return failure();
    // matmul_c10
    if (failed(verifyShape(op, "beta", typeOf(op.getBeta()), perGroup,
                           /*orScalar=*/true)))
      return failure();
    // matmul_c11
    if (op.getBeta() && !op.getAddend() &&
        (paired || op.getOutScales() || !op.getOut()))
      return op.emitOpError("expected an addend with beta, because ")
             << (paired ? "the destination has the columns of y, not of z"
                        : "a quantised destination cannot be accumulated to");
    // matmul_c12
    if (failed(verifyShape(op, "addend", typeOf(op.getAddend()), product)))
      return failure();
    // matmul_c13
    if (failed(verifyShape(
            op, "bias", typeOf(op.getBias()),
            {{{dims.n}, "[N]"}, {{dims.groups, dims.n}, "[G, N]"}})))
      return failure();
    // matmul_c55
    if (failed(
            verifyShape(op, "row_scale", typeOf(op.getRowScale()), rowShape())))
      return failure();
    // matmul_c14
    if (failed(verifyShape(op, "prob", typeOf(op.getProb()), rowShape())))
      return failure();
    // matmul_c15
    if (op.getProb() && op.getProbPosition() == ProbPosition::Bias &&
        !op.getBias())
      return op.emitOpError("expected a bias for prob at 'bias', but got none");
    return success();
  }

  /// Activation, its parameters and the operands of its region.
  LogicalResult activation() {
    ActivationAttr activation = op.getActivationOrIdentity();
    if (failed(verifyGate(op, activation.getGate(), dims.n)))
      return failure();
    // matmul_c16
    if (op.getActivationParams() && !op.hasExpandedEpilogue() &&
        !ActivationAttr::hasParameters(activation.getKind()))
      return op.emitOpError("expected activation_params with activation "
                            "'swiglu' only, but got '")
             << stringifyActivationKind(activation.getKind()) << "'";
    // matmul_c17
    if (failed(verifyShape(op, "activation_params",
                           typeOf(op.getActivationParams()),
                           {{{dims.groups, 3}, "[G, 3]"}})))
      return failure();
    bool custom = activation.getKind() == ActivationKind::Custom;
    // matmul_c18
    if (custom == op.getEpilogue().empty())
      return op.emitOpError("expected ")
             << (custom ? "an epilogue region" : "no epilogue region")
             << " for activation '"
             << stringifyActivationKind(activation.getKind()) << "', but got "
             << (custom ? "none" : "one");
    // matmul_c19
    if (!custom && !(op.getRow().empty() && op.getColumn().empty() &&
                     op.getGroup().empty()))
      return op.emitOpError("expected operands row, column and group with "
                            "activation 'custom' only, but got '")
             << stringifyActivationKind(activation.getKind()) << "'";
    // matmul_c20
    for (Value row : op.getRow())
      if (failed(verifyShape(op, "row operand", row.getType(), rowShape())))
        return failure();
    // matmul_c21
    for (Value column : op.getColumn())
      if (failed(verifyShape(op, "column operand", column.getType(),
                             {{{dims.columns}, "[N_out]"},
                              {{dims.groups, dims.columns}, "[G, N_out]"}})))
        return failure();
    // matmul_c22
    for (Value group : op.getGroup())
      if (failed(verifyShape(op, "group operand", group.getType(),
                             {{{dims.groups}, "[G]"}})))
        return failure();
    return success();
  }

  /// The gate layout of columns that were not moved with the weights.
  LogicalResult outerGate() {
    GateAttr outer = op.getOuterGateAttr();
    if (!outer)
      return success();
    // matmul_c41
    if (!op.getAddend() && !op.getPreactOut())
      return op.emitOpError("expected outer_gate with addend or preact_outs, "
                            "but got neither");
    GateAttr gate = op.getActivationOrIdentity().getGate();
    if (!gate || gate.getOrder() != outer.getOrder()) {
      InFlightDiagnostic diag = op.emitOpError("expected an activation with "
                                               "gates in the order of ")
                                << outer << ", but got ";
      return gate ? diag << gate : diag << "no gates";
    }
    return verifyGate(op, outer, dims.n);
  }

  /// y: its quantiser, or its element type.
  LogicalResult result() {
    ScaledType quantized = op.getQuantizedType();
    std::optional<QuantizerAttr> quantizer = op.getQuantizer();
    // matmul_c23
    if (static_cast<bool>(quantized) != quantizer.has_value())
      return op.emitOpError("expected ")
             << (quantized ? "a quantizer for a result of type scaled"
                           : "a result of type scaled for a quantizer")
             << ", but got none";
    // matmul_c24
    if (!quantized && (op.getGlobalScale() || op.getSeed()))
      return op.emitOpError("expected global_scale and seed with a quantizer "
                            "only, but got no quantizer");
    NamedShape shape = productShape(dims.columns);
    if (!quantized) {
      // matmul_c25
      if (failed(verifyShape(op, "outs", typeOf(op.getOut()), shape)))
        return failure();
      // matmul_c26
      if (Value out = op.getOut())
        if (!isa<Float32Type, Float16Type, BFloat16Type>(
                getElementTypeOrSelf(out.getType())))
          return op.emitOpError("expected outs of element type f32, f16 or "
                                "bf16, but got ")
                 << getElementTypeOrSelf(out.getType());
      return success();
    }
    // matmul_c27
    if (failed(verifyShape(op, "quantised result", quantized, shape)))
      return failure();
    // matmul_c28
    if (failed(verifyShape(op, "global_scale", typeOf(op.getGlobalScale()),
                           {{{dims.groups}, "[G]"}}, /*orScalar=*/true)))
      return failure();
    int64_t block = quantized.getBlockSize();
    // matmul_c29
    if (quantized.isKMajor() && !ShapedType::isDynamic(dims.columns) &&
        dims.columns % block != 0)
      return op.emitOpError("expected quantised columns to be a multiple of "
                            "the block size ")
             << block << ", but got N_out = " << dims.columns
             << " (nearest: " << llvm::divideCeil(dims.columns, block) * block
             << ")";
    std::optional<int64_t> raggedDim;
    if (form.cutsRows())
      raggedDim = form.getCutDim();
    if (failed(verifyGroupStarts(op, "the quantised result", quantized,
                                 op.getGrouping(), op.getGroups(), raggedDim)))
      return failure();
    return verifyQuantizer(op, *quantizer, quantized, op.getSeed(),
                           op.getGlobalScale(),
                           op.getGrouping().hasGroupsOperand());
  }

  /// Counts of operands and results of `copies`, then each copy.
  LogicalResult copies() {
    size_t count = op.getCopies() ? op.getCopies()->size() : 0;
    // copies_c1
    if (op.getCopies() && !count)
      return op.emitOpError("expected at least one copy in copies, but got "
                            "none; leave copies out");
    if (!count && op.getCopyOuts().empty() && op.getCopyOutScales().empty() &&
        op.getCopyGlobalScales().empty() && op.getCopySeeds().empty())
      return success();
    // storage_c1 to storage_c9
    if (failed(verifyScaledOperands(op, "copies", op.getCopyOuts(),
                                    op.getCopyOutScales(),
                                    op.getCopyTypesAttr())))
      return failure();
    auto countOf = [&](auto &&predicate) {
      return op.getCopies()
                 ? llvm::count_if(op.getCopies()->getAsRange<CopyAttr>(),
                                  predicate)
                 : 0;
    };
    auto numScales = static_cast<size_t>(
        countOf([](CopyAttr copy) { return copy.getHasGlobalScale(); }));
    auto numSeeds = static_cast<size_t>(countOf([](CopyAttr copy) {
      return copy.getQuantizer().getRounding() == Rounding::Stochastic;
    }));
    bool isStorage = !op.getRhsScales().empty();
    // copies_c1
    for (auto [name, expected, got] :
         {std::tuple<StringRef, size_t, size_t>(
              "global scales", numScales, op.getCopyGlobalScales().size()),
          {"seeds", numSeeds, op.getCopySeeds().size()},
          {"destinations of values", isStorage ? count : 0,
           op.getCopyOuts().size()},
          {"destinations of scales", isStorage ? count : 0,
           op.getCopyOutScales().size()}})
      if (expected != got)
        return op.emitOpError("expected ")
               << expected << " " << name << " for " << count << " copies"
               << (isStorage ? " in storage form" : " in value form")
               << ", but got " << got;
    for (const ProductCopy &copy : op.getCopyList())
      if (failed(verifyCopy(copy)))
        return failure();
    return success();
  }

  LogicalResult verifyCopy(const ProductCopy &copy) {
    ScaledType type = copy.out.type;
    // copies_c1
    if (!type)
      return op.emitOpError("expected a result of type scaled for each copy, "
                            "the last results, but got ")
             << op.getResultTypes();
    if (failed(verifyUncoded(op, "a copy", type)))
      return failure();
    bool isTransposed = copy.attr.getTransposed();
    // copies_c4
    if (isTransposed && form.hasCounts())
      return op.emitOpError("expected no transposed copy for grouping '")
             << stringifyGroupingKind(kind)
             << "', whose rows beyond the counts would be within blocks; give "
                "the copy a type with blocks along axis "
             << type.getRank() - 2 << " instead";
    NamedShape shape = productShape(dims.columns);
    if (isTransposed)
      std::swap(shape.extents[shape.extents.size() - 2], shape.extents.back());
    // copies_c2
    if (failed(verifyShape(op, isTransposed ? "transposed copy" : "copy", type,
                           shape)))
      return failure();
    // copies_c3
    if (failed(verifyShape(op, "global_scale of a copy",
                           typeOf(copy.globalScale), {{{dims.groups}, "[G]"}},
                           /*orScalar=*/true)))
      return failure();
    int64_t block = type.getBlockSize();
    // copies_c5
    if (copy.hasBlocksAlongColumns() && !ShapedType::isDynamic(dims.columns) &&
        dims.columns % block != 0)
      return op.emitOpError("expected columns of a copy to be a multiple of "
                            "the block size ")
             << block << ", but got N_out = " << dims.columns
             << " (nearest: " << llvm::divideCeil(dims.columns, block) * block
             << ")";
    // copies_c6
    if (copy.attr.getHadamard() && copy.attr.getQuantizer().getTwoD())
      return op.emitOpError("expected no hadamard with two_d, whose blocks are "
                            "of several lines");
    std::optional<int64_t> raggedDim;
    if (form.cutsRows())
      raggedDim = isTransposed ? 1 : 0;
    if (failed(verifyGroupStarts(op, "a copy", type, op.getGrouping(),
                                 op.getGroups(), raggedDim)))
      return failure();
    return verifyQuantizer(op, copy.attr.getQuantizer(), type, copy.seed,
                           copy.globalScale,
                           op.getGrouping().hasGroupsOperand());
  }

  LogicalResult destinations() {
    // matmul_c30
    if (failed(verifyShape(op, "preact_outs", typeOf(op.getPreactOut()),
                           productShape(dims.n))))
      return failure();
    // matmul_c31
    if (failed(verifyShape(op, "amax_outs", typeOf(op.getAmaxOut()),
                           {{{dims.groups}, "[G]"}})))
      return failure();
    SmallVector<Type> expected = getInitTypes(op.getDpsInitsMutable());
    ScaledType quantized = op.getQuantizedType();
    bool scaledResult = quantized && !op.getOutTypesAttr();
    if (scaledResult) {
      // matmul_c32
      if (op.getOut())
        return op.emitOpError("expected no outs for a result of type scaled, "
                              "but got ")
               << op.getOut().getType();
      expected.insert(expected.begin() + (op.getPreactOut() ? 1 : 0),
                      quantized);
    }
    if (op.getCopyOuts().empty())
      for (const ProductCopy &copy : op.getCopyList())
        expected.push_back(copy.out.type);
    // matmul_c33
    if (!op.getOut() && !scaledResult && !op.getCopies())
      return op.emitOpError("expected outs, a result of type scaled or copies, "
                            "but got none");
    return verifyDestinations(op, op.getDpsInitsMutable(), expected);
  }

  MatmulOp op;
  GroupingKind kind;
  const GroupingForm &form;
  /// `lhs` is null if it is not scaled.
  ScaledType lhs, rhs;
  ArrayRef<int64_t> lhsShape;
  ProductExtents dims;
};

} // namespace

LogicalResult MatmulOp::verify() { return MatmulChecker(*this).run(); }
