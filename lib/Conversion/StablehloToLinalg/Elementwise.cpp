//===- Elementwise.cpp - One element from one of each operand ---*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Arithmetic on types below f32 is that on f32, rounded once, which is the same
// number: f32 has more than twice their bits.
//
//===----------------------------------------------------------------------===//

#include "HloOp.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"

#include "llvm/ADT/StringSwitch.h"

using namespace mlir;
using namespace nvfp4::hlo;

static Value widen(LocBuilder &b, Value value) {
  auto type = dyn_cast<FloatType>(value.getType());
  if (!type || type.getWidth() >= 32)
    return value;
  return arith::ExtFOp::create(b, b.getF32Type(), value);
}

/// `value`, a number of f32 or f64, as `type`.
static Value round(LocBuilder &b, Value value, Type type) {
  if (value.getType() == type)
    return value;
  return arith::TruncFOp::create(b, type, value);
}

static Value makeConstant(LocBuilder &b, Type type, double value) {
  if (isa<FloatType>(type))
    return arith::ConstantOp::create(b, b.getFloatAttr(type, value));
  return arith::ConstantOp::create(
      b, b.getIntegerAttr(type, static_cast<int64_t>(value)));
}

namespace {
using Scalars = ValueRange;

/// An operation of the dialects, on scalars.
using Emit = Value (*)(LocBuilder &, const HloOp &, Scalars);
} // namespace

template <typename OpTy>
static Value emitFloat(LocBuilder &b, const HloOp &op, Scalars scalars) {
  if (!isa<FloatType>(scalars[0].getType()))
    return {};
  SmallVector<Value> wide =
      llvm::map_to_vector(scalars, [&](Value v) { return widen(b, v); });
  return round(b, OpTy::create(b, wide[0].getType(), wide),
               op.getType().getElementType());
}

/// One operation for floats, one for integers with sign, one without.
template <typename FloatTy, typename SignedTy, typename UnsignedTy = SignedTy>
static Value emitAny(LocBuilder &b, const HloOp &op, Scalars scalars) {
  if (isa<FloatType>(scalars[0].getType()))
    return emitFloat<FloatTy>(b, op, scalars);
  if (op.isUnsigned(0))
    return UnsignedTy::create(b, scalars[0], scalars[1]);
  return SignedTy::create(b, scalars[0], scalars[1]);
}

/// As `emitAny`, with another for numbers of one bit.
template <typename FloatTy, typename IntTy, typename BoolTy>
static Value emitAnyOrBool(LocBuilder &b, const HloOp &op, Scalars scalars) {
  if (scalars[0].getType().isInteger(1))
    return BoolTy::create(b, scalars[0], scalars[1]);
  return emitAny<FloatTy, IntTy>(b, op, scalars);
}

/// Quotients and remainders of integers, all of which are numbers as XLA has
/// them: with a divisor of 0, -1 and the dividend; of the least number and -1,
/// the least number and 0. Division by 1 takes the place of both.
template <typename FloatTy, typename SignedTy, typename UnsignedTy>
static Value emitDivision(LocBuilder &b, const HloOp &op, Scalars scalars) {
  Value x = scalars[0], y = scalars[1];
  auto type = dyn_cast<IntegerType>(x.getType());
  APInt known;
  if (!type || (matchPattern(y, m_ConstantInt(&known)) && !known.isZero() &&
                !known.isAllOnes()))
    return emitAny<FloatTy, SignedTy, UnsignedTy>(b, op, scalars);
  constexpr bool kIsQuotient = std::is_same_v<SignedTy, arith::DivSIOp>;
  auto isEqual = [&](Value value, const APInt &number) -> Value {
    Value constant =
        arith::ConstantOp::create(b, b.getIntegerAttr(type, number));
    return arith::CmpIOp::create(b, arith::CmpIPredicate::eq, value, constant);
  };
  unsigned width = type.getWidth();
  Value isZero = isEqual(y, APInt::getZero(width)), needsOne = isZero;
  if (!op.isUnsigned(0)) {
    Value isLeast = isEqual(x, APInt::getSignedMinValue(width));
    Value isNegated = isEqual(y, APInt::getAllOnes(width));
    Value leaves = arith::AndIOp::create(b, isLeast, isNegated);
    needsOne = arith::OrIOp::create(b, isZero, leaves);
  }
  Value one = makeConstant(b, type, 1);
  Value divisor = arith::SelectOp::create(b, needsOne, one, y);
  Value result =
      emitAny<FloatTy, SignedTy, UnsignedTy>(b, op, ValueRange{x, divisor});
  Value ofZero = kIsQuotient ? makeConstant(b, type, -1) : x;
  return arith::SelectOp::create(b, isZero, ofZero, result);
}

