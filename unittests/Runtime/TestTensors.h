//===- TestTensors.h - Tensors for calls ------------------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A hand-written artefact and DLPack tensors for it, so that these tests need
// no compiler.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_UNITTESTS_RUNTIME_TESTTENSORS_H
#define NVFP4_UNITTESTS_RUNTIME_TESTTENSORS_H

#include "nvfp4/Runtime/nvfp4_runtime.h"

#include <vector>

namespace nvfp4::test {

/// A DLTensor over data and a shape that outlive it.
inline DLTensor makeTensor(void *data, std::vector<int64_t> &shape,
                           DLDataType type) {
  DLTensor tensor{};
  tensor.data = data;
  tensor.device = {kDLCPU, 0};
  tensor.ndim = static_cast<int>(shape.size());
  tensor.dtype = type;
  tensor.shape = shape.data();
  return tensor;
}

inline constexpr DLDataType kF32 = {kDLFloat, 32, 1};

/// The hand-written module, loaded.
struct TestArtefact {
  explicit TestArtefact(const char *path = NVFP4_TEST_ARTEFACT) {
    status = nvfp4_module_load(path, &module);
  }
  ~TestArtefact() { nvfp4_module_release(module); }

  const nvfp4_function *function(const char *name) const {
    const nvfp4_function *result = nullptr;
    nvfp4_module_function(module, name, &result);
    return result;
  }

  nvfp4_status status;
  nvfp4_module *module = nullptr;
};

} // namespace nvfp4::test

#endif // NVFP4_UNITTESTS_RUNTIME_TESTTENSORS_H
