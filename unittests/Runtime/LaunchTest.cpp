//===- LaunchTest.cpp - What host code says of a launch ---------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Parameters that kernels cannot hold are errors of the call, and nothing is
// launched.
//
//===----------------------------------------------------------------------===//

#include "nvfp4/Runtime/nvfp4_launch.h"
#include "nvfp4/Runtime/nvfp4_runtime.h"

#include "gtest/gtest.h"

#include <string>

namespace {
/// Stores its parameter.
const char *const text = R"(
.version 8.8
.target sm_100a
.address_size 64
.visible .entry store(.param .u64 out, .param .u32 extent) {
  .reg .b64 %a<2>;
  .reg .b32 %r<2>;
  ld.param.u64 %a1, [out];
  ld.param.u32 %r1, [extent];
  st.global.u32 [%a1], %r1;
  ret;
}
)";

/// The word that the kernel has stored: `word`'s value before, if it was not
/// launched.
nvfp4_status launch(int64_t extent, int32_t &word) {
  nvfp4_task *task = nvfp4_task_begin("a place", text, "store");
  int32_t buffer = nvfp4_task_buffer(task, &word, 1, 4, 4, NVFP4_TASK_WRITE);
  nvfp4_task_pointer(task, buffer);
  nvfp4_task_extent(task, extent);
  nvfp4_task_run(task, 1, 1, 0, 1, 0);
  return nvfp4_take_violation();
}
} // namespace

TEST(Launch, ExtentsAreBelow2To31) {
  ASSERT_EQ(nvfp4_launch_set_device("sim"), NVFP4_OK);
  int32_t word = -1;
  EXPECT_EQ(launch(INT32_MAX, word), NVFP4_OK) << nvfp4_last_error();
  EXPECT_EQ(word, INT32_MAX);
  for (int64_t extent : {int64_t{1} << 31, int64_t{1} << 32, int64_t{-1}}) {
    word = -1;
    EXPECT_NE(launch(extent, word), NVFP4_OK) << extent;
    EXPECT_NE(std::string(nvfp4_last_error())
                  .find("expected extents and numbers of rows below "
                        "2147483648 on a GPU, but got " +
                        std::to_string(extent)),
              std::string::npos)
        << nvfp4_last_error();
    EXPECT_EQ(word, -1) << extent;
  }
}
