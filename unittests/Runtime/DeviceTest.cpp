//===- DeviceTest.cpp - memory, modules and launches of devices -*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Kernels here are a few lines of PTX with known results. The device cuda is
// only asked for its error where there is no driver.
//
//===----------------------------------------------------------------------===//

#include "nvfp4/Runtime/nvfp4_device.h"

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

namespace {

struct Release {
  void operator()(nvfp4_device *device) const { nvfp4_device_release(device); }
  void operator()(nvfp4_device_module *module) const {
    nvfp4_device_module_release(module);
  }
};
using DevicePtr = std::unique_ptr<nvfp4_device, Release>;
using ModulePtr = std::unique_ptr<nvfp4_device_module, Release>;

DevicePtr open(const char *name) {
  nvfp4_device *device = nullptr;
  EXPECT_EQ(nvfp4_device_open(name, &device), NVFP4_OK) << nvfp4_last_error();
  return DevicePtr(device);
}

ModulePtr load(const DevicePtr &device, const std::string &body) {
  std::string text = ".version 8.0\n.target sm_90\n.address_size 64\n" + body;
  nvfp4_device_module *module = nullptr;
  EXPECT_EQ(nvfp4_device_module_load(device.get(), text.c_str(), &module),
            NVFP4_OK)
      << nvfp4_last_error();
  return ModulePtr(module);
}

nvfp4_kernel *find(const ModulePtr &module, const char *name) {
  nvfp4_kernel *kernel = nullptr;
  EXPECT_EQ(nvfp4_device_module_kernel(module.get(), name, &kernel), NVFP4_OK)
      << nvfp4_last_error();
  return kernel;
}

bool says(const char *part) {
  return std::string(nvfp4_last_error()).find(part) != std::string::npos;
}

/// out[i] = scale * in[i] + bias for the thread i of the grid, where bias is a
/// variable of the module.
constexpr const char *affine = R"(
.visible .global .align 4 .u32 bias = 7;
.visible .entry affine(.param .u64 out, .param .u64 in, .param .u32 scale) {
  .reg .b32 %r<8>;
  .reg .b64 %a<5>;
  ld.param.u64 %a1, [out];
  ld.param.u64 %a2, [in];
  ld.param.u32 %r1, [scale];
  mov.u32 %r2, %ctaid.x;
  mov.u32 %r3, %ntid.x;
  mov.u32 %r4, %tid.x;
  mad.lo.u32 %r2, %r2, %r3, %r4;
  mul.wide.u32 %a3, %r2, 4;
  add.u64 %a2, %a2, %a3;
  add.u64 %a1, %a1, %a3;
  ld.global.u32 %r5, [%a2];
  ld.global.u32 %r6, [bias];
  mad.lo.u32 %r5, %r5, %r1, %r6;
  st.global.u32 [%a1], %r5;
  ret;
}
)";

