//===- Glu.cpp - glu, its gradient and hadamard -----------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The operations that work on rows of a real tensor.
//
//===----------------------------------------------------------------------===//

#include "Glu.h"
#include "Activation.h"
#include "BlockQuantizer.h"
#include "Evaluator.h"

#include <array>

namespace nvfp4::reference {

/// Rows and columns of a tensor seen as a matrix.
static std::pair<int64_t, int64_t> matrixOf(const Tensor &t) {
  int64_t columns = t.rank() == 0 ? 1 : t.dim(t.rank() - 1);
  return {columns == 0 ? 0 : t.numElements() / columns, columns};
}

/// The columns of gate and up, or nothing for activations of one value.
static llvm::Expected<PairedColumns> findPairs(gsg::ActivationAttr attr,
                                               int64_t columns) {
  return attr.isPaired() ? pairColumns(attr.getGate(), columns)
                         : PairedColumns();
}

/// The places of z of column `c` of the result, or of gate and up.
static std::pair<size_t, size_t> placesOf(const PairedColumns &pairs,
                                          size_t c) {
  if (pairs.gate.empty())
    return {c, c};
  return {static_cast<size_t>(pairs.gate[c]), static_cast<size_t>(pairs.up[c])};
}

/// z as the activation takes it.
static Real prepare(const ActivationParams &params, Real z) {
  z = convert(Element::F32, z);
  return params.roundBf16 ? convert(Element::BF16, z) : z;
}

static void setReal(Tensor &out, int64_t index, Real f32) {
  out.setReal(
      index, out.element() == Element::F32 ? f32 : convert(out.element(), f32));
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
  llvm::Expected<PairedColumns> pairs = findPairs(attr, columns);
  if (!pairs)
    return errorAt(op, llvm::toString(pairs.takeError()));
  int64_t expected = attr.isPaired() ? columns / 2 : columns;
  bool fits = out.rank() == input.rank() && outColumns == expected;
  for (int64_t d = 0; fits && d + 1 < input.rank(); ++d)
    fits = out.dim(d) == input.dim(d);
  // glu_c3
  if (!fits)
    return errorAt(op, "expected a destination of " + llvm::Twine(expected) +
                           " columns and the rows of the input, but got " +
                           out.describe());
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t c = 0; c < outColumns; ++c) {
      auto [first, second] = placesOf(*pairs, static_cast<size_t>(c));
      auto load = [&](size_t place) {
        return prepare(params,
                       input.real(r * columns + static_cast<int64_t>(place)));
      };
      setReal(out, r * outColumns + c,
              activate(params, load(first), load(second)));
    }
  setResults(op, {std::move(out)});
  return llvm::Error::success();
}

/// A sum in f64 that is rounded to f32 once.
static Real finishSum(double sum, double magnitude, double bound,
                      int64_t count) {
  // Each addition rounds, whatever the order.
  bound += magnitude * static_cast<double>(count) * 0x1p-52;
  return finish(Element::F32, {sum, bound});
}

Real computeGradientOfRow(const ActivationParams &params,
                          const PairedColumns &pairs, llvm::ArrayRef<Real> z,
                          llvm::ArrayRef<Real> dy, std::optional<Real> prob,
                          llvm::MutableArrayRef<Real> dz) {
  double sum = 0.0, magnitude = 0.0, bound = 0.0;
  for (size_t c = 0; c < dy.size(); ++c) {
    auto [first, second] = placesOf(pairs, c);
    Real gate = prepare(params, z[first]), up = prepare(params, z[second]);
    Real d = dy[c];
    Real t = prob ? multiply(Element::F32, d, *prob) : d;
    ActivationGradient gradient = activationGradient(params, gate, up, t);
    if (first != second)
      dz[second] = gradient.up;
    dz[first] = gradient.z;
    Real y = activate(params, gate, up);
    sum += d.value * y.value;
    magnitude += std::fabs(d.value * y.value);
    bound += std::fabs(d.value) * y.bound + d.bound * std::fabs(y.value) +
             d.bound * y.bound;
  }
  return finishSum(sum, magnitude, bound, static_cast<int64_t>(dy.size()));
}

