//===- Convert.cpp ----------------------------------------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Integer to integer, integer to float and back with all roundings, float to
// float, and the packed f16x2, bf16x2, fp8, fp6, fp4 and ue8m0 forms. The first
// source of a packed conversion goes to the high half.
//
//===----------------------------------------------------------------------===//

#include "Convert.h"
#include "Families.h"
#include "FloatArithmetic.h"
#include "FloatMode.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace nvfp4::sim {
namespace {

struct ConvertAttributes : InstAttributes {
  Type to = Type::None;
  Type from = Type::None;
  Rounding rounding = Rounding::NearestEven;
  bool integerRounding = false;
  bool saturate = false;
  bool satfinite = false;
  bool relu = false;
  bool flush = false;
  bool scaled = false;
  /// Lanes of the destination and the sources are 64 bits wide.
  bool wideOut = false;
  bool wideIn = false;
};

uint64_t truncateTo(uint64_t value, unsigned bits) {
  return bits == 64 ? value : value & ((uint64_t{1} << bits) - 1);
}
int64_t signExtend(uint64_t value, unsigned bits) {
  return static_cast<int64_t>(value << (64 - bits)) >> (64 - bits);
}

double roundToIntegral(double x, Rounding rounding) {
  switch (rounding) {
  case Rounding::TowardZero:
    return std::trunc(x);
  case Rounding::Down:
    return std::floor(x);
  case Rounding::Up:
    return std::ceil(x);
  default:
    return std::nearbyint(x); // the host rounds to nearest even
  }
}

/// Float to integer: NaN gives 0, or the top bit for results of 64 bits and of
/// f64; values out of range give the nearest.
uint64_t toInteger(double value, const ConvertAttributes &a) {
  unsigned bits = bitWidth(a.to);
  if (value != value)
    return bits == 64 || a.from == Type::F64 ? uint64_t{1} << (bits - 1) : 0;
  double rounded = roundToIntegral(value, a.rounding);
  if (isSignedInteger(a.to)) {
    double limit = std::ldexp(1.0, static_cast<int>(bits) - 1);
    if (rounded >= limit)
      return (uint64_t{1} << (bits - 1)) - 1;
    if (rounded < -limit)
      return truncateTo(uint64_t{1} << (bits - 1), bits);
    return truncateTo(static_cast<uint64_t>(static_cast<int64_t>(rounded)),
                      bits);
  }
  double limit = std::ldexp(1.0, static_cast<int>(bits));
  if (rounded >= limit)
    return truncateTo(~uint64_t{0}, bits);
  if (rounded <= 0)
    return 0;
  return static_cast<uint64_t>(rounded);
}

/// Rounds an integer to a float format exactly, whatever its size.
double integerToDouble(uint64_t magnitude, bool negative, unsigned mantissaBits,
                       Rounding rounding) {
  unsigned significant = 64 - std::countl_zero(magnitude | 1);
  unsigned keep = mantissaBits + 1;
  double scale = 1;
  if (significant > keep) {
    unsigned drop = significant - keep;
    uint64_t rest = magnitude & ((uint64_t{1} << drop) - 1);
    uint64_t half = uint64_t{1} << (drop - 1);
    uint64_t kept = magnitude >> drop;
    bool up = rounding == Rounding::NearestEven
                  ? rest > half || (rest == half && (kept & 1))
              : rounding == Rounding::Up   ? !negative && rest
              : rounding == Rounding::Down ? negative && rest
                                           : false;
    magnitude = kept + up;
    scale = std::ldexp(1.0, static_cast<int>(drop));
  }
  double value = static_cast<double>(magnitude) * scale;
  return negative ? -value : value;
}

double decodeScalar(uint64_t bits, Type type) {
  if (type == Type::F64)
    return std::bit_cast<double>(bits);
  if (type == Type::F32)
    return std::bit_cast<float>(static_cast<uint32_t>(bits));
  return decodeFloat(static_cast<uint32_t>(bits), *floatFormat(type));
}

uint64_t encodeScalar(double value, const ConvertAttributes &a) {
  if (a.saturate)
    value = value > 0 ? std::min(value, 1.0) : 0.0;
  if (a.relu && value < 0)
    value = 0;
  if (a.relu && value == 0)
    value = 0.0;
  if (a.to == Type::F64)
    return std::bit_cast<uint64_t>(value);
  uint32_t bits =
      encodeFloat(value, *floatFormat(a.to), a.rounding, a.satfinite);
  if (a.to == Type::TF32)
    bits <<= 13;
  return bits;
}

float flushed(float x) {
  return std::fpclassify(x) == FP_SUBNORMAL ? std::copysign(0.0f, x) : x;
}

/// f64 and the other floats: a NaN keeps its sign and the bits of its payload
/// that fit, and becomes quiet. The text leaves it open; an H200 does this.
uint64_t convertNan(double value, uint64_t bits, const ConvertAttributes &a) {
  if (a.to != Type::F64) {
    const FloatFormat &format = *floatFormat(a.to);
    unsigned width = format.exponentBits + format.mantissaBits;
    auto from = std::bit_cast<uint64_t>(value);
    uint64_t payload =
        (from & ((uint64_t{1} << 52) - 1)) >> (52 - format.mantissaBits);
    uint64_t exponent = ((uint64_t{1} << format.exponentBits) - 1)
                        << format.mantissaBits;
    return from >> 63 << width | exponent | payload |
           uint64_t{1} << (format.mantissaBits - 1);
  }
  if (a.from == Type::F64)
    return bits | uint64_t{1} << 51;
  if (a.from == Type::F32) // flushed first, which makes it the only NaN of f32
    return 0x7fffffffe0000000;
  const FloatFormat &format = *floatFormat(a.from);
  unsigned width = format.exponentBits + format.mantissaBits;
  uint64_t payload = bits & ((uint64_t{1} << format.mantissaBits) - 1);
  return (bits >> width & 1) << 63 | uint64_t{0x7ff8} << 48 |
         payload << (52 - format.mantissaBits);
}

/// Whether convertNan tells what becomes of a NaN.
bool keepsNan(const ConvertAttributes &a) {
  if (a.saturate || a.relu || a.satfinite || a.to == Type::TF32)
    return false;
  if (a.to == Type::F64 && a.from == Type::F64)
    return a.integerRounding;
  return a.to == Type::F64 ? a.from == Type::F16 || a.from == Type::BF16 ||
                                 (a.from == Type::F32 && a.flush)
                           : a.from == Type::F64;
}

uint64_t convertScalar(uint64_t bits, const ConvertAttributes &a) {
  bool fromFloat = isFloat(a.from);
  bool toFloat = isFloat(a.to) || a.to == Type::TF32;
  if (!fromFloat && !toFloat) {
    unsigned width = bitWidth(a.from);
    bool isSigned = isSignedInteger(a.from);
    uint64_t value = truncateTo(bits, width);
    if (isSigned)
      value = static_cast<uint64_t>(signExtend(value, width));
    if (a.saturate) {
      unsigned to = bitWidth(a.to);
      bool negative = isSigned && static_cast<int64_t>(value) < 0;
      if (isSignedInteger(a.to)) {
        auto most = static_cast<int64_t>((uint64_t{1} << (to - 1)) - 1);
        if (!negative && value > static_cast<uint64_t>(most))
          value = most;
        else if (negative && static_cast<int64_t>(value) < -most - 1)
          value = static_cast<uint64_t>(-most - 1);
      } else if (negative) {
        value = 0;
      } else if (to < 64 && value >> to) {
        value = (uint64_t{1} << to) - 1;
      }
    }
    return value;
  }
  if (!fromFloat) {
    unsigned width = bitWidth(a.from);
    uint64_t value = truncateTo(bits, width);
    bool negative = false;
    if (isSignedInteger(a.from) && signExtend(value, width) < 0) {
      negative = true;
      value = -static_cast<uint64_t>(signExtend(value, width));
    }
    unsigned mantissa =
        a.to == Type::F64 ? 52 : floatFormat(a.to)->mantissaBits;
    return encodeScalar(integerToDouble(value, negative, mantissa, a.rounding),
                        a);
  }
  double value = decodeScalar(bits, a.from);
  if (a.flush && a.from == Type::F32)
    value = flushed(static_cast<float>(value));
  if (!toFloat)
    return toInteger(value, a);
  if (value != value && keepsNan(a))
    return convertNan(value, bits, a);
  if (a.integerRounding)
    value = roundToIntegral(value, a.rounding);
  uint64_t result = encodeScalar(value, a);
  if (a.flush && a.to == Type::F32)
    result = std::bit_cast<uint32_t>(
        flushed(std::bit_cast<float>(static_cast<uint32_t>(result))));
  return result;
}

Step convert(Warp &warp, const Inst &inst, LaneMask mask) {
  const auto &a = inst.attr<ConvertAttributes>();
  for (unsigned lane = 0; lane < 32; ++lane) {
    if (!(mask >> lane & 1))
      continue;
    uint64_t bits =
        a.wideIn ? warp.wide(inst.op[1])[lane] : warp.narrow(inst.op[1])[lane];
    uint64_t value = truncateTo(convertScalar(bits, a), bitWidth(a.to));
    // A destination wider than the type holds the extended value.
    if (inst.sub[0] && isSignedInteger(a.to))
      value = static_cast<uint64_t>(signExtend(value, bitWidth(a.to)));
    if (a.wideOut)
      warp.wide(inst.op[0])[lane] = value;
    else
      warp.narrow(inst.op[0])[lane] = static_cast<uint32_t>(value);
  }
  return Step::Next;
}

/// Between integers, and from integers to the nearest float.
template <typename To, typename From> To convertedTo(From a) {
  return static_cast<To>(a);
}
/// f32 to 32-bit integers toward zero; see toInteger.
template <typename To> To truncatedTo(float a) {
  constexpr auto limit =
      static_cast<float>(uint64_t{1} << (31 + std::is_unsigned_v<To>));
  if (a != a)
    return 0;
  if (a >= limit)
    return std::numeric_limits<To>::max();
  if (a <= (std::is_signed_v<To> ? -limit : 0.0f))
    return std::numeric_limits<To>::min();
  return static_cast<To>(a);
}
float halfIn(Half a) { return canonical(halfToFloat(a.bits)); }
float bfloatIn(BFloat a) { return bfloatToFloat(a.bits); }
Half halfOut(float a) { return {floatToHalf(a)}; }
BFloat bfloatOut(float a) { return {floatToBFloat(a)}; }

template <typename Make> Handler forSizedInteger(Type type, Make make) {
  return type == Type::U8   ? make.template operator()<uint8_t>()
         : type == Type::S8 ? make.template operator()<int8_t>()
                            : forInteger(type, make);
}

/// The lane-parallel handler of a plain conversion whose registers have the
/// width of its types; null where there is none.
Handler plainHandler(const ConvertAttributes &a) {
  if (isFloat(a.from)) {
    bool nearest = a.rounding == Rounding::NearestEven && !a.integerRounding;
    bool truncates = a.rounding == Rounding::TowardZero;
    if (a.from == Type::F16)
      return a.to == Type::F32 ? lanewise<halfIn> : nullptr;
    if (a.from == Type::BF16)
      return a.to == Type::F32 ? lanewise<bfloatIn> : nullptr;
    if (a.from != Type::F32)
      return nullptr;
    return a.to == Type::F16 && nearest     ? lanewise<halfOut>
           : a.to == Type::BF16 && nearest  ? lanewise<bfloatOut>
           : a.to == Type::S32 && truncates ? lanewise<truncatedTo<int32_t>>
           : a.to == Type::U32 && truncates ? lanewise<truncatedTo<uint32_t>>
                                            : nullptr;
  }
  return forSizedInteger(a.from, [&]<typename From>() -> Handler {
    if (isFloat(a.to) && a.rounding != Rounding::NearestEven)
      return nullptr;
    if (a.to == Type::F32)
      return lanewise<convertedTo<float, From>>;
    if (a.to == Type::F64)
      return lanewise<convertedTo<double, From>>;
    return forSizedInteger(a.to, []<typename To>() -> Handler {
      return lanewise<convertedTo<To, From>>;
    });
  });
}

uint32_t packHalves(float high, float low) {
  return static_cast<uint32_t>(floatToHalf(high)) << 16 | floatToHalf(low);
}
uint32_t packBFloats(float high, float low) {
  return static_cast<uint32_t>(floatToBFloat(high)) << 16 | floatToBFloat(low);
}

/// Encodes one element of a packed destination.
uint32_t encodeElement(double value, const ConvertAttributes &a) {
  if (a.relu && !(value > 0) && value == value)
    value = 0.0;
  if (a.to == Type::UE8M0x2)
    return encodeUE8M0(value, a.rounding, a.satfinite);
  return encodeFloat(value, *floatFormat(a.to), a.rounding, a.satfinite);
}

unsigned elementBits(Type type) {
  switch (type) {
  case Type::F16x2:
  case Type::BF16x2:
    return 16;
  case Type::E2M1x2:
  case Type::E2M1x4:
    return 4;
  default:
    return 8;
  }
}

/// Two f32 (or one packed f16x2/bf16x2) to a packed pair.
Step convertToPacked(Warp &warp, const Inst &inst, LaneMask mask) {
  const auto &a = inst.attr<ConvertAttributes>();
  unsigned bits = elementBits(a.to);
  for (unsigned lane = 0; lane < 32; ++lane) {
    if (!(mask >> lane & 1))
      continue;
    double high, low;
    uint32_t first = warp.narrow(inst.op[1])[lane];
    if (a.from == Type::F32) {
      high = std::bit_cast<float>(first);
      low = std::bit_cast<float>(warp.narrow(inst.op[2])[lane]);
    } else {
      high = decodeFloat(first >> 16, *floatFormat(a.from));
      low = decodeFloat(first & 0xffff, *floatFormat(a.from));
    }
    warp.narrow(inst.op[0])[lane] =
        encodeElement(high, a) << bits | encodeElement(low, a);
  }
  return Step::Next;
}

/// A packed pair of small floats to f16x2 or bf16x2.
Step convertFromPacked(Warp &warp, const Inst &inst, LaneMask mask) {
  const auto &a = inst.attr<ConvertAttributes>();
  unsigned bits = elementBits(a.from);
  uint32_t elementMask = (1u << bits) - 1;
  for (unsigned lane = 0; lane < 32; ++lane) {
    if (!(mask >> lane & 1))
      continue;
    uint32_t packed = warp.narrow(inst.op[1])[lane];
    uint32_t result = 0;
    for (unsigned i = 0; i < 2; ++i) {
      uint32_t code = packed >> (bits * i) & elementMask;
      double value = a.from == Type::UE8M0x2
                         ? decodeUE8M0(static_cast<uint8_t>(code))
                         : decodeFloat(code, *floatFormat(a.from));
      result |= encodeElement(value, a) << (16 * i);
    }
    warp.narrow(inst.op[0])[lane] = result;
  }
  return Step::Next;
}

template <const FloatFormat &Format, bool ToHalf>
uint32_t widenedPair(uint32_t packed) {
  constexpr unsigned bits = Format.exponentBits + Format.mantissaBits + 1;
  auto element = [](uint32_t code) -> uint32_t {
    float value = decodeSmall(code, Format);
    return ToHalf ? floatToHalf(value) : floatToBFloat(value);
  };
  constexpr unsigned place = bits == 4 ? 4 : 8;
  return element(packed >> place) << 16 | element(packed);
}

/// The lane-parallel handler of convertFromPacked; null where there is none.
template <bool ToHalf> Handler widenedHandler(Type from) {
  switch (from) {
  case Type::E4M3x2:
    return lanewise<widenedPair<formatE4M3, ToHalf>>;
  case Type::E5M2x2:
    return lanewise<widenedPair<formatE5M2, ToHalf>>;
  case Type::E2M3x2:
    return lanewise<widenedPair<formatE2M3, ToHalf>>;
  case Type::E3M2x2:
    return lanewise<widenedPair<formatE3M2, ToHalf>>;
  case Type::E2M1x2:
    return lanewise<widenedPair<formatE2M1, ToHalf>>;
  default:
    return nullptr;
  }
}

bool isPackedSmall(Type type) {
  switch (type) {
  case Type::E4M3x2:
  case Type::E5M2x2:
  case Type::E2M3x2:
  case Type::E3M2x2:
  case Type::E2M1x2:
  case Type::UE8M0x2:
    return true;
  default:
    return false;
  }
}
bool isPacked16(Type type) {
  return type == Type::F16x2 || type == Type::BF16x2;
}

void decodePacked(DecodeContext &context, ConvertAttributes &a) {
  Inst &inst = context.inst;
  if (a.to == Type::F16x2 || a.to == Type::BF16x2 || isPackedSmall(a.to)) {
    bool two = a.from == Type::F32;
    if (two || (isPackedSmall(a.to) && isPacked16(a.from))) {
      if (isPackedSmall(a.to) && !a.satfinite && a.to != Type::UE8M0x2) {
        context.error("conversion to '." + std::string(typeName(a.to)) +
                      "' needs '.satfinite'");
        return;
      }
      if (!context.expectOperands(two ? 3 : 2))
        return;
      inst.op[0] = context.dest(0, a.to);
      inst.op[1] = context.source(1, two ? Type::F32 : Type::B32);
      if (two)
        inst.op[2] = context.source(2, Type::F32);
      inst.handler = convertToPacked;
      bool plain =
          two && !a.relu && !a.satfinite && a.rounding == Rounding::NearestEven;
      if (plain && a.to == Type::F16x2)
        inst.handler = lanewise<packHalves>;
      if (plain && a.to == Type::BF16x2)
        inst.handler = lanewise<packBFloats>;
      return;
    }
    if (isPacked16(a.to) && isPackedSmall(a.from)) {
      if (!context.expectOperands(2))
        return;
      inst.op[0] = context.dest(0, a.to);
      inst.op[1] = context.source(1, a.from);
      inst.handler = convertFromPacked;
      bool plain = !a.relu && !a.satfinite;
      Handler handler = !plain                ? nullptr
                        : a.to == Type::F16x2 ? widenedHandler<true>(a.from)
                                              : widenedHandler<false>(a.from);
      if (handler)
        inst.handler = handler;
      return;
    }
  }
  context.unsupported();
}

struct PackAttributes : InstAttributes {
  int64_t least = 0, most = 0;
  unsigned bits = 16;
};

/// cvt.pack: a and b, limited to the type, a above b; c above both.
Step pack(Warp &warp, const Inst &inst, LaneMask mask) {
  const auto &a = inst.attr<PackAttributes>();
  uint32_t low = (1u << a.bits) - 1;
  for (LaneMask rest = mask; rest; rest &= rest - 1) {
    unsigned lane = std::countr_zero(rest);
    auto part = [&](unsigned operand) {
      auto value = static_cast<int32_t>(warp.narrow(inst.op[operand])[lane]);
      return static_cast<uint32_t>(
                 std::clamp<int64_t>(value, a.least, a.most)) &
             low;
    };
    uint32_t above =
        2 * a.bits < 32 ? warp.narrow(inst.op[3])[lane] << 2 * a.bits : 0;
    warp.narrow(inst.op[0])[lane] = above | part(1) << a.bits | part(2);
  }
  return Step::Next;
}

void decodePack(DecodeContext &context) {
  auto &a = context.makeAttributes<PackAttributes>();
  context.expectAny({"sat"});
  Type type = context.expectType({Type::U16, Type::S16, Type::U8, Type::S8});
  context.expectType({Type::S32});
  a.bits = bitWidth(type);
  bool hasRest = a.bits == 8;
  if (hasRest)
    context.expectType({Type::B32});
  a.most = (int64_t{1} << (a.bits - isSignedInteger(type))) - 1;
  a.least = isSignedInteger(type) ? -a.most - 1 : 0;
  if (!context.expectOperands(hasRest ? 4 : 3))
    return;
  context.inst.op[0] = context.dest(0, Type::B32);
  for (unsigned i = 1; i < (hasRest ? 4u : 3u); ++i)
    context.inst.op[i] = context.source(i, Type::B32);
  context.inst.handler = pack;
}

/// Whether `to` holds every value of `from`, both integers.
bool holdsAll(Type to, Type from) {
  bool sign = isSignedInteger(to);
  if (isSignedInteger(from))
    return sign && bitWidth(to) >= bitWidth(from);
  return bitWidth(to) >= bitWidth(from) + sign;
}

void decodeCvt(DecodeContext &context) {
  if (context.take("rs"))
    return decodeStochasticConvert(context);
  if (context.take("pack"))
    return decodePack(context);
  auto &a = context.makeAttributes<ConvertAttributes>();
  bool hasRounding = true;
  switch (context.takeAny(
      {"rni", "rzi", "rmi", "rpi", "rn", "rz", "rm", "rp", "rna"})) {
  case 0:
    a.integerRounding = true;
    break;
  case 1:
    a.integerRounding = true;
    a.rounding = Rounding::TowardZero;
    break;
  case 2:
    a.integerRounding = true;
    a.rounding = Rounding::Down;
    break;
  case 3:
    a.integerRounding = true;
    a.rounding = Rounding::Up;
    break;
  case 4:
    break;
  case 5:
    a.rounding = Rounding::TowardZero;
    break;
  case 6:
    a.rounding = Rounding::Down;
    break;
  case 7:
    a.rounding = Rounding::Up;
    break;
  case 8:
    a.rounding = Rounding::NearestAway;
    break;
  default:
    hasRounding = false;
    break;
  }
  a.flush = context.take("ftz");
  a.saturate = context.take("sat");
  a.satfinite = context.take("satfinite");
  a.relu = context.take("relu");
  a.to = context.takeType();
  a.from = context.takeType();
  if (a.to == Type::None || a.from == Type::None) {
    context.error("'" + context.parsed.fullName() + "' needs two types");
    return;
  }
  if (isPackedSmall(a.to) || isPackedSmall(a.from) || isPacked16(a.to) ||
      isPacked16(a.from))
    return decodePacked(context, a);
  auto scalar = [](Type type) {
    return isFloat(type) || type == Type::TF32 ||
           (type >= Type::U8 && type <= Type::S8) ||
           (type >= Type::U16 && type <= Type::S16) ||
           (type >= Type::U32 && type <= Type::S32) ||
           (type >= Type::U64 && type <= Type::S64);
  };
  if (!scalar(a.to) || !scalar(a.from) || a.from == Type::TF32) {
    context.unsupported();
    return;
  }
  bool toFloat = isFloat(a.to) || a.to == Type::TF32;
  auto isByte = [](Type type) { return type == Type::U8 || type == Type::S8; };
  if ((a.to == Type::BF16 && isByte(a.from)) ||
      (a.from == Type::BF16 && isByte(a.to))) {
    context.unsupported();
    return;
  }
  if (a.saturate && !toFloat && !isFloat(a.from) && holdsAll(a.to, a.from)) {
    context.error("'.sat' is not allowed where no value can be out of range");
    return;
  }
  if (isFloat(a.from) != toFloat && !hasRounding) {
    context.error("conversion between integer and float needs a rounding "
                  "modifier");
    return;
  }
  if (!context.expectOperands(2))
    return;
  Inst &inst = context.inst;
  inst.op[0] = context.destAnyWidth(context.operand(0), a.to, a.wideOut);
  inst.op[1] = context.sourceAnyWidth(context.operand(1), a.from, a.wideIn);
  inst.handler = convert;
  // Whether the register is wider than the type.
  if (context.operand(0).kind == Operand::Kind::Register)
    inst.sub[0] =
        bitWidth(
            context.tables.function.registers[context.operand(0).reg].type) >
        bitWidth(a.to);
  // The common ones run lane-parallel.
  bool plain = !a.saturate && !a.flush && !a.relu && !a.satfinite;
  bool fits = a.wideOut == (bitWidth(a.to) == 64) &&
              a.wideIn == (bitWidth(a.from) == 64) &&
              !(inst.sub[0] && isSignedInteger(a.to));
  if (Handler handler = plain && fits ? plainHandler(a) : nullptr)
    inst.handler = handler;
}

} // namespace

void addConvertInstructions(InstructionTable &table) {
  table.add("cvt", decodeCvt);
}

} // namespace nvfp4::sim
