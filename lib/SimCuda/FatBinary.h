//===- FatBinary.h - PTX inside fat binaries --------------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Fat binaries hold one entry for each architecture and kind of code. Layouts
// were read off files that nvcc 13.0 wrote; entries may be stored as they are,
// in LZ4 blocks or as a Zstandard frame.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_LIB_SIMCUDA_FATBINARY_H
#define NVFP4_LIB_SIMCUDA_FATBINARY_H

#include <cstdint>
#include <string>
#include <vector>

namespace nvfp4::simcuda {

/// The content of a fat binary.
struct FatBinary {
  struct Ptx {
    /// 100 for sm_100.
    unsigned architecture = 0;
    std::string text;
  };
  std::vector<Ptx> ptx;
  /// Entries of machine code, which cannot be run.
  unsigned machineCode = 0;
};

/// Whether `image` starts like a fat binary, or like the wrapper that programs
/// hand to the runtime.
bool isFatBinary(const void *image);

/// Reads the fat binary at `image`. Returns what is wrong, or an empty string.
std::string readFatBinary(const void *image, FatBinary &result);

/// Decodes LZ4 blocks of `size` bytes to exactly `decodedSize` bytes. Returns
/// false when the data are not that.
bool decodeLz4(const uint8_t *data, size_t size, size_t decodedSize,
               std::string &result);

} // namespace nvfp4::simcuda

#endif // NVFP4_LIB_SIMCUDA_FATBINARY_H
