//===- MemRefCopy.cpp - Copies between strided memrefs ----------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The function that MLIR's lowering of memref.copy calls where source or
// destination has gaps.
//
//===----------------------------------------------------------------------===//

#include <cstdint>
#include <cstring>

namespace {
/// An unranked memref: the rank and a pointer to the ranked descriptor.
struct UnrankedMemRef {
  int64_t rank;
  const int64_t *descriptor;

  char *data(int64_t elementSize) const {
    char *aligned = nullptr;
    std::memcpy(&aligned, &descriptor[1], sizeof(aligned));
    return aligned + descriptor[2] * elementSize;
  }
  const int64_t *sizes() const { return descriptor + 3; }
  const int64_t *strides() const { return descriptor + 3 + rank; }
};
} // namespace

/// Copies dimension `dim` and those after it.
static void copyFrom(int64_t dim, int64_t elementSize,
                     const UnrankedMemRef &source, const char *from,
                     const UnrankedMemRef &target, char *to) {
  if (dim == source.rank) {
    std::memcpy(to, from, elementSize);
    return;
  }
  int64_t size = source.sizes()[dim];
  int64_t fromStride = source.strides()[dim];
  int64_t toStride = target.strides()[dim];
  if (dim + 1 == source.rank && fromStride == 1 && toStride == 1) {
    if (size)
      std::memcpy(to, from, size * elementSize);
    return;
  }
  for (int64_t i = 0; i < size; ++i)
    copyFrom(dim + 1, elementSize, source, from + i * fromStride * elementSize,
             target, to + i * toStride * elementSize);
}

extern "C" __attribute__((visibility("default"))) void
memrefCopy(int64_t elementSize, UnrankedMemRef *source,
           UnrankedMemRef *target) {
  copyFrom(0, elementSize, *source, source->data(elementSize), *target,
           target->data(elementSize));
}
