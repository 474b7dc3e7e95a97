//===- LaunchTest.cpp - What host code says of a launch ---------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Parameters that kernels cannot hold are errors of the call, and nothing is
// launched. A call runs on the device that it names.
//
//===----------------------------------------------------------------------===//

#include "TestTensors.h"

#include "nvfp4/Runtime/nvfp4_device.h"
#include "nvfp4/Runtime/nvfp4_launch.h"
#include "nvfp4/Runtime/nvfp4_runtime.h"

#include "gtest/gtest.h"

#include <cstdlib>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

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

/// Copies eight bytes.
const char *const copyText = R"(
.version 8.8
.target sm_100a
.address_size 64
.visible .entry copy(.param .u64 in, .param .u64 out) {
  .reg .b64 %a<3>;
  .reg .b64 %r<2>;
  ld.param.u64 %a1, [in];
  ld.param.u64 %a2, [out];
  ld.global.u64 %r1, [%a1];
  st.global.u64 [%a2], %r1;
  ret;
}
)";

/// What eight bytes of the host are on the device: odd rows of `rowBytes`.
uint64_t copyRows(uint64_t bytes, int64_t rowBytes) {
  uint64_t result = 0;
  nvfp4_task *task = nvfp4_task_begin("a place", copyText, "copy");
  int32_t in = nvfp4_task_buffer(task, &bytes, 8 / rowBytes, rowBytes, 1,
                                 NVFP4_TASK_READ | NVFP4_TASK_ODD);
  int32_t out = nvfp4_task_buffer(task, &result, 1, 8, 8, NVFP4_TASK_WRITE);
  nvfp4_task_pointer(task, in);
  nvfp4_task_pointer(task, out);
  nvfp4_task_run(task, 1, 1, 0, 1, 0);
  EXPECT_EQ(nvfp4_take_violation(), NVFP4_OK) << nvfp4_last_error();
  return result;
}

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

TEST(Launch, BlocksOfTheEnvironmentAreANumber) {
  ASSERT_EQ(nvfp4_launch_set_device("sim"), NVFP4_OK);
  int32_t word = -1;
  setenv("NVFP4_MAX_BLOCKS", "3", 1);
  EXPECT_EQ(launch(7, word), NVFP4_OK) << nvfp4_last_error();
  EXPECT_EQ(word, 7);
  for (const char *wrong : {"abc", "3x", " 3", "0", "-1", "2147483648"}) {
    word = -1;
    setenv("NVFP4_MAX_BLOCKS", wrong, 1);
    EXPECT_NE(launch(7, word), NVFP4_OK) << wrong;
    EXPECT_NE(std::string(nvfp4_last_error())
                  .find("expected a number of blocks from 1 to 2147483647 in "
                        "NVFP4_MAX_BLOCKS, but got '" +
                        std::string(wrong) + "'"),
              std::string::npos)
        << nvfp4_last_error();
    EXPECT_EQ(word, -1);
  }
  unsetenv("NVFP4_MAX_BLOCKS");
}

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

TEST(Launch, MapsOfPaddedFp4HaveRowsOf64Bytes) {
  ASSERT_EQ(nvfp4_launch_set_device("sim"), NVFP4_OK);
  for (int64_t alignment : {64, 16}) {
    char bytes[48] = {};
    nvfp4_task *task = nvfp4_task_begin("a place", copyText, "copy");
    int32_t in =
        nvfp4_task_buffer(task, bytes, 1, 48, alignment, NVFP4_TASK_READ);
    nvfp4_task_matrix_map(task, in, NVFP4_TENSOR_U4_PADDED, 8, 128);
    nvfp4_task_run(task, 0, 1, 0, 1, 0);
    if (alignment == 64) {
      EXPECT_EQ(nvfp4_take_violation(), NVFP4_OK) << nvfp4_last_error();
      continue;
    }
    EXPECT_EQ(nvfp4_take_violation(), NVFP4_DEVICE_ERROR);
    EXPECT_STREQ(nvfp4_last_error(),
                 "a place: expected rows of a multiple of 64 bytes for a map "
                 "of padded FP4, but got 48; give the buffer an alignment of "
                 "64");
  }
}

TEST(Launch, HalfBytesBehindOddRowsAreZero) {
  ASSERT_EQ(nvfp4_launch_set_device("sim"), NVFP4_OK);
  const uint64_t bytes = 0xfedcba9876543210;
  EXPECT_EQ(copyRows(bytes, 1), 0x0e0c0a0806040200u);
  EXPECT_EQ(copyRows(bytes, 2), 0x0edc0a9806540210u);
  EXPECT_EQ(copyRows(bytes, 4), 0x0edcba9806543210u);
  EXPECT_EQ(copyRows(bytes, 8), 0x0edcba9876543210u);
}

