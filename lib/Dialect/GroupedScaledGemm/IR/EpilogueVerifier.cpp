//===- EpilogueVerifier.cpp - Verifier of epilogue regions ------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The region of a `matmul` with a custom activation, as a program writes it:
// its arguments, and that it computes one element of y without side effects, so
// that a target may evaluate it on whatever vectors and in whatever order it
// likes. And the region after `gsg-expand-epilogue`: it loads and stores what
// the operands of the product say, each in its part.
//
//===----------------------------------------------------------------------===//

#include "nvfp4/Dialect/GroupedScaledGemm/IR/EpilogueColumns.h"

#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace nvfp4::gsg;

/// True if an epilogue region may hold `op`: scalar arithmetic.
static bool isScalarArithmetic(Operation &op) {
  return isa_and_nonnull<arith::ArithDialect, math::MathDialect>(
             op.getDialect()) &&
         op.getNumRegions() == 0 && isMemoryEffectFree(&op) &&
         llvm::all_of(op.getResultTypes(),
                      [](Type type) { return type.isIntOrIndexOrFloat(); });
}

//===----------------------------------------------------------------------===//
// Expanded epilogues
//===----------------------------------------------------------------------===//

bool MatmulOp::hasExpandedEpilogue() {
  return !getEpilogue().empty() && !getEpilogue().front().empty() &&
         isa<StoreResultOp>(getEpilogue().front().back());
}

bool nvfp4::gsg::isInEpilogue(Operation *op) {
  return isa_and_nonnull<MatmulOp, MatmulListOp>(op->getParentOp());
}

PairColumnsOp nvfp4::gsg::getPairColumns(Block &epilogue) {
  auto pairs = epilogue.getOps<PairColumnsOp>();
  return pairs.empty() ? PairColumnsOp() : *pairs.begin();
}

bool nvfp4::gsg::belongsToColumn(EpilogueClause clause) {
  return clause == EpilogueClause::Alpha || clause == EpilogueClause::Addend ||
         clause == EpilogueClause::Bias || clause == EpilogueClause::Column;
}

llvm::SetVector<Operation *> nvfp4::gsg::getColumnFree(Block &epilogue) {
  llvm::SetVector<Operation *> columnFree;
  for (Operation &op : epilogue) {
    if (isa<PairColumnsOp>(op))
      break;
    auto load = dyn_cast<LoadClauseOp>(op);
    bool isFree = load ? !belongsToColumn(load.getClause())
                       : llvm::all_of(op.getOperands(), [&](Value operand) {
                           Operation *def = operand.getDefiningOp();
                           return def && columnFree.contains(def);
                         });
    if (isFree && op.getNumResults())
      columnFree.insert(&op);
  }
  return columnFree;
}

LogicalResult SigmoidOp::verify() {
  // epilogue_c10
  if (getFast() && !getInput().getType().isF32())
    return emitOpError("expected f32 with 'fast', but got ")
           << getInput().getType();
  return success();
}

namespace {
/// The operations that the operands of a product require in its expanded
/// epilogue.
struct ExpectedEpilogue {
  /// The number of operands of each clause.
  size_t count[getMaxEnumValForEpilogueClause() + 1] = {};
  bool isPaired = false, storesPreact = false, foldsAmax = false;

  size_t &operator[](EpilogueClause clause) {
    return count[static_cast<size_t>(clause)];
  }
};

class EpilogueChecker {
public:
  EpilogueChecker(Operation *op, Block &block, ExpectedEpilogue expected)
      : op(op), block(block), expected(expected), pair(getPairColumns(block)),
        columnFree(getColumnFree(block)) {}

  LogicalResult check() {
    // epilogue_c1
    if (block.getNumArguments() != 1 || !block.getArgument(0).getType().isF32())
      return op->emitOpError("expected an expanded epilogue with one argument "
                             "of type f32 (acc), but got ")
             << block.getNumArguments()
             << (block.getNumArguments() == 1 ? " of another type" : "");
    for (Operation &inner : block.without_terminator())
      if (failed(checkOperation(inner)) || failed(checkPart(inner)))
        return failure();
    if (failed(checkCount<PairColumnsOp>(expected.isPaired, "gate and up")) ||
        failed(
            checkCount<StorePreactOp>(expected.storesPreact, "preact_outs")) ||
        failed(checkCount<FoldAmaxOp>(expected.foldsAmax, "amax_outs")))
      return failure();
    return checkLoads();
  }

private:
  bool isBeforePair(Operation &inner) {
    return pair && inner.isBeforeInBlock(pair);
  }