template <typename OpTy>
static Value emitBits(LocBuilder &b, const HloOp &, Scalars scalars) {
  if (!isa<IntegerType>(scalars[0].getType()))
    return {};
  return OpTy::create(b, scalars[0], scalars[1]);
}

static Value emitNot(LocBuilder &b, const HloOp &, Scalars scalars) {
  if (!isa<IntegerType>(scalars[0].getType()))
    return {};
  return arith::XOrIOp::create(b, scalars[0],
                               makeConstant(b, scalars[0].getType(), -1));
}

static Value emitNegate(LocBuilder &b, const HloOp &op, Scalars scalars) {
  Type type = scalars[0].getType();
  if (isa<FloatType>(type))
    return emitFloat<arith::NegFOp>(b, op, scalars);
  return arith::SubIOp::create(b, makeConstant(b, type, 0), scalars[0]);
}

static Value emitAbs(LocBuilder &b, const HloOp &op, Scalars scalars) {
  if (isa<FloatType>(scalars[0].getType()))
    return emitFloat<math::AbsFOp>(b, op, scalars);
  return math::AbsIOp::create(b, scalars[0]);
}

static Value emitSign(LocBuilder &b, const HloOp &op, Scalars scalars) {
  Type type = scalars[0].getType();
  if (!isa<FloatType>(type)) {
    Value low =
        op.isUnsigned(0)
            ? scalars[0]
            : arith::MaxSIOp::create(b, scalars[0], makeConstant(b, type, -1))
                  .getResult();
    Value one = makeConstant(b, type, 1);
    if (op.isUnsigned(0))
      return arith::MinUIOp::create(b, low, one);
    return arith::MinSIOp::create(b, low, one);
  }
  // Zeros keep their signs and NaN stays.
  Value x = widen(b, scalars[0]);
  Value isOther = arith::CmpFOp::create(b, arith::CmpFPredicate::UEQ, x,
                                        makeConstant(b, x.getType(), 0));
  Value one = math::CopySignOp::create(b, makeConstant(b, x.getType(), 1), x);
  return round(b, arith::SelectOp::create(b, isOther, x, one), type);
}

static Value emitLogistic(LocBuilder &b, const HloOp &op, Scalars scalars) {
  if (!isa<FloatType>(scalars[0].getType()))
    return {};
  Value x = widen(b, scalars[0]);
  Value one = makeConstant(b, x.getType(), 1);
  Value power = math::ExpOp::create(b, arith::NegFOp::create(b, x));
  return round(
      b, arith::DivFOp::create(b, one, arith::AddFOp::create(b, one, power)),
      op.getType().getElementType());
}

/// Shifts by the width and more leave zero, or the sign.
template <typename OpTy>
static Value emitShift(LocBuilder &b, const HloOp &, Scalars scalars) {
  auto type = dyn_cast<IntegerType>(scalars[0].getType());
  if (!type)
    return {};
  bool isSign = std::is_same_v<OpTy, arith::ShRSIOp>;
  Value amount = scalars[1];
  APInt known;
  bool isInside =
      matchPattern(amount, m_ConstantInt(&known)) && known.ult(type.getWidth());
  if (isInside)
    return OpTy::create(b, scalars[0], amount);
  Value most = makeConstant(b, type, type.getWidth() - 1);
  Value least = arith::MinUIOp::create(b, amount, most);
  Value shifted = OpTy::create(b, scalars[0], least);
  if (isSign)
    return shifted;
  Value fits =
      arith::CmpIOp::create(b, arith::CmpIPredicate::ule, amount, most);
  return arith::SelectOp::create(b, fits, shifted, makeConstant(b, type, 0));
}

