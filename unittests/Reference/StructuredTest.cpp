//===- StructuredTest.cpp - Loops around scalars ----------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Operations of linalg and tensor.generate, on elements of any width.
//
//===----------------------------------------------------------------------===//

#include "TestModule.h"

#include <cmath>

namespace nvfp4::reference::test {
namespace {

/// Sums along a row, with the index of the column as a weight, in f32.
constexpr char kWeightedSum[] = R"(
  func.func @f(%x: tensor<?x?xf32>, %out: tensor<?xf32>) -> tensor<?xf32> {
    %y = linalg.generic {indexing_maps = [affine_map<(m, k) -> (m, k)>,
        affine_map<(m, k) -> (m)>], iterator_types = ["parallel", "reduction"]}
        ins(%x : tensor<?x?xf32>) outs(%out : tensor<?xf32>) {
    ^bb0(%a: f32, %sum: f32):
      %k = linalg.index 1 : index
      %i = arith.index_cast %k : index to i32
      %w = arith.sitofp %i : i32 to f32
      %p = arith.mulf %a, %w : f32
      %s = arith.addf %sum, %p : f32
      linalg.yield %s : f32
    } -> tensor<?xf32>
    return %y : tensor<?xf32>
  })";

TEST(Structured, ReductionsAddToTheDestination) {
  Outcome o =
      run(kWeightedSum, {reals(Element::F32, {2, 3}, {1, 2, 3, 4, 5, 6}),
                         reals(Element::F32, {2}, {100, 200})});
  ASSERT_EQ(o.error, "");
  EXPECT_EQ(o.tensor(0).real(0).value, 100 + 2 + 6);
  EXPECT_EQ(o.tensor(0).real(1).value, 200 + 5 + 12);
}

TEST(Structured, NoStepsLeaveTheDestination) {
  Outcome o = run(kWeightedSum, {reals(Element::F32, {2, 0}, {}),
                                 reals(Element::F32, {2}, {100, 200})});
  ASSERT_EQ(o.error, "");
  EXPECT_EQ(o.tensor(0).real(1).value, 200);
}

TEST(Structured, ExtentsThatDisagreeAreAnError) {
  for (int64_t rows : {1, 3}) {
    Outcome o =
        run(kWeightedSum,
            {reals(Element::F32, {2, 1}, {1, 2}),
             reals(Element::F32, {rows}, std::vector<double>(rows, 100))});
    EXPECT_NE(o.error.find("expected operand 1 of extent 2 in dimension 0, but "
                           "got tensor<" +
                           std::to_string(rows) + "xf32>"),
              std::string::npos)
        << o.error;
  }
}

TEST(Structured, HalvesOfBytesAreNumbers) {
  // All codes, unpacked, transposed, and back to bytes and numbers.
  Outcome o =
      run(R"(
    func.func @f(%x: tensor<8xi8>) -> (tensor<2x8xf32>, tensor<8xi8>) {
      %e = tensor.empty() : tensor<8x2xf4E2M1FN>
      %codes = linalg.generic {indexing_maps = [affine_map<(b, h) -> (b)>,
          affine_map<(b, h) -> (b, h)>], iterator_types = ["parallel", "parallel"]}
          ins(%x : tensor<8xi8>) outs(%e : tensor<8x2xf4E2M1FN>) {
      ^bb0(%byte: i8, %o: f4E2M1FN):
        %h = linalg.index 1 : index
        %half = arith.index_cast %h : index to i8
        %c4 = arith.constant 4 : i8
        %shift = arith.muli %half, %c4 : i8
        %low = arith.shrui %byte, %shift : i8
        %code = arith.trunci %low : i8 to i4
        %value = arith.bitcast %code : i4 to f4E2M1FN
        linalg.yield %value : f4E2M1FN
      } -> tensor<8x2xf4E2M1FN>
      %te = tensor.empty() : tensor<2x8xf4E2M1FN>
      %t = linalg.transpose ins(%codes : tensor<8x2xf4E2M1FN>)
          outs(%te : tensor<2x8xf4E2M1FN>) permutation = [1, 0]
      %numbers = arith.extf %t : tensor<2x8xf4E2M1FN> to tensor<2x8xf32>
      %be = tensor.empty() : tensor<8xi8>
      %bytes = linalg.generic {indexing_maps = [affine_map<(b) -> (0, b)>,
          affine_map<(b) -> (1, b)>, affine_map<(b) -> (b)>], iterator_types = ["parallel"]}
          ins(%t, %t : tensor<2x8xf4E2M1FN>, tensor<2x8xf4E2M1FN>) outs(%be : tensor<8xi8>) {
      ^bb0(%a: f4E2M1FN, %b: f4E2M1FN, %o: i8):
        %ai = arith.bitcast %a : f4E2M1FN to i4
        %bi = arith.bitcast %b : f4E2M1FN to i4
        %aw = arith.extui %ai : i4 to i8
        %bw = arith.extui %bi : i4 to i8
        %c4 = arith.constant 4 : i8
        %high = arith.shli %bw, %c4 : i8
        %byte = arith.ori %aw, %high : i8
        linalg.yield %byte : i8
      } -> tensor<8xi8>
      return %numbers, %bytes : tensor<2x8xf32>, tensor<8xi8>
    })",
          {Tensor::ofBytes(Element::I8, {8},
                           {0x10, 0x32, 0x54, 0x76, 0x98, 0xba, 0xdc, 0xfe})});
  ASSERT_EQ(o.error, "");
  const double numbers[] = {0, 0.5, 1, 1.5, 2, 3, 4, 6};
  for (int code = 0; code < 16; ++code) {
    double value = o.tensor(0).real((code % 2) * 8 + code / 2).value;
    EXPECT_EQ(std::fabs(value), numbers[code % 8]) << code;
    EXPECT_EQ(std::signbit(value), code >= 8) << code;
  }
  for (int b = 0; b < 8; ++b)
    EXPECT_EQ(o.tensor(1).bytes()[b], b * 0x22 + 0x10);
}

