//===- WarpLevel.cpp - instructions among the lanes of a warp ---*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// shfl.sync, vote.sync, match.sync, redux.sync, elect.sync, activemask,
// bar.warp.sync (registered with the barriers). The interpreter has gathered
// the lanes of the member mask before a handler runs.
//
//===----------------------------------------------------------------------===//

#include "Families.h"
#include "FloatExtreme.h"
#include "Lanewise.h"

#include "nvfp4/Simulator/Machine/Machine.h"

#include <algorithm>

namespace nvfp4::sim {
namespace {

void requireMembers(DecodeContext &context, unsigned operand) {
  context.inst.flags |= FlagMemberMask;
  context.inst.memberOperand = static_cast<uint8_t>(operand);
}

enum ShuffleMode : uint8_t { Up, Down, Butterfly, Index };

Step shuffle(Warp &warp, const Inst &inst, LaneMask mask) {
  uint32_t source[32];
  std::copy_n(warp.narrow(inst.op[2]), 32, source);
  const uint32_t *b = warp.narrow(inst.op[3]);
  const uint32_t *c = warp.narrow(inst.op[4]);
  uint32_t *out = warp.narrow(inst.op[0]);
  LaneMask inRange = 0;
  for (LaneMask rest = mask; rest; rest &= rest - 1) {
    unsigned lane = std::countr_zero(rest);
    uint32_t amount = b[lane] & 31;
    uint32_t clamp = c[lane] & 31;
    uint32_t segment = c[lane] >> 8 & 31;
    uint32_t highest = (lane & segment) | (clamp & ~segment & 31);
    uint32_t lowest = lane & segment;
    int from = 0;
    bool inside = false;
    switch (inst.sub[0]) {
    case Up:
      from = static_cast<int>(lane) - static_cast<int>(amount);
      inside = from >= static_cast<int>(highest);
      break;
    case Down:
      from = static_cast<int>(lane + amount);
      inside = from <= static_cast<int>(highest);
      break;
    case Butterfly:
      from = static_cast<int>(lane ^ amount);
      inside = from <= static_cast<int>(highest);
      break;
    default:
      from = static_cast<int>(lowest | (amount & ~segment));
      inside = from <= static_cast<int>(highest);
      break;
    }
    if (!inside)
      from = static_cast<int>(lane);
    if (!(mask >> from & 1))
      return warp.fault(ReportKind::IllegalOperand,
                        "shuffle reads lane " + std::to_string(from) +
                            ", which does not execute it",
                        static_cast<int>(lane));
    out[lane] = source[from];
    inRange |= static_cast<LaneMask>(inside) << lane;
  }
  warp.setPredicate(inst.op[1], mask, inRange);
  return Step::Next;
}

void decodeShfl(DecodeContext &context) {
  if (!context.take("sync")) {
    context.error("'shfl' without '.sync' is not supported");
    return;
  }
  int mode = context.expectAny({"up", "down", "bfly", "idx"});
  context.expectType({Type::B32});
  if (!context.expectOperands(5))
    return;
  Inst &inst = context.inst;
  inst.op[0] = context.dest(0, Type::B32);
  inst.op[1] = context.secondDest(0, Type::Pred);
  for (unsigned i = 1; i <= 4; ++i)
    inst.op[i + 1] = context.source(i, Type::B32);
  inst.sub[0] = static_cast<uint8_t>(mode);
  requireMembers(context, 5);
  inst.handler = shuffle;
}

Step vote(Warp &warp, const Inst &inst, LaneMask mask) {
  LaneMask yes = warp.predicate(inst.op[1]) & mask;
  bool result = false;
  switch (inst.sub[0]) {
  case 0:
    result = yes == mask;
    break;
  case 1:
    result = yes != 0;
    break;
  case 2:
    result = yes == mask || yes == 0;
    break;
  default:
    for (LaneMask rest = mask; rest; rest &= rest - 1)
      warp.narrow(inst.op[0])[std::countr_zero(rest)] = yes;
    return Step::Next;
  }
  warp.setPredicate(inst.op[0], mask, result ? allLanes : 0);
  return Step::Next;
}

void decodeVote(DecodeContext &context) {
  if (!context.take("sync")) {
    context.error("'vote' without '.sync' is not supported");
    return;
  }
  int mode = context.expectAny({"all", "any", "uni", "ballot"});
  Type type = context.expectType({Type::Pred, Type::B32});
  if ((mode == 3) != (type == Type::B32)) {
    context.error("expected type .pred, or .b32 with '.ballot'");
    return;
  }
  if (!context.expectOperands(3))
    return;
  context.inst.op[0] = context.dest(0, type);
  context.inst.op[1] = context.source(1, Type::Pred);
  context.inst.op[2] = context.source(2, Type::B32);
  context.inst.sub[0] = static_cast<uint8_t>(mode);
  requireMembers(context, 2);
  context.inst.handler = vote;
}

template <bool Wide> Step match(Warp &warp, const Inst &inst, LaneMask mask) {
  uint32_t *out = warp.narrow(inst.op[0]);
  auto value = [&](unsigned lane) -> uint64_t {
    return Wide ? warp.wide(inst.op[2])[lane] : warp.narrow(inst.op[2])[lane];
  };
  LaneMask equal[32] = {};
  bool all = true;
  uint64_t first = value(std::countr_zero(mask));
  for (LaneMask r = mask; r; r &= r - 1) {
    unsigned lane = std::countr_zero(r);
    all &= value(lane) == first;
    for (LaneMask o = mask; o; o &= o - 1)
      if (value(std::countr_zero(o)) == value(lane))
        equal[lane] |= o & -o;
  }
  for (LaneMask r = mask; r; r &= r - 1) {
    unsigned lane = std::countr_zero(r);
    out[lane] = inst.sub[0] ? (all ? mask : 0) : equal[lane];
  }
  warp.setPredicate(inst.op[1], mask, all ? allLanes : 0);
  return Step::Next;
}

void decodeMatch(DecodeContext &context) {
  bool all = context.expectAny({"any", "all"}) == 1;
  context.take("sync");
  Type type = context.expectType({Type::B32, Type::B64});
  if (!context.expectOperands(3))
    return;
  context.inst.op[0] = context.dest(0, Type::B32);
  context.inst.op[1] = context.secondDest(0, Type::Pred);
  context.inst.op[2] = context.source(1, type);
  context.inst.op[3] = context.source(2, Type::B32);
  context.inst.sub[0] = all;
  requireMembers(context, 3);
  context.inst.handler = type == Type::B64 ? match<true> : match<false>;
}

enum Reduction : uint8_t { Add, Min, Max, And, Or, Xor };

Step reduce(Warp &warp, const Inst &inst, LaneMask mask) {
  const uint32_t *in = warp.narrow(inst.op[1]);
  bool isSigned = inst.sub[1];
  bool first = true;
  uint32_t result = 0;
  for (LaneMask rest = mask; rest; rest &= rest - 1) {
    uint32_t value = in[std::countr_zero(rest)];
    if (first) {
      result = value;
      first = false;
      continue;
    }
    bool less = isSigned
                    ? static_cast<int32_t>(value) < static_cast<int32_t>(result)
                    : value < result;
    switch (inst.sub[0]) {
    case Add:
      result += value;
      break;
    case Min:
      result = less ? value : result;
      break;
    case Max:
      result = less ? result : value;
      break;
    case And:
      result &= value;
      break;
    case Or:
      result |= value;
      break;
    default:
      result ^= value;
      break;
    }
  }
  uint32_t *out = warp.narrow(inst.op[0]);
  for (LaneMask rest = mask; rest; rest &= rest - 1)
    out[std::countr_zero(rest)] = result;
  return Step::Next;
}

/// redux.sync.{min,max}{.abs}{.NaN}.f32.
Step reduceFloat(Warp &warp, const Inst &inst, LaneMask mask) {
  const uint32_t *in = warp.narrow(inst.op[1]);
  FloatExtreme extreme{.isMax = inst.sub[0] == Max,
                       .absolute = (inst.sub[1] & 1) != 0,
                       .propagateNan = (inst.sub[1] & 2) != 0};
  for (LaneMask rest = mask; rest; rest &= rest - 1)
    extreme.add(in[std::countr_zero(rest)]);
  uint32_t bits = extreme.bits();
  uint32_t *out = warp.narrow(inst.op[0]);
  for (LaneMask rest = mask; rest; rest &= rest - 1)
    out[std::countr_zero(rest)] = bits;
  return Step::Next;
}

void decodeRedux(DecodeContext &context) {
  context.take("sync");
  int kind = context.expectAny({"add", "min", "max", "and", "or", "xor"});
  bool absolute = context.take("abs");
  bool nan = context.take("NaN");
  Type type = context.expectType({Type::U32, Type::S32, Type::B32, Type::F32});
  if (!context.expectOperands(3))
    return;
  Inst &inst = context.inst;
  inst.op[0] = context.dest(0, type);
  inst.op[1] = context.source(1, type);
  inst.op[2] = context.source(2, Type::B32);
  inst.sub[0] = static_cast<uint8_t>(kind);
  requireMembers(context, 2);
  if (type == Type::F32) {
    if (kind != Min && kind != Max)
      context.error("expected '.min' or '.max' with type .f32");
    inst.sub[1] = static_cast<uint8_t>(absolute | nan << 1);
    inst.handler = reduceFloat;
    return;
  }
  if (absolute || nan)
    context.error("'.abs' and '.NaN' need type .f32");
  inst.sub[1] = type == Type::S32;
  inst.handler = reduce;
}

Step elect(Warp &warp, const Inst &inst, LaneMask mask) {
  unsigned leader = std::countr_zero(mask);
  uint32_t *out = warp.narrow(inst.op[0]);
  for (LaneMask rest = mask; rest; rest &= rest - 1)
    out[std::countr_zero(rest)] = leader;
  warp.setPredicate(inst.op[1], mask, 1u << leader);
  return Step::Next;
}

void decodeElect(DecodeContext &context) {
  context.take("sync");
  if (!context.expectOperands(2))
    return;
  context.inst.op[0] = context.dest(0, Type::B32);
  context.inst.op[1] = context.secondDest(0, Type::Pred);
  context.inst.op[2] = context.source(1, Type::B32);
  requireMembers(context, 2);
  context.inst.handler = elect;
}

Step activeMask(Warp &warp, const Inst &inst, LaneMask mask) {
  uint32_t *out = warp.narrow(inst.op[0]);
  for (LaneMask rest = mask; rest; rest &= rest - 1)
    out[std::countr_zero(rest)] = mask;
  return Step::Next;
}

void decodeActivemask(DecodeContext &context) {
  context.expectType({Type::B32});
  if (!context.expectOperands(1))
    return;
  context.inst.op[0] = context.dest(0, Type::B32);
  context.inst.handler = activeMask;
}

} // namespace

void addWarpInstructions(InstructionTable &table) {
  table.add("shfl", decodeShfl);
  table.add("vote", decodeVote);
  table.add("match", decodeMatch);
  table.add("redux", decodeRedux);
  table.add("elect", decodeElect);
  table.add("activemask", decodeActivemask);
}

} // namespace nvfp4::sim
