//===- LowerDecoded.cpp - Weights decoded in registers ----------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// `mma_decoded`: a loop for each width, and the choice among them.
//
//===----------------------------------------------------------------------===//

#include "DecodedLoop.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace nvfp4::warpspec;

using Values = DecodedLoop::Values;

void KernelLowering::lower(MmaDecodedOp op) {
  int64_t values = op.getMaxWidth() / 2;
  Value steps =
      arith::SubIOp::create(rewriter, loc, getI32(), op.getTo(), op.getFrom());
  Value zero =
      arith::ConstantOp::create(rewriter, loc, rewriter.getF32FloatAttr(0));
  // All widths leave their fragment in the same places, zero beyond it.
  SmallVector<Type> types(values, rewriter.getF32Type());
  types.append(2, getI32());
  auto buildWidth = [&](int64_t width) {
    Values results = DecodedLoop(*this, op, width).build(steps);
    results.insert(results.begin() + width / 2, values - width / 2, zero);
    scf::YieldOp::create(rewriter, loc, results);
  };
  SmallVector<int64_t> widths = op.getWidths();
  OpBuilder::InsertionGuard guard(rewriter);
  Value some = arith::CmpIOp::create(rewriter, loc, arith::CmpIPredicate::sgt,
                                     steps, constant(0));
  auto outer = scf::IfOp::create(rewriter, loc, types, some, true, true);
  rewriter.setInsertionPointToStart(outer.elseBlock());
  Values none(values, zero);
  none.append({op.getStage(), op.getPhase()});
  scf::YieldOp::create(rewriter, loc, none);
  rewriter.setInsertionPointToStart(outer.thenBlock());
  // A tree of comparisons, all before the first loop: a chain would run through
  // the instructions of every narrower loop. Not a switch: ptxas serialises
  // every wgmma behind an indirect branch.
  auto choose = [&](auto &self, ArrayRef<int64_t> some) -> void {
    if (some.size() == 1) {
      buildWidth(some.front());
      return;
    }
    size_t half = some.size() / 2;
    auto opaque = LLVM::InlineAsmOp::create(
        rewriter, loc, TypeRange{getI32()}, ValueRange{op.getWidth()}, "",
        "=r,0", /*has_side_effects=*/true, /*is_align_stack=*/false,
        LLVM::TailCallKind::None, LLVM::AsmDialectAttr(), ArrayAttr());
    Value is = arith::CmpIOp::create(rewriter, loc, arith::CmpIPredicate::slt,
                                     opaque.getResult(0), constant(some[half]));
    auto branch = scf::IfOp::create(rewriter, loc, types, is, true, true);
    scf::YieldOp::create(rewriter, loc, branch.getResults());
    rewriter.setInsertionPointToStart(branch.thenBlock());
    self(self, some.take_front(half));
    rewriter.setInsertionPointToStart(branch.elseBlock());
    self(self, some.drop_front(half));
  };
  choose(choose, widths);
  ValueRange results = outer.getResults();
  fragments[op.getResult()].assign(results.begin(), results.begin() + values);
  op.getNextStage().replaceAllUsesWith(results[values]);
  op.getNextPhase().replaceAllUsesWith(results[values + 1]);
  products.push_back(op);
}
