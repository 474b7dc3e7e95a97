//===- CallTest.cpp - Tests of calls ----------------------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Calls through the C interface: who owns results, what a function may write,
// and calls that are refused.
//
//===----------------------------------------------------------------------===//

#include "TestTensors.h"

#include "gtest/gtest.h"

#include <numeric>

using namespace nvfp4::test;

extern "C" nvfp4_status nvfp4_test_call_from_c(const char *path, float out[4]);

TEST(Call, FromC) {
  float out[4] = {};
  ASSERT_EQ(nvfp4_test_call_from_c(NVFP4_TEST_ARTEFACT, out), NVFP4_OK)
      << nvfp4_last_error();
  EXPECT_EQ(std::vector<float>(out, out + 4),
            (std::vector<float>{3, 6, 9, 12}));
}

TEST(Call, ResultsOutliveTheModule) {
  std::vector<float> data(6);
  std::iota(data.begin(), data.end(), 1.0f);
  float factor = 2.0f;
  std::vector<int64_t> shape = {3, 2}, none;
  DLTensor x = makeTensor(data.data(), shape, kF32);
  DLTensor s = makeTensor(&factor, none, kF32);
  const DLTensor *arguments[] = {&x, &s};
  DLManagedTensor *results[2] = {};
  {
    TestArtefact artefact;
    ASSERT_EQ(artefact.status, NVFP4_OK) << nvfp4_last_error();
    ASSERT_EQ(nvfp4_function_call(artefact.function("scale"), arguments, 2,
                                  results, 2, nullptr),
              NVFP4_OK)
        << nvfp4_last_error();
  }
  EXPECT_EQ(results[0]->dl_tensor.ndim, 0);
  EXPECT_EQ(*static_cast<int8_t *>(results[0]->dl_tensor.data), 3);
  const DLTensor &out = results[1]->dl_tensor;
  ASSERT_EQ(out.ndim, 2);
  EXPECT_EQ(out.shape[0], 3);
  EXPECT_EQ(out.shape[1], 2);
  for (int i = 0; i < 6; ++i)
    EXPECT_EQ(static_cast<float *>(out.data)[i], 2.0f * data[i]);
  for (DLManagedTensor *result : results)
    result->deleter(result);
}

TEST(Call, WritesMutableArguments) {
  TestArtefact artefact;
  ASSERT_EQ(artefact.status, NVFP4_OK);
  int64_t data[4] = {-1, -1, -1, -1};
  uint8_t scale = 0x38;
  std::vector<int64_t> shape = {3}, one = {1};
  DLTensor x = makeTensor(data, shape, {kDLInt, 64, 1});
  x.byte_offset = sizeof(int64_t);
  DLTensor s = makeTensor(&scale, one, {kDLUInt, 8, 1});
  const DLTensor *arguments[] = {&x, &s};
  ASSERT_EQ(nvfp4_function_call(artefact.function("fill"), arguments, 2,
                                nullptr, 0, nullptr),
            NVFP4_OK)
      << nvfp4_last_error();
  EXPECT_EQ(std::vector<int64_t>(data, data + 4),
            (std::vector<int64_t>{-1, 0, 1, 2}));
}

TEST(Call, RejectsNullPointers) {
  TestArtefact artefact;
  ASSERT_EQ(artefact.status, NVFP4_OK);
  EXPECT_EQ(nvfp4_function_call(nullptr, nullptr, 0, nullptr, 0, nullptr),
            NVFP4_INVALID_ARGUMENT);
  EXPECT_EQ(nvfp4_function_call(artefact.function("scale"), nullptr, 2, nullptr,
                                2, nullptr),
            NVFP4_INVALID_ARGUMENT);
  EXPECT_STREQ(nvfp4_last_error(), "expected no null pointer");
}

TEST(Call, RejectsOtherCounts) {
  TestArtefact artefact;
  ASSERT_EQ(artefact.status, NVFP4_OK);
  EXPECT_EQ(nvfp4_function_call(artefact.function("scale"), nullptr, 0, nullptr,
                                0, nullptr),
            NVFP4_INVALID_ARGUMENT);
  EXPECT_STREQ(nvfp4_last_error(), "'scale': expected 2 arguments and 2 "
                                   "results, but got 0 and 0");
}
