//===- ReferenceTest.cpp - The interpreter's C API --------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A product of ones through C: interpreted, compared with a right result and
// with a wrong one, and given arguments that are not what it takes.
//
//===----------------------------------------------------------------------===//

#include "nvfp4-c/Reference.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <string>
#include <string_view>
#include <vector>

namespace {

// Two rows of 32 ones, three of 32 twos: each sum is 64.
const char *const kText =
    "!a = !grouped_scaled_gemm.scaled<?x32, nvfp4>\n"
    "!b = !grouped_scaled_gemm.scaled<3x32, nvfp4>\n"
    "func.func @f(%a: !a, %b: !b, %o: tensor<?x3xf32>) -> tensor<?x3xf32> {\n"
    "  %d = grouped_scaled_gemm.matmul <dense> lhs(%a : !a) rhs(%b : !b)\n"
    "      outs(%o : tensor<?x3xf32>) -> tensor<?x3xf32>\n"
    "  return %d : tensor<?x3xf32>\n}\n";

MlirStringRef view(std::string_view text) { return {text.data(), text.size()}; }

struct Reference : testing::Test {
  Reference() : context(nvfp4ContextCreate()) {
    sink.userData = &messages;
    sink.callback = [](const Nvfp4Diagnostic *d, void *out) {
      static_cast<std::string *>(out)
          ->append(d->message.data, d->message.length)
          .append("\n");
    };
    module = nvfp4ModuleParse(context, view(kText), view("t"), sink);
    add(a, {2, 16}, 8);
    add(as, {2, 2}, 8);
    add(b, {3, 16}, 8);
    add(bs, {3, 2}, 8);
    add(out, {2, 3}, 32);
    for (DLTensor &tensor : tensors)
      pointers.push_back(&tensor);
  }
  ~Reference() override {
    nvfp4ModuleDestroy(module);
    nvfp4ContextDestroy(context);
  }
  template <typename T>
  void add(std::vector<T> &data, std::vector<int64_t> shape, uint8_t bits) {
    shapes.push_back(std::move(shape));
    tensors.push_back({data.data(),
                       {kDLCPU, 0},
                       2,
                       {kDLUInt, bits, 1},
                       shapes.back().data(),
                       nullptr,
                       0});
  }
  bool check(std::vector<float> values, bool exact = true,
             const char *target = "cpu") {
    DLTensor result = tensors[4];
    result.data = values.data();
    const DLTensor *results[] = {&result};
    return nvfp4ModuleCheck(
               module, view("f"), view(target), pointers.data(),
               pointers.size(), results, 1, exact, 0,
               [](MlirStringRef part, void *text) {
                 static_cast<std::string *>(text)->append(part.data,
                                                          part.length);
               },
               &report, sink)
        .value;
  }

