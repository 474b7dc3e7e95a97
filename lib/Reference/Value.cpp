//===- Value.cpp - What the interpreter computes with -----------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Storage of the interpreter's tensors. New tensors hold garbage, so that a
// result which reads an unwritten element is seen to be wrong.
//
//===----------------------------------------------------------------------===//

#include "nvfp4/Reference/Value.h"

#include "nvfp4/Format/BlockFormat.h"

#include "llvm/Support/raw_ostream.h"

#include <algorithm>
#include <cassert>

namespace nvfp4::reference {
namespace {

constexpr int64_t kGarbageInteger = 0x5a5a5a5a5a5a5a5a;
constexpr uint8_t kGarbageByte = 0x7f;

int64_t countOf(llvm::ArrayRef<int64_t> shape) {
  int64_t count = 1;
  for (int64_t size : shape)
    count *= size;
  return count;
}

/// Keeps the low bits of `value` as a signed number of the element's width; i1
/// is 0 or 1.
int64_t wrap(Element element, int64_t value) {
  if (element == Element::I1)
    return value & 1;
  int unused = 64 - bitWidth(element);
  return static_cast<int64_t>(static_cast<uint64_t>(value) << unused) >> unused;
}

/// `[2, ?, 3]`.
std::string shapeText(llvm::ArrayRef<int64_t> shape) {
  std::string text = "[";
  llvm::raw_string_ostream os(text);
  llvm::interleaveComma(shape, os, [&](int64_t size) {
    if (mlir::ShapedType::isDynamic(size))
      os << "?";
    else
      os << size;
  });
  return text + "]";
}

} // namespace

llvm::Error makeError(const llvm::Twine &message) {
  return llvm::createStringError(llvm::inconvertibleErrorCode(), message);
}

Tensor::Tensor() : dims{0}, data(std::make_shared<Data>()) {}

Tensor Tensor::unwritten(Element element, llvm::ArrayRef<int64_t> shape) {
  auto size = static_cast<size_t>(countOf(shape));
  if (isByte(element))
    return ofBytes(element, shape, std::vector<uint8_t>(size, kGarbageByte));
  if (!isFloat(element))
    return ofIntegers(
        element, shape,
        std::vector<int64_t>(size, wrap(element, kGarbageInteger)));
  return ofReals(element, shape, std::vector<double>(size, kUnwritten.value),
                 std::vector<double>(size, kUnwritten.bound));
}

Tensor Tensor::zeros(Element element, llvm::ArrayRef<int64_t> shape) {
  auto size = static_cast<size_t>(countOf(shape));
  if (isByte(element))
    return ofBytes(element, shape, std::vector<uint8_t>(size));
  if (!isFloat(element))
    return ofIntegers(element, shape, std::vector<int64_t>(size));
  return ofReals(element, shape, std::vector<double>(size));
}

Tensor Tensor::ofReals(Element element, llvm::ArrayRef<int64_t> shape,
                       std::vector<double> values, std::vector<double> bounds) {
  assert(isFloat(element) && !isByte(element));
  Tensor tensor;
  tensor.type = element;
  tensor.dims.assign(shape.begin(), shape.end());
  tensor.count = static_cast<int64_t>(values.size());
  assert(tensor.count == countOf(shape));
  tensor.data->reals = std::move(values);
  tensor.data->bounds = std::move(bounds);
  return tensor;
}

Tensor Tensor::ofIntegers(Element element, llvm::ArrayRef<int64_t> shape,
                          std::vector<int64_t> values) {
  assert(!isFloat(element) && !isByte(element));
  Tensor tensor;
  tensor.type = element;
  tensor.dims.assign(shape.begin(), shape.end());
  tensor.count = static_cast<int64_t>(values.size());
  assert(tensor.count == countOf(shape));
  tensor.data->integers = std::move(values);
  return tensor;
}

Tensor Tensor::ofBytes(Element element, llvm::ArrayRef<int64_t> shape,
                       std::vector<uint8_t> bytes) {
  assert(isByte(element));
  Tensor tensor;
  tensor.type = element;
  tensor.dims.assign(shape.begin(), shape.end());
  tensor.count = static_cast<int64_t>(bytes.size());
  assert(tensor.count == countOf(shape));
  tensor.data->bytes = std::move(bytes);
  return tensor;
}

std::string Tensor::describe() const {
  std::string text = "tensor<";
  llvm::raw_string_ostream os(text);
  for (int64_t size : dims)
    os << size << "x";
  os << stringify(type) << ">";
  return text;
}

Tensor::Data &Tensor::write() {
  if (data.use_count() != 1)
    data = std::make_shared<Data>(*data);
  return *data;
}

Real Tensor::real(int64_t index) const {
  auto i = static_cast<size_t>(index);
  if (isByte(type))
    return {decodeCode(type, data->bytes[i]), 0.0};
  return {data->reals[i], data->bounds.empty() ? 0.0 : data->bounds[i]};
}

int64_t Tensor::integer(int64_t index) const {
  auto i = static_cast<size_t>(index);
  if (isByte(type))
    return wrap(type, data->bytes[i]);
  return data->integers[i];
}

Scalar Tensor::at(int64_t index) const {
  if (isFloat(type))
    return Scalar::ofReal(type, real(index));
  Scalar scalar = Scalar::ofInteger(type, integer(index));
  scalar.ambiguous = type == Element::I1 && !data->bounds.empty() &&
                     data->bounds[static_cast<size_t>(index)] != 0;
  return scalar;
}

void Tensor::setReal(int64_t index, Real r) {
  auto i = static_cast<size_t>(index);
  Data &d = write();
  if (isByte(type)) {
    d.bytes[i] = encodeCode(type, r.value);
    return;
  }
  d.reals[i] = r.value;
  if (d.bounds.empty() && r.bound != 0)
    d.bounds.resize(d.reals.size());
  if (!d.bounds.empty())
    d.bounds[i] = r.bound;
}

void Tensor::set(int64_t index, const Scalar &scalar) {
  if (isFloat(type))
    return setReal(index, scalar.real);
  auto i = static_cast<size_t>(index);
  Data &d = write();
  if (type == Element::I1 && (scalar.ambiguous || !d.bounds.empty())) {
    d.bounds.resize(d.bytes.size());
    d.bounds[i] = scalar.ambiguous ? 1.0 : 0.0;
  }
  if (isByte(type))
    d.bytes[i] = static_cast<uint8_t>(scalar.integer);
  else
    d.integers[i] = wrap(type, scalar.integer);
}

llvm::MutableArrayRef<uint8_t> Tensor::mutableBytes() { return write().bytes; }

void Tensor::setCodeBounds(std::vector<double> bounds) {
  assert(isByte(type));
  write().bounds = std::move(bounds);
}

Tensor Tensor::reshaped(llvm::ArrayRef<int64_t> shape) const {
  assert(countOf(shape) == count);
  Tensor tensor = *this;
  tensor.dims.assign(shape.begin(), shape.end());
  return tensor;
}

void Tensor::copyElements(int64_t target, const Tensor &from, int64_t source,
                          int64_t n) {
  assert(type == from.type);
  // Keeps the storage of a self copy alive.
  std::shared_ptr<Data> keep = from.data;
  Data &d = write();
  if (isByte(type))
    std::copy_n(keep->bytes.begin() + source, n, d.bytes.begin() + target);
  else if (isFloat(type))
    std::copy_n(keep->reals.begin() + source, n, d.reals.begin() + target);
  else
    std::copy_n(keep->integers.begin() + source, n,
                d.integers.begin() + target);
  if (keep->bounds.empty() && d.bounds.empty())
    return;
  // Byte tensors have one or two bounds an element.
  int64_t per = 1;
  if (isByte(type) && count != 0 && !d.bounds.empty())
    per = static_cast<int64_t>(d.bounds.size()) / count;
  if (isByte(type) && from.count != 0 && !keep->bounds.empty())
    per = static_cast<int64_t>(keep->bounds.size()) / from.count;
  d.bounds.resize(static_cast<size_t>(count * per));
  auto out = d.bounds.begin() + target * per;
  if (keep->bounds.empty())
    std::fill_n(out, n * per, 0.0);
  else
    std::copy_n(keep->bounds.begin() + source * per, n * per, out);
}

llvm::Expected<int64_t>
checkedCount(Element element, llvm::ArrayRef<int64_t> shape, int64_t maxBytes) {
  int64_t limit = isByte(element) ? maxBytes : maxBytes / 16;
  int64_t count = 1;
  bool empty = false;
  for (int64_t size : shape) {
    if (size < 0)
      return makeError("expected non-negative extents, but got " +
                       llvm::Twine(size));
    empty |= size == 0;
    if (size > 0 && count > limit / size)
      return makeError("expected a tensor of at most " + llvm::Twine(limit) +
                       " elements of " + stringify(element) +
                       "; raise the limit of the interpreter");
    count *= std::max<int64_t>(size, 1);
  }
  return empty ? 0 : count;
}

llvm::Expected<ScaledValue> makeScaled(gsg::ScaledType type, Tensor data,
                                       Tensor scales) {
  std::optional<Element> dataElement = elementOf(type.getDataElementType());
  std::optional<Element> scaleElement = elementOf(type.getScaleElementType());
  // i8 is the storage of any 8-bit type.
  auto fits = [](Element got, Element expected) {
    return got == expected || (got == Element::I8 && isByte(expected));
  };
  // storage_c5
  if (!fits(data.element(), *dataElement))
    return makeError(llvm::Twine("expected values of type ") +
                     stringify(*dataElement) + ", but got " + data.describe());
  // storage_c7
  if (!fits(scales.element(), *scaleElement))
    return makeError(llvm::Twine("expected scales of type ") +
                     stringify(*scaleElement) + ", but got " +
                     scales.describe());
  llvm::SmallVector<int64_t> shape(type.getShape());
  // Strips, blocks and their bytes stand for the rows and columns.
  int64_t rank = type.getRank() + (type.isCoded() ? 1 : 0);
  // storage_c6
  if (data.rank() != rank)
    return makeError("expected values of rank " + llvm::Twine(rank) +
                     ", but got " + data.describe());
  for (int64_t i = 0; i < type.getRank(); ++i)
    if (type.isDynamicDim(i))
      shape[static_cast<size_t>(i)] =
          data.dim(i) * (type.isFP4() && i + 1 == type.getRank() ? 2 : 1);
  gsg::ScaledType resolved = type.withShape(shape);
  // storage_c6
  if (data.shape() != llvm::ArrayRef<int64_t>(resolved.getDataShape()))
    return makeError("expected values of shape " +
                     shapeText(resolved.getDataShape()) + ", but got " +
                     data.describe());
  llvm::SmallVector<int64_t> expected = resolved.getScaleShape();
  bool scalesFit = scales.rank() == static_cast<int64_t>(expected.size());
  for (size_t i = 0; scalesFit && i < expected.size(); ++i)
    scalesFit = mlir::ShapedType::isDynamic(expected[i]) ||
                expected[i] == scales.shape()[i];
  // storage_c8, storage_c9
  if (!scalesFit)
    return makeError("expected scales of shape " + shapeText(expected) +
                     ", but got " + scales.describe());
  return ScaledValue{resolved, std::move(data), std::move(scales), nullptr};
}

} // namespace nvfp4::reference
