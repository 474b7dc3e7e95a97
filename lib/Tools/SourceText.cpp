//===- SourceText.cpp - Text that the parser may be given -------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A scan by characters: enough of the lexer to know strings, comments and
// arrows from brackets.
//
//===----------------------------------------------------------------------===//

#include "nvfp4/Tools/SourceText.h"

#include <algorithm>
#include <cctype>
#include <cstdint>

using namespace nvfp4::tools;

/// The end of the string that starts at `begin`, which a line ends as well.
static size_t skipString(std::string_view text, size_t begin) {
  size_t i = begin + 1;
  while (i < text.size() && text[i] != '"' && text[i] != '\n')
    i += text[i] == '\\' ? 2 : 1;
  return std::min(i + 1, text.size());
}

static bool isWord(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '$' ||
         c == '.';
}

static bool isOperator(std::string_view word) {
  return word == "+" || word == "-" || word == "*" || word == "mod" ||
         word == "floordiv" || word == "ceildiv";
}

namespace {
/// The surroundings of the current token.
struct Nesting {
  size_t depth = 0;
  size_t operators = 0;

  /// False if the limits are exceeded.
  bool enter(std::string_view token) {
    char c = token.front();
    if (token.size() == 1 &&
        std::string_view("([{<").find(c) != std::string_view::npos) {
      operators = 0;
      return ++depth <= kMaxNesting;
    }
    if (token.size() == 1 &&
        std::string_view(")]}>").find(c) != std::string_view::npos) {
      operators = 0;
      depth -= depth > 0;
      return true;
    }
    if (c == ',')
      operators = 0;
    return !isOperator(token) || ++operators <= kMaxOperators;
  }
};
} // namespace

std::optional<SourceProblem>
nvfp4::tools::findExcessiveNesting(std::string_view text) {
  Nesting nesting;
  for (size_t i = 0; i < text.size();) {
    std::string_view rest = text.substr(i);
    if (rest.front() == '"') {
      i = skipString(text, i);
      continue;
    }
    if (rest.starts_with("//")) {
      if (rest.starts_with("// -----"))
        nesting = {};
      i = std::min(text.find('\n', i), text.size());
      continue;
    }
    size_t length = 1;
    if (rest.starts_with("->") || rest.starts_with("<=") ||
        rest.starts_with(">="))
      length = 2;
    else if (isWord(rest.front()))
      length = std::min<size_t>(
          std::find_if_not(rest.begin(), rest.end(), isWord) - rest.begin(),
          rest.size());
    if (!nesting.enter(rest.substr(0, length)))
      return SourceProblem{
          i, nesting.depth > kMaxNesting
                 ? "expected at most " + std::to_string(kMaxNesting) +
                       " levels of nested brackets, but got more"
                 : "expected at most " + std::to_string(kMaxOperators) +
                       " operators in an expression without brackets, but "
                       "got more"};
    i += length;
  }
  return std::nullopt;
}

/// The length of the character of UTF-8 at the start of `text`; 0 if that is
/// none or a control character.
static size_t measureCharacter(std::string_view text) {
  auto byte = [&](size_t i) -> uint32_t {
    return i < text.size() ? static_cast<unsigned char>(text[i]) : 0;
  };
  uint32_t first = byte(0);
  if (first < 0x80)
    return (first >= 0x20 && first != 0x7f) || (first >= '\t' && first <= '\r')
               ? 1
               : 0;
  size_t length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4)
    return 0;
  uint32_t code = first & (0x7f >> length);
  for (size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80)
      return 0;
    code = code << 6 | (byte(i) & 0x3f);
  }
  static constexpr uint32_t kSmallest[] = {0, 0, 0xa0, 0x800, 0x10000};
  bool isSurrogate = code >= 0xd800 && code < 0xe000;
  return code < kSmallest[length] || code > 0x10ffff || isSurrogate ? 0
                                                                    : length;
}

std::optional<SourceProblem>
nvfp4::tools::findUnprintable(std::string_view text) {
  for (size_t i = 0; i < text.size();) {
    size_t length = measureCharacter(text.substr(i));
    if (length == 0) {
      static constexpr char kDigits[] = "0123456789abcdef";
      auto byte = static_cast<unsigned char>(text[i]);
      return SourceProblem{i, std::string("expected MLIR text, but got byte "
                                          "0x") +
                                  kDigits[byte >> 4] + kDigits[byte & 15] +
                                  " at offset " + std::to_string(i)};
    }
    i += length;
  }
  return std::nullopt;
}

std::string nvfp4::tools::checkSource(std::string_view text,
                                      const std::string &file) {
  if (text.starts_with("ML\xefR"))
    return "";
  std::optional<SourceProblem> problem = findUnprintable(text);
  if (!problem)
    problem = findExcessiveNesting(text);
  if (!problem)
    return "";
  std::string_view before = text.substr(0, problem->offset);
  auto line = 1 + std::count(before.begin(), before.end(), '\n');
  size_t column = problem->offset - (before.rfind('\n') + 1) + 1;
  return (file == "-" ? "<stdin>" : file) + ":" + std::to_string(line) + ":" +
         std::to_string(column) + ": error: " + problem->message;
}
