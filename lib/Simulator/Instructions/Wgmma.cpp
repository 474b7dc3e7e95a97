//===- Wgmma.cpp - wgmma.mma_async, fence, commit_group, wait_group -------===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each warp of a warpgroup computes its 16 of the 64 rows. An operation reads
// shared memory when it completes, in order of issue; its registers hold poison
// until the wait that covers it.
//
//===----------------------------------------------------------------------===//

#include "AsyncShared.h"
#include "Families.h"
#include "Fragments.h"

#include "nvfp4/Simulator/Check/Checker.h"
#include "nvfp4/Simulator/TensorCore/Descriptors.h"

#include <algorithm>
#include <cstring>

namespace nvfp4::sim {
namespace {

struct WgmmaAttributes : InstAttributes {
  unsigned n = 8;
  unsigned k = 16;
  FragmentType a, b;
  bool halfResult = false;
  bool aInRegisters = false;
  bool negateA = false, negateB = false;
  bool transposeA = false, transposeB = false;
  unsigned results = 4;
};

struct WgmmaOperation {
  const WgmmaAttributes *attributes = nullptr;
  Warp *warp = nullptr;
  SmemDescriptor a, b;
  std::vector<uint32_t> aRegisters;
  std::vector<uint32_t> accumulators;
  bool accumulates = true;
  std::shared_ptr<DelayedResult> previous;
  std::shared_ptr<DelayedResult> result;
  AsyncOperation operation;

