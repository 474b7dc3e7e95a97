//===- Tensor.cpp - A dense tensor in memory or in a mapped file ----------===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Construction with checked sizes, views, copies and element access. Products
// of extents are checked for overflow before memory is asked for.
//
//===----------------------------------------------------------------------===//

#include "nvfp4/TensorIO/Tensor.h"
#include "Text.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace nvfp4::tensorio {

std::string formatShape(std::span<const int64_t> shape) {
  std::string out = "[";
  for (size_t i = 0; i < shape.size(); ++i) {
    if (i == maxRank) {
      out += ", ...";
      break;
    }
    out += concat(i ? ", " : "", shape[i]);
  }
  return out + "]";
}

Expected<int64_t> countElements(std::span<const int64_t> shape) {
  if (shape.size() > maxRank)
    return Error{concat("expected a rank of at most ", maxRank, ", but got ",
                        shape.size())};
  int64_t product = 1;
  bool empty = false;
  for (int64_t dim : shape) {
    if (dim < 0)
      return Error{concat("expected dimensions of at least 0, but got shape ",
                          formatShape(shape))};
    if (dim == 0) {
      empty = true;
      continue;
    }
    if (__builtin_mul_overflow(product, dim, &product))
      return Error{concat("expected fewer than 2^63 elements, but got shape ",
                          formatShape(shape))};
  }
  return empty ? 0 : product;
}

Expected<int64_t> countBytes(DType dtype, std::span<const int64_t> shape) {
  Expected<int64_t> elements = countElements(shape);
  if (!elements)
    return elements;
  int64_t bytes;
  if (__builtin_mul_overflow(*elements, int64_t(dtypeSize(dtype)), &bytes))
    return Error{concat("expected fewer than 2^63 bytes, but got shape ",
                        formatShape(shape), " of ", dtypeName(dtype))};
  return bytes;
}

Expected<Tensor> Tensor::allocate(DType dtype, std::vector<int64_t> shape) {
  Expected<int64_t> size = countBytes(dtype, shape);
  if (!size)
    return size.takeError();
  Tensor result;
  result.type = dtype;
  result.writable = true;
  result.size = *size;
  // aligned_alloc wants a multiple of the alignment, and an empty tensor gets
  // a valid address too.
  size_t rounded = std::max<size_t>(result.size, 1);
  rounded += (ownedAlignment - rounded % ownedAlignment) % ownedAlignment;
  void *memory = std::aligned_alloc(ownedAlignment, rounded);
  if (!memory)
    return Error{concat("cannot allocate ", result.size, " bytes for ",
                        formatShape(shape), " ", dtypeName(dtype))};
  std::memset(memory, 0, rounded);
  result.owner = std::shared_ptr<const void>(
      memory, [](const void *p) { std::free(const_cast<void *>(p)); });
  result.begin = static_cast<const std::byte *>(memory);
  result.dims = std::move(shape);
  return result;
}

Expected<Tensor> Tensor::copyOf(DType dtype, std::vector<int64_t> shape,
                                std::span<const std::byte> bytes) {
  Expected<Tensor> checked = view(dtype, std::move(shape), bytes, nullptr);
  if (!checked)
    return checked;
  return checked->clone();
}

Expected<Tensor> Tensor::view(DType dtype, std::vector<int64_t> shape,
                              std::span<const std::byte> bytes,
                              std::shared_ptr<const void> owner) {
  Expected<int64_t> size = countBytes(dtype, shape);
  if (!size)
    return size.takeError();
  if (uint64_t(*size) != bytes.size())
    return Error{concat("expected ", *size, " bytes for ", formatShape(shape),
                        " ", dtypeName(dtype), ", but got ", bytes.size())};
  Tensor result;
  result.type = dtype;
  result.dims = std::move(shape);
  result.begin = bytes.data();
  result.size = bytes.size();
  result.owner = std::move(owner);
  return result;
}

std::span<std::byte> Tensor::mutableBytes() {
  assert(isWritable() && "the bytes of a view are read-only");
  return {const_cast<std::byte *>(begin), size};
}

bool Tensor::isAligned(size_t alignment) const {
  return reinterpret_cast<uintptr_t>(begin) % alignment == 0;
}

double Tensor::at(int64_t index) const {
  assert(index >= 0 && index < numElements() && "element out of range");
  return decodeElement(type, begin + size_t(index) * dtypeSize(type));
}

Expected<Tensor> Tensor::clone() const {
  Expected<Tensor> copy = allocate(type, dims);
  if (copy && size)
    std::memcpy(copy->mutableBytes().data(), begin, size);
  return copy;
}

Expected<Tensor> Tensor::aligned(size_t alignment) const {
  assert(alignment <= ownedAlignment && "owned storage is not aligned so far");
  if (begin && isAligned(alignment))
    return *this;
  return clone();
}

Expected<Tensor> Tensor::reinterpret(DType dtype) const {
  if (dtypeSize(dtype) != dtypeSize(type))
    return Error{concat("expected a type of ", dtypeSize(type),
                        " bytes to read ", dtypeName(type), " as, but got ",
                        dtypeName(dtype), " of ", dtypeSize(dtype))};
  Tensor result = *this;
  result.type = dtype;
  return result;
}

Expected<Tensor> Tensor::reshape(std::vector<int64_t> shape) const {
  Expected<int64_t> elements = countElements(shape);
  if (!elements)
    return elements.takeError();
  if (*elements != numElements())
    return Error{concat("expected a shape of ", numElements(),
                        " elements, but got ", formatShape(shape), " of ",
                        *elements)};
  Tensor result = *this;
  result.dims = std::move(shape);
  return result;
}

std::string Tensor::describe() const {
  return concat(formatShape(dims), " ", dtypeName(type));
}

} // namespace nvfp4::tensorio
