//===- KernelAnalysis.h - Facts beyond one operation ------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An operation of a kernel is converted by its own pattern, which may look at
// no other operation: what the pattern needs of others is read off the kernel
// before anything is converted, and is here.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_CONVERSION_WARPSPECTONVVM_KERNELANALYSIS_H
#define NVFP4_CONVERSION_WARPSPECTONVVM_KERNELANALYSIS_H

#include "nvfp4/Dialect/WarpSpec/IR/WarpSpec.h"

namespace nvfp4::warpspec {

/// A kernel as its operations see it.
struct KernelFacts {
  /// Blocks work in pairs.
  bool pair;
  /// Bytes of its shared memory.
  int64_t sharedBytes;

  /// Where in shared memory the address of the tensor memory is stored.
  int64_t getTmemSlot() const { return sharedBytes - 8; }
};

/// A pipeline as the operations that hand over its slots see it.
struct PipelineFacts {
  int64_t depth;
  Agent producer, consumer;
  HandOver handOver;
  /// Blocks work in pairs.
  bool pair;
  /// Place of its barriers in shared memory, in bytes: `depth` full ones, then
  /// as many empty ones, of 8 bytes each.
  int64_t barriers;
  /// Bytes or columns from one slot of each buffer to the next.
  llvm::SmallVector<int64_t> strides;

  /// In a pair whose slots the tensor core reads, the barrier of the even block
  /// counts the bytes of both.
  bool countsInEvenBlock() const {
    return pair && consumer == Agent::TensorCore;
  }
};

/// Bytes that the full barrier of a fill expects.
struct ExpectedBytes {
  int64_t constant = 0;
  /// Operations whose bytes are a number times a value of the kernel.
  llvm::SmallVector<AgentOpInterface> counted;
};

/// Facts of kernels and of the operations within, by operation. Operations that
/// a conversion moves keep theirs; those that it makes have none.
class KernelAnalysis {
public:
  /// The facts of all kernels in `root`, or of `root` itself. Fails with a
  /// diagnostic where a kernel has not gone through `warpspec-plan-memory` and
  /// `warpspec-lower-roles`, or says what has no conversion.
  static llvm::FailureOr<KernelAnalysis> create(mlir::Operation *root);

  /// The kernel of `op`.
  const KernelFacts &getKernel(mlir::Operation *op) const {
    return kernels[kernelOf.at(op)];
  }
  /// The pipeline that `op` hands a slot of over, or on whose full barrier its
  /// bytes are counted.
  const PipelineFacts &getPipeline(mlir::Operation *op) const {
    return pipelines[pipelineOf.at(op)];
  }
  /// The bytes of the fill that `acquire` makes.
  ExpectedBytes getExpectedBytes(AcquireOp acquire) const {
    return expected.lookup(acquire);
  }
  /// Warpgroups of the product whose fragment `op` stores or adds to.
  int64_t getWarpgroups(mlir::Operation *op) const {
    return warpgroupsOf.at(op);
  }

private:
  llvm::LogicalResult add(KernelOp kernel);
  llvm::LogicalResult addHandOver(mlir::Operation *op);
  llvm::LogicalResult addFragment(mlir::Operation *op);
  void addPipeline(PipelineOp op);

  llvm::SmallVector<KernelFacts, 1> kernels;
  llvm::SmallVector<PipelineFacts> pipelines;
  llvm::DenseMap<mlir::Operation *, unsigned> kernelOf, pipelineOf;
  llvm::DenseMap<mlir::Operation *, ExpectedBytes> expected;
  llvm::DenseMap<mlir::Operation *, int64_t> warpgroupsOf;
};

} // namespace nvfp4::warpspec

#endif // NVFP4_CONVERSION_WARPSPECTONVVM_KERNELANALYSIS_H
