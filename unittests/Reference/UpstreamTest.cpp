//===- UpstreamTest.cpp - Upstream operations and limits --------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// func, scf, arith, math and tensor around the dialect; endless and oversized
// programs end with an error.
//
//===----------------------------------------------------------------------===//

#include "TestModule.h"

#include <cmath>

namespace nvfp4::reference::test {
namespace {

TEST(Upstream, LoopsSlicesAndCalls) {
  Outcome o = run(
      R"(
    func.func private @twice(%x: f32) -> f32 {
      %y = arith.addf %x, %x : f32
      return %y : f32
    }
    func.func @f(%x: tensor<4x3xf32>) -> (tensor<?x3xf32>, f32, index) {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %n = tensor.dim %x, %c0 : tensor<4x3xf32>
      %zero = arith.constant 0.0 : f32
      %sum = scf.for %i = %c0 to %n step %c1 iter_args(%s = %zero) -> (f32) {
        %e = tensor.extract %x[%i, %c1] : tensor<4x3xf32>
        %odd = arith.remsi %i, %n : index
        %is = arith.cmpi ne, %odd, %c0 : index
        %v = scf.if %is -> (f32) {
          %d = func.call @twice(%e) : (f32) -> f32
          scf.yield %d : f32
        } else {
          scf.yield %e : f32
        }
        %t = arith.addf %s, %v : f32
        scf.yield %t : f32
      }
      %e = tensor.empty(%n) : tensor<?x3xf32>
      %fill = linalg.fill ins(%sum : f32) outs(%e : tensor<?x3xf32>)
          -> tensor<?x3xf32>
      %slice = tensor.extract_slice %x[1, 0] [2, 3] [1, 1]
          : tensor<4x3xf32> to tensor<2x3xf32>
      %r = tensor.insert_slice %slice into %fill[2, 0] [2, 3] [1, 1]
          : tensor<2x3xf32> into tensor<?x3xf32>
      return %r, %sum, %n : tensor<?x3xf32>, f32, index
    })",
      {reals(Element::F32, {4, 3}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11})});
  ASSERT_EQ(o.error, "");
  EXPECT_EQ(std::get<Scalar>(o.results[1]).real.value, 1 + 2 * (4 + 7 + 10));
  EXPECT_EQ(std::get<Scalar>(o.results[2]).integer, 4);
  EXPECT_EQ(o.tensor().real(0).value, 43);
  EXPECT_EQ(o.tensor().real(6).value, 3);
  EXPECT_EQ(o.tensor().real(11).value, 8);
}

TEST(Upstream, UnwrittenMemoryShows) {
  Outcome o = run(R"(
    func.func @f() -> (tensor<2xf32>, tensor<2xf32>) {
      %e = tensor.empty() : tensor<2xf32>
      %d = arith.addf %e, %e : tensor<2xf32>
      return %e, %d : tensor<2xf32>, tensor<2xf32>
    })",
                  {});
  ASSERT_EQ(o.error, "");
  Tensor actual = Tensor::zeros(Element::F32, {2});
  EXPECT_EQ(compare(actual, o.tensor(0)).skipped, 2);
  EXPECT_TRUE(compare(actual, o.tensor(0)).passed);
  // What was computed from it is wrong, whatever a target gives.
  EXPECT_FALSE(compare(actual, o.tensor(1)).passed);
}

TEST(Upstream, RoundingAndUncertainConditions) {
  const char *text = R"(
    func.func @f(%x: tensor<1xf32>, %y: tensor<1xf32>)
        -> (tensor<1xf32>, tensor<1xf32>, tensor<1xf32>) {
      %s = arith.addf %x, %y : tensor<1xf32>
      %e = math.exp %x : tensor<1xf32>
      %c = arith.cmpf olt, %x, %y : tensor<1xf32>
      %m = arith.select %c, %x, %s : tensor<1xi1>, tensor<1xf32>
      return %s, %e, %m : tensor<1xf32>, tensor<1xf32>, tensor<1xf32>
    })";
  Outcome exact = run(text, {reals(Element::F32, {1}, {1.0}),
                             reals(Element::F32, {1}, {0x1p-24})});
  ASSERT_EQ(exact.error, "");
  EXPECT_EQ(exact.tensor(0).real(0).value, 1.0);
  EXPECT_EQ(exact.tensor(0).real(0).bound, 0.0);
  EXPECT_NEAR(exact.tensor(1).real(0).bound, 4.5 * 0x1p-22, 0x1p-23);
  Outcome unsure = run(text, {Tensor::ofReals(Element::F32, {1}, {1}, {0.25}),
                              reals(Element::F32, {1}, {1.125})});
  ASSERT_EQ(unsure.error, "");
  // Either x = 1 or x + y = 2.125 may be chosen.
  EXPECT_GE(unsure.tensor(2).real(0).bound, 1.125);
}

TEST(Upstream, LimitsAreErrors) {
  InterpreterOptions options;
  options.maxSteps = 1000;
  Outcome endless = run(R"(
    func.func @f() -> index {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %n = arith.constant 9223372036854775807 : index
      %r = scf.for %i = %c0 to %n step %c1 iter_args(%s = %c0) -> (index) {
        %t = arith.addi %s, %c1 : index
        scf.yield %t : index
      }
      return %r : index
    })",
                        {}, options);
  EXPECT_NE(endless.error.find("within 1000 operations"), std::string::npos);
  Outcome recursive = run(R"(
    func.func @f() {
      func.call @f() : () -> ()
      return
    })",
                          {});
  EXPECT_NE(recursive.error.find("nest at most 64 deep"), std::string::npos);
  Outcome huge = run(R"(
    func.func @f(%n: index) -> tensor<?x?xf32> {
      %e = tensor.empty(%n, %n) : tensor<?x?xf32>
      return %e : tensor<?x?xf32>
    })",
                     {Scalar::ofInteger(Element::Index, int64_t{1} << 40)});
  EXPECT_NE(huge.error.find("raise the limit"), std::string::npos);
  Outcome outside = run(
      R"(
    func.func @f(%x: tensor<2xf32>, %i: index) -> f32 {
      %e = tensor.extract %x[%i] : tensor<2xf32>
      return %e : f32
    })",
      {reals(Element::F32, {2}, {1, 2}), Scalar::ofInteger(Element::Index, 2)});
  EXPECT_NE(outside.error.find("index 0 in [0, 2), but got 2"),
            std::string::npos);
}

TEST(Upstream, ArgumentsAreChecked) {
  const char *text = R"(
    func.func @f(%x: tensor<2xf32>) -> tensor<2xf32> {
      return %x : tensor<2xf32>
    })";
  EXPECT_NE(run(text, {reals(Element::F32, {3}, {1, 2, 3})})
                .error.find("argument 0: expected tensor<2xf32>, but got "
                            "tensor<3xf32>"),
            std::string::npos);
  EXPECT_NE(run(text, {}).error.find("expected more than 0 values"),
            std::string::npos);
}

} // namespace
} // namespace nvfp4::reference::test
