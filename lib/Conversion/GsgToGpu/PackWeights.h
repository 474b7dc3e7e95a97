//===- PackWeights.h - Weights packed for sm_90a by kernels -----*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The blocks of nvfp4/Format/WgmmaWeights.h, byte for byte as the host's code
// writes them.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_LIB_CONVERSION_GSGTOGPU_PACKWEIGHTS_H
#define NVFP4_LIB_CONVERSION_GSGTOGPU_PACKWEIGHTS_H

#include "StagedColumns.h"

#include "nvfp4/Conversion/GsgToLoops/DataChecks.h"
#include "nvfp4/Conversion/GsgToLoops/StorageAccess.h"
#include "nvfp4/Format/WgmmaBlock.h"
#include "nvfp4/Format/WgmmaWeights.h"

namespace nvfp4::gsg::togpu {

/// Matrices of weights in storage form, and where they go. All values are i64
/// but the memrefs.
struct PackedWeights {
  format::wgmma::Coding coding;
  /// Packed codes and linear scales, with the rows of all matrices.
  mlir::Value codes, scales;
  mlir::Value out, factors;
  mlir::Value matrices = {}, rows = {};
  /// Blocks of 64 columns of a strip of 64 rows, and bytes of a matrix of them.
  mlir::Value blocks = {}, pitch = {};
  /// The checks of the weights that kernels report, or nothing.
  loops::DataChecks checks = {};

  /// Sets `checks` for `op`.
  void addChecks(loops::LoopBuilder &b, mlir::Operation *op);
};

/// Emits the launches. Where the host's code would fail the call, for a scale
/// with its sign set, an infinite element, or UE8M0 scales too far apart, the
/// scale or the factor becomes NaN, which is reported.
void packWeights(loops::LoopBuilder &b, const PackedWeights &weights,
                 StagedColumns &columns);

} // namespace nvfp4::gsg::togpu

#endif // NVFP4_LIB_CONVERSION_GSGTOGPU_PACKWEIGHTS_H
