//===- Descriptor.cpp - MLIR's descriptors of tensors -----------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Arguments have passed the checks of Check.h, so that rows follow each other.
//
//===----------------------------------------------------------------------===//

#include "Descriptor.h"

#include "ElementType.h"

#include <cstring>

using namespace nvfp4::runtime;

static size_t descriptorWords(size_t rank) { return 3 + 2 * rank; }

CallValues::CallValues(const FunctionMetadata &metadata) : metadata(metadata) {
  size_t size = 0;
  for (const ValueMetadata &value : metadata.results) {
    size_t alignment = value.isScalar ? sizeOf(value.type) : sizeof(Word);
    size_t bytes = value.isScalar
                       ? sizeOf(value.type)
                       : descriptorWords(value.shape.size()) * sizeof(Word);
    size = (size + alignment - 1) / alignment * alignment;
    offsets.push_back(size);
    size += bytes;
  }
  storage.resize(size / sizeof(Word) + 1);
}

void CallValues::add(const DLTensor &tensor, char *data) {
  if (metadata.arguments[values.size()].isScalar) {
    values.push_back(data);
    return;
  }
  auto rank = static_cast<size_t>(tensor.ndim);
  std::vector<Word> &words =
      descriptors.emplace_back(descriptorWords(rank), Word());
  std::memcpy(&words[0], &data, sizeof(data));
  std::memcpy(&words[1], &data, sizeof(data));
  // Strides of a tensor without elements may be any number.
  uint64_t stride = 1;
  for (size_t i = rank; i-- > 0;) {
    words[3 + i] = tensor.shape[i];
    words[3 + rank + i] = static_cast<Word>(stride);
    stride *= static_cast<uint64_t>(tensor.shape[i]);
  }
  values.push_back(words.data());
}

void **CallValues::get() {
  values.push_back(storage.data());
  return values.data();
}

const char *CallValues::getScalar(size_t index) const {
  return reinterpret_cast<const char *>(storage.data()) + offsets[index];
}

ReturnedTensor CallValues::getTensor(size_t index) const {
  // A struct with pointers has them at multiples of their size.
  const Word *words = storage.data() + offsets[index] / sizeof(Word);
  const ValueMetadata &value = metadata.results[index];
  return {reinterpret_cast<void *>(words[0]),
          reinterpret_cast<char *>(words[1]) +
              words[2] * static_cast<Word>(sizeOf(value.type)),
          std::span(words + 3, value.shape.size())};
}
