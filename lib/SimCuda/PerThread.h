//===- PerThread.h - values of threads that are ending ----------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Destructors of a program's variables free device memory at exit, when those
// of the main thread's `thread_local` variables have run already.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_LIB_SIMCUDA_PERTHREAD_H
#define NVFP4_LIB_SIMCUDA_PERTHREAD_H

#include <utility>

namespace nvfp4::simcuda {

/// A value of each thread, one for each `Tag`. It is usable at any time: a call
/// that comes after the thread's destructors makes a new one, which stays.
template <typename Tag, typename T> T &perThread() {
  static thread_local T *value = nullptr;
  if (!value) {
    value = new T();
    struct Release {
      ~Release() { delete std::exchange(value, nullptr); }
    };
    [[maybe_unused]] static thread_local Release release;
  }
  return *value;
}

} // namespace nvfp4::simcuda

#endif // NVFP4_LIB_SIMCUDA_PERTHREAD_H
