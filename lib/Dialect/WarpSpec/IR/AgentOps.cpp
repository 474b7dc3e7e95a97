//===- AgentOps.cpp - The interface of agents, operation by operation -----===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Who acts, on what, and what is counted. Passes read only this.
//
//===----------------------------------------------------------------------===//

#include "nvfp4/Dialect/WarpSpec/IR/WarpSpec.h"

using namespace mlir;
using namespace nvfp4::warpspec;

using Accesses = SmallVectorImpl<BufferAccess>;

static void read(Accesses &accesses, OpOperand &buffer) {
  accesses.push_back({&buffer, /*reads=*/true, /*writes=*/false});
}
static void write(Accesses &accesses, OpOperand &buffer) {
  accesses.push_back({&buffer, /*reads=*/false, /*writes=*/true});
}

//===----------------------------------------------------------------------===//
// Hand-over: the agent is a side of the pipeline; no buffer is touched.
//===----------------------------------------------------------------------===//

Agent AcquireOp::getAgent() { return getPipeline().getType().getProducer(); }
Agent TryAcquireOp::getAgent() { return getPipeline().getType().getProducer(); }
Agent DrainAllOp::getAgent() { return getPipeline().getType().getProducer(); }
Agent WaitOp::getAgent() { return getPipeline().getType().getConsumer(); }
Agent TryWaitOp::getAgent() { return getPipeline().getType().getConsumer(); }
// A token of unknown origin, which the verifier refuses, belongs to threads.
Agent CommitOp::getAgent() {
  PipelineOp pipeline = getPipeline();
  return pipeline ? pipeline.getProducer() : Agent::Threads;
}
Agent ReleaseOp::getAgent() {
  PipelineOp pipeline = getPipeline();
  return pipeline ? pipeline.getConsumer() : Agent::Threads;
}

void AcquireOp::getAccesses(Accesses &) {}
void TryAcquireOp::getAccesses(Accesses &) {}
void DrainAllOp::getAccesses(Accesses &) {}
void WaitOp::getAccesses(Accesses &) {}
void TryWaitOp::getAccesses(Accesses &) {}
void CommitOp::getAccesses(Accesses &) {}
void ReleaseOp::getAccesses(Accesses &) {}

// Bulk groups are those of the thread that stored.
bool DrainAllOp::isIssuedByOneThread() {
  PipelineType type = getPipeline().getType();
  return getAgent() != Agent::Threads ||
         getHandOver(type.getProducer(), type.getConsumer())->empty ==
             Signal::BulkGroup;
}

//===----------------------------------------------------------------------===//
// Copies
//===----------------------------------------------------------------------===//

Agent TmaLoadOp::getAgent() { return Agent::Tma; }
void TmaLoadOp::getAccesses(Accesses &accesses) {
  write(accesses, getTargetMutable());
}
Value TmaLoadOp::getCountedFill() { return getFill(); }
int64_t TmaLoadOp::getTransactionBytes() {
  return getMap().getType().getTransactionBytes();
}

Agent TmaLoadRowsOp::getAgent() { return Agent::Tma; }
void TmaLoadRowsOp::getAccesses(Accesses &accesses) {
  write(accesses, getTargetMutable());
}
Value TmaLoadRowsOp::getCountedFill() { return getFill(); }
int64_t TmaLoadRowsOp::getTransactionBytes() {
  auto first = cast<TensorMapType>(getMaps().front().getType());
  return first.getTransactionBytes() / (hasOpenRows() ? 1 : 8);
}
Value TmaLoadRowsOp::getTransactionCount() { return getRows(); }

Agent BulkLoadOp::getAgent() { return Agent::Tma; }
void BulkLoadOp::getAccesses(Accesses &accesses) {
  write(accesses, getTargetMutable());
}
Value BulkLoadOp::getCountedFill() { return getFill(); }
int64_t BulkLoadOp::getTransactionBytes() {
  MemRefType type = getTarget().getType();
  return getSharedBytes(type) / type.getDimSize(0);
}

Agent TmaStoreOp::getAgent() { return Agent::Tma; }
void TmaStoreOp::getAccesses(Accesses &accesses) {
  read(accesses, getSourceMutable());
}
Value TmaStoreOp::getWrittenMemory() { return getMemory(); }

Agent CopyScalesOp::getAgent() { return Agent::TensorCore; }
void CopyScalesOp::getAccesses(Accesses &accesses) {
  read(accesses, getSourceMutable());
  write(accesses, getTargetMutable());
}

Agent TmemLoadOp::getAgent() { return Agent::Threads; }
void TmemLoadOp::getAccesses(Accesses &accesses) {
  read(accesses, getSourceMutable());
}

Agent TmemStoreOp::getAgent() { return Agent::Threads; }
void TmemStoreOp::getAccesses(Accesses &accesses) {
  write(accesses, getTargetMutable());
}

Agent SmemLoadOp::getAgent() { return Agent::Threads; }
void SmemLoadOp::getAccesses(Accesses &accesses) {
  read(accesses, getSourceMutable());
}

Agent SmemStoreOp::getAgent() { return Agent::Threads; }
void SmemStoreOp::getAccesses(Accesses &accesses) {
  write(accesses, getTargetMutable());
}

//===----------------------------------------------------------------------===//
// Multiplications
//===----------------------------------------------------------------------===//

Agent MmaScaledOp::getAgent() { return Agent::TensorCore; }
void MmaScaledOp::getAccesses(Accesses &accesses) {
  accesses.push_back({&getAccMutable(), /*reads=*/true, /*writes=*/true});
  read(accesses, getAMutable());
  read(accesses, getAScalesMutable());
  read(accesses, getBMutable());
  read(accesses, getBScalesMutable());
}

Agent MmaOp::getAgent() { return Agent::TensorCore; }
void MmaOp::getAccesses(Accesses &accesses) {
  accesses.push_back({&getAccMutable(), /*reads=*/true, /*writes=*/true});
  read(accesses, getAMutable());
  read(accesses, getBMutable());
}

// Waits for slots itself; no buffer is named.
Agent MmaDecodedOp::getAgent() { return Agent::Threads; }
void MmaDecodedOp::getAccesses(Accesses &) {}
bool MmaDecodedOp::isOfFirstWarpgroups() { return true; }
RingPosition MmaDecodedOp::getNextPosition(OpBuilder &) {
  return {getNextStage(), getNextPhase()};
}

// To global memory.
Agent StoreFragmentOp::getAgent() { return Agent::Threads; }
void StoreFragmentOp::getAccesses(Accesses &) {}
bool StoreFragmentOp::isOfFirstWarpgroups() { return true; }
Agent AddFragmentsOp::getAgent() { return Agent::Threads; }
void AddFragmentsOp::getAccesses(Accesses &) {}
bool AddFragmentsOp::isOfFirstWarpgroups() { return true; }

Agent StageFragmentOp::getAgent() { return Agent::Threads; }
void StageFragmentOp::getAccesses(Accesses &accesses) {
  write(accesses, getTargetMutable());
}
bool StageFragmentOp::isOfFirstWarpgroups() { return true; }
