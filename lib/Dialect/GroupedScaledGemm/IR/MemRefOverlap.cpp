//===- MemRefOverlap.cpp - Memrefs that share memory ------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each memref is the end of a chain of views that begins at a buffer. Where two
// chains meet decides; nothing is computed from dynamic extents.
//
//===----------------------------------------------------------------------===//

#include "nvfp4/Dialect/GroupedScaledGemm/IR/MemRefOverlap.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Interfaces/ViewLikeInterface.h"

using namespace mlir;
using namespace nvfp4::gsg;

/// `memref`, what it is a view of, and so on to the buffer. Unreachable code
/// may hold circles of views.
static SmallVector<Value> getViewChain(Value memref) {
  SmallVector<Value> chain{memref};
  while (auto view = chain.back().getDefiningOp<ViewLikeOpInterface>()) {
    Value source = view.getViewSource();
    if (llvm::is_contained(chain, source))
      break;
    chain.push_back(source);
  }
  return chain;
}

static bool hasNoElements(Value memref) {
  auto type = dyn_cast<MemRefType>(memref.getType());
  return type && llvm::is_contained(type.getShape(), 0);
}

static bool isAllocation(Value buffer) {
  return buffer.getDefiningOp() &&
         hasEffect<MemoryEffects::Allocate>(buffer.getDefiningOp(), buffer);
}

static bool isFunctionArgument(Value buffer) {
  auto argument = dyn_cast<BlockArgument>(buffer);
  return argument && argument.getOwner()->isEntryBlock() &&
         isa_and_nonnull<FunctionOpInterface>(
             argument.getOwner()->getParentOp());
}

/// Whether the boxes that two subviews of one memref cut out of it meet.
static Overlap compareParts(Value a, Value b) {
  auto partA = a.getDefiningOp<memref::SubViewOp>();
  auto partB = b.getDefiningOp<memref::SubViewOp>();
  if (!partA || !partB)
    return Overlap::Unknown;
  bool isKnown = true;
  for (size_t d = 0; d < partA.getStaticOffsets().size(); ++d) {
    if (partA.isDynamicOffset(d) || partB.isDynamicOffset(d) ||
        partA.isDynamicSize(d) || partB.isDynamicSize(d) ||
        partA.getStaticStrides()[d] != 1 || partB.getStaticStrides()[d] != 1) {
      isKnown = false;
      continue;
    }
    int64_t distance = partB.getStaticOffset(d) - partA.getStaticOffset(d);
    if (distance >= partA.getStaticSize(d) ||
        -distance >= partB.getStaticSize(d))
      return Overlap::None;
  }
  return isKnown ? Overlap::Certain : Overlap::Unknown;
}

Overlap nvfp4::gsg::getMemRefOverlap(Value a, Value b) {
  if (a == b)
    return Overlap::Certain;
  if (hasNoElements(a) || hasNoElements(b))
    return Overlap::None;
  SmallVector<Value> chainA = getViewChain(a), chainB = getViewChain(b);
  for (auto [i, value] : llvm::enumerate(chainA)) {
    auto *found = llvm::find(chainB, value);
    if (found == chainB.end())
      continue;
    size_t j = found - chainB.begin();
    if (i == 0 || j == 0)
      return Overlap::Certain;
    Overlap parts = compareParts(chainA[i - 1], chainB[j - 1]);
    // Of parts that meet, further views may not.
    bool isWhole = i == 1 && j == 1;
    return parts == Overlap::Certain && !isWhole ? Overlap::Unknown : parts;
  }
  Value from = chainA.back(), other = chainB.back();
  if ((isAllocation(from) &&
       (isAllocation(other) || isFunctionArgument(other))) ||
      (isAllocation(other) && isFunctionArgument(from)))
    return Overlap::None;
  return Overlap::Unknown;
}
