//===- Matmul.cpp - Run-time checks of products -----------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The constraints of `matmul` and `matmul_list` that depend on data or on
// extents known at run time, in the order of the verifier.
//
//===----------------------------------------------------------------------===//

#include "CheckBuilder.h"
#include "nvfp4/Dialect/GroupedScaledGemm/IR/GroupingForm.h"

using namespace mlir;
using namespace nvfp4::gsg;
using namespace nvfp4::gsg::checks;

namespace {
/// Extents and checks of one matmul.
class MatmulChecks {
public:
  MatmulChecks(CheckBuilder &check, MatmulOp op)
      : check(check), op(op), form(getForm(op.getGrouping())) {}

  void factors();
  void groups();
  void terms();
  void results();
  void copies();

private:
  /// `[M, columns]` with the group in front where the form has one.
  void product(StringRef label, StringRef name, Value memref, Extent columns,
               StringRef columnName) {
    SmallVector<NamedExtent, 3> expected;
    if (form.stacksResult)
      expected.push_back({"G", numGroups});
    expected.push_back({"M", rows});
    expected.push_back({columnName, columns});
    check.shape(label, name, memref, expected);
  }
  /// One entry a row.
  void perRow(StringRef label, StringRef name, Value memref) {
    if (form.stacksRows)
      check.shape(label, name, memref, {{"G", numGroups}, {"M", rows}});
    else
      check.shape(label, name, memref, {{"M", rows}});
  }
  /// One entry a column, or one a group and column.
  void perColumn(StringRef label, StringRef name, Value memref,
                 StringRef extentName, Extent extent) {
    check.shape(label, name, memref, {{extentName, extent}});
    check.shape(label, name, memref, {{"G", numGroups}, {extentName, extent}});
  }

  CheckBuilder &check;
  MatmulOp op;
  const GroupingForm &form;
  SmallVector<Extent, 3> lhs;
  Extent numGroups, rows, columns, depth, outputColumns;
};
} // namespace

void MatmulChecks::factors() {
  ScaledOperand left =
      getScaledOperands(op.getLhs(), op.getLhsScales(), op.getLhsTypesAttr())
          .front();
  SmallVector<ScaledOperand> right =
      getScaledOperands(op.getRhs(), op.getRhsScales(), op.getRhsTypesAttr());
  lhs = check.logicalShape(left);
  depth = lhs.back();
  rows = lhs[lhs.size() - 2];
  if (left.type)
    check.storage("lhs", left, lhs, /*isOwnShape=*/true);
  bool isDiscrete = op.hasDiscreteRhs();
  for (auto [i, operand] : llvm::enumerate(right)) {
    SmallVector<Extent, 3> shape = check.logicalShape(operand);
    std::string name = isDiscrete ? "rhs #" + std::to_string(i) : "rhs";
    check.equal("matmul_c7", Twine("K of ") + name, shape.back(), depth);
    Extent n = shape[shape.size() - 2];
    if (i == 0)
      columns = n;
    else
      check.equal("matmul_c4", Twine("N of ") + name, n, columns);
    check.storage(name, operand, shape, /*isOwnShape=*/true);
    check.factors(operand);
    if (shape.size() == 3)
      numGroups = shape[0];
  }
  if (form.hasOwnWeights && isDiscrete)
    numGroups = check.constant(static_cast<int64_t>(right.size()));
  else if (form.cutsK())
    numGroups = check.numGroups(op.getGrouping(), op.getGroups());
  else if (!form.hasOwnWeights)
    numGroups = check.constant(1);
  if (form.stacksRows)
    check.equal("matmul_c8", "G of lhs", lhs[0], numGroups);
  outputColumns =
      op.getActivationOrIdentity().isPaired() ? check.div(columns, 2) : columns;
}

void MatmulChecks::groups() {
  Value offsets = op.getGroups();
  if (!offsets)
    return;
  GroupingAttr grouping = op.getGrouping();
  bool isAlongK = form.cutsK();
  if (!isAlongK)
    check.equal("grouping_c5", "G of groups",
                check.numGroups(grouping, offsets), numGroups);
  check.groups(grouping, offsets, isAlongK ? depth : rows);
  if (form.hasCounts())
    return;
  auto scaleRoom = [&](StringRef name, const ScaledOperand &operand) {
    check.scaleRoom(name, operand, check.logicalShape(operand), grouping,
                    offsets, isAlongK);
  };
  if (op.getLhsType())
    scaleRoom("lhs", getScaledOperands(op.getLhs(), op.getLhsScales(),
                                       op.getLhsTypesAttr())
                         .front());
  if (isAlongK)
    scaleRoom("rhs", getScaledOperands(op.getRhs(), op.getRhsScales(),
                                       op.getRhsTypesAttr())
                         .front());
}