TEST(Device, SimRunsKernels) {
  DevicePtr device = open("sim");
  ASSERT_TRUE(device);
  nvfp4_device_info info;
  ASSERT_EQ(nvfp4_device_query(device.get(), &info), NVFP4_OK);
  EXPECT_STREQ(info.kind, "sim");
  EXPECT_EQ(info.architecture, 100);
  EXPECT_EQ(info.shared_memory, 227u * 1024);

  ModulePtr module = load(device, affine);
  nvfp4_kernel *kernel = find(module, "affine");
  void *bias = nullptr;
  size_t biasBytes = 0;
  ASSERT_EQ(
      nvfp4_device_module_variable(module.get(), "bias", &bias, &biasBytes),
      NVFP4_OK)
      << nvfp4_last_error();
  EXPECT_EQ(biasBytes, 4u);

  std::vector<uint32_t> in(64), out(64, 0);
  std::iota(in.begin(), in.end(), 100);
  void *from = nullptr, *to = nullptr;
  ASSERT_EQ(nvfp4_device_alloc(device.get(), 256, &from), NVFP4_OK);
  ASSERT_EQ(nvfp4_device_alloc(device.get(), 256, &to), NVFP4_OK);
  nvfp4_stream *stream = nullptr;
  nvfp4_event *start = nullptr, *end = nullptr;
  ASSERT_EQ(nvfp4_stream_create(device.get(), &stream), NVFP4_OK);
  ASSERT_EQ(nvfp4_event_create(device.get(), 1, &start), NVFP4_OK);
  ASSERT_EQ(nvfp4_event_create(device.get(), 1, &end), NVFP4_OK);
  ASSERT_EQ(nvfp4_device_copy(device.get(), from, in.data(), 256, stream),
            NVFP4_OK);
  uint32_t scale = 3;
  void *arguments[] = {&to, &from, &scale};
  nvfp4_launch launch = {{2, 1, 1}, {32, 1, 1}, {0, 0, 0}, 0, 0, stream};
  ASSERT_EQ(nvfp4_event_record(device.get(), start, stream), NVFP4_OK);
  ASSERT_EQ(nvfp4_kernel_launch(kernel, &launch, arguments), NVFP4_OK)
      << nvfp4_last_error();
  ASSERT_EQ(nvfp4_event_record(device.get(), end, stream), NVFP4_OK);
  ASSERT_EQ(nvfp4_device_copy(device.get(), out.data(), to, 256, stream),
            NVFP4_OK);
  ASSERT_EQ(nvfp4_stream_synchronize(device.get(), stream), NVFP4_OK)
      << nvfp4_last_error();
  for (uint32_t i = 0; i < 64; ++i)
    EXPECT_EQ(out[i], 3 * (100 + i) + 7);
  float milliseconds = -1;
  ASSERT_EQ(nvfp4_event_elapsed(device.get(), start, end, &milliseconds),
            NVFP4_OK);
  EXPECT_GE(milliseconds, 0);

  // The variable is one place, for kernels and for the host.
  ASSERT_EQ(nvfp4_device_fill(device.get(), bias, 1000, 4, 1, nullptr),
            NVFP4_OK);
  launch.flags = NVFP4_LAUNCH_PROGRAMMATIC;
  ASSERT_EQ(nvfp4_kernel_launch(kernel, &launch, arguments), NVFP4_OK);
  ASSERT_EQ(nvfp4_device_copy(device.get(), out.data(), to, 256, nullptr),
            NVFP4_OK);
  EXPECT_EQ(out[63], 3u * 163 + 1000);
  EXPECT_EQ(nvfp4_event_destroy(device.get(), start), NVFP4_OK);
  EXPECT_EQ(nvfp4_event_destroy(device.get(), end), NVFP4_OK);
  EXPECT_EQ(nvfp4_stream_destroy(device.get(), stream), NVFP4_OK);
  EXPECT_EQ(nvfp4_device_free(device.get(), from), NVFP4_OK);
  EXPECT_EQ(nvfp4_device_free(device.get(), to), NVFP4_OK);
}

TEST(Device, FillsHaveWidths) {
  for (const char *name : {"cpu", "sim"}) {
    DevicePtr device = open(name);
    ASSERT_TRUE(device);
    void *memory = nullptr;
    ASSERT_EQ(nvfp4_device_alloc(device.get(), 16, &memory), NVFP4_OK);
    auto *bytes = static_cast<uint8_t *>(memory);
    ASSERT_EQ(nvfp4_device_fill(device.get(), bytes, 0x11223344, 4, 4, nullptr),
              NVFP4_OK);
    ASSERT_EQ(nvfp4_device_fill(device.get(), bytes + 4, 0xaabb, 2, 2, nullptr),
              NVFP4_OK);
    ASSERT_EQ(nvfp4_device_fill(device.get(), bytes + 9, 0xcc, 1, 2, nullptr),
              NVFP4_OK);
    uint8_t back[16];
    ASSERT_EQ(nvfp4_device_copy(device.get(), back, memory, 16, nullptr),
              NVFP4_OK);
    const uint8_t expected[] = {0x44, 0x33, 0x22, 0x11, 0xbb, 0xaa, 0xbb, 0xaa,
                                0x44, 0xcc, 0xcc, 0x11, 0x44, 0x33, 0x22, 0x11};
    EXPECT_EQ(std::memcmp(back, expected, 16), 0) << name;
    EXPECT_EQ(nvfp4_device_fill(device.get(), bytes, 0, 3, 1, nullptr),
              NVFP4_INVALID_ARGUMENT);
    EXPECT_EQ(nvfp4_device_free(device.get(), memory), NVFP4_OK);
  }
}

/// Every CTA of a cluster writes its rank and the size of dynamic shared
/// memory.
constexpr const char *geometry = R"(
.visible .entry geometry(.param .u64 out) {
  .reg .b32 %r<6>;
  .reg .b64 %a<3>;
  ld.param.u64 %a1, [out];
  mov.u32 %r1, %cluster_ctarank;
  mov.u32 %r2, %cluster_nctarank;
  mov.u32 %r3, %dynamic_smem_size;
  mov.u32 %r4, %ctaid.x;
  mul.wide.u32 %a2, %r4, 16;
  add.u64 %a1, %a1, %a2;
  st.global.v4.u32 [%a1], {%r1, %r2, %r3, %r4};
  ret;
}
)";

