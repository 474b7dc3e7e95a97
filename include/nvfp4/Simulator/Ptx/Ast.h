//===- Ast.h - a parsed PTX module ------------------------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The parser resolves names while it reads: an operand that names a register
// holds its index, one that names a variable holds its symbol, a label holds
// the index of the instruction it stands before. What is left to later stages
// is the meaning of opcodes, modifiers and operand lists.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_SIMULATOR_PTX_AST_H
#define NVFP4_SIMULATOR_PTX_AST_H

#include "nvfp4/Simulator/Ptx/Diagnostic.h"
#include "nvfp4/Simulator/Ptx/Type.h"

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace nvfp4::sim {

/// A register declared by `.reg`; ranges are expanded.
struct VirtualRegister {
  std::string name;
  Type type = Type::None;
};

/// A value in an initialiser that is the address of another variable.
struct Relocation {
  uint64_t offset = 0;
  int32_t symbol = -1;
  int64_t addend = 0;
  unsigned bytes = 8;
  /// `generic(x)` instead of the address in x's own space.
  bool generic = false;
};

/// A variable or a kernel parameter.
struct Symbol {
  std::string name;
  StateSpace space = StateSpace::Generic;
  Type type = Type::None;
  uint64_t alignment = 1;
  /// Size in bytes; 0 for arrays without a size, such as dynamic shared memory.
  uint64_t size = 0;
  /// An array without a size: the launch gives its length.
  bool unsized = false;
  /// Byte offset in the parameter buffer, the local frame of the function or
  /// the module's global or constant image. Where a shared variable lies is up
  /// to the kernel: Function::sharedOffsets.
  uint64_t offset = 0;
  std::vector<uint8_t> initial;
  std::vector<Relocation> relocations;
};

/// An operand of an instruction.
struct Operand {
  enum class Kind : uint8_t {
    /// `reg`, with `negated` for `!%p`.
    Register,
    /// `immediate`.
    Integer,
    /// `immediate` holds the bits of a double, or of a float when `single`.
    Float,
    /// The address of `symbol` plus `immediate`.
    Symbol,
    /// A special register; `name` is its spelling with the dot part.
    Special,
    /// `{a, b}`: `elements`.
    Vector,
    /// `[base + immediate, extra…]`: `elements[0]` is the base.
    Memory,
    /// `_`.
    Sink,
    /// A label; `target` is the instruction index.
    Label,
    /// A function, or another name only its instruction understands.
    Name,
  };
  Kind kind = Kind::Sink;
  bool negated = false;
  bool single = false;
  /// The part after `|`: register index, or -1 when absent or `_`.
  bool hasSecond = false;
  int32_t second = -1;
  int32_t reg = -1;
  int32_t symbol = -1;
  int32_t target = -1;
  int64_t immediate = 0;
  std::string name;
  std::vector<Operand> elements;
  SourceLocation location;
};

/// The place in the program the PTX was made from (`.loc`); file 0 is none.
struct LineInfo {
  uint32_t file = 0;
  uint32_t line = 0;
  uint32_t column = 0;
};

/// One instruction with its operands resolved.
struct ParsedInstruction {
  /// The word before the first dot.
  std::string opcode;
  /// The words after the dots, in order.
  std::vector<std::string> modifiers;
  /// Guard predicate register, or -1.
  int32_t guard = -1;
  bool guardNegated = false;
  std::vector<Operand> operands;
  SourceLocation location;
  LineInfo line;

  /// The opcode as it was written.
  std::string fullName() const {
    std::string name = opcode;
    for (const std::string &modifier : modifiers)
      name += "." + modifier;
    return name;
  }
};

/// `.branchtargets` and `.calltargets` lists, by label name.
struct TargetList {
  std::string name;
  std::vector<int32_t> targets;
};

/// A kernel or a device function.
struct Function {
  std::string name;
  bool isEntry = false;
  /// Symbols in the module's table, in order.
  std::vector<int32_t> parameters;
  std::vector<int32_t> returns;
  std::vector<VirtualRegister> registers;
  std::vector<ParsedInstruction> instructions;
  std::vector<TargetList> targetLists;
  /// Bytes of `.param` and of `.local` variables.
  uint64_t parameterBytes = 0;
  uint64_t localBytes = 0;
  /// Shared variables declared in the body.
  std::vector<int32_t> sharedVariables;
  /// In kernels: byte offsets in the static shared block of the shared
  /// variables that the kernel has, and the size of the block.
  std::map<int32_t, uint64_t> sharedOffsets;
  uint64_t sharedBytes = 0;
  /// Alignment of the dynamic shared memory after it.
  uint64_t dynamicSharedAlignment = 16;
  /// Launch bounds; zero when not stated.
  std::array<uint32_t, 3> requiredThreads{};
  std::array<uint32_t, 3> maximumThreads{};
  std::array<uint32_t, 3> requiredCluster{};
  SourceLocation location;
};

/// A PTX module.
struct Module {
  std::string fileName;
  /// The text the diagnostics refer to.
  std::string text;
  unsigned versionMajor = 0;
  unsigned versionMinor = 0;
  std::string target;
  std::vector<Symbol> symbols;
  std::vector<Function> functions;
  /// Names of `.file` directives; index 0 is unused.
  std::vector<std::string> files;
  /// Bytes of global and constant data.
  uint64_t globalBytes = 0;
  uint64_t constBytes = 0;

  const Function *find(std::string_view name) const {
    for (const Function &function : functions)
      if (function.name == name)
        return &function;
    return nullptr;
  }
};

} // namespace nvfp4::sim

#endif // NVFP4_SIMULATOR_PTX_AST_H
