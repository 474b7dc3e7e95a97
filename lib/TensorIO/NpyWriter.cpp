//===- NpyWriter.cpp - Writer of NumPy .npy files ---------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Version 1.0 headers, padded so that the data start at a multiple of 64.
//
//===----------------------------------------------------------------------===//

#include "Text.h"
#include "nvfp4/TensorIO/Npy.h"
#include "nvfp4/TensorIO/OutputFile.h"

namespace nvfp4::tensorio {

static std::string_view npyDescr(DType dtype) {
  switch (dtype) {
  case DType::Bool:
    return "'|b1'";
  case DType::U8:
    return "'|u1'";
  case DType::I8:
    return "'|i1'";
  case DType::U16:
    return "'<u2'";
  case DType::I16:
    return "'<i2'";
  case DType::U32:
    return "'<u4'";
  case DType::I32:
    return "'<i4'";
  case DType::U64:
    return "'<u8'";
  case DType::I64:
    return "'<i8'";
  case DType::F16:
    return "'<f2'";
  case DType::BF16:
    return "'<V2'";
  case DType::F32:
    return "'<f4'";
  case DType::F64:
    return "'<f8'";
  // 'V1' would not say which type it is, and NumPy cannot load '<f1'.
  case DType::F8E4M3FN:
    return "[('float8_e4m3fn', '|u1')]";
  case DType::F8E5M2:
    return "[('float8_e5m2', '|u1')]";
  case DType::F8E8M0FNU:
    return "[('float8_e8m0fnu', '|u1')]";
  }
  return "";
}

std::string encodeNpyHeader(DType dtype, std::span<const int64_t> shape) {
  std::string dictionary = concat("{'descr': ", npyDescr(dtype),
                                  ", 'fortran_order': False, 'shape': (");
  for (size_t i = 0; i < shape.size(); ++i)
    dictionary += concat(i ? " " : "", shape[i],
                         i + 1 < shape.size() || i == 0 ? "," : "");
  dictionary += "), }";
  constexpr size_t prefix = 10;
  size_t padding = 63 - (prefix + dictionary.size()) % 64;
  dictionary.append(padding, ' ');
  dictionary += '\n';
  // 64 dimensions of 19 digits fit in the two bytes of the length.
  size_t length = dictionary.size();
  std::string header("\x93NUMPY\x01\x00", 8);
  header += static_cast<char>(length & 0xff);
  header += static_cast<char>(length >> 8);
  return header + dictionary;
}

Status writeNpy(const std::string &path, const Tensor &tensor) {
  Expected<OutputFile> file = OutputFile::create(path);
  if (!file)
    return file.takeError();
  if (Status status =
          file->write(encodeNpyHeader(tensor.dtype(), tensor.shape()));
      !status)
    return status;
  if (Status status = file->write(tensor.bytes()); !status)
    return status;
  return file->commit();
}

} // namespace nvfp4::tensorio
