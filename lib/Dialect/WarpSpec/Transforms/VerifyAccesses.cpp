//===- VerifyAccesses.cpp - V2, V6: single accesses -------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What operands are known to be. Verifiers of operations leave this alone, as
// folding and the merging of blocks change what is known of IR that is legal.
//
//===----------------------------------------------------------------------===//

#include "ScheduleChecks.h"

#include "mlir/IR/Matchers.h"
#include "llvm/ADT/TypeSwitch.h"

#include <algorithm>

using namespace mlir;
using namespace nvfp4::warpspec;

/// V6: constant indices are those of a place in the buffer where the vector
/// fits, at a multiple of its size or of 16 bytes.
static LogicalResult verifyPlace(Operation *op, MemRefType buffer,
                                 ValueRange indices, VectorType vector) {
  int64_t count = vector.getNumElements();
  int64_t unit = std::min<int64_t>(
      count, 128 / static_cast<int64_t>(vector.getElementTypeBitWidth()));
  for (auto [dim, value] : llvm::enumerate(indices)) {
    APInt index;
    if (!matchPattern(value, m_ConstantInt(&index)))
      continue;
    bool isLast = dim + 1 == indices.size();
    int64_t most =
        std::max<int64_t>(0, buffer.getDimSize(dim) - (isLast ? count : 1));
    int64_t step = isLast ? unit : 1, seen = index.getSExtValue();
    if (seen < 0 || seen > most || seen % step != 0)
      return op->emitOpError("V6: expected index ")
             << dim << " as a multiple of " << step << " in [0, " << most
             << "], but got " << seen << "; the nearest is "
             << std::clamp<int64_t>(seen, 0, most) / step * step;
  }
  return success();
}

/// V2: what is waited for is loaded from tensor memory.
static LogicalResult verifyLoads(TmemWaitOp op) {
  for (Value value : op.getValues()) {
    Operation *definition = value.getDefiningOp();
    if (!isa_and_nonnull<TmemLoadOp>(definition))
      return op.emitOpError("V2: expected results of tmem_load, but got ")
             << (definition ? definition->getName().getStringRef()
                            : "a block argument");
  }
  return success();
}

LogicalResult nvfp4::warpspec::verifyAccesses(KernelOp kernel) {
  auto verify = [](Operation *op) -> WalkResult {
    return llvm::TypeSwitch<Operation *, LogicalResult>(op)
        .Case([](SmemLoadOp load) {
          return verifyPlace(load, load.getSource().getType(),
                             load.getIndices(),
                             cast<VectorType>(load.getType()));
        })
        .Case([](SmemStoreOp store) {
          return verifyPlace(store, store.getTarget().getType(),
                             store.getIndices(),
                             cast<VectorType>(store.getValue().getType()));
        })
        .Case([](TmemWaitOp wait) { return verifyLoads(wait); })
        .Default(success());
  };
  return failure(kernel.walk(verify).wasInterrupted());
}
