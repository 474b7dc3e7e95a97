//===- Diagnostic.h - errors with a place in the PTX text -------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The front end never prints and never stops the process: it collects
// diagnostics, and the caller decides what to do with them.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_SIMULATOR_PTX_DIAGNOSTIC_H
#define NVFP4_SIMULATOR_PTX_DIAGNOSTIC_H

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace nvfp4::sim {

/// A place in the PTX text; line and column count from 1, 0 is unknown.
struct SourceLocation {
  uint32_t line = 0;
  uint32_t column = 0;
};

/// One error of the front end.
struct Diagnostic {
  SourceLocation location;
  std::string message;
};

/// The errors of one module, in the order they were found.
class Diagnostics {
public:
  explicit Diagnostics(std::string fileName = "<ptx>")
      : fileName(std::move(fileName)) {}

  /// Adds an error. Always returns false, so that `return error(...)` reads
  /// well in functions that return success.
  bool error(SourceLocation location, std::string message) {
    if (errors.size() < maxErrors)
      errors.push_back({location, std::move(message)});
    return false;
  }

  bool hasErrors() const { return !errors.empty(); }
  const std::vector<Diagnostic> &all() const { return errors; }

  /// All errors as "file:line:column: error: message" lines.
  std::string str() const {
    std::string text;
    for (const Diagnostic &d : errors)
      text += fileName + ":" + std::to_string(d.location.line) + ":" +
              std::to_string(d.location.column) + ": error: " + d.message +
              "\n";
    return text;
  }

private:
  static constexpr size_t maxErrors = 64;
  std::string fileName;
  std::vector<Diagnostic> errors;
};

} // namespace nvfp4::sim

#endif // NVFP4_SIMULATOR_PTX_DIAGNOSTIC_H
