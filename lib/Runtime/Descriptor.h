//===- Descriptor.h - MLIR's descriptors of tensors -------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// How compiled functions take arguments and give results. A descriptor is
// {allocated, aligned, offset, sizes[rank], strides[rank]}, all 8 bytes wide;
// several results come back as one struct of descriptors and scalars.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_LIB_RUNTIME_DESCRIPTOR_H
#define NVFP4_LIB_RUNTIME_DESCRIPTOR_H

#include "Metadata.h"

#include <cstdint>
#include <deque>
#include <span>
#include <vector>

namespace nvfp4::runtime {

using Word = int64_t;
static_assert(sizeof(void *) == sizeof(Word));

/// A result as the code returned it. The shape is a view of the CallValues, so
/// that nothing is allocated before the result has an owner.
struct ReturnedTensor {
  void *allocated;
  char *data;
  std::span<const int64_t> shape;
};

/// The arguments of an entry, and room for its results.
class CallValues {
public:
  explicit CallValues(const FunctionMetadata &metadata);

  /// Adds the next argument: a tensor at `data`, or a scalar there.
  void add(const DLTensor &tensor, char *data);
  /// The arguments of the entry.
  void **get();
  /// Where scalar `index` of the results is.
  const char *getScalar(size_t index) const;
  ReturnedTensor getTensor(size_t index) const;

private:
  const FunctionMetadata &metadata;
  std::deque<std::vector<Word>> descriptors;
  std::vector<void *> values;
  /// Byte offsets of the results in the struct that the entry fills.
  std::vector<size_t> offsets;
  std::vector<Word> storage;
};

} // namespace nvfp4::runtime

#endif // NVFP4_LIB_RUNTIME_DESCRIPTOR_H
