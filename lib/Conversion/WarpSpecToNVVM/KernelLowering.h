//===- KernelLowering.h - One kernel being lowered to NVVM ------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_LIB_CONVERSION_WARPSPECTONVVM_KERNELLOWERING_H
#define NVFP4_LIB_CONVERSION_WARPSPECTONVVM_KERNELLOWERING_H

#include "nvfp4/Dialect/WarpSpec/IR/WarpSpec.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/IR/PatternMatch.h"
#include "llvm/ADT/MapVector.h"

namespace nvfp4::warpspec {

/// Rewrites the operations of one kernel in place, from the top down. Tokens
/// become stages, buffers and pipelines 32-bit addresses, tensor maps pointers;
/// where such a value passes through a loop or a branch, its type is changed
/// there.
class KernelLowering {
public:
  KernelLowering(KernelOp kernel, mlir::LLVM::GlobalOp shared);

  /// Replaces the kernel by an `llvm.func`.
  mlir::LogicalResult run();

private:
  /// Some block waits for what another one stores.
  bool awaitsBlocks = false;

  // Hand-over (LowerHandOver.cpp).
  void lower(AcquireOp op);
  void lower(WaitOp op);
  void lower(CommitOp op);
  void lower(ReleaseOp op);
  void lower(TryAcquireOp op);
  void lower(TryWaitOp op);
  void lower(DrainAllOp op);
  void lower(InitBarriersOp op);
  void open(mlir::Operation *op, PipelineOp pipeline, mlir::Value stage);
  void signal(PipelineOp pipeline, bool full, mlir::Value stage);
  mlir::Value getEvenBlockBarrier(mlir::Value barrier);
  mlir::Value getPairMask();
  mlir::Value testBarrier(mlir::Value barrier, mlir::Value phase);
  void waitBarrier(mlir::Value barrier, mlir::Value phase, mlir::Value ready);
  void waitUntil(llvm::function_ref<mlir::Value()> isDone);
  mlir::Value getBarrier(PipelineOp pipeline, bool full, mlir::Value stage);

  // Memory (LowerMemory.cpp).
  void lower(SmemAllocOp op);
  void lower(TmemAllocOp op);
  void lower(TmemJoinOp op);
  void lower(TmemSliceOp op);
  void lower(PipelineOp op);
  void lower(SmemLoadOp op);
  void lower(SmemStoreOp op);
  void lower(PublishOp op);
  void lower(AwaitOp op);
  void lower(TensorMapOp op);
  void lower(TmaLoadOp op);
  void lower(TmaLoadRowsOp op);
  void lower(BulkLoadOp op);
  void lower(TmaStoreOp op);
  std::pair<mlir::Value, int64_t> getByteOffset(mlir::MemRefType type,
                                                mlir::ValueRange indices);
  mlir::Value getPieceAddress(mlir::MemRefType type, mlir::Value base,
                              mlir::Value offset, int64_t bytes);
  mlir::Value getGlobal(mlir::Value memref, mlir::Value index, int64_t bytes);
  mlir::Value getCachePolicy(std::optional<CacheHint> hint);

  // Tensor core and tensor memory (LowerTensorCore.cpp).
  void lower(CopyScalesOp op);
  void lower(MmaScaledOp op);
  void lower(TmemLoadOp op);
  void lower(TmemStoreOp op);
  void lower(TmemWaitOp op);
  void lower(FenceOp op);
  void lower(ReserveTmemOp op);
  void lower(ReleaseTmemOp op);
  mlir::Value getDescriptor(mlir::Value address, uint64_t fields);
  mlir::Value getLaneAddress(mlir::Value address);

