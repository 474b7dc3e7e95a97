//===- Lexer.h - tokens of PTX ----------------------------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Splits PTX text into tokens. A dotted word (".shared::cluster", ".2d") is one
// token, because opcode modifiers may start with a digit.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_SIMULATOR_PTX_LEXER_H
#define NVFP4_SIMULATOR_PTX_LEXER_H

#include "nvfp4/Simulator/Ptx/Diagnostic.h"

#include <string_view>
#include <vector>

namespace nvfp4::sim {

/// One token; `text` points into the source.
struct Token {
  enum class Kind : uint8_t {
    End,
    /// An identifier, including `%r1`, `$L__BB0_1` and `_`.
    Identifier,
    /// A word after a dot; the text excludes the dot.
    Dotted,
    /// An integer or float literal, without sign.
    Number,
    /// A quoted string; the text excludes the quotes.
    String,
    /// One of {}[]()<>,;:|!@+-*/=~&^?%.
    Punctuation,
  };
  Kind kind = Kind::End;
  std::string_view text;
  SourceLocation location;

  bool is(char c) const {
    return kind == Kind::Punctuation && text.size() == 1 && text[0] == c;
  }
};

/// Splits `text` into tokens, the last of which is `End`. Comments are
/// skipped; characters outside the language are diagnosed and skipped.
std::vector<Token> tokenize(std::string_view text, Diagnostics &diagnostics);

} // namespace nvfp4::sim

#endif // NVFP4_SIMULATOR_PTX_LEXER_H
