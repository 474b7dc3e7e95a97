//===- Check.h - Arguments against a signature ------------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Arguments of a call against the description that the compiler left in the
// artefact. Compiled code is entered only after they pass.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_LIB_RUNTIME_CHECK_H
#define NVFP4_LIB_RUNTIME_CHECK_H

#include "Module.h"

namespace nvfp4::runtime {

/// More bytes than a process can address, on x86-64 and AArch64.
inline constexpr int64_t kAddressSpace = int64_t(1) << 47;

/// Checks `tensor` against argument `index`, which must exist.
nvfp4_status checkArgument(const nvfp4_function &function, size_t index,
                           const DLTensor *tensor);

/// Checks that the values and the scales of each block-scaled argument have the
/// same number of rows, where the type says how they must relate. Every
/// argument has passed checkArgument.
nvfp4_status checkPairs(const nvfp4_function &function,
                        const DLTensor *const *arguments);

/// The address of the first element.
inline char *dataOf(const DLTensor &tensor) {
  return static_cast<char *>(tensor.data) + tensor.byte_offset;
}

} // namespace nvfp4::runtime

#endif // NVFP4_LIB_RUNTIME_CHECK_H
