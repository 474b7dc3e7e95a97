//===- DeviceFunctionTest.cpp - Calls on device memory ----------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// On two devices of the simulator: prepare, what a call needs, run on streams
// of the caller and in graphs, and what is refused.
//
//===----------------------------------------------------------------------===//

#include "SimTensors.h"

#include "nvfp4/Runtime/nvfp4_device.h"

#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>

using namespace nvfp4;
using namespace nvfp4::test;

namespace {

/// A call of `chain`: rows of four, times a factor twice.
struct Chain {
  Chain(const nvfp4_function *function, DLDevice place, int64_t rows,
        int32_t factor)
      : function(function), rows(rows), factor(factor),
        in(place, 16 * static_cast<size_t>(rows)),
        out(place, 16 * static_cast<size_t>(rows)), workspace(place, 1 << 16),
        shape{rows, 4} {
    x = makeTensor(in.get(), shape, kI32);
    y = makeTensor(out.get(), shape, kI32);
    x.device = y.device = place;
    s = makeTensor(&this->factor, none, kI32);
    std::vector<int32_t> values(4 * static_cast<size_t>(rows));
    for (size_t i = 0; i < values.size(); ++i)
      values[i] = static_cast<int32_t>(i);
    in.write(values);
    out.write(std::vector<int32_t>(values.size(), -1));
  }
  nvfp4_status measure(size_t &bytes) {
    const DLTensor *arguments[] = {&x, &s};
    return nvfp4_function_workspace(function, arguments, 2, &bytes);
  }
  nvfp4_status run(cuda::Stream stream, size_t bytes = 1 << 16) {
    const DLTensor *arguments[] = {&x, &s};
    DLTensor *results[] = {&y};
    return nvfp4_function_run(function, arguments, 2, results, 1,
                              workspace.get(), bytes, stream);
  }
  void expectResult(int32_t scale) {
    std::vector<int32_t> values = out.read(4 * static_cast<size_t>(rows));
    for (size_t i = 0; i < values.size(); ++i)
      ASSERT_EQ(values[i], static_cast<int32_t>(i) * scale) << i;
  }

  const nvfp4_function *function;
  int64_t rows;
  int32_t factor;
  Memory in, out, workspace;
  std::vector<int64_t> shape, none;
  DLTensor x, y, s;
};

struct DeviceFunctions : testing::Test {
  DeviceArtefact artefact;
  const nvfp4_function *chain = artefact.function("chain");
};

} // namespace

TEST_F(DeviceFunctions, RunOnTheCallersStreamAndMemory) {
  ASSERT_EQ(artefact.status, NVFP4_OK) << nvfp4_last_error();
  ASSERT_EQ(nvfp4_function_prepare(chain, kFirst), NVFP4_OK)
      << nvfp4_last_error();
  cuda::Stream stream = makeStream(kFirst);
  for (int64_t rows : {1, 8, 77}) {
    Chain call(chain, kFirst, rows, 3);
    EXPECT_EQ(call.run(stream), NVFP4_OK) << nvfp4_last_error();
    call.expectResult(9);
    // The default stream is one, too.
    EXPECT_EQ(call.run(nullptr), NVFP4_OK) << nvfp4_last_error();
  }
}

TEST_F(DeviceFunctions, TheWorkspaceIsAsLargeAsMeasured) {
  ASSERT_EQ(nvfp4_function_prepare(chain, kFirst), NVFP4_OK);
  for (int64_t rows : {1, 16, 17, 77}) {
    Chain call(chain, kFirst, rows, 2);
    // Shapes are enough.
    void *data = std::exchange(call.x.data, nullptr);
    size_t bytes = 0;
    ASSERT_EQ(call.measure(bytes), NVFP4_OK) << nvfp4_last_error();
    call.x.data = data;
    // Two buffers at a time, though three are asked for.
    EXPECT_EQ(bytes, 2 * ((16 * static_cast<size_t>(rows) + 255) / 256 * 256));
    EXPECT_EQ(call.run(nullptr, bytes), NVFP4_OK) << nvfp4_last_error();
    call.expectResult(4);
    EXPECT_EQ(call.run(nullptr, bytes - 1), NVFP4_INVALID_ARGUMENT);
    EXPECT_TRUE(says("expected a workspace of at least " +
                     std::to_string(bytes) + " bytes, but got " +
                     std::to_string(bytes - 1)))
        << nvfp4_last_error();
  }
}

