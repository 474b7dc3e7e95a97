//===- RoleProgram.cpp - Roles as sequences of hand-over events -*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RoleProgram.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace nvfp4::warpspec;

//===----------------------------------------------------------------------===//
// Keys
//===----------------------------------------------------------------------===//

/// A name that no other operation has.
static std::string getUniqueName(Operation *op) {
  return "@" + std::to_string(reinterpret_cast<uintptr_t>(op));
}

std::string nvfp4::warpspec::getLoopKey(Operation *op) {
  if (auto loop = dyn_cast<scf::ForOp>(op))
    return "for(" + getKey(loop.getLowerBound()) + "," +
           getKey(loop.getUpperBound()) + "," + getKey(loop.getStep()) + ")";
  if (auto loop = dyn_cast<ForEachTileOp>(op)) {
    std::string key = "tiles(" + stringifyTileOrder(loop.getOrder()).str() +
                      "," + getKey(loop.getGroups());
    for (Value extent :
         loop.getExtents().front().getTerminator()->getOperands())
      key += "," + getKey(extent);
    if (loop.getSteps())
      key += ",cut " + getKey(loop.getSteps());
    return key + (loop.getInParts() ? ",parts)" : ")");
  }
  return getUniqueName(op);
}

static std::string getArgumentKey(BlockArgument arg) {
  Operation *parent = arg.getOwner()->getParentOp();
  std::string number = std::to_string(arg.getArgNumber());
  if (isa<KernelOp>(parent))
    return "p" + number;
  if (auto tiles = dyn_cast<ForEachTileOp>(parent)) {
    if (arg.getOwner()->getParent() == &tiles.getExtents())
      return "group";
    if (arg.getArgNumber() < tiles.getNumTileArguments())
      return "tile" + number + getLoopKey(parent);
  }
  if (auto loop = dyn_cast<scf::ForOp>(parent))
    if (arg == loop.getInductionVar())
      return "i" + getLoopKey(parent);
  return getUniqueName(parent) + "." + number;
}

std::string nvfp4::warpspec::getKey(Value value) {
  if (auto arg = dyn_cast<BlockArgument>(value))
    return getArgumentKey(arg);
  Operation *op = value.getDefiningOp();
  if (auto branch = dyn_cast<scf::IfOp>(op)) {
    unsigned number = cast<OpResult>(value).getResultNumber();
    return "if(" + getKey(branch.getCondition()) + "," +
           getKey(branch.thenYield().getOperand(number)) + "," +
           getKey(branch.elseYield().getOperand(number)) + ")";
  }
  bool isExpression =
      op->getNumRegions() == 0 && op->getNumResults() == 1 &&
      (isMemoryEffectFree(op) || hasSingleEffect<MemoryEffects::Read>(op)) &&
      !isa<ThreadIndexOp>(op);
  if (!isExpression)
    return getUniqueName(op) + "." +
           std::to_string(cast<OpResult>(value).getResultNumber());
  std::string key = op->getName().getStringRef().str();
  llvm::raw_string_ostream os(key);
  // Equal dictionaries are one object of the context; to print one takes long.
  os << op->getAttrDictionary().getAsOpaquePointer() << "(";
  llvm::interleaveComma(op->getOperands(), os,
                        [&](Value operand) { os << getKey(operand); });
  os << ")";
  return key;
}

//===----------------------------------------------------------------------===//
// Programs
//===----------------------------------------------------------------------===//

RoleProgram::RoleProgram(Region &role, ArrayRef<PipelineOp> pipelines)
    : pipelines(pipelines), nodes(build(role.front())) {}

static std::optional<EventKind> getEventKind(Operation *op) {
  if (isa<AcquireOp>(op))
    return EventKind::Acquire;
  if (isa<CommitOp>(op))
    return EventKind::Commit;
  if (isa<WaitOp>(op))
    return EventKind::Wait;
  if (isa<ReleaseOp>(op))
    return EventKind::Release;
  if (isa<DrainAllOp>(op))
    return EventKind::DrainAll;
  return std::nullopt;
}

/// How often a loop with constant bounds runs, or -1.
static int64_t getConstantCount(Operation *op) {
  auto loop = dyn_cast<scf::ForOp>(op);
  APInt lower, upper, step;
  if (!loop || !matchPattern(loop.getLowerBound(), m_ConstantInt(&lower)) ||
      !matchPattern(loop.getUpperBound(), m_ConstantInt(&upper)) ||
      !matchPattern(loop.getStep(), m_ConstantInt(&step)) ||
      !step.isStrictlyPositive())
    return -1;
  int64_t extent = 0;
  if (llvm::SubOverflow(upper.getSExtValue(), lower.getSExtValue(), extent))
    return -1;
  return extent <= 0 ? 0 : llvm::divideCeilSigned(extent, step.getSExtValue());
}

