//===- Inst.h - a decoded instruction ---------------------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An instruction as the interpreter executes it: a handler, references to lane
// planes, and a few immediate fields. Every reference of an instruction lives
// in `op`, `guard` or the kernel's pool, so that register allocation can
// rewrite them.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_SIMULATOR_DECODE_INST_H
#define NVFP4_SIMULATOR_DECODE_INST_H

#include <cstdint>

namespace nvfp4::sim {

class Warp;
struct Inst;

/// One bit a lane; lane 0 is bit 0.
using LaneMask = uint32_t;
constexpr LaneMask allLanes = 0xffffffffu;

/// The interpreter's next step after a handler.
enum class Step : uint8_t {
  /// Go to the next instruction.
  Next,
  /// The handler has set the program counter or changed the lane groups.
  Jump,
  /// The lane group waits; the instruction runs again when it is woken.
  Block,
  /// The run is over (a fault has been reported).
  Stop,
};

/// Executes `inst` for the lanes in `mask`, which is never empty.
using Handler = Step (*)(Warp &warp, const Inst &inst, LaneMask mask);

/// Where the 32 values of an operand are: a register, a constant or an
/// environment value (special register, address of a variable).
///
/// While a kernel is decoded the low bits are an index into the table of
/// `kind()`; `finalize` turns them into a byte offset.
struct Ref {
  enum class Kind : uint32_t { Register, Constant, Environment, Scratch };
  static constexpr uint32_t none = ~0u;
  static constexpr uint32_t constantBit = 1u << 31;
  static constexpr uint32_t negatedBit = 1u << 30;
  static constexpr uint32_t offsetMask = negatedBit - 1;

  uint32_t bits = none;

  bool valid() const { return bits != none; }
  bool negated() const { return bits & negatedBit; }

  // Decode-time form.
  static Ref symbolic(Kind kind, uint32_t index, bool negated = false) {
    return {static_cast<uint32_t>(kind) << 28 | (negated ? negatedBit : 0) |
            index};
  }
  Kind kind() const { return static_cast<Kind>(bits >> 28 & 3); }
  uint32_t index() const { return bits & 0x0fffffff; }

  // Final form.
  static Ref final(bool constant, uint32_t offset, bool negated) {
    return {(constant ? constantBit : 0) | (negated ? negatedBit : 0) | offset};
  }
};

/// Fields too large or too rare for `Inst`; each family derives its own.
struct InstAttributes {
  virtual ~InstAttributes() = default;
};

/// Properties the interpreter checks before it calls the handler.
enum InstFlags : uint8_t {
  /// All live lanes of the warp must execute the instruction together.
  FlagAligned = 1,
  /// The lanes named by the member mask in `op[memberOperand]` must execute it
  /// together.
  FlagMemberMask = 2,
  /// Operands include registers that may be read before they are written.
  FlagTracked = 4,
  /// The guard is an operand of the handler (branches): lanes whose guard is
  /// false must reach it too.
  FlagOwnGuard = 8,
  /// The instruction only computes registers from registers: what it makes of
  /// an undefined value matters when that is used.
  FlagComputes = 16,
  /// A tcgen05.ld whose registers are used before they are waited for.
  FlagUsedEarly = 32,
  /// Uses registers of a tcgen05.ld that may not have been waited for.
  FlagUsesLoads = 64,
  /// A load whose value an atom.cas at the same address compares.
  FlagCompared = 128,
};

/// One decoded instruction: 64 bytes plus attributes.
struct Inst {
  static constexpr unsigned maxOperands = 6;

  Handler handler = nullptr;
  Ref op[maxOperands];
  /// Guard predicate; invalid when there is none.
  Ref guard;
  /// Address offset, immediate or branch target.
  int64_t immediate = 0;
  /// First of this instruction's references in the kernel's pool.
  uint32_t pool = 0;
  uint8_t flags = 0;
  /// Which of `op` is the member mask.
  uint8_t memberOperand = 0;
  /// Meaning chosen by the instruction family.
  uint8_t sub[2] = {};
  const InstAttributes *attributes = nullptr;

  template <typename T> const T &attr() const {
    return static_cast<const T &>(*attributes);
  }
};

} // namespace nvfp4::sim

#endif // NVFP4_SIMULATOR_DECODE_INST_H
