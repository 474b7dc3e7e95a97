//===- GraphTest.cpp - captures of the stand-in driver ----------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A capture does nothing until its graph is launched, each launch does all of
// it, and calls that CUDA forbids in a capture end it with an error.
//
//===----------------------------------------------------------------------===//

#include "Driver/Api.h"

#include "gtest/gtest.h"

#include <cstring>
#include <thread>

using namespace nvfp4;

namespace {

/// Adds one to a word.
const char *const text = R"(
.version 8.0
.target sm_90
.address_size 64
.visible .entry bump(.param .u64 word) {
  .reg .b64 %a<2>;
  .reg .b32 %r<2>;
  ld.param.u64 %a1, [word];
  ld.global.u32 %r1, [%a1];
  add.u32 %r1, %r1, 1;
  st.global.u32 [%a1], %r1;
  ret;
}
)";

struct Graphs : testing::Test {
  void SetUp() override {
    ASSERT_EQ(cuInit(0), cuda::Success);
    ASSERT_EQ(cuStreamCreate(&stream, cuda::streamNonBlocking), cuda::Success);
    ASSERT_EQ(cuStreamCreate(&other, cuda::streamNonBlocking), cuda::Success);
    ASSERT_EQ(cuMemAlloc_v2(&word, 4), cuda::Success);
    ASSERT_EQ(cuMemsetD32_v2(word, 10, 1), cuda::Success);
    ASSERT_EQ(cuModuleLoadData(&module, text), cuda::Success);
    ASSERT_EQ(cuModuleGetFunction(&function, module, "bump"), cuda::Success);
    ASSERT_EQ(cuEventCreate(&event, cuda::eventDisableTiming), cuda::Success);
  }
  void TearDown() override {
    EXPECT_EQ(cuStreamDestroy_v2(stream), cuda::Success);
    EXPECT_EQ(cuStreamDestroy_v2(other), cuda::Success);
    EXPECT_EQ(cuEventDestroy_v2(event), cuda::Success);
    EXPECT_EQ(cuMemFree_v2(word), cuda::Success);
    EXPECT_EQ(cuModuleUnload(module), cuda::Success);
  }

  cuda::Result bump(cuda::Stream in) {
    void *parameters[] = {&word};
    return cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, in, parameters,
                          nullptr);
  }
  uint32_t read() {
    uint32_t value = 0;
    EXPECT_EQ(cuMemcpyDtoH_v2(&value, word, 4), cuda::Success);
    return value;
  }
  void begin(int32_t mode = cuda::CaptureGlobal) {
    ASSERT_EQ(cuStreamBeginCapture_v2(stream, mode), cuda::Success);
  }
  /// The capture has failed, and the stream works again.
  void expectInvalid() {
    int32_t status = 0;
    EXPECT_EQ(cuStreamIsCapturing(stream, &status), cuda::Success);
    EXPECT_EQ(status, cuda::CaptureInvalidated);
    EXPECT_EQ(bump(stream), cuda::StreamCaptureInvalidated);
    cuda::Graph graph = nullptr;
    EXPECT_EQ(cuStreamEndCapture(stream, &graph),
              cuda::StreamCaptureInvalidated);
    EXPECT_EQ(graph, nullptr);
    uint32_t before = read();
    EXPECT_EQ(bump(stream), cuda::Success);
    EXPECT_EQ(read(), before + 1);
  }

  cuda::Stream stream = nullptr, other = nullptr;
  cuda::DevicePointer word = 0;
  cuda::Module module = nullptr;
  cuda::Function function = nullptr;
  cuda::Event event = nullptr;
};

} // namespace

TEST_F(Graphs, LaunchesRepeatWhatWasCaptured) {
  begin();
  EXPECT_EQ(cuMemsetD32Async(word, 5, 1, stream), cuda::Success);
  EXPECT_EQ(bump(stream), cuda::Success);
  EXPECT_EQ(bump(stream), cuda::Success);
  cuda::Graph graph = nullptr;
  ASSERT_EQ(cuStreamEndCapture(stream, &graph), cuda::Success);
  EXPECT_EQ(read(), 10u);
  cuda::GraphExec executable = nullptr;
  ASSERT_EQ(cuGraphInstantiateWithFlags(&executable, graph, 0), cuda::Success);
  ASSERT_EQ(cuGraphDestroy(graph), cuda::Success);
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(cuGraphLaunch(executable, other), cuda::Success);
    EXPECT_EQ(read(), 7u);
    EXPECT_EQ(bump(stream), cuda::Success);
  }
  EXPECT_EQ(cuGraphExecDestroy(executable), cuda::Success);
  EXPECT_EQ(cuGraphLaunch(executable, other), cuda::InvalidHandle);
}

