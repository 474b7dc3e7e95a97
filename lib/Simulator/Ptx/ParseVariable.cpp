//===- ParseVariable.cpp - variables and their initialisers -----*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Gives every variable its offset in the image of its state space. Shared
// variables are placed by kernel (SharedLayout.cpp), arrays without a size
// (dynamic shared memory) by the launch.
//
//===----------------------------------------------------------------------===//

#include "ParserImpl.h"

#include <bit>
#include <cstring>

namespace nvfp4::sim::detail {

std::optional<StateSpace> Parser::acceptSpace() {
  if (acceptDotted("global"))
    return StateSpace::Global;
  if (acceptDotted("shared") || acceptDotted("shared::cta"))
    return StateSpace::Shared;
  if (acceptDotted("const"))
    return StateSpace::Const;
  if (acceptDotted("local"))
    return StateSpace::Local;
  if (acceptDotted("param"))
    return StateSpace::Param;
  return std::nullopt;
}

int32_t Parser::declare(Symbol symbol) {
  auto index = static_cast<int32_t>(module.symbols.size());
  scopes[scope].symbols[symbol.name] = index;
  module.symbols.push_back(std::move(symbol));
  return index;
}

int32_t Parser::findSymbol(std::string_view name) const {
  for (int32_t s = scope; s >= 0; s = scopes[s].parent) {
    auto found = scopes[s].symbols.find(name);
    if (found != scopes[s].symbols.end())
      return found->second;
  }
  return -1;
}

bool Parser::parseVariable(StateSpace space, bool isExtern) {
  Symbol prototype;
  prototype.space = space;
  uint64_t vectorWidth = 1;
  uint64_t alignment = 0;
  while (peek().kind == Token::Kind::Dotted) {
    if (acceptDotted("align")) {
      int64_t value = 0;
      if (!parseInteger(value))
        return false;
      if (value <= 0 || !std::has_single_bit(static_cast<uint64_t>(value)))
        return error(peek().location, "expected a power of two, but got " +
                                          std::to_string(value));
      alignment = value;
    } else if (acceptDotted("v2")) {
      vectorWidth = 2;
    } else if (acceptDotted("v4")) {
      vectorWidth = 4;
    } else if (acceptDotted("attribute")) {
      while (!atEnd() && !next().is(')'))
        ;
    } else if (std::optional<Type> type = parseType(peek().text)) {
      prototype.type = *type;
      next();
    } else {
      return error(peek().location,
                   "expected a type, but got " + describe(peek()));
    }
  }
  do {
    Symbol symbol = prototype;
    symbol.alignment = alignment ? alignment : 0;
    if (!parseDeclarator(symbol, vectorWidth))
      return false;
    if (accept('=') && !parseInitializer(symbol))
      return false;
    // A .param variable of a body is memory of the thread.
    if (function && symbol.space == StateSpace::Param)
      symbol.space = StateSpace::Local;
    place(symbol, isExtern);
    bool isShared = symbol.space == StateSpace::Shared;
    int32_t index = declare(std::move(symbol));
    if (isShared && function)
      function->sharedVariables.push_back(index);
  } while (accept(','));
  return expect(';');
}

bool Parser::parseDeclarator(Symbol &symbol, uint64_t vectorWidth) {
  if (peek().kind != Token::Kind::Identifier)
    return error(peek().location,
                 "expected a variable name, but got " + describe(peek()));
  if (byteWidth(symbol.type) == 0)
    return error(peek().location, "expected a type with a size before '" +
                                      std::string(peek().text) + "'");
  symbol.name = std::string(next().text);
  uint64_t element = byteWidth(symbol.type) * vectorWidth;
  if (symbol.alignment <= 1 || symbol.alignment == 0)
    symbol.alignment = symbol.alignment == 0 ? element : symbol.alignment;
  if (symbol.alignment < element && symbol.space == StateSpace::Param)
    symbol.alignment = element;
  symbol.size = element;
  while (accept('[')) {
    if (accept(']')) {
      symbol.unsized = true;
      symbol.size = 0;
      continue;
    }
    int64_t count = 0;
    SourceLocation location = peek().location;
    if (!parseConstantExpression(count) || !expect(']'))
      return false;
    constexpr int64_t limit = int64_t{1} << 32;
    if (count < 0 || count > limit ||
        symbol.size * static_cast<uint64_t>(count) > uint64_t{1} << 33)
      return error(location, "expected an array length up to 2^32, but got " +
                                 std::to_string(count));
    symbol.size *= count;
  }
  return true;
}

bool Parser::parseInitializer(Symbol &symbol) {
  uint64_t offset = 0;
  if (!symbol.unsized)
    symbol.initial.assign(symbol.size, 0);
  if (!parseInitializerValue(symbol, offset))
    return false;
  if (symbol.unsized) {
    symbol.unsized = false;
    symbol.size = symbol.initial.size();
  }
  return true;
}

bool Parser::parseInitializerValue(Symbol &symbol, uint64_t &offset) {
  if (accept('{')) {
    while (!peek().is('}') && !atEnd()) {
      if (!nested([&] { return parseInitializerValue(symbol, offset); }))
        return false;
      if (!accept(','))
        break;
    }
    return expect('}');
  }
  unsigned width = byteWidth(symbol.type);
  uint64_t bits = 0;
  bool generic = false;
  bool closing = false;
  if (peek().kind == Token::Kind::Identifier && peek().text == "generic" &&
      peek(1).is('(')) {
    next();
    next();
    generic = closing = true;
  }
  if (peek().kind == Token::Kind::Identifier && peek().text != "WARP_SZ") {
    const Token name = next();
    int32_t target = findSymbol(name.text);
    if (target < 0)
      return error(name.location, "unknown variable '" +
                                      std::string(name.text) +
                                      "' in an initialiser");
    int64_t addend = 0;
    if (closing && !expect(')'))
      return false;
    if ((peek().is('+') || peek().is('-')) && !parseConstantExpression(addend))
      return false;
    symbol.relocations.push_back({offset, target, addend, width, generic});
  } else if (peek().kind == Token::Kind::Number && isFloat(symbol.type)) {
    Operand literal;
    if (!parseNumber(next(), literal))
      return false;
    bits = literal.immediate;
    if (symbol.type == Type::F32 && literal.kind == Operand::Kind::Float &&
        !literal.single)
      bits = std::bit_cast<uint32_t>(
          static_cast<float>(std::bit_cast<double>(literal.immediate)));
  } else {
    int64_t value = 0;
    if (!parseConstantExpression(value))
      return false;
    bits = value;
  }
  if (symbol.unsized && symbol.initial.size() < offset + width)
    symbol.initial.resize(offset + width);
  if (offset + width > symbol.initial.size())
    return error(peek().location,
                 "expected at most " + std::to_string(symbol.size) +
                     " bytes of initial values for '" + symbol.name + "'");
  for (unsigned i = 0; i < width; ++i)
    symbol.initial[offset + i] = i < 8 ? bits >> (8 * i) : 0;
  offset += width;
  return true;
}

void Parser::place(Symbol &symbol, bool isExtern) {
  uint64_t *bytes = nullptr;
  switch (symbol.space) {
  case StateSpace::Global:
    bytes = &module.globalBytes;
    break;
  case StateSpace::Const:
    bytes = &module.constBytes;
    break;
  case StateSpace::Local:
  case StateSpace::Param:
    bytes = function ? &function->localBytes : nullptr;
    break;
  default:
    break;
  }
  if (isExtern)
    bytes = nullptr;
  if (!bytes)
    return;
  *bytes =
      (*bytes + symbol.alignment - 1) / symbol.alignment * symbol.alignment;
  symbol.offset = *bytes;
  *bytes += symbol.size;
}

} // namespace nvfp4::sim::detail
