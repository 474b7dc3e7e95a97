//===- NpyFuzzer.cpp - Fuzzes the reader of .npy files ----------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The first byte chooses the type that the caller names; the rest is the file.
// What is accepted must be consistent: its size follows from its shape, every
// element can be read, and our own writer's file reads back the same.
//
//===----------------------------------------------------------------------===//

#include "nvfp4/TensorIO/Npy.h"
#include "nvfp4/TensorIO/Statistics.h"

#include <algorithm>
#include <cstdlib>

using namespace nvfp4::tensorio;

static void require(bool condition) {
  if (!condition)
    std::abort();
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size == 0)
    return 0;
  NpyReadOptions options;
  if (data[0] < allDTypes().size())
    options.dtype = allDTypes()[data[0]];
  // The seeds lie behind a byte that names no type.
  Expected<Tensor> tensor = parseNpy(
      "input", std::as_bytes(std::span(data + 1, size - 1)), nullptr, options);
  if (!tensor) {
    require(!tensor.message().empty());
    return 0;
  }
  require(*countBytes(tensor->dtype(), tensor->shape()) ==
          int64_t(tensor->sizeInBytes()));
  require(computeStatistics(*tensor).elements == tensor->numElements());

  std::string file = encodeNpyHeader(tensor->dtype(), tensor->shape());
  file.append(reinterpret_cast<const char *>(tensor->data()),
              tensor->sizeInBytes());
  Expected<Tensor> again = parseNpy(
      "again", std::as_bytes(std::span(file.data(), file.size())), nullptr);
  require(bool(again));
  require(again->dtype() == tensor->dtype());
  require(std::ranges::equal(again->shape(), tensor->shape()));
  require(std::ranges::equal(again->bytes(), tensor->bytes()));
  return 0;
}
