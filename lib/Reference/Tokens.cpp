//===- Tokens.cpp - Movement of tokens --------------------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// sort_tokens, permute and combine. Indices are checked.
//
//===----------------------------------------------------------------------===//

#include "nvfp4/Format/ScaleLayout.h"

#include "Evaluator.h"

#include <limits>

namespace nvfp4::reference {

static Scalar index(const Tensor &like, int64_t value) {
  return Scalar::ofInteger(like.element(), value);
}

llvm::Error Evaluator::evaluateSortTokens(gsg::SortTokensOp op) {
  if (op->getNumResults() != 3)
    return errorAt(op, "expected tensors, but got memrefs");
  const Tensor &experts = tensor(op.getExperts());
  Tensor ends = tensor(op.getEndsOut());
  Tensor tokenOfRow = tensor(op.getTokenOfRowOut());
  Tensor rowOfSlot = tensor(op.getRowOfSlotOut());
  auto align = static_cast<int64_t>(op.getAlign());
  // sort_tokens_c1, sort_tokens_c2
  if (experts.rank() != 2 || rowOfSlot.shape() != experts.shape())
    return errorAt(op, "expected experts and row_of_slot of one shape [T, k], "
                       "but got " +
                           experts.describe() + " and " + rowOfSlot.describe());
  int64_t count = ends.numElements(), k = experts.dim(1);
  int64_t needed = experts.numElements() + count * (align - 1);
  // sort_tokens_c4
  if (needed > std::numeric_limits<int32_t>::max())
    return errorAt(op, "expected T*k + E*(align-1) to fit i32, in which rows "
                       "are counted, but got " +
                           llvm::Twine(needed));
  // sort_tokens_c3, sort_tokens_c5
  if (align < 1 || tokenOfRow.numElements() < needed)
    return errorAt(op, "expected token_of_row of at least " +
                           llvm::Twine(needed) + " entries, but got " +
                           llvm::Twine(tokenOfRow.numElements()));
  std::vector<std::vector<int64_t>> slots(static_cast<size_t>(count));
  for (int64_t i = 0; i < experts.numElements(); ++i) {
    int64_t e = experts.integer(i);
    rowOfSlot.set(i, index(rowOfSlot, -1));
    if (e == -1)
      continue;
    // sort_tokens_c6
    if (e < 0 || e >= count)
      return errorAt(op, "expected experts in [-1, " + llvm::Twine(count) +
                             "), but got " + llvm::Twine(e) + " for token " +
                             llvm::Twine(i / k) + ", slot " +
                             llvm::Twine(i % k));
    slots[static_cast<size_t>(e)].push_back(i);
  }
  for (int64_t r = 0; r < tokenOfRow.numElements(); ++r)
    tokenOfRow.set(r, index(tokenOfRow, -1));
  int64_t row = 0;
  for (int64_t e = 0; e < count; ++e) {
    row = format::roundUp(row, align);
    for (int64_t i : slots[static_cast<size_t>(e)]) {
      tokenOfRow.set(row, index(tokenOfRow, i / k));
      rowOfSlot.set(i, index(rowOfSlot, row++));
    }
    ends.set(e, index(ends, row));
  }
  setResults(op,
             {std::move(ends), std::move(tokenOfRow), std::move(rowOfSlot)});
  return llvm::Error::success();
}

llvm::Error Evaluator::evaluatePermute(gsg::PermuteOp op) {
  if (op->getNumResults() != 1)
    return errorAt(op, "expected tensors, but got memrefs");
  const Tensor &input = tensor(op.getInput());
  const Tensor &rows = tensor(op.getTokenOfRow());
  Tensor out = tensor(op.getOut());
  // permute_c1, permute_c2
  if (input.rank() != 2 || out.rank() != 2 || out.dim(1) != input.dim(1) ||
      out.dim(0) != rows.numElements())
    return errorAt(op, "expected a destination of " +
                           llvm::Twine(rows.numElements()) +
                           " rows as wide as the input, but got " +
                           input.describe() + " and " + out.describe());
  int64_t width = input.dim(1);
  for (int64_t r = 0; r < out.dim(0); ++r) {
    int64_t token = rows.integer(r);
    // permute_c4
    if (token < -1 || token >= input.dim(0))
      return errorAt(op, "expected tokens in [-1, " +
                             llvm::Twine(input.dim(0)) + "), but got " +
                             llvm::Twine(token) + " for row " + llvm::Twine(r));
    for (int64_t c = 0; c < width; ++c) {
      Real x = token < 0 ? Real() : input.real(token * width + c);
      out.setReal(r * width + c, input.element() == out.element()
                                     ? x
                                     : convert(out.element(), x));
    }
  }
  setResults(op, {std::move(out)});
  return llvm::Error::success();
}

llvm::Error Evaluator::evaluateCombine(gsg::CombineOp op) {
  if (op->getNumResults() != 1)
    return errorAt(op, "expected tensors, but got memrefs");
  const Tensor &input = tensor(op.getInput());
  const Tensor &rows = tensor(op.getRowOfSlot());
  const Tensor *weights = op.getWeights() ? &tensor(op.getWeights()) : nullptr;
  Tensor out = tensor(op.getOut());
  // combine_c1, combine_c3
  if (input.rank() != 2 || out.rank() != 2 || rows.rank() != 2 ||
      out.dim(1) != input.dim(1) || out.dim(0) != rows.dim(0))
    return errorAt(op, "expected a destination of " +
                           llvm::Twine(rows.rank() == 2 ? rows.dim(0) : 0) +
                           " rows as wide as the input, but got " +
                           input.describe() + " and " + out.describe());
  // combine_c2
  if (weights && weights->shape() != rows.shape())
    return errorAt(op,
                   "expected weights of the shape of row_of_slot, but got " +
                       weights->describe());
  int64_t width = input.dim(1), k = rows.dim(1);
  for (int64_t t = 0; t < out.dim(0); ++t) {
    for (int64_t s = 0; s < k; ++s) {
      int64_t row = rows.integer(t * k + s);
      // combine_c4
      if (row < -1 || row >= input.dim(0))
        return errorAt(op, "expected rows in [-1, " +
                               llvm::Twine(input.dim(0)) + "), but got " +
                               llvm::Twine(row) + " for token " +
                               llvm::Twine(t) + ", slot " + llvm::Twine(s));
    }
    for (int64_t c = 0; c < width; ++c) {
      Real sum;
      for (int64_t s = 0; s < k; ++s) {
        int64_t row = rows.integer(t * k + s);
        if (row < 0)
          continue;
        Real w = weights ? weights->real(t * k + s) : Real{1.0, 0.0};
        sum =
            fusedMultiplyAdd(Element::F32, w, input.real(row * width + c), sum);
      }
      out.setReal(t * width + c, out.element() == Element::F32
                                     ? sum
                                     : convert(out.element(), sum));
    }
  }
  setResults(op, {std::move(out)});
  return llvm::Error::success();
}

} // namespace nvfp4::reference
