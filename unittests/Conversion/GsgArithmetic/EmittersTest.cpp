//===- EmittersTest.cpp -----------------------------------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Compiles each emitter into a loop over an array and compares with Format and
// with f64, on every bf16 number, on neighbours of ties and on random floats.
//
//===----------------------------------------------------------------------===//

#include "../GsgToCpu/ProductJit.h"
#include "nvfp4/Conversion/GsgArithmetic/Activation.h"
#include "nvfp4/Conversion/GsgArithmetic/Quantize.h"
#include "nvfp4/Conversion/GsgArithmetic/Rounding.h"
#include "nvfp4/Conversion/GsgToCpu/Kernel/Kernels.h"
#include "nvfp4/Format/Float16.h"
#include "nvfp4/Format/Philox.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

#include "gtest/gtest.h"

#include <cmath>
#include <cstring>
#include <random>

using namespace mlir;
using namespace nvfp4;
using namespace nvfp4::gsg;
using namespace nvfp4::gsg::arithmetic;
using namespace nvfp4::gsg::cpu;

namespace {

const std::vector<float> &inputs() {
  static const std::vector<float> values = [] {
    std::vector<float> v;
    std::mt19937 random(7);
    for (uint32_t i = 0; i < 0x10000; ++i) {
      uint32_t bits = i << 16;
      for (uint32_t low : {0u, 1u, 0x7FFFu, 0x8000u, 0x8001u, 0xFFFFu})
        v.push_back(std::bit_cast<float>(bits | low));
    }
    for (int i = 0; i < 100000; ++i)
      v.push_back(std::bit_cast<float>(static_cast<uint32_t>(random())));
    while (v.size() % 16)
      v.push_back(0);
    return v;
  }();
  return values;
}

using Emit = std::function<Value(OpBuilder &, Location, Value)>;
using Body = std::function<void(OpBuilder &, Location, Value, ValueRange)>;

/// A module with @f(arguments) that runs `body` for every index below `count`
/// in steps.
std::string loopModule(Arguments &arguments, int64_t count, int64_t step,
                       const Body &body) {
  MLIRContext context;
  loadKernelDialects(context);
  context.loadDialect<func::FuncDialect, memref::MemRefDialect>();
  OpBuilder builder(&context);
  Location loc = builder.getUnknownLoc();
  OwningOpRef<ModuleOp> module = ModuleOp::create(loc);
  builder.setInsertionPointToEnd(module->getBody());
  SmallVector<Type> types;
  for (const auto &buffer : arguments.buffers) {
    std::string element = buffer->type.substr(buffer->type.rfind('x') + 1);
    element.pop_back();
    Type type = element == "f32"   ? Type(builder.getF32Type())
                : element == "i64" ? Type(builder.getI64Type())
                : element == "i16" ? Type(builder.getI16Type())
                                   : Type(builder.getI8Type());
    types.push_back(MemRefType::get(buffer->shape, type));
  }
  auto func = func::FuncOp::create(builder, loc, "f",
                                   builder.getFunctionType(types, {}));
  func->setAttr("llvm.emit_c_interface", builder.getUnitAttr());
  builder.setInsertionPointToStart(func.addEntryBlock());
  auto index = [&](int64_t value) {
    return arith::ConstantIndexOp::create(builder, loc, value).getResult();
  };
  scf::ForOp::create(builder, loc, index(0), index(count), index(step),
                     ValueRange(),
                     [&](OpBuilder &b, Location, Value i, ValueRange) {
                       body(b, loc, i, func.getArguments());
                       scf::YieldOp::create(b, loc);
                     });
  func::ReturnOp::create(builder, loc);
  std::string text;
  llvm::raw_string_ostream(text) << *module;
  return text;
}

template <typename T>
std::vector<T> runUnary(const Emit &emit, const char *element,
                        const std::vector<float> &in) {
  Arguments args;
  auto count = static_cast<int64_t>(in.size());
  std::memcpy(args.add("in", {count}, "f32", 4).bytes(), in.data(), 4 * count);
  Buffer &out = args.add("out", {count}, element, sizeof(T));
  std::string module = loopModule(
      args, count, 16,
      [&](OpBuilder &b, Location loc, Value i, ValueRange arguments) {
        auto type = VectorType::get(16, b.getF32Type());
        Value x = vector::LoadOp::create(b, loc, type, arguments[0], i);
        vector::StoreOp::create(b, loc, emit(b, loc, x), arguments[1], i);
      });
  auto engine = compile(module, {});
  EXPECT_TRUE(engine);
  if (!engine || !run(*engine, args, {}))
    return std::vector<T>(in.size());
  return std::vector<T>(out.as<T>(), out.as<T>() + count);
}

template <typename T, typename F>
void expectCodes(const Emit &emit, const char *element, F oracle) {
  std::vector<T> got = runUnary<T>(emit, element, inputs());
  for (size_t i = 0; i < got.size(); ++i)
    ASSERT_EQ(got[i], oracle(inputs()[i]))
        << std::bit_cast<uint32_t>(inputs()[i]);
}

TEST(Emitters, Casts) {
  expectCodes<uint16_t>(emitF32ToBF16, "i16", format::f32ToBF16);
  expectCodes<uint16_t>(emitF32ToF16, "i16", format::f32ToF16);
  for (auto nz : {format::NegativeZero::Keep, format::NegativeZero::Flush,
                  format::NegativeZero::KeepRounded})
    expectCodes<uint8_t>(
        [&](OpBuilder &b, Location loc, Value x) {
          return emitEncodeElement(b, loc, format::ElementKind::E2M1, x, nz);
        },
        "i8", [&](float x) { return format::encodeE2M1(x, nz); });
  expectCodes<uint8_t>(
      [&](OpBuilder &b, Location loc, Value x) {
        return emitEncodeElement(b, loc, format::ElementKind::E4M3, x);
      },
      "i8", format::encodeE4M3);
  expectCodes<uint8_t>(
      [&](OpBuilder &b, Location loc, Value x) {
        return emitEncodeElement(b, loc, format::ElementKind::E5M2, x);
      },
      "i8", format::encodeE5M2Saturating);
  expectCodes<uint8_t>(emitEncodeUE4M3, "i8", format::encodeUE4M3);
  expectCodes<uint8_t>(emitEncodeE8M0Up, "i8", [](float x) {
    return format::encodeE8M0(x, format::RoundE8M0::Up);
  });
}

/// Decoders see the low byte (or half) of the bits of their input.
TEST(Emitters, Decoders) {
  std::vector<float> all(0x10000);
  for (uint32_t i = 0; i < all.size(); ++i)
    all[i] = std::bit_cast<float>(i);
  auto check = [&](auto decode, unsigned bits, auto oracle) {
    std::vector<float> got = runUnary<float>(
        [&](OpBuilder &b, Location loc, Value x) {
          auto wide = VectorType::get(16, b.getI32Type());
          auto narrow = VectorType::get(16, b.getIntegerType(bits));
          Value code = arith::TruncIOp::create(
              b, loc, narrow, arith::BitcastOp::create(b, loc, wide, x));
          return decode(b, loc, code);
        },
        "f32", all);
    for (uint32_t i = 0; i < all.size(); ++i) {
      float expected = oracle(i);
      if (std::isnan(expected))
        ASSERT_TRUE(std::isnan(got[i])) << i;
      else
        ASSERT_EQ(std::bit_cast<uint32_t>(got[i]),
                  std::bit_cast<uint32_t>(expected))
            << i;
    }
  };
  check(emitBF16ToF32, 16,
        [](uint32_t i) { return format::bf16ToF32(static_cast<uint16_t>(i)); });
  check(emitF16ToF32, 16,
        [](uint32_t i) { return format::f16ToF32(static_cast<uint16_t>(i)); });
  for (auto kind : {format::ScaleKind::UE4M3, format::ScaleKind::E8M0})
    check([&](OpBuilder &b, Location loc,
              Value x) { return emitDecodeScale(b, loc, kind, x); },
          8,
          [&](uint32_t i) {
            return format::decodeScale(kind, static_cast<uint8_t>(i));
          });
  for (auto kind : {format::ElementKind::E2M1, format::ElementKind::E4M3,
                    format::ElementKind::E5M2})
    check([&](OpBuilder &b, Location loc,
              Value x) { return emitDecodeElement(b, loc, kind, x); },
          8,
          [&](uint32_t i) {
            return format::decodeElement(kind, static_cast<uint8_t>(i));
          });
}

/// 0.51 ulp, subnormal results included.
void expectClose(const Emit &emit, double (*oracle)(double)) {
  std::vector<float> got = runUnary<float>(emit, "f32", inputs());
  for (size_t i = 0; i < got.size(); ++i) {
    double expected = oracle(inputs()[i]);
    if (std::isnan(expected)) {
      ASSERT_TRUE(std::isnan(got[i])) << inputs()[i];
      continue;
    }
    auto nearest = static_cast<float>(expected);
    if (std::isinf(nearest) || expected == 0) {
      ASSERT_EQ(got[i], nearest) << inputs()[i];
      continue;
    }
    int exponent = std::max(std::ilogb(expected), -126) - 23;
    double ulp = std::ldexp(1.0, exponent);
    ASSERT_LE(std::fabs(got[i] - expected), 0.51 * ulp) << inputs()[i];
  }
}

TEST(Emitters, ExpAndSigmoid) {
  expectClose(emitExp, [](double x) { return std::exp(x); });
  expectClose(emitSigmoid, [](double x) {
    return x < 0 ? std::exp(x) / (1 + std::exp(x)) : 1 / (1 + std::exp(-x));
  });
}

/// Blocks of many magnitudes, with specials and partly zero.
std::vector<float> blockInputs(int64_t blocks, int64_t size) {
  std::mt19937 random(3);
  std::vector<float> x;
  const float special[] = {0.0f,
                           -0.0f,
                           1e-30f,
                           -1e-40f,
                           std::bit_cast<float>(0x7F800000u),
                           std::bit_cast<float>(0x7FC00000u),
                           2688.0f,
                           1e38f};
  for (int64_t b = 0; b < blocks; ++b) {
    int exponent = static_cast<int>(random() % 60) - 30;
    bool mixed = b % 7 == 0, sparse = b % 5 == 0;
    for (int64_t i = 0; i < size; ++i) {
      double u = static_cast<double>(random() % 20001) / 10000 - 1;
      auto value = static_cast<float>(std::ldexp(u, exponent));
      if (mixed && random() % 16 == 0)
        value = special[random() % 8];
      if (sparse && random() % 2)
        value = 0;
      if (b < 8)
        value = i == 3 ? special[b] : 0;
      x.push_back(value);
    }
  }
  return x;
}

TEST(Emitters, Quantizers) {
  constexpr int64_t blocks = 4000;
  for (const format::QuantizerTraits &traits : format::kQuantizers)
    for (const format::BlockFormatTraits &formatTraits : format::kBlockFormats)
      for (bool stochastic : {false, true}) {
        format::QuantizeParams params;
        params.format = formatTraits.format;
        if (traits.global != format::GlobalScaleKind::None)
          params.globalScale =
              traits.global == format::GlobalScaleKind::Encode ? 37.5f : 0.013f;
        if (stochastic) {
          params.rounding = format::ElementRounding::Stochastic;
          params.seed = 0x1234567890ABCDEF;
        }
        if (!format::supports(traits.quantizer, params.format) ||
            !format::checkQuantizer(traits.quantizer, params).empty())
          continue;
        BlockQuantizer quantizer;
        quantizer.kind = traits.quantizer;
        quantizer.format = params.format;
        quantizer.negativeZero = traits.negativeZero;
        quantizer.stochastic = stochastic;
        int64_t size = quantizer.getBlockSize(), count = blocks * size;
        std::vector<float> x = blockInputs(blocks, size);
        Arguments args;
        std::memcpy(args.add("x", {count}, "f32", 4).bytes(), x.data(),
                    4 * count);
        Buffer &codes = args.add("codes", {count}, "i8", 1);
        Buffer &scales = args.add("scales", {blocks}, "i8", 1);
        std::string module = loopModule(
            args, count, size,
            [&](OpBuilder &b, Location loc, Value i, ValueRange arguments) {
              Value block = vector::LoadOp::create(
                  b, loc, VectorType::get(size, b.getF32Type()), arguments[0],
                  i);
              QuantizeInputs in;
              in.globalScale = arith::ConstantOp::create(
                  b, loc, b.getF32FloatAttr(params.globalScale));
              in.seed = arith::ConstantOp::create(
                  b, loc,
                  b.getI64IntegerAttr(static_cast<int64_t>(params.seed)));
              in.elementIndex =
                  arith::IndexCastOp::create(b, loc, b.getI64Type(), i);
              QuantizedBlock q =
                  emitQuantizeBlock(b, loc, quantizer, in, block);
              vector::StoreOp::create(b, loc, q.codes, arguments[1], i);
              Value number = arith::DivUIOp::create(
                  b, loc, i, arith::ConstantIndexOp::create(b, loc, size));
              memref::StoreOp::create(b, loc, q.scale, arguments[2], number);
            });
        auto engine = compile(module, {});
        ASSERT_TRUE(engine && run(*engine, args, {}));
        for (int64_t i = 0; i < blocks; ++i) {
          std::vector<uint8_t> expected(size);
          uint8_t scale = format::quantizeBlock(
              traits.quantizer, params, std::span(x).subspan(i * size, size),
              expected, i * size);
          ASSERT_EQ(scale, scales.bytes()[i])
              << stringify(traits.quantizer) << " "
              << stringify(formatTraits.format) << " block " << i;
          for (int64_t k = 0; k < size; ++k)
            ASSERT_EQ(expected[k], codes.bytes()[i * size + k])
                << stringify(traits.quantizer) << " "
                << stringify(formatTraits.format) << " block " << i
                << " element " << k << " of value " << x[i * size + k];
        }
      }
}

} // namespace
