//===- Bits.cpp - logic, shifts and bit fields ------------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// and, or, xor, not, cnot, shl, shr, shf, popc, clz, bfind, brev, bfe, bfi,
// bmsk, szext, lop3, prmt, fns, dp4a, dp2a.
//
//===----------------------------------------------------------------------===//

#include "Families.h"
#include "Lanewise.h"

#include <algorithm>
#include <limits>

namespace nvfp4::sim {
namespace {

template <typename T> T bitAnd(T a, T b) { return a & b; }
template <typename T> T bitOr(T a, T b) { return a | b; }
template <typename T> T bitXor(T a, T b) { return a ^ b; }
template <typename T> T bitNot(T a) { return static_cast<T>(~a); }
bool predicateNot(bool a) { return !a; }
template <typename T> T logicalNot(T a) { return a == 0; }

template <typename T> T shiftLeft(T a, uint32_t b) {
  return b >= sizeof(T) * 8 ? 0 : static_cast<T>(static_cast<uint64_t>(a) << b);
}
template <typename T> T shiftRight(T a, uint32_t b) {
  constexpr uint32_t bits = sizeof(T) * 8;
  if constexpr (std::is_signed_v<T>)
    return static_cast<T>(a >> std::min(b, bits - 1));
  else
    return b >= bits ? 0 : static_cast<T>(a >> b);
}
template <bool Left, bool Wrap>
uint32_t funnelShift(uint32_t low, uint32_t high, uint32_t amount) {
  uint32_t n = Wrap ? amount & 31 : std::min(amount, 32u);
  uint64_t pair = static_cast<uint64_t>(high) << 32 | low;
  return static_cast<uint32_t>(Left ? (pair << n) >> 32 : pair >> n);
}
template <typename T> uint32_t population(T a) { return std::popcount(a); }
template <typename T> uint32_t leadingZeros(T a) { return std::countl_zero(a); }
template <typename T, bool ShiftAmount> uint32_t findLeading(T a) {
  using U = std::make_unsigned_t<T>;
  U bits = static_cast<U>(a);
  if constexpr (std::is_signed_v<T>)
    if (a < 0)
      bits = ~bits;
  if (bits == 0)
    return ~0u;
  uint32_t zeros = std::countl_zero(bits);
  return ShiftAmount ? zeros : sizeof(T) * 8 - 1 - zeros;
}
template <typename T> T reverseBits(T a) {
  T result = 0;
  for (unsigned i = 0; i < sizeof(T) * 8; ++i)
    result |= (a >> i & 1) << (sizeof(T) * 8 - 1 - i);
  return result;
}
/// Positions and lengths of fields are limited to 255. An H200 takes the low
/// byte for fields of 32 bits, and larger numbers as they are for 64.
template <typename T> uint64_t fieldNumber(uint32_t x) {
  return sizeof(T) == 8 ? x : x & 0xff;
}
template <typename T> T extractField(T a, uint32_t b, uint32_t c) {
  using U = std::make_unsigned_t<T>;
  constexpr uint64_t top = sizeof(T) * 8 - 1;
  uint64_t position = fieldNumber<T>(b);
  uint64_t length = fieldNumber<T>(c);
  bool sign = false;
  if constexpr (std::is_signed_v<T>)
    if (length)
      sign = static_cast<U>(a) >> std::min(position + length - 1, top) & 1;
  U result = 0;
  for (uint64_t i = 0; i <= top; ++i) {
    bool bit = i < length && position + i <= top
                   ? static_cast<U>(a) >> (position + i) & 1
                   : sign;
    result |= static_cast<U>(bit) << i;
  }
  return static_cast<T>(result);
}
template <typename T> T insertField(T a, T b, uint32_t c, uint32_t d) {
  uint64_t position = fieldNumber<T>(c);
  uint64_t length = fieldNumber<T>(d);
  constexpr uint64_t bits = sizeof(T) * 8;
  if (position >= bits || length == 0)
    return b;
  length = std::min(length, bits - position);
  T field = length == bits ? ~T{0} : ((T{1} << length) - 1);
  return (b & ~(field << position)) | ((a & field) << position);
}
template <bool Clamp> uint32_t bitMask(uint32_t a, uint32_t b) {
  uint32_t position = Clamp ? std::min(a, 32u) : a & 31;
  uint32_t length = Clamp ? std::min(b, 32u) : b & 31;
  uint64_t mask = ((uint64_t{1} << length) - 1) << position;
  return static_cast<uint32_t>(mask);
}
template <bool Signed, bool Clamp> uint32_t extend(uint32_t a, uint32_t b) {
  uint32_t n = Clamp ? std::min(b, 32u) : b & 31;
  if (n == 0)
    return 0;
  if (n >= 32)
    return a;
  uint32_t low = a & ((1u << n) - 1);
  return Signed && (low >> (n - 1) & 1) ? low | ~((1u << n) - 1) : low;
}
uint32_t lop3(uint32_t a, uint32_t b, uint32_t c, uint32_t table) {
  uint32_t result = 0;
  for (unsigned i = 0; i < 8; ++i)
    if (table >> i & 1)
      result |= (i & 4 ? a : ~a) & (i & 2 ? b : ~b) & (i & 1 ? c : ~c);
  return result;
}
uint32_t permuteByte(uint64_t bytes, uint32_t selector) {
  auto byte = static_cast<uint8_t>(bytes >> (8 * (selector & 7)));
  return selector & 8 ? (byte & 0x80 ? 0xff : 0) : byte;
}
uint32_t permute(uint32_t a, uint32_t b, uint32_t c) {
  uint64_t bytes = static_cast<uint64_t>(b) << 32 | a;
  uint32_t result = 0;
  for (unsigned i = 0; i < 4; ++i)
    result |= permuteByte(bytes, c >> (4 * i)) << (8 * i);
  return result;
}
/// The selector of the special modes, from the low two bits of c.
template <int Mode> uint32_t permuteMode(uint32_t a, uint32_t b, uint32_t c) {
  static constexpr uint16_t selectors[6][4] = {
      {0x3210, 0x4321, 0x5432, 0x6543}, // f4e
      {0x5670, 0x6701, 0x7012, 0x0123}, // b4e
      {0x0000, 0x1111, 0x2222, 0x3333}, // rc8
      {0x3210, 0x3211, 0x3222, 0x3333}, // ecl
      {0x0000, 0x1110, 0x2210, 0x3210}, // ecr
      {0x1010, 0x3232, 0x1010, 0x3232}, // rc16
  };
  return permute(a, b, selectors[Mode][c & 3]);
}
uint32_t findNthSet(uint32_t mask, uint32_t base, int32_t offset) {
  base &= 31;
  // Its negation has no place in 32 bits; an H200 answers 0.
  if (offset == std::numeric_limits<int32_t>::min())
    return 0;
  if (offset == 0)
    return mask >> base & 1 ? base : ~0u;
  int step = offset > 0 ? 1 : -1;
  int32_t remaining = offset > 0 ? offset : -offset;
  for (int bit = static_cast<int>(base); bit >= 0 && bit < 32; bit += step)
    if (mask >> bit & 1 && --remaining == 0)
      return static_cast<uint32_t>(bit);
  return ~0u;
}
template <bool SignedA, bool SignedB>
uint32_t dot4(uint32_t a, uint32_t b, uint32_t c) {
  uint32_t sum = c;
  for (unsigned i = 0; i < 4; ++i) {
    int32_t x = SignedA ? static_cast<int8_t>(a >> (8 * i))
                        : static_cast<uint8_t>(a >> (8 * i));
    int32_t y = SignedB ? static_cast<int8_t>(b >> (8 * i))
                        : static_cast<uint8_t>(b >> (8 * i));
    sum += static_cast<uint32_t>(x * y);
  }
  return sum;
}
template <bool SignedA, bool SignedB, bool High>
uint32_t dot2(uint32_t a, uint32_t b, uint32_t c) {
  uint32_t sum = c;
  for (unsigned i = 0; i < 2; ++i) {
    int32_t x = SignedA ? static_cast<int16_t>(a >> (16 * i))
                        : static_cast<uint16_t>(a >> (16 * i));
    unsigned shift = 8 * (i + (High ? 2 : 0));
    int32_t y = SignedB ? static_cast<int8_t>(b >> shift)
                        : static_cast<uint8_t>(b >> shift);
    sum += static_cast<uint32_t>(x * y);
  }
  return sum;
}

template <typename Make> Handler forUnsigned(Type type, Make make) {
  switch (bitWidth(type)) {
  case 16:
    return make.template operator()<uint16_t>();
  case 32:
    return make.template operator()<uint32_t>();
  default:
    return make.template operator()<uint64_t>();
  }
}

void decodeLogic(DecodeContext &context) {
  char kind = context.parsed.opcode[0];
  Type type = context.expectType({Type::B32, Type::B64, Type::B16, Type::Pred});
  decodeOperands(context, type, 2);
  if (type == Type::Pred) {
    context.inst.handler = kind == 'a'   ? lanewise<bitAnd<bool>>
                           : kind == 'o' ? lanewise<bitOr<bool>>
                                         : lanewise<bitXor<bool>>;
    return;
  }
  context.inst.handler = forUnsigned(type, [&]<typename T>() {
    return kind == 'a'   ? lanewise<bitAnd<T>>
           : kind == 'o' ? lanewise<bitOr<T>>
                         : lanewise<bitXor<T>>;
  });
}

void decodeNot(DecodeContext &context) {
  bool logical = context.parsed.opcode == "cnot";
  Type type = context.expectType({Type::B32, Type::B64, Type::B16, Type::Pred});
  decodeOperands(context, type, 1);
  if (type == Type::Pred) {
    context.inst.handler = lanewise<predicateNot>;
    return;
  }
  context.inst.handler = forUnsigned(type, [&]<typename T>() {
    return logical ? lanewise<logicalNot<T>> : lanewise<bitNot<T>>;
  });
}

void decodeShift(DecodeContext &context) {
  bool left = context.parsed.opcode == "shl";
  Type type =
      context.expectType({Type::B32, Type::B64, Type::B16, Type::U32, Type::S32,
                          Type::U64, Type::S64, Type::U16, Type::S16});
  if (!context.expectOperands(3))
    return;
  context.inst.op[0] = context.dest(0, type);
  context.inst.op[1] = context.source(1, type);
  context.inst.op[2] = context.source(2, Type::B32);
  context.inst.handler =
      left ? forUnsigned(type,
                         []<typename T>() { return lanewise<shiftLeft<T>>; })
           : forInteger(type,
                        []<typename T>() { return lanewise<shiftRight<T>>; });
}

void decodeFunnel(DecodeContext &context) {
  bool left = context.expectAny({"l", "r"}) == 0;
  bool wrap = context.expectAny({"clamp", "wrap"}) == 1;
  context.expectType({Type::B32});
  decodeOperands(context, Type::B32, 3);
  context.inst.handler = left ? (wrap ? lanewise<funnelShift<true, true>>
                                      : lanewise<funnelShift<true, false>>)
                              : (wrap ? lanewise<funnelShift<false, true>>
                                      : lanewise<funnelShift<false, false>>);
}

void decodeCount(DecodeContext &context) {
  bool isPopulation = context.parsed.opcode == "popc";
  Type type = context.expectType({Type::B32, Type::B64});
  if (!context.expectOperands(2))
    return;
  context.inst.op[0] = context.dest(0, Type::B32);
  context.inst.op[1] = context.source(1, type);
  context.inst.handler = forUnsigned(type, [&]<typename T>() {
    return isPopulation ? lanewise<population<T>> : lanewise<leadingZeros<T>>;
  });
}

void decodeBfind(DecodeContext &context) {
  bool amount = context.take("shiftamt");
  Type type = context.expectType({Type::U32, Type::S32, Type::U64, Type::S64});
  if (!context.expectOperands(2))
    return;
  context.inst.op[0] = context.dest(0, Type::B32);
  context.inst.op[1] = context.source(1, type);
  context.inst.handler = forInteger(type, [&]<typename T>() {
    return amount ? lanewise<findLeading<T, true>>
                  : lanewise<findLeading<T, false>>;
  });
}

void decodeBrev(DecodeContext &context) {
  Type type = context.expectType({Type::B32, Type::B64});
  decodeOperands(context, type, 1);
  context.inst.handler =
      forUnsigned(type, []<typename T>() { return lanewise<reverseBits<T>>; });
}

void decodeBfe(DecodeContext &context) {
  Type type = context.expectType({Type::U32, Type::S32, Type::U64, Type::S64});
  if (!context.expectOperands(4))
    return;
  context.inst.op[0] = context.dest(0, type);
  context.inst.op[1] = context.source(1, type);
  context.inst.op[2] = context.source(2, Type::B32);
  context.inst.op[3] = context.source(3, Type::B32);
  context.inst.handler =
      forInteger(type, []<typename T>() { return lanewise<extractField<T>>; });
}

void decodeBfi(DecodeContext &context) {
  Type type = context.expectType({Type::B32, Type::B64});
  if (!context.expectOperands(5))
    return;
  context.inst.op[0] = context.dest(0, type);
  context.inst.op[1] = context.source(1, type);
  context.inst.op[2] = context.source(2, type);
  context.inst.op[3] = context.source(3, Type::B32);
  context.inst.op[4] = context.source(4, Type::B32);
  context.inst.handler =
      forUnsigned(type, []<typename T>() { return lanewise<insertField<T>>; });
}

void decodeBmsk(DecodeContext &context) {
  bool clamp = context.expectAny({"clamp", "wrap"}) == 0;
  context.expectType({Type::B32});
  decodeOperands(context, Type::B32, 2);
  context.inst.handler =
      clamp ? lanewise<bitMask<true>> : lanewise<bitMask<false>>;
}

void decodeSzext(DecodeContext &context) {
  bool clamp = context.expectAny({"clamp", "wrap"}) == 0;
  Type type = context.expectType({Type::U32, Type::S32});
  decodeOperands(context, type, 2);
  context.inst.handler = type == Type::S32
                             ? (clamp ? lanewise<extend<true, true>>
                                      : lanewise<extend<true, false>>)
                             : (clamp ? lanewise<extend<false, true>>
                                      : lanewise<extend<false, false>>);
}

void decodeLop3(DecodeContext &context) {
  context.expectType({Type::B32});
  decodeOperands(context, Type::B32, 4);
  context.inst.handler = lanewise<lop3>;
}

void decodePrmt(DecodeContext &context) {
  context.expectType({Type::B32});
  int mode = context.takeAny({"f4e", "b4e", "rc8", "ecl", "ecr", "rc16"});
  decodeOperands(context, Type::B32, 3);
  static const Handler modes[] = {
      lanewise<permuteMode<0>>, lanewise<permuteMode<1>>,
      lanewise<permuteMode<2>>, lanewise<permuteMode<3>>,
      lanewise<permuteMode<4>>, lanewise<permuteMode<5>>};
  context.inst.handler = mode < 0 ? lanewise<permute> : modes[mode];
}

void decodeFns(DecodeContext &context) {
  context.expectType({Type::B32});
  decodeOperands(context, Type::B32, 3);
  context.inst.handler = lanewise<findNthSet>;
}

void decodeDot(DecodeContext &context) {
  bool four = context.parsed.opcode == "dp4a";
  int half = four ? 0 : context.expectAny({"lo", "hi"});
  Type a = context.expectType({Type::U32, Type::S32});
  Type b = context.expectType({Type::U32, Type::S32});
  decodeOperands(context, Type::B32, 3);
  bool sa = a == Type::S32;
  bool sb = b == Type::S32;
  static const Handler four4[2][2] = {
      {lanewise<dot4<false, false>>, lanewise<dot4<false, true>>},
      {lanewise<dot4<true, false>>, lanewise<dot4<true, true>>}};
  static const Handler two[2][2][2] = {
      {{lanewise<dot2<false, false, false>>,
        lanewise<dot2<false, false, true>>},
       {lanewise<dot2<false, true, false>>, lanewise<dot2<false, true, true>>}},
      {{lanewise<dot2<true, false, false>>, lanewise<dot2<true, false, true>>},
       {lanewise<dot2<true, true, false>>, lanewise<dot2<true, true, true>>}}};
  context.inst.handler = four ? four4[sa][sb] : two[sa][sb][half];
}

} // namespace

void addBitInstructions(InstructionTable &table) {
  table.add("and", decodeLogic);
  table.add("or", decodeLogic);
  table.add("xor", decodeLogic);
  table.add("not", decodeNot);
  table.add("cnot", decodeNot);
  table.add("shl", decodeShift);
  table.add("shr", decodeShift);
  table.add("shf", decodeFunnel);
  table.add("popc", decodeCount);
  table.add("clz", decodeCount);
  table.add("bfind", decodeBfind);
  table.add("brev", decodeBrev);
  table.add("bfe", decodeBfe);
  table.add("bfi", decodeBfi);
  table.add("bmsk", decodeBmsk);
  table.add("szext", decodeSzext);
  table.add("lop3", decodeLop3);
  table.add("prmt", decodePrmt);
  table.add("fns", decodeFns);
  table.add("dp4a", decodeDot);
  table.add("dp2a", decodeDot);
}

} // namespace nvfp4::sim
