//===- DecodedWeights.cpp - Codes to A registers ----------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Statements in PTX, and the decoding of weights that is made of them.
//
//===----------------------------------------------------------------------===//

#include "DecodedLoop.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace nvfp4;
using namespace nvfp4::warpspec;

using Values = DecodedLoop::Values;

//===----------------------------------------------------------------------===//
// Statements
//===----------------------------------------------------------------------===//

std::string DecodedLoop::getConstraints(size_t count, char letter, bool tie) {
  std::string text;
  for (size_t i = 0; i < count; ++i)
    text += (i ? ",=" : "=") + std::string(1, letter);
  for (size_t i = 0; tie && i < count; ++i)
    text += "," + std::to_string(i);
  return text;
}

Values DecodedLoop::fill(StringRef text, Type type, size_t count, char letter) {
  std::string all;
  for (size_t i = 0; i < count; ++i)
    all += (text + " $" + Twine(i) + ", ").str() +
           (letter == 'f' ? "0f00000000;" : "0;");
  return assemble(all, getConstraints(count, letter, false),
                  SmallVector<Type>(count, type), {}, /*hasEffects=*/true);
}

void DecodedLoop::pin(Values &values, char letter) {
  values =
      assemble("", getConstraints(values.size(), letter, true) + ",~{memory}",
               llvm::to_vector(ValueRange(values).getTypes()), values,
               /*hasEffects=*/true);
}

Values DecodedLoop::choose(Value condition, ArrayRef<Value> others,
                           llvm::function_ref<Values()> build) {
  auto branch = scf::IfOp::create(b, loc, TypeRange(ValueRange(others)),
                                  condition, /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.thenBlock());
  Values values = build();
  scf::YieldOp::create(b, loc, values);
  b.setInsertionPointToStart(branch.elseBlock());
  scf::YieldOp::create(b, loc, others);
  return Values(branch.getResults());
}

//===----------------------------------------------------------------------===//
// Decoding
//===----------------------------------------------------------------------===//

std::array<Value, 2> DecodedLoop::expandScales(Value s) {
  using namespace format::wgmma;
  auto expand = [&](Value word) -> Value {
    if (!usesScaleBase(coding))
      return left(
          arith::AndIOp::create(b, loc, word, constant(kScaleMask)).getResult(),
          kScaleShift);
    // word & kScaleMask | kScaleBase
    return one("lop3.b32 $0, $1, " + std::to_string(kScaleMask) + ", $2, 0xEA;",
               "=r,r,r", {word, scaleBase});
  };
  Value first = expand(s);
  return {first, expand(rotate(s, kScaleRotation))};
}

Value DecodedLoop::scale(Value placed, Value factor, bool isBelow) {
  StringRef half = isBelow ? "h" : "l";
  StringRef type =
      coding.type == format::wgmma::Multiplicand::BF16 ? "bf16" : "f16";
  return one(("{.reg .b16 l, h; .reg .b32 s; mov.b32 {l, h}, $2; mov.b32 s, {" +
              half + ", " + half + "}; mul.rn." + type + "x2 $0, $1, s;}")
                 .str(),
             "=r,r,r", {placed, factor});
}

Value DecodedLoop::select(Value a, Value other, uint32_t mask, uint32_t outer) {
  Value merged = a;
  if (a != other)
    merged = one("lop3.b32 $0, $1, $2, " + std::to_string(mask) + ", 0xE4;",
                 "=r,r,r", {a, other});
  return arith::AndIOp::create(b, loc, merged,
                               constant(static_cast<int32_t>(outer)));
}

Values DecodedLoop::decodePair(Value x, Value y, Value s) {
  using namespace format::wgmma;
  std::array<Value, 2> factors = expandScales(s);
  // kPoolMask ? x : y rotated
  Value shifted = left(y, kPoolShift);
  Value z = one("lop3.b32 $0, $1, $2, " + std::to_string(kPoolMask) + ", 0xE4;",
                "=r,r,r", {x, shifted});
  Values result;
  for (int64_t step = 0; step < 2; ++step)
    for (int64_t i = 0; i < 4; ++i) {
      Value word = i == 3 ? z : step ? y : x;
      int64_t by = i == 3 ? kPoolRotations[step] : kRotations[i];
      // What a rotation by less than 7 brings round is masked out.
      word = by >= 7 ? rotate(word, by) : left(word, by);
      Value magnitude = arith::AndIOp::create(
          b, loc, word, constant(static_cast<int32_t>(kValueMask)));
      // Rows r and r + 8 are scaled by the two halves of a word.
      result.push_back(scale(magnitude, factors[step], i % 2));
    }
  return result;
}

Values DecodedLoop::decodeSpread(ArrayRef<Value> words, Value s) {
  using namespace format::wgmma;
  std::array<Value, 2> factors = expandScales(s);
  Values result;
  for (int64_t step = 0; step < 2; ++step)
    for (int64_t i = 0; i < 4; ++i) {
      auto [sign, magnitude] = kF16Shifts[i];
      Value signs = left(words[step], sign);
      Value others = sign == magnitude ? signs : left(words[step], magnitude);
      result.push_back(scale(select(signs, others, kSignMask, kF16Mask),
                             factors[step], i % 2));
    }
  return result;
}

Values DecodedLoop::decodeBytes(ArrayRef<Value> words, Value s) {
  using namespace format::wgmma;
  std::array<Value, 2> factors = expandScales(s);
  ByteDecoding decoding = getByteDecoding(coding);
  Values result;
  for (int64_t step = 0; step < 2; ++step)
    for (int64_t i = 0; i < 4; ++i) {
      Value word = left(words[2 * step + i / 2], i % 2 * 8);
      Value placed =
          select(word, right(word, decoding.shift), kSignMask, decoding.mask);
      result.push_back(scale(placed, factors[step], i % 2));
    }
  return result;
}

Values DecodedLoop::decodeSteps(const State &state, int64_t pair) {
  ArrayRef<Value> words = state.words;
  Value s = words[words.size() - 2 + pair];
  if (coding.element != format::ElementKind::E2M1)
    return decodeBytes(words.slice(4 * pair, 4), s);
  if (coding.type == format::wgmma::Multiplicand::F16)
    return decodeSpread(words.slice(2 * pair, 2), s);
  return decodePair(words[2 * pair], words[2 * pair + 1], s);
}

Values DecodedLoop::decode(const State &state, int64_t half) {
  if (halves == 2)
    return decodeSteps(state, half);
  Values result = decodeSteps(state, 0);
  result.append(decodeSteps(state, 1));
  return result;
}
