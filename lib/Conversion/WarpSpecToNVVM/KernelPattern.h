//===- KernelPattern.h - Patterns for operations of kernels -----*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_LIB_CONVERSION_WARPSPECTONVVM_KERNELPATTERN_H
#define NVFP4_LIB_CONVERSION_WARPSPECTONVVM_KERNELPATTERN_H

#include "nvfp4/Conversion/WarpSpecToNVVM/KernelAnalysis.h"
#include "nvfp4/Conversion/WarpSpecToNVVM/WarpSpecToNVVM.h"

#include "mlir/Transforms/DialectConversion.h"

namespace nvfp4::warpspec {

/// A pattern for one operation, which knows its kernel.
template <typename SourceOp>
class KernelPattern : public mlir::OpConversionPattern<SourceOp> {
public:
  KernelPattern(const mlir::TypeConverter &converter,
                mlir::MLIRContext *context, const KernelAnalysis &kernels)
      : mlir::OpConversionPattern<SourceOp>(converter, context),
        kernels(kernels) {}

protected:
  const KernelAnalysis &kernels;
};

} // namespace nvfp4::warpspec

#endif // NVFP4_LIB_CONVERSION_WARPSPECTONVVM_KERNELPATTERN_H
