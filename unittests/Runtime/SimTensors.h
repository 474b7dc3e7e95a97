//===- SimTensors.h - Memory of simulated devices ---------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Memory and streams of two devices, and the artefact, for all tests of
// functions on device memory.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_UNITTESTS_RUNTIME_SIMTENSORS_H
#define NVFP4_UNITTESTS_RUNTIME_SIMTENSORS_H

#include "Driver/Api.h"
#include "TestTensors.h"

#include "gtest/gtest.h"

#include <string>
#include <vector>

namespace nvfp4::test {

inline constexpr DLDataType kI32 = {kDLInt, 32, 1};
inline constexpr DLDevice kFirst = {kDLExtDev, 0}, kSecond = {kDLExtDev, 1};

inline bool says(const std::string &part) {
  return std::string(nvfp4_last_error()).find(part) != std::string::npos;
}

/// Memory of a device of the simulator, as another library would have it.
class Memory {
public:
  Memory(DLDevice place, size_t bytes) {
    EXPECT_EQ(cuInit(0), cuda::Success);
    EXPECT_EQ(cuDevicePrimaryCtxRetain(&context, place.device_id),
              cuda::Success);
    EXPECT_EQ(cuCtxPushCurrent_v2(context), cuda::Success);
    EXPECT_EQ(cuMemAlloc_v2(&address, bytes), cuda::Success);
    EXPECT_EQ(cuCtxPopCurrent_v2(nullptr), cuda::Success);
  }
  ~Memory() { EXPECT_EQ(cuMemFree_v2(address), cuda::Success); }
  void *get() const { return reinterpret_cast<void *>(address); }
  void write(const std::vector<int32_t> &values) {
    EXPECT_EQ(cuMemcpyHtoD_v2(address, values.data(), 4 * values.size()),
              cuda::Success);
  }
  std::vector<int32_t> read(size_t count) const {
    std::vector<int32_t> values(count);
    EXPECT_EQ(cuMemcpyDtoH_v2(values.data(), address, 4 * count),
              cuda::Success);
    return values;
  }

private:
  cuda::Context context = nullptr;
  cuda::DevicePointer address = 0;
};

inline cuda::Stream makeStream(DLDevice place) {
  cuda::Context context = nullptr;
  cuda::Stream stream = nullptr;
  EXPECT_EQ(cuInit(0), cuda::Success);
  EXPECT_EQ(cuDevicePrimaryCtxRetain(&context, place.device_id), cuda::Success);
  EXPECT_EQ(cuCtxPushCurrent_v2(context), cuda::Success);
  EXPECT_EQ(cuStreamCreate(&stream, cuda::streamNonBlocking), cuda::Success);
  EXPECT_EQ(cuCtxPopCurrent_v2(nullptr), cuda::Success);
  return stream;
}

struct DeviceArtefact : TestArtefact {
  DeviceArtefact() : TestArtefact(NVFP4_TEST_DEVICE_ARTEFACT) {}
};

} // namespace nvfp4::test

#endif // NVFP4_UNITTESTS_RUNTIME_SIMTENSORS_H
