//===- DevicesTest.cpp - several devices of the stand-in driver -*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What is made in a context belongs to its device: memory, streams, functions
// and errors.
//
//===----------------------------------------------------------------------===//

#include "Driver/Api.h"

#include "gtest/gtest.h"

#include <cstdlib>
#include <string>
#include <thread>
#include <unistd.h>

using namespace nvfp4;

extern "C" const char *nvfp4_sim_message(void);

namespace {

/// Stores 7.
const char *const text = R"(
.version 8.0
.target sm_90
.address_size 64
.visible .entry store(.param .u64 word) {
  .reg .b64 %a<2>;
  .reg .b32 %r<2>;
  ld.param.u64 %a1, [word];
  mov.u32 %r1, 7;
  st.global.u32 [%a1], %r1;
  ret;
}
)";

cuda::Context retain(int ordinal) {
  EXPECT_EQ(cuInit(0), cuda::Success);
  cuda::Context context = nullptr;
  EXPECT_EQ(cuDevicePrimaryCtxRetain(&context, ordinal), cuda::Success);
  return context;
}

int current() {
  cuda::Device device = -1;
  EXPECT_EQ(cuCtxGetDevice(&device), cuda::Success);
  return device;
}

/// What a device has for a launch.
struct Side {
  explicit Side(int ordinal) : context(retain(ordinal)) {
    EXPECT_EQ(cuCtxPushCurrent_v2(context), cuda::Success);
    EXPECT_EQ(cuMemAlloc_v2(&word, 4), cuda::Success);
    EXPECT_EQ(cuMemsetD32_v2(word, 0, 1), cuda::Success);
    EXPECT_EQ(cuStreamCreate(&stream, 0), cuda::Success);
    EXPECT_EQ(cuModuleLoadData(&module, text), cuda::Success);
    EXPECT_EQ(cuModuleGetFunction(&function, module, "store"), cuda::Success);
    EXPECT_EQ(cuCtxPopCurrent_v2(nullptr), cuda::Success);
  }
  cuda::Context context;
  cuda::DevicePointer word = 0;
  cuda::Stream stream = nullptr;
  cuda::Module module = nullptr;
  cuda::Function function = nullptr;
};

cuda::Result launch(const Side &code, cuda::Stream stream,
                    cuda::DevicePointer word) {
  void *parameters[] = {&word};
  return cuLaunchKernel(code.function, 1, 1, 1, 1, 1, 1, 0, stream, parameters,
                        nullptr);
}

uint32_t read(cuda::DevicePointer word) {
  uint32_t value = 0;
  EXPECT_EQ(cuMemcpyDtoH_v2(&value, word, 4), cuda::Success);
  return value;
}

} // namespace

TEST(Devices, AreAsManyAsTheOptionSays) {
  ASSERT_EQ(cuInit(0), cuda::Success);
  int count = 0;
  EXPECT_EQ(cuDeviceGetCount(&count), cuda::Success);
  EXPECT_EQ(count, 2);
  cuda::Device device = 0;
  EXPECT_EQ(cuDeviceGet(&device, 1), cuda::Success);
  EXPECT_EQ(device, 1);
  EXPECT_EQ(cuDeviceGet(&device, 2), cuda::InvalidDevice);
}

TEST(Devices, ContextsAreTheThreads) {
  cuda::Context first = retain(0), second = retain(1);
  EXPECT_EQ(current(), 0);
  EXPECT_EQ(cuCtxPushCurrent_v2(second), cuda::Success);
  EXPECT_EQ(current(), 1);
  int elsewhere = -1;
  std::thread([&] { elsewhere = current(); }).join();
  EXPECT_EQ(elsewhere, 0);
  EXPECT_EQ(cuCtxPushCurrent_v2(first), cuda::Success);
  EXPECT_EQ(current(), 0);
  cuda::Context popped = nullptr;
  EXPECT_EQ(cuCtxPopCurrent_v2(&popped), cuda::Success);
  EXPECT_EQ(popped, first);
  EXPECT_EQ(current(), 1);
  EXPECT_EQ(cuCtxPopCurrent_v2(nullptr), cuda::Success);
  EXPECT_EQ(cuCtxPushCurrent_v2(nullptr), cuda::InvalidContext);
}

TEST(Devices, LaunchesStayOnOne) {
  Side first(0), second(1);
  // Whatever is current.
  EXPECT_EQ(launch(second, second.stream, second.word), cuda::Success);
  EXPECT_EQ(read(second.word), 7u);
  EXPECT_EQ(read(first.word), 0u);
  EXPECT_EQ(launch(second, first.stream, second.word), cuda::InvalidHandle);
  EXPECT_EQ(launch(second, nullptr, second.word), cuda::InvalidHandle);
  EXPECT_EQ(launch(first, nullptr, first.word), cuda::Success);
  EXPECT_EQ(read(first.word), 7u);
}

TEST(Devices, MemoryOfAnotherIsOutOfBoundsAndTheErrorStays) {
  Side first(0), second(1);
  EXPECT_EQ(launch(second, second.stream, first.word), cuda::Success);
  EXPECT_EQ(cuStreamSynchronize(first.stream), cuda::Success);
  ASSERT_EQ(cuCtxPushCurrent_v2(second.context), cuda::Success);
  EXPECT_EQ(cuCtxSynchronize(), cuda::IllegalAddress);
  EXPECT_EQ(cuDevicePrimaryCtxReset_v2(1), cuda::Success);
  EXPECT_EQ(cuCtxSynchronize(), cuda::Success);
  EXPECT_EQ(cuCtxPopCurrent_v2(nullptr), cuda::Success);
  EXPECT_EQ(read(first.word), 0u);
  int device = -1;
  EXPECT_EQ(cuPointerGetAttribute(&device, 9, second.word), cuda::Success);
  EXPECT_EQ(device, 1);
}

/// Frees memory at the end of the process, as destructors of programs do, after
/// the thread's own objects are gone.
static cuda::DevicePointer leftAtExit = 0;
static void freeAtExit() {
  if (cuMemFree_v2(leftAtExit) != cuda::IllegalAddress ||
      std::string(nvfp4_sim_message()).find("out-of-bounds") ==
          std::string::npos)
    _exit(3);
}

TEST(Devices, CallsAtTheEndOfTheProcessFindTheirError) {
  auto end = [] {
    Side first(0), second(1);
    leftAtExit = first.word;
    // The error stays, and its text is long.
    if (launch(first, nullptr, second.word) || std::atexit(freeAtExit))
      _exit(2);
    (void)cuCtxSynchronize();
    std::exit(0);
  };
  EXPECT_EXIT(end(), testing::ExitedWithCode(0), "");
}
