//===- DataRecordsTest.cpp - Bad data that kernels find ---------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A kernel that checks indices, on two devices of the simulator: the host may
// ask for violations at any time, or have each call wait for them.
//
//===----------------------------------------------------------------------===//

#include "SimTensors.h"

#include <atomic>
#include <cstdlib>
#include <thread>

using namespace nvfp4;
using namespace nvfp4::test;

namespace {

/// A call of `checked`: are all of `ids` in [-1, limit)?
struct Checked {
  Checked(const nvfp4_function *function, DLDevice place,
          std::vector<int32_t> ids, int32_t limit = 4)
      : function(function), limit(limit), memory(place, 4 * ids.size()),
        shape{static_cast<int64_t>(ids.size())} {
    memory.write(ids);
    x = makeTensor(memory.get(), shape, kI32);
    x.device = place;
    s = makeTensor(&this->limit, none, kI32);
  }
  nvfp4_status run(cuda::Stream stream) {
    const DLTensor *arguments[] = {&x, &s};
    return nvfp4_function_run(function, arguments, 2, nullptr, 0, nullptr, 0,
                              stream);
  }

  const nvfp4_function *function;
  int32_t limit;
  Memory memory;
  std::vector<int64_t> shape, none;
  DLTensor x, s;
};

struct DataRecordsOfDevices : testing::Test {
  DeviceArtefact artefact;
  const nvfp4_function *checked = artefact.function("checked");

  void SetUp() override {
    ASSERT_EQ(nvfp4_function_prepare(checked, kFirst), NVFP4_OK)
        << nvfp4_last_error();
  }
  /// The violation recorded of the function on a device; empty for none.
  std::string take(DLDevice place = kFirst) {
    nvfp4_status status = nvfp4_function_take_violation(checked, place);
    if (status == NVFP4_OK)
      return "";
    EXPECT_EQ(status, NVFP4_INVALID_DATA);
    return nvfp4_last_error();
  }
};

constexpr const char *kMessage =
    "'checked': here: expected ids[2] to be in [-1, 4), but got 7 (nearest: 3) "
    "[label_c2]";

} // namespace

TEST_F(DataRecordsOfDevices, TheFirstViolationStaysUntilItIsTaken) {
  cuda::Stream stream = makeStream(kFirst);
  Checked good(checked, kFirst, {0, -1, 3}), bad(checked, kFirst, {0, 1, 7}),
      worse(checked, kFirst, {-2});
  EXPECT_EQ(good.run(stream), NVFP4_OK) << nvfp4_last_error();
  ASSERT_EQ(cuStreamSynchronize(stream), cuda::Success);
  EXPECT_EQ(take(), "");
  for (Checked *call : {&bad, &worse, &good}) {
    EXPECT_EQ(call->run(stream), NVFP4_OK) << nvfp4_last_error();
    ASSERT_EQ(cuStreamSynchronize(stream), cuda::Success);
  }
  EXPECT_EQ(take(), kMessage);
  EXPECT_EQ(take(), "");
  EXPECT_EQ(worse.run(nullptr), NVFP4_OK);
  ASSERT_EQ(cuStreamSynchronize(nullptr), cuda::Success);
  EXPECT_EQ(take(), "'checked': here: expected ids[0] to be in [-1, 4), but "
                    "got -2 (nearest: -1) [label_c2]");
}

TEST_F(DataRecordsOfDevices, EachDeviceAndFunctionHasItsOwn) {
  EXPECT_EQ(nvfp4_function_take_violation(checked, kSecond),
            NVFP4_INVALID_ARGUMENT);
  EXPECT_TRUE(says("'checked': expected nvfp4_function_prepare for the device "
                   "before nvfp4_function_take_violation"))
      << nvfp4_last_error();
  ASSERT_EQ(nvfp4_function_prepare(checked, kSecond), NVFP4_OK);
  Checked bad(checked, kSecond, {0, 1, 7});
  EXPECT_EQ(bad.run(makeStream(kSecond)), NVFP4_OK) << nvfp4_last_error();
  ASSERT_EQ(cuCtxSynchronize(), cuda::Success);
  EXPECT_EQ(take(), "");
  EXPECT_EQ(nvfp4_function_take_violation(artefact.function("chain"), kSecond),
            NVFP4_OK);
  EXPECT_EQ(take(kSecond), kMessage);
}

