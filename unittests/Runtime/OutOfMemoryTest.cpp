//===- OutOfMemoryTest.cpp - Allocations that fail --------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// This program's operator new fails when told to, and the libraries use it too.
// Each call is made again and again, with its first, second, ... allocation
// failing, until it needs no more: no exception may come out, and every failure
// must be a status.
//
//===----------------------------------------------------------------------===//

#include "MgpuCalls.h"
#include "TestTensors.h"

#include "nvfp4/Runtime/nvfp4_checks.h"
#include "nvfp4/Runtime/nvfp4_device.h"
#include "nvfp4/Runtime/nvfp4_kernels.h"
#include "nvfp4/Runtime/nvfp4_memory.h"

#include "gtest/gtest.h"

#include <cstdlib>
#include <new>
#include <string>
#include <string_view>
#include <utility>

using namespace nvfp4::test;

// GCC would have memory of operator new go back by its own operator delete,
// which this is.
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wmismatched-new-delete"
#endif

/// Allocations of this thread until the one that fails; negative: none does.
static thread_local long countdown = -1;

void *operator new(size_t bytes) {
  if (countdown >= 0 && countdown-- == 0)
    throw std::bad_alloc();
  if (void *memory = std::malloc(bytes ? bytes : 1))
    return memory;
  throw std::bad_alloc();
}
void *operator new(size_t bytes, const std::nothrow_t &) noexcept {
  return std::malloc(bytes ? bytes : 1);
}
void operator delete(void *memory) noexcept { std::free(memory); }
void operator delete(void *memory, size_t) noexcept { std::free(memory); }

namespace {

/// Calls `function` with each of its allocations failing once; the number of
/// times that it did not return NVFP4_OK.
template <typename Callable> int failures(Callable function) {
  int failed = 0;
  for (long number = 0; number < 100000; ++number) {
    countdown = number;
    nvfp4_status status = NVFP4_DEVICE_ERROR;
    bool threw = false;
    try {
      status = function();
    } catch (...) {
      threw = true;
    }
    bool usedUp = countdown < 0;
    countdown = -1;
    EXPECT_FALSE(threw) << "allocation " << number;
    if (status == NVFP4_OK && !usedUp)
      return failed;
    // What is left out for want of memory, as by a cache, is no failure.
    if (status == NVFP4_OK)
      continue;
    EXPECT_EQ(status, NVFP4_OUT_OF_MEMORY)
        << "allocation " << number << ": " << nvfp4_last_error();
    EXPECT_NE(std::string(nvfp4_last_error()).find("out of memory"),
              std::string::npos)
        << nvfp4_last_error();
    ++failed;
  }
  ADD_FAILURE() << "no end of allocations";
  return failed;
}

constexpr const char *text = R"(.version 8.0
.target sm_90
.address_size 64
.visible .entry one(.param .u64 out) {
  .reg .b64 %a<2>;
  ld.param.u64 %a1, [out];
  st.global.u32 [%a1], 1;
  ret;
}
)";

} // namespace

TEST(OutOfMemory, Calls) {
  // Loading is left out: the JSON library allocates in a destructor.
  TestArtefact artefact;
  ASSERT_EQ(artefact.status, NVFP4_OK);
  float data[2] = {1, 2}, factor = 2;
  std::vector<int64_t> shape = {1, 2}, none;
  DLTensor x = makeTensor(data, shape, kF32);
  DLTensor s = makeTensor(&factor, none, kF32);
  const DLTensor *arguments[] = {&x, &s};
  const nvfp4_function *scale = artefact.function("scale");
  EXPECT_GT(failures([&] {
              DLManagedTensor *results[2] = {};
              nvfp4_status status =
                  nvfp4_function_call(scale, arguments, 2, results, 2, nullptr);
              for (DLManagedTensor *result : results)
                if (result)
                  result->deleter(result);
              return status;
            }),
            3);
}

