//===- Npy.cpp - Reader of NumPy .npy files ---------------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Magic, header, type, size; then a view of the mapped bytes, or a conversion
// from big-endian or Fortran-ordered data.
//
//===----------------------------------------------------------------------===//

#include "nvfp4/TensorIO/Npy.h"
#include "NpyHeader.h"
#include "Text.h"
#include "nvfp4/TensorIO/MappedFile.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace nvfp4::tensorio {

/// Headers are some hundred bytes long; beyond this a file is damaged.
static constexpr uint64_t maxHeaderLength = 1 << 20;

namespace {
/// The meaning of a type string. `dtype` is empty for raw bytes.
struct Element {
  std::optional<DType> dtype;
  size_t size = 0;
  bool swap = false;
};
} // namespace

static std::optional<DType> nativeType(char kind, size_t size) {
  switch (kind) {
  case 'b':
    if (size == 1)
      return DType::Bool;
    break;
  case 'u':
    switch (size) {
    case 1:
      return DType::U8;
    case 2:
      return DType::U16;
    case 4:
      return DType::U32;
    case 8:
      return DType::U64;
    }
    break;
  case 'i':
    switch (size) {
    case 1:
      return DType::I8;
    case 2:
      return DType::I16;
    case 4:
      return DType::I32;
    case 8:
      return DType::I64;
    }
    break;
  case 'f':
    switch (size) {
    case 1:
      return DType::F8E5M2;
    case 2:
      return DType::F16;
    case 4:
      return DType::F32;
    case 8:
      return DType::F64;
    }
    break;
  }
  return std::nullopt;
}

static Expected<Element> parseElement(const std::string &name,
                                      const NpyHeader &header) {
  const std::string &descr = header.descr;
  auto unsupported = [&] {
    return errorIn(name,
                   "expected a boolean, integer, float or raw type, but "
                   "got the type string ",
                   inQuotes(descr));
  };
  if (descr.size() != 3 || descr[2] < '1' || descr[2] > '8')
    return unsupported();
  char order = descr[0], kind = descr[1];
  if (order != '<' && order != '>' && order != '|' && order != '=')
    return unsupported();
  Element element;
  element.size = descr[2] - '0';
  element.swap = order == '>' && element.size > 1;
  if (kind == 'V') {
    if (!std::has_single_bit(element.size))
      return unsupported();
    // NumPy gives its own raw types no byte order; ml_dtypes does, and has one
    // type of two bytes.
    if (order == '<' && element.size == 2)
      element.dtype = DType::BF16;
  } else {
    element.dtype = nativeType(kind, element.size);
    if (!element.dtype)
      return unsupported();
  }
  // A field named after a type holds that type.
  if (std::optional<DType> named = parseDType(header.fieldName);
      named && dtypeSize(*named) == element.size &&
      (kind == 'V' || kind == 'u' || kind == 'i'))
    element.dtype = named;
  return element;
}

static Expected<DType> chooseDType(const std::string &name,
                                   const NpyHeader &header,
                                   const Element &element,
                                   std::optional<DType> wanted) {
  if (!wanted) {
    if (element.dtype)
      return *element.dtype;
    return errorIn(name, "expected a type, but got ", element.size,
                   " raw bytes per element (", inQuotes(header.descr),
                   "); name the type, as in '@",
                   element.size == 2 ? "bf16" : "f8_e4m3fn", "'");
  }
  if (element.dtype == wanted)
    return *wanted;
  if (dtypeSize(*wanted) != element.size)
    return errorIn(name, "expected ", dtypeName(*wanted), " of ",
                   dtypeSize(*wanted), " bytes, but got ",
                   inQuotes(header.descr), " of ", element.size);
  // ml_dtypes' mark on two raw bytes is a hint, not a statement.
  bool raw = header.descr[1] == 'V';
  if (element.dtype && !isIntegral(*element.dtype) && !raw)
    return errorIn(name, "expected raw or integer data to read as ",
                   dtypeName(*wanted), ", but got ", dtypeName(*element.dtype));
  return *wanted;
}

static void swapBytes(std::span<std::byte> bytes, size_t size) {
  for (size_t i = 0; i < bytes.size(); i += size)
    std::reverse(bytes.data() + i, bytes.data() + i + size);
}

