//===- NativeTarget.cpp - The CPU that code is made for ---------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The names that LLVM has for CPUs and features. They are checked here because
// LLVM has no error to return for a wrong one.
//
//===----------------------------------------------------------------------===//

#include "nvfp4/Target/NativeTarget.h"

#include "llvm/ADT/StringMap.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/Target/TargetOptions.h"
#include "llvm/TargetParser/Host.h"
#include "llvm/TargetParser/SubtargetFeature.h"
#include "llvm/TargetParser/Triple.h"

using namespace llvm;
using namespace nvfp4::target;

Expected<NativeTarget> NativeTarget::forIsa(StringRef isa) {
  NativeTarget target;
  if (isa == "generic") {
    target.cpu = "x86-64";
  } else if (isa == "avx2") {
    target.cpu = "x86-64-v3";
  } else if (isa == "avx512vnni" || isa == "avx512bf16" || isa == "amx") {
    // Conversions to bf16 by its instruction would flush subnormals.
    target.cpu = "x86-64-v4";
    target.features = "+avx512vnni,+avx512vbmi";
  } else {
    return createStringError("expected instruction set generic, avx2, "
                             "avx512vnni, avx512bf16 or amx, but got '" +
                             isa + "'");
  }
  return target;
}

static Error checkNames(const MCSubtargetInfo &info, const NativeTarget &target,
                        StringRef cpu) {
  if (!info.isCPUStringValid(cpu))
    return createStringError("expected a CPU that LLVM knows, but got '" + cpu +
                             "'");
  SmallVector<StringRef> features;
  SplitString(target.features, features, ",");
  for (StringRef feature : features) {
    if (!feature.starts_with("+") && !feature.starts_with("-"))
      return createStringError("expected a target feature with '+' or '-', "
                               "but got '" +
                               feature + "'");
    StringRef name = feature.drop_front();
    if (llvm::none_of(
            info.getAllProcessorFeatures(),
            [&](const SubtargetFeatureKV &known) { return name == known.Key; }))
      return createStringError("expected a target feature that LLVM knows, "
                               "but got '" +
                               name + "'");
  }
  return Error::success();
}

static CodeGenOptLevel getCodeGenLevel(unsigned level) {
  return CodeGenOpt::getLevel(static_cast<int>(std::min(level, 3u)))
      .value_or(CodeGenOptLevel::Aggressive);
}

Expected<std::unique_ptr<TargetMachine>>
nvfp4::target::createTargetMachine(const NativeTarget &target) {
  static const bool initialized = !InitializeNativeTarget() &&
                                  !InitializeNativeTargetAsmPrinter() &&
                                  !InitializeNativeTargetAsmParser();
  if (!initialized)
    return createStringError("this LLVM has no code generator for the host");

  Triple triple(sys::getProcessTriple());
  std::string message;
  const Target *backend = TargetRegistry::lookupTarget(triple, message);
  if (!backend)
    return createStringError("no code generator for '" + triple.str() +
                             "': " + message);

  StringRef cpu = target.cpu;
  SubtargetFeatures features;
  if (cpu == "native") {
    cpu = sys::getHostCPUName();
    auto hostFeatures = sys::getHostCPUFeatures();
    for (const auto &feature : hostFeatures)
      features.AddFeature(feature.first(), feature.second);
  }
  std::unique_ptr<MCSubtargetInfo> info(
      backend->createMCSubtargetInfo(triple, "", ""));
  if (Error error = checkNames(*info, target, cpu))
    return error;
  SubtargetFeatures extra(target.features);
  for (const std::string &feature : extra.getFeatures())
    features.AddFeature(feature);

  TargetOptions options;
  options.AllowFPOpFusion = FPOpFusion::Strict;
  // Dynamic linkers run no others.
  options.UseInitArray = true;
  return std::unique_ptr<TargetMachine>(backend->createTargetMachine(
      triple, cpu, features.getString(), options, Reloc::PIC_, std::nullopt,
      getCodeGenLevel(target.optLevel)));
}