TEST_F(DeviceFunctions, ShapesOfResultsFollowFromThoseOfArguments) {
  std::vector<int64_t> shape{5, 4}, none;
  int32_t factor = 1;
  DLTensor x = makeTensor(nullptr, shape, kI32),
           s = makeTensor(&factor, none, kI32);
  const DLTensor *arguments[] = {&x, &s};
  int64_t result[2] = {};
  int64_t *shapes[] = {result};
  ASSERT_EQ(nvfp4_function_result_shapes(chain, arguments, 2, shapes, 1),
            NVFP4_OK)
      << nvfp4_last_error();
  EXPECT_EQ(result[0], 5);
  EXPECT_EQ(result[1], 4);
  s.data = nullptr;
  EXPECT_EQ(nvfp4_function_result_shapes(chain, arguments, 2, shapes, 1),
            NVFP4_INVALID_ARGUMENT);
  EXPECT_TRUE(says("argument 1 of 'chain': expected data"))
      << nvfp4_last_error();
}

TEST_F(DeviceFunctions, GraphsRepeatACallOnOtherData) {
  ASSERT_EQ(nvfp4_function_prepare(chain, kFirst), NVFP4_OK);
  cuda::Stream stream = makeStream(kFirst);
  Chain call(chain, kFirst, 8, 3);
  ASSERT_EQ(cuStreamBeginCapture_v2(stream, cuda::CaptureGlobal),
            cuda::Success);
  EXPECT_EQ(call.run(stream), NVFP4_OK) << nvfp4_last_error();
  cuda::Graph graph = nullptr;
  ASSERT_EQ(cuStreamEndCapture(stream, &graph), cuda::Success);
  EXPECT_EQ(call.out.read(1)[0], -1);
  cuda::GraphExec executable = nullptr;
  ASSERT_EQ(cuGraphInstantiateWithFlags(&executable, graph, 0), cuda::Success);
  ASSERT_EQ(cuGraphLaunch(executable, stream), cuda::Success);
  call.expectResult(9);
  call.in.write(std::vector<int32_t>(32, 7));
  ASSERT_EQ(cuGraphLaunch(executable, stream), cuda::Success);
  EXPECT_EQ(call.out.read(32), std::vector<int32_t>(32, 63));
  EXPECT_EQ(cuGraphDestroy(graph), cuda::Success);
  EXPECT_EQ(cuGraphExecDestroy(executable), cuda::Success);
}

TEST_F(DeviceFunctions, CapturesForbidWhatACallDoesNotDo) {
  // Loading does not belong in a capture.
  cuda::Stream stream = makeStream(kFirst);
  Chain call(chain, kFirst, 8, 3);
  ASSERT_EQ(cuStreamBeginCapture_v2(stream, cuda::CaptureGlobal),
            cuda::Success);
  EXPECT_EQ(nvfp4_function_prepare(chain, kFirst), NVFP4_DEVICE_ERROR);
  EXPECT_TRUE(says("cuModuleLoad is not permitted while a stream captures"))
      << nvfp4_last_error();
  cuda::Graph graph = nullptr;
  EXPECT_EQ(cuStreamEndCapture(stream, &graph), cuda::StreamCaptureInvalidated);
  EXPECT_EQ(nvfp4_function_prepare(chain, kFirst), NVFP4_OK);
}

TEST_F(DeviceFunctions, TwoThreadsRunOneFunctionOnTwoStreams) {
  ASSERT_EQ(nvfp4_function_prepare(chain, kFirst), NVFP4_OK);
  auto work = [&](int32_t factor) {
    cuda::Stream stream = makeStream(kFirst);
    for (int64_t rows = 1; rows < 20; ++rows) {
      Chain call(chain, kFirst, rows, factor);
      ASSERT_EQ(call.run(stream), NVFP4_OK) << nvfp4_last_error();
      call.expectResult(factor * factor);
    }
  };
  std::thread other(work, 2);
  work(5);
  other.join();
}

