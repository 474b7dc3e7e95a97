//===- KernelAnalysis.cpp - Facts of a kernel beyond one operation --------===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "nvfp4/Conversion/WarpSpecToNVVM/KernelAnalysis.h"

#include "Fragment.h"

using namespace mlir;
using namespace nvfp4::warpspec;

FailureOr<KernelAnalysis> KernelAnalysis::create(Operation *root) {
  KernelAnalysis analysis;
  WalkResult walk = root->walk<WalkOrder::PreOrder>([&](KernelOp kernel) {
    return failed(analysis.add(kernel)) ? WalkResult::interrupt()
                                        : WalkResult::skip();
  });
  if (walk.wasInterrupted())
    return failure();
  return analysis;
}

static LogicalResult verifyLowered(KernelOp kernel) {
  if (kernel.getRoles())
    return kernel.emitOpError("expected no roles; run warpspec-lower-roles");
  if (!kernel.getThreads() || !kernel.getSharedBytes())
    return kernel.emitOpError(
        "expected threads and shared_bytes, which warpspec-lower-roles and "
        "warpspec-plan-memory make, the former of `roles`");
  return verifyPlanned(kernel);
}

/// Refuses operations that are valid and that their patterns do not convert.
static LogicalResult verifyConvertible(Operation *op) {
  if (auto load = dyn_cast<TmaLoadRowsOp>(op); load && !load.hasOpenRows()) {
    auto first = dyn_cast<BlockArgument>(load.getMaps().front());
    for (auto [i, map] : llvm::enumerate(load.getMaps())) {
      auto next = dyn_cast<BlockArgument>(map);
      if (!first || !next || !isa<KernelOp>(next.getOwner()->getParentOp()) ||
          next.getArgNumber() != first.getArgNumber() + i)
        return op->emitOpError("expected maps that are parameters of the "
                               "kernel, one after the other");
    }
  }
  if (auto acquire = dyn_cast<AcquireOp>(op);
      acquire && !acquire.getIssuer() &&
      acquire.getPipeline().getType().getConsumer() == Agent::Tma)
    return op->emitOpError("expected an issuer, the thread whose bulk groups "
                           "are waited for; run warpspec-lower-roles");
  return success();
}

LogicalResult KernelAnalysis::add(KernelOp kernel) {
  if (failed(verifyLowered(kernel)))
    return failure();
  kernels.push_back({kernel.getPair(), *kernel.getSharedBytes()});
  WalkResult walk = kernel.walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (!isa<WarpSpecDialect>(op->getDialect()))
      return WalkResult::advance();
    kernelOf[op] = kernels.size() - 1;
    if (failed(verifyConvertible(op)) || failed(addHandOver(op)) ||
        failed(addFragment(op)))
      return WalkResult::interrupt();
    return WalkResult::advance();
  });
  return failure(walk.wasInterrupted());
}

//===----------------------------------------------------------------------===//
// Hand-over
//===----------------------------------------------------------------------===//

void KernelAnalysis::addPipeline(PipelineOp op) {
  PipelineFacts facts{static_cast<int64_t>(op.getDepth()),
                      op.getProducer(),
                      op.getConsumer(),
                      *getHandOver(op.getProducer(), op.getConsumer()),
                      kernels.back().pair,
                      op.getBarriers().value_or(0),
                      {}};
  for (auto [buffer, type] :
       llvm::zip_equal(op.getBuffers(), op.getType().getSlots())) {
    auto slot = cast<MemRefType>(type);
    int64_t stride = isSmem(slot) ? getSharedBytes(slot) : getTmemColumns(slot);
    if (auto alloc = buffer.getDefiningOp<TmemAllocOp>())
      stride = alloc.getSlotStride();
    facts.strides.push_back(stride);
  }
  pipelineOf[op] = pipelines.size();
  pipelines.push_back(std::move(facts));
}

LogicalResult KernelAnalysis::addHandOver(Operation *op) {
  if (auto pipeline = dyn_cast<PipelineOp>(op))
    addPipeline(pipeline);
  else if (auto end = dyn_cast<PipelineEndOpInterface>(op))
    pipelineOf[op] = pipelineOf.at(getPipelineOp(end.getPipeline()));
  else if (isa<CommitOp, ReleaseOp>(op))
    pipelineOf[op] = pipelineOf.at(getPipelineOf(op->getOperand(0)));
  auto agent = dyn_cast<AgentOpInterface>(op);
  Value fill = agent ? agent.getCountedFill() : Value();
  if (!fill)
    return success();
  Operation *opener = getOpener(fill);
  if (!opener)
    return op->emitOpError("expected a fill that an acquire made");
  if (opener->getBlock() != op->getBlock())
    return op->emitOpError("expected to be in the block of its acquire, which "
                           "expects a constant number of bytes");
  pipelineOf[op] = pipelineOf.at(getPipelineOf(fill));
  if (agent.getTransactionCount())
    expected[opener].counted.push_back(agent);
  else
    expected[opener].constant += agent.getTransactionBytes();
  return success();
}

//===----------------------------------------------------------------------===//
// Fragments
//===----------------------------------------------------------------------===//

/// The product of which `fragment` is the result, or one of several parts of K.
static MmaDecodedOp getProduct(Value fragment) {
  if (auto sum = fragment.getDefiningOp<AddFragmentsOp>())
    return getProduct(sum.getFragment());
  return fragment.getDefiningOp<MmaDecodedOp>();
}

/// True of a product's fragment, and of one times numbers.
static bool isFragment(Value value) {
  if (auto scaled = value.getDefiningOp<arith::MulFOp>())
    return isSplat(scaled.getRhs()) && isFragment(scaled.getLhs());
  return static_cast<bool>(getProduct(value));
}

LogicalResult KernelAnalysis::addFragment(Operation *op) {
  if (auto stage = dyn_cast<StageFragmentOp>(op)) {
    if (!isFragment(stage.getFragment()))
      return op->emitOpError("expected a result of mma_decoded, or one times "
                             "broadcast numbers");
    return success();
  }
  MmaDecodedOp product;
  if (auto store = dyn_cast<StoreFragmentOp>(op))
    product = getProduct(store.getFragment());
  else if (auto sum = dyn_cast<AddFragmentsOp>(op))
    product = sum.getFragment().getDefiningOp<MmaDecodedOp>();
  else
    return success();
  if (!product)
    return op->emitOpError("expected a result of mma_decoded");
  warpgroupsOf[op] = product.getWarpgroups();
  return success();
}
