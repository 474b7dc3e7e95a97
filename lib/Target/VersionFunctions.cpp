//===- VersionFunctions.cpp - One function, several CPUs --------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// On LLVM IR, where the bodies of parallel loops are functions of their own, so
// that the choice is made once for a thread and not for an element.
//
//===----------------------------------------------------------------------===//

#include "VersionFunctions.h"

#include "nvfp4/Target/NativeTarget.h"

#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/Transforms/Utils/Cloning.h"

using namespace llvm;
using namespace nvfp4::target;

/// Loads, stores and calls move values; the rest computes.
static bool computes(const Function &function) {
  for (const Instruction &instruction : instructions(function)) {
    if (instruction.mayReadOrWriteMemory() && !isa<IntrinsicInst>(instruction))
      continue;
    Type *type = instruction.getType();
    if (type->isFPOrFPVectorTy() || type->isVectorTy() ||
        isa<FCmpInst, FPToSIInst, FPToUIInst>(instruction))
      return true;
  }
  return false;
}

/// Moves the body of `function`, which keeps its name and callers, to a new
/// internal function.
static Function *splitBody(Function &function, const Twine &name) {
  Function *body =
      Function::Create(function.getFunctionType(), GlobalValue::InternalLinkage,
                       function.getAddressSpace(), name, function.getParent());
  body->copyAttributesFrom(&function);
  body->setLinkage(GlobalValue::InternalLinkage);
  body->setVisibility(GlobalValue::DefaultVisibility);
  body->setSubprogram(function.getSubprogram());
  function.setSubprogram(nullptr);
  body->splice(body->begin(), &function);
  for (auto [from, to] : zip_equal(function.args(), body->args())) {
    from.replaceAllUsesWith(&to);
    to.takeName(&from);
  }
  return body;
}

/// The levels of NVFP4_CPU_ISA and the CPU, as the index of a name.
static constexpr StringRef kLevels[] = {"generic", "avx2", "avx512vnni",
                                        "avx512bf16", "amx"};
/// The last level that functions other than kernels gain from.
static constexpr int32_t kLastLevel = 2;

Error nvfp4::target::versionFunctions(Module &module,
                                      ArrayRef<StringRef> isas) {
  SmallVector<Function *> functions;
  for (Function &function : module)
    if (!function.isDeclaration() && !function.hasFnAttribute("target-cpu") &&
        computes(function))
      functions.push_back(&function);
  struct Version {
    int32_t level;
    NativeTarget target;
    SmallVector<Function *> bodies;
  };
  SmallVector<Version> versions;
  for (auto [index, name] : enumerate(kLevels)) {
    // Only kernels use what comes after AVX-512 VNNI.
    auto level = std::min(static_cast<int32_t>(index), kLastLevel);
    bool isThere = !versions.empty() && versions.back().level == level;
    if (level == 0 || isThere || !is_contained(isas, name))
      continue;
    Expected<NativeTarget> target = NativeTarget::forIsa(name);
    if (!target)
      return target.takeError();
    versions.push_back({level, *target, {}});
  }
  // A single instruction set, or the lowest of several, is the module's own.
  if (!is_contained(isas, "generic") && !versions.empty())
    versions.erase(versions.begin());
  if (functions.empty() || versions.empty())
    return Error::success();

  SmallVector<Function *> own;
  for (Function *function : functions)
    own.push_back(splitBody(*function, function->getName() + ".generic"));
  for (Version &version : versions) {
    ValueToValueMapTy map;
    for (auto [function, body] : zip_equal(functions, own)) {
      Function *copy = Function::Create(
          body->getFunctionType(), GlobalValue::InternalLinkage,
          body->getAddressSpace(),
          function->getName() + "." + kLevels[version.level], &module);
      version.bodies.push_back(copy);
      map[function] = copy;
    }
    for (auto [body, copy] : zip_equal(own, version.bodies)) {
      for (auto [from, to] : zip_equal(body->args(), copy->args()))
        map[&from] = &to;
      SmallVector<ReturnInst *> returns;
      CloneFunctionInto(copy, body, map, CloneFunctionChangeType::GlobalChanges,
                        returns);
      copy->setLinkage(GlobalValue::InternalLinkage);
      copy->addFnAttr("target-cpu", version.target.cpu);
      copy->addFnAttr("target-features", version.target.features);
    }
  }
  // The module's own versions call each other without asking again.
  for (auto [function, body] : zip_equal(functions, own))
    function->replaceUsesWithIf(body, [&](Use &use) {
      auto *user = dyn_cast<Instruction>(use.getUser());
      return user && is_contained(own, user->getFunction());
    });

  FunctionCallee askIsa = module.getOrInsertFunction(
      "nvfp4_cpu_isa", Type::getInt32Ty(module.getContext()));
  for (auto [index, function] : enumerate(functions)) {
    SmallVector<Value *> args;
    for (Argument &argument : function->args())
      args.push_back(&argument);
    BasicBlock *entry =
        BasicBlock::Create(module.getContext(), "choose", function);
    IRBuilder<> builder(entry);
    Value *level = builder.CreateCall(askIsa);
    auto callAndReturn = [&](Function *callee) {
      CallInst *call = builder.CreateCall(callee, args);
      call->setTailCallKind(CallInst::TCK_NoTail);
      if (call->getType()->isVoidTy())
        builder.CreateRetVoid();
      else
        builder.CreateRet(call);
    };
    for (Version &version : reverse(versions)) {
      BasicBlock *has =
          BasicBlock::Create(module.getContext(), "has", function);
      BasicBlock *lower =
          BasicBlock::Create(module.getContext(), "lower", function);
      builder.CreateCondBr(
          builder.CreateICmpSGE(level, builder.getInt32(version.level)), has,
          lower);
      builder.SetInsertPoint(has);
      callAndReturn(version.bodies[index]);
      builder.SetInsertPoint(lower);
    }
    callAndReturn(own[index]);
  }
  return Error::success();
}
