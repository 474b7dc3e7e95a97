//===- CheckTest.cpp - Tests of the checks before calls ---------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each check of arguments, once with what passes and once with what does not,
// down to the text of the complaint.
//
//===----------------------------------------------------------------------===//

#include "TestTensors.h"

#include "gtest/gtest.h"

using namespace nvfp4::test;

namespace {
class Check : public testing::Test {
protected:
  Check() { tensor = makeTensor(data, shape, kF32); }

  /// The complaint about `tensor` as argument `index` of `name`, or "".
  std::string complaint(const char *name = "scale", size_t index = 0) {
    return nvfp4_function_check(artefact.function(name), index, &tensor)
               ? nvfp4_last_error()
               : "";
  }

  TestArtefact artefact;
  alignas(8) float data[8] = {};
  std::vector<int64_t> shape = {4, 2};
  DLTensor tensor;
};
} // namespace

TEST_F(Check, AcceptsAnyExtentWhereDynamic) {
  EXPECT_EQ(complaint(), "");
  shape = {0, 2};
  tensor = makeTensor(nullptr, shape, kF32);
  EXPECT_EQ(complaint(), "");
}

TEST_F(Check, RejectsShapes) {
  shape = {2, 4};
  EXPECT_EQ(complaint(), "argument 0 of 'scale': expected shape [?, 2], but "
                         "got [2, 4]");
  shape = {-1, 2};
  EXPECT_EQ(complaint(), "argument 0 of 'scale': expected no negative extent, "
                         "but got -1");
  tensor.ndim = 1;
  EXPECT_EQ(complaint(), "argument 0 of 'scale': expected rank 2, but got 1");
}

TEST_F(Check, RejectsTypes) {
  tensor.dtype = {kDLFloat, 64, 1};
  EXPECT_EQ(complaint(), "argument 0 of 'scale': expected element type f32, "
                         "but got f64");
  tensor.dtype = {kDLFloat, 32, 4};
  EXPECT_EQ(complaint(), "argument 0 of 'scale': expected element type f32, "
                         "but got DLPack type (code 2, bits 32, lanes 4)");
}

TEST_F(Check, TakesBytesForScales) {
  shape = {8};
  for (int code : {int(kDLInt), int(kDLUInt), int(NVFP4_DL_FLOAT8_E4M3FN)}) {
    tensor = makeTensor(data, shape, {static_cast<uint8_t>(code), 8, 1});
    EXPECT_EQ(complaint("fill", 1), "") << code;
  }
  tensor.dtype.code = NVFP4_DL_FLOAT8_E5M2;
  EXPECT_EQ(complaint("fill", 1),
            "argument 1 of 'fill' (scales of !s<4x4>): expected element type "
            "f8E4M3FN, but got f8E5M2");
}

TEST_F(Check, RejectsLayouts) {
  int64_t strides[] = {1, 4};
  tensor.strides = strides;
  EXPECT_EQ(complaint(), "argument 0 of 'scale': expected a row-major tensor "
                         "without gaps, but got stride 4 of dimension 1 of "
                         "shape [4, 2]");
  strides[0] = 2;
  strides[1] = 1;
  EXPECT_EQ(complaint(), "");
  tensor.byte_offset = 2;
  EXPECT_EQ(complaint(),
            "argument 0 of 'scale': expected data aligned to 4 bytes, but got "
            "an address 2 bytes past that");
}

TEST_F(Check, RejectsMemoryOutOfReach) {
  tensor.device.device_type = kDLCUDA;
  EXPECT_EQ(complaint(), "argument 0 of 'scale': expected memory that device "
                         "cpu reaches, but got DLPack device type 2");
  tensor.device.device_type = kDLCPU;
  tensor.data = nullptr;
  EXPECT_EQ(complaint(), "argument 0 of 'scale': expected data, but got a null "
                         "pointer");
  EXPECT_NE(nvfp4_function_check(artefact.function("scale"), 0, nullptr),
            NVFP4_OK);
}

TEST_F(Check, HoldsScalesToTheirValues) {
  std::vector<int8_t> bytes(129 * 8 + 1024);
  std::vector<int64_t> valuesShape = {129, 8}, scalesShape = {2, 1, 32, 4, 4};
  DLTensor values = makeTensor(bytes.data(), valuesShape, {kDLInt, 8, 1});
  DLTensor scales = makeTensor(bytes.data(), scalesShape, {kDLInt, 8, 1});
  const DLTensor *arguments[] = {&values, &scales};
  auto call = [&] {
    return nvfp4_function_call(artefact.function("pair"), arguments, 2, nullptr,
                               0, nullptr);
  };
  EXPECT_EQ(call(), NVFP4_OK) << nvfp4_last_error();
  scalesShape[0] = 1;
  EXPECT_EQ(call(), NVFP4_INVALID_ARGUMENT);
  EXPECT_STREQ(
      nvfp4_last_error(),
      "argument 1 of 'pair' (scales of !s<?x16, f, blocked>): expected "
      "leading extents [2] for values of shape [129, 8], but got shape "
      "[1, 1, 32, 4, 4]");
  valuesShape[0] = 128;
  EXPECT_EQ(call(), NVFP4_OK) << nvfp4_last_error();
}
