//===- Checks.h - What is wrong with data -----------------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The messages of nvfp4_checks.h, for numbers that the host has read and for
// those that a kernel has found. Each is empty if nothing is wrong, and else
// names the constraint, the value seen and the nearest legal one.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_LIB_RUNTIME_CHECKS_H
#define NVFP4_LIB_RUNTIME_CHECKS_H

#include "nvfp4/Runtime/nvfp4_checks.h"

#include <optional>
#include <string>

namespace nvfp4::runtime {

/// grouping_c6 to grouping_c8.
struct GroupRule {
  /// NVFP4_GROUP_ENDS and so on; what groups begin at; what they cut.
  int64_t form, align, extent;

  /// Entry `group`, `value`, after `previous`, which is 0 for the first;
  /// `isLast` of all entries.
  std::string explain(const char *where, int64_t group, bool isLast,
                      int64_t previous, int64_t value) const;
};

/// Whether an entry of a table names one of `limit` things, or none.
inline bool isIndex(int64_t value, int64_t limit) {
  return value >= -1 && value < limit;
}

/// isIndex for an entry of `what`, a vector if there is no column.
std::string explainIndex(const char *where, const char *label, const char *what,
                         int64_t row, std::optional<int64_t> column,
                         int64_t value, int64_t limit);

/// `what` is finite and above zero.
std::string explainPositive(const char *where, const char *label,
                            const char *what, float seen);

/// A factor of packed weights in a format of nvfp4/Format/BlockFormat.h.
std::string explainFactor(const char *where, float seen, int64_t format);

/// `what`, which scales of groups take, are at least `needed`.
std::string explainRoom(const char *where, const char *label, const char *what,
                        int64_t seen, int64_t needed);

} // namespace nvfp4::runtime

#endif // NVFP4_LIB_RUNTIME_CHECKS_H
