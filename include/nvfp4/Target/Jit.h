//===- Jit.h - Modules compiled into this process ---------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A module in the LLVM dialect as callable code, through ORC.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_TARGET_JIT_H
#define NVFP4_TARGET_JIT_H

#include "nvfp4/Target/NativeTarget.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Support/LLVM.h"

namespace llvm::orc {
class LLJIT;
} // namespace llvm::orc

namespace nvfp4::target {

/// Compiled code. Symbols live as long as the object; undefined symbols of the
/// code are looked up as this library would: among the global symbols of the
/// process, then in what it is linked with.
class Jit {
public:
  /// Compiles `module` (LLVM dialect, registerTranslations done) and links it
  /// with `objects`, the contents of ELF files. Null after a diagnostic at the
  /// module.
  static std::unique_ptr<Jit> create(mlir::ModuleOp module,
                                     const NativeTarget &target,
                                     mlir::ArrayRef<std::string> objects = {});
  ~Jit();

  /// The address of a function or global, or null if there is none.
  void *lookup(llvm::StringRef symbol) const;

private:
  explicit Jit(std::unique_ptr<llvm::orc::LLJIT> engine);
  std::unique_ptr<llvm::orc::LLJIT> engine;
};

} // namespace nvfp4::target

#endif // NVFP4_TARGET_JIT_H
