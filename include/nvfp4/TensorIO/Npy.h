//===- Npy.h - NumPy .npy files ---------------------------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reader and writer of NumPy's array files, format versions 1.0, 2.0 and 3.0.
//
// Types that NumPy lacks are stored as ml_dtypes stores them or by name:
//   '<V2'  bfloat16 as np.save writes an ml_dtypes array (little-endian mark)
//   '<f1'  float8_e5m2 as np.save writes it (NumPy itself cannot load it)
//   'V1', '|V2'  bytes of an unknown type; the caller must name it
//   [('bfloat16', '<u2')]  one field whose name is the type
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_TENSORIO_NPY_H
#define NVFP4_TENSORIO_NPY_H

#include "nvfp4/TensorIO/Tensor.h"

#include <memory>
#include <optional>
#include <span>
#include <string>

namespace nvfp4::tensorio {

/// The caller's knowledge about a file that does not state it itself.
struct NpyReadOptions {
  /// Reads the elements as this type. The file must hold raw bytes (`V`) or
  /// integers of the same size, or say the same type.
  std::optional<DType> dtype;
};

/// Reads the array in the file at `path`. C-ordered little-endian data stay in
/// the mapped file; Fortran order and big-endian data are converted in memory.
Expected<Tensor> readNpy(const std::string &path,
                         const NpyReadOptions &options = {});

/// Reads an array from `bytes`, which live as long as `owner`. `name` stands
/// for the file in messages.
Expected<Tensor> parseNpy(const std::string &name,
                          std::span<const std::byte> bytes,
                          std::shared_ptr<const void> owner,
                          const NpyReadOptions &options = {});

/// The bytes that precede the data in the file that writeNpy makes, a multiple
/// of 64 long.
std::string encodeNpyHeader(DType dtype, std::span<const int64_t> shape);

/// Writes `tensor` to `path`, C-ordered. An existing file is replaced at once,
/// after everything has been written. NumPy loads bfloat16 as `V2` and the
/// 8-bit floats as a structure of one field; `array.view(ml_dtypes.bfloat16)`
/// gives the numbers.
Status writeNpy(const std::string &path, const Tensor &tensor);

} // namespace nvfp4::tensorio

#endif // NVFP4_TENSORIO_NPY_H
