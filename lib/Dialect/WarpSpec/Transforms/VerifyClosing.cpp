//===- VerifyClosing.cpp - V1: closed once on every path --------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ScheduleChecks.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace nvfp4::warpspec;

namespace {
bool isToken(Type type) { return isa<FillType, DrainType>(type); }

StringRef getName(Value token) {
  return isa<FillType>(token.getType()) ? "fill" : "drain";
}

/// Counts how often `token` is closed, or passed on to a new owner, along every
/// path through a block.
class Counter {
public:
  explicit Counter(Value token) : token(token) {}

  /// The count of all paths through `block`; nullopt after a diagnostic.
  std::optional<int> count(Block &block) {
    int total = 0;
    for (Operation &op : block) {
      total += countDirect(op);
      if (op.getNumRegions() == 0 || !isUsedWithin(op))
        continue;
      auto branch = dyn_cast<scf::IfOp>(op);
      if (!branch) {
        if (isClosedWithin(op)) {
          op.emitOpError("V1: expected the ")
              << getName(token)
              << " to be closed exactly once, but it is closed in a loop that "
                 "it was not passed to";
          return std::nullopt;
        }
        continue;
      }
      std::optional<int> then = count(*branch.thenBlock());
      std::optional<int> other = 0;
      if (branch.elseBlock())
        other = count(*branch.elseBlock());
      if (!then || !other)
        return std::nullopt;
      if (*then != *other) {
        op.emitOpError("V1: expected the ")
            << getName(token)
            << " to be closed equally often in both branches, "
            << "but got " << *then << " and " << *other << " times";
        return std::nullopt;
      }
      total += *then;
    }
    return total;
  }

private:
  /// Uses by the operation itself that end the ownership.
  int countDirect(Operation &op) {
    int uses = llvm::count(op.getOperands(), token);
    bool closes = isa<CommitOp, ReleaseOp, LoopLikeOpInterface>(op) ||
                  op.hasTrait<OpTrait::IsTerminator>();
    return closes ? uses : 0;
  }

  bool isUsedWithin(Operation &op) {
    return llvm::any_of(token.getUsers(), [&](Operation *user) {
      return op.isProperAncestor(user);
    });
  }

  bool isClosedWithin(Operation &op) {
    return llvm::any_of(token.getUsers(), [&](Operation *user) {
      return op.isProperAncestor(user) && countDirect(*user) > 0;
    });
  }

  Value token;
};

LogicalResult checkToken(Value token, Operation *at) {
  std::optional<int> closings = Counter(token).count(*token.getParentBlock());
  if (!closings)
    return failure();
  if (*closings == 1)
    return success();
  return at->emitOpError("V1: expected the ")
         << getName(token)
         << " to be closed exactly once on every path, but got " << *closings
         << " times";
}

/// A loop or a branch passes on tokens of one pipeline.
LogicalResult checkPassing(Value from, Value other, Operation *at) {
  PipelineOp first = getPipelineOf(from), second = getPipelineOf(other);
  if (first && first == second)
    return success();
  return at->emitOpError("V1: expected every ")
         << getName(from) << " that is passed on here to be of one pipeline";
}

LogicalResult checkOperation(Operation *op) {
  for (Value result : op->getResults())
    if (isToken(result.getType()) && failed(checkToken(result, op)))
      return failure();
  for (Region &region : op->getRegions())
    for (Block &block : region)
      for (BlockArgument arg : block.getArguments())
        if (isToken(arg.getType()) && failed(checkToken(arg, op)))
          return failure();
  if (auto branch = dyn_cast<scf::IfOp>(op)) {
    for (unsigned i = 0; i < op->getNumResults(); ++i)
      if (isToken(op->getResult(i).getType()) &&
          failed(checkPassing(branch.thenYield().getOperand(i),
                              branch.elseYield().getOperand(i), op)))
        return failure();
  } else if (auto loop = dyn_cast<LoopLikeOpInterface>(op)) {
    auto yields = loop.getYieldedValuesMutable();
    if (!yields)
      return success();
    for (auto [init, yield] : llvm::zip(loop.getInitsMutable(), *yields))
      if (isToken(init.get().getType()) &&
          failed(checkPassing(init.get(), yield.get(), op)))
        return failure();
  }
  return success();
}
} // namespace

LogicalResult nvfp4::warpspec::verifyClosing(RolesOp roles) {
  return failure(roles
                     .walk([](Operation *op) {
                       return failed(checkOperation(op))
                                  ? WalkResult::interrupt()
                                  : WalkResult::advance();
                     })
                     .wasInterrupted());
}