namespace {
/// Compiled code of one function, which stores 9 to its argument by a kernel.
template <int Architecture> void storeNine(void **values) {
  std::string image = text;
  image.replace(image.find("sm_100a"), 7,
                "sm_" + std::to_string(Architecture) + "a");
  // A descriptor begins with the pointer.
  auto *data = static_cast<int32_t *>(*static_cast<void **>(values[0]));
  nvfp4_task *task = nvfp4_task_begin("a place", image.c_str(), "store");
  int32_t buffer = nvfp4_task_buffer(task, data, 1, 4, 4, NVFP4_TASK_WRITE);
  nvfp4_task_pointer(task, buffer);
  nvfp4_task_extent(task, 9);
  nvfp4_task_run(task, 1, 1, 0, 1, 0);
}

struct StoreModule {
  explicit StoreModule(void (*entry)(void **)) {
    auto lookup = [](const char *symbol, void *entry) -> void * {
      static const char metadata[] =
          R"({"version":3,"device":"cpu","functions":[{"name":"store",)"
          R"("arguments":[{"kind":"memref","type":"i32","shape":[1]}],)"
          R"("results":[]}]})";
      return symbol == std::string_view("nvfp4_metadata")
                 ? const_cast<char *>(metadata)
                 : entry;
    };
    EXPECT_EQ(nvfp4_module_from_symbols(lookup, reinterpret_cast<void *>(entry),
                                        &module),
              NVFP4_OK)
        << nvfp4_last_error();
  }
  ~StoreModule() { nvfp4_module_release(module); }
  /// What is stored by a call on `device`: 9, or -1 if there was no kernel.
  int32_t call(const char *device, nvfp4_status &status) const {
    int32_t word = -1;
    std::vector<int64_t> shape = {1};
    DLTensor tensor =
        nvfp4::test::makeTensor(&word, shape, DLDataType{kDLInt, 32, 1});
    const DLTensor *arguments[] = {&tensor};
    status = nvfp4_function_call_on(device, nvfp4_module_function_at(module, 0),
                                    arguments, 1, nullptr, 0, nullptr);
    return word;
  }

  nvfp4_module *module = nullptr;
};
} // namespace

TEST(Launch, FailedSwitchesLeaveTheDevice) {
  ASSERT_EQ(nvfp4_launch_set_device("sim"), NVFP4_OK);
  for (const char *wrong : {"gpu", "sim:1", "cuda:9999"}) {
    EXPECT_EQ(nvfp4_launch_set_device(wrong), NVFP4_UNSUPPORTED) << wrong;
    int32_t word = -1;
    EXPECT_EQ(launch(7, word), NVFP4_OK) << nvfp4_last_error();
    EXPECT_EQ(word, 7);
  }
}

TEST(Launch, DevicesBelongToCalls) {
  // Of calls that name none.
  ASSERT_EQ(nvfp4_launch_set_device("cpu"), NVFP4_OK);
  StoreModule hopper(storeNine<90>), blackwell(storeNine<100>);
  std::vector<std::thread> threads;
  for (int number = 0; number < 8; ++number)
    threads.emplace_back([&, number] {
      const StoreModule &module = number % 2 ? hopper : blackwell;
      const char *device = number % 4 < 2 ? "sim"
                           : number == 2  ? nullptr
                                          : "cpu";
      for (int round = 0; round < 20; ++round) {
        nvfp4_status status = NVFP4_OK;
        int32_t word = module.call(device, status);
        if (number % 4 < 2) {
          EXPECT_EQ(status, NVFP4_OK) << nvfp4_last_error();
          EXPECT_EQ(word, 9);
          continue;
        }
        EXPECT_EQ(status, NVFP4_DEVICE_ERROR);
        EXPECT_EQ(word, -1);
        EXPECT_NE(std::string(nvfp4_last_error())
                      .find("expected device cuda or sim for kernels"),
                  std::string::npos)
            << nvfp4_last_error();
      }
    });
  for (std::thread &thread : threads)
    thread.join();
  nvfp4_status status = NVFP4_OK;
  EXPECT_EQ(hopper.call("gpu", status), -1);
  EXPECT_EQ(status, NVFP4_INVALID_ARGUMENT);
}
