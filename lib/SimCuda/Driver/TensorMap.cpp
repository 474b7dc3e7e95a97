//===- TensorMap.cpp - tensor maps of the stand-in driver -------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The bytes are the simulator's own, so kernels and hosts must take them as
// opaque.
//
//===----------------------------------------------------------------------===//

#include "State.h"

#include <cstring>

using namespace nvfp4;
using namespace nvfp4::simcuda;
using cuda::Result;

NVFP4_SIM_API Result cuTensorMapEncodeTiled(
    cuda::TensorMap *map, int type, uint32_t rank, void *address,
    const uint64_t *dimensions, const uint64_t *strides, const uint32_t *box,
    const uint32_t *elementStrides, int interleave, int swizzle,
    int l2Promotion, int fill) try {
  Entry s(false);
  if (!map || !dimensions || !box || !elementStrides || (!strides && rank > 1))
    return s->fail(cuda::InvalidValue, "expected arrays, but got null");
  if (rank < 1 || rank > 5)
    return s->fail(cuda::InvalidValue, "expected a rank of 1 to 5, but got " +
                                           std::to_string(rank));
  if (reinterpret_cast<uintptr_t>(map) % 64)
    return s->fail(cuda::InvalidValue,
                   "expected a tensor map at a multiple of 64 bytes");
  if (type < 0 || type > 15 || swizzle < 0 || swizzle > 6 || interleave < 0 ||
      interleave > 2 || l2Promotion < 0 || l2Promotion > 3 || fill < 0 ||
      fill > 1)
    return s->fail(cuda::InvalidValue,
                   "expected a type of 0 to 15, a swizzle of 0 to 6, an "
                   "interleave of 0 to 2, an L2 promotion of 0 to 3 and a fill "
                   "of 0 or 1, but got " +
                       std::to_string(type) + ", " + std::to_string(swizzle) +
                       ", " + std::to_string(interleave) + ", " +
                       std::to_string(l2Promotion) + " and " +
                       std::to_string(fill));
  sim::TensorMapSpec spec;
  spec.type = static_cast<sim::TensorType>(type);
  spec.rank = rank;
  spec.address = reinterpret_cast<uint64_t>(address);
  for (uint32_t d = 0; d < rank; ++d) {
    spec.size[d] = dimensions[d];
    spec.box[d] = box[d];
    spec.elementStride[d] = elementStrides[d];
    if (d + 1 < rank)
      spec.stride[d] = strides[d];
  }
  spec.interleave = static_cast<unsigned>(interleave);
  spec.swizzle = static_cast<sim::TensorSwizzle>(swizzle);
  spec.fillNan = fill != 0;
  sim::TensorMap encoded;
  std::string error = sim::encodeTensorMap(spec, encoded);
  if (!error.empty())
    return s->fail(cuda::InvalidValue, error);
  std::memset(map, 0, sizeof *map);
  std::memcpy(map, &encoded, sizeof encoded);
  return cuda::Success;
} catch (...) {
  return caught();
}

NVFP4_SIM_API Result cuTensorMapReplaceAddress(cuda::TensorMap *map,
                                               void *address) try {
  Entry s(false);
  if (!map)
    return s->fail(cuda::InvalidValue, "expected a tensor map, but got null");
  sim::TensorMap encoded;
  std::memcpy(static_cast<void *>(&encoded), map, sizeof encoded);
  encoded.address = reinterpret_cast<uint64_t>(address);
  std::string error = sim::checkTensorMap(encoded);
  if (!error.empty())
    return s->fail(cuda::InvalidValue, error);
  std::memcpy(map, &encoded, sizeof encoded);
  return cuda::Success;
} catch (...) {
  return caught();
}

NVFP4_SIM_API Result cuTensorMapEncodeIm2col() try {
  Entry s(false);
  return s->fail(cuda::NotSupported,
                 "tensor maps of im2col mode are not supported");
} catch (...) {
  return caught();
}
