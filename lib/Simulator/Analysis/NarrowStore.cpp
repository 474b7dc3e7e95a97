//===- NarrowStore.cpp ------------------------------------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "nvfp4/Simulator/Analysis/NarrowStore.h"

#include <unordered_map>

namespace nvfp4::sim {

/// The first type among the modifiers: that of the result, or of what a store
/// writes.
static Type getFirstType(const ParsedInstruction &instruction) {
  for (const std::string &modifier : instruction.modifiers)
    if (std::optional<Type> type = parseType(modifier))
      return *type;
  return Type::None;
}

/// Calls `visit` with each register of an operand that is one or a vector.
template <typename F>
static void forEachRegister(const Operand &operand, F visit) {
  if (operand.kind == Operand::Kind::Register)
    visit(operand.reg);
  else if (operand.kind == Operand::Kind::Vector)
    for (const Operand &element : operand.elements)
      forEachRegister(element, visit);
}

std::vector<NarrowStore> findNarrowStores(const Function &function) {
  const std::vector<ParsedInstruction> &code = function.instructions;
  std::unordered_map<int32_t, uint32_t> writes;
  for (uint32_t i = 0; i < code.size(); ++i)
    if (code[i].opcode != "st" && !code[i].operands.empty() &&
        isFloat(getFirstType(code[i])))
      forEachRegister(code[i].operands[0],
                      [&](int32_t reg) { writes.try_emplace(reg, i); });
  std::vector<NarrowStore> found;
  for (uint32_t i = 0; i < code.size(); ++i) {
    if (code[i].opcode != "st" || code[i].operands.size() < 2)
      continue;
    unsigned width = bitWidth(getFirstType(code[i]));
    forEachRegister(code[i].operands[1], [&](int32_t reg) {
      auto write = writes.find(reg);
      if (write != writes.end() &&
          bitWidth(function.registers[reg].type) > width)
        found.push_back({i, write->second, reg});
    });
  }
  return found;
}

} // namespace nvfp4::sim
