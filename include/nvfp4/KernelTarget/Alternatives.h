//===- Alternatives.h - Values that a message proposes ----------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What refusals say that is legal: one spelling of lists.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_KERNELTARGET_ALTERNATIVES_H
#define NVFP4_KERNELTARGET_ALTERNATIVES_H

#include <cstddef>
#include <string>
#include <vector>

namespace nvfp4::strategy {

/// `64, 128 or 256`.
inline std::string joinAlternatives(const std::vector<std::string> &values) {
  std::string text;
  for (size_t i = 0; i < values.size(); ++i) {
    if (i > 0)
      text += i + 1 == values.size() ? " or " : ", ";
    text += values[i];
  }
  return text;
}

} // namespace nvfp4::strategy

#endif // NVFP4_KERNELTARGET_ALTERNATIVES_H