TEST(Device, SimLaunchesClusters) {
  DevicePtr device = open("sim");
  ModulePtr module = load(device, geometry);
  nvfp4_kernel *kernel = find(module, "geometry");
  ASSERT_TRUE(kernel);
  void *out = nullptr;
  ASSERT_EQ(nvfp4_device_alloc(device.get(), 16 * 16, &out), NVFP4_OK);
  void *arguments[] = {&out};
  for (uint32_t cluster : {2u, 16u}) {
    nvfp4_launch launch = {{16, 1, 1},     {1, 1, 1}, {cluster, 1, 1},
                           200 * 1024 + 1, 0,         nullptr};
    ASSERT_EQ(nvfp4_kernel_launch(kernel, &launch, arguments), NVFP4_OK)
        << nvfp4_last_error();
    uint32_t back[16][4];
    ASSERT_EQ(nvfp4_device_copy(device.get(), back, out, sizeof back, nullptr),
              NVFP4_OK);
    for (uint32_t i = 0; i < 16; ++i) {
      EXPECT_EQ(back[i][0], i % cluster);
      EXPECT_EQ(back[i][1], cluster);
      EXPECT_EQ(back[i][2], 200u * 1024 + 1);
      EXPECT_EQ(back[i][3], i);
    }
  }
  nvfp4_launch uneven = {{3, 1, 1}, {1, 1, 1}, {2, 1, 1}, 0, 0, nullptr};
  EXPECT_EQ(nvfp4_kernel_launch(kernel, &uneven, arguments),
            NVFP4_INVALID_ARGUMENT);
  EXPECT_TRUE(says("multiple of the cluster, but got 3 and 2"))
      << nvfp4_last_error();
  nvfp4_launch large = {{1, 1, 1},  {1, 1, 1}, {0, 0, 0},
                        228 * 1024, 0,         nullptr};
  EXPECT_EQ(nvfp4_kernel_launch(kernel, &large, arguments),
            NVFP4_INVALID_ARGUMENT);
  EXPECT_TRUE(says("expected 0 to 232448 bytes of dynamic shared memory, but "
                   "got 233472"))
      << nvfp4_last_error();
  nvfp4_device_free(device.get(), out);
}

// Block 0 waits for what the last one stores.
constexpr const char *meet = R"(
.visible .entry meet(.param .u64 flag) {
  .reg .pred %p<3>;
  .reg .b32 %r<5>;
  .reg .b64 %a<2>;
  ld.param.u64 %a1, [flag];
  mov.u32 %r1, %ctaid.x;
  mov.u32 %r2, %nctaid.x;
  sub.u32 %r2, %r2, 1;
  setp.eq.u32 %p1, %r1, %r2;
  @%p1 bra last;
  setp.ne.u32 %p1, %r1, 0;
  @%p1 bra done;
wait:
  ld.acquire.gpu.global.u32 %r3, [%a1];
  setp.eq.u32 %p2, %r3, 0;
  @%p2 bra wait;
  ret;
last:
  mov.u32 %r4, 1;
  st.release.gpu.global.u32 [%a1], %r4;
done:
  ret;
}
)";