Value nvfp4::hlo::makeOrderedBits(LocBuilder &b, Value value) {
  auto type = b.getIntegerType(value.getType().getIntOrFloatBitWidth());
  Value bits = arith::BitcastOp::create(b, type, value);
  Value sign = arith::ShRSIOp::create(
      b, bits, makeConstant(b, type, type.getWidth() - 1));
  Value mask = arith::ConstantOp::create(
      b, b.getIntegerAttr(type, APInt::getSignedMaxValue(type.getWidth())));
  return arith::XOrIOp::create(b, bits, arith::AndIOp::create(b, sign, mask));
}

static Value emitCompare(LocBuilder &b, const HloOp &op, Scalars scalars) {
  std::string text, typeText;
  StringRef direction = op.getWord("comparison_direction", text);
  bool isTotal = op.getWord("compare_type", typeText) == "TOTALORDER";
  Value left = scalars[0], right = scalars[1];
  if (isa<FloatType>(left.getType()) && !isTotal) {
    using P = arith::CmpFPredicate;
    auto predicate = llvm::StringSwitch<std::optional<P>>(direction)
                         .Case("EQ", P::OEQ)
                         .Case("NE", P::UNE)
                         .Case("LT", P::OLT)
                         .Case("LE", P::OLE)
                         .Case("GT", P::OGT)
                         .Case("GE", P::OGE)
                         .Default(std::nullopt);
    if (!predicate)
      return {};
    left = widen(b, left);
    right = widen(b, right);
    return arith::CmpFOp::create(b, *predicate, left, right);
  }
  if (isTotal && isa<FloatType>(left.getType())) {
    left = makeOrderedBits(b, left);
    right = makeOrderedBits(b, right);
  }
  using P = arith::CmpIPredicate;
  bool isUnsigned = op.isUnsigned(0);
  auto predicate = llvm::StringSwitch<std::optional<P>>(direction)
                       .Case("EQ", P::eq)
                       .Case("NE", P::ne)
                       .Case("LT", isUnsigned ? P::ult : P::slt)
                       .Case("LE", isUnsigned ? P::ule : P::sle)
                       .Case("GT", isUnsigned ? P::ugt : P::sgt)
                       .Case("GE", isUnsigned ? P::uge : P::sge)
                       .Default(std::nullopt);
  if (!predicate)
    return {};
  return arith::CmpIOp::create(b, *predicate, left, right);
}

static Value emitSelect(LocBuilder &b, const HloOp &, Scalars scalars) {
  return arith::SelectOp::create(b, scalars[0], scalars[1], scalars[2]);
}

static Value emitClamp(LocBuilder &b, const HloOp &op, Scalars scalars) {
  Value low = scalars[0], x = scalars[1], high = scalars[2];
  Type type = x.getType();
  if (isa<FloatType>(type)) {
    x = widen(b, x);
    low = widen(b, low);
    high = widen(b, high);
    Value above = arith::MaximumFOp::create(b, x, low);
    return round(b, arith::MinimumFOp::create(b, above, high), type);
  }
  if (op.isUnsigned(1))
    return arith::MinUIOp::create(b, arith::MaxUIOp::create(b, x, low), high);
  return arith::MinSIOp::create(b, arith::MaxSIOp::create(b, x, low), high);
}

static Value emitIsFinite(LocBuilder &b, const HloOp &, Scalars scalars) {
  if (!isa<FloatType>(scalars[0].getType()))
    return {};
  return math::IsFiniteOp::create(b, widen(b, scalars[0]));
}

static Value emitPower(LocBuilder &b, const HloOp &op, Scalars scalars) {
  if (isa<FloatType>(scalars[0].getType()))
    return emitFloat<math::PowFOp>(b, op, scalars);
  return op.isUnsigned(0) ? Value()
                          : math::IPowIOp::create(b, scalars[0], scalars[1]);
}

