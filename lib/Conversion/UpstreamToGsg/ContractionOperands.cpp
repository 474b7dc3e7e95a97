//===- ContractionOperands.cpp - Codes and their scales ---------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Which format the codes and scales of an operand are in, and where it has its
// rows and K.
//
//===----------------------------------------------------------------------===//

#include "ContractionMatcher.h"

using namespace mlir;
using namespace nvfp4::gsg;

/// How many neighbours along K share a scale, by doubling. One that all share
/// is of a block with room for them.
int64_t ContractionMatcher::findBlock(const Factor &scale) {
  int64_t depth = extents[Depth];
  for (int64_t k = 1; k < depth; k *= 2) {
    if (changes(scale, NumDims, Depth, k))
      return k;
    if (k > depth / 2)
      break;
  }
  int64_t most = isa<Float8E8M0FNUType>(scale.type) ? 32 : 16;
  return std::max(depth, most);
}

static std::optional<BlockFormat> findFormat(Type code, Type scale,
                                             int64_t block) {
  bool isPower = isa<Float8E8M0FNUType>(scale);
  if (isa<Float4E2M1FNType>(code)) {
    if (block == 16)
      return isPower ? BlockFormat::NVFP4_E8M0 : BlockFormat::NVFP4;
    if (block == 32 && isPower)
      return BlockFormat::MXFP4;
  } else if (block == 32 && isPower) {
    return isa<Float8E4M3FNType>(code) ? BlockFormat::MXFP8_E4M3
                                       : BlockFormat::MXFP8_E5M2;
  }
  return std::nullopt;
}

/// Shape and indices of an operand.
std::pair<SmallVector<int64_t>, SmallVector<AffineExpr>>
ContractionMatcher::getMatrix(Dim row) {
  SmallVector<int64_t> shape = {extents[row], extents[Depth]};
  SmallVector<AffineExpr> target = {loops[row].empty() ? zero() : dim(row),
                                    dim(Depth)};
  bool isShared = groups || mask || isRepeated || isRouted();
  if (isShared ? row == Column : !loops[Batch].empty()) {
    shape.insert(shape.begin(), extents[Batch]);
    target.insert(target.begin(), dim(Batch));
  }
  return {shape, target};
}

std::optional<Arrangement>
ContractionMatcher::arrange(const Factor &factor, ArrayRef<int64_t> shape,
                            ArrayRef<AffineExpr> target, StringRef what) {
  std::optional<Arrangement> result =
      planArrangement(factor, slices, shape, target);
  if (!result)
    return fail("expected {0}, transposed or in parts, but got {1}", what,
                print(factor.source.getType()));
  return result;
}

std::optional<RaisedOperand> ContractionMatcher::describeRows() {
  auto [shape, target] = getMatrix(Row);
  std::optional<Arrangement> data =
      arrange(codes[0], shape, target, "a matrix of rows and K");
  if (!data)
    return std::nullopt;
  RaisedOperand result;
  result.data = *data;
  return result;
}

std::optional<RaisedOperand>
ContractionMatcher::describe(const Factor &code, const Factor &scale, Dim row) {
  int64_t block = findBlock(scale);
  std::optional<BlockFormat> format = findFormat(code.type, scale.type, block);
  if (!format)
    return fail("expected blocks of 16 along K of f4E2M1FN, or of 32 of any "
                "code with scales in f8E8M0FNU, but got blocks of {0} of {1} "
                "with {2}",
                block, print(code.type), print(scale.type));
  int64_t depth = extents[Depth];
  bool isFP4 = isa<Float4E2M1FNType>(code.type);
  if (isFP4 && depth % 2)
    return fail("expected an even K, but got {0}", depth);

  auto [shape, target] = getMatrix(row);
  RaisedOperand result;
  result.type = ScaledType::get(context, shape, *format);
  result.codeType = code.type;
  result.scaleType = scale.type;
  result.isPacked = static_cast<bool>(code.nibble);
  if (result.isPacked) {
    if (code.nibble != simplify(dim(Depth) % 2)) {
      otherHalves = true;
      return fail("expected bytes of two neighbours along K, the even one in "
                  "the low half, or a tensor that is unpacked from others");
    }
    shape.back() = depth / 2;
    target.back() = dim(Depth).floorDiv(2);
  }
  std::optional<Arrangement> data =
      arrange(code, shape, target, "codes that are a matrix of rows and K");
  if (!data)
    return std::nullopt;
  shape.back() = llvm::divideCeil(depth, block);
  target.back() = simplify(dim(Depth).floorDiv(block), extents);
  std::optional<Arrangement> arranged = arrange(
      scale, shape, target, "scales that are a matrix of rows and blocks");
  if (!arranged)
    return std::nullopt;
  result.data = *data;
  result.scales = *arranged;
  return result;
}