TEST(Structured, BytesAreScales) {
  Outcome o = run(R"(
    func.func @f(%x: tensor<3xi8>) -> (tensor<3xf32>, tensor<3xi8>) {
      %s = arith.bitcast %x : tensor<3xi8> to tensor<3xf8E8M0FNU>
      %r = arith.extf %s : tensor<3xf8E8M0FNU> to tensor<3xf32>
      %b = arith.bitcast %s : tensor<3xf8E8M0FNU> to tensor<3xi8>
      return %r, %b : tensor<3xf32>, tensor<3xi8>
    })",
                  {Tensor::ofBytes(Element::I8, {3}, {0, 130, 255})});
  ASSERT_EQ(o.error, "");
  EXPECT_EQ(o.tensor(0).real(0).value, std::ldexp(1.0, -127));
  EXPECT_EQ(o.tensor(0).real(1).value, 8);
  EXPECT_TRUE(std::isnan(o.tensor(0).real(2).value));
  EXPECT_EQ(o.tensor(1).bytes()[0], 0);
  EXPECT_EQ(o.tensor(1).bytes()[2], 255);
}

TEST(Structured, IndicesAreApplied) {
  const char *text = R"(
    func.func @f(%i: index, %n: index) -> index {
      %y = affine.apply affine_map<(d0)[s0] -> (d0 mod s0 + d0 floordiv 4)>(%i)[%n]
      return %y : index
    })";
  auto index = [](int64_t i) { return Scalar::ofInteger(Element::Index, i); };
  Outcome o = run(text, {index(-5), index(3)});
  ASSERT_EQ(o.error, "");
  EXPECT_EQ(std::get<Scalar>(o.results[0]).integer, 1 - 2);
  EXPECT_NE(run(text, {index(5), index(0)}).error.find("a defined index"),
            std::string::npos);
}

TEST(Structured, GeneratedTensorsHaveTheirIndices) {
  Outcome o = run(R"(
    func.func @f(%n: index, %x: tensor<4xf32>) -> tensor<2x?xf32> {
      %y = tensor.generate %n {
      ^bb0(%i: index, %j: index):
        %both = arith.addi %i, %j : index
        %v = tensor.extract %x[%both] : tensor<4xf32>
        tensor.yield %v : f32
      } : tensor<2x?xf32>
      return %y : tensor<2x?xf32>
    })",
                  {Scalar::ofInteger(Element::Index, 3),
                   reals(Element::F32, {4}, {10, 20, 30, 40})});
  ASSERT_EQ(o.error, "");
  ASSERT_EQ(o.tensor(0).dim(1), 3);
  EXPECT_EQ(o.tensor(0).real(2).value, 30);
  EXPECT_EQ(o.tensor(0).real(5).value, 40);
}

} // namespace
} // namespace nvfp4::reference::test