static Value emitConvert(LocBuilder &b, const HloOp &op, Scalars scalars) {
  Value x = scalars[0];
  Type from = x.getType(), to = op.getType().getElementType();
  bool isUnsigned = op.isUnsigned(0);
  if (from == to)
    return x;
  if (isa<FloatType>(from) && isa<FloatType>(to)) {
    unsigned toWidth = to.getIntOrFloatBitWidth();
    if (toWidth > from.getIntOrFloatBitWidth() && toWidth >= 32)
      return arith::ExtFOp::create(b, to, x);
    return round(b, widen(b, x), to);
  }
  if (isa<FloatType>(from)) {
    Value wide = widen(b, x);
    if (to.isInteger(1))
      return arith::CmpFOp::create(b, arith::CmpFPredicate::UNE, wide,
                                   makeConstant(b, wide.getType(), 0));
    if (op.isResultUnsigned())
      return arith::FPToUIOp::create(b, to, wide);
    return arith::FPToSIOp::create(b, to, wide);
  }
  if (isa<FloatType>(to)) {
    Type wide = to.getIntOrFloatBitWidth() >= 32 ? to : b.getF32Type();
    Value value = isUnsigned ? arith::UIToFPOp::create(b, wide, x).getResult()
                             : arith::SIToFPOp::create(b, wide, x).getResult();
    return round(b, value, to);
  }
  if (to.isInteger(1))
    return arith::CmpIOp::create(b, arith::CmpIPredicate::ne, x,
                                 makeConstant(b, from, 0));
  if (to.getIntOrFloatBitWidth() < from.getIntOrFloatBitWidth())
    return arith::TruncIOp::create(b, to, x);
  if (to.getIntOrFloatBitWidth() == from.getIntOrFloatBitWidth())
    return x;
  if (isUnsigned)
    return arith::ExtUIOp::create(b, to, x);
  return arith::ExtSIOp::create(b, to, x);
}

static const llvm::StringMap<Emit> &getEmitters() {
  static const llvm::StringMap<Emit> emitters = {
      {"stablehlo.abs", emitAbs},
      {"stablehlo.add",
       emitAnyOrBool<arith::AddFOp, arith::AddIOp, arith::OrIOp>},
      {"stablehlo.and", emitBits<arith::AndIOp>},
      {"stablehlo.ceil", emitFloat<math::CeilOp>},
      {"stablehlo.clamp", emitClamp},
      {"stablehlo.compare", emitCompare},
      {"stablehlo.convert", emitConvert},
      {"stablehlo.cosine", emitFloat<math::CosOp>},
      {"stablehlo.divide",
       emitDivision<arith::DivFOp, arith::DivSIOp, arith::DivUIOp>},
      {"stablehlo.exponential", emitFloat<math::ExpOp>},
      {"stablehlo.exponential_minus_one", emitFloat<math::ExpM1Op>},
      {"stablehlo.floor", emitFloat<math::FloorOp>},
      {"stablehlo.is_finite", emitIsFinite},
      {"stablehlo.log", emitFloat<math::LogOp>},
      {"stablehlo.log_plus_one", emitFloat<math::Log1pOp>},
      {"stablehlo.logistic", emitLogistic},
      {"stablehlo.maximum",
       emitAny<arith::MaximumFOp, arith::MaxSIOp, arith::MaxUIOp>},
      {"stablehlo.minimum",
       emitAny<arith::MinimumFOp, arith::MinSIOp, arith::MinUIOp>},
      {"stablehlo.multiply",
       emitAnyOrBool<arith::MulFOp, arith::MulIOp, arith::AndIOp>},
      {"stablehlo.negate", emitNegate},
      {"stablehlo.not", emitNot},
      {"stablehlo.or", emitBits<arith::OrIOp>},
      {"stablehlo.power", emitPower},
      {"stablehlo.remainder",
       emitDivision<arith::RemFOp, arith::RemSIOp, arith::RemUIOp>},
      {"stablehlo.round_nearest_afz", emitFloat<math::RoundOp>},
      {"stablehlo.round_nearest_even", emitFloat<math::RoundEvenOp>},
      {"stablehlo.rsqrt", emitFloat<math::RsqrtOp>},
      {"stablehlo.select", emitSelect},
      {"stablehlo.shift_left", emitShift<arith::ShLIOp>},
      {"stablehlo.shift_right_arithmetic", emitShift<arith::ShRSIOp>},
      {"stablehlo.shift_right_logical", emitShift<arith::ShRUIOp>},
      {"stablehlo.sign", emitSign},
      {"stablehlo.sine", emitFloat<math::SinOp>},
      {"stablehlo.sqrt", emitFloat<math::SqrtOp>},
      {"stablehlo.subtract", emitAny<arith::SubFOp, arith::SubIOp>},
      {"stablehlo.tanh", emitFloat<math::TanhOp>},
      {"stablehlo.xor", emitBits<arith::XOrIOp>},
      {"chlo.erf", emitFloat<math::ErfOp>},
  };
  return emitters;
}

