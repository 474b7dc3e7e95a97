//===- NativeTarget.h - The CPU that code is made for -----------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Names a CPU for LLVM's code generator and makes target machines for it.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_TARGET_NATIVETARGET_H
#define NVFP4_TARGET_NATIVETARGET_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <memory>
#include <string>

namespace llvm {
class TargetMachine;
} // namespace llvm

namespace nvfp4::target {

/// A CPU and how hard to optimise for it.
struct NativeTarget {
  /// An LLVM CPU name such as `x86-64-v3`; `native` is the CPU of this process.
  std::string cpu = "native";
  /// Comma-separated `+feature` and `-feature`, after those of `cpu`.
  std::string features;
  /// 0 to 3, for the middle end and for code generation.
  unsigned optLevel = 3;

  /// The target that every CPU has which supports `isa` (`generic`, `avx2`,
  /// `avx512vnni`, `avx512bf16` or `amx`), or an error that lists these names.
  static llvm::Expected<NativeTarget> forIsa(llvm::StringRef isa);
};

/// Makes a position-independent target machine for the host's operating
/// system. Floating-point operations are never contracted. Unknown CPU names
/// and features are errors.
llvm::Expected<std::unique_ptr<llvm::TargetMachine>>
createTargetMachine(const NativeTarget &target);

} // namespace nvfp4::target

#endif // NVFP4_TARGET_NATIVETARGET_H