TEST(Device, CooperativeLaunchesFitOrFail) {
  DevicePtr device = open("sim");
  ModulePtr module = load(device, meet);
  nvfp4_kernel *kernel = find(module, "meet");
  nvfp4_device_info info;
  ASSERT_EQ(nvfp4_device_query(device.get(), &info), NVFP4_OK);
  auto multiprocessors = static_cast<uint32_t>(info.multiprocessors);
  void *flag = nullptr;
  ASSERT_EQ(nvfp4_device_alloc(device.get(), 4, &flag), NVFP4_OK);
  void *arguments[] = {&flag};
  nvfp4_launch launch = {
      {0, 1, 1}, {1, 1, 1}, {0, 0, 0}, 0, NVFP4_LAUNCH_COOPERATIVE, nullptr};
  // Shared memory says how many blocks a multiprocessor holds.
  for (auto [each, shared] : {std::pair(2u, 100u * 1024), {1u, 120u * 1024}}) {
    uint32_t places = each * multiprocessors;
    launch.grid[0] = places;
    launch.shared_memory = shared;
    ASSERT_EQ(nvfp4_device_fill(device.get(), flag, 0, 4, 1, nullptr),
              NVFP4_OK);
    ASSERT_EQ(nvfp4_kernel_launch(kernel, &launch, arguments), NVFP4_OK)
        << nvfp4_last_error();
    EXPECT_EQ(nvfp4_device_synchronize(device.get()), NVFP4_OK)
        << nvfp4_last_error();
    // One more and block 0 could wait for a block that waits for its place.
    launch.grid[0] = places + 1;
    EXPECT_EQ(nvfp4_kernel_launch(kernel, &launch, arguments),
              NVFP4_INVALID_ARGUMENT);
    EXPECT_TRUE(
        says(("cuLaunchKernelEx: expected at most " + std::to_string(places) +
              " blocks in a cooperative launch, " + std::to_string(each) +
              " on each of " + std::to_string(multiprocessors) +
              " multiprocessors, but got " + std::to_string(places + 1))
                 .c_str()))
        << nvfp4_last_error();
  }
  launch.cluster[0] = 2;
  launch.cluster[1] = launch.cluster[2] = 1;
  launch.grid[0] = multiprocessors + 2;
  EXPECT_EQ(nvfp4_kernel_launch(kernel, &launch, arguments),
            NVFP4_INVALID_ARGUMENT);
  EXPECT_TRUE(
      says((std::to_string(multiprocessors / 2) + " clusters of 2, but got " +
            std::to_string(multiprocessors + 2))
               .c_str()))
      << nvfp4_last_error();
  launch.flags |= NVFP4_LAUNCH_PROGRAMMATIC;
  EXPECT_EQ(nvfp4_kernel_launch(kernel, &launch, arguments),
            NVFP4_INVALID_ARGUMENT);
  EXPECT_TRUE(says("expected flags 0, NVFP4_LAUNCH_PROGRAMMATIC or "
                   "NVFP4_LAUNCH_COOPERATIVE, but got 3"))
      << nvfp4_last_error();
  nvfp4_device_free(device.get(), flag);
}

TEST(Device, HostMemoryIsUsedInPlace) {
  DevicePtr device = open("sim");
  ModulePtr module = load(device, affine);
  nvfp4_kernel *kernel = find(module, "affine");
  std::vector<uint32_t> in(32, 5), out(32, 0);
  ASSERT_EQ(nvfp4_device_register_host(device.get(), in.data(), 128), NVFP4_OK);
  ASSERT_EQ(nvfp4_device_register_host(device.get(), out.data(), 128),
            NVFP4_OK);
  EXPECT_NE(nvfp4_device_register_host(device.get(), out.data() + 1, 4),
            NVFP4_OK);
  void *to = out.data(), *from = in.data();
  uint32_t scale = 2;
  void *arguments[] = {&to, &from, &scale};
  nvfp4_launch launch = {{1, 1, 1}, {32, 1, 1}, {1, 1, 1}, 0, 0, nullptr};
  ASSERT_EQ(nvfp4_kernel_launch(kernel, &launch, arguments), NVFP4_OK);
  ASSERT_EQ(nvfp4_device_synchronize(device.get()), NVFP4_OK)
      << nvfp4_last_error();
  EXPECT_EQ(out, std::vector<uint32_t>(32, 17));
  EXPECT_EQ(nvfp4_device_unregister_host(device.get(), in.data()), NVFP4_OK);
  EXPECT_EQ(nvfp4_device_unregister_host(device.get(), out.data()), NVFP4_OK);
  EXPECT_NE(nvfp4_device_unregister_host(device.get(), out.data()), NVFP4_OK);
}

TEST(Device, FaultsComeBackWithTheirReport) {
  DevicePtr device = open("sim");
  ModulePtr module = load(device, affine);
  nvfp4_kernel *kernel = find(module, "affine");
  void *small = nullptr;
  ASSERT_EQ(nvfp4_device_alloc(device.get(), 64, &small), NVFP4_OK);
  ASSERT_EQ(nvfp4_device_fill(device.get(), small, 0, 4, 16, nullptr),
            NVFP4_OK);
  uint32_t scale = 2;
  void *arguments[] = {&small, &small, &scale};
  nvfp4_launch launch = {{1, 1, 1}, {17, 1, 1}, {0, 0, 0}, 0, 0, nullptr};
  ASSERT_EQ(nvfp4_kernel_launch(kernel, &launch, arguments), NVFP4_OK);
  EXPECT_EQ(nvfp4_device_synchronize(device.get()), NVFP4_DEVICE_ERROR);
  EXPECT_TRUE(says("illegal memory access")) << nvfp4_last_error();
  EXPECT_TRUE(says("out-of-bounds")) << nvfp4_last_error();
  EXPECT_TRUE(says("lane 16")) << nvfp4_last_error();
  // The context is lost until nobody uses it.
  void *more = nullptr;
  EXPECT_EQ(nvfp4_device_alloc(device.get(), 64, &more), NVFP4_DEVICE_ERROR);
  module.reset();
  device.reset();
  device = open("sim");
  EXPECT_EQ(nvfp4_device_alloc(device.get(), 64, &more), NVFP4_OK);
  nvfp4_device_free(device.get(), more);
}