unsigned nvfp4::hlo::getNumElementOperands(StringRef name) {
  if (!getEmitters().contains(name))
    return 0;
  name.consume_front("stablehlo.");
  if (llvm::is_contained({"clamp", "select"}, name))
    return 3;
  return llvm::is_contained({"add", "and", "compare", "divide", "maximum",
                             "minimum", "multiply", "or", "power", "remainder",
                             "shift_left", "shift_right_arithmetic",
                             "shift_right_logical", "subtract", "xor"},
                            name)
             ? 2
             : 1;
}

Value nvfp4::hlo::emitElement(LocBuilder &b, const HloOp &op,
                              ValueRange scalars) {
  Emit emit = getEmitters().lookup(op.getName());
  return emit ? emit(b, op, scalars) : Value();
}

SmallVector<Value> nvfp4::hlo::emitBody(LocBuilder &b, const HloOp &op,
                                        Region &region, ValueRange scalars,
                                        unsigned numResults) {
  if (region.getNumArguments() != scalars.size())
    return op.fail("expected a body of {0} arguments, but got {1}",
                   scalars.size(), region.getNumArguments());
  IRMapping mapping;
  mapping.map(region.getArguments(), scalars);
  for (Operation &inner : region.front()) {
    SmallVector<Value> operands;
    for (Value operand : inner.getOperands()) {
      Value scalar = mapping.lookupOrNull(operand);
      if (!scalar)
        return op.fail("expected a body that reads its arguments alone");
      operands.push_back(scalar);
    }
    if (inner.hasTrait<OpTrait::IsTerminator>() ||
        inner.getName().getStringRef() == "stablehlo.return") {
      if (operands.size() == numResults)
        return operands;
      return op.fail("expected a body that returns {0} values, but got {1}",
                     numResults, operands.size());
    }
    Value result;
    auto constant = inner.getAttrOfType<DenseElementsAttr>("value");
    if (inner.getName().getStringRef() == "stablehlo.constant" && constant) {
      auto signless = cast<DenseElementsAttr>(
          constant.bitcast(getSignless(constant.getElementType())));
      result = arith::ConstantOp::create(
          b, cast<TypedAttr>(signless.getSplatValue<Attribute>()));
    } else {
      result = emitElement(b, HloOp(&inner, operands), operands);
    }
    if (!result)
      return op.fail("expected elementwise operations in the body, but got {0}",
                     inner.getName().getStringRef());
    mapping.map(inner.getResult(0), result);
  }
  return op.fail("expected a body that ends in stablehlo.return");
}

/// Constants are in the body; tensors of rank 0 belong to all elements.
static SmallVector<Value> convertElementwise(const HloOp &op, LocBuilder &b) {
  RankedTensorType type = op.getType();
  SmallVector<Value> inputs;
  SmallVector<AffineMap> maps;
  SmallVector<TypedAttr> splats;
  for (unsigned i = 0; i < op.getOperands().size(); ++i) {
    splats.push_back(op.getSplat(i));
    if (splats.back())
      continue;
    inputs.push_back(op.getOperand(i));
    maps.push_back(op.getOperandType(i).getRank() == 0
                       ? AffineMap::get(type.getRank(), 0, b.getContext())
                       : b.getMultiDimIdentityMap(type.getRank()));
  }
  bool isEmitted = true;
  SmallVector<Value> results = makeElements(
      b, inputs, maps, type,
      [&](LocBuilder &inner, ValueRange arguments) -> SmallVector<Value> {
        SmallVector<Value> scalars;
        for (TypedAttr splat : splats) {
          if (splat) {
            scalars.push_back(arith::ConstantOp::create(inner, splat));
            continue;
          }
          scalars.push_back(arguments.front());
          arguments = arguments.drop_front();
        }
        if (Value result = emitElement(inner, op, scalars))
          return {result};
        isEmitted = false;
        return {arith::ConstantOp::create(
            inner, inner.getZeroAttr(type.getElementType()))};
      });
  if (!isEmitted)
    return op.fail("expected operands that {0} is converted for, but got {1}",
                   op.getName(), op.getOperation()->getOperand(0).getType());
  return results;
}

void nvfp4::hlo::addElementwise(ConversionTable &table) {
  for (StringRef name : getEmitters().keys())
    table[name] = convertElementwise;
}
