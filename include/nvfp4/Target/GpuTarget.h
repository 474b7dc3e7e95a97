//===- GpuTarget.h - PTX and cubin of kernels -------------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What LLVM and ptxas make of modules of kernels.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_TARGET_GPUTARGET_H
#define NVFP4_TARGET_GPUTARGET_H

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "llvm/Support/Error.h"

#include <string>

namespace nvfp4::target {

/// A GPU to make code for.
struct GpuTarget {
  /// LLVM's name: `sm_90a`, `sm_100a`, `sm_103a` or `sm_100f`.
  std::string chip = "sm_100a";
  /// LLVM's target features, which choose the version of PTX.
  std::string features = "+ptx88";
  /// 0 to 3.
  unsigned optLevel = 3;

  /// The target called `name`, or an error that lists the names.
  static llvm::Expected<GpuTarget> forName(llvm::StringRef name);
  /// True if `name` is one of a GPU and no CPU.
  static bool isName(llvm::StringRef name);
};

/// PTX, and the names of the kernels in it.
struct KernelPtx {
  llvm::SmallVector<std::string> kernels;
  std::string text;
};

/// The PTX of a module of kernels in the LLVM and NVVM dialects
/// (registerTranslations done): a text for each kernel, or for those that share
/// a definition, made at the same time where the context has threads. Failure
/// after a diagnostic.
mlir::FailureOr<llvm::SmallVector<KernelPtx>>
emitKernels(mlir::gpu::GPUModuleOp module, const GpuTarget &target);

/// The texts of emitKernels as one.
std::string joinPtx(llvm::ArrayRef<KernelPtx> parts);

/// Code for one GPU, and the text that ptxas prints with `-v`.
struct Cubin {
  std::string bytes, notes;
};

/// The cubin that ptxas makes of `ptx`, or an error with the output of ptxas.
/// The program is `$CUDA_HOME/bin/ptxas`, or the one in PATH.
llvm::Expected<Cubin> assemblePtx(llvm::StringRef ptx, const GpuTarget &target);

/// A fat binary of `ptx` and its cubin: drivers start the latter where they
/// can, else they assemble the former. Needs `fatbinary`, which comes with
/// ptxas, as well.
llvm::Expected<std::string> assembleFatBinary(llvm::StringRef ptx,
                                              const GpuTarget &target);

} // namespace nvfp4::target

#endif // NVFP4_TARGET_GPUTARGET_H