TEST_F(DataRecordsOfDevices, EveryReplayOfAGraphRecordsAgain) {
  Checked call(checked, kFirst, {0, 1, 2});
  cuda::Stream stream = makeStream(kFirst);
  ASSERT_EQ(cuStreamBeginCapture_v2(stream, cuda::CaptureGlobal),
            cuda::Success);
  EXPECT_EQ(call.run(stream), NVFP4_OK) << nvfp4_last_error();
  // A question does not disturb the capture.
  EXPECT_EQ(take(), "");
  cuda::Graph graph = nullptr;
  ASSERT_EQ(cuStreamEndCapture(stream, &graph), cuda::Success);
  cuda::GraphExec executable = nullptr;
  ASSERT_EQ(cuGraphInstantiateWithFlags(&executable, graph, 0), cuda::Success);
  for (int32_t last : {2, 7, 3, 7}) {
    call.memory.write({0, 1, last});
    ASSERT_EQ(cuGraphLaunch(executable, stream), cuda::Success);
    ASSERT_EQ(cuStreamSynchronize(stream), cuda::Success);
    EXPECT_EQ(take(), last == 7 ? kMessage : "") << last;
  }
  EXPECT_EQ(cuGraphDestroy(graph), cuda::Success);
  EXPECT_EQ(cuGraphExecDestroy(executable), cuda::Success);
}