  // Weights decoded in registers (LowerDecoded.cpp, DecodedLoop.h,
  // LowerFragment.cpp).
  friend class DecodedLoop;
  void lower(MmaDecodedOp op);
  /// Fails where a fragment comes from something else than a product.
  mlir::LogicalResult lowerFragment(StageFragmentOp op);
  mlir::LogicalResult lowerFragment(StoreFragmentOp op);
  mlir::LogicalResult lowerFragment(AddFragmentsOp op);
  /// A pointer to where the first values of `thread` are in slot `slot` of
  /// `sums`, which `product` adds to; the next four are getSumsStride() bytes
  /// further on.
  mlir::Value getSums(MmaDecodedOp product, mlir::Value sums, mlir::Value slot,
                      mlir::Value thread);
  static int64_t getSumsStride(MmaDecodedOp product);
  /// Values `first` to `last` of a thread, loaded.
  llvm::SmallVector<mlir::Value> loadPieces(mlir::Value base, int64_t first,
                                            int64_t last, int64_t stride);
  void storeWide(mlir::Value fragment, int64_t number, mlir::Value base,
                 int64_t pitch);
  void storeMatrices(mlir::Value fragment, int64_t number, mlir::Value base,
                     mlir::Type element);
  /// Value `number` of a fragment: of a product, or of one times numbers.
  mlir::Value getFragmentValue(mlir::Value fragment, int64_t number);
  int64_t getFragmentSize(mlir::Value fragment);

  // Frame (KernelLowering.cpp).
  mlir::LogicalResult collect();
  mlir::LogicalResult lowerBody();
  void createFunction();
  void lowerParameter(mlir::LLVM::LLVMFuncOp function, unsigned number,
                      mlir::Type type);
  void convertTypes(mlir::Operation *root);
  mlir::Type convertType(mlir::Type type);

  // Building.
  mlir::Value constant(int64_t value);
  mlir::Value constant64(uint64_t value);
  mlir::Value add(mlir::Value a, mlir::Value b);
  mlir::Value add(mlir::Value a, int64_t b);
  mlir::Value multiply(mlir::Value a, int64_t b);
  /// Pointer to shared memory of a 32-bit address.
  mlir::Value getShared(mlir::Value address);
  /// Pointer to tensor memory of a 32-bit address.
  mlir::Value getTensor(mlir::Value address);
  /// The type that an operand had.
  mlir::MemRefType getBufferType(mlir::OpOperand &operand);
  /// The group of every tcgen05 instruction of the kernel.
  mlir::NVVM::CTAGroupKind getGroup() {
    return kernel.getPair() ? mlir::NVVM::CTAGroupKind::CTA_2
                            : mlir::NVVM::CTAGroupKind::CTA_1;
  }
  mlir::Type getI1() { return rewriter.getI1Type(); }
  mlir::Type getI32() { return rewriter.getI32Type(); }

  KernelOp kernel;
  mlir::LLVM::GlobalOp shared;
  mlir::IRRewriter rewriter;
  mlir::Location loc;
  /// Start of the kernel's shared memory, i32.
  mlir::Value sharedBase;
  /// Address of its tensor memory, i32.
  mlir::Value tmemBase;
  /// Pipelines of closing operations and of counted ones, and bytes of fills,
  /// found before anything is rewritten.
  llvm::DenseMap<mlir::Operation *, PipelineOp> pipelines;
  llvm::DenseMap<mlir::Operation *, int64_t> bytes;
  /// Bytes of fills that are a number times a value of the kernel.
  llvm::DenseMap<mlir::Operation *,
                 llvm::SmallVector<std::pair<mlir::Value, int64_t>>>
      countedBytes;
  /// Products that have been lowered, and the values that are their fragments.
  llvm::SmallVector<MmaDecodedOp> products;
  llvm::DenseMap<mlir::Value, llvm::SmallVector<mlir::Value>> fragments;
  /// Types of operands before they became addresses.
  llvm::DenseMap<mlir::Operation *, llvm::SmallVector<mlir::Type>> operandTypes;
  /// Bytes or columns from one slot of each buffer of a pipeline to the next.
  llvm::DenseMap<mlir::Operation *, llvm::SmallVector<int64_t>> strides;
  /// Where the buffers of a pipeline begin.
  llvm::DenseMap<mlir::Operation *, llvm::SmallVector<mlir::Value>> buffers;
};

} // namespace nvfp4::warpspec

#endif // NVFP4_LIB_CONVERSION_WARPSPECTONVVM_KERNELLOWERING_H
