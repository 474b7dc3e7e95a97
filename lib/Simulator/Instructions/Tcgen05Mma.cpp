//===- Tcgen05Mma.cpp - tcgen05.mma -----------------------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Decoding and issue; the operation itself is in Tcgen05MmaOperation.cpp.
//
//===----------------------------------------------------------------------===//

#include "Tcgen05MmaOperation.h"

namespace nvfp4::sim {
namespace {

// Pool: scale A, scale B, sparsity metadata, then the disable-output-lane
// registers.
enum PoolSlot { ScaleASlot, ScaleBSlot, MetadataSlot, DisableSlot };

Step mma(Warp &warp, const Inst &inst, LaneMask mask) {
  const auto &a = inst.attr<MmaAttributes>();
  const Ref *pool = &warp.kernel.pool[inst.pool];
  Machine &machine = warp.machine;
  if (!useCtaGroup(warp, a.group))
    return Step::Stop;
  if (std::popcount(mask) > 1)
    warp.note(ReportKind::Lint, "the same multiplication is issued by " +
                                    std::to_string(std::popcount(mask)) +
                                    " lanes of a warp");
  for (LaneMask rest = mask; rest; rest &= rest - 1) {
    unsigned lane = std::countr_zero(rest);
    auto op = std::make_shared<MmaOperation>();
    op->attributes = &a;
    auto illegal = [&](const std::string &problem) {
      return warp.fault(ReportKind::IllegalDescriptor, problem,
                        static_cast<int>(lane));
    };
    std::string problem =
        decodeInstructionDescriptor(warp.narrow(inst.op[3])[lane], a.kind,
                                    a.sparse, a.group, op->descriptor);
    if (problem.empty())
      problem = decodeSmemDescriptor(warp.wide(inst.op[2])[lane], op->b);
    if (problem.empty() && !a.aInTmem)
      problem = decodeSmemDescriptor(warp.wide(inst.op[1])[lane], op->a);
    if (problem.empty() && a.sparse && !op->descriptor.transposeB &&
        op->b.swizzle != TensorSwizzle::None && op->b.span < 64)
      problem = "64 bytes of K in rows of a 32-byte swizzle, as B of "
                "tcgen05.mma.sp has them, are not supported; use a swizzle of "
                "64 or 128 bytes, or none";
    if (!problem.empty())
      return illegal(problem);
    op->d = splitTmem(warp.narrow(inst.op[0])[lane] +
                      static_cast<uint32_t>(a.dOffset));
    if (a.aInTmem)
      op->aTmem = splitTmem(warp.narrow(inst.op[1])[lane] +
                            static_cast<uint32_t>(a.aOffset));
    if (a.block) {
      op->scaleA = splitTmem(warp.narrow(pool[ScaleASlot])[lane] +
                             static_cast<uint32_t>(a.scaleAOffset));
      op->scaleB = splitTmem(warp.narrow(pool[ScaleBSlot])[lane] +
                             static_cast<uint32_t>(a.scaleBOffset));
      unsigned blocks = op->descriptor.k / a.block;
      unsigned step = blocks == 1 ? 1 : blocks;
      for (unsigned id : {op->descriptor.scaleIdA, op->descriptor.scaleIdB})
        if (id % step || id + blocks > 4)
          return illegal("scale id " + std::to_string(id) +
                         " is not legal with " + std::to_string(blocks) +
                         " scales in a row");
      if (op->descriptor.scale == ScaleType::UE4M3 && blocks != 4)
        return illegal("ue4m3 scales need blocks of 16");
    }
    if (a.sparse)
      op->metadata = splitTmem(warp.narrow(pool[MetadataSlot])[lane] +
                               static_cast<uint32_t>(a.metadataOffset));
    for (unsigned i = 0; i < a.disableRegisters; ++i)
      op->disabled.push_back(warp.narrow(pool[DisableSlot + i])[lane]);
    op->accumulates = warp.predicate(inst.op[4]) >> lane & 1;
    op->ctas = groupCtas(warp.cta, a.group);
    op->operation = beginOperation(warp, lane, OperationProxy::TensorPipe);
    ++machine.result.statistics.mmas;
    machine.scheduleOnPipe(
        *op->ctas[0], [op] { op->run(); },
        machine.options.costs.tcgen05Mma(op->descriptor.m, op->descriptor.n,
                                         static_cast<unsigned>(op->ctas.size()),
                                         a.aInTmem, a.sparse));
  }
  return Step::Next;
}

unsigned takeBlock(DecodeContext &context, MmaKind kind) {
  int vector = context.takeAny({"scale_vec::1X", "scale_vec::2X",
                                "scale_vec::4X", "block16", "block32"});
  switch (kind) {
  case MmaKind::MxF8F6F4:
    if (vector != -1 && vector != 0 && vector != 4)
      context.error("expected '.scale_vec::1X' or '.block32'");
    return 32;
  case MmaKind::MxF4:
    if (vector != -1 && vector != 1 && vector != 4)
      context.error("expected '.scale_vec::2X' or '.block32'");
    return 32;
  default:
    if (vector == 2 || vector == 3)
      return 16;
    if (vector != 1 && vector != 4)
      context.error("expected '.scale_vec::2X', '.scale_vec::4X', '.block16' "
                    "or '.block32'");
    return 32;
  }
}

} // namespace

void decodeTmemMma(DecodeContext &context) {
  auto &a = context.makeAttributes<MmaAttributes>();
  a.sparse = context.take("sp");
  a.group = takeCtaGroup(context);
  a.kind = static_cast<MmaKind>(
      context.expectAny({"kind::f16", "kind::tf32", "kind::f8f6f4", "kind::i8",
                         "kind::mxf8f6f4", "kind::mxf4", "kind::mxf4nvf4"}));
  bool scaled = context.take("block_scale");
  if (scaled != (a.kind >= MmaKind::MxF8F6F4)) {
    context.error("'.block_scale' goes with kinds mxf8f6f4, mxf4 and mxf4nvf4 "
                  "only");
    return;
  }
  if (scaled)
    a.block = takeBlock(context, a.kind) * (a.sparse ? 2 : 1);
  // Collectors are a cache; they do not change results.
  for (const char *use : {"fill", "use", "lastuse", "discard"})
    context.take(std::string("collector::a::") + use);
  size_t afterB = a.sparse ? 4 : 3;
  if (!context.expectOperands(afterB + (scaled ? 4 : 2), afterB + 4))
    return;
  Inst &inst = context.inst;
  AddressOperand d = context.address(0);
  inst.op[0] = d.base;
  a.dOffset = d.offset;
  a.aInTmem = context.operand(1).kind == Operand::Kind::Memory;
  if (a.aInTmem) {
    AddressOperand tmem = context.address(1);
    inst.op[1] = tmem.base;
    a.aOffset = tmem.offset;
  } else {
    inst.op[1] = context.source(1, Type::B64);
  }
  inst.op[2] = context.source(2, Type::B64);
  Ref none = context.constant32(0);
  Ref scaleA = none, scaleB = none, metadata = none;
  if (a.sparse) {
    AddressOperand address = context.address(3);
    metadata = address.base;
    a.metadataOffset = address.offset;
  }
  inst.op[3] = context.source(afterB, Type::B32);
  std::vector<Ref> disabled;
  size_t next = afterB + 1;
  if (scaled) {
    AddressOperand first = context.address(next);
    AddressOperand second = context.address(next + 1);
    scaleA = first.base;
    scaleB = second.base;
    a.scaleAOffset = first.offset;
    a.scaleBOffset = second.offset;
    next += 2;
  } else if (context.operand(next).kind == Operand::Kind::Vector) {
    for (const Operand *reg : context.elements(next))
      disabled.push_back(context.source(*reg, Type::B32));
    if (disabled.size() != 4 * a.group)
      context.error("expected " + std::to_string(4 * a.group) +
                    " disable-output-lane registers, but got " +
                    std::to_string(disabled.size()));
    ++next;
  }
  if (next >= context.operandCount()) {
    context.error("expected a predicate that enables the accumulator");
    return;
  }
  inst.op[4] = context.source(next, Type::Pred);
  if (next + 1 < context.operandCount()) {
    a.scaleInput = context.literal(next + 1);
    if (scaled || a.scaleInput < 0 || a.scaleInput > 15)
      context.error("expected a scale of 0 to 15 for kinds f16 and tf32");
  }
  inst.pool = context.poolSize();
  context.addToPool(scaleA);
  context.addToPool(scaleB);
  context.addToPool(metadata);
  for (Ref ref : disabled)
    context.addToPool(ref);
  a.disableRegisters = static_cast<unsigned>(disabled.size());
  inst.handler = mma;
}

} // namespace nvfp4::sim