  InFlightDiagnostic refuse(Operation &inner, const Twine &text) {
    InFlightDiagnostic diag = op->emitOpError(text);
    diag.attachNote(inner.getLoc()) << "got '" << inner.getName() << "'";
    return diag;
  }

  LogicalResult checkOperation(Operation &inner) {
    // epilogue_c2
    if (isScalarArithmetic(inner) ||
        isa<PairColumnsOp, RoundBf16Op, SigmoidOp, StorePreactOp, FoldAmaxOp>(
            inner))
      return success();
    auto load = dyn_cast<LoadClauseOp>(inner);
    if (!load)
      return refuse(inner, "expected operations of expanded epilogues, and "
                           "scalar ones of arith and math without side "
                           "effects, in the epilogue region");
    EpilogueClause clause = load.getClause();
    bool isNumbered = clause == EpilogueClause::ActivationParams ||
                      clause == EpilogueClause::Row ||
                      clause == EpilogueClause::Column ||
                      clause == EpilogueClause::Group;
    StringRef name = stringifyEpilogueClause(clause);
    std::optional<uint64_t> index = load.getIndex();
    // epilogue_c3
    if (isNumbered != index.has_value())
      return load.emitOpError("expected ")
             << (isNumbered ? "a number" : "no number") << " for '" << name
             << "', but got " << (isNumbered ? "none" : "one");
    size_t count = expected[clause];
    if (index.value_or(0) >= count)
      return load.emitOpError("expected one of ")
             << count << " values of '" << name
             << "' that the product has, but got number " << index.value_or(0);
    return success();
  }

  /// Columns of the product and of the result do not mix.
  LogicalResult checkPart(Operation &inner) {
    if (!pair)
      return success();
    bool isBefore = isBeforePair(inner);
    // epilogue_c6
    if (auto load = dyn_cast<LoadClauseOp>(inner)) {
      EpilogueClause clause = load.getClause();
      bool ofResult = clause == EpilogueClause::Column;
      if (belongsToColumn(clause) && isBefore == ofResult)
        return load.emitOpError("expected '")
               << stringifyEpilogueClause(clause) << "', which belongs to a "
               << "column of the " << (isBefore ? "result" : "product") << ", "
               << (isBefore ? "after" : "before") << " pair_columns";
    }
    if (isBefore ? isa<FoldAmaxOp>(inner) : isa<StorePreactOp>(inner))
      return refuse(inner, "expected store_preact before and fold_amax after "
                           "pair_columns");
    if (!isBefore || columnFree.contains(&inner))
      return success();
    for (Operation *user : inner.getUsers())
      if (user != pair && !isBeforePair(*user))
        return refuse(inner, "expected no value from before pair_columns to be "
                             "used after it");
    return success();
  }

  /// One operation if `isExpected`, and else none.
  template <typename OpTy>
  LogicalResult checkCount(bool isExpected, StringRef cause) {
    auto count = llvm::range_size(block.getOps<OpTy>());
    // epilogue_c5, epilogue_c7, epilogue_c8
    if (count == (isExpected ? 1 : 0))
      return success();
    return op->emitOpError("expected ")
           << (isExpected ? "one " : "no ") << OpTy::getOperationName()
           << " in the epilogue region " << (isExpected ? "with " : "without ")
           << cause << ", but got " << count;
  }

  LogicalResult checkLoads() {
    if (pair)
      for (Operation *user : block.getArgument(0).getUsers())
        if (user != pair && !isBeforePair(*user))
          return refuse(*user, "expected acc to be used before pair_columns");
    for (uint32_t i = 0; i <= getMaxEnumValForEpilogueClause(); ++i) {
      auto clause = static_cast<EpilogueClause>(i);
      // Programs need not use the operands of their region.
      bool isOptional = clause == EpilogueClause::Row ||
                        clause == EpilogueClause::Column ||
                        clause == EpilogueClause::Group;
      bool isLoaded =
          llvm::any_of(block.getOps<LoadClauseOp>(), [&](LoadClauseOp load) {
            return load.getClause() == clause;
          });
      // epilogue_c4
      if (expected[clause] && !isLoaded && !isOptional)
        return op->emitOpError("expected the epilogue region to load '")
               << stringifyEpilogueClause(clause)
               << "', which the product has, but got no load_clause of it";
    }
    return success();
  }

