//===- MergeLoops.cpp - nvfp4-merge-loops -----------------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An epilogue hands columns of its accumulator back before it reads the others,
// so it has the same loop twice, over other columns. Its body is most of the
// code of a kernel, and of the time that the compilers after this one take.
//
//===----------------------------------------------------------------------===//

#include "nvfp4/Transforms/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/OperationSupport.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Transforms/RegionUtils.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

namespace nvfp4 {
#define GEN_PASS_DEF_MERGELOOPSPASS
#include "nvfp4/Transforms/Passes.h.inc"
} // namespace nvfp4

using namespace mlir;

namespace {
/// Two loops of one block, and what it takes to make them rounds of another.
class Pair {
public:
  Pair(scf::ForOp first, scf::ForOp second) : first(first), second(second) {}

  /// True if the loops differ in values from outside alone, and what stands
  /// between them can stand behind the first round.
  bool matches();
  void merge();

private:
  bool matchBodies();
  bool matchOperands();
  bool splitBetween();
  bool chooses(Value a, Value b);

  scf::ForOp first, second;
  /// Values from outside that the first loop uses, and what the second uses in
  /// their place.
  llvm::MapVector<Value, Value> outside;
  /// Operations between the loops: computed before them, or after the first.
  SmallVector<Operation *> before;
  llvm::SetVector<Operation *> after;
};
} // namespace

/// True for what a conditional move selects.
static bool isNumber(Type type) {
  return type.isIntOrIndexOrFloat() || isa<LLVM::LLVMPointerType>(type);
}

/// Notes that `b` of the second loop stands for `a`; false if another does.
bool Pair::chooses(Value a, Value b) {
  if (a != b && !isNumber(a.getType()))
    return false;
  return outside.insert({a, b}).first->second == b;
}

static SmallVector<Value> listOperands(Region &region) {
  SmallVector<Value> all;
  region.walk(
      [&](Operation *op) { llvm::append_range(all, op->getOperands()); });
  return all;
}

bool Pair::matchBodies() {
  DenseMap<Value, Value> inside;
  auto check = [&](Value a, Value b) -> LogicalResult {
    if (auto it = inside.find(a); it != inside.end())
      return success(it->second == b);
    if (second.getRegion().isAncestor(b.getParentRegion()))
      return failure();
    return success(chooses(a, b));
  };
  auto mark = [&](Value a, Value b) { inside[a] = b; };
  if (!OperationEquivalence::isRegionEquivalentTo(
          &first.getRegion(), &second.getRegion(), check, mark,
          OperationEquivalence::IgnoreLocations))
    return false;
  // Equal operands were not asked about: what stays in one place cannot change
  // in another.
  return llvm::all_of_zip(
      listOperands(first.getRegion()), listOperands(second.getRegion()),
      [&](Value a, Value b) { return a != b || chooses(a, b); });
}

bool Pair::matchOperands() {
  if (first->getAttrDictionary() != second->getAttrDictionary() ||
      first.getStep() != second.getStep() ||
      first.getResultTypes() != second.getResultTypes() ||
      first.getInductionVar().getType() != second.getInductionVar().getType())
    return false;
  // The second goes on with what the first returns, and nobody else does.
  for (auto [result, init] :
       llvm::zip_equal(first.getResults(), second.getInitArgs()))
    if (result != init)
      return false;
  return true;
}

bool Pair::splitBetween() {
  auto isAfter = [&](Value value) {
    Operation *definer = value.getDefiningOp();
    return definer && (definer == first || after.contains(definer));
  };
  for (Operation *op = first->getNextNode(); op != second;
       op = op->getNextNode()) {
    bool stays = !isPure(op) || op->getNumRegions() ||
                 llvm::any_of(op->getOperands(), isAfter);
    if (stays)
      after.insert(op);
    else
      before.push_back(op);
  }
  auto isUsedByRest = [&](Operation *op) {
    return llvm::any_of(op->getUsers(), [&](Operation *user) {
      if (op == first && user == second)
        return false;
      Operation *inBlock = first->getBlock()->findAncestorOpInBlock(*user);
      return !after.contains(inBlock);
    });
  };
  return !isUsedByRest(first) && llvm::none_of(after, isUsedByRest);
}

