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

#include <gtest/gtest.h>
#include <string>
#include <string_view>
#include <vector>

namespace {

// Two rows of 16 ones, three of 16 twos: each sum is 32.
const char *const kText =
    "!a = !grouped_scaled_gemm.scaled<?x16, nvfp4>\n"
    "!b = !grouped_scaled_gemm.scaled<3x16, nvfp4>\n"
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
    add(a, {2, 8}, 8);
    add(as, {2, 1}, 8);
    add(b, {3, 8}, 8);
    add(bs, {3, 1}, 8);
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
  bool check(std::vector<float> values, bool exact = true) {
    DLTensor result = tensors[4];
    result.data = values.data();
    const DLTensor *results[] = {&result};
    return nvfp4ModuleCheck(
               module, view("f"), pointers.data(), pointers.size(), results, 1,
               exact, 0,
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
  std::vector<uint8_t> a = std::vector<uint8_t>(16, 0x22), as = {0x38, 0x38},
                       b = std::vector<uint8_t>(24, 0x44),
                       bs = {0x38, 0x38, 0x38};
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
    EXPECT_EQ(static_cast<const float *>(result->dl_tensor.data)[i], 32.0f);
  result->deleter(result);
}

TEST_F(Reference, ComparesResults) {
  EXPECT_TRUE(check(std::vector<float>(6, 32.0f))) << messages << report;
  EXPECT_NE(report.find("6 compared"), std::string::npos) << report;
  EXPECT_FALSE(check({32, 32, 32, 32, 33, 32}));
  EXPECT_NE(messages.find("disagrees"), std::string::npos) << messages;
  EXPECT_FALSE(check({32, 32, 32, 32, 33, 32}, /*exact=*/false));
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
  shapes[0][1] = 8;
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
