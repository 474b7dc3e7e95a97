//===- KernelJit.h - kernels as callable functions --------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Emits kernels into a module, lowers it with upstream passes and compiles it
// in process.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_UNITTESTS_CONVERSION_GSGTOCPU_KERNELJIT_H
#define NVFP4_UNITTESTS_CONVERSION_GSGTOCPU_KERNELJIT_H

#include "nvfp4/Conversion/GsgToCpu/Kernel/Kernels.h"

#include "mlir/ExecutionEngine/ExecutionEngine.h"

#include <memory>

namespace nvfp4::gsg::cpu {

using PrepareRowsFn = void (*)(const void *data, const void *scales,
                               const int64_t *rowData, const int64_t *rowScales,
                               int64_t rows, int64_t k, int64_t wordStride,
                               int64_t phase, void *prepared);
using GemmTileFn = void (*)(const void *prepared, int64_t rows, int64_t k,
                            const void *data, const void *scales,
                            const int64_t *columnData,
                            const int64_t *columnScales, int64_t columns,
                            int64_t wordStride, int64_t phase,
                            const int64_t *nextColumnData,
                            const int64_t *nextColumnScales, void *scratch,
                            float *accumulator);

struct CompiledKernel {
  KernelPlan plan;
  PrepareRowsFn prepareRows;
  GemmTileFn gemmTile;
};

class KernelJit {
public:
  explicit KernelJit(llvm::ArrayRef<KernelSpec> specs);
  ~KernelJit();

  /// Whether emission, lowering and compilation worked.
  bool succeeded() const { return engine != nullptr; }
  CompiledKernel get(const KernelSpec &spec) const;
  /// Processor time of emission and passes, and of compilation.
  double getPassSeconds() const { return passSeconds; }
  double getJitSeconds() const { return jitSeconds; }
  void dumpObject(llvm::StringRef path) const {
    engine->dumpToObjectFile(path);
  }

private:
  std::unique_ptr<mlir::MLIRContext> context;
  std::unique_ptr<mlir::ExecutionEngine> engine;
  double passSeconds = 0, jitSeconds = 0;
};

} // namespace nvfp4::gsg::cpu

#endif // NVFP4_UNITTESTS_CONVERSION_GSGTOCPU_KERNELJIT_H
