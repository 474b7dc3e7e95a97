//===- Checker.cpp - accesses and asynchronous operations -------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Entry points for accesses, and what operations know: an operation starts
// with what its issuer knows, and whoever learns of its completion may touch
// what it touched.
//
//===----------------------------------------------------------------------===//

#include "CheckerImpl.h"

namespace nvfp4::sim {

Checker::Checker(Machine &machine) : impl(std::make_unique<Impl>(machine)) {}
Checker::~Checker() = default;

void Checker::clusterStarted(Cluster &cluster) {
  auto state = std::make_unique<ClusterState>();
  state->warps.resize(cluster.ctas.size() * impl->machine.warpsPerCta);
  for (size_t i = 0; i < state->warps.size(); ++i) {
    Knowledge &knowledge = state->warps[i].knowledge;
    knowledge.clock.resize(state->warps.size());
    knowledge.clock[i] = 1;
  }
  state->ctas.resize(cluster.ctas.size());
  for (CtaState &cta : state->ctas)
    cta.shared.resize(impl->machine.sharedBytes / 4 + 1);
  impl->clusters[&cluster] = std::move(state);
}

void Checker::clusterEnded(Cluster &cluster) { impl->clusters.erase(&cluster); }

void Checker::sharedAccess(Warp &warp, Cta &owner, uint32_t offset,
                           unsigned size, Access access, unsigned lane) {
  (void)lane;
  ClusterState &cluster = impl->stateOf(owner);
  WarpState &state = impl->stateOf(warp);
  AccessRecord record;
  record.agent = impl->warpNumber(warp);
  record.clock = state.clock;
  record.pc = warp.group().pc;
  record.isAtomic = access == Access::Atomic;
  std::vector<ShadowCell> &cells = cluster.ctas[owner.rank].shared;
  for (uint32_t byte = offset; byte < offset + size;) {
    uint32_t end = std::min(offset + size, (byte | 3) + 1);
    record.bytes =
        static_cast<uint8_t>(((1u << (end - byte)) - 1) << (byte & 3));
    impl->access(cluster, cells[byte / 4], record, access != Access::Read,
                 state.knowledge, nullptr,
                 "shared offset " + std::to_string(byte & ~3u));
    byte = end;
  }
}

void Checker::globalAccess(Warp &, uint64_t, unsigned, Access, unsigned) {}
void Checker::operationGlobal(uint32_t, uint64_t, uint64_t, Access) {}

uint32_t Checker::beginOperation(Warp &warp, unsigned lane, bool tensorPipe) {
  ClusterState &cluster = impl->stateOf(warp.cta);
  WarpState &state = impl->stateOf(warp);
  auto id = static_cast<uint32_t>(cluster.operations.size()) * 2;
  OperationState operation;
  operation.knowledge = impl->release(warp);
  operation.knowledge.operations = state.knowledge.operations;
  operation.pc = warp.group().pc;
  operation.warp = impl->warpNumber(warp);
  operation.lane = lane;
  operation.tensorPipe = tensorPipe;
  if (impl->strict)
    operation.notFencedAfter = state.notFencedAfter;
  if (tensorPipe) {
    // Operations of a pipe are performed in order of issue.
    operation.knowledge.operations.addAll(state.pipe);
    state.pipe.add(id);
    state.pipe.add(id + 1);
    operation.pipe = state.pipe;
  }
  cluster.operations.push_back(std::move(operation));
  return id;
}

void Checker::operationShared(uint32_t id, Cta &cta, uint32_t offset,
                              uint32_t size, Access access) {
  ClusterState &cluster = impl->stateOf(cta);
  const OperationState &operation = cluster.operations[id / 2];
  bool write = access != Access::Read;
  AccessRecord record;
  record.agent = id + write;
  record.isOperation = true;
  record.pc = operation.pc;
  std::vector<ShadowCell> &cells = cluster.ctas[cta.rank].shared;
  for (uint32_t byte = offset & ~3u; byte < offset + size; byte += 4)
    impl->access(cluster, cells[byte / 4], record, write, operation.knowledge,
                 nullptr, "shared offset " + std::to_string(byte));
}

void Checker::operationTmem(uint32_t id, Cta &cta, unsigned quarters,
                            unsigned column, unsigned count, Access access) {
  ClusterState &cluster = impl->stateOf(cta);
  OperationState &operation = cluster.operations[id / 2];
  WarpState &warp = cluster.warps[operation.warp];
  bool write = access != Access::Read;
  if (!operation.tensorPipe) {
    (write ? warp.stores : warp.loads).add(id + write);
  }
  AccessRecord record;
  record.agent = id + write;
  record.isOperation = true;
  record.pc = operation.pc;
  std::vector<ShadowCell> &cells = cluster.ctas[cta.rank].tmem;
  if (cells.empty())
    cells.resize(4 * Tmem::columns);
  static const NumberSet none;
  for (unsigned quarter = 0; quarter < 4; ++quarter) {
    if (!(quarters >> quarter & 1))
      continue;
    for (unsigned c = column; c < column + count; ++c)
      impl->access(cluster, cells[quarter * Tmem::columns + c], record, write,
                   operation.knowledge,
                   impl->strict ? &operation.notFencedAfter : &none,
                   "tensor memory column " + std::to_string(c));
  }
}

void Checker::operationArrived(uint32_t id, Cta &cta, uint32_t offset) {
  ClusterState &cluster = impl->stateOf(cta);
  const OperationState &operation = cluster.operations[id / 2];
  Knowledge &pending = impl->mbarrier(cta, offset).pending;
  pending.operations.add(id);
  pending.operations.add(id + 1);
  if (operation.tensorPipe)
    pending.operations.addAll(operation.pipe);
  // By the text a completion orders only the operation itself; kernels rely on
  // it for what its issuer did before.
  if (!impl->strict)
    pending.join(operation.knowledge);
}

void Checker::operationsWaited(Warp &warp,
                               const std::vector<uint32_t> &operations,
                               bool readOnly) {
  Knowledge &knowledge = impl->stateOf(warp).knowledge;
  for (uint32_t id : operations) {
    knowledge.operations.add(id);
    if (!readOnly)
      knowledge.operations.add(id + 1);
  }
}

void Checker::tmemWaited(Warp &warp, bool stores) {
  WarpState &state = impl->stateOf(warp);
  NumberSet &done = stores ? state.stores : state.loads;
  state.knowledge.operations.addAll(done);
  if (impl->strict)
    state.notFencedBefore.addAll(done);
  done.clear();
}

} // namespace nvfp4::sim