TEST(Device, ReportsMakeSynchronisationFail) {
  DevicePtr device = open("sim");
  ModulePtr module = load(device, affine);
  nvfp4_kernel *kernel = find(module, "affine");
  void *memory = nullptr;
  ASSERT_EQ(nvfp4_device_alloc(device.get(), 128, &memory), NVFP4_OK);
  uint32_t scale = 2;
  void *arguments[] = {&memory, &memory, &scale};
  nvfp4_launch launch = {{1, 1, 1}, {32, 1, 1}, {0, 0, 0}, 0, 0, nullptr};
  ASSERT_EQ(nvfp4_kernel_launch(kernel, &launch, arguments), NVFP4_OK);
  EXPECT_EQ(nvfp4_device_synchronize(device.get()), NVFP4_DEVICE_ERROR);
  EXPECT_TRUE(says("uninitialized-read")) << nvfp4_last_error();
  // They are told once, and the device goes on.
  EXPECT_EQ(nvfp4_device_synchronize(device.get()), NVFP4_OK);
  nvfp4_device_free(device.get(), memory);
}

TEST(Device, ReportsSurviveOtherErrors) {
  DevicePtr device = open("sim");
  ModulePtr module = load(device, affine);
  nvfp4_kernel *kernel = find(module, "affine");
  void *memory = nullptr, *none = nullptr;
  ASSERT_EQ(nvfp4_device_alloc(device.get(), 128, &memory), NVFP4_OK);
  uint32_t scale = 2;
  void *arguments[] = {&memory, &memory, &scale};
  nvfp4_launch launch = {{1, 1, 1}, {32, 1, 1}, {0, 0, 0}, 0, 0, nullptr};
  ASSERT_EQ(nvfp4_kernel_launch(kernel, &launch, arguments), NVFP4_OK);
  EXPECT_EQ(nvfp4_device_alloc(device.get(), size_t{1} << 40, &none),
            NVFP4_OUT_OF_MEMORY);
  EXPECT_EQ(nvfp4_device_synchronize(device.get()), NVFP4_DEVICE_ERROR);
  EXPECT_TRUE(says("uninitialized-read")) << nvfp4_last_error();
  nvfp4_device_free(device.get(), memory);
}

TEST(Device, ReportsBelongToStreams) {
  DevicePtr device = open("sim");
  ModulePtr module = load(device, affine);
  nvfp4_kernel *kernel = find(module, "affine");
  void *memory = nullptr;
  nvfp4_stream *bad = nullptr, *good = nullptr;
  nvfp4_event *event = nullptr;
  ASSERT_EQ(nvfp4_device_alloc(device.get(), 128, &memory), NVFP4_OK);
  ASSERT_EQ(nvfp4_stream_create(device.get(), &bad), NVFP4_OK);
  ASSERT_EQ(nvfp4_stream_create(device.get(), &good), NVFP4_OK);
  ASSERT_EQ(nvfp4_event_create(device.get(), 0, &event), NVFP4_OK);
  uint32_t scale = 2;
  void *arguments[] = {&memory, &memory, &scale};
  nvfp4_launch launch = {{1, 1, 1}, {32, 1, 1}, {0, 0, 0}, 0, 0, bad};
  ASSERT_EQ(nvfp4_kernel_launch(kernel, &launch, arguments), NVFP4_OK);
  ASSERT_EQ(nvfp4_event_record(device.get(), event, bad), NVFP4_OK);
  EXPECT_EQ(nvfp4_stream_synchronize(device.get(), good), NVFP4_OK);
  uint32_t word = 0;
  EXPECT_EQ(nvfp4_device_copy(device.get(), &word, memory, 4, nullptr),
            NVFP4_OK);
  EXPECT_EQ(nvfp4_event_synchronize(device.get(), event), NVFP4_DEVICE_ERROR);
  EXPECT_TRUE(says("uninitialized-read")) << nvfp4_last_error();
  EXPECT_EQ(nvfp4_stream_synchronize(device.get(), bad), NVFP4_OK);

  // Who destroys a stream hears of them from the device.
  ASSERT_EQ(nvfp4_device_alloc(device.get(), 128, &memory), NVFP4_OK);
  ASSERT_EQ(nvfp4_kernel_launch(kernel, &launch, arguments), NVFP4_OK);
  ASSERT_EQ(nvfp4_stream_destroy(device.get(), bad), NVFP4_OK);
  EXPECT_EQ(nvfp4_stream_synchronize(device.get(), good), NVFP4_OK);
  EXPECT_EQ(nvfp4_device_synchronize(device.get()), NVFP4_DEVICE_ERROR);
  EXPECT_EQ(nvfp4_stream_destroy(device.get(), good), NVFP4_OK);
  EXPECT_EQ(nvfp4_event_destroy(device.get(), event), NVFP4_OK);
}

