//===- Parser.cpp - module level of the PTX grammar -------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Directives, function headers and recovery. An error ends the statement it is
// in; the parser goes on, so that one run reports several.
//
//===----------------------------------------------------------------------===//

#include "nvfp4/Simulator/Ptx/Parser.h"

#include "nvfp4/Simulator/Ptx/InlineCalls.h"
#include "nvfp4/Simulator/Ptx/SharedLayout.h"

#include "ParserImpl.h"

namespace nvfp4::sim {

std::unique_ptr<Module> parseModule(std::string text, std::string fileName,
                                    Diagnostics &diagnostics) {
  auto module = std::make_unique<Module>();
  module->text = std::move(text);
  module->fileName = std::move(fileName);
  module->files.emplace_back();
  detail::Parser(*module, tokenize(module->text, diagnostics), diagnostics)
      .parseModule();
  if (diagnostics.hasErrors() || !inlineCalls(*module, diagnostics))
    return nullptr;
  layOutShared(*module);
  return module;
}

namespace detail {

std::string Parser::describe(const Token &token) const {
  if (token.kind == Token::Kind::End)
    return "the end of the file";
  std::string text(token.kind == Token::Kind::Dotted ? "'." : "'");
  text.append(token.text);
  text.push_back('\'');
  return text;
}

bool Parser::expect(char c) {
  if (accept(c))
    return true;
  return error(peek().location, std::string("expected '") + c + "', but got " +
                                    describe(peek()));
}

void Parser::skipStatement() {
  while (!atEnd() && !peek().is(';') && !peek().is('}'))
    next();
  accept(';');
}

void Parser::skipBraces() {
  unsigned depth = 0;
  while (!atEnd()) {
    if (peek().is('{'))
      ++depth;
    if (peek().is('}') && --depth == 0) {
      next();
      return;
    }
    next();
  }
}

void Parser::parseModule() {
  while (!atEnd()) {
    size_t before = position;
    bool isExtern = false;
    bool ok = true;
    while (acceptDotted("visible") || acceptDotted("weak") ||
           acceptDotted("common") || atDotted("extern"))
      isExtern |= acceptDotted("extern");
    if (acceptDotted("version"))
      ok = parseVersion();
    else if (acceptDotted("target"))
      ok = parseTarget();
    else if (acceptDotted("address_size"))
      next();
    else if (acceptDotted("file"))
      ok = parseFile();
    else if (acceptDotted("section")) {
      while (!atEnd() && !peek().is('{'))
        next();
      skipBraces();
    } else if (acceptDotted("pragma") || acceptDotted("alias"))
      skipStatement();
    else if (acceptDotted("entry"))
      ok = parseFunction(/*isEntry=*/true);
    else if (acceptDotted("func"))
      ok = parseFunction(/*isEntry=*/false);
    else if (std::optional<StateSpace> space = acceptSpace())
      ok = parseVariable(*space, isExtern);
    else if (accept(';'))
      continue;
    else
      ok = error(peek().location,
                 "expected a directive, but got " + describe(peek()));
    if (!ok)
      skipStatement();
    if (position == before)
      next();
  }
}

bool Parser::parseVersion() {
  const Token token = next();
  std::string text(token.text);
  char *end = nullptr;
  module.versionMajor = std::strtoul(text.c_str(), &end, 10);
  module.versionMinor = *end == '.' ? std::strtoul(end + 1, &end, 10) : 0;
  if (module.versionMajor < 6 || module.versionMajor > 9)
    return error(token.location,
                 "expected PTX version 6.0 to 9.x, but got " + text);
  return true;
}

/// PTX is compatible with later GPUs, so that of any GPU since Maxwell, the
/// first that CUDA 12 knows, runs as on a Hopper or a Blackwell.
static bool isKnownTarget(const std::string &target) {
  if (target.rfind("sm_", 0) != 0)
    return false;
  char *end = nullptr;
  unsigned long number = std::strtoul(target.c_str() + 3, &end, 10);
  std::string_view suffix = end;
  return ((number >= 50 && number <= 90) || (number >= 100 && number <= 121)) &&
         (suffix.empty() || suffix == "a" || suffix == "f");
}

bool Parser::parseTarget() {
  const Token token = next();
  module.target = std::string(token.text);
  while (accept(','))
    next();
  if (!isKnownTarget(module.target))
    return error(token.location,
                 "expected a target from sm_50 to sm_90a or from sm_100 to "
                 "sm_121a, but got " +
                     describe(token));
  return true;
}

bool Parser::parseFile() {
  int64_t index = 0;
  SourceLocation location = peek().location;
  if (!parseInteger(index))
    return false;
  if (index < 0 || index > 65535)
    return error(location, "expected a file number below 65536, but got " +
                               std::to_string(index));
  if (peek().kind != Token::Kind::String)
    return error(peek().location,
                 "expected a file name, but got " + describe(peek()));
  if (module.files.size() <= static_cast<size_t>(index))
    module.files.resize(index + 1);
  module.files[index] = std::string(next().text);
  while (accept(',')) // time stamp and size
    next();
  return true;
}

bool Parser::parseParameters(Function &function, std::vector<int32_t> &list,
                             StateSpace space, uint64_t &bytes) {
  if (!expect('('))
    return false;
  while (!peek().is(')') && !atEnd()) {
    Symbol symbol;
    symbol.space = space;
    if (acceptDotted("reg")) {
      if (function.isEntry)
        return error(peek().location,
                     "expected kernel parameters in .param space");
    } else if (!acceptDotted("param")) {
      return error(peek().location,
                   "expected '.param', but got " + describe(peek()));
    }
    bool pointer = false;
    // `.align` before the type belongs to the variable; after `.ptr` it is a
    // promise about what the pointer points to.
    while (peek().kind == Token::Kind::Dotted) {
      if (acceptDotted("align")) {
        int64_t alignment = 0;
        if (!parseInteger(alignment))
          return false;
        if (!pointer)
          symbol.alignment = alignment;
      } else if (acceptDotted("ptr")) {
        pointer = true;
      } else if (std::optional<Type> type = parseType(peek().text)) {
        symbol.type = *type;
        next();
      } else {
        next(); // state space or attribute of a pointer
      }
    }
    if (!parseDeclarator(symbol, 1))
      return false;
    bytes =
        (bytes + symbol.alignment - 1) / symbol.alignment * symbol.alignment;
    symbol.offset = bytes;
    bytes += symbol.size;
    list.push_back(declare(std::move(symbol)));
    if (!accept(','))
      break;
  }
  return expect(')');
}

bool Parser::parseDimensions(std::array<uint32_t, 3> &dimensions) {
  dimensions = {1, 1, 1};
  for (uint32_t &dimension : dimensions) {
    int64_t value = 0;
    if (!parseInteger(value))
      return false;
    dimension = static_cast<uint32_t>(value);
    if (!accept(','))
      break;
  }
  return true;
}

bool Parser::parseFunctionDirectives(Function &function) {
  while (peek().kind == Token::Kind::Dotted) {
    std::string_view name = next().text;
    if (name == "reqntid") {
      if (!parseDimensions(function.requiredThreads))
        return false;
    } else if (name == "maxntid") {
      if (!parseDimensions(function.maximumThreads))
        return false;
    } else if (name == "reqnctapercluster") {
      if (!parseDimensions(function.requiredCluster))
        return false;
    } else if (name == "minnctapersm" || name == "maxnctapersm" ||
               name == "maxnreg" || name == "maxclusterrank") {
      int64_t ignored = 0;
      if (!parseInteger(ignored))
        return false;
    } else if (name == "pragma") {
      skipStatement();
    } else if (name == "noreturn" || name == "explicitcluster" ||
               name == "blocksareclusters" || name == "unified" ||
               name == "abi_preserve" || name == "abi_preserve_control") {
      while (peek().kind == Token::Kind::Number || peek().is(','))
        next();
      if (peek().is('('))
        while (!atEnd() && !next().is(')'))
          ;
    } else {
      return error(peek().location,
                   "unknown function directive '." + std::string(name) + "'");
    }
  }
  return true;
}

bool Parser::parseFunction(bool isEntry) {
  Function parsed;
  parsed.isEntry = isEntry;
  int32_t outer = scope;
  scopes.push_back(Scope{});
  scopes.back().parent = outer;
  scope = static_cast<int32_t>(scopes.size()) - 1;

  uint64_t returnBytes = 0;
  bool ok = true;
  if (!isEntry) {
    while (peek().kind == Token::Kind::Dotted) // .attribute(...) and the like
      next();
    if (peek().is('('))
      ok = parseParameters(parsed, parsed.returns, StateSpace::Param,
                           returnBytes);
  }
  parsed.location = peek().location;
  if (ok && peek().kind != Token::Kind::Identifier)
    ok = error(peek().location,
               "expected a function name, but got " + describe(peek()));
  if (ok) {
    parsed.name = std::string(next().text);
    if (peek().is('('))
      ok = parseParameters(parsed, parsed.parameters, StateSpace::Param,
                           parsed.parameterBytes);
  }
  ok = ok && parseFunctionDirectives(parsed);
  if (ok && !accept(';')) {
    if (peek().is('{')) {
      module.functions.push_back(std::move(parsed));
      function = &module.functions.back();
      ok = parseBody(*function);
      function = nullptr;
    } else {
      ok = expect('{');
    }
  }
  scope = outer;
  if (!ok && peek().is('{'))
    skipBraces();
  return ok;
}

} // namespace detail
} // namespace nvfp4::sim
