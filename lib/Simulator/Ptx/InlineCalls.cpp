//===- InlineCalls.cpp - device functions into kernels ----------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A callee's registers are appended to the caller's, its labels move with its
// instructions, and its parameters are replaced by the variables the call
// names. `ret` becomes a branch past the end of the copy.
//
//===----------------------------------------------------------------------===//

#include "nvfp4/Simulator/Ptx/InlineCalls.h"

#include <algorithm>
#include <map>
#include <set>

namespace nvfp4::sim {
namespace {

constexpr size_t maximumInstructions = 500000;

class Inliner {
public:
  Inliner(Module &module, Diagnostics &diagnostics)
      : module(module), diagnostics(diagnostics) {}

  bool expand(Function &caller);

private:
  bool error(const ParsedInstruction &at, const std::string &message) {
    return diagnostics.error(at.location, message);
  }
  bool expandCall(Function &caller, const ParsedInstruction &call,
                  std::vector<ParsedInstruction> &out,
                  std::vector<bool> &fromCallee);
  bool builtin(const std::string &name, const ParsedInstruction &call,
               const std::vector<int32_t> &results,
               std::vector<ParsedInstruction> &out);
  void rewrite(Operand &operand, int32_t registerBase, int32_t targetBase,
               const std::map<int32_t, int32_t> &symbols,
               const std::string &suffix);
  int32_t copyLocal(Function &caller, int32_t symbol);