TEST_F(DataRecordsOfDevices, CheckSyncMakesViolationsErrorsOfTheirCalls) {
  setenv("NVFP4_CHECK", "sync", 1);
  // More calls at a time than there are records for such.
  std::vector<std::thread> threads;
  std::atomic<int> wrong = 0;
  for (int i = 0; i < 40; ++i)
    threads.emplace_back([&, i] {
      bool isBad = i % 2;
      Checked call(checked, kFirst, {0, 1, isBad ? 7 : 3});
      cuda::Stream stream = makeStream(kFirst);
      for (int turn = 0; turn < 3; ++turn) {
        nvfp4_status status = call.run(stream);
        wrong += status != (isBad ? NVFP4_INVALID_DATA : NVFP4_OK) ||
                 (isBad && nvfp4_last_error() != std::string(kMessage));
      }
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(wrong, 0);
  Checked call(checked, kFirst, {0, 1, 7});
  cuda::Stream stream = makeStream(kFirst);
  ASSERT_EQ(cuStreamBeginCapture_v2(stream, cuda::CaptureGlobal),
            cuda::Success);
  EXPECT_EQ(call.run(stream), NVFP4_INVALID_ARGUMENT);
  EXPECT_TRUE(says("'checked': expected no NVFP4_CHECK=sync, which waits for "
                   "the work, while the stream captures"))
      << nvfp4_last_error();
  unsetenv("NVFP4_CHECK");
  // The capture is as it was.
  EXPECT_EQ(call.run(stream), NVFP4_OK) << nvfp4_last_error();
  cuda::Graph graph = nullptr;
  ASSERT_EQ(cuStreamEndCapture(stream, &graph), cuda::Success);
  EXPECT_EQ(cuGraphDestroy(graph), cuda::Success);
  EXPECT_EQ(take(), "");
}

TEST_F(DataRecordsOfDevices, OneOfSeveralThreadsTakesAViolation) {
  const nvfp4_function *record = artefact.function("record");
  constexpr int kTurns = 50000;
  std::atomic<int> taken = 0;
  std::atomic<bool> isDone = false;
  auto ask = [&] {
    taken += nvfp4_function_take_violation(record, kFirst) != NVFP4_OK;
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i)
    threads.emplace_back([&] {
      while (!isDone)
        ask();
    });
  Checked call(record, kFirst, {0}, /*limit=*/4);
  for (int turn = 1; turn <= kTurns; ++turn) {
    EXPECT_EQ(call.run(nullptr), NVFP4_OK) << nvfp4_last_error();
    ask();
    while (taken < turn)
      std::this_thread::yield();
  }
  isDone = true;
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(taken, kTurns);
}

TEST_F(DataRecordsOfDevices, CallsThatFailWaitForTheirKernels) {
  // Devices that reach each other work when a call waits, and not before.
  cuda::Context first = nullptr, second = nullptr;
  ASSERT_EQ(cuDevicePrimaryCtxRetain(&first, 0), cuda::Success);
  ASSERT_EQ(cuDevicePrimaryCtxRetain(&second, 1), cuda::Success);
  ASSERT_EQ(cuCtxPushCurrent_v2(first), cuda::Success);
  ASSERT_EQ(cuCtxEnablePeerAccess(second, 0), cuda::Success);
  setenv("NVFP4_CHECK", "sync", 1);
  Checked bad(artefact.function("misuse"), kFirst, {7, 7, 7, 7}, /*limit=*/5),
      good(checked, kFirst, {0, 1, 3});
  cuda::Stream stream = makeStream(kFirst);
  EXPECT_EQ(bad.run(stream), NVFP4_INVALID_DATA);
  EXPECT_TRUE(says("'misuse': misuse: expected an extent to be 4, but got 3"))
      << nvfp4_last_error();
  // The next call has the same record.
  EXPECT_EQ(good.run(stream), NVFP4_OK) << nvfp4_last_error();
  unsetenv("NVFP4_CHECK");
  EXPECT_EQ(cuCtxDisablePeerAccess(second), cuda::Success);
  EXPECT_EQ(cuCtxPopCurrent_v2(nullptr), cuda::Success);
}

TEST_F(DataRecordsOfDevices, CallsWithHostTensorsFail) {
  std::vector<int32_t> ids{0, 1, 7};
  std::vector<int64_t> shape{3}, none;
  int32_t limit = 4;
  DLTensor x = makeTensor(ids.data(), shape, kI32),
           s = makeTensor(&limit, none, kI32);
  const DLTensor *arguments[] = {&x, &s};
  for (int32_t last : {7, 3}) {
    ids[2] = last;
    EXPECT_EQ(nvfp4_function_call_on("sim", checked, arguments, 2, nullptr, 0,
                                     nullptr),
              last == 7 ? NVFP4_INVALID_DATA : NVFP4_OK);
    if (last == 7) {
      EXPECT_STREQ(nvfp4_last_error(), kMessage);
    }
  }
  EXPECT_EQ(take(), "");
}

TEST_F(DataRecordsOfDevices, MessagesAreThoseOfTheHost) {
  const nvfp4_function *record = artefact.function("record");
  const char *const messages[] = {
      "expected group ends[3] to be at least 8, where the group starts, but "
      "got 6 [grouping_c7]",
      "expected group starts[3] to be a multiple of 8, but got 6 (nearest: 5) "
      "[grouping_c8]",
      // The last start is an end: the kernel should have said nothing.
      "a kernel has refused data that the runtime accepts",
      "expected group row counts[3] to be in [0, 64], but got -1 "
      "[grouping_c6]",
      "expected rows[5, 1] to be in [-1, 64), but got 64 (nearest: 63) [a_c4]",
      "expected scale to be finite and positive, but got -0.5 [b_c8]",
      "expected a power of two as the factor of a matrix of weights, but got 3",
      "expected rows of lhs to be at least 200 for the groups, but got 128 "
      "[c_c9]",
      "expected scales of weights without a sign, but got one with a sign in "
      "row 5 [d_c4]",
      "expected finite weights, but got infinity in row 5, column 7 of matrix "
      "2 [d_c4]",
      "expected scales of a matrix of weights within a factor of 2^13 of each "
      "other, but got 2^-9 and 2^6 of matrix 0 [d_c4]"};
  for (int32_t number = 0; number < 11; ++number) {
    Checked call(record, kFirst, {0}, number);
    EXPECT_EQ(call.run(nullptr), NVFP4_OK) << nvfp4_last_error();
    EXPECT_EQ(nvfp4_function_take_violation(record, kFirst),
              NVFP4_INVALID_DATA);
    EXPECT_EQ(nvfp4_last_error(),
              std::string("'record': here: ") + messages[number]);
    EXPECT_EQ(nvfp4_function_take_violation(record, kFirst), NVFP4_OK);
  }
}