TEST_F(Graphs, StreamsThatWaitForEventsJoin) {
  begin();
  EXPECT_EQ(bump(stream), cuda::Success);
  ASSERT_EQ(cuEventRecord(event, stream), cuda::Success);
  ASSERT_EQ(cuStreamWaitEvent(other, event, 0), cuda::Success);
  EXPECT_EQ(bump(other), cuda::Success);
  ASSERT_EQ(cuEventRecord(event, other), cuda::Success);
  ASSERT_EQ(cuStreamWaitEvent(stream, event, 0), cuda::Success);
  cuda::Graph graph = nullptr;
  ASSERT_EQ(cuStreamEndCapture(stream, &graph), cuda::Success);
  int32_t status = -1;
  EXPECT_EQ(cuStreamIsCapturing(other, &status), cuda::Success);
  EXPECT_EQ(status, cuda::CaptureNone);
  EXPECT_EQ(read(), 10u);
  EXPECT_EQ(cuGraphDestroy(graph), cuda::Success);
}

TEST_F(Graphs, JoinedStreamsAreWaitedFor) {
  begin();
  ASSERT_EQ(cuEventRecord(event, stream), cuda::Success);
  ASSERT_EQ(cuStreamWaitEvent(other, event, 0), cuda::Success);
  EXPECT_EQ(bump(other), cuda::Success);
  cuda::Graph graph = nullptr;
  EXPECT_EQ(cuStreamEndCapture(other, &graph), cuda::StreamCaptureUnmatched);
  EXPECT_EQ(cuStreamEndCapture(stream, &graph), cuda::StreamCaptureUnjoined);
  EXPECT_EQ(bump(other), cuda::Success);
  EXPECT_EQ(read(), 11u);
}

TEST_F(Graphs, WorkThatIsNotCapturedIsNoDependence) {
  ASSERT_EQ(cuEventRecord(event, other), cuda::Success);
  begin();
  EXPECT_EQ(cuStreamWaitEvent(stream, event, 0), cuda::StreamCaptureIsolation);
  expectInvalid();
}

TEST_F(Graphs, CallsThatWaitEndACapture) {
  begin();
  EXPECT_EQ(cuStreamSynchronize(other), cuda::Success);
  EXPECT_EQ(cuStreamSynchronize(stream), cuda::StreamCaptureUnsupported);
  expectInvalid();
  begin();
  EXPECT_EQ(cuStreamQuery(stream), cuda::StreamCaptureUnsupported);
  expectInvalid();
  begin();
  EXPECT_EQ(cuCtxSynchronize(), cuda::StreamCaptureUnsupported);
  expectInvalid();
  begin();
  ASSERT_EQ(cuEventRecord(event, stream), cuda::Success);
  EXPECT_EQ(cuEventSynchronize(event), cuda::CapturedEvent);
  expectInvalid();
}

TEST_F(Graphs, CallsThatAllocateLoadOrCopyAtOnceEndACapture) {
  cuda::DevicePointer memory = 0;
  begin();
  EXPECT_EQ(cuMemAlloc_v2(&memory, 4), cuda::StreamCaptureUnsupported);
  expectInvalid();
  begin();
  EXPECT_EQ(cuMemFree_v2(word), cuda::StreamCaptureUnsupported);
  expectInvalid();
  begin();
  cuda::Module another = nullptr;
  EXPECT_EQ(cuModuleLoadData(&another, text), cuda::StreamCaptureUnsupported);
  expectInvalid();
  begin();
  uint32_t value = 0;
  EXPECT_EQ(cuMemcpyDtoH_v2(&value, word, 4), cuda::StreamCaptureUnsupported);
  expectInvalid();
  begin();
  EXPECT_EQ(cuMemsetD32_v2(word, 0, 1), cuda::StreamCaptureUnsupported);
  expectInvalid();
}