/// The key of a loop from `from` to `to` by steps of 1.
static std::string getUnitLoopKey(Value from, Value to) {
  OpBuilder builder(from.getContext());
  OwningOpRef<Operation *> one(arith::ConstantIntOp::create(
      builder, from.getLoc(), 1, from.getType().getIntOrFloatBitWidth()));
  return "for(" + getKey(from) + "," + getKey(to) + "," +
         getKey((*one)->getResult(0)) + ")";
}

RoleProgram::Node RoleProgram::buildLoop(SlotLoopOpInterface op) {
  Node node;
  node.key = getUnitLoopKey(op.getFrom(), op.getTo());
  APInt from, to;
  if (matchPattern(op.getFrom(), m_ConstantInt(&from)) &&
      matchPattern(op.getTo(), m_ConstantInt(&to)))
    node.count = std::max<int64_t>(to.getSExtValue() - from.getSExtValue(), 0);
  unsigned pipeline = llvm::find(pipelines, getPipelineOp(op.getPipeline())) -
                      pipelines.begin();
  for (EventKind kind : {EventKind::Wait, EventKind::Release}) {
    Node event;
    event.event = Event{kind, op, pipeline};
    node.children.push_back(std::move(event));
  }
  return node;
}

std::vector<RoleProgram::Node> RoleProgram::build(Block &block) {
  std::vector<Node> result;
  for (Operation &op : block) {
    if (std::optional<EventKind> kind = getEventKind(&op)) {
      PipelineOp pipeline = isa<AcquireOp, WaitOp, DrainAllOp>(op)
                                ? getPipelineOp(op.getOperand(0))
                                : getPipelineOf(op.getOperand(0));
      Node node;
      node.event = Event{*kind, &op,
                         static_cast<unsigned>(llvm::find(pipelines, pipeline) -
                                               pipelines.begin())};
      result.push_back(std::move(node));
      continue;
    }
    if (auto loop = dyn_cast<SlotLoopOpInterface>(op)) {
      result.push_back(buildLoop(loop));
      addChoice(result.back());
      continue;
    }
    if (op.getNumRegions() == 0)
      continue;
    Node node;
    auto branch = dyn_cast<scf::IfOp>(op);
    if (branch) {
      node.children = build(*branch.thenBlock());
      if (branch.elseBlock())
        node.others = build(*branch.elseBlock());
    } else {
      auto loop = dyn_cast<LoopLikeOpInterface>(op);
      Region &body = loop ? *loop.getLoopRegions().back() : op.getRegion(0);
      node.children = build(body.front());
    }
    if (node.children.empty() && node.others.empty())
      continue;
    // Keys are long: only loops and branches with events have one.
    if (branch) {
      node.isCondition = true;
      node.key = "if" + getKey(branch.getCondition());
    } else {
      node.count = getConstantCount(&op);
      node.key = getLoopKey(&op);
    }
    addChoice(node);
    result.push_back(std::move(node));
  }
  return result;
}

void RoleProgram::addChoice(const Node &node) {
  if (node.count >= 0 || llvm::any_of(choices, [&](const Choice &choice) {
        return choice.key == node.key;
      }))
    return;
  choices.push_back({node.key, node.isCondition});
}

bool RoleProgram::unroll(const Assignment &assignment, size_t limit,
                         SmallVectorImpl<Event> &events) const {
  events.clear();
  return unroll(nodes, assignment, limit, events);
}

bool RoleProgram::unroll(ArrayRef<Node> nodes, const Assignment &assignment,
                         size_t limit, SmallVectorImpl<Event> &events) {
  for (const Node &node : nodes) {
    if (node.event) {
      if (events.size() >= limit)
        return false;
      events.push_back(*node.event);
      continue;
    }
    int64_t count = node.count >= 0 ? node.count : assignment.lookup(node.key);
    if (node.isCondition) {
      if (!unroll(count ? node.children : node.others, assignment, limit,
                  events))
        return false;
      continue;
    }
    for (int64_t i = 0; i < count; ++i) {
      size_t before = events.size();
      if (!unroll(node.children, assignment, limit, events))
        return false;
      // Nor will the next round.
      if (events.size() == before)
        break;
    }
  }
  return true;
}

bool RoleProgram::uses(unsigned pipeline, EventKind kind) const {
  std::function<bool(ArrayRef<Node>)> search = [&](ArrayRef<Node> nodes) {
    return llvm::any_of(nodes, [&](const Node &node) {
      if (node.event)
        return node.event->pipeline == pipeline && node.event->kind == kind;
      return search(node.children) || search(node.others);
    });
  };
  return search(nodes);
}