TEST_F(DeviceFunctions, TwoDevicesRunOneFunction) {
  ASSERT_EQ(nvfp4_function_prepare(chain, kFirst), NVFP4_OK);
  Chain onFirst(chain, kFirst, 9, 2), onSecond(chain, kSecond, 9, 3);
  EXPECT_EQ(onSecond.run(nullptr), NVFP4_INVALID_ARGUMENT);
  EXPECT_TRUE(says("expected nvfp4_function_prepare for the device"))
      << nvfp4_last_error();
  ASSERT_EQ(nvfp4_function_prepare(chain, kSecond), NVFP4_OK)
      << nvfp4_last_error();
  EXPECT_EQ(onSecond.run(makeStream(kSecond)), NVFP4_OK) << nvfp4_last_error();
  EXPECT_EQ(onFirst.run(makeStream(kFirst)), NVFP4_OK) << nvfp4_last_error();
  // Null is the default stream of the tensors' device.
  EXPECT_EQ(onSecond.run(nullptr), NVFP4_OK) << nvfp4_last_error();
  onFirst.expectResult(4);
  onSecond.expectResult(9);
  // A stream of the other device is no place for the work.
  EXPECT_EQ(onFirst.run(makeStream(kSecond)), NVFP4_DEVICE_ERROR);
  EXPECT_EQ(nvfp4_function_prepare(chain, {kDLExtDev, 2}), NVFP4_UNSUPPORTED);
  EXPECT_EQ(nvfp4_function_prepare(chain, {kDLROCM, 0}),
            NVFP4_INVALID_ARGUMENT);
}

TEST_F(DeviceFunctions, TensorsThatAreNotForTheDeviceAreRefused) {
  ASSERT_EQ(nvfp4_function_prepare(chain, kFirst), NVFP4_OK);
  ASSERT_EQ(nvfp4_function_prepare(chain, kSecond), NVFP4_OK);
  Chain call(chain, kFirst, 4, 2);
  auto refuses = [&](const char *text) {
    EXPECT_EQ(call.run(nullptr), NVFP4_INVALID_ARGUMENT) << text;
    EXPECT_TRUE(says(text)) << nvfp4_last_error();
    EXPECT_EQ(call.out.read(1)[0], -1);
  };
  call.x.device = {kDLCPU, 0};
  refuses("expected a GPU (DLPack device type 2) or a device of the simulator "
          "(12), but got DLPack device type 1");
  call.x.device = kSecond;
  refuses("result 0 of 'chain': expected memory of DLPack device type 12, "
          "number 1, but got type 12, number 0");
  call.x.device = kFirst;
  call.y.device = {kDLCPU, 0};
  refuses("result 0 of 'chain': expected memory of DLPack device type 12, "
          "number 0, but got type 1, number 0");
  call.y.device = kFirst;
  call.s.device = kFirst;
  refuses("argument 1 of 'chain': expected memory that device cpu reaches");
  call.s.device = {kDLCPU, 0};
  int64_t strides[] = {5, 1};
  call.x.strides = strides;
  refuses("argument 0 of 'chain': expected a row-major tensor without gaps, "
          "but got stride 5 of dimension 0 of shape [4, 4]");
  call.x.strides = nullptr;
  call.x.byte_offset = 4;
  refuses("argument 0 of 'chain': expected data aligned to 16 bytes, but got "
          "an address 4 bytes past that");
  call.x.byte_offset = 0;
  call.x.dtype = kF32;
  refuses("argument 0 of 'chain': expected element type i32, but got f32");
  call.x.dtype = kI32;
  std::vector<int64_t> other{3, 4};
  call.y.shape = other.data();
  refuses("'chain': chain: expected result 0 of shape [4, 4], but got [3, 4]");
  call.y.shape = call.shape.data();
  call.y.data = nullptr;
  refuses("result 0 of 'chain': expected data, but got a null pointer");
  call.y.data = call.out.get();
  EXPECT_EQ(call.run(nullptr), NVFP4_OK) << nvfp4_last_error();
  call.expectResult(4);

  const DLTensor *arguments[] = {&call.x, &call.s};
  DLTensor *results[] = {&call.y};
  EXPECT_EQ(nvfp4_function_run(chain, arguments, 2, results, 1,
                               static_cast<char *>(call.workspace.get()) + 16,
                               4096, nullptr),
            NVFP4_INVALID_ARGUMENT);
  EXPECT_TRUE(says("expected a workspace at a multiple of 256 bytes"));
  EXPECT_EQ(nvfp4_function_run(chain, arguments, 2, results, 1, nullptr, 4096,
                               nullptr),
            NVFP4_INVALID_ARGUMENT);
  EXPECT_EQ(nvfp4_function_run(nullptr, arguments, 2, results, 1, nullptr, 0,
                               nullptr),
            NVFP4_INVALID_ARGUMENT);
  EXPECT_EQ(
      nvfp4_function_run(chain, arguments, 1, results, 1, nullptr, 0, nullptr),
      NVFP4_INVALID_ARGUMENT);
}

