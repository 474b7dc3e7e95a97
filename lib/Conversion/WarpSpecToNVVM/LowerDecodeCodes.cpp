//===- LowerDecodeCodes.cpp - Codes of a row to bf16 or f16
//----------------===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// E2M1 is looked up: prmt takes four bytes at once from a table of eight, by
// the three bits of a magnitude. The order of codes is that of storage, so
// neighbours in K meet in a word, as tensor memory wants them. Eight codes take
// 15 instructions and four multiplications.
//
//===----------------------------------------------------------------------===//

#include "Fragment.h"
#include "KernelPattern.h"

#include "mlir/Dialect/Vector/IR/VectorOps.h"

#include <array>

using namespace mlir;
using namespace nvfp4::warpspec;

/// The bit patterns of 0, 0.5, 1, 1.5, 2, 3, 4 and 6 times a power of two.
static std::array<uint16_t, 8> getMagnitudes(bool isBF16, int64_t exponent) {
  std::array<uint16_t, 8> bits = {};
  int64_t mantissa = isBF16 ? 7 : 10, bias = (isBF16 ? 127 : 15) + exponent;
  for (uint16_t code = 1; code < 8; ++code) {
    // 0.5 is a subnormal number of E2M1.
    int64_t power = code == 1 ? -1 : (code >> 1) - 1;
    int64_t half = code == 1 ? 0 : code & 1;
    bits[code] = static_cast<uint16_t>((bias + power) << mantissa |
                                       half << (mantissa - 1));
  }
  return bits;
}

namespace {
class Decoder {
public:
  Decoder(OpBuilder &builder, Location loc, DecodeCodesOp op)
      : b(builder, loc), isBF16(op.getElement().isBF16()), code(op.getCode()) {}

  SmallVector<Value> decode(Value codes, Value scales);

private:
  Value permute(Value low, Value high, int64_t selector) {
    return permute(low, high, b.constant(selector));
  }
  Value permute(Value low, Value high, Value selector) {
    return NVVM::PermuteOp::create(b.b, b.loc, b.getI32(), low, high, selector,
                                   NVVM::PermuteMode::DEFAULT);
  }
  Value assemble(StringRef text, StringRef constraints, ValueRange operands) {
    return nvfp4::warpspec::assemble(b.b, b.loc, text, constraints, b.getI32(),
                                     operands, /*hasEffects=*/false)
        .front();
  }
  /// Both halves multiplied.
  Value multiply(Value x, Value y) {
    return assemble(isBF16 ? "mul.rn.bf16x2 $0, $1, $2;"
                           : "mul.rn.f16x2 $0, $1, $2;",
                    "=r,r,r", {x, y});
  }
  /// The f16x2 of the bytes `from` and `from` + 1 of a word, in `type`.
  Value widen(Value word, StringRef type, bool isUpper) {
    return assemble(("{.reg .b16 l, h; mov.b32 {l, h}, $1; cvt.rn.f16x2." +
                     type + " $0, " + (isUpper ? "h" : "l") + ";}")
                        .str(),
                    "=r,r", {word});
  }
  /// f16x2 as bf16x2, of values that it has.
  Value toBF16(Value pair) {
    return assemble(
        "{.reg .b16 l, h; .reg .f32 x, y; mov.b32 {l, h}, $1; cvt.f32.f16 x, "
        "l; cvt.f32.f16 y, h; cvt.rn.bf16x2.f32 $0, y, x;}",
        "=r,r", {pair});
  }
  /// The 32-bit words of a vector of bytes, the last one filled up with zeros.
  SmallVector<Value> getWords(Value bytes);

  /// The scale of each block, in both halves of a word.
  SmallVector<Value> expandScales(Value scales, int64_t count);
  /// Eight E2M1 codes as four words.
  void lookUp(Value word, SmallVectorImpl<Value> &words);
  /// Four FP8 codes as two words.
  void convert(Value word, SmallVectorImpl<Value> &words);

  AddressBuilder b;
  bool isBF16;
  WeightCode code;
};
} // namespace

SmallVector<Value> Decoder::getWords(Value bytes) {
  int64_t count = cast<VectorType>(bytes.getType()).getNumElements();
  SmallVector<Value> words;
  if (count % 4 != 0) {
    auto padded = VectorType::get({4}, b.b.getI8Type());
    Value zeros =
        arith::ConstantOp::create(b.b, b.loc, b.b.getZeroAttr(padded));
    bytes = vector::InsertStridedSliceOp::create(
        b.b, b.loc, bytes, zeros, ArrayRef<int64_t>{0}, ArrayRef<int64_t>{1});
    count = 4;
  }
  auto type = VectorType::get({count / 4}, b.getI32());
  Value whole = vector::BitCastOp::create(b.b, b.loc, type, bytes);
  for (int64_t i = 0; i < count / 4; ++i)
    words.push_back(vector::ExtractOp::create(b.b, b.loc, whole, i));
  return words;
}

