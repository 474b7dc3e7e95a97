//===- ParserImpl.h - state shared by the parts of the parser ---*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The parser is one class in three files: module level (Parser.cpp), variables
// (ParseVariable.cpp) and function bodies (ParseBody.cpp).
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_LIB_SIMULATOR_PTX_PARSERIMPL_H
#define NVFP4_LIB_SIMULATOR_PTX_PARSERIMPL_H

#include "nvfp4/Simulator/Ptx/Ast.h"
#include "nvfp4/Simulator/Ptx/Lexer.h"

#include <functional>
#include <map>
#include <optional>

namespace nvfp4::sim::detail {

/// Names visible between one pair of braces.
struct Scope {
  std::map<std::string, int32_t, std::less<>> registers;
  std::map<std::string, int32_t, std::less<>> symbols;
  std::map<std::string, int32_t, std::less<>> labels;
  /// The enclosing scope in `scopes`, or -1.
  int32_t parent = -1;
};

/// A use of a label, resolved at the end of the function.
struct LabelUse {
  size_t instruction = 0;
  size_t operand = 0;
  int32_t scope = 0;
  /// The index in a target list instead of an operand, when not negative.
  int32_t targetList = -1;
};

class Parser {
public:
  Parser(Module &module, std::vector<Token> tokens, Diagnostics &diagnostics)
      : module(module), tokens(std::move(tokens)), diagnostics(diagnostics) {}

  void parseModule();

private:
  // Tokens.
  const Token &peek(size_t ahead = 0) const {
    size_t index = position + ahead;
    return index < tokens.size() ? tokens[index] : tokens.back();
  }
  const Token &next() {
    const Token &token = peek();
    if (position + 1 < tokens.size())
      ++position;
    return token;
  }
  bool atEnd() const { return peek().kind == Token::Kind::End; }
  bool atDotted(std::string_view text) const {
    return peek().kind == Token::Kind::Dotted && peek().text == text;
  }
  bool accept(char c) {
    if (!peek().is(c))
      return false;
    next();
    return true;
  }
  bool acceptDotted(std::string_view text) {
    if (!atDotted(text))
      return false;
    next();
    return true;
  }
  bool expect(char c);
  bool error(SourceLocation location, std::string message) {
    return diagnostics.error(location, std::move(message));
  }
  /// Calls `parse` for what stands within something of its own kind: a hostile
  /// file must not exhaust the stack of the process.
  template <typename Parse> bool nested(Parse parse) {
    if (nesting == maximumNesting)
      return error(peek().location, "expected at most " +
                                        std::to_string(maximumNesting) +
                                        " levels of nesting");
    ++nesting;
    bool ok = parse();
    --nesting;
    return ok;
  }
  std::string describe(const Token &token) const;
  void skipStatement();
  void skipBraces();

  // Module level (Parser.cpp).
  bool parseVersion();
  bool parseTarget();
  bool parseFile();
  bool parseFunction(bool isEntry);
  bool parseParameters(Function &function, std::vector<int32_t> &list,
                       StateSpace space, uint64_t &bytes);
  bool parseFunctionDirectives(Function &function);
  bool parseDimensions(std::array<uint32_t, 3> &dimensions);

  // Variables (ParseVariable.cpp).
  std::optional<StateSpace> acceptSpace();
  bool parseVariable(StateSpace space, bool isExtern);
  bool parseDeclarator(Symbol &symbol, uint64_t vectorWidth);
  bool parseInitializer(Symbol &symbol);
  bool parseInitializerValue(Symbol &symbol, uint64_t &offset);
  void place(Symbol &symbol, bool isExtern);
  int32_t declare(Symbol symbol);

  // Function bodies (ParseBody.cpp).
  bool parseBody(Function &function);
  bool parseStatement();
  bool parseRegisters();
  bool parseLoc();
  bool parseTargetList(std::string name);
  bool parseInstruction();
  bool parseOperand(Operand &operand);
  bool parsePrimary(Operand &operand);
  bool parseMemory(Operand &operand);
  bool parseName(Operand &operand);
  void resolveLabels();

  // Literals and names.
  bool parseInteger(int64_t &value);
  bool parseConstantExpression(int64_t &value, int minPrecedence = 0);
  bool parseConstantPrimary(int64_t &value);
  bool parseNumber(const Token &token, Operand &operand);
  int32_t findRegister(std::string_view name) const;
  int32_t findSymbol(std::string_view name) const;

  Module &module;
  std::vector<Token> tokens;
  Diagnostics &diagnostics;
  size_t position = 0;
  static constexpr unsigned maximumNesting = 64;
  unsigned nesting = 0;
  std::vector<Scope> scopes{Scope{}};
  int32_t scope = 0;
  Function *function = nullptr;
  std::vector<LabelUse> labelUses;
  std::vector<std::string> labelNames;
  LineInfo line;
};

} // namespace nvfp4::sim::detail

#endif // NVFP4_LIB_SIMULATOR_PTX_PARSERIMPL_H