TEST_F(DeviceFunctions, OthersHaveNoDeviceMemory) {
  TestArtefact host;
  const nvfp4_function *scale = host.function("scale");
  size_t bytes = 0;
  for (nvfp4_status status :
       {nvfp4_function_prepare(scale, kFirst),
        nvfp4_function_take_violation(scale, kFirst),
        nvfp4_function_workspace(scale, nullptr, 0, &bytes),
        nvfp4_function_result_shapes(scale, nullptr, 0, nullptr, 0),
        nvfp4_function_run(scale, nullptr, 0, nullptr, 0, nullptr, 0,
                           nullptr)}) {
    EXPECT_EQ(status, NVFP4_UNSUPPORTED);
    EXPECT_TRUE(says("'scale': expected a function on device memory; compile "
                     "it with --memory=device, or call it by "
                     "nvfp4_function_call"));
  }
}

TEST_F(DeviceFunctions, HostTensorsAreCopiedByCallsOfTools) {
  std::vector<int32_t> data{1, 2, 3, 4, 5, 6, 7, 8};
  std::vector<int64_t> shape{2, 4}, none;
  int32_t factor = 3;
  DLTensor x = makeTensor(data.data(), shape, kI32),
           s = makeTensor(&factor, none, kI32);
  const DLTensor *arguments[] = {&x, &s};
  DLManagedTensor *result = nullptr;
  ASSERT_EQ(
      nvfp4_function_call_on("sim:1", chain, arguments, 2, &result, 1, nullptr),
      NVFP4_OK)
      << nvfp4_last_error();
  EXPECT_EQ(result->dl_tensor.device.device_type, kDLCPU);
  EXPECT_EQ(result->dl_tensor.shape[0], 2);
  for (int i = 0; i < 8; ++i)
    EXPECT_EQ(static_cast<int32_t *>(result->dl_tensor.data)[i],
              9 * data[static_cast<size_t>(i)]);
  result->deleter(result);
}

TEST_F(DeviceFunctions, TablesArePartOfLaunches) {
  const nvfp4_function *table = artefact.function("table");
  ASSERT_EQ(nvfp4_function_prepare(table, kFirst), NVFP4_OK);
  Memory memory(kFirst, 40 * 128), values(kFirst, 64);
  std::vector<int64_t> shape{40, 128}, codes{1, 8};
  DLTensor t = makeTensor(memory.get(), shape, {kDLUInt, 8, 1});
  DLTensor v = makeTensor(values.get(), codes, {kDLUInt, 8, 1});
  t.device = v.device = kFirst;
  const DLTensor *arguments[] = {&t, &v};
  ASSERT_EQ(
      nvfp4_function_run(table, arguments, 2, nullptr, 0, nullptr, 0, nullptr),
      NVFP4_OK)
      << nvfp4_last_error();
  std::vector<int32_t> words = memory.read(40 * 32);
  for (int32_t i = 0; i < 40 * 32; ++i)
    ASSERT_EQ(words[static_cast<size_t>(i)], i / 32 * 0x01010101) << i;

  // Values of FP4 may be called bytes, pairs or what they are.
  auto accepts = [&](DLDataType type, int64_t columns) {
    v.dtype = type;
    codes[1] = columns;
    return nvfp4_function_run(table, arguments, 2, nullptr, 0, nullptr, 0,
                              nullptr);
  };
  EXPECT_EQ(accepts({kDLInt, 8, 1}, 8), NVFP4_OK);
  EXPECT_EQ(accepts({NVFP4_DL_FLOAT4_E2M1FN, 4, 2}, 8), NVFP4_OK)
      << nvfp4_last_error();
  EXPECT_EQ(accepts({NVFP4_DL_FLOAT4_E2M1FN, 4, 1}, 16), NVFP4_OK)
      << nvfp4_last_error();
  EXPECT_EQ(accepts({NVFP4_DL_FLOAT4_E2M1FN, 4, 1}, 8), NVFP4_INVALID_ARGUMENT);
  EXPECT_TRUE(says("expected shape [?, 8], but got [1, 4]"))
      << nvfp4_last_error();
  EXPECT_EQ(accepts({NVFP4_DL_FLOAT4_E2M1FN, 4, 1}, 15),
            NVFP4_INVALID_ARGUMENT);
  EXPECT_TRUE(says("expected element type i8, but got f4E2M1FN"))
      << nvfp4_last_error();
  EXPECT_EQ(accepts({NVFP4_DL_FLOAT4_E2M1FN, 4, 4}, 8), NVFP4_INVALID_ARGUMENT);
}

