//===- SourceText.h - Text that the parser may be given ---------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// MLIR's parser recurses without a bound on what is nested, and its diagnostics
// print the line of an error as it is. So text is looked at before it is
// parsed: how deep it nests, and that a terminal can show it.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_TOOLS_SOURCETEXT_H
#define NVFP4_TOOLS_SOURCETEXT_H

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace nvfp4::tools {

/// How deep `(`, `[`, `{` and `<` may nest.
inline constexpr size_t kMaxNesting = 256;

/// How many operators (`+`, `-`, `*`, `mod`, ...) an expression may have
/// between brackets and commas.
inline constexpr size_t kMaxOperators = 1024;

/// Why text is not parsed, and the byte at which it is known.
struct SourceProblem {
  size_t offset = 0;
  std::string message;
};

/// The first place where `text` nests too deep. Strings and comments do not
/// count, and a line `// -----` starts over.
std::optional<SourceProblem> findExcessiveNesting(std::string_view text);

/// The first byte that is no part of UTF-8 or makes a control character other
/// than white space.
std::optional<SourceProblem> findUnprintable(std::string_view text);

/// Either problem as a line of text, `file:line:column: error: message`; empty
/// if there is none. Bytecode of MLIR has neither.
std::string checkSource(std::string_view text, const std::string &file);

} // namespace nvfp4::tools

#endif // NVFP4_TOOLS_SOURCETEXT_H
