//===- Memory.cpp - The memory of compiled code -----------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Compiled code has neither destructors nor unwind tables: a call is left by
// longjmp, and knows what it has allocated.
//
//===----------------------------------------------------------------------===//

#include "nvfp4/Runtime/nvfp4_memory.h"

#include "Check.h"
#include "Error.h"
#include "Violation.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <new>

using namespace nvfp4::runtime;

// LLVM's OpenMP runtime, as in CpuDevice.cpp.
extern "C" int omp_get_level(void);

bool nvfp4_call::run(void (*entry)(void **), void **values) {
  thread = pthread_self();
  level = omp_get_level();
  // Nothing here has a destructor.
  if (_setjmp(start) != 0)
    return false;
  entry(values);
  return true;
}

bool nvfp4_call::canEnd() const {
  return pthread_equal(thread, pthread_self()) && level == omp_get_level();
}

void nvfp4_call::end() {
  for (void *kept : memory)
    std::free(kept);
  memory.clear();
  _longjmp(start, 1);
}

bool nvfp4_call::keep(void *allocated) noexcept try {
  std::lock_guard<std::mutex> lock(mutex);
  memory.push_back(allocated);
  return true;
} catch (...) {
  return false;
}

void nvfp4_call::forget(void *freed) noexcept {
  std::lock_guard<std::mutex> lock(mutex);
  // The last allocation is mostly freed first.
  auto found = std::find(memory.rbegin(), memory.rend(), freed);
  if (found == memory.rend())
    return;
  *found = memory.back();
  memory.pop_back();
}

static void recordLack(int64_t bytes, int64_t factor) noexcept try {
  recordViolation("out of memory: no room for " +
                      (factor == 1 ? "" : std::to_string(factor) + " times ") +
                      std::to_string(bytes) + " bytes",
                  NVFP4_OUT_OF_MEMORY);
} catch (...) {
  recordException();
}

[[noreturn]] static void endCall(int64_t bytes, int64_t factor = 1) {
  nvfp4_call *call = nvfp4_call_current();
  if (!call || !call->canEnd()) {
    std::fprintf(stderr,
                 "nvfp4: out of memory: no room for %lld times %lld bytes %s\n",
                 static_cast<long long>(factor), static_cast<long long>(bytes),
                 call ? "in a parallel loop" : "outside of a call");
    std::_Exit(1);
  }
  recordLack(bytes, factor);
  call->end();
}

extern "C" int64_t nvfp4_memory_bytes(int64_t bytes, int64_t extent) {
  int64_t product = 0;
  if (extent < 0 || __builtin_mul_overflow(bytes, extent, &product) ||
      product > kAddressSpace)
    endCall(bytes, extent);
  return product;
}

extern "C" void *nvfp4_memory_of_thread(int64_t bytes) {
  void *memory = std::malloc(bytes ? bytes : 1);
  if (!memory)
    recordLack(bytes, 1);
  return memory;
}

extern "C" void *_mlir_memref_to_llvm_alloc(int64_t bytes) {
  // Null for no bytes would be no failure.
  void *memory = std::malloc(bytes ? bytes : 1);
  nvfp4_call *call = nvfp4_call_current();
  if (memory && (!call || call->keep(memory)))
    return memory;
  std::free(memory);
  endCall(bytes);
}

extern "C" void _mlir_memref_to_llvm_free(void *memory) {
  if (nvfp4_call *call = nvfp4_call_current())
    call->forget(memory);
  std::free(memory);
}
