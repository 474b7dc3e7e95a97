//===- Tensor.h - A dense tensor in memory or in a mapped file --*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The tensors that readers return and writers take: an element type, a shape
// and row-major little-endian bytes, which are either owned or a window of a
// memory-mapped file.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_TENSORIO_TENSOR_H
#define NVFP4_TENSORIO_TENSOR_H

#include "nvfp4/TensorIO/DType.h"
#include "nvfp4/TensorIO/Expected.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace nvfp4::tensorio {

/// The largest rank that any reader accepts (numpy's limit).
inline constexpr size_t maxRank = 64;

/// Alignment, in bytes, of the storage of owned tensors.
inline constexpr size_t ownedAlignment = 64;

/// Prints a shape as `[2, 3]`; a scalar is `[]`.
std::string formatShape(std::span<const int64_t> shape);

/// The number of elements of `shape`. Fails on a negative dimension, on a rank
/// above maxRank, and where the product overflows int64_t. Dimensions of zero
/// do not hide an overflow of the others.
Expected<int64_t> countElements(std::span<const int64_t> shape);

/// The number of bytes of a tensor; fails as countElements does.
Expected<int64_t> countBytes(DType dtype, std::span<const int64_t> shape);

/// A dense row-major tensor. Copies are cheap and share the bytes; use clone()
/// for a private copy.
class Tensor {
public:
  /// An empty u8 tensor of shape [0].
  Tensor() : dims{0} {}

  /// A zero-filled, writable tensor. Fails on an impossible shape and when the
  /// memory cannot be had.
  static Expected<Tensor> allocate(DType dtype, std::vector<int64_t> shape);

  /// A writable tensor with a copy of `bytes`, whose size must match.
  static Expected<Tensor> copyOf(DType dtype, std::vector<int64_t> shape,
                                 std::span<const std::byte> bytes);

  /// A read-only view of `bytes`, which live as long as `owner`; the size must
  /// match.
  static Expected<Tensor> view(DType dtype, std::vector<int64_t> shape,
                               std::span<const std::byte> bytes,
                               std::shared_ptr<const void> owner);

  DType dtype() const { return type; }
  std::span<const int64_t> shape() const { return dims; }
  size_t rank() const { return dims.size(); }
  int64_t numElements() const {
    return static_cast<int64_t>(size / dtypeSize(type));
  }
  size_t sizeInBytes() const { return size; }

  /// The elements, row-major and little-endian. A view can have any alignment.
  std::span<const std::byte> bytes() const { return {begin, size}; }
  const std::byte *data() const { return begin; }

  /// True if the bytes may be written, which holds for owned tensors.
  bool isWritable() const { return writable; }
  /// The bytes for writing; the tensor must be writable. Tensors that share
  /// the storage see the change.
  std::span<std::byte> mutableBytes();

  /// True if the first byte lies at a multiple of `alignment`.
  bool isAligned(size_t alignment) const;

  /// The element at row-major position `index` as a double; see decodeElement.
  /// Asserts that the index is in range.
  double at(int64_t index) const;

  /// A writable copy with storage of its own, aligned to ownedAlignment.
  Expected<Tensor> clone() const;

  /// This tensor if it is aligned, or else a clone. Compiled code wants at
  /// least the alignment of the element; files do not promise it.
  Expected<Tensor> aligned(size_t alignment = ownedAlignment) const;

  /// The same bytes read as another type of the same element size.
  Expected<Tensor> reinterpret(DType dtype) const;

  /// The same bytes with another shape of as many elements.
  Expected<Tensor> reshape(std::vector<int64_t> shape) const;

  /// `[2, 3] bf16`, for messages.
  std::string describe() const;

private:
  DType type = DType::U8;
  bool writable = false;
  std::vector<int64_t> dims;
  const std::byte *begin = nullptr;
  size_t size = 0;
  std::shared_ptr<const void> owner;
};

} // namespace nvfp4::tensorio

#endif // NVFP4_TENSORIO_TENSOR_H