// Each thread has a stream, results and errors of its own.
TEST(Device, ThreadsTakeTurns) {
  DevicePtr device = open("sim");
  auto work = [&](uint32_t number) {
    DevicePtr own = open("sim");
    ModulePtr module = load(own, affine);
    nvfp4_kernel *kernel = find(module, "affine");
    nvfp4_stream *stream = nullptr;
    EXPECT_EQ(nvfp4_stream_create(own.get(), &stream), NVFP4_OK);
    std::string wrong = "kernel" + std::to_string(number);
    for (uint32_t round = 0; round < 20; ++round) {
      void *memory = nullptr;
      EXPECT_EQ(nvfp4_device_alloc(own.get(), 128, &memory), NVFP4_OK);
      // Every other thread forgets to fill, every other time.
      bool fills = (number + round) % 2;
      if (fills) {
        EXPECT_EQ(nvfp4_device_fill(own.get(), memory, number, 4, 32, stream),
                  NVFP4_OK);
      }
      void *arguments[] = {&memory, &memory, &round};
      nvfp4_launch launch = {{1, 1, 1}, {32, 1, 1}, {0, 0, 0}, 0, 0, stream};
      EXPECT_EQ(nvfp4_kernel_launch(kernel, &launch, arguments), NVFP4_OK);
      nvfp4_kernel *none = nullptr;
      EXPECT_EQ(nvfp4_device_module_kernel(module.get(), wrong.c_str(), &none),
                NVFP4_NOT_FOUND);
      EXPECT_TRUE(says(("'" + wrong + "'").c_str())) << nvfp4_last_error();
      EXPECT_EQ(nvfp4_stream_synchronize(own.get(), stream),
                fills ? NVFP4_OK : NVFP4_DEVICE_ERROR);
      uint32_t back[32];
      EXPECT_EQ(
          nvfp4_device_copy(own.get(), back, memory, sizeof back, nullptr),
          NVFP4_OK);
      for (uint32_t value : back)
        EXPECT_TRUE(!fills || value == number * round + 7);
      EXPECT_EQ(nvfp4_device_free(own.get(), memory), NVFP4_OK);
    }
    EXPECT_EQ(nvfp4_stream_destroy(own.get(), stream), NVFP4_OK);
  };
  std::vector<std::thread> threads;
  for (uint32_t number = 0; number < 4; ++number)
    threads.emplace_back(work, number);
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(nvfp4_device_synchronize(device.get()), NVFP4_OK);
}