llvm::Error Evaluator::evaluateGluBackward(gsg::GluBackwardOp op) {
  if (op->getNumResults() == 0)
    return errorAt(op, "expected tensors, but got memrefs");
  const Tensor &input = tensor(op.getInput());
  const Tensor &gradient = tensor(op.getGradient());
  Tensor out = tensor(op.getOut());
  gsg::ActivationAttr attr = op.getActivation();
  ActivationParams params = makeActivation(attr, gsg::MathMode::Strict);
  auto [rows, columns] = matrixOf(input);
  int64_t width = attr.isPaired() ? columns / 2 : columns;
  llvm::Expected<PairedColumns> pairs = findPairs(attr, columns);
  if (!pairs)
    return errorAt(op, llvm::toString(pairs.takeError()));
  // glu_backward_c3
  if (out.shape() != input.shape())
    return errorAt(op, "expected a destination of the shape of the input, but "
                       "got " +
                           out.describe());
  llvm::SmallVector<int64_t> shape(input.shape());
  shape.back() = width;
  // glu_backward_c4
  if (gradient.shape() != llvm::ArrayRef(shape))
    return errorAt(op, "expected a gradient of the shape of the activation, "
                       "but got " +
                           gradient.describe());
  shape.pop_back();
  std::optional<Tensor> prob, sums;
  if (op.getProb())
    prob = tensor(op.getProb());
  if (op.getProbOut())
    sums = tensor(op.getProbOut());
  // glu_backward_c5
  for (const std::optional<Tensor> &factors : {prob, sums})
    if (factors && factors->shape() != llvm::ArrayRef(shape))
      return errorAt(op, "expected one factor a row, but got " +
                             factors->describe());
  llvm::Expected<ResolvedGroups> groups =
      resolve(op.getGrouping(), op.getGroups(), input.shape());
  if (!groups)
    return errorAt(op, llvm::toString(groups.takeError()));
  llvm::SmallVector<bool> isRow(static_cast<size_t>(rows), !op.getGroups());
  for (auto [g, range] : llvm::enumerate(groups->ranges)) {
    int64_t matrix = input.rank() == 3 ? input.dim(1) : 0;
    int64_t first = range.begin + static_cast<int64_t>(g) * matrix;
    for (int64_t r = first; r < first + range.size; ++r)
      isRow[static_cast<size_t>(r)] = true;
  }
  std::vector<Real> z(static_cast<size_t>(columns)), dz(z);
  std::vector<Real> dy(static_cast<size_t>(width));
  for (int64_t r = 0; r < rows; ++r) {
    if (!isRow[static_cast<size_t>(r)])
      continue;
    for (auto [c, value] : llvm::enumerate(z))
      value = input.real(r * columns + static_cast<int64_t>(c));
    for (auto [c, value] : llvm::enumerate(dy))
      value = convert(Element::F32,
                      gradient.real(r * width + static_cast<int64_t>(c)));
    std::optional<Real> factor;
    if (prob)
      factor = prob->real(r);
    Real sum = computeGradientOfRow(params, *pairs, z, dy, factor, dz);
    for (auto [c, value] : llvm::enumerate(dz))
      setReal(out, r * columns + static_cast<int64_t>(c), value);
    if (sums)
      sums->setReal(r, sum);
  }
  std::vector<Value> results{std::move(out)};
  if (sums)
    results.push_back(std::move(*sums));
  setResults(op, std::move(results));
  return llvm::Error::success();
}

llvm::Error Evaluator::evaluateSumRows(gsg::SumRowsOp op) {
  if (op->getNumResults() != 1)
    return errorAt(op, "expected tensors, but got memrefs");
  const Tensor &input = tensor(op.getInput());
  Tensor out = tensor(op.getOut());
  llvm::Expected<ResolvedGroups> resolved =
      resolve(op.getGrouping(), op.getGroups(), input.shape());
  if (!resolved)
    return errorAt(op, llvm::toString(resolved.takeError()));
  bool isStack = input.rank() == 3;
  int64_t columns = input.dim(input.rank() - 1);
  int64_t rows = input.dim(input.rank() - 2);
  llvm::SmallVector<GroupRange> groups = resolved->ranges;
  if (!op.getGroups())
    groups.assign(static_cast<size_t>(isStack ? input.dim(0) : 1), {0, rows});
  auto count = static_cast<int64_t>(groups.size());
  llvm::SmallVector<int64_t> shape{columns};
  if (isStack || op.getGroups())
    shape.insert(shape.begin(), count);
  // sum_rows_c3
  if (out.shape() != llvm::ArrayRef(shape))
    return errorAt(op, "expected a destination of a row of each group, but "
                       "got " +
                           out.describe());
  // sum_rows_c4
  if (op.getProb() && tensor(op.getProb()).shape() != input.shape().drop_back())
    return errorAt(op, "expected one factor a row, but got " +
                           tensor(op.getProb()).describe());
  for (int64_t g = 0; g < count; ++g)
    for (int64_t c = 0; c < columns; ++c) {
      double sum = 0.0, magnitude = 0.0;
      GroupRange range = groups[static_cast<size_t>(g)];
      int64_t first = range.begin + (isStack ? g * rows : 0);
      for (int64_t r = first; r < first + range.size; ++r) {
        double x = input.real(r * columns + c).value;
        if (op.getProb())
          x *= tensor(op.getProb()).real(r).value;
        sum += x;
        magnitude += std::fabs(x);
      }
      out.setReal(g * columns + c, finishSum(sum, magnitude, 0.0, range.size));
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
    for (size_t i = 0; i < 16; ++i)
      x[i] = input.real(begin + static_cast<int64_t>(i));
    transformHadamard(x, op.getNormalized(), mask);
    for (size_t i = 0; i < 16; ++i)
      setReal(out, begin + static_cast<int64_t>(i), x[i]);
  }
  setResults(op, {std::move(out)});
  return llvm::Error::success();
}

} // namespace nvfp4::reference
