//===- Decoder.cpp - parsed functions to executable kernels -----*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Three steps: decode each instruction with symbolic references, analyse flow
// and liveness, then turn the references into plane offsets.
//
//===----------------------------------------------------------------------===//

#include "nvfp4/Simulator/Decode/Decoder.h"

#include "nvfp4/Simulator/Analysis/DelayedUse.h"
#include "nvfp4/Simulator/Analysis/RegisterAllocation.h"

#include <algorithm>
#include <set>

namespace nvfp4::sim {
namespace {

/// Plane offsets of everything a reference can name.
struct Layout {
  const RegisterAllocation &registers;
  std::vector<uint32_t> environment;
  uint32_t scratch = 0;

  Ref finalize(Ref ref) const {
    if (!ref.valid())
      return ref;
    switch (ref.kind()) {
    case Ref::Kind::Constant:
      return Ref::final(true, ref.index() * 8, ref.negated());
    case Ref::Kind::Environment:
      return Ref::final(false, environment[ref.index()], ref.negated());
    case Ref::Kind::Scratch:
      return Ref::final(false, scratch, false);
    case Ref::Kind::Register:
      break;
    }
    return Ref::final(false, registers.offsets[ref.index()], ref.negated());
  }
};

bool onlyComputes(std::string_view opcode) {
  static constexpr std::string_view opcodes[] = {
      "mov", "add", "sub", "mul", "mad",  "fma", "shl",  "shr",  "and",
      "or",  "xor", "not", "neg", "min",  "max", "selp", "cvt",  "prmt",
      "div", "rem", "bfi", "bfe", "brev", "abs", "shf",  "lop3", "cvta"};
  return std::find(std::begin(opcodes), std::end(opcodes), opcode) !=
         std::end(opcodes);
}

/// Whether the instruction is of a form that the simulator lacks and whose
/// operands are others than those of the forms that it has.
bool isMissingForm(const ParsedInstruction &parsed) {
  static constexpr std::string_view missing[] = {
      "sp",     "sp::ordered_metadata", "ws",        "ashift",
      "im2col", "im2col_no_offs",       "im2col::w", "im2col::w::128"};
  auto isMissing = [&](const std::string &modifier) {
    if (parsed.opcode == "tcgen05" && modifier == "sp")
      return false;
    return std::find(std::begin(missing), std::end(missing), modifier) !=
           std::end(missing);
  };
  return std::any_of(parsed.modifiers.begin(), parsed.modifiers.end(),
                     isMissing);
}

bool decodeInstruction(const ParsedInstruction &parsed, DecodeTables &tables,
                       Diagnostics &diagnostics, Inst &inst, Effects &effects) {
  DecodeContext context(parsed, tables, diagnostics);
  Decoder decoder = InstructionTable::all().find(parsed.opcode);
  if (!decoder || isMissingForm(parsed))
    return context.unsupported();
  context.inst.pool = context.poolSize();
  if (parsed.guard >= 0) {
    context.effects.uses.push_back(parsed.guard);
    context.inst.guard =
        Ref::symbolic(Ref::Kind::Register, parsed.guard, parsed.guardNegated);
  }
  decoder(context);
  context.finish();
  inst = context.inst;
  effects = std::move(context.effects);
  effects.computes = onlyComputes(parsed.opcode);
  if (effects.computes)
    inst.flags |= FlagComputes;
  return !context.hasFailed();
}

void markTracked(Kernel &kernel, const std::vector<Effects> &effects,
                 const std::vector<int32_t> &tracked) {
  for (size_t i = 0; i < effects.size(); ++i) {
    auto touches = [&](const std::vector<int32_t> &list) {
      return std::any_of(list.begin(), list.end(), [&](int32_t reg) {
        return std::binary_search(tracked.begin(), tracked.end(), reg);
      });
    };
    if (!touches(effects[i].uses) && !touches(effects[i].defs))
      continue;
    kernel.code[i].flags |= FlagTracked;
    TrackedAccess access;
    auto collect = [&](const std::vector<int32_t> &from,
                       std::vector<uint32_t> &to) {
      for (int32_t reg : from) {
        auto found = std::lower_bound(tracked.begin(), tracked.end(), reg);
        if (found != tracked.end() && *found == reg)
          to.push_back(found - tracked.begin());
      }
    };
    collect(effects[i].uses, access.uses);
    collect(effects[i].defs, access.defs);
    kernel.trackedAccesses.emplace(static_cast<uint32_t>(i), access);
  }
}

bool isSameAddress(const Operand &a, const Operand &b) {
  if (a.kind != Operand::Kind::Memory || b.kind != Operand::Kind::Memory)
    return false;
  const Operand &x = a.elements[0], &y = b.elements[0];
  return x.kind == y.kind && x.reg == y.reg && x.symbol == y.symbol &&
         x.immediate == y.immediate && a.immediate == b.immediate;
}

/// Marks the loads of loops that make an atomic operation of atom.cas.
void markComparedLoads(const Function &function, Kernel &kernel) {
  auto isCopy = [](const ParsedInstruction &parsed) {
    return parsed.opcode == "mov" && parsed.operands.size() == 2 &&
           parsed.operands[0].kind == Operand::Kind::Register &&
           parsed.operands[1].kind == Operand::Kind::Register;
  };
  for (const ParsedInstruction &swap : function.instructions) {
    if (swap.opcode != "atom" || swap.operands.size() < 4 ||
        std::find(swap.modifiers.begin(), swap.modifiers.end(), "cas") ==
            swap.modifiers.end())
      continue;
    // The register that is compared, and what is copied to it.
    std::set<int32_t> registers{swap.operands[2].reg};
    for (size_t before = 0; before != registers.size();) {
      before = registers.size();
      for (const ParsedInstruction &copy : function.instructions)
        if (isCopy(copy) && registers.count(copy.operands[0].reg))
          registers.insert(copy.operands[1].reg);
    }
    for (size_t i = 0; i < function.instructions.size(); ++i) {
      const ParsedInstruction &load = function.instructions[i];
      if (load.opcode == "ld" && load.operands.size() >= 2 &&
          registers.count(load.operands[0].reg) &&
          isSameAddress(load.operands[1], swap.operands[1]))
        kernel.code[i].flags |= FlagCompared;
    }
  }
}

} // namespace

std::unique_ptr<Kernel> decodeKernel(const Module &module,
                                     const Function &function,
                                     Diagnostics &diagnostics) {
  auto kernel = std::make_unique<Kernel>();
  kernel->module = &module;
  kernel->function = &function;
  kernel->name = function.name;
  kernel->virtualRegisters = function.registers.size();
  DecodeTables tables(module, function, *kernel);

  size_t count = function.instructions.size();
  if (count == 0) {
    diagnostics.error(function.location,
                      "kernel '" + function.name + "' has no instructions");
    return nullptr;
  }
  kernel->code.resize(count);
  std::vector<Effects> effects(count);
  std::vector<bool> guarded(count);
  bool ok = true;
  for (size_t i = 0; i < count; ++i) {
    const ParsedInstruction &parsed = function.instructions[i];
    guarded[i] = parsed.guard >= 0;
    kernel->info.push_back({parsed.location, parsed.line, parsed.fullName()});
    ok &= decodeInstruction(parsed, tables, diagnostics, kernel->code[i],
                            effects[i]);
    for (uint32_t target : effects[i].targets)
      if (target >= count)
        ok = diagnostics.error(parsed.location,
                               "branch target is at the end of the kernel, "
                               "where no instruction follows");
  }
  if (!ok)
    return nullptr;

  markComparedLoads(function, *kernel);
  FlowGraph graph = buildFlowGraph(effects, guarded);
  std::vector<uint32_t> dominators = immediatePostDominators(graph);
  kernel->reconvergence.assign(count, noPc);
  for (size_t i = 0; i < count; ++i) {
    if (effects[i].flow != Flow::Branch &&
        effects[i].flow != Flow::IndexedBranch)
      continue;
    uint32_t block = dominators[graph.blockOf[i]];
    if (block != noPc)
      kernel->reconvergence[i] = graph.blocks[block].begin;
  }

  kernel->narrowStores = findNarrowStores(function);
  for (const DelayedUse &use : findDelayedUses(graph, effects)) {
    kernel->unwaitedUses.push_back(
        {use.use, use.load, function.registers[use.reg].name, use.indirect});
    kernel->code[use.load].flags |= FlagUsedEarly;
    if (use.indirect)
      continue;
    kernel->code[use.use].flags |= FlagUsesLoads;
    kernel->loadsUsed[use.use].push_back(use.load);
  }

  RegisterAllocation registers =
      allocateRegisters(function, graph, effects, guarded);
  Layout layout{registers, {}, 0};
  uint32_t bytes = registers.bytes;
  for (EnvironmentValue &value : kernel->environment) {
    layout.environment.push_back(bytes);
    value.plane = Ref::final(false, bytes, false);
    bytes += value.wide ? widePlaneBytes : narrowPlaneBytes;
  }
  layout.scratch = bytes;
  kernel->registerBytes = bytes + 2 * widePlaneBytes;
  kernel->allocatedPlanes = registers.planes;

  for (Inst &inst : kernel->code) {
    for (Ref &ref : inst.op)
      ref = layout.finalize(ref);
    inst.guard = layout.finalize(inst.guard);
  }
  for (Ref &ref : kernel->pool)
    ref = layout.finalize(ref);
  for (int32_t reg : registers.liveAtEntry)
    kernel->trackedRegisters.emplace_back(registers.offsets[reg],
                                          function.registers[reg].name);
  markTracked(*kernel, effects, registers.liveAtEntry);
  return kernel;
}

} // namespace nvfp4::sim