/// What `grow` says of a workspace of `bytes` and a result of `count`.
static std::string grow(int64_t bytes, int64_t count) {
  TestArtefact artefact;
  std::vector<int64_t> none;
  DLTensor workspace = makeTensor(&bytes, none, {kDLInt, 64, 1});
  DLTensor extent = makeTensor(&count, none, {kDLInt, 64, 1});
  const DLTensor *arguments[] = {&workspace, &extent};
  DLManagedTensor *result = nullptr;
  nvfp4_status status = nvfp4_function_call(artefact.function("grow"),
                                            arguments, 2, &result, 1, nullptr);
  if (status == NVFP4_OK) {
    EXPECT_EQ(result->dl_tensor.shape[0], count);
    result->deleter(result);
    return "";
  }
  EXPECT_EQ(status, NVFP4_OUT_OF_MEMORY);
  EXPECT_EQ(result, nullptr);
  return nvfp4_last_error();
}

// The leak checker of preset asan sees what a call that ends leaves behind.
TEST(OutOfMemory, ResultsOfAnySize) {
  const std::string start = "'grow': out of memory: no room for ";
  EXPECT_EQ(grow(64, 3), "");
  EXPECT_EQ(grow(0, 0), "");
  for (int64_t extent : {int64_t(-1), int64_t(1) << 45, int64_t(1) << 60,
                         int64_t(1) << 62, INT64_MAX, INT64_MIN})
    EXPECT_EQ(grow(64, extent),
              start + std::to_string(extent) + " times 8 bytes");
  EXPECT_EQ(grow(64, 3), "");
}

// A sanitizer has another allocator, which ends the process. GCC defines macros
// where clang has features.
#ifdef __has_feature
#define NVFP4_IS_SANITIZED                                                     \
  (__has_feature(address_sanitizer) || __has_feature(thread_sanitizer))
#elif defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define NVFP4_IS_SANITIZED 1
#else
#define NVFP4_IS_SANITIZED 0
#endif
#if !NVFP4_IS_SANITIZED
TEST(OutOfMemory, Workspaces) {
  // All but some pages of the address space.
  int64_t bytes = (int64_t(1) << 47) - (int64_t(1) << 20);
  EXPECT_EQ(grow(bytes, 3), "'grow': out of memory: no room for " +
                                std::to_string(bytes) + " bytes");
  EXPECT_EQ(grow(64, bytes / 8), "'grow': out of memory: no room for " +
                                     std::to_string(bytes) + " bytes");
}
#endif

TEST(OutOfMemory, OutsideOfCalls) {
  EXPECT_EXIT(nvfp4_memory_bytes(8, -1), testing::ExitedWithCode(1),
              "out of memory: no room for -1 times 8 bytes outside of a call");
}

TEST(OutOfMemory, Checks) {
  int recorded = failures([] {
    nvfp4_check_equal("a place", "c1", "a number that is described at length",
                      4, 3);
    nvfp4_status status = nvfp4_take_violation();
    return status == NVFP4_INVALID_DATA ? NVFP4_OK : status;
  });
  EXPECT_GT(recorded, 1);
}

