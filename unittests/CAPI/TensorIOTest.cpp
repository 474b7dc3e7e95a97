//===- TensorIOTest.cpp - The C API of checkpoints --------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A file written and read through C, and handles, names and views that are
// wrong.
//
//===----------------------------------------------------------------------===//

#include "nvfp4-c/TensorIO.h"

#include <cstring>
#include <filesystem>
#include <gtest/gtest.h>
#include <string>
#include <string_view>

namespace {

MlirStringRef view(std::string_view text) { return {text.data(), text.size()}; }

struct TensorIO : testing::Test {
  TensorIO() {
    sink.userData = &messages;
    sink.callback = [](const Nvfp4Diagnostic *d, void *out) {
      static_cast<std::string *>(out)->append(d->message.data,
                                              d->message.length);
    };
    const testing::TestInfo *test =
        testing::UnitTest::GetInstance()->current_test_info();
    path = testing::TempDir() + "capi-" + test->name() + ".safetensors";
    tensor.name = view("x");
    tensor.dtype = view("i16");
    tensor.rank = 2;
    tensor.shape[0] = 1;
    tensor.shape[1] = 3;
    tensor.data = values;
    tensor.size = sizeof(values);
  }
  ~TensorIO() override { std::filesystem::remove(path); }

  /// Empty if the tensor is written, or else why it is not.
  std::string write() {
    messages.clear();
    bool good =
        nvfp4SafetensorsWrite(view(path), &tensor, 1, nullptr, 0, sink).value !=
        0;
    EXPECT_EQ(good, messages.empty());
    return messages;
  }

  Nvfp4DiagnosticSink sink;
  std::string messages, path;
  int16_t values[3] = {1, -2, 3};
  Nvfp4TensorView tensor{};
};

TEST_F(TensorIO, WritesAndReads) {
  MlirStringRef metadata[] = {view("format"), view("c")};
  ASSERT_TRUE(
      nvfp4SafetensorsWrite(view(path), &tensor, 1, metadata, 1, sink).value)
      << messages;
  Nvfp4Checkpoint file = nvfp4CheckpointOpen(view(path), sink);
  ASSERT_TRUE(file.ptr) << messages;
  ASSERT_EQ(nvfp4CheckpointGetNumTensors(file), 1u);
  MlirStringRef name = nvfp4CheckpointGetName(file, 0);
  EXPECT_EQ(std::string_view(name.data, name.length), "x");
  EXPECT_EQ(nvfp4CheckpointGetName(file, 1).length, 0u);
  Nvfp4TensorView found{};
  ASSERT_TRUE(nvfp4CheckpointGetTensor(file, name, &found, sink).value);
  EXPECT_EQ(std::string_view(found.dtype.data, found.dtype.length), "i16");
  EXPECT_EQ(found.rank, 2u);
  EXPECT_EQ(found.shape[1], 3);
  ASSERT_EQ(found.size, sizeof(values));
  EXPECT_EQ(std::memcmp(found.data, values, sizeof(values)), 0);
  EXPECT_FALSE(nvfp4CheckpointGetTensor(file, view("y"), &found, sink).value);
  EXPECT_EQ(messages, path + ": expected a tensor 'y', but the checkpoint has "
                             "none of that name; the nearest is 'x'");
  nvfp4CheckpointDestroy(file);
}

TEST_F(TensorIO, RefusesWrongViews) {
  tensor.size = 5;
  EXPECT_NE(write().find("tensor 'x': expected "), std::string::npos);
  tensor.size = sizeof(values);
  tensor.rank = NVFP4_MAX_RANK + 1;
  EXPECT_EQ(write(), "tensor 'x': expected a rank of at most 64, but got 65");
  tensor.rank = 2;
  tensor.dtype = view("i17");
  EXPECT_NE(write().find("but got 'i17'"), std::string::npos);
  tensor.dtype = view("i16");
  tensor.data = nullptr;
  EXPECT_EQ(write(), "tensor 'x': expected data, but got null");
  tensor.data = values;
  tensor.shape[0] = -1;
  EXPECT_NE(write().find("tensor 'x': "), std::string::npos);
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST_F(TensorIO, TakesNull) {
  Nvfp4Checkpoint null = {nullptr};
  EXPECT_EQ(nvfp4CheckpointGetNumTensors(null), 0u);
  EXPECT_EQ(nvfp4CheckpointGetName(null, 0).length, 0u);
  EXPECT_FALSE(nvfp4CheckpointGetTensor(null, view("x"), &tensor, sink).value);
  nvfp4CheckpointDestroy(null);
  EXPECT_FALSE(
      nvfp4SafetensorsWrite(view(path), nullptr, 1, nullptr, 0, sink).value);
  using namespace std::literals;
  EXPECT_FALSE(nvfp4CheckpointOpen(view("a\0b"sv), sink).ptr);
  EXPECT_FALSE(nvfp4CheckpointOpen(view(path), {nullptr, nullptr}).ptr);
}

} // namespace
