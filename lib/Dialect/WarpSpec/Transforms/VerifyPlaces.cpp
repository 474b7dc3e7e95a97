//===- VerifyPlaces.cpp - V5, V6: places of buffers and barriers *- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One table of what has a place in shared and in tensor memory: buffers,
// barriers and the word that holds the address of tensor memory. Only buffers
// that pipelines cover may lie over each other, where VerifyAliasing.cpp looks
// at the order; all end within what the kernel asks for.
//
//===----------------------------------------------------------------------===//

#include "ScheduleChecks.h"

#include "llvm/ADT/SmallPtrSet.h"

using namespace mlir;
using namespace nvfp4::warpspec;

namespace {
constexpr int64_t kBarrierBytes = 8;

/// Bytes or columns that something takes.
struct Place {
  Operation *op;
  StringRef what;
  int64_t begin, end;
  /// Handed over by pipelines.
  bool isCovered;
};

using Places = SmallVector<Place>;

class PlaceChecker {
public:
  explicit PlaceChecker(KernelOp kernel) : kernel(kernel) {
    for (auto pipeline : kernel.getOps<PipelineOp>())
      for (Value buffer : pipeline.getBuffers())
        covered.insert(getAllocation(buffer));
  }

  LogicalResult run() {
    Places shared = getShared(), columns = getColumns();
    if (failed(checkEnds(shared, kernel.getSharedBytes(), "shared_bytes")) ||
        failed(checkEnds(columns, kernel.getTmemColumns(), "tmem_columns")))
      return failure();
    if (std::optional<int32_t> bytes = kernel.getSharedBytes();
        bytes && kernel.getTmemColumns().value_or(0))
      shared.push_back({kernel, "the address of tensor memory",
                        *bytes - kBarrierBytes, *bytes, false});
    return success(succeeded(checkOverlaps(shared, "bytes")) &&
                   succeeded(checkOverlaps(columns, "columns")));
  }

private:
  Places getShared() {
    Places places;
    for (auto alloc : kernel.getOps<SmemAllocOp>())
      if (std::optional<int64_t> offset = alloc.getOffset())
        places.push_back({alloc, "a buffer", *offset,
                          *offset + getSharedBytes(alloc.getType()),
                          covered.contains(alloc)});
    for (auto pipeline : kernel.getOps<PipelineOp>())
      if (std::optional<int64_t> offset = pipeline.getBarriers();
          offset && needsBarriers(pipeline))
        places.push_back(
            {pipeline, "barriers", *offset,
             *offset +
                 2 * kBarrierBytes * static_cast<int64_t>(pipeline.getDepth()),
             false});
    return places;
  }

  /// Slot by slot: others may lie in between.
  Places getColumns() {
    Places places;
    for (auto alloc : kernel.getOps<TmemAllocOp>()) {
      std::optional<int64_t> column = alloc.getColumn();
      if (!column)
        continue;
      MemRefType type = alloc.getType();
      int64_t slots = type.getRank() == 3 ? type.getDimSize(0) : 1;
      int64_t each = slots ? getTmemColumns(type) / slots : 0;
      for (int64_t i = 0; i < slots; ++i) {
        int64_t begin = *column + i * alloc.getSlotStride();
        places.push_back(
            {alloc, "a buffer", begin, begin + each, covered.contains(alloc)});
      }
    }
    return places;
  }

  static LogicalResult checkEnds(const Places &places,
                                 std::optional<int64_t> size, StringRef name) {
    if (!size)
      return success();
    for (const Place &place : places)
      if (place.end > *size)
        return place.op->emitOpError("V6: expected ")
               << place.what << " within " << name << "(" << *size
               << "), but got an end at " << place.end;
    return success();
  }

  static LogicalResult checkOverlaps(const Places &places, StringRef unit) {
    SmallVector<const Place *> sorted;
    for (const Place &place : places)
      sorted.push_back(&place);
    llvm::sort(sorted, [](const Place *a, const Place *b) {
      return std::pair(a->begin, a) < std::pair(b->begin, b);
    });
    for (auto [number, a] : llvm::enumerate(sorted))
      for (const Place *b : ArrayRef(sorted).drop_front(number + 1)) {
        if (b->begin >= a->end)
          break;
        if (a->op == b->op || (a->isCovered && b->isCovered) ||
            b->begin == b->end)
          continue;
        InFlightDiagnostic diag = b->op->emitOpError("V5: expected only ")
                                  << b->what << " in " << unit << " ["
                                  << b->begin << ", " << b->end << "), but got "
                                  << a->what << " in [" << a->begin << ", "
                                  << a->end << ") as well";
        diag.attachNote(a->op->getLoc()) << "the other";
        return diag;
      }
    return success();
  }

  KernelOp kernel;
  llvm::SmallPtrSet<Operation *, 8> covered;
};
} // namespace

LogicalResult nvfp4::warpspec::verifyPlaces(KernelOp kernel) {
  return PlaceChecker(kernel).run();
}
