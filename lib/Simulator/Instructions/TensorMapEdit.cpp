//===- TensorMapEdit.cpp - tensormap.replace, tensormap.cp_fenceproxy -----===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Editing tensor maps on the device. PTX numbers element types and swizzles
// differently from the host interface; the tables below translate.
//
//===----------------------------------------------------------------------===//

#include "Families.h"
#include "Lanewise.h"

#include "nvfp4/Simulator/Async/TensorMap.h"
#include "nvfp4/Simulator/Machine/Access.h"

#include <algorithm>
#include <cstring>
#include <optional>

namespace nvfp4::sim {
namespace {

enum class Field : uint8_t {
  GlobalAddress,
  Rank,
  BoxDim,
  GlobalDim,
  GlobalStride,
  ElementStride,
  ElementType,
  Interleave,
  SwizzleMode,
  SwizzleAtomicity,
  FillMode
};

struct ReplaceAttributes : InstAttributes {
  Field field = Field::GlobalAddress;
  StateSpace space = StateSpace::Generic;
  bool wideAddress = false;
  bool wideValue = false;
  unsigned ordinal = 0;
  uint64_t immediate = 0;
};

constexpr TensorType elementTypes[] = {
    TensorType::U8,      TensorType::U16,      TensorType::U32,
    TensorType::S32,     TensorType::U64,      TensorType::S64,
    TensorType::F16,     TensorType::F32,      TensorType::F32Ftz,
    TensorType::F64,     TensorType::BF16,     TensorType::TF32,
    TensorType::TF32Ftz, TensorType::U4Packed, TensorType::U4Padded,
    TensorType::U6Padded};

/// Mode and atomicity are separate fields in PTX and one in the map.
TensorSwizzle withAtomicity(uint64_t atomicity) {
  switch (atomicity) {
  case 1:
    return TensorSwizzle::B128Atom32;
  case 2:
    return TensorSwizzle::B128Atom32Flip8;
  case 3:
    return TensorSwizzle::B128Atom64;
  default:
    return TensorSwizzle::B128;
  }
}

std::string edit(TensorMap &map, const ReplaceAttributes &a, uint64_t value) {
  switch (a.field) {
  case Field::GlobalAddress:
    map.address = value;
    break;
  case Field::Rank:
    if (value > 4)
      return "expected a rank field of 0 to 4, but got " +
             std::to_string(value);
    map.rank = static_cast<uint8_t>(value + 1);
    break;
  case Field::BoxDim:
    map.box[a.ordinal] = static_cast<uint16_t>(std::min<uint64_t>(value, 257));
    break;
  case Field::GlobalDim:
    map.lastIndex[a.ordinal] = static_cast<uint32_t>(value - 1);
    break;
  case Field::GlobalStride:
    map.stride[a.ordinal] = value;
    break;
  case Field::ElementStride:
    map.elementStride[a.ordinal] = static_cast<uint16_t>(value);
    break;
  case Field::ElementType:
    map.type = elementTypes[value];
    break;
  case Field::Interleave:
    map.interleave = static_cast<uint8_t>(value);
    break;
  case Field::SwizzleMode:
    if (value < 3 || map.swizzle < TensorSwizzle::B128)
      map.swizzle = static_cast<TensorSwizzle>(value);
    break;
  case Field::SwizzleAtomicity:
    if (map.swizzle >= TensorSwizzle::B128)
      map.swizzle = withAtomicity(value);
    break;
  case Field::FillMode:
    map.fillNan = static_cast<uint8_t>(value);
    break;
  }
  return {};
}

/// The map in the 128 bytes of `data`; nothing when they are none. Zeros are a
/// blank one, which kernels fill in field by field: what they leave out is no
/// box of that size, or an element stride, that a copy could use.
std::optional<TensorMap> readMap(const uint8_t *data) {
  TensorMap map;
  std::memcpy(&map, data, sizeof map);
  if (map.magic == TensorMap::magicValue)
    return map;
  if (std::any_of(data, data + 128, [](uint8_t byte) { return byte; }))
    return std::nullopt;
  map = TensorMap();
  map.box = {};
  map.elementStride = {};
  return map;
}

Step replace(Warp &warp, const Inst &inst, LaneMask mask) {
  const auto &a = inst.attr<ReplaceAttributes>();
  for (LaneMask rest = mask; rest; rest &= rest - 1) {
    unsigned lane = std::countr_zero(rest);
    uint64_t address =
        warp.addressOf(inst.op[0], a.wideAddress, inst.immediate, lane);
    Place place;
    if (!resolve(warp, a.space, address, 128, 64, lane, place))
      return Step::Stop;
    std::optional<TensorMap> map = readMap(place.data);
    if (!map)
      return warp.fault(ReportKind::IllegalDescriptor,
                        "expected a tensor map or 128 bytes of zeros, but got "
                        "neither",
                        static_cast<int>(lane));
    uint64_t value = a.immediate;
    if (inst.op[1].valid())
      value = a.wideValue ? warp.wide(inst.op[1])[lane]
                          : warp.narrow(inst.op[1])[lane];
    std::string problem = edit(*map, a, value);
    if (!problem.empty())
      return warp.fault(ReportKind::IllegalDescriptor, problem,
                        static_cast<int>(lane));
    uint8_t bytes[128];
    std::memcpy(bytes, place.data, 128);
    std::memcpy(bytes, &*map, sizeof *map);
    writePlace(warp, place, bytes, 128, lane);
  }
  return Step::Next;
}

/// The whole warp copies one map and releases it to the tensor-map proxy.
Step copyMap(Warp &warp, const Inst &inst, LaneMask mask) {
  unsigned lane = std::countr_zero(mask);
  Place to, from;
  uint64_t target =
      warp.addressOf(inst.op[0], inst.sub[0] & 1, inst.immediate, lane);
  uint64_t source =
      warp.addressOf(inst.op[1], inst.sub[0] & 2, 0, lane) + inst.sub[1];
  uint8_t bytes[128];
  if (!resolve(warp, StateSpace::Shared, source, 128, 128, lane, from) ||
      !resolve(warp, StateSpace::Generic, target, 128, 128, lane, to))
    return Step::Stop;
  if (!from.written->all(from.writtenOffset, 128))
    warp.note(ReportKind::UninitializedRead,
              "a tensor map in shared memory is copied before it is written");
  std::memcpy(bytes, from.data, 128);
  // All lanes take part in the copy.
  if (warp.machine.checker)
    warp.machine.checker->threadAccess(warp, from, 128, Access::Read,
                                       Checker::manyLanes);
  writePlace(warp, to, bytes, 128, Checker::manyLanes, Ordering::Weak,
             /*mapRelease=*/true);
  if (warp.machine.checker)
    warp.machine.checker->memoryFence(warp,
                                      static_cast<SyncScope>(inst.sub[0] >> 2));
  return Step::Next;
}

void decodeReplace(DecodeContext &context) {
  auto &a = context.makeAttributes<ReplaceAttributes>();
  context.expectAny({"tile"});
  a.field = static_cast<Field>(context.expectAny(
      {"global_address", "rank", "box_dim", "global_dim", "global_stride",
       "element_stride", "elemtype", "interleave_layout", "swizzle_mode",
       "swizzle_atomicity", "fill_mode"}));
  switch (context.takeAny({"shared::cta", "shared", "global"})) {
  case 0:
  case 1:
    a.space = StateSpace::Shared;
    break;
  case 2:
    a.space = StateSpace::Global;
    break;
  default:
    break;
  }
  context.expectType({Type::B1024});
  Type type = context.expectType({Type::B32, Type::B64});
  bool indexed = a.field >= Field::BoxDim && a.field <= Field::ElementStride;
  if (!context.expectOperands(indexed ? 3 : 2))
    return;
  AddressOperand address = context.address(0);
  context.inst.op[0] = address.base;
  context.inst.immediate = address.offset;
  a.wideAddress = address.wide;
  if (indexed) {
    int64_t ordinal = context.literal(1);
    int64_t limit = a.field == Field::GlobalStride ? 3 : 4;
    if (ordinal < 0 || ordinal > limit) {
      context.error("expected a dimension of 0 to " + std::to_string(limit) +
                    ", but got " + std::to_string(ordinal));
      return;
    }
    a.ordinal = static_cast<unsigned>(ordinal);
  }
  if (a.field >= Field::ElementType) {
    int64_t value = context.literal(1);
    static constexpr int64_t limits[] = {15, 2, 4, 3, 1};
    int64_t limit = limits[static_cast<int>(a.field) -
                           static_cast<int>(Field::ElementType)];
    if (value < 0 || value > limit)
      context.error("expected a value of 0 to " + std::to_string(limit) +
                    ", but got " + std::to_string(value));
    a.immediate = static_cast<uint64_t>(value);
  } else {
    context.inst.op[1] = context.source(indexed ? 2 : 1, type);
    a.wideValue = type == Type::B64;
  }
  context.inst.handler = replace;
}

void decodeTensormap(DecodeContext &context) {
  if (context.take("replace"))
    return decodeReplace(context);
  if (!context.take("cp_fenceproxy")) {
    context.unsupported();
    return;
  }
  context.take("global");
  context.take("shared::cta");
  context.expectAny({"tensormap::generic"});
  context.expectAny({"release"});
  int scope = context.expectAny({"cta", "cluster", "gpu", "sys"});
  context.take("sync");
  context.take("aligned");
  if (!context.expectOperands(3))
    return;
  if (context.literal(2) != 128)
    context.error("expected a size of 128");
  AddressOperand to = context.address(0);
  AddressOperand from = context.address(1);
  Inst &inst = context.inst;
  inst.op[0] = to.base;
  inst.immediate = to.offset;
  inst.op[1] = from.base;
  inst.sub[0] =
      static_cast<uint8_t>(to.wide | from.wide << 1 | (scope & 3) << 2);
  if (from.offset < 0 || from.offset > 255)
    context.error("expected a source offset of 0 to 255");
  inst.sub[1] = static_cast<uint8_t>(from.offset);
  inst.flags |= FlagAligned;
  inst.handler = copyMap;
}

} // namespace

void addTensorMapInstructions(InstructionTable &table) {
  table.add("tensormap", decodeTensormap);
}

} // namespace nvfp4::sim