bool Pair::matches() {
  if (!matchOperands() || !matchBodies() || !splitBetween())
    return false;
  auto isReady = [&](Value value) {
    Operation *definer = value.getDefiningOp();
    return !definer || (definer != first && !after.contains(definer));
  };
  return isReady(second.getLowerBound()) && isReady(second.getUpperBound()) &&
         llvm::all_of(outside,
                      [&](const auto &pair) { return isReady(pair.second); });
}

void Pair::merge() {
  for (Operation *op : before)
    op->moveBefore(first);
  OpBuilder b(first);
  Location loc = first.getLoc();
  auto number = [&](int64_t value) -> Value {
    return arith::ConstantIntOp::create(b, loc, value, 32);
  };
  Value zero = number(0);
  auto rounds = scf::ForOp::create(b, loc, zero, number(2), number(1),
                                   first.getInitArgs());
  // Unrolled, the loops would be two again.
  auto disable = LLVM::LoopUnrollAttr::get(b.getContext(), b.getBoolAttr(true),
                                           {}, {}, {}, {}, {}, {});
  rounds->setAttr("llvm.loop_annotation",
                  LLVM::LoopAnnotationAttr::get(b.getContext(), {}, {}, {},
                                                disable, {}, {}, {}, {}, {}, {},
                                                {}, {}, {}, {}, {}));
  b.setInsertionPointToStart(rounds.getBody());
  Value isFirst = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq,
                                        rounds.getInductionVar(), zero);
  auto choose = [&](Value a, Value c) -> Value {
    return a == c ? a : arith::SelectOp::create(b, loc, isFirst, a, c);
  };
  for (auto [a, c] : outside) {
    Value chosen = choose(a, c);
    if (chosen != a)
      replaceAllUsesInRegionWith(a, chosen, first.getRegion());
  }
  Value lower = choose(first.getLowerBound(), second.getLowerBound());
  Value upper = choose(first.getUpperBound(), second.getUpperBound());
  first->moveBefore(rounds.getBody(), b.getInsertionPoint());
  first.setLowerBound(lower);
  first.setUpperBound(upper);
  first.getInitArgsMutable().assign(rounds.getRegionIterArgs());
  b.setInsertionPointAfter(first);
  if (!after.empty()) {
    auto branch = scf::IfOp::create(b, loc, isFirst, /*withElseRegion=*/false);
    for (Operation *op : after)
      op->moveBefore(branch.thenYield());
  }
  second->replaceAllUsesWith(rounds.getResults());
  second->erase();
  if (first.getNumResults()) {
    b.setInsertionPointToEnd(rounds.getBody());
    scf::YieldOp::create(b, loc, first.getResults());
  }
}

static bool isLong(scf::ForOp loop, int64_t least) {
  int64_t count = 0;
  loop.getRegion().walk([&](Operation *) {
    return ++count < least ? WalkResult::advance() : WalkResult::interrupt();
  });
  return count >= least;
}

namespace {
struct MergeLoops : nvfp4::impl::MergeLoopsPassBase<MergeLoops> {
  using MergeLoopsPassBase::MergeLoopsPassBase;

  void runOnOperation() override {
    SmallVector<scf::ForOp> loops;
    getOperation()->walk([&](scf::ForOp loop) {
      if (isLong(loop, least))
        loops.push_back(loop);
    });
    // Two loops of a block follow each other here, with none but those inside
    // the second between.
    DenseMap<Block *, scf::ForOp> last;
    for (scf::ForOp loop : loops) {
      scf::ForOp &before = last[loop->getBlock()];
      if (before)
        if (Pair pair(before, loop); pair.matches()) {
          pair.merge();
          // A loop that became a round no longer precedes a third loop.
          before = {};
          continue;
        }
      before = loop;
    }
  }
};
} // namespace
