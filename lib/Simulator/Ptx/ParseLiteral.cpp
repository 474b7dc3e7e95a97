//===- ParseLiteral.cpp - numbers and constant expressions ------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Integer literals in four bases, bit-pattern and decimal floats, and the
// integer constant expressions of PTX section 4.5.
//
//===----------------------------------------------------------------------===//

#include "ParserImpl.h"

#include <bit>
#include <cstdlib>
#include <string>

namespace nvfp4::sim::detail {
namespace {

/// Digits of `text` in `base`; false on another character or on overflow.
bool parseDigits(std::string_view text, unsigned base, uint64_t &value) {
  value = 0;
  if (text.empty())
    return false;
  for (char c : text) {
    unsigned digit = c >= '0' && c <= '9'   ? c - '0'
                     : c >= 'a' && c <= 'f' ? c - 'a' + 10
                     : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                            : 99;
    if (digit >= base)
      return false;
    uint64_t wider = value * base + digit;
    if (value > (UINT64_MAX - digit) / base)
      return false;
    value = wider;
  }
  return true;
}

struct BinaryOperator {
  std::string_view text;
  int precedence;
};
constexpr BinaryOperator binaryOperators[] = {
    {"||", 1}, {"&&", 2}, {"|", 3},  {"^", 4},  {"&", 5},  {"==", 6},
    {"!=", 6}, {"<=", 7}, {">=", 7}, {"<<", 8}, {">>", 8}, {"<", 7},
    {">", 7},  {"+", 9},  {"-", 9},  {"*", 10}, {"/", 10}, {"%", 10}};

bool apply(std::string_view op, int64_t a, int64_t b, int64_t &result) {
  auto ua = static_cast<uint64_t>(a);
  auto ub = static_cast<uint64_t>(b);
  if ((op == "/" || op == "%") && (b == 0 || (b == -1 && a == INT64_MIN)))
    return false;
  result = op == "||"   ? a || b
           : op == "&&" ? a && b
           : op == "|"  ? a | b
           : op == "^"  ? a ^ b
           : op == "&"  ? a & b
           : op == "==" ? a == b
           : op == "!=" ? a != b
           : op == "<=" ? a <= b
           : op == ">=" ? a >= b
           : op == "<<" ? static_cast<int64_t>(ub > 63 ? 0 : ua << ub)
           : op == ">>" ? (ub > 63 ? (a < 0 ? -1 : 0) : a >> ub)
           : op == "<"  ? a < b
           : op == ">"  ? a > b
           : op == "+"  ? static_cast<int64_t>(ua + ub)
           : op == "-"  ? static_cast<int64_t>(ua - ub)
           : op == "*"  ? static_cast<int64_t>(ua * ub)
           : op == "/"  ? a / b
                        : a % b;
  return true;
}

} // namespace

bool Parser::parseNumber(const Token &token, Operand &operand) {
  std::string_view text = token.text;
  operand.location = token.location;
  auto bad = [&] {
    return error(token.location,
                 "expected a number, but got '" + std::string(text) + "'");
  };
  uint64_t bits = 0;
  if (text.size() > 2 && text[0] == '0') {
    char kind = text[1];
    std::string_view digits = text.substr(2);
    if (kind == 'f' || kind == 'F' || kind == 'd' || kind == 'D') {
      operand.single = kind == 'f' || kind == 'F';
      if (digits.size() != (operand.single ? 8u : 16u) ||
          !parseDigits(digits, 16, bits))
        return bad();
      operand.kind = Operand::Kind::Float;
      operand.immediate = static_cast<int64_t>(bits);
      return true;
    }
    unsigned base = kind == 'x' || kind == 'X'   ? 16
                    : kind == 'b' || kind == 'B' ? 2
                                                 : 8;
    if (base == 8)
      digits = text.substr(1);
    if (base != 8 || text.find('.') == std::string_view::npos) {
      if (!digits.empty() && digits.back() == 'U')
        digits.remove_suffix(1);
      if (!parseDigits(digits, base, bits))
        return bad();
      operand.kind = Operand::Kind::Integer;
      operand.immediate = static_cast<int64_t>(bits);
      return true;
    }
  }
  std::string_view digits = text;
  if (digits.back() == 'U')
    digits.remove_suffix(1);
  if (parseDigits(digits, 10, bits)) {
    operand.kind = Operand::Kind::Integer;
    operand.immediate = static_cast<int64_t>(bits);
    return true;
  }
  std::string copy(text);
  char *end = nullptr;
  double value = std::strtod(copy.c_str(), &end);
  if (end != copy.c_str() + copy.size())
    return bad();
  operand.kind = Operand::Kind::Float;
  operand.immediate = std::bit_cast<int64_t>(value);
  return true;
}

bool Parser::parseInteger(int64_t &value) {
  bool negative = accept('-');
  if (peek().kind != Token::Kind::Number)
    return error(peek().location,
                 "expected an integer, but got " + describe(peek()));
  const Token token = next();
  Operand literal;
  if (!parseNumber(token, literal))
    return false;
  if (literal.kind != Operand::Kind::Integer)
    return error(token.location,
                 "expected an integer, but got " + describe(token));
  value = negative
              ? static_cast<int64_t>(-static_cast<uint64_t>(literal.immediate))
              : literal.immediate;
  return true;
}

bool Parser::parseConstantPrimary(int64_t &value) {
  if (accept('(')) {
    // A cast such as (.u64) has no effect on the 64-bit evaluation.
    if (peek().kind == Token::Kind::Dotted) {
      next();
      return expect(')') && nested([&] { return parseConstantPrimary(value); });
    }
    return nested([&] { return parseConstantExpression(value); }) &&
           expect(')');
  }
  if (peek().is('-') || peek().is('~') || peek().is('!') || peek().is('+')) {
    char op = next().text[0];
    if (!nested([&] { return parseConstantPrimary(value); }))
      return false;
    value = op == '-'   ? static_cast<int64_t>(-static_cast<uint64_t>(value))
            : op == '~' ? ~value
            : op == '!' ? !value
                        : value;
    return true;
  }
  if (peek().kind == Token::Kind::Identifier && peek().text == "WARP_SZ") {
    next();
    value = 32;
    return true;
  }
  return parseInteger(value);
}

bool Parser::parseConstantExpression(int64_t &value, int minPrecedence) {
  if (!parseConstantPrimary(value))
    return false;
  for (;;) {
    const BinaryOperator *found = nullptr;
    for (const BinaryOperator &candidate : binaryOperators) {
      bool matches =
          peek().is(candidate.text[0]) &&
          (candidate.text.size() == 1 || peek(1).is(candidate.text[1]));
      if (matches && (!found || candidate.text.size() > found->text.size()))
        found = &candidate;
    }
    if (!found || found->precedence <= minPrecedence)
      return true;
    SourceLocation location = peek().location;
    for (size_t i = 0; i < found->text.size(); ++i)
      next();
    int64_t right = 0;
    if (!parseConstantExpression(right, found->precedence))
      return false;
    if (!apply(found->text, value, right, value))
      return error(location, "division by zero in a constant expression");
  }
}

} // namespace nvfp4::sim::detail
