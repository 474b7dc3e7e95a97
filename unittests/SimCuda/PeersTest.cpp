//===- PeersTest.cpp - devices that reach each other ------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Kernels of two devices wait for each other, so that each test ends only if
// they run at the same time.
//
//===----------------------------------------------------------------------===//

#include "Driver/Api.h"

#include "gtest/gtest.h"

#include <string>
#include <thread>

using namespace nvfp4;

extern "C" const char *nvfp4_sim_message(void);

namespace {

/// Tells the other device, waits for it, and stores what it has written.
const char *const text = R"(
.version 8.0
.target sm_90
.address_size 64
.visible .entry meet(.param .u64 mine, .param .u64 theirs, .param .u32 value) {
  .reg .pred %p<2>;
  .reg .b64 %a<3>;
  .reg .b32 %r<5>;
  ld.param.u64 %a1, [mine];
  ld.param.u64 %a2, [theirs];
  ld.param.u32 %r1, [value];
  st.global.u32 [%a2+128], %r1;
  st.release.sys.global.u32 [%a2], %r1;
WAIT:
  ld.acquire.sys.global.u32 %r2, [%a1];
  setp.eq.u32 %p1, %r2, 0;
  @%p1 bra WAIT;
  ld.global.u32 %r3, [%a1+128];
  st.global.u32 [%a1+256], %r3;
  ret;
}
)";

/// Both devices with access to each other for the length of a test.
class Peers : public testing::Test {
protected:
  struct Side {
    cuda::Context context = nullptr;
    cuda::DevicePointer words = 0;
    cuda::Stream stream = nullptr;
    cuda::Module module = nullptr;
    cuda::Function function = nullptr;
  };

  void SetUp() override {
    ASSERT_EQ(cuInit(0), cuda::Success);
    for (int i = 0; i < 2; ++i) {
      Side &side = sides[i];
      ASSERT_EQ(cuDevicePrimaryCtxRetain(&side.context, i), cuda::Success);
      enter(side);
      EXPECT_EQ(cuMemAlloc_v2(&side.words, 512), cuda::Success);
      EXPECT_EQ(cuMemsetD32_v2(side.words, 0, 128), cuda::Success);
      EXPECT_EQ(cuStreamCreate(&side.stream, 0), cuda::Success);
      EXPECT_EQ(cuModuleLoadData(&side.module, text), cuda::Success);
      EXPECT_EQ(cuModuleGetFunction(&side.function, side.module, "meet"),
                cuda::Success);
      leave();
    }
    for (int i = 0; i < 2; ++i) {
      enter(sides[i]);
      EXPECT_EQ(cuCtxEnablePeerAccess(sides[1 - i].context, 0), cuda::Success);
      leave();
    }
  }

  void TearDown() override {
    for (int i = 0; i < 2; ++i) {
      EXPECT_EQ(cuDevicePrimaryCtxReset_v2(i), cuda::Success);
      enter(sides[i]);
      EXPECT_EQ(cuCtxDisablePeerAccess(sides[1 - i].context), cuda::Success);
      EXPECT_EQ(cuModuleUnload(sides[i].module), cuda::Success);
      EXPECT_EQ(cuMemFree_v2(sides[i].words), cuda::Success);
      leave();
    }
  }

  static void enter(const Side &side) {
    EXPECT_EQ(cuCtxPushCurrent_v2(side.context), cuda::Success);
  }
  static void leave() { EXPECT_EQ(cuCtxPopCurrent_v2(nullptr), cuda::Success); }

  void launch(int i, uint32_t value) {
    Side &side = sides[i];
    void *parameters[] = {&side.words, &sides[1 - i].words, &value};
    EXPECT_EQ(cuLaunchKernel(side.function, 1, 1, 1, 1, 1, 1, 0, side.stream,
                             parameters, nullptr),
              cuda::Success);
  }

  uint32_t word(int i, unsigned number) {
    uint32_t value = ~0u;
    EXPECT_EQ(cuMemcpyDtoH_v2(&value, sides[i].words + 4 * number, 4),
              cuda::Success);
    return value;
  }

  Side sides[2];
};

} // namespace

TEST_F(Peers, KernelsOfTwoDevicesRunAtTheSameTime) {
  launch(0, 5);
  launch(1, 6);
  EXPECT_EQ(cuStreamSynchronize(sides[0].stream), cuda::Success);
  EXPECT_EQ(word(0, 64), 6u);
  EXPECT_EQ(word(1, 64), 5u);
}

