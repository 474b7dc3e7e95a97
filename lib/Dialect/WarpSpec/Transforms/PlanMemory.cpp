//===- PlanMemory.cpp - Places of buffers, barriers and columns -*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A bump allocator over what is not placed yet, largest alignment first so
// that no padding is lost, around what is.
//
//===----------------------------------------------------------------------===//

#include "EachKernel.h"
#include "nvfp4/Dialect/WarpSpec/Transforms/Passes.h"

#include "llvm/Support/MathExtras.h"

namespace nvfp4::warpspec {
#define GEN_PASS_DEF_PLANMEMORYPASS
#include "nvfp4/Dialect/WarpSpec/Transforms/Passes.h.inc"
} // namespace nvfp4::warpspec

using namespace mlir;
using namespace nvfp4::warpspec;

namespace {
constexpr int64_t kBarrierBytes = 8;

/// Ranges in use of one memory.
class Space {
public:
  void reserve(int64_t offset, int64_t size) { used.push_back({offset, size}); }

  /// The first free place of `size` at a multiple of `alignment`.
  int64_t place(int64_t size, int64_t alignment) {
    int64_t offset = 0;
    while (const Range *range = findOverlap(offset, size))
      offset = llvm::alignTo(range->offset + range->size, alignment);
    reserve(offset, size);
    return offset;
  }

  int64_t getEnd() const {
    int64_t end = 0;
    for (const Range &range : used)
      end = std::max(end, range.offset + range.size);
    return end;
  }

private:
  struct Range {
    int64_t offset, size;
  };

  const Range *findOverlap(int64_t offset, int64_t size) const {
    for (const Range &range : used)
      if (offset < range.offset + range.size && range.offset < offset + size)
        return &range;
    return nullptr;
  }

  SmallVector<Range> used;
};

struct PlanMemory : nvfp4::warpspec::impl::PlanMemoryPassBase<PlanMemory> {
  void runOnOperation() override {
    if (failed(forEachKernel(getOperation(), [&](KernelOp kernel) {
          planColumns(kernel);
          planShared(kernel);
          return checkLimits(kernel);
        })))
      signalPassFailure();
  }

  void planColumns(KernelOp kernel) {
    Space space;
    auto allocs = llvm::to_vector(kernel.getOps<TmemAllocOp>());
    for (TmemAllocOp alloc : allocs)
      if (alloc.getColumn())
        space.reserve(*alloc.getColumn(), alloc.getNumColumns());
    for (TmemAllocOp alloc : allocs)
      if (!alloc.getColumn())
        alloc.setColumn(space.place(alloc.getNumColumns(), 1));
    columns = space.getEnd();
    kernel.setTmemColumns(
        allocs.empty()
            ? 0
            : std::max<int64_t>(32, llvm::PowerOf2Ceil(space.getEnd())));
  }

  void planShared(KernelOp kernel) {
    Space space;
    auto allocs = llvm::to_vector(kernel.getOps<SmemAllocOp>());
    for (SmemAllocOp alloc : allocs)
      if (alloc.getOffset())
        space.reserve(*alloc.getOffset(), getSharedBytes(alloc.getType()));
    auto pipelines = llvm::to_vector(kernel.getOps<PipelineOp>());
    for (PipelineOp pipeline : pipelines)
      if (pipeline.getBarriers())
        space.reserve(*pipeline.getBarriers(),
                      2 * pipeline.getDepth() * kBarrierBytes);
    for (int64_t alignment : {1024, 512, 256, 128})
      for (SmemAllocOp alloc : allocs)
        if (!alloc.getOffset() &&
            getSharedAlignment(alloc.getType()) == alignment)
          alloc.setOffset(
              space.place(getSharedBytes(alloc.getType()), alignment));
    for (PipelineOp pipeline : pipelines)
      if (!pipeline.getBarriers() && needsBarriers(pipeline))
        pipeline.setBarriers(space.place(
            2 * pipeline.getDepth() * kBarrierBytes, kBarrierBytes));
    // The last word holds the address of tensor memory.
    int64_t end = llvm::alignTo(space.getEnd(), kBarrierBytes);
    sharedBytes = end + (*kernel.getTmemColumns() ? kBarrierBytes : 0);
  }

  LogicalResult checkLimits(KernelOp kernel) {
    if (sharedBytes > kSharedBytesLimit)
      return kernel.emitOpError("V6: expected at most ")
             << kSharedBytesLimit << " bytes of shared memory, but got "
             << sharedBytes;
    if (columns > kTmemColumns)
      return kernel.emitOpError("V6: expected at most ")
             << kTmemColumns << " columns of tensor memory, but got "
             << columns;
    kernel.setSharedBytes(sharedBytes);
    return success();
  }

  /// In 64 bits: the attributes of places beyond the limits have been cut.
  int64_t columns = 0, sharedBytes = 0;
};
} // namespace
