//===- Lexer.cpp - tokens of PTX --------------------------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A hand-written scanner: one pass, no allocation besides the token list.
//
//===----------------------------------------------------------------------===//

#include "nvfp4/Simulator/Ptx/Lexer.h"

namespace nvfp4::sim {
namespace {

bool isDigit(char c) { return c >= '0' && c <= '9'; }
bool isWord(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || isDigit(c) ||
         c == '_' || c == '$';
}

class Scanner {
public:
  Scanner(std::string_view text, Diagnostics &diagnostics)
      : text(text), diagnostics(diagnostics) {}

  std::vector<Token> run() {
    while (skipSpace())
      scanToken();
    tokens.push_back({Token::Kind::End, {}, here()});
    return std::move(tokens);
  }

private:
  char peek(size_t ahead = 0) const {
    return position + ahead < text.size() ? text[position + ahead] : '\0';
  }
  SourceLocation here() const {
    return {line, static_cast<uint32_t>(position - lineStart + 1)};
  }
  void newline() {
    ++line;
    lineStart = position + 1;
  }

  /// Skips blanks and comments; false at the end of the text.
  bool skipSpace() {
    while (position < text.size()) {
      char c = peek();
      if (c == '\n') {
        newline();
        ++position;
      } else if (c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == '\v') {
        ++position;
      } else if (c == '/' && peek(1) == '/') {
        while (position < text.size() && peek() != '\n')
          ++position;
      } else if (c == '/' && peek(1) == '*') {
        skipBlockComment();
      } else {
        return true;
      }
    }
    return false;
  }

  void skipBlockComment() {
    SourceLocation start = here();
    position += 2;
    while (position < text.size()) {
      if (peek() == '*' && peek(1) == '/') {
        position += 2;
        return;
      }
      if (peek() == '\n')
        newline();
      ++position;
    }
    diagnostics.error(start, "comment is not closed");
  }

  void add(Token::Kind kind, size_t begin, size_t end,
           SourceLocation location) {
    tokens.push_back({kind, text.substr(begin, end - begin), location});
  }

  void scanToken() {
    SourceLocation start = here();
    size_t begin = position;
    char c = peek();
    if (c == '.' && isWord(peek(1)))
      return scanDotted(start);
    if (isDigit(c))
      return scanNumber(start);
    if (c == '"')
      return scanString(start);
    if (isWord(c) || (c == '%' && isWord(peek(1)))) {
      ++position;
      while (isWord(peek()))
        ++position;
      return add(Token::Kind::Identifier, begin, position, start);
    }
    if (std::string_view("{}[]()<>,;:|!@+-*/=~&^?%.").find(c) !=
        std::string_view::npos) {
      ++position;
      return add(Token::Kind::Punctuation, begin, position, start);
    }
    ++position;
    diagnostics.error(start, "unexpected character code " +
                                 std::to_string(static_cast<unsigned char>(c)));
  }

  void scanDotted(SourceLocation start) {
    size_t begin = ++position;
    for (;;) {
      while (isWord(peek()))
        ++position;
      if (peek() != ':' || peek(1) != ':' || !isWord(peek(2)))
        break;
      position += 2;
    }
    add(Token::Kind::Dotted, begin, position, start);
  }

  /// Hex, octal, binary and decimal integers, 0f/0d bit patterns, decimal
  /// floats with an exponent.
  void scanNumber(SourceLocation start) {
    size_t begin = position;
    bool prefixed = peek() == '0' && isWord(peek(1)) && !isDigit(peek(1));
    while (isWord(peek()))
      ++position;
    if (!prefixed) {
      if (peek() == '.' && isDigit(peek(1))) {
        ++position;
        while (isWord(peek()))
          ++position;
      } else if (peek() == '.' && !isWord(peek(1))) {
        ++position;
      }
      char last = text[position - 1];
      if ((last == 'e' || last == 'E') && (peek() == '+' || peek() == '-') &&
          isDigit(peek(1))) {
        ++position;
        while (isDigit(peek()))
          ++position;
      }
    }
    add(Token::Kind::Number, begin, position, start);
  }

  void scanString(SourceLocation start) {
    size_t begin = ++position;
    while (position < text.size() && peek() != '"' && peek() != '\n') {
      if (peek() == '\\' && peek(1) != '\n')
        ++position;
      ++position;
    }
    if (position > text.size())
      position = text.size();
    add(Token::Kind::String, begin, position, start);
    if (peek() == '"')
      ++position;
    else
      diagnostics.error(start, "string is not closed");
  }

  std::string_view text;
  Diagnostics &diagnostics;
  std::vector<Token> tokens;
  size_t position = 0;
  size_t lineStart = 0;
  uint32_t line = 1;
};

} // namespace

std::vector<Token> tokenize(std::string_view text, Diagnostics &diagnostics) {
  return Scanner(text, diagnostics).run();
}

} // namespace nvfp4::sim