  Operation *op;
  Block &block;
  ExpectedEpilogue expected;
  PairColumnsOp pair;
  llvm::SetVector<Operation *> columnFree;
};
} // namespace

bool MatmulOp::readsAddend() { return getAddend() || getBeta(); }

static LogicalResult verifyExpandedEpilogue(MatmulOp op) {
  ActivationAttr activation = op.getActivationOrIdentity();
  // epilogue_c9
  if (activation.getRoundBf16() ||
      op.getProbPosition() != ProbPosition::PostActivation)
    return op.emitOpError("expected neither round_bf16 nor a position of prob "
                          "beside an expanded epilogue, which says both");
  ExpectedEpilogue expected;
  expected[EpilogueClause::Alpha] = op.getAlpha() ? 1 : 0;
  expected[EpilogueClause::RowScale] = op.getRowScale() ? 1 : 0;
  expected[EpilogueClause::Beta] = op.getBeta() ? 1 : 0;
  expected[EpilogueClause::Addend] = op.readsAddend() ? 1 : 0;
  expected[EpilogueClause::Bias] = op.getBias() ? 1 : 0;
  expected[EpilogueClause::Prob] = op.getProb() ? 1 : 0;
  expected[EpilogueClause::ActivationParams] = op.getActivationParams() ? 3 : 0;
  expected[EpilogueClause::Row] = op.getRow().size();
  expected[EpilogueClause::Column] = op.getColumn().size();
  expected[EpilogueClause::Group] = op.getGroup().size();
  expected.isPaired = activation.isPaired();
  expected.storesPreact = static_cast<bool>(op.getPreactOut());
  expected.foldsAmax = static_cast<bool>(op.getAmaxOut());
  return EpilogueChecker(op, op.getEpilogue().front(), expected).check();
}

LogicalResult MatmulListOp::verifyRegions() {
  if (getEpilogue().empty())
    return success();
  Block &block = getEpilogue().front();
  // matmul_list_c9
  if (block.empty() || !isa<StoreResultOp>(block.back()))
    return emitOpError("expected an expanded epilogue, which ends in "
                       "grouped_scaled_gemm.store_result, but got ")
           << (block.empty() ? "no operation"
                             : block.back().getName().getStringRef());
  ExpectedEpilogue expected;
  expected[EpilogueClause::Alpha] = getAlpha() ? 1 : 0;
  expected[EpilogueClause::Beta] = expected[EpilogueClause::Addend] =
      getBeta() ? 1 : 0;
  return EpilogueChecker(*this, block, expected).check();
}

//===----------------------------------------------------------------------===//
// Activations of programs
//===----------------------------------------------------------------------===//

// matmul_c38 is the trait IsolatedFromAbove.
LogicalResult MatmulOp::verifyRegions() {
  if (getEpilogue().empty())
    return success();
  if (hasExpandedEpilogue())
    return verifyExpandedEpilogue(*this);
  Block &block = getEpilogue().front();
  bool paired = getActivationOrIdentity().isPaired();
  size_t expected = (paired ? 2 : 1) + getRow().size() + getColumn().size() +
                    getGroup().size();
  // matmul_c34
  if (block.getNumArguments() != expected)
    return emitOpError("expected an epilogue region with ")
           << expected << " arguments (" << (paired ? "gate, up" : "z")
           << ", then one for each row, column and group operand), but got "
           << block.getNumArguments();
  for (BlockArgument argument : block.getArguments())
    // matmul_c35
    if (!argument.getType().isF32())
      return emitOpError("expected arguments of the epilogue region of type "
                         "f32, but got ")
             << argument.getType();
  // matmul_c36
  if (block.empty() || !isa<YieldOp>(block.back()))
    return emitOpError("expected the epilogue region to end in "
                       "grouped_scaled_gemm.yield, or store_result if it is "
                       "expanded, but got ")
           << (block.empty() ? "no operation"
                             : block.back().getName().getStringRef());
  for (Operation &nested : block.without_terminator()) {
    // matmul_c37
    if (isScalarArithmetic(nested))
      continue;
    InFlightDiagnostic diag =
        emitOpError("expected scalar operations of arith and math without "
                    "side effects in the epilogue region");
    diag.attachNote(nested.getLoc()) << "got '" << nested.getName() << "'";
    return diag;
  }
  return success();
}
