//===- ParseBody.cpp - function bodies --------------------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Statements, scopes and operands. Registers and variables must be declared
// before use; labels may come later and are resolved at the end of the
// function, each from the scope of its use outwards.
//
//===----------------------------------------------------------------------===//

#include "ParserImpl.h"

#include <algorithm>

namespace nvfp4::sim::detail {

bool Parser::parseBody(Function &function) {
  if (!expect('{'))
    return false;
  labelUses.clear();
  labelNames.clear();
  line = LineInfo{};
  int32_t bodyScope = scope;
  std::vector<int32_t> open{scope};
  while (!open.empty()) {
    if (atEnd()) {
      scope = bodyScope;
      return error(peek().location,
                   "expected '}' at the end of '" + function.name + "'");
    }
    if (accept('{')) {
      scopes.push_back(Scope{});
      scopes.back().parent = scope;
      scope = static_cast<int32_t>(scopes.size()) - 1;
      open.push_back(scope);
    } else if (accept('}')) {
      open.pop_back();
      if (!open.empty())
        scope = open.back();
    } else {
      size_t uses = labelUses.size();
      if (parseStatement())
        continue;
      labelUses.resize(std::min(uses, labelUses.size()));
      labelNames.resize(labelUses.size());
      skipStatement();
    }
  }
  // A kernel may run off its end; an explicit end makes labels there real.
  ParsedInstruction end;
  end.opcode = "ret";
  end.location = peek().location;
  function.instructions.push_back(std::move(end));
  resolveLabels();
  scope = bodyScope;
  return true;
}

bool Parser::parseStatement() {
  if (accept(';'))
    return true;
  const Token &token = peek();
  if (token.kind == Token::Kind::Dotted) {
    if (acceptDotted("reg"))
      return parseRegisters();
    if (acceptDotted("loc"))
      return parseLoc();
    if (acceptDotted("pragma")) {
      skipStatement();
      return true;
    }
    if (acceptDotted("callprototype") || acceptDotted("branchtargets") ||
        acceptDotted("calltargets"))
      return error(token.location, "expected a label before '." +
                                       std::string(token.text) + "'");
    if (std::optional<StateSpace> space = acceptSpace())
      return parseVariable(*space, /*isExtern=*/false);
    if (acceptDotted("extern"))
      if (std::optional<StateSpace> space = acceptSpace())
        return parseVariable(*space, /*isExtern=*/true);
    if (acceptDotted("file"))
      return parseFile();
    return error(token.location,
                 "unknown directive '." + std::string(token.text) + "'");
  }
  if (token.kind == Token::Kind::Identifier && peek(1).is(':')) {
    std::string name(next().text);
    next();
    if (acceptDotted("branchtargets") || acceptDotted("calltargets"))
      return parseTargetList(std::move(name));
    if (acceptDotted("callprototype")) {
      skipStatement();
      return true;
    }
    auto index = static_cast<int32_t>(function->instructions.size());
    if (!scopes[scope].labels.emplace(name, index).second)
      return error(token.location,
                   "label '" + name + "' is declared twice in one scope");
    return true;
  }
  return parseInstruction();
}

bool Parser::parseRegisters() {
  unsigned vectorWidth = 1;
  if (acceptDotted("v2"))
    vectorWidth = 2;
  else if (acceptDotted("v4"))
    vectorWidth = 4;
  const Token typeToken = next();
  std::optional<Type> type = typeToken.kind == Token::Kind::Dotted
                                 ? parseType(typeToken.text)
                                 : std::nullopt;
  if (!type)
    return error(typeToken.location,
                 "expected a register type, but got " + describe(typeToken));
  auto add = [&](const std::string &name) {
    static constexpr const char *suffixes[] = {".x", ".y", ".z", ".w"};
    for (unsigned i = 0; i < vectorWidth; ++i) {
      std::string full = vectorWidth == 1 ? name : name + suffixes[i];
      scopes[scope].registers[full] =
          static_cast<int32_t>(function->registers.size());
      function->registers.push_back({std::move(full), *type});
    }
  };
  do {
    const Token name = next();
    if (name.kind != Token::Kind::Identifier)
      return error(name.location,
                   "expected a register name, but got " + describe(name));
    if (!accept('<')) {
      add(std::string(name.text));
      continue;
    }
    int64_t count = 0;
    if (!parseInteger(count) || !expect('>'))
      return false;
    if (count < 0 || count > 1000000)
      return error(name.location, "expected up to 1000000 registers, but got " +
                                      std::to_string(count));
    for (int64_t i = 0; i < count; ++i)
      add(std::string(name.text) + std::to_string(i));
  } while (accept(','));
  return expect(';');
}

bool Parser::parseLoc() {
  int64_t file = 0, row = 0, column = 0;
  if (!parseInteger(file) || !parseInteger(row) || !parseInteger(column))
    return false;
  line = {static_cast<uint32_t>(file), static_cast<uint32_t>(row),
          static_cast<uint32_t>(column)};
  // function_name and inlined_at, when present, continue after commas.
  uint32_t here = peek().location.line;
  while (accept(',')) {
    here = peek().location.line;
    while (!atEnd() && peek().location.line == here && !peek().is(',') &&
           !peek().is(';'))
      next();
  }
  accept(';');
  return true;
}

bool Parser::parseTargetList(std::string name) {
  auto list = static_cast<int32_t>(function->targetLists.size());
  function->targetLists.push_back({std::move(name), {}});
  size_t index = 0;
  do {
    const Token label = next();
    if (label.kind != Token::Kind::Identifier)
      return error(label.location,
                   "expected a label, but got " + describe(label));
    function->targetLists[list].targets.push_back(-1);
    labelUses.push_back({function->instructions.size(), index++, scope, list});
    labelNames.emplace_back(label.text);
  } while (accept(','));
  return expect(';');
}

bool Parser::parseInstruction() {
  ParsedInstruction instruction;
  instruction.line = line;
  if (accept('@')) {
    instruction.guardNegated = accept('!');
    const Token guard = next();
    instruction.guard = findRegister(guard.text);
    if (instruction.guard < 0 ||
        function->registers[instruction.guard].type != Type::Pred)
      return error(guard.location,
                   "expected a predicate, but got " + describe(guard));
  }
  const Token opcode = next();
  instruction.location = opcode.location;
  if (opcode.kind != Token::Kind::Identifier)
    return error(opcode.location,
                 "expected an instruction, but got " + describe(opcode));
  instruction.opcode = std::string(opcode.text);
  while (peek().kind == Token::Kind::Dotted)
    instruction.modifiers.emplace_back(next().text);
  while (!peek().is(';')) {
    Operand operand;
    size_t firstUse = labelUses.size();
    if (!parseOperand(operand))
      return false;
    for (size_t i = firstUse; i < labelUses.size(); ++i)
      labelUses[i].operand = instruction.operands.size();
    instruction.operands.push_back(std::move(operand));
    if (!accept(','))
      break;
  }
  if (!expect(';'))
    return false;
  function->instructions.push_back(std::move(instruction));
  return true;
}

bool Parser::parseOperand(Operand &operand) {
  if (!parsePrimary(operand))
    return false;
  if (!accept('|'))
    return true;
  operand.hasSecond = true;
  const Token name = next();
  if (name.text == "_")
    return true;
  operand.second = findRegister(name.text);
  if (operand.second < 0)
    return error(name.location,
                 "expected a register after '|', but got " + describe(name));
  return true;
}

bool Parser::parsePrimary(Operand &operand) {
  const Token &token = peek();
  operand.location = token.location;
  if (accept('{') || peek().is('(')) {
    char close = token.is('{') ? '}' : ')';
    if (close == ')')
      next();
    operand.kind = Operand::Kind::Vector;
    while (!peek().is(close)) {
      Operand element;
      if (peek().is('{') || peek().is('(') || !parsePrimary(element))
        return error(peek().location, "expected a register or a number");
      operand.elements.push_back(std::move(element));
      if (!accept(','))
        break;
    }
    return expect(close);
  }
  if (accept('['))
    return parseMemory(operand);
  if (accept('!')) {
    operand.negated = true;
    return parseName(operand);
  }
  if (token.is('-') || token.kind == Token::Kind::Number || token.is('~')) {
    bool negative = token.is('-');
    const Token &literal = negative ? peek(1) : token;
    Operand number;
    if (literal.kind == Token::Kind::Number && parseNumber(literal, number) &&
        number.kind == Operand::Kind::Float) {
      if (negative)
        next();
      next();
      operand.kind = Operand::Kind::Float;
      operand.single = number.single;
      operand.immediate = number.immediate;
      if (negative)
        operand.immediate ^= number.single ? int64_t{1} << 31 : INT64_MIN;
      return true;
    }
    operand.kind = Operand::Kind::Integer;
    return parseConstantExpression(operand.immediate);
  }
  return parseName(operand);
}

bool Parser::parseName(Operand &operand) {
  const Token token = next();
  if (token.kind != Token::Kind::Identifier)
    return error(token.location,
                 "expected an operand, but got " + describe(token));
  operand.location = token.location;
  if (token.text == "_") {
    operand.kind = Operand::Kind::Sink;
    return true;
  }
  if (token.text == "WARP_SZ") {
    operand.kind = Operand::Kind::Integer;
    operand.immediate = 32;
    return true;
  }
  std::string name(token.text);
  operand.reg = findRegister(name);
  if (operand.reg < 0 && peek().kind == Token::Kind::Dotted) {
    name += "." + std::string(peek().text);
    operand.reg = findRegister(name);
    if (operand.reg >= 0 || name[0] == '%')
      next();
  }
  if (operand.reg >= 0) {
    operand.kind = Operand::Kind::Register;
    return true;
  }
  operand.name = name;
  if (name[0] == '%') {
    operand.kind = Operand::Kind::Special;
    return true;
  }
  operand.symbol = findSymbol(name);
  if (operand.symbol >= 0) {
    operand.kind = Operand::Kind::Symbol;
    if (peek().is('+') || peek().is('-'))
      return parseConstantExpression(operand.immediate);
    return true;
  }
  operand.kind = Operand::Kind::Label;
  labelUses.push_back({function->instructions.size(), 0, scope, -1});
  labelNames.push_back(name);
  return true;
}

bool Parser::parseMemory(Operand &operand) {
  operand.kind = Operand::Kind::Memory;
  Operand base;
  if (!parsePrimary(base))
    return false;
  if (base.kind == Operand::Kind::Label)
    return error(base.location, "unknown variable '" + base.name + "'");
  if (base.kind == Operand::Kind::Symbol) {
    operand.immediate = base.immediate;
    base.immediate = 0;
  } else if (base.kind == Operand::Kind::Register &&
             (peek().is('+') || peek().is('-'))) {
    if (peek().is('+'))
      next();
    if (!parseConstantExpression(operand.immediate))
      return false;
  }
  operand.elements.push_back(std::move(base));
  while (accept(',')) {
    Operand extra;
    if (!parsePrimary(extra))
      return false;
    operand.elements.push_back(std::move(extra));
  }
  return expect(']');
}

int32_t Parser::findRegister(std::string_view name) const {
  for (int32_t s = scope; s >= 0; s = scopes[s].parent) {
    auto found = scopes[s].registers.find(name);
    if (found != scopes[s].registers.end())
      return found->second;
  }
  return -1;
}

void Parser::resolveLabels() {
  for (size_t i = 0; i < labelUses.size(); ++i) {
    const LabelUse &use = labelUses[i];
    int32_t target = -1;
    for (int32_t s = use.scope; s >= 0 && target < 0; s = scopes[s].parent) {
      auto found = scopes[s].labels.find(labelNames[i]);
      if (found != scopes[s].labels.end())
        target = found->second;
    }
    if (use.targetList >= 0) {
      if (target < 0)
        error({}, "unknown label '" + labelNames[i] + "'");
      function->targetLists[use.targetList].targets[use.operand] = target;
      continue;
    }
    if (use.instruction >= function->instructions.size())
      continue; // its statement had an error
    ParsedInstruction &instruction = function->instructions[use.instruction];
    if (use.operand >= instruction.operands.size())
      continue;
    Operand &operand = instruction.operands[use.operand];
    if (operand.kind != Operand::Kind::Label) {
      error(operand.location, "unknown name '" + labelNames[i] + "'");
      continue;
    }
    operand.target = target;
    // Function names and target lists are looked up by their instruction.
    if (target < 0)
      operand.kind = Operand::Kind::Name;
  }
}

} // namespace nvfp4::sim::detail