/// Copies column-major `source` to row-major `target`.
template <size_t size>
static void transposeInto(std::span<const int64_t> shape,
                          const std::byte *source, std::byte *target,
                          int64_t elements) {
  size_t rank = shape.size();
  std::vector<int64_t> stride(rank, 1), position(rank, 0);
  for (size_t i = 1; i < rank; ++i)
    stride[i] = stride[i - 1] * shape[i - 1];
  int64_t offset = 0;
  for (int64_t element = 0; element < elements; ++element) {
    std::memcpy(target + element * size, source + offset * size, size);
    for (size_t i = rank; i-- > 0;) {
      offset += stride[i];
      if (++position[i] < shape[i])
        break;
      offset -= stride[i] * shape[i];
      position[i] = 0;
    }
  }
}

static void fortranToC(std::span<const int64_t> shape, size_t size,
                       const std::byte *source, std::byte *target,
                       int64_t elements) {
  switch (size) {
  case 1:
    return transposeInto<1>(shape, source, target, elements);
  case 2:
    return transposeInto<2>(shape, source, target, elements);
  case 4:
    return transposeInto<4>(shape, source, target, elements);
  default:
    return transposeInto<8>(shape, source, target, elements);
  }
}

Expected<Tensor> parseNpy(const std::string &name,
                          std::span<const std::byte> bytes,
                          std::shared_ptr<const void> owner,
                          const NpyReadOptions &options) {
  std::string_view text(reinterpret_cast<const char *>(bytes.data()),
                        bytes.size());
  constexpr std::string_view magic("\x93NUMPY", 6);
  if (text.substr(0, magic.size()) != magic)
    return errorIn(name, "expected a .npy file that starts with ",
                   "'\\x93NUMPY', but got ",
                   inQuotes(text.substr(0, magic.size())));
  if (text.size() < 8)
    return errorIn(name, "expected a format version, but the file ends after ",
                   text.size(), " bytes");
  unsigned major = static_cast<uint8_t>(text[6]);
  unsigned minor = static_cast<uint8_t>(text[7]);
  if (major < 1 || major > 3 || minor != 0)
    return errorIn(name, "expected format version 1.0, 2.0 or 3.0, but got ",
                   major, ".", minor);
  size_t lengthSize = major == 1 ? 2 : 4;
  size_t headerBegin = 8 + lengthSize;
  if (text.size() < headerBegin)
    return errorIn(name, "expected a header length of ", lengthSize,
                   " bytes, but the file ends after ", text.size(), " bytes");
  uint32_t headerLength = 0;
  std::memcpy(&headerLength, text.data() + 8, lengthSize);
  if (headerLength > maxHeaderLength)
    return errorIn(name, "expected a header of at most ", maxHeaderLength,
                   " bytes, but got ", headerLength);
  if (text.size() - headerBegin < headerLength)
    return errorIn(name, "expected a header of ", headerLength,
                   " bytes, but the file ends after ",
                   text.size() - headerBegin, " of them");

  Expected<NpyHeader> header =
      parseNpyHeader(name, text.substr(headerBegin, headerLength));
  if (!header)
    return header.takeError();
  Expected<Element> element = parseElement(name, *header);
  if (!element)
    return element.takeError();
  Expected<DType> dtype = chooseDType(name, *header, *element, options.dtype);
  if (!dtype)
    return dtype.takeError();
  Expected<int64_t> size = countBytes(*dtype, header->shape);
  if (!size)
    return errorIn(name, size.message());
  std::span<const std::byte> data = bytes.subspan(headerBegin + headerLength);
  if (data.size() != uint64_t(*size))
    return errorIn(name, "expected ", *size, " bytes of data for ",
                   formatShape(header->shape), " ", dtypeName(*dtype),
                   ", but got ", data.size());

  Expected<Tensor> tensor =
      Tensor::view(*dtype, header->shape, data, std::move(owner));
  if (!tensor)
    return errorIn(name, tensor.message());
  bool reorder = header->fortranOrder && header->shape.size() > 1;
  if ((!reorder && !element->swap) || data.empty())
    return tensor;
  Expected<Tensor> result = Tensor::allocate(*dtype, header->shape);
  if (!result)
    return errorIn(name, result.message());
  std::span<std::byte> target = result->mutableBytes();
  if (reorder)
    fortranToC(header->shape, element->size, data.data(), target.data(),
               tensor->numElements());
  else
    std::memcpy(target.data(), data.data(), data.size());
  if (element->swap)
    swapBytes(target, element->size);
  return result;
}

Expected<Tensor> readNpy(const std::string &path,
                         const NpyReadOptions &options) {
  Expected<std::shared_ptr<const MappedFile>> file = MappedFile::open(path);
  if (!file)
    return file.takeError();
  return parseNpy(path, (*file)->bytes(), *file, options);
}

} // namespace nvfp4::tensorio