TEST(OutOfMemory, Devices) {
  nvfp4_device *device = nullptr;
  ASSERT_EQ(nvfp4_device_open("sim", &device), NVFP4_OK);
  EXPECT_GT(failures([] {
              nvfp4_device *other = nullptr;
              nvfp4_status status = nvfp4_device_open("sim", &other);
              nvfp4_device_release(other);
              return status;
            }),
            1);
  EXPECT_GT(failures([&] {
              nvfp4_device_module *module = nullptr;
              nvfp4_kernel *kernel = nullptr;
              nvfp4_status status =
                  nvfp4_device_module_load(device, text, &module);
              if (!status)
                status = nvfp4_device_module_kernel(module, "one", &kernel);
              nvfp4_device_module_release(module);
              return status;
            }),
            50);
  nvfp4_device_module *module = nullptr;
  nvfp4_kernel *kernel = nullptr;
  ASSERT_EQ(nvfp4_device_module_load(device, text, &module), NVFP4_OK);
  ASSERT_EQ(nvfp4_device_module_kernel(module, "one", &kernel), NVFP4_OK);
  EXPECT_GT(failures([&] {
              void *memory = nullptr;
              nvfp4_stream *stream = nullptr;
              nvfp4_status status = nvfp4_stream_create(device, &stream);
              if (!status)
                status = nvfp4_device_alloc(device, 64, &memory);
              void *arguments[] = {&memory};
              nvfp4_launch launch = {{1, 1, 1}, {1, 1, 1}, {0, 0, 0},
                                     0,         0,         stream};
              if (!status)
                status = nvfp4_kernel_launch(kernel, &launch, arguments);
              if (!status)
                status = nvfp4_stream_synchronize(device, stream);
              long left = std::exchange(countdown, -1);
              EXPECT_EQ(nvfp4_device_free(device, memory), NVFP4_OK);
              if (stream) {
                EXPECT_EQ(nvfp4_stream_destroy(device, stream), NVFP4_OK);
              }
              countdown = left;
              return status;
            }),
            5);
  nvfp4_device_module_release(module);
  nvfp4_device_release(device);
}

namespace {
/// Bytes that `one` asks for.
uint64_t kernelBytes = 0;

/// Compiled code of `one(word)`, which stores 1 to the word by a kernel.
const nvfp4_kernel_entry kOne = {text, "one", 1, 0, 1, 0};

void callOne(void **values) {
  void *word = *static_cast<void **>(values[0]);
  nvfp4_stream *stream = mgpuStreamCreate();
  void *memory = mgpuMemAlloc(kernelBytes, stream, false);
  void *parameters[] = {&memory};
  nvfp4_kernel_start(&kOne, "a place", 1, stream, parameters);
  mgpuMemcpy(word, memory, 4, stream);
  mgpuMemFree(memory, stream);
  mgpuStreamSynchronize(stream);
  mgpuStreamDestroy(stream);
}

void *lookUpOne(const char *symbol, void *) {
  static const char metadata[] =
      R"({"version":6,"device":"cpu","functions":[{"name":"one",)"
      R"("arguments":[{"kind":"memref","type":"i32","shape":[1]}],)"
      R"("results":[]}]})";
  static const nvfp4_kernel_entry *const kernels[] = {&kOne, nullptr};
  std::string_view name = symbol;
  if (name == "nvfp4_metadata")
    return const_cast<char *>(metadata);
  if (name == "nvfp4_kernels")
    return const_cast<const nvfp4_kernel_entry **>(kernels);
  return name == "nvfp4_entry_one" ? reinterpret_cast<void *>(callOne)
                                   : nullptr;
}
} // namespace

TEST(OutOfMemory, Kernels) {
  nvfp4_module *module = nullptr;
  ASSERT_EQ(nvfp4_module_from_symbols(lookUpOne, nullptr, &module), NVFP4_OK)
      << nvfp4_last_error();
  int32_t word = 0;
  std::vector<int64_t> shape = {1};
  DLTensor tensor = makeTensor(&word, shape, {kDLInt, 32, 1});
  auto run = [&](uint64_t bytes) {
    word = 0;
    kernelBytes = bytes;
    const DLTensor *arguments[] = {&tensor};
    return nvfp4_function_call_on("sim", nvfp4_module_function_at(module, 0),
                                  arguments, 1, nullptr, 0, nullptr);
  };
  EXPECT_GT(failures([&] {
              nvfp4_status status = run(4);
              EXPECT_TRUE(status || word == 1);
              return status;
            }),
            10);
  // Memory of the device that is not there.
  EXPECT_EQ(run(uint64_t(1) << 48), NVFP4_OUT_OF_MEMORY) << nvfp4_last_error();
  EXPECT_EQ(word, 0);
  nvfp4_module_release(module);
}
