//===- BarrierBuilder.h - Barriers of pipelines -----------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_LIB_CONVERSION_WARPSPECTONVVM_BARRIERBUILDER_H
#define NVFP4_LIB_CONVERSION_WARPSPECTONVVM_BARRIERBUILDER_H

#include "AddressBuilder.h"
#include "nvfp4/Conversion/WarpSpecToNVVM/KernelAnalysis.h"

namespace nvfp4::warpspec {

/// True if a side of a pipeline learns this at a barrier in shared memory.
bool isBarrier(Signal signal);

/// The group of every tcgen05 instruction of a kernel.
inline mlir::NVVM::CTAGroupKind getCtaGroup(bool pair) {
  return pair ? mlir::NVVM::CTAGroupKind::CTA_2
              : mlir::NVVM::CTAGroupKind::CTA_1;
}

/// Builds with the barriers of pipelines.
struct BarrierBuilder : AddressBuilder {
  using AddressBuilder::AddressBuilder;

  /// All of an address but the lowest bit of its block's rank in the cluster,
  /// which is bit 24 in the window of the cluster: the even block of a pair.
  static constexpr int64_t kEvenBlockMask = 0xFEFFFFFF;

  /// Address of the full or empty barrier of `stage`.
  mlir::Value getBarrier(const PipelineFacts &pipeline, bool full,
                         mlir::Value stage);
  /// Pointer to the same barrier in the even block of a pair.
  mlir::Value getEvenBlockBarrier(mlir::Value barrier);
  /// Says that a slot is full, or empty.
  void signal(const PipelineFacts &pipeline, bool full, mlir::Value stage);
  /// Whether the phase of parity `phase` is complete, i1.
  mlir::Value testBarrier(mlir::Value barrier, mlir::Value phase);
  /// Waits until it is, unless `ready`, which may be null.
  void waitBarrier(mlir::Value barrier, mlir::Value phase, mlir::Value ready);
  /// Asks again and again.
  void waitUntil(llvm::function_ref<mlir::Value()> isDone);
  /// Bits of both blocks of this pair, 16 bits.
  mlir::Value getPairMask();
};

} // namespace nvfp4::warpspec

#endif // NVFP4_LIB_CONVERSION_WARPSPECTONVVM_BARRIERBUILDER_H