TEST(Device, ModulesAndMemoryAreChecked) {
  DevicePtr device = open("sim");
  nvfp4_device_module *bad = nullptr;
  const char *unknown = ".version 8.0\n.target sm_90\n.address_size 64\n"
                        ".visible .entry k() {\n  frobnicate.u32 ;\n}\n";
  EXPECT_EQ(nvfp4_device_module_load(device.get(), unknown, &bad),
            NVFP4_BAD_ARTEFACT);
  EXPECT_TRUE(says("5:")) << nvfp4_last_error();
  EXPECT_TRUE(says("frobnicate")) << nvfp4_last_error();
  EXPECT_EQ(nvfp4_device_module_load(device.get(), "\177ELF", &bad),
            NVFP4_BAD_ARTEFACT);
  EXPECT_EQ(nvfp4_device_module_load(device.get(), "", &bad),
            NVFP4_BAD_ARTEFACT);
  EXPECT_EQ(bad, nullptr);

  ModulePtr module = load(device, affine);
  nvfp4_kernel *kernel = nullptr;
  EXPECT_EQ(nvfp4_device_module_kernel(module.get(), "linear", &kernel),
            NVFP4_NOT_FOUND);
  EXPECT_TRUE(says("one of the kernels affine, but got 'linear'"))
      << nvfp4_last_error();
  void *pointer = nullptr;
  EXPECT_EQ(
      nvfp4_device_module_variable(module.get(), "gain", &pointer, nullptr),
      NVFP4_NOT_FOUND);

  char host[8] = {};
  ASSERT_EQ(nvfp4_device_alloc(device.get(), 4, &pointer), NVFP4_OK);
  EXPECT_EQ(nvfp4_device_copy(device.get(), pointer, host, 8, nullptr),
            NVFP4_INVALID_ARGUMENT);
  EXPECT_EQ(nvfp4_device_free(device.get(), host), NVFP4_INVALID_ARGUMENT);
  EXPECT_EQ(nvfp4_device_free(device.get(), pointer), NVFP4_OK);
  EXPECT_EQ(nvfp4_device_free(device.get(), pointer), NVFP4_INVALID_ARGUMENT);
  EXPECT_EQ(nvfp4_device_alloc(device.get(), size_t{1} << 40, &pointer),
            NVFP4_OUT_OF_MEMORY);
  EXPECT_EQ(nvfp4_device_alloc(device.get(), 0, &pointer),
            NVFP4_INVALID_ARGUMENT);
}

TEST(Device, TensorMapsAreChecked) {
  DevicePtr device = open("sim");
  alignas(64) char map[128];
  nvfp4_tensor_map_spec spec = {};
  spec.type = NVFP4_TENSOR_U4_PADDED;
  spec.rank = 2;
  spec.address = reinterpret_cast<void *>(0x10000000000);
  spec.size[0] = 256;
  spec.size[1] = 64;
  spec.stride[0] = 128;
  spec.box[0] = 128;
  spec.box[1] = 8;
  spec.swizzle = NVFP4_SWIZZLE_128B;
  EXPECT_EQ(nvfp4_tensor_map_encode(device.get(), &spec, map), NVFP4_OK)
      << nvfp4_last_error();
  EXPECT_EQ(nvfp4_tensor_map_encode(device.get(), &spec, map + 16),
            NVFP4_INVALID_ARGUMENT);
  spec.box[1] = 257;
  EXPECT_EQ(nvfp4_tensor_map_encode(device.get(), &spec, map),
            NVFP4_INVALID_ARGUMENT);
  EXPECT_TRUE(says("expected box dimensions of 1 to 256, but got 257"))
      << nvfp4_last_error();
  spec.rank = 6;
  EXPECT_EQ(nvfp4_tensor_map_encode(device.get(), &spec, map),
            NVFP4_INVALID_ARGUMENT);
}

TEST(Device, NamesAreChecked) {
  nvfp4_device *device = nullptr;
  for (const char *name :
       {"", "gpu", "cpu:0", "cpu:7", "sim:x", "cuda:-1", "cuda:1x"})
    EXPECT_EQ(nvfp4_device_open(name, &device), NVFP4_INVALID_ARGUMENT) << name;
  EXPECT_EQ(nvfp4_device_open("sim:1", &device), NVFP4_UNSUPPORTED);
  EXPECT_TRUE(says("expected a device number below 1, but got sim:1"))
      << nvfp4_last_error();
  EXPECT_EQ(nvfp4_device_open("sim", nullptr), NVFP4_INVALID_ARGUMENT);
}

TEST(Device, CpuHasNoKernels) {
  DevicePtr device = open("cpu");
  nvfp4_device_module *module = nullptr;
  EXPECT_EQ(nvfp4_device_module_load(device.get(), "text", &module),
            NVFP4_UNSUPPORTED);
  EXPECT_TRUE(says("expected device cuda or sim for kernels, but got cpu"));
  nvfp4_device_module_load(device.get(),
                           ".version 8.8\n.target sm_90a, debug\n", &module);
  EXPECT_TRUE(
      says("expected device cuda or sim for kernels for sm_90a, but got cpu"));
  // Images of other kinds name no target, whatever their bytes are.
  for (const char *image : {"", "\177ELF\n.target sm_90a\n"}) {
    nvfp4_device_module_load(device.get(), image, &module);
    EXPECT_TRUE(says("expected device cuda or sim for kernels, but got cpu"));
  }
}