TEST_F(Peers, WorkOfAStreamStaysInOrder) {
  for (int i = 0; i < 2; ++i) {
    cuda::DevicePointer words = sides[i].words;
    EXPECT_EQ(cuMemsetD32Async(words + 256, 99, 1, sides[i].stream),
              cuda::Success);
    launch(i, 10 + i);
    EXPECT_EQ(
        cuMemcpyDtoDAsync_v2(words + 320, words + 256, 4, sides[i].stream),
        cuda::Success);
    // A buffer that the host uses again at once.
    uint32_t value = 55;
    EXPECT_EQ(cuMemcpyAsync(words + 324,
                            reinterpret_cast<cuda::DevicePointer>(&value), 4,
                            sides[i].stream),
              cuda::Success);
    value = 0;
  }
  EXPECT_EQ(cuCtxSynchronize(), cuda::Success);
  EXPECT_EQ(word(0, 80), 11u);
  EXPECT_EQ(word(1, 80), 10u);
  EXPECT_EQ(word(1, 81), 55u);
}

TEST_F(Peers, EachDeviceMayHaveAThread) {
  std::thread threads[2];
  cuda::Result results[2] = {cuda::Unknown, cuda::Unknown};
  for (int i = 0; i < 2; ++i)
    threads[i] = std::thread([&, i] {
      enter(sides[i]);
      launch(i, 7 + i);
      results[i] = cuStreamSynchronize(sides[i].stream);
      leave();
    });
  for (std::thread &thread : threads)
    thread.join();
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(results[i], cuda::Success);
    EXPECT_EQ(word(i, 64), 8u - i);
  }
}

TEST_F(Peers, EventsOrderStreamsOfTwoDevices) {
  cuda::Event met = nullptr;
  EXPECT_EQ(cuEventCreate(&met, 0), cuda::Success);
  EXPECT_EQ(cuMemsetD32Async(sides[1].words + 300, 9, 1, sides[1].stream),
            cuda::Success);
  launch(1, 2);
  EXPECT_EQ(cuEventRecord(met, sides[1].stream), cuda::Success);
  launch(0, 1);
  EXPECT_EQ(cuStreamWaitEvent(sides[0].stream, met, 0), cuda::Success);
  EXPECT_EQ(cuMemcpyPeerAsync(sides[0].words + 300, sides[0].context,
                              sides[1].words + 256, sides[1].context, 4,
                              sides[0].stream),
            cuda::Success);
  EXPECT_EQ(cuEventSynchronize(met), cuda::Success);
  EXPECT_EQ(word(0, 75), 1u);
  EXPECT_EQ(word(1, 75), 9u);
  EXPECT_EQ(cuEventDestroy_v2(met), cuda::Success);
}

TEST_F(Peers, ADeviceThatNobodyLaunchesOnIsNamed) {
  launch(0, 5);
  enter(sides[0]);
  EXPECT_EQ(cuCtxSynchronize(), cuda::LaunchTimeout);
  const char *message = nvfp4_sim_message();
  EXPECT_NE(
      std::string(message).find("device 0 cta (0,0,0) warp 0 lanes 00000001"),
      std::string::npos)
      << message;
  leave();
}

TEST_F(Peers, CallsHaveCudasErrors) {
  int can = -1;
  EXPECT_EQ(cuDeviceCanAccessPeer(&can, 0, 1), cuda::Success);
  EXPECT_EQ(can, 1);
  EXPECT_EQ(cuDeviceCanAccessPeer(&can, 1, 1), cuda::Success);
  EXPECT_EQ(can, 0);
  EXPECT_EQ(cuDeviceCanAccessPeer(&can, 0, 2), cuda::InvalidDevice);
  enter(sides[0]);
  EXPECT_EQ(cuCtxEnablePeerAccess(sides[1].context, 0),
            cuda::PeerAccessAlreadyEnabled);
  EXPECT_EQ(cuCtxEnablePeerAccess(sides[1].context, 1), cuda::InvalidValue);
  EXPECT_EQ(cuCtxEnablePeerAccess(sides[0].context, 0), cuda::InvalidDevice);
  EXPECT_EQ(cuCtxDisablePeerAccess(sides[1].context), cuda::Success);
  EXPECT_EQ(cuCtxDisablePeerAccess(sides[1].context),
            cuda::PeerAccessNotEnabled);
  EXPECT_EQ(cuCtxEnablePeerAccess(sides[1].context, 0), cuda::Success);
  leave();
  EXPECT_EQ(cuMemsetD32_v2(sides[1].words, 77, 1), cuda::Success);
  EXPECT_EQ(cuMemcpyPeer(sides[0].words, sides[0].context, sides[1].words,
                         sides[1].context, 4),
            cuda::Success);
  EXPECT_EQ(word(0, 0), 77u);
  EXPECT_EQ(cuMemcpyPeer(sides[0].words, sides[1].context, sides[1].words,
                         sides[1].context, 4),
            cuda::InvalidValue);
}
