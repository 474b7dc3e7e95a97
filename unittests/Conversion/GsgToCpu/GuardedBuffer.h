//===- GuardedBuffer.h - memory that ends at a guard page -------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A buffer of exactly `bytes` bytes whose end lies against a page that may not
// be touched, so any access past it faults.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_UNITTESTS_CONVERSION_GSGTOCPU_GUARDEDBUFFER_H
#define NVFP4_UNITTESTS_CONVERSION_GSGTOCPU_GUARDEDBUFFER_H

#include <cstdint>
#include <cstdlib>
#include <sys/mman.h>
#include <unistd.h>

namespace nvfp4 {

class GuardedBuffer {
public:
  explicit GuardedBuffer(int64_t bytes) : bytes(bytes) {
    int64_t page = sysconf(_SC_PAGESIZE);
    int64_t body = (bytes + page - 1) / page * page;
    mapped = body + 2 * page;
    base = mmap(nullptr, mapped, PROT_READ | PROT_WRITE,
                MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (base == MAP_FAILED)
      std::abort();
    auto *start = static_cast<uint8_t *>(base);
    mprotect(start, page, PROT_NONE);
    mprotect(start + page + body, page, PROT_NONE);
    begin = start + page + (body - bytes);
  }
  ~GuardedBuffer() { munmap(base, mapped); }
  GuardedBuffer(const GuardedBuffer &) = delete;
  GuardedBuffer &operator=(const GuardedBuffer &) = delete;

  uint8_t *data() { return begin; }
  template <typename T> T *as() { return reinterpret_cast<T *>(begin); }
  int64_t size() const { return bytes; }

private:
  void *base;
  uint8_t *begin;
  int64_t bytes, mapped;
};

} // namespace nvfp4

#endif // NVFP4_UNITTESTS_CONVERSION_GSGTOCPU_GUARDEDBUFFER_H
