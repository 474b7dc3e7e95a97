//===- Integer.cpp - integer arithmetic -------------------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// add, sub, mul, mad, mul24, mad24, div, rem, abs, neg, min, max, sad. Results
// wrap; division by zero gives all ones, as hardware does.
//
//===----------------------------------------------------------------------===//

#include "Families.h"
#include "Lanewise.h"

#include <algorithm>
#include <type_traits>

namespace nvfp4::sim {
namespace {

template <typename T> using Bits = std::make_unsigned_t<T>;

template <typename T> T add(T a, T b) {
  return static_cast<T>(static_cast<Bits<T>>(a) + static_cast<Bits<T>>(b));
}
template <typename T> T sub(T a, T b) {
  return static_cast<T>(static_cast<Bits<T>>(a) - static_cast<Bits<T>>(b));
}
template <typename T> T mulLow(T a, T b) {
  // Promotion to int would overflow for 16-bit types.
  using Wide = std::conditional_t<sizeof(T) < 4, uint32_t, Bits<T>>;
  return static_cast<T>(static_cast<Wide>(a) * static_cast<Wide>(b));
}
template <typename T> T mulHigh(T a, T b) {
  if constexpr (sizeof(T) == 8) {
    using Wide =
        std::conditional_t<std::is_signed_v<T>, __int128, unsigned __int128>;
    return static_cast<T>((static_cast<Wide>(a) * static_cast<Wide>(b)) >> 64);
  } else {
    using Wide = std::conditional_t<std::is_signed_v<T>, int64_t, uint64_t>;
    return static_cast<T>((static_cast<Wide>(a) * static_cast<Wide>(b)) >>
                          (sizeof(T) * 8));
  }
}
template <typename T> struct Twice;
template <> struct Twice<uint16_t> {
  using type = uint32_t;
};
template <> struct Twice<int16_t> {
  using type = int32_t;
};
template <> struct Twice<uint32_t> {
  using type = uint64_t;
};
template <> struct Twice<int32_t> {
  using type = int64_t;
};

template <typename T> typename Twice<T>::type mulWide(T a, T b) {
  using W = typename Twice<T>::type;
  return static_cast<W>(a) * static_cast<W>(b);
}
template <typename T> T madLow(T a, T b, T c) { return add(mulLow(a, b), c); }
template <typename T> T madHigh(T a, T b, T c) { return add(mulHigh(a, b), c); }
template <typename T>
typename Twice<T>::type madWide(T a, T b, typename Twice<T>::type c) {
  return add(mulWide(a, b), c);
}
int32_t madHighSaturated(int32_t a, int32_t b, int32_t c) {
  int64_t sum = int64_t{mulHigh(a, b)} + c;
  return static_cast<int32_t>(std::clamp<int64_t>(sum, INT32_MIN, INT32_MAX));
}
int32_t addSaturated(int32_t a, int32_t b) {
  return static_cast<int32_t>(
      std::clamp<int64_t>(int64_t{a} + b, INT32_MIN, INT32_MAX));
}
int32_t subSaturated(int32_t a, int32_t b) {
  return static_cast<int32_t>(
      std::clamp<int64_t>(int64_t{a} - b, INT32_MIN, INT32_MAX));
}
template <typename T> T divide(T a, T b) {
  if (b == 0)
    return static_cast<T>(~Bits<T>{0});
  if constexpr (std::is_signed_v<T>)
    if (b == -1)
      return sub<T>(0, a);
  return static_cast<T>(a / b);
}
template <typename T> T remainder(T a, T b) {
  if (b == 0)
    return a;
  if constexpr (std::is_signed_v<T>)
    if (b == -1)
      return 0;
  return static_cast<T>(a % b);
}
template <typename T> T absolute(T a) { return a < 0 ? sub<T>(0, a) : a; }
template <typename T> T negate(T a) { return sub<T>(0, a); }
template <typename T> T minimum(T a, T b) { return std::min(a, b); }
template <typename T> T maximum(T a, T b) { return std::max(a, b); }
template <typename T> T minimumRelu(T a, T b) {
  return std::max<T>(std::min(a, b), 0);
}
template <typename T> T maximumRelu(T a, T b) {
  return std::max<T>(std::max(a, b), 0);
}
template <typename T> T sad(T a, T b, T c) {
  return add(c, a < b ? sub(b, a) : sub(a, b));
}
/// Both halves of a packed pair.
template <typename T, T (*F)(T, T)> uint32_t pairwise(uint32_t a, uint32_t b) {
  auto low = static_cast<uint16_t>(
      F(static_cast<T>(a & 0xffff), static_cast<T>(b & 0xffff)));
  auto high = static_cast<uint16_t>(
      F(static_cast<T>(a >> 16), static_cast<T>(b >> 16)));
  return static_cast<uint32_t>(high) << 16 | low;
}
uint32_t low24(uint32_t a) { return a & 0xffffff; }
int32_t low24(int32_t a) {
  return static_cast<int32_t>(static_cast<uint32_t>(a) << 8) >> 8;
}
template <typename T> T mul24Low(T a, T b) {
  return mulLow(low24(a), low24(b));
}
template <typename T> T mul24High(T a, T b) {
  using W = std::conditional_t<std::is_signed_v<T>, int64_t, uint64_t>;
  return static_cast<T>((W{low24(a)} * W{low24(b)}) >> 16);
}
template <typename T> T mad24Low(T a, T b, T c) {
  return add(mul24Low(a, b), c);
}
template <typename T> T mad24High(T a, T b, T c) {
  return add(mul24High(a, b), c);
}

constexpr std::initializer_list<Type> integers = {
    Type::U32, Type::S32, Type::U64, Type::S64, Type::U16, Type::S16};

bool isFloatOpcode(const DecodeContext &context) {
  for (const std::string &modifier : context.parsed.modifiers) {
    std::optional<Type> type = parseType(modifier);
    if (type && (isFloat(*type) || *type == Type::F16x2 ||
                 *type == Type::BF16x2 || *type == Type::F32x2))
      return true;
  }
  return false;
}

bool hasCarry(const DecodeContext &context) {
  const std::vector<std::string> &m = context.parsed.modifiers;
  return std::find(m.begin(), m.end(), "cc") != m.end();
}

void decodeAddSub(DecodeContext &context) {
  if (isFloatOpcode(context))
    return decodeFloatArithmetic(context);
  if (hasCarry(context))
    return decodeCarry(context, CarryUse::Out);
  bool isAdd = context.parsed.opcode == "add";
  bool saturate = context.take("sat");
  Type type =
      context.expectType({Type::U32, Type::S32, Type::U64, Type::S64, Type::U16,
                          Type::S16, Type::U16x2, Type::S16x2});
  if (saturate && type != Type::S32) {
    context.error("'.sat' needs type .s32");
    return;
  }
  decodeOperands(context, type, 2);
  if (type == Type::U16x2 || type == Type::S16x2)
    context.inst.handler = isAdd ? lanewise<pairwise<uint16_t, add<uint16_t>>>
                                 : lanewise<pairwise<uint16_t, sub<uint16_t>>>;
  else if (saturate)
    context.inst.handler =
        isAdd ? lanewise<addSaturated> : lanewise<subSaturated>;
  else
    context.inst.handler = forInteger(type, [&]<typename T>() {
      return isAdd ? lanewise<add<T>> : lanewise<sub<T>>;
    });
}

template <typename Make> Handler forNarrowInteger(Type type, Make make) {
  switch (type) {
  case Type::U16:
    return make.template operator()<uint16_t>();
  case Type::S16:
    return make.template operator()<int16_t>();
  case Type::U32:
    return make.template operator()<uint32_t>();
  case Type::S32:
    return make.template operator()<int32_t>();
  default:
    return nullptr;
  }
}

Type widened(Type type) { return bitWidth(type) == 16 ? Type::B32 : Type::B64; }

void decodeMul(DecodeContext &context) {
  if (isFloatOpcode(context))
    return decodeFloatArithmetic(context);
  int mode = context.expectAny({"lo", "hi", "wide"});
  Type type = context.expectType(integers);
  if (mode == 2) {
    if (!context.expectOperands(3))
      return;
    context.inst.op[0] = context.dest(0, widened(type));
    context.inst.op[1] = context.source(1, type);
    context.inst.op[2] = context.source(2, type);
    context.inst.handler = forNarrowInteger(
        type, []<typename T>() { return lanewise<mulWide<T>>; });
    return;
  }
  decodeOperands(context, type, 2);
  context.inst.handler = forInteger(type, [&]<typename T>() {
    return mode == 0 ? lanewise<mulLow<T>> : lanewise<mulHigh<T>>;
  });
}

void decodeMad(DecodeContext &context) {
  if (isFloatOpcode(context))
    return decodeFloatArithmetic(context);
  if (hasCarry(context))
    return decodeCarry(context, CarryUse::Out);
  int mode = context.expectAny({"lo", "hi", "wide"});
  bool saturate = context.take("sat");
  Type type = context.expectType(integers);
  if (mode == 2) {
    if (!context.expectOperands(4))
      return;
    context.inst.op[0] = context.dest(0, widened(type));
    context.inst.op[1] = context.source(1, type);
    context.inst.op[2] = context.source(2, type);
    context.inst.op[3] = context.source(3, widened(type));
    context.inst.handler = forNarrowInteger(
        type, []<typename T>() { return lanewise<madWide<T>>; });
    return;
  }
  decodeOperands(context, type, 3);
  if (saturate) {
    if (mode != 1 || type != Type::S32) {
      context.error("'.sat' needs 'mad.hi' of type .s32");
      return;
    }
    context.inst.handler = lanewise<madHighSaturated>;
    return;
  }
  context.inst.handler = forInteger(type, [&]<typename T>() {
    return mode == 0 ? lanewise<madLow<T>> : lanewise<madHigh<T>>;
  });
}

void decode24(DecodeContext &context) {
  bool mad = context.parsed.opcode == "mad24";
  bool low = context.expectAny({"lo", "hi"}) == 0;
  Type type = context.expectType({Type::U32, Type::S32});
  decodeOperands(context, type, mad ? 3 : 2);
  bool isSigned = type == Type::S32;
  if (mad)
    context.inst.handler =
        isSigned
            ? (low ? lanewise<mad24Low<int32_t>> : lanewise<mad24High<int32_t>>)
            : (low ? lanewise<mad24Low<uint32_t>>
                   : lanewise<mad24High<uint32_t>>);
  else
    context.inst.handler =
        isSigned
            ? (low ? lanewise<mul24Low<int32_t>> : lanewise<mul24High<int32_t>>)
            : (low ? lanewise<mul24Low<uint32_t>>
                   : lanewise<mul24High<uint32_t>>);
}

void decodeDivRem(DecodeContext &context) {
  if (isFloatOpcode(context))
    return decodeFloatArithmetic(context);
  bool isDiv = context.parsed.opcode == "div";
  Type type = context.expectType(integers);
  decodeOperands(context, type, 2);
  context.inst.handler = forInteger(type, [&]<typename T>() {
    return isDiv ? lanewise<divide<T>> : lanewise<remainder<T>>;
  });
}

void decodeAbsNeg(DecodeContext &context) {
  if (isFloatOpcode(context))
    return decodeFloatArithmetic(context);
  bool isAbs = context.parsed.opcode == "abs";
  Type type = context.expectType({Type::S32, Type::S64, Type::S16});
  decodeOperands(context, type, 1);
  context.inst.handler = forInteger(type, [&]<typename T>() {
    return isAbs ? lanewise<absolute<T>> : lanewise<negate<T>>;
  });
}

void decodeMinMax(DecodeContext &context) {
  if (isFloatOpcode(context))
    return decodeFloatArithmetic(context);
  bool isMin = context.parsed.opcode == "min";
  bool relu = context.take("relu");
  Type type =
      context.expectType({Type::U32, Type::S32, Type::U64, Type::S64, Type::U16,
                          Type::S16, Type::U16x2, Type::S16x2});
  decodeOperands(context, type, 2);
  if (type == Type::U16x2 && !relu)
    context.inst.handler =
        isMin ? lanewise<pairwise<uint16_t, minimum<uint16_t>>>
              : lanewise<pairwise<uint16_t, maximum<uint16_t>>>;
  else if (type == Type::S16x2)
    context.inst.handler =
        relu ? (isMin ? lanewise<pairwise<int16_t, minimumRelu<int16_t>>>
                      : lanewise<pairwise<int16_t, maximumRelu<int16_t>>>)
             : (isMin ? lanewise<pairwise<int16_t, minimum<int16_t>>>
                      : lanewise<pairwise<int16_t, maximum<int16_t>>>);
  else if (relu) {
    if (type != Type::S32) {
      context.error("'.relu' needs type .s32 or .s16x2");
      return;
    }
    context.inst.handler =
        isMin ? lanewise<minimumRelu<int32_t>> : lanewise<maximumRelu<int32_t>>;
  } else
    context.inst.handler = forInteger(type, [&]<typename T>() {
      return isMin ? lanewise<minimum<T>> : lanewise<maximum<T>>;
    });
}

void decodeSad(DecodeContext &context) {
  Type type = context.expectType(integers);
  decodeOperands(context, type, 3);
  context.inst.handler =
      forInteger(type, []<typename T>() { return lanewise<sad<T>>; });
}

} // namespace

void addIntegerInstructions(InstructionTable &table) {
  table.add("add", decodeAddSub);
  table.add("sub", decodeAddSub);
  table.add("mul", decodeMul);
  table.add("mad", decodeMad);
  table.add("mul24", decode24);
  table.add("mad24", decode24);
  table.add("div", decodeDivRem);
  table.add("rem", decodeDivRem);
  table.add("abs", decodeAbsNeg);
  table.add("neg", decodeAbsNeg);
  table.add("min", decodeMinMax);
  table.add("max", decodeMinMax);
  table.add("sad", decodeSad);
}

} // namespace nvfp4::sim