  MlirContext context;
  MlirModule module;
  Nvfp4DiagnosticSink sink{};
  std::string messages, report;
  std::vector<uint8_t> a = std::vector<uint8_t>(32, 0x22),
                       as = std::vector<uint8_t>(4, 0x38),
                       b = std::vector<uint8_t>(48, 0x44),
                       bs = std::vector<uint8_t>(6, 0x38);
  std::vector<float> out = std::vector<float>(6, 7.0f);
  std::vector<std::vector<int64_t>> shapes;
  std::vector<DLTensor> tensors;
  std::vector<const DLTensor *> pointers;
};

TEST_F(Reference, InterpretsTensors) {
  ASSERT_EQ(nvfp4ModuleGetNumResults(module, view(""), sink), 1) << messages;
  DLManagedTensor *result = nullptr;
  ASSERT_EQ(nvfp4ModuleInterpret(module, view("f"), pointers.data(), 5, &result,
                                 1, sink)
                .value,
            1)
      << messages;
  ASSERT_EQ(result->dl_tensor.ndim, 2);
  EXPECT_EQ(result->dl_tensor.shape[0], 2);
  for (int i = 0; i < 6; ++i)
    EXPECT_EQ(static_cast<const float *>(result->dl_tensor.data)[i], 64.0f);
  result->deleter(result);
}

TEST_F(Reference, ComparesResults) {
  EXPECT_TRUE(check(std::vector<float>(6, 64.0f))) << messages << report;
  EXPECT_NE(report.find("6 compared"), std::string::npos) << report;
  EXPECT_FALSE(check({64, 64, 64, 64, 65, 64}));
  EXPECT_NE(messages.find("disagrees"), std::string::npos) << messages;
  EXPECT_FALSE(check({64, 64, 64, 64, 65, 64}, /*exact=*/false));
}

// 1 x 1 with the scales 1/8, then 6 x 6 - 6 x 6 with the scales 448: targets
// that add blocks are exact, wgmma adds elements and loses what is small.
TEST_F(Reference, BoundsAreThoseOfTheTarget) {
  std::fill(a.begin(), a.end(), 0x00);
  std::fill(b.begin(), b.end(), 0x00);
  for (size_t row = 0; row < 3; ++row) {
    b[16 * row] = 0x02;
    b[16 * row + 8] = 0xF7;
    bs[2 * row] = 0x20;
    bs[2 * row + 1] = 0x7E;
  }
  for (size_t row = 0; row < 2; ++row) {
    a[16 * row] = 0x02;
    a[16 * row + 8] = 0x77;
    as[2 * row] = 0x20;
    as[2 * row + 1] = 0x7E;
  }
  std::vector<float> exact(6, 0x1p-6f), lost(6, 0.0f);
  for (const char *target : {"cpu", "sm_90a", "sm_100a"})
    EXPECT_TRUE(check(exact, /*exact=*/true, target)) << target << messages;
  EXPECT_FALSE(check(lost, /*exact=*/false, "cpu"));
  EXPECT_FALSE(check(lost, /*exact=*/false, "sm_100a"));
  EXPECT_TRUE(check(lost, /*exact=*/false, "sm_90a")) << messages << report;
  // 36 additions of u = 2^-24 of 72 x 448 x 448 are 31.01.
  EXPECT_TRUE(check(std::vector<float>(6, 31), /*exact=*/false, "sm_90a"));
  EXPECT_FALSE(check(std::vector<float>(6, 32), /*exact=*/false, "sm_90a"));
  messages.clear();
  EXPECT_FALSE(check(exact, /*exact=*/false, "sm_80"));
  EXPECT_NE(messages.find("expected target cpu, sm_90a, sm_100a, sm_103a or "
                          "sm_100f, but got 'sm_80'"),
            std::string::npos)
      << messages;
}

TEST_F(Reference, ArgumentsAreChecked) {
  DLManagedTensor *result = nullptr;
  auto refused = [&](const char *words) {
    messages.clear();
    bool done = nvfp4ModuleInterpret(module, view("f"), pointers.data(),
                                     pointers.size(), &result, 1, sink)
                    .value;
    EXPECT_NE(messages.find(words), std::string::npos) << messages;
    return !done;
  };
  shapes[0][1] = 7;
  EXPECT_TRUE(refused("argument 0"));
  shapes[0][1] = 16;
  tensors[1].dtype.bits = 32;
  EXPECT_TRUE(refused("argument 1: expected elements of 8 bits"));
  tensors[1].dtype.bits = 8;
  tensors[2].device.device_type = kDLCUDA;
  EXPECT_TRUE(refused("argument 2: expected a row-major tensor of the CPU"));
  tensors[2].device.device_type = kDLCPU;
  pointers[3] = nullptr;
  EXPECT_TRUE(refused("argument 3: expected a tensor, but got null"));
  pointers.pop_back();
  EXPECT_TRUE(refused("expected 5 arguments, but got 4"));
  EXPECT_EQ(nvfp4ModuleGetNumResults({nullptr}, view("f"), sink), -1);
  EXPECT_EQ(nvfp4ModuleGetNumResults(module, view("g"), sink), -1);
  EXPECT_EQ(result, nullptr);
}

} // namespace
