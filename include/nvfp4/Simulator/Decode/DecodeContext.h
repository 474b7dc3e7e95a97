//===- DecodeContext.h - what an instruction's decoder works with ---------===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A decoder consumes modifiers and operands of one parsed instruction and
// fills an Inst. Modifiers that are left over, operands of the wrong kind and
// registers of the wrong width are errors that name them, so nothing is ever
// guessed.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_SIMULATOR_DECODE_DECODECONTEXT_H
#define NVFP4_SIMULATOR_DECODE_DECODECONTEXT_H

#include "nvfp4/Simulator/Decode/Kernel.h"

#include <functional>
#include <initializer_list>
#include <map>
#include <optional>

namespace nvfp4::sim {

/// How an instruction ends or leaves a basic block.
enum class Flow : uint8_t { None, Branch, IndexedBranch, Exit };

/// Registers an instruction reads and writes, for liveness.
struct Effects {
  std::vector<int32_t> uses;
  std::vector<int32_t> defs;
  Flow flow = Flow::None;
  std::vector<uint32_t> targets;
  /// tcgen05.ld and wgmma write their registers when they are waited for:
  /// the registers stay occupied until the wait.
  bool delayedDefs = false;
  bool waitsForDelayed = false;
  /// tcgen05.ld and its wait, whose uses are checked on the flow graph.
  bool tmemLoad = false;
  /// The instruction only computes registers from registers.
  bool computes = false;
  bool tmemWait = false;
};

/// A memory operand: base plane, width of the base and offset.
struct AddressOperand {
  Ref base;
  bool wide = false;
  int64_t offset = 0;
};

/// Tables shared by all instructions of a kernel while it is decoded.
class DecodeTables {
public:
  DecodeTables(const Module &module, const Function &function, Kernel &kernel)
      : module(module), function(function), kernel(kernel) {}

  Ref constant32(uint32_t value);
  Ref constant64(uint64_t value);
  Ref constantPredicate(bool value);
  Ref environment(EnvironmentKind kind, bool wide, int32_t symbol = -1,
                  int64_t addend = 0);

  const Module &module;
  const Function &function;
  Kernel &kernel;

private:
  std::map<std::pair<uint64_t, unsigned>, Ref> constants;
};

/// Decodes one instruction.
class DecodeContext {
public:
  DecodeContext(const ParsedInstruction &parsed, DecodeTables &tables,
                Diagnostics &diagnostics)
      : parsed(parsed), tables(tables), diagnostics(diagnostics),
        modifiers(parsed.modifiers) {}

  const ParsedInstruction &parsed;
  Inst inst;
  Effects effects;

  // Modifiers. -----------------------------------------------------------

  /// Consumes the modifier `name`; false when it is absent.
  bool take(std::string_view name);
  /// Consumes whichever of `names` is present and returns its position, or -1.
  int takeAny(std::initializer_list<std::string_view> names);
  /// Like takeAny, but the absence of all is an error.
  int expectAny(std::initializer_list<std::string_view> names);
  /// Consumes the first modifier that is a type; Type::None when there is none.
  Type takeType();
  /// takeType, and an error unless the type is one of `legal`.
  Type expectType(std::initializer_list<Type> legal);
  /// Consumes a modifier made of `prefix` and a decimal number.
  std::optional<unsigned> takeNumber(std::string_view prefix);
  /// Consumes cache and eviction hints, which have no functional effect.
  /// Returns true when an `.L2::cache_hint` operand follows the others.
  bool takeCacheHints();
  /// The first unconsumed modifier, or an empty string.
  std::string_view firstModifier() const {
    return modifiers.empty() ? std::string_view() : modifiers.front();
  }

  // Operands. ------------------------------------------------------------

  size_t operandCount() const { return parsed.operands.size(); }
  const Operand &operand(size_t i) const { return parsed.operands[i]; }
  bool expectOperands(size_t least, size_t most);
  bool expectOperands(size_t exactly) {
    return expectOperands(exactly, exactly);
  }

  /// References for reading or writing operand `i` as `type`. The register
  /// must have the width of the type.
  Ref source(size_t i, Type type);
  Ref source(const Operand &operand, Type type);
  Ref dest(size_t i, Type type);
  Ref dest(const Operand &operand, Type type);
  /// As above, for instructions whose register may be wider than the type;
  /// `wide` says whether the plane has 64-bit lanes.
  Ref sourceAnyWidth(const Operand &operand, Type type, bool &wide);
  Ref destAnyWidth(const Operand &operand, Type type, bool &wide);
  /// The register after `|`, or scratch when there is none.
  Ref secondDest(size_t i, Type type);
  /// A memory operand `[base + offset]` without further parts.
  AddressOperand address(size_t i);
  AddressOperand address(const Operand &memory);
  /// Elements of a vector operand, or the operand itself as the only one.
  std::vector<const Operand *> elements(size_t i) const;
  /// Adds a reference to the pool and returns its index.
  uint32_t addToPool(Ref ref);
  uint32_t poolSize() const;
  Ref constant32(uint32_t value) { return tables.constant32(value); }
  Ref constant64(uint64_t value) { return tables.constant64(value); }
  Ref scratch() const { return Ref::symbolic(Ref::Kind::Scratch, 0); }
  /// An operand that must be an integer literal.
  int64_t literal(size_t i);
  int64_t literal(const Operand &operand);

  template <typename T> T &makeAttributes() {
    auto owned = std::make_unique<T>();
    T &result = *owned;
    inst.attributes = owned.get();
    tables.kernel.attributes.push_back(std::move(owned));
    return result;
  }

  // Errors. --------------------------------------------------------------

  bool error(const std::string &message) {
    failed = true;
    return diagnostics.error(parsed.location, message);
  }
  bool error(const Operand &operand, const std::string &message) {
    failed = true;
    return diagnostics.error(operand.location, message);
  }
  /// The error for a form of an instruction that the simulator lacks.
  bool unsupported();
  bool hasFailed() const { return failed; }
  /// Reports modifiers that no decoder consumed.
  void finish();

  DecodeTables &tables;

private:
  Ref registerRef(const Operand &operand, int32_t index, Type type,
                  bool anyWidth, bool &wide);
  Ref literalRef(const Operand &operand, Type type);
  Ref special(const Operand &operand, bool wide);

  Diagnostics &diagnostics;
  std::vector<std::string> modifiers;
  bool failed = false;
};

/// Fills `context.inst`; errors go to the context.
using Decoder = void (*)(DecodeContext &context);

/// Opcode (the word before the first dot) to decoder.
class InstructionTable {
public:
  void add(std::string_view opcode, Decoder decoder) {
    decoders.emplace(opcode, decoder);
  }
  Decoder find(std::string_view opcode) const {
    auto found = decoders.find(opcode);
    return found == decoders.end() ? nullptr : found->second;
  }
  /// All instruction families of the simulator.
  static const InstructionTable &all();

private:
  std::map<std::string, Decoder, std::less<>> decoders;
};

} // namespace nvfp4::sim

#endif // NVFP4_SIMULATOR_DECODE_DECODECONTEXT_H
