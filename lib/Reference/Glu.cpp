//===- Glu.cpp - glu and hadamard -------------------------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The operations that work on rows of a real tensor.
//
//===----------------------------------------------------------------------===//

#include "Activation.h"
#include "Evaluator.h"

#include <array>

namespace nvfp4::reference {

/// Rows and columns of a tensor seen as a matrix.
static std::pair<int64_t, int64_t> matrixOf(const Tensor &t) {
  int64_t columns = t.rank() == 0 ? 1 : t.dim(t.rank() - 1);
  return {columns == 0 ? 0 : t.numElements() / columns, columns};
}

llvm::Error Evaluator::evaluateGlu(gsg::GluOp op) {
  if (op->getNumResults() != 1)
    return errorAt(op, "expected tensors, but got memrefs");
  const Tensor &input = tensor(op.getInput());
  Tensor out = tensor(op.getOut());
  gsg::ActivationAttr attr = op.getActivation();
  ActivationParams params = makeActivation(attr, op.getMath());
  if (params.kind == gsg::ActivationKind::Custom)
    return errorAt(op, "expected a named activation, but got custom");
  auto [rows, columns] = matrixOf(input);
  auto [outRows, outColumns] = matrixOf(out);
  PairedColumns pairs;
  if (attr.isPaired()) {
    llvm::Expected<PairedColumns> found = pairColumns(attr.getGate(), columns);
    if (!found)
      return errorAt(op, llvm::toString(found.takeError()));
    pairs = std::move(*found);
  }
  int64_t expected = attr.isPaired() ? columns / 2 : columns;
  bool fits = out.rank() == input.rank() && outColumns == expected;
  for (int64_t d = 0; fits && d + 1 < input.rank(); ++d)
    fits = out.dim(d) == input.dim(d);
  // glu_c3
  if (!fits)
    return errorAt(op, "expected a destination of " + llvm::Twine(expected) +
                           " columns and the rows of the input, but got " +
                           out.describe());
  auto prepare = [&](int64_t index) {
    Real z = convert(Element::F32, input.real(index));
    return params.roundBf16 ? convert(Element::BF16, z) : z;
  };
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t c = 0; c < outColumns; ++c) {
      auto i = static_cast<size_t>(c);
      Real z, up;
      if (attr.isPaired()) {
        z = prepare(r * columns + pairs.gate[i]);
        up = prepare(r * columns + pairs.up[i]);
      } else {
        z = prepare(r * columns + c);
      }
      Real y = activate(params, z, up);
      out.setReal(r * outColumns + c, out.element() == Element::F32
                                          ? y
                                          : convert(out.element(), y));
    }
  setResults(op, {std::move(out)});
  return llvm::Error::success();
}

llvm::Error Evaluator::evaluateHadamard(gsg::HadamardOp op) {
  if (op->getNumResults() != 1)
    return errorAt(op, "expected tensors, but got memrefs");
  const Tensor &input = tensor(op.getInput());
  Tensor out = tensor(op.getOut());
  // hadamard_c2
  if (out.shape() != input.shape())
    return errorAt(op, "expected a destination of the shape of the input, but "
                       "got " +
                           out.describe());
  int64_t columns = matrixOf(input).second;
  // hadamard_c1
  if (columns % 16 != 0)
    return errorAt(op, "expected a last dimension that is a multiple of 16, "
                       "but got " +
                           llvm::Twine(columns));
  auto mask = static_cast<uint32_t>(op.getSignMask());
  for (int64_t begin = 0; begin < input.numElements(); begin += 16) {
    std::array<Real, 16> x;
    for (size_t i = 0; i < 16; ++i) {
      x[i] = input.real(begin + static_cast<int64_t>(i));
      if ((mask >> i & 1) != 0)
        x[i] = negate(x[i]);
    }
    for (size_t distance = 1; distance < 16; distance *= 2)
      for (size_t i = 0; i < 16; ++i) {
        if ((i & distance) != 0)
          continue;
        Real low = x[i], high = x[i + distance];
        x[i] = add(Element::F32, low, high);
        x[i + distance] = subtract(Element::F32, low, high);
      }
    for (size_t i = 0; i < 16; ++i) {
      if (op.getNormalized())
        x[i] = multiply(Element::F32, x[i], {0.25, 0.0});
      out.setReal(begin + static_cast<int64_t>(i),
                  out.element() == Element::F32 ? x[i]
                                                : convert(out.element(), x[i]));
    }
  }
  setResults(op, {std::move(out)});
  return llvm::Error::success();
}

} // namespace nvfp4::reference
