//===- Optimize.cpp - LLVM's optimiser --------------------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Most of the time of LLVM's pipeline goes into looking for loops to vectorise,
// to unroll and to turn into something else, and into cleaning up after each of
// these. Code of products has its vectors, and its loops are as long as groups
// have rows.
//
//===----------------------------------------------------------------------===//

#include "Optimize.h"

#include "nvfp4/Target/Versions.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Analysis/CGSCCPassManager.h"
#include "llvm/Analysis/LoopAnalysisManager.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/PassInstrumentation.h"
#include "llvm/IR/PassManager.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Target/TargetMachine.h"

using namespace llvm;

/// How often a pass may see one function that is lowered.
static unsigned getRuns(StringRef pass) {
  return StringSwitch<unsigned>(pass)
      .Cases({"SROAPass", "EarlyCSEPass", "InstCombinePass", "LICMPass"}, 2)
      .Cases({"SimplifyCFGPass", "LoopSimplifyPass", "LCSSAPass"}, 2)
      .Cases({"LoopRotatePass", "IndVarSimplifyPass", "LoopFullUnrollPass"}, 1)
      .Case("GVNPass", 1)
      .Default(0);
}

static const Function *getFunction(const Any &ir) {
  if (const auto *function = any_cast<const Function *>(&ir))
    return *function;
  if (const auto *loop = any_cast<const Loop *>(&ir))
    return (*loop)->getHeader()->getParent();
  return nullptr;
}

/// The time that LLVM takes grows as the square of the length of a block.
static constexpr unsigned kLongFunction = 2000;

/// True if `function` is one of the caller's with many instructions, each of
/// which runs once a call: the code around kernels of hundreds of problems or
/// experts.
static bool isLongWithoutLoops(Function &function) {
  if (function.isDeclaration() || function.hasLocalLinkage() ||
      function.hasFnAttribute(nvfp4::target::kLoweredAttr) ||
      function.getInstructionCount() < kLongFunction)
    return false;
  DominatorTree dominators(function);
  return LoopInfo(dominators).empty();
}

/// Cuts the blocks of `function`: instruction selection takes a time that grows
/// as the square of their length.
static void cutBlocks(Function &function) {
  static constexpr unsigned length = 64;
  // An allocation of known size is a slot of the frame in the first block
  // alone.
  BasicBlock &entry = function.getEntryBlock();
  for (Instruction &instruction : make_early_inc_range(entry))
    if (auto *slot = dyn_cast<AllocaInst>(&instruction);
        slot && slot->isStaticAlloca())
      slot->moveBefore(entry, entry.begin());
  SmallVector<Instruction *> cuts;
  for (BasicBlock &block : function) {
    unsigned number = 0;
    for (Instruction &instruction : block)
      if (!isa<AllocaInst, PHINode>(instruction) && ++number % length == 0 &&
          !instruction.isTerminator())
        cuts.push_back(&instruction);
  }
  for (Instruction *cut : cuts)
    cut->getParent()->splitBasicBlock(cut);
}

void nvfp4::target::optimize(Module &module, TargetMachine &machine,
                             unsigned level) {
  LoopAnalysisManager loops;
  FunctionAnalysisManager functions;
  CGSCCAnalysisManager components;
  ModuleAnalysisManager modules;
  // Every thread of a GPU runs a kernel; a call of a host runs long functions
  // without loops once.
  bool hasLong = false;
  for (Function &function : module) {
    if (module.getTargetTriple().isNVPTX() || !isLongWithoutLoops(function))
      continue;
    hasLong = true;
    function.removeFnAttr(Attribute::AlwaysInline);
    function.addFnAttr(Attribute::NoInline);
    function.addFnAttr(Attribute::OptimizeNone);
    cutBlocks(function);
  }
  // All functions of a module have one register allocator. Most code of a host
  // that launches kernels is launches, which need no good one.
  if (hasLong && module.getNamedGlobal(kKernelList))
    machine.setOptLevel(CodeGenOptLevel::None);
  PassInstrumentationCallbacks callbacks;
  // By name: passes replace functions, at addresses that may be used again.
  StringMap<unsigned> runs;
  callbacks.registerShouldRunOptionalPassCallback([&](StringRef pass, Any ir) {
    // It takes most of a second for a function with the descriptors of hundreds
    // of memrefs, and finds out what indirect calls may reach.
    if (pass == "CalledValuePropagationPass")
      return false;
    const Function *function = getFunction(ir);
    if (function && function->hasOptNone())
      return false;
    if (!function || !function->hasFnAttribute(kLoweredAttr))
      return true;
    unsigned limit = getRuns(pass);
    // Loops of one function are seen one after the other.
    if (!limit || any_cast<const Loop *>(&ir))
      return limit > 0;
    return runs[(pass + " " + function->getName()).str()]++ < limit;
  });
  PassBuilder builder(&machine, PipelineTuningOptions(), std::nullopt,
                      &callbacks);
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(components);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, components, modules);
  const OptimizationLevel levels[] = {
      OptimizationLevel::O0, OptimizationLevel::O1, OptimizationLevel::O2,
      OptimizationLevel::O3};
  OptimizationLevel chosen = levels[std::min(level, 3u)];
  ModulePassManager passes =
      chosen == OptimizationLevel::O0
          ? builder.buildO0DefaultPipeline(chosen)
          : builder.buildPerModuleDefaultPipeline(chosen);
  passes.run(module, modules);
}
