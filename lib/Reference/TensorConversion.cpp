//===- TensorConversion.cpp - Tensors of files and of the reference -------===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Element types map one to one; reals widen to f64 and are rounded on the way
// back.
//
//===----------------------------------------------------------------------===//

#include "nvfp4/Reference/TensorConversion.h"

#include "nvfp4/Format/Float16.h"

#include "llvm/Support/ErrorHandling.h"

#include <cstring>

namespace nvfp4::reference {
namespace {

using tensorio::DType;

DType dtypeOf(Element element) {
  switch (element) {
  case Element::F64:
    return DType::F64;
  case Element::F32:
    return DType::F32;
  case Element::F16:
    return DType::F16;
  case Element::BF16:
    return DType::BF16;
  case Element::F8E4M3FN:
    return DType::F8E4M3FN;
  case Element::F8E5M2:
    return DType::F8E5M2;
  case Element::F8E8M0FNU:
    return DType::F8E8M0FNU;
  case Element::I1:
    return DType::Bool;
  case Element::F4E2M1FN:
    return DType::U8;
  case Element::I4:
  case Element::I8:
    return DType::I8;
  case Element::I16:
    return DType::I16;
  case Element::I32:
    return DType::I32;
  case Element::I64:
  case Element::Index:
    return DType::I64;
  }
  return DType::U8;
}

/// True when bytes of `dtype` may be read as `element`.
bool fits(DType dtype, Element element) {
  if (dtype == dtypeOf(element))
    return true;
  if (isByte(element) && element != Element::I1)
    return dtype == DType::U8 || dtype == DType::I8;
  return (dtype == DType::U16 && element == Element::I16) ||
         (dtype == DType::U32 && element == Element::I32) ||
         (dtype == DType::U64 &&
          (element == Element::I64 || element == Element::Index));
}

template <typename T> void store(std::byte *out, T value) {
  std::memcpy(out, &value, sizeof(T));
}

/// A signed integer of `size` bytes, little-endian.
int64_t loadInteger(const std::byte *in, size_t size) {
  uint64_t bits = 0;
  std::memcpy(&bits, in, size);
  auto unused = static_cast<int>(64 - 8 * size);
  return static_cast<int64_t>(bits << unused) >> unused;
}

} // namespace

llvm::Expected<Tensor> fromTensorIO(const tensorio::Tensor &tensor,
                                    Element element) {
  if (!fits(tensor.dtype(), element))
    return makeError(llvm::Twine("expected a tensor of ") +
                     std::string(tensorio::dtypeName(dtypeOf(element))) +
                     ", but got " + tensor.describe());
  llvm::SmallVector<int64_t> shape(tensor.shape().begin(),
                                   tensor.shape().end());
  auto count = static_cast<size_t>(tensor.numElements());
  const std::byte *in = tensor.data();
  size_t size = tensorio::dtypeSize(tensor.dtype());
  if (isByte(element)) {
    std::vector<uint8_t> bytes(count);
    for (size_t i = 0; i < count; ++i)
      bytes[i] = static_cast<uint8_t>(in[i]);
    return Tensor::ofBytes(element, shape, std::move(bytes));
  }
  if (isFloat(element)) {
    std::vector<double> values(count);
    for (size_t i = 0; i < count; ++i)
      values[i] = tensorio::decodeElement(tensor.dtype(), in + i * size);
    return Tensor::ofReals(element, shape, std::move(values));
  }
  std::vector<int64_t> values(count);
  for (size_t i = 0; i < count; ++i)
    values[i] = loadInteger(in + i * size, size);
  return Tensor::ofIntegers(element, shape, std::move(values));
}

llvm::Expected<tensorio::Tensor> toTensorIO(const Tensor &tensor) {
  auto made = tensorio::Tensor::allocate(
      dtypeOf(tensor.element()),
      std::vector<int64_t>(tensor.shape().begin(), tensor.shape().end()));
  if (!made)
    return makeError(made.message());
  std::byte *out = made->mutableBytes().data();
  size_t size = tensorio::dtypeSize(made->dtype());
  for (int64_t i = 0; i < tensor.numElements(); ++i, out += size) {
    if (isByte(tensor.element())) {
      *out = static_cast<std::byte>(tensor.bytes()[static_cast<size_t>(i)]);
      continue;
    }
    if (!isFloat(tensor.element())) {
      int64_t value = tensor.integer(i);
      std::memcpy(out, &value, size);
      continue;
    }
    double value = roundTo(tensor.element(), tensor.real(i).value);
    switch (tensor.element()) {
    case Element::F64:
      store(out, value);
      break;
    case Element::F32:
      store(out, static_cast<float>(value));
      break;
    case Element::F16:
      store(out, format::f32ToF16(static_cast<float>(value)));
      break;
    case Element::BF16:
      store(out, format::f32ToBF16(static_cast<float>(value)));
      break;
    case Element::F8E4M3FN:
    case Element::F8E5M2:
    case Element::F4E2M1FN:
    case Element::F8E8M0FNU:
    case Element::I1:
    case Element::I4:
    case Element::I8:
    case Element::I16:
    case Element::I32:
    case Element::I64:
    case Element::Index:
      llvm_unreachable("expected a float of two bytes or more");
    }
  }
  return std::move(*made);
}

} // namespace nvfp4::reference