SmallVector<Value> Decoder::expandScales(Value scales, int64_t count) {
  SmallVector<Value> factors;
  for (Value word : getWords(scales)) {
    bool isUE4M3 = code == WeightCode::E2M1_UE4M3;
    if (isUE4M3)
      word = b.bitAnd(word, 0x7f7f7f7f);
    for (bool isUpper : {false, true}) {
      if (static_cast<int64_t>(factors.size()) >= count)
        break;
      Value pair;
      if (isUE4M3) {
        pair = widen(word, "e4m3x2", isUpper);
        if (isBF16)
          pair = toBF16(pair);
      } else {
        pair = assemble(
            ("{.reg .b16 l, h; mov.b32 {l, h}, $1; cvt.rn.bf16x2.ue8m0x2 $0, " +
             Twine(isUpper ? "h" : "l") + ";}")
                .str(),
            "=r,r", {word});
      }
      factors.push_back(permute(pair, pair, 0x1010));
      factors.push_back(permute(pair, pair, 0x3232));
    }
  }
  factors.resize(count);
  return factors;
}

void Decoder::lookUp(Value word, SmallVectorImpl<Value> &words) {
  auto magnitudes = getMagnitudes(isBF16, DecodeCodesOp::getExponent(code));
  auto getTable = [&](int64_t first, int64_t byte) {
    uint32_t entries = 0;
    for (int64_t i = 0; i < 4; ++i)
      entries |= static_cast<uint32_t>(magnitudes[first + i] >> 8 * byte & 0xff)
                 << 8 * i;
    return b.constant(static_cast<int32_t>(entries));
  };
  auto lookUpByte = [&](int64_t byte, Value selector) {
    return permute(getTable(0, byte), getTable(4, byte), selector);
  };
  // Bit 3 of a selector would repeat a sign.
  Value selectors = b.bitAnd(word, 0x77777777);
  // Bytes whose upper half is a lower half of the word.
  Value raised = arith::ShLIOp::create(b.b, b.loc, word, b.constant(4));
  Value zero = b.constant(0);
  for (bool isUpper : {false, true}) {
    Value selector = isUpper ? b.shiftRight(selectors, 16) : selectors;
    Value signs = b.bitAnd(permute(raised, word, isUpper ? 0x7362 : 0x5140),
                           static_cast<int32_t>(0x80808080));
    Value high =
        arith::OrIOp::create(b.b, b.loc, lookUpByte(1, selector), signs);
    // The mantissa of f16 has no bit of these in its lower byte.
    Value low = isBF16 ? lookUpByte(0, selector) : zero;
    words.push_back(permute(low, high, 0x5140));
    words.push_back(permute(low, high, 0x7362));
  }
}

void Decoder::convert(Value word, SmallVectorImpl<Value> &words) {
  StringRef type = code == WeightCode::E4M3_UE8M0 ? "e4m3x2" : "e5m2x2";
  // The power of two, in both halves.
  int64_t exponent = 127 + DecodeCodesOp::getExponent(code);
  Value factor = b.constant(exponent << 7 | exponent << 23);
  for (bool isUpper : {false, true})
    words.push_back(multiply(toBF16(widen(word, type, isUpper)), factor));
}

SmallVector<Value> Decoder::decode(Value codes, Value scales) {
  SmallVector<Value> words;
  for (Value word : getWords(codes)) {
    if (DecodeCodesOp::isFP4(code))
      lookUp(word, words);
    else
      convert(word, words);
  }
  int64_t count = cast<VectorType>(scales.getType()).getNumElements();
  SmallVector<Value> factors = expandScales(scales, count);
  size_t perScale = words.size() / count;
  for (auto [i, word] : llvm::enumerate(words))
    word = multiply(word, factors[i / perScale]);
  return words;
}

namespace {
struct DecodeCodesLowering : KernelPattern<DecodeCodesOp> {
  using KernelPattern::KernelPattern;
  LogicalResult
  matchAndRewrite(DecodeCodesOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Decoder decoder(rewriter, op.getLoc(), op);
    SmallVector<Value> words =
        decoder.decode(adaptor.getCodes(), adaptor.getScales());
    rewriter.replaceOpWithNewOp<vector::FromElementsOp>(op, op.getType(),
                                                        words);
    return success();
  }
};
} // namespace

void nvfp4::warpspec::populateDecodeCodesToNVVMPatterns(
    const TypeConverter &converter, const KernelAnalysis &kernels,
    RewritePatternSet &patterns) {
  patterns.add<DecodeCodesLowering>(converter, patterns.getContext(), kernels);
}