TEST_F(DeviceFunctions, TheFirstErrorEndsTheWorkOfACall) {
  const nvfp4_function *misuse = artefact.function("misuse");
  ASSERT_EQ(nvfp4_function_prepare(misuse, kFirst), NVFP4_OK);
  const std::pair<nvfp4_status, const char *> expected[] = {
      {NVFP4_DEVICE_ERROR, "mgpuMemcpy: cuMemcpyDtoDAsync: invalid argument"},
      {NVFP4_DEVICE_ERROR, "mgpuMemcpy: cuMemcpyDtoDAsync: invalid argument"},
      {NVFP4_UNSUPPORTED,
       "memory of the host is not used in nvfp4_function_run"},
      {NVFP4_DEVICE_ERROR,
       "misuse: expected extents and numbers of rows below 2147483648 on a "
       "GPU, but got 2147483648"},
      {NVFP4_INVALID_DATA,
       "'misuse': misuse: expected an extent to be 4, but got 3 [label_c1]"},
  };
  for (int32_t number = 0; number < 5; ++number) {
    Memory memory(kFirst, 16);
    memory.write({1, 1, 1, 1});
    std::vector<int64_t> shape{4}, none;
    DLTensor x = makeTensor(memory.get(), shape, kI32),
             s = makeTensor(&number, none, kI32);
    x.device = kFirst;
    const DLTensor *arguments[] = {&x, &s};
    EXPECT_EQ(nvfp4_function_run(misuse, arguments, 2, nullptr, 0, nullptr, 0,
                                 nullptr),
              expected[number].first)
        << number;
    EXPECT_TRUE(says(expected[number].second)) << nvfp4_last_error();
    EXPECT_EQ(memory.read(4), std::vector<int32_t>(4, 1));
  }
}

TEST_F(DeviceFunctions, CheckSyncMakesErrorsOfKernelsThoseOfTheCall) {
  ASSERT_EQ(nvfp4_function_prepare(chain, kSecond), NVFP4_OK);
  Chain call(chain, kSecond, 4, 2);
  setenv("NVFP4_CHECK", "async", 1);
  EXPECT_EQ(call.run(nullptr), NVFP4_INVALID_ARGUMENT);
  EXPECT_TRUE(says("expected 'sync' or nothing in NVFP4_CHECK, but got "
                   "'async'"));
  EXPECT_EQ(call.out.read(1)[0], -1);
  setenv("NVFP4_CHECK", "sync", 1);
  EXPECT_EQ(call.run(nullptr), NVFP4_OK) << nvfp4_last_error();
  // The memory of the argument is no more.
  {
    call.x.data = Memory(kSecond, 64).get();
  }
  EXPECT_EQ(call.run(nullptr), NVFP4_DEVICE_ERROR);
  EXPECT_TRUE(says("CUDA_ERROR_ILLEGAL_ADDRESS")) << nvfp4_last_error();
  EXPECT_EQ(cuDevicePrimaryCtxReset_v2(1), cuda::Success);
  unsetenv("NVFP4_CHECK");
}
