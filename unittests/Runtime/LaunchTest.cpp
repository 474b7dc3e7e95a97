//===- LaunchTest.cpp - Calls of code with kernels --------------*- C++ -*-===//
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

#include "MgpuCalls.h"
#include "TestTensors.h"

#include "nvfp4/Runtime/nvfp4_kernels.h"
#include "nvfp4/Runtime/nvfp4_launch.h"

#include "gtest/gtest.h"

#include <cstdlib>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace {
/// Stores its parameter.
template <int Architecture> const nvfp4_kernel_entry *getKernel() {
  static const std::string image =
      ".version 8.8\n.target sm_" + std::to_string(Architecture) + R"(a
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
  static const nvfp4_kernel_entry entry = {image.c_str(), "store", 1, 0, 1, 0};
  return &entry;
}

/// Compiled code of `store(word, extent)`, which stores the extent to the word
/// by a kernel.
template <int Architecture> void store(void **values) {
  // A descriptor begins with the pointer.
  void *word = *static_cast<void **>(values[0]);
  int64_t extent = *static_cast<int64_t *>(values[1]);
  nvfp4_stream *stream = mgpuStreamCreate();
  void *memory = mgpuMemAlloc(4, stream, false);
  int32_t value = nvfp4_kernel_extent("a place", extent);
  void *parameters[] = {&memory, &value};
  nvfp4_kernel_start(getKernel<Architecture>(), "a place", 1, stream,
                     parameters);
  mgpuMemcpy(word, memory, 4, stream);
  mgpuMemFree(memory, stream);
  mgpuStreamSynchronize(stream);
  mgpuStreamDestroy(stream);
}

template <int Architecture> void *lookUp(const char *symbol, void *) {
  static const char metadata[] =
      R"({"version":6,"device":"cpu","functions":[{"name":"store",)"
      R"("arguments":[{"kind":"memref","type":"i32","shape":[1]},)"
      R"({"kind":"scalar","type":"i64"}],"results":[]}]})";
  static const nvfp4_kernel_entry *const kernels[] = {getKernel<Architecture>(),
                                                      nullptr};
  std::string_view name = symbol;
  if (name == "nvfp4_metadata")
    return const_cast<char *>(metadata);
  if (name == "nvfp4_kernels")
    return const_cast<const nvfp4_kernel_entry **>(kernels);
  return name == "nvfp4_entry_store"
             ? reinterpret_cast<void *>(store<Architecture>)
             : nullptr;
}

/// The same with a kernel that would record violations.
void recordAndStore(void **values) {
  nvfp4_kernel_data_record("a place");
  store<100>(values);
}
void *lookUpRecorded(const char *symbol, void *context) {
  return std::string_view(symbol) == "nvfp4_entry_store"
             ? reinterpret_cast<void *>(recordAndStore)
             : lookUp<100>(symbol, context);
}

struct StoreModule {
  explicit StoreModule(void *(*lookup)(const char *, void *)) {
    EXPECT_EQ(nvfp4_module_from_symbols(lookup, nullptr, &module), NVFP4_OK)
        << nvfp4_last_error();
  }
  ~StoreModule() { nvfp4_module_release(module); }
  /// The status of a call on `device`, or on that of calls which name none.
  /// `word` becomes -1, or what was stored.
  nvfp4_status call(const char *device, int64_t extent, int32_t &word) const {
    word = -1;
    std::vector<int64_t> shape = {1}, none;
    DLTensor tensor =
        nvfp4::test::makeTensor(&word, shape, DLDataType{kDLInt, 32, 1});
    DLTensor scalar =
        nvfp4::test::makeTensor(&extent, none, DLDataType{kDLInt, 64, 1});
    const DLTensor *arguments[] = {&tensor, &scalar};
    return nvfp4_function_call_on(device, nvfp4_module_function_at(module, 0),
                                  arguments, 2, nullptr, 0, nullptr);
  }

  nvfp4_module *module = nullptr;
};