TEST_F(Graphs, ModesSayWhoMayAllocate) {
  auto allocate = [] {
    cuda::DevicePointer memory = 0;
    cuda::Result result = cuMemAlloc_v2(&memory, 4);
    cuMemFree_v2(memory);
    return result;
  };
  auto elsewhere = [&] {
    cuda::Result result = cuda::Unknown;
    std::thread([&] { result = allocate(); }).join();
    return result;
  };
  begin(cuda::CaptureRelaxed);
  EXPECT_EQ(allocate(), cuda::Success);
  cuda::Graph graph = nullptr;
  ASSERT_EQ(cuStreamEndCapture(stream, &graph), cuda::Success);
  EXPECT_EQ(cuGraphDestroy(graph), cuda::Success);
  begin(cuda::CaptureThreadLocal);
  EXPECT_EQ(elsewhere(), cuda::Success);
  EXPECT_EQ(allocate(), cuda::StreamCaptureUnsupported);
  expectInvalid();
  begin(cuda::CaptureGlobal);
  EXPECT_EQ(elsewhere(), cuda::StreamCaptureUnsupported);
  expectInvalid();
  begin(cuda::CaptureGlobal);
  int32_t mode = cuda::CaptureRelaxed;
  EXPECT_EQ(cuThreadExchangeStreamCaptureMode(&mode), cuda::Success);
  EXPECT_EQ(mode, cuda::CaptureGlobal);
  EXPECT_EQ(allocate(), cuda::Success);
  EXPECT_EQ(cuThreadExchangeStreamCaptureMode(&mode), cuda::Success);
  EXPECT_EQ(mode, cuda::CaptureRelaxed);
  EXPECT_EQ(cuStreamEndCapture(stream, &graph), cuda::Success);
  EXPECT_EQ(cuGraphDestroy(graph), cuda::Success);
}

TEST_F(Graphs, TheDefaultStreamWaitsForBlockingStreamsOnly) {
  EXPECT_EQ(cuStreamBeginCapture_v2(nullptr, 0),
            cuda::StreamCaptureUnsupported);
  begin();
  EXPECT_EQ(bump(nullptr), cuda::Success);
  cuda::Graph graph = nullptr;
  EXPECT_EQ(cuStreamEndCapture(stream, &graph), cuda::Success);
  EXPECT_EQ(cuGraphDestroy(graph), cuda::Success);
  cuda::Stream blocking = nullptr;
  ASSERT_EQ(cuStreamCreate(&blocking, 0), cuda::Success);
  ASSERT_EQ(cuStreamBeginCapture_v2(blocking, 0), cuda::Success);
  EXPECT_EQ(bump(nullptr), cuda::StreamCaptureImplicit);
  EXPECT_EQ(cuStreamEndCapture(blocking, &graph),
            cuda::StreamCaptureInvalidated);
  EXPECT_EQ(cuStreamDestroy_v2(blocking), cuda::Success);
}

TEST_F(Graphs, RowsAreCopied) {
  char from[6] = {'a', 'b', 'x', 'c', 'd', 'x'};
  cuda::DevicePointer rows = 0;
  ASSERT_EQ(cuMemAlloc_v2(&rows, 8), cuda::Success);
  ASSERT_EQ(cuMemsetD8_v2(rows, '-', 8), cuda::Success);
  cuda::Copy2D copy{};
  copy.sourceType = cuda::MemoryHost;
  copy.sourceHost = from;
  copy.sourcePitch = 3;
  copy.targetType = cuda::MemoryDevice;
  copy.targetDevice = rows;
  copy.targetPitch = 4;
  copy.widthInBytes = 2;
  copy.height = 2;
  EXPECT_EQ(cuMemcpy2DAsync_v2(&copy, stream), cuda::Success);
  char seen[9] = {};
  ASSERT_EQ(cuMemcpyDtoH_v2(seen, rows, 8), cuda::Success);
  EXPECT_STREQ(seen, "ab--cd--");
  // What is said to be the device's is not looked for on the host.
  copy.sourceType = cuda::MemoryDevice;
  copy.sourceDevice = reinterpret_cast<cuda::DevicePointer>(from);
  EXPECT_EQ(cuMemcpy2DAsync_v2(&copy, stream), cuda::InvalidValue);
  copy.widthInBytes = 4;
  EXPECT_EQ(cuMemcpy2DAsync_v2(&copy, stream), cuda::InvalidValue);
  EXPECT_EQ(cuMemFree_v2(rows), cuda::Success);
}
