//===- NpyHeader.h - The dictionary at the start of a .npy file -*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Parser of the Python literal that describes the array. Private to the
// library.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_LIB_TENSORIO_NPYHEADER_H
#define NVFP4_LIB_TENSORIO_NPYHEADER_H

#include "nvfp4/TensorIO/Expected.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace nvfp4::tensorio {

/// `{'descr': ..., 'fortran_order': ..., 'shape': (...)}`.
struct NpyHeader {
  /// The type string, such as `<f4`.
  std::string descr;
  /// The name of the field, where the type is a structure of one field.
  std::string fieldName;
  bool fortranOrder = false;
  std::vector<int64_t> shape;
};

/// Parses `text`; `file` stands in messages.
Expected<NpyHeader> parseNpyHeader(const std::string &file,
                                   std::string_view text);

} // namespace nvfp4::tensorio

#endif // NVFP4_LIB_TENSORIO_NPYHEADER_H