TEST(Device, CudaOpensOrSaysWhyNot) {
  nvfp4_device *device = nullptr;
  nvfp4_status status = nvfp4_device_open("cuda", &device);
  if (status == NVFP4_OK) {
    nvfp4_device_release(device);
    return;
  }
  EXPECT_EQ(status, NVFP4_UNSUPPORTED);
  EXPECT_EQ(device, nullptr);
  EXPECT_STRNE(nvfp4_last_error(), "");
}

} // namespace

TEST(Device, NullObjects) {
  DevicePtr device = open("sim");
  ASSERT_TRUE(device);
  nvfp4_device *of = device.get();
  nvfp4_device_release(nullptr);
  nvfp4_device_module_release(nullptr);
  EXPECT_EQ(nvfp4_device_free(of, nullptr), NVFP4_OK);
  EXPECT_EQ(nvfp4_device_copy(of, nullptr, nullptr, 0, nullptr), NVFP4_OK);
  EXPECT_EQ(nvfp4_device_fill(of, nullptr, 0, 1, 0, nullptr), NVFP4_OK);
  EXPECT_EQ(nvfp4_stream_synchronize(of, nullptr), NVFP4_OK);

  nvfp4_device_info info;
  nvfp4_stream *stream = nullptr;
  nvfp4_event *event = nullptr;
  nvfp4_device_module *module = nullptr;
  nvfp4_kernel *kernel = nullptr;
  nvfp4_tensor_map_spec spec{};
  void *pointer = nullptr;
  float time = 0;
  int word = 0;
  for (nvfp4_status status : {
           nvfp4_device_open("sim", nullptr),
           nvfp4_device_query(nullptr, &info),
           nvfp4_device_query(of, nullptr),
           nvfp4_device_synchronize(nullptr),
           nvfp4_stream_create(nullptr, &stream),
           nvfp4_stream_create(of, nullptr),
           nvfp4_stream_destroy(nullptr, nullptr),
           nvfp4_stream_destroy(of, nullptr),
           nvfp4_stream_synchronize(nullptr, nullptr),
           nvfp4_stream_wait_event(of, nullptr, nullptr),
           nvfp4_event_create(nullptr, 0, &event),
           nvfp4_event_create(of, 0, nullptr),
           nvfp4_event_destroy(of, nullptr),
           nvfp4_event_record(of, nullptr, nullptr),
           nvfp4_event_synchronize(of, nullptr),
           nvfp4_event_elapsed(of, nullptr, nullptr, &time),
           nvfp4_device_alloc(nullptr, 4, &pointer),
           nvfp4_device_alloc(of, 4, nullptr),
           nvfp4_device_free(nullptr, &word),
           nvfp4_device_copy(nullptr, &word, &word, 4, nullptr),
           nvfp4_device_copy(of, nullptr, &word, 4, nullptr),
           nvfp4_device_copy(of, &word, nullptr, 4, nullptr),
           nvfp4_device_fill(nullptr, &word, 0, 1, 1, nullptr),
           nvfp4_device_fill(of, nullptr, 0, 1, 1, nullptr),
           nvfp4_device_register_host(of, nullptr, 4),
           nvfp4_device_unregister_host(of, nullptr),
           nvfp4_device_module_load(of, nullptr, &module),
           nvfp4_device_module_load(nullptr, affine, &module),
           nvfp4_device_module_load(of, affine, nullptr),
           nvfp4_device_module_kernel(nullptr, "affine", &kernel),
           nvfp4_device_module_variable(nullptr, "bias", &pointer, nullptr),
           nvfp4_kernel_launch(nullptr, nullptr, nullptr),
           nvfp4_tensor_map_encode(of, &spec, nullptr),
           nvfp4_tensor_map_encode(of, nullptr, &word),
       })
    EXPECT_EQ(status, NVFP4_INVALID_ARGUMENT);

  // Without arguments a kernel that takes some is refused.
  ModulePtr loaded = load(device, affine);
  nvfp4_launch launch = {{1, 1, 1}, {32, 1, 1}, {0, 0, 0}, 0, 0, nullptr};
  EXPECT_EQ(nvfp4_kernel_launch(find(loaded, "affine"), nullptr, nullptr),
            NVFP4_INVALID_ARGUMENT);
  EXPECT_NE(nvfp4_kernel_launch(find(loaded, "affine"), &launch, nullptr),
            NVFP4_OK);
}