  Module &module;
  Diagnostics &diagnostics;
  std::set<std::string> active;
  unsigned copies = 0;
};

bool isCall(const ParsedInstruction &instruction) {
  return instruction.opcode == "call";
}

/// The symbols a parenthesised list of a call names.
bool symbolsOf(const Operand &list, std::vector<int32_t> &symbols) {
  for (const Operand &element : list.elements) {
    if (element.kind != Operand::Kind::Symbol)
      return false;
    symbols.push_back(element.symbol);
  }
  return true;
}

int32_t Inliner::copyLocal(Function &caller, int32_t symbol) {
  Symbol copy = module.symbols[symbol];
  copy.space = StateSpace::Local;
  caller.localBytes = (caller.localBytes + copy.alignment - 1) /
                      copy.alignment * copy.alignment;
  copy.offset = caller.localBytes;
  caller.localBytes += copy.size;
  module.symbols.push_back(std::move(copy));
  return static_cast<int32_t>(module.symbols.size()) - 1;
}

void Inliner::rewrite(Operand &operand, int32_t registerBase,
                      int32_t targetBase,
                      const std::map<int32_t, int32_t> &symbols,
                      const std::string &suffix) {
  if (operand.reg >= 0)
    operand.reg += registerBase;
  if (operand.second >= 0)
    operand.second += registerBase;
  if (operand.target >= 0)
    operand.target += targetBase;
  if (operand.kind == Operand::Kind::Name)
    operand.name += suffix;
  if (auto found = symbols.find(operand.symbol); found != symbols.end())
    operand.symbol = found->second;
  for (Operand &element : operand.elements)
    rewrite(element, registerBase, targetBase, symbols, suffix);
}

bool Inliner::builtin(const std::string &name, const ParsedInstruction &call,
                      const std::vector<int32_t> &results,
                      std::vector<ParsedInstruction> &out) {
  ParsedInstruction instruction;
  instruction.location = call.location;
  instruction.line = call.line;
  instruction.guard = call.guard;
  instruction.guardNegated = call.guardNegated;
  if (name == "__assertfail") {
    instruction.opcode = "trap";
    out.push_back(std::move(instruction));
    return true;
  }
  if (name != "vprintf")
    return error(call, "function '" + name + "' has no body");
  // vprintf returns the number of arguments, which is not used.
  for (int32_t result : results) {
    instruction.opcode = "st";
    instruction.modifiers = {"param", "b32"};
    Operand address;
    address.kind = Operand::Kind::Memory;
    address.elements.emplace_back();
    address.elements[0].kind = Operand::Kind::Symbol;
    address.elements[0].symbol = result;
    Operand zero;
    zero.kind = Operand::Kind::Integer;
    instruction.operands = {address, zero};
    out.push_back(instruction);
  }
  return true;
}

bool Inliner::expandCall(Function &caller, const ParsedInstruction &call,
                         std::vector<ParsedInstruction> &out,
                         std::vector<bool> &fromCallee) {
  size_t index = 0;
  std::vector<int32_t> results, arguments;
  const std::vector<Operand> &operands = call.operands;
  if (index < operands.size() &&
      operands[index].kind == Operand::Kind::Vector &&
      !symbolsOf(operands[index++], results))
    return error(call, "expected results in .param variables");
  if (index >= operands.size() ||
      (operands[index].kind != Operand::Kind::Name &&
       operands[index].kind != Operand::Kind::Label))
    return error(call, "indirect calls are not supported");
  std::string name = operands[index++].name;
  if (index < operands.size() && !symbolsOf(operands[index++], arguments))
    return error(call, "expected arguments in .param variables");

  const Function *found = module.find(name);
  if (!found) {
    bool ok = builtin(name, call, results, out);
    fromCallee.resize(out.size(), true);
    return ok;
  }
  if (!active.insert(name).second)
    return error(call, "recursive call of '" + name + "' is not supported");
  Function callee = *found;
  bool ok = expand(callee);
  active.erase(name);
  if (!ok)
    return false;
  if (callee.parameters.size() != arguments.size() ||
      callee.returns.size() != results.size())
    return error(call, "expected " + std::to_string(callee.parameters.size()) +
                           " arguments and " +
                           std::to_string(callee.returns.size()) +
                           " results for '" + name + "', but got " +
                           std::to_string(arguments.size()) + " and " +
                           std::to_string(results.size()));
  std::map<int32_t, int32_t> symbols;
  for (size_t i = 0; i < arguments.size(); ++i)
    symbols[callee.parameters[i]] = arguments[i];
  for (size_t i = 0; i < results.size(); ++i)
    symbols[callee.returns[i]] = results[i];
  // Local variables of the callee get room in the caller's frame.
  std::set<int32_t> used;
  auto collect = [&](auto &self, const Operand &operand) -> void {
    if (operand.symbol >= 0)
      used.insert(operand.symbol);
    for (const Operand &element : operand.elements)
      self(self, element);
  };
  for (const ParsedInstruction &instruction : callee.instructions)
    for (const Operand &operand : instruction.operands)
      collect(collect, operand);
  for (int32_t symbol : used)
    if (module.symbols[symbol].space == StateSpace::Local &&
        !symbols.count(symbol))
      symbols[symbol] = copyLocal(caller, symbol);

  auto registerBase = static_cast<int32_t>(caller.registers.size());
  caller.registers.insert(caller.registers.end(), callee.registers.begin(),
                          callee.registers.end());
  std::string suffix = "@" + std::to_string(copies++);
  // A guarded call branches around the copy.
  if (call.guard >= 0) {
    ParsedInstruction skip = call;
    skip.opcode = "bra";
    skip.modifiers.clear();
    skip.guardNegated = !call.guardNegated;
    skip.operands.assign(1, Operand());
    skip.operands[0].kind = Operand::Kind::Label;
    skip.operands[0].target =
        static_cast<int32_t>(out.size() + 1 + callee.instructions.size());
    out.push_back(std::move(skip));
  }
  auto targetBase = static_cast<int32_t>(out.size());
  auto end = static_cast<int32_t>(out.size() + callee.instructions.size());
  for (const TargetList &list : callee.targetLists) {
    TargetList copy = list;
    copy.name += suffix;
    for (int32_t &target : copy.targets)
      target += targetBase;
    caller.targetLists.push_back(std::move(copy));
  }
  for (ParsedInstruction instruction : callee.instructions) {
    if (instruction.guard >= 0)
      instruction.guard += registerBase;
    for (Operand &operand : instruction.operands)
      rewrite(operand, registerBase, targetBase, symbols, suffix);
    if (instruction.opcode == "ret") {
      instruction.opcode = "bra";
      instruction.modifiers.clear();
      Operand label;
      label.kind = Operand::Kind::Label;
      label.target = end;
      instruction.operands = {label};
    }
    out.push_back(std::move(instruction));
  }
  fromCallee.resize(out.size(), true);
  if (out.size() > maximumInstructions)
    return error(call, "the kernel grows beyond " +
                           std::to_string(maximumInstructions) +
                           " instructions when its calls are expanded");
  return true;
}

bool Inliner::expand(Function &caller) {
  if (std::none_of(caller.instructions.begin(), caller.instructions.end(),
                   isCall))
    return true;
  std::vector<ParsedInstruction> original = std::move(caller.instructions);
  size_t ownLists = caller.targetLists.size();
  std::vector<ParsedInstruction> out;
  std::vector<bool> fromCallee;
  std::vector<int32_t> moved;
  for (ParsedInstruction &instruction : original) {
    moved.push_back(static_cast<int32_t>(out.size()));
    if (!isCall(instruction)) {
      out.push_back(std::move(instruction));
      fromCallee.push_back(false);
    } else if (!expandCall(caller, instruction, out, fromCallee)) {
      return false;
    }
  }
  for (size_t i = 0; i < out.size(); ++i)
    if (!fromCallee[i])
      for (Operand &operand : out[i].operands)
        if (operand.kind == Operand::Kind::Label)
          operand.target = moved[operand.target];
  for (size_t i = 0; i < ownLists; ++i)
    for (int32_t &target : caller.targetLists[i].targets)
      target = moved[target];
  caller.instructions = std::move(out);
  return true;
}

} // namespace

bool inlineCalls(Module &module, Diagnostics &diagnostics) {
  Inliner inliner(module, diagnostics);
  bool ok = true;
  for (Function &function : module.functions)
    if (function.isEntry)
      ok &= inliner.expand(function);
  return ok;
}

} // namespace nvfp4::sim