  bool readMatrix(const SmemDescriptor &source, unsigned firstRow,
                  unsigned rows, const FragmentType &type, bool transposed,
                  MmaMatrix &out);
  void run();
};

bool WgmmaOperation::readMatrix(const SmemDescriptor &source, unsigned firstRow,
                                unsigned rows, const FragmentType &type,
                                bool transposed, MmaMatrix &out) {
  unsigned bytes = type.bits / 8;
  unsigned k = attributes->k;
  out.format = type.format;
  out.resize(rows, k);
  std::vector<uint8_t> data;
  for (unsigned r = 0; r < rows; ++r)
    for (unsigned i = 0; i < k; ++i) {
      uint32_t address = transposed
                             ? source.addressMnMajor(firstRow + r, i, bytes)
                             : source.addressKMajor(firstRow + r, i * bytes);
      if (!readShared(operation, warp->cta, address, bytes, data,
                      TensorSwizzle::None))
        return false;
      uint32_t code = 0;
      std::memcpy(&code, data.data(), bytes);
      out.setCode(size_t{r} * k + i, type.bits == 32 ? code >> 13 : code);
    }
  return true;
}

void WgmmaOperation::run() {
  const WgmmaAttributes &x = *attributes;
  MmaTile tile;
  tile.k = x.k;
  if (x.a.bits == 8)
    tile.fraction = tile.resultMantissa = 13;
  unsigned row = 16 * (warp->index % 4);
  if (x.aInRegisters)
    readFragmentA(aRegisters, x.a, x.k, tile.a);
  else if (!readMatrix(a, row, 16, x.a, x.transposeA, tile.a))
    return;
  if (!readMatrix(b, 0, x.n, x.b, x.transposeB, tile.b))
    return;
  tile.a.negate = x.negateA;
  tile.b.negate = x.negateB;
  const std::vector<uint32_t> &in = previous ? previous->values : accumulators;
  std::vector<float> values(size_t{16} * x.n, 0.0f);
  if (accumulates)
    readAccumulators(in, x.halfResult, x.n, values);
  accumulate(tile, warp->machine.options.accumulation, x.halfResult, values);
  writeAccumulators(values, x.halfResult, x.n, result->values);
  result->ready = true;
  warp->machine.wake(*warp);
}

/// The newest operation in flight with the same registers.
std::shared_ptr<DelayedResult> pendingFor(const Warp &warp, Ref first) {
  std::shared_ptr<DelayedResult> found;
  auto look = [&](const std::vector<std::shared_ptr<DelayedResult>> &list) {
    for (const auto &result : list)
      if (result->refs[0].bits == first.bits)
        found = result;
  };
  for (const auto &group : warp.wgmmaGroups)
    look(group);
  look(warp.wgmmaOpen);
  return found;
}

Step multiply(Warp &warp, const Inst &inst, LaneMask mask) {
  const auto *x = &inst.attr<WgmmaAttributes>();
  if (!warp.requireAllLanes(mask, "wgmma"))
    return Step::Stop;
  Machine &machine = warp.machine;
  const Ref *pool = &warp.kernel.pool[inst.pool];
  auto op = std::make_shared<WgmmaOperation>();
  op->attributes = x;
  op->warp = &warp;
  std::string problem = decodeWgmmaDescriptor(warp.wide(inst.op[1])[0], op->b);
  if (problem.empty() && !x->aInRegisters)
    problem = decodeWgmmaDescriptor(warp.wide(inst.op[0])[0], op->a);
  if (!problem.empty())
    return warp.fault(ReportKind::IllegalDescriptor, problem);
  op->accumulates = warp.predicate(inst.op[2]) & 1;
  op->previous = pendingFor(warp, pool[0]);
  op->result = std::make_shared<DelayedResult>();
  op->result->mask = mask;
  op->result->refs.assign(pool, pool + x->results);
  for (unsigned i = 0; i < x->results; ++i) {
    uint32_t *plane = warp.narrow(pool[i]);
    op->accumulators.insert(op->accumulators.end(), plane, plane + 32);
    std::fill_n(plane, 32, Tmem::poison);
  }
  if (x->aInRegisters)
    for (unsigned i = 0; i < 4; ++i) {
      const uint32_t *plane = warp.narrow(pool[x->results + i]);
      op->aRegisters.insert(op->aRegisters.end(), plane, plane + 32);
    }
  op->operation = beginOperation(warp, 0, OperationProxy::TensorPipe);
  op->result->operation = op->operation.id;
  warp.wgmmaOpen.push_back(op->result);
  ++machine.result.statistics.mmas;
  machine.scheduleOnPipe(
      warp.cta, [op] { op->run(); }, machine.options.costs.wgmma(x->n));
  return Step::Next;
}

Step commit(Warp &warp, const Inst &, LaneMask) {
  warp.wgmmaGroups.push_back(std::move(warp.wgmmaOpen));
  warp.wgmmaOpen.clear();
  return Step::Next;
}

Step wait(Warp &warp, const Inst &inst, LaneMask) {
  auto allowed = static_cast<size_t>(inst.immediate);
  auto &groups = warp.wgmmaGroups;
  for (size_t i = 0; i + allowed < groups.size(); ++i)
    for (const auto &result : groups[i])
      if (!result->ready)
        return warp.block(WaitKind::TensorPipe);
  while (groups.size() > allowed) {
    std::vector<std::shared_ptr<DelayedResult>> done =
        std::move(groups.front());
    groups.erase(groups.begin());
    for (const auto &result : done) {
      if (warp.machine.checker)
        warp.machine.checker->operationsWaited(warp, {result->operation},
                                               false);
      // Registers that a later operation is still changing stay poisoned.
      if (pendingFor(warp, result->refs[0]))
        continue;
      for (size_t i = 0; i < result->refs.size(); ++i)
        std::copy_n(&result->values[i * 32], 32, warp.narrow(result->refs[i]));
    }
  }
  return Step::Next;
}

Step nothing(Warp &, const Inst &, LaneMask) { return Step::Next; }

void decodeMultiply(DecodeContext &context) {
  auto &x = context.makeAttributes<WgmmaAttributes>();
  // The shape is one word: m64n<N>k<K>.
  std::string shape;
  for (const std::string &modifier : context.parsed.modifiers)
    if (modifier.rfind("m64n", 0) == 0)
      shape = modifier;
  unsigned n = 0, k = 0;
  if (std::sscanf(shape.c_str(), "m64n%uk%u", &n, &k) != 2 || n < 8 ||
      n > 256 || n % 8) {
    context.error("expected a shape m64n8k… to m64n256k…");
    return;
  }
  context.take(shape);
  Type d = context.expectType({Type::F32, Type::F16});
  Type ta = context.takeType();
  Type tb = context.takeType();
  if (!fragmentType(ta, x.a) || !fragmentType(tb, x.b) ||
      x.a.bits != x.b.bits || k * x.a.bits != 256) {
    context.error("element types of '" + context.parsed.fullName() +
                  "' are not supported");
    return;
  }
  x.n = n;
  x.k = k;
  x.halfResult = d == Type::F16;
  x.results = n / 8 * (x.halfResult ? 2 : 4);
  bool wide = x.a.bits == 16;
  if (!context.expectOperands(4, wide ? 8 : 6))
    return;
  Inst &inst = context.inst;
  std::vector<const Operand *> results = context.elements(0);
  if (results.size() != x.results) {
    context.error("expected " + std::to_string(x.results) +
                  " accumulators, but got " + std::to_string(results.size()));
    return;
  }
  x.aInRegisters = context.operand(1).kind == Operand::Kind::Vector;
  std::vector<Ref> refs;
  for (const Operand *reg : results) {
    context.source(*reg, Type::B32);
    refs.push_back(context.dest(*reg, Type::B32));
  }
  if (x.aInRegisters) {
    std::vector<const Operand *> regs = context.elements(1);
    if (regs.size() != 4) {
      context.error("expected 4 registers of A, but got " +
                    std::to_string(regs.size()));
      return;
    }
    for (const Operand *reg : regs)
      refs.push_back(context.source(*reg, Type::B32));
  } else {
    inst.op[0] = context.source(1, Type::B64);
  }
  inst.op[1] = context.source(2, Type::B64);
  inst.op[2] = context.source(3, Type::Pred);
  size_t next = 4;
  auto flag = [&](int64_t on) {
    return next < context.operandCount() && context.literal(next++) == on;
  };
  x.negateA = flag(-1);
  x.negateB = flag(-1);
  if (!x.aInRegisters && wide)
    x.transposeA = flag(1);
  if (wide)
    x.transposeB = flag(1);
  inst.pool = context.poolSize();
  for (Ref ref : refs)
    context.addToPool(ref);
  context.effects.delayedDefs = true;
  inst.flags |= FlagAligned;
  inst.handler = multiply;
}

void decodeWgmma(DecodeContext &context) {
  Inst &inst = context.inst;
  int kind =
      context.expectAny({"mma_async", "fence", "commit_group", "wait_group"});
  context.take("sync");
  context.take("aligned");
  inst.flags |= FlagAligned;
  switch (kind) {
  case 0:
    return decodeMultiply(context);
  case 1:
    context.expectOperands(0);
    inst.handler = nothing;
    return;
  case 2:
    context.expectOperands(0);
    inst.handler = commit;
    return;
  default:
    if (context.expectOperands(1))
      inst.immediate = context.literal(0);
    if (inst.immediate < 0)
      context.error("expected a group count of 0 or more");
    context.effects.waitsForDelayed = true;
    inst.handler = wait;
    return;
  }
}

} // namespace

void addWgmmaInstructions(InstructionTable &table) {
  table.add("wgmma", decodeWgmma);
}

} // namespace nvfp4::sim