struct Launch : testing::Test {
  Launch() : module(lookUp<100>) {
    EXPECT_EQ(nvfp4_launch_set_device("sim"), NVFP4_OK) << nvfp4_last_error();
  }
  /// Expects that a call stores `extent`.
  void expectStored(int32_t extent) const {
    int32_t word = 0;
    EXPECT_EQ(module.call(nullptr, extent, word), NVFP4_OK)
        << nvfp4_last_error();
    EXPECT_EQ(word, extent);
  }
  /// Expects an error that says `part`, and that nothing is stored.
  void expectError(int64_t extent, const std::string &part) const {
    int32_t word = 0;
    EXPECT_NE(module.call(nullptr, extent, word), NVFP4_OK) << part;
    EXPECT_NE(std::string(nvfp4_last_error()).find(part), std::string::npos)
        << nvfp4_last_error();
    EXPECT_EQ(word, -1) << part;
  }

  StoreModule module;
};
} // namespace

TEST_F(Launch, BlocksOfTheEnvironmentAreANumber) {
  setenv("NVFP4_MAX_BLOCKS", "3", 1);
  expectStored(7);
  for (const char *wrong : {"abc", "3x", " 3", "0", "-1", "2147483648"}) {
    setenv("NVFP4_MAX_BLOCKS", wrong, 1);
    expectError(7, "expected a number of blocks from 1 to 2147483647 in "
                   "NVFP4_MAX_BLOCKS, but got '" +
                       std::string(wrong) + "'");
  }
  unsetenv("NVFP4_MAX_BLOCKS");
}

TEST_F(Launch, ExtentsAreBelow2To31) {
  expectStored(INT32_MAX);
  for (int64_t extent : {int64_t{1} << 31, int64_t{1} << 32, int64_t{-1}})
    expectError(extent, "expected extents and numbers of rows below 2147483648 "
                        "on a GPU, but got " +
                            std::to_string(extent));
}

TEST_F(Launch, ModulesOnHostMemoryHaveNoRecords) {
  StoreModule recorded(lookUpRecorded);
  int32_t word = 0;
  EXPECT_EQ(recorded.call("sim", 7, word), NVFP4_UNSUPPORTED);
  EXPECT_NE(std::string(nvfp4_last_error())
                .find("a place: expected kernels with data checks in a module "
                      "on device memory (--memory=device)"),
            std::string::npos)
      << nvfp4_last_error();
  EXPECT_EQ(word, -1);
}

TEST_F(Launch, FailedSwitchesLeaveTheDevice) {
  for (const char *wrong : {"gpu", "sim:1", "cuda:9999"}) {
    EXPECT_EQ(nvfp4_launch_set_device(wrong), NVFP4_UNSUPPORTED) << wrong;
    expectStored(7);
  }
}

TEST_F(Launch, DevicesBelongToCalls) {
  // Of calls that name none.
  ASSERT_EQ(nvfp4_launch_set_device("cpu"), NVFP4_OK);
  StoreModule hopper(lookUp<90>);
  std::vector<std::thread> threads;
  for (int number = 0; number < 8; ++number)
    threads.emplace_back([&, number] {
      const StoreModule &called = number % 2 ? hopper : module;
      const char *device = number % 4 < 2 ? "sim"
                           : number == 2  ? nullptr
                                          : "cpu";
      for (int round = 0; round < 20; ++round) {
        int32_t word = 0;
        nvfp4_status status = called.call(device, 9, word);
        if (number % 4 < 2) {
          EXPECT_EQ(status, NVFP4_OK) << nvfp4_last_error();
          EXPECT_EQ(word, 9);
          continue;
        }
        EXPECT_EQ(status, NVFP4_UNSUPPORTED);
        EXPECT_EQ(word, -1);
        EXPECT_NE(std::string(nvfp4_last_error())
                      .find("expected device cuda or sim for kernels"),
                  std::string::npos)
            << nvfp4_last_error();
      }
    });
  for (std::thread &thread : threads)
    thread.join();
  int32_t word = 0;
  EXPECT_EQ(hopper.call("gpu", 9, word), NVFP4_INVALID_ARGUMENT);
  EXPECT_EQ(word, -1);
}