void MatmulChecks::terms() {
  bool isPaired = op.getActivationOrIdentity().isPaired();
  check.perGroup("matmul_c9", "alpha", op.getAlpha(), numGroups,
                 isPaired ? 2 : 0);
  check.perGroup("matmul_c10", "beta", op.getBeta(), numGroups);
  product("matmul_c12", "addend", op.getAddend(), columns, "N");
  perColumn("matmul_c13", "bias", op.getBias(), "N", columns);
  perRow("matmul_c55", "row_scale", op.getRowScale());
  perRow("matmul_c14", "prob", op.getProb());
  emitGateCheck(check, op.getActivationOrIdentity().getGate(), columns);
  check.shape("matmul_c17", "activation_params", op.getActivationParams(),
              {{"G", numGroups}, {"parameters", check.constant(3)}});
  for (Value row : op.getRow())
    perRow("matmul_c20", "a row operand", row);
  for (Value column : op.getColumn())
    perColumn("matmul_c21", "a column operand", column, "N_out", outputColumns);
  for (Value group : op.getGroup())
    check.shape("matmul_c22", "a group operand", group, {{"G", numGroups}});
}

void MatmulChecks::results() {
  product("matmul_c30", "preact_outs", op.getPreactOut(), columns, "N");
  check.shape("matmul_c31", "amax_outs", op.getAmaxOut(), {{"G", numGroups}});
  ScaledType quantized = op.getQuantizedType();
  if (!quantized) {
    if (op.getOut())
      product("matmul_c25", "outs", op.getOut(), outputColumns, "N_out");
    return;
  }
  if (quantized.isKMajor())
    check.multiple("matmul_c29", "N_out of the quantised result", outputColumns,
                   quantized.getBlockSize());
  Extent stored =
      quantized.isFP4() ? check.ceilDiv(outputColumns, 2) : outputColumns;
  product("matmul_c27", "outs", op.getOut(), stored, "stored columns");
  check.perGroup("matmul_c28", "global_scale", op.getGlobalScale(), numGroups);
  ScaledOperand out{op.getOut(), op.getOutScales(), quantized};
  SmallVector<Extent, 3> shape;
  if (quantized.getRank() == 3)
    shape.push_back(numGroups);
  shape.append({rows, outputColumns});
  check.globalScale(op.getGlobalScale(), shape);
  check.storage("outs", out, shape);
  if (form.cutsRows())
    check.scaleRoom("outs", out, shape, op.getGrouping(), op.getGroups(), 0);
}

void MatmulChecks::copies() {
  for (auto [i, copy] : llvm::enumerate(op.getCopyList())) {
    std::string name = "copy #" + std::to_string(i);
    ScaledType type = copy.out.type;
    bool isTransposed = copy.attr.getTransposed();
    SmallVector<Extent, 3> shape;
    if (type.getRank() == 3)
      shape.push_back(numGroups);
    shape.append({rows, outputColumns});
    if (copy.hasBlocksAlongColumns())
      check.multiple("copies_c5", "N_out of " + name, outputColumns,
                     type.getBlockSize());
    if (isTransposed)
      std::swap(shape[shape.size() - 2], shape.back());
    for (auto [d, extent] : llvm::enumerate(shape))
      if (!type.isDynamicDim(static_cast<unsigned>(d)))
        check.equal("copies_c2", "dimension " + Twine(d) + " of " + name,
                    check.constant(type.getDimSize(static_cast<unsigned>(d))),
                    extent);
    check.perGroup("copies_c3", "global_scale of " + name, copy.globalScale,
                   numGroups);
    check.globalScale(copy.globalScale, shape);
    check.storage(name, copy.out, shape);
    if (form.cutsRows())
      check.scaleRoom(name, copy.out, shape, op.getGrouping(), op.getGroups(),
                      isTransposed);
  }
}

void checks::emitMatmulChecks(CheckBuilder &check, MatmulOp op) {
  MatmulChecks checks(check, op);
  checks.factors();
  checks.groups();
  checks.terms();
  checks.results();
  checks.copies();
}

void checks::emitMatmulListChecks(CheckBuilder &check, MatmulListOp op) {
  auto left =
      getScaledOperands(op.getLhs(), op.getLhsScales(), op.getLhsTypesAttr());
  auto right =
      getScaledOperands(op.getRhs(), op.getRhsScales(), op.getRhsTypesAttr());
  Extent count = check.constant(static_cast<int64_t>(left.size()));
  for (auto [name, value] :
       {std::pair<StringRef, Value>("alpha", op.getAlpha()),
        std::pair<StringRef, Value>("beta", op.getBeta())})
    if (auto type =
            value ? dyn_cast<MemRefType>(value.getType()) : MemRefType();
        type && type.getRank() == 1 && type.getDimSize(0) != 1)
      check.equal("matmul_list_c2", Twine("entries of ") + name,
                  check.dim(value, 0), count);
  for (auto [i, lhs, rhs, out] : llvm::enumerate(left, right, op.getOuts())) {
    std::string number = std::to_string(i);
    SmallVector<Extent, 3> a = check.logicalShape(lhs);
    SmallVector<Extent, 3> b = check.logicalShape(rhs);
    check.storage("lhs #" + number, lhs, a, /*isOwnShape=*/true);
    check.equal("matmul_list_c6", Twine("K of rhs #") + number, b[1], a[1]);
    check.storage("rhs #" + number, rhs, b, /*isOwnShape=*/true);
    check.shape("matmul_list_c7", "outs #" + number, out,
                {{"M", a[0]}, {"N", b[0]}});
  }
}
