//===- FlowModel.cpp - Roles as processes -----------------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FlowModel.h"

using namespace mlir;
using namespace nvfp4::warpspec;

FlowModel::FlowModel(RolesOp roles) : roles(roles) {
  llvm::append_range(pipelines,
                     roles->getParentOfType<KernelOp>().getOps<PipelineOp>());
  for (Region &role : roles.getBodies()) {
    const RoleProgram &program = programs.emplace_back(role, pipelines);
    Counts &counts = used.emplace_back(pipelines.size());
    for (unsigned pipeline = 0; pipeline < pipelines.size(); ++pipeline)
      for (unsigned kind = 0; kind < kEventKinds; ++kind)
        counts(pipeline, EventKind(kind)) =
            program.uses(pipeline, EventKind(kind));
  }
}

HandOver FlowModel::getProtocol(unsigned pipeline) const {
  PipelineOp op = pipelines[pipeline];
  return *getHandOver(op.getProducer(), op.getConsumer());
}

unsigned FlowModel::getLeast(ArrayRef<Counts> counts, unsigned pipeline,
                             EventKind opens, EventKind closes) const {
  unsigned least = std::numeric_limits<unsigned>::max();
  for (unsigned role = 0; role < countRoles(); ++role)
    if (uses(role, pipeline, opens))
      least = std::min(least, counts[role](pipeline, closes));
  return least;
}

bool FlowModel::canRun(ArrayRef<Counts> counts, unsigned role,
                       const Event &event) const {
  unsigned pipeline = event.pipeline;
  if (event.kind == EventKind::Wait)
    return counts[role](pipeline, EventKind::Wait) <
           getLeast(counts, pipeline, EventKind::Acquire, EventKind::Commit);
  bool isAcquire = event.kind == EventKind::Acquire;
  if (!isAcquire && event.kind != EventKind::DrainAll)
    return true;
  // Own bulk groups wait for nobody.
  if (!isAcquire && getProtocol(pipeline).empty == Signal::BulkGroup)
    return true;
  uint64_t filled = counts[role](pipeline, isAcquire ? EventKind::Acquire
                                                     : EventKind::Commit);
  uint64_t drained =
      getLeast(counts, pipeline, EventKind::Wait, EventKind::Release);
  if (!isAcquire)
    return filled <= drained;
  PipelineOp op = pipelines[pipeline];
  return filled < drained + op.getDepth();
}
