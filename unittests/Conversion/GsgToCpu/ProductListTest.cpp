//===- ProductListTest.cpp - matmul_list on the CPU -------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Problems of different M, N and K, empty ones included.
//
//===----------------------------------------------------------------------===//

#include "ProductJit.h"
#include "nvfp4/Format/E2M1.h"
#include "nvfp4/Format/Float8.h"

#include "gtest/gtest.h"

#include <random>

using namespace nvfp4;
using namespace nvfp4::gsg::cpu;

namespace {

struct Sizes {
  int64_t m, n, k;
};

void checkList(const std::vector<Sizes> &problems, bool accumulate,
               const RunOptions &options) {
  Arguments args;
  std::mt19937 random(11);
  struct Problem {
    Buffer *a, *as, *b, *bs, *c;
  };
  std::vector<Problem> buffers;
  std::string lhs, rhs, outs, types;
  for (size_t i = 0; i < problems.size(); ++i) {
    auto [m, n, k] = problems[i];
    std::string number = std::to_string(i), comma = i ? ", " : "";
    auto operand = [&](std::string name, int64_t rows, Buffer *&data,
                       Buffer *&scales) {
      data = &args.add(name + number, {rows, k / 2}, "i8", 1);
      scales = &args.add(name + "s" + number, {rows, k / 16}, "f8E4M3FN", 1);
      for (int64_t j = 0; j < data->count; ++j)
        data->bytes()[j] = static_cast<uint8_t>(random());
      for (int64_t j = 0; j < scales->count; ++j)
        scales->bytes()[j] = random() % 2 ? 0x38 : 0x40;
      return comma + "%" + data->name + " scaled_by %" + scales->name + " : " +
             data->type + ", " + scales->type +
             " as !grouped_scaled_gemm.scaled<" + std::to_string(rows) + "x" +
             std::to_string(k) + ", nvfp4>";
    };
    Problem p{};
    lhs += operand("a", m, p.a, p.as);
    rhs += operand("b", n, p.b, p.bs);
    p.c = &args.add("c" + number, {m, n}, "f32", 4);
    if (accumulate)
      for (int64_t j = 0; j < p.c->count; ++j)
        p.c->as<float>()[j] = static_cast<float>(j % 5);
    outs += comma + "%" + p.c->name;
    types += comma + p.c->type;
    buffers.push_back(p);
  }
  auto count = static_cast<int64_t>(problems.size());
  Buffer &alpha = args.add("alpha", {count}, "f32", 4);
  for (int64_t i = 0; i < count; ++i)
    alpha.as<float>()[i] = static_cast<float>(i + 1) * 0.5f;
  std::string text = "func.func @f(" + args.signature() +
                     ") attributes {llvm.emit_c_interface} {\n"
                     "%half = arith.constant 0.5 : f32\n"
                     "grouped_scaled_gemm.matmul_list lhs(" +
                     lhs + ") rhs(" + rhs + ") alpha(%alpha : " + alpha.type +
                     ")" + (accumulate ? " beta(%half : f32)" : "") + " outs(" +
                     outs + " : " + types + ")\nreturn\n}\n";
  auto engine = compile(text, options);
  ASSERT_TRUE(engine) << text;
  ASSERT_TRUE(run(*engine, args, options));
  for (size_t i = 0; i < problems.size(); ++i) {
    auto [m, n, k] = problems[i];
    const Problem &p = buffers[i];
    auto value = [&](Buffer *data, Buffer *scales, int64_t row, int64_t at) {
      uint8_t byte = data->bytes()[row * (k / 2) + at / 2];
      return format::decodeE2M1(at % 2 ? byte >> 4 : byte & 15) *
             format::decodeUE4M3(scales->bytes()[row * (k / 16) + at / 16]);
    };
    for (int64_t row = 0; row < m; ++row)
      for (int64_t column = 0; column < n; ++column) {
        double sum = 0;
        for (int64_t at = 0; at < k; ++at)
          sum += static_cast<double>(value(p.a, p.as, row, at)) *
                 value(p.b, p.bs, column, at);
        sum *= alpha.as<float>()[i];
        int64_t index = row * n + column;
        if (accumulate)
          sum += 0.5 * static_cast<double>(index % 5);
        ASSERT_EQ(p.c->as<float>()[index], static_cast<float>(sum))
            << "problem " << i << ", row " << row << ", column " << column;
      }
  }
}

TEST(ProductList, OwnSizes) {
  std::vector<Sizes> problems = {{64, 128, 512}, {72, 200, 256}, {0, 64, 32},
                                 {5, 0, 32},     {5, 33, 0},     {1, 1, 16}};
  for (bool accumulate : {false, true})
    for (Isa isa : {Isa::Generic, Isa::AVX2, Isa::AVX512VNNI, Isa::AMX})
      if (static_cast<int>(isa) <= static_cast<int>(detectHostIsa()))
        checkList(problems, accumulate, {stringify(isa).str(), 0});
}

// More panels of columns than a band of tasks has, and some that have fewer.
TEST(ProductList, ManyPanels) {
  std::vector<Sizes> problems = {{130, 1100, 32}, {5, 70, 32}, {200, 2100, 32}};
  checkList(problems, /*accumulate=*/false,
            {stringify(detectHostIsa()).str(), 0});
}

} // namespace
