//===- Matmul.cpp - The grouped product -------------------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Splits every form of grouping into problems of one weight matrix each, runs
// their products and epilogues, and writes results, amax and what rows outside
// every group keep.
//
//===----------------------------------------------------------------------===//

#include "Epilogue.h"
#include "Glu.h"
#include "ProductRunner.h"

#include <algorithm>
#include <cmath>

namespace nvfp4::reference {

using gsg::GroupingKind;

/// One evaluation of a `matmul`.
class MatmulEvaluation {
public:
  MatmulEvaluation(Evaluator &evaluator, gsg::MatmulOp op)
      : evaluator(evaluator), op(op) {}

  llvm::Error run();

private:
  llvm::Error readOperands();
  llvm::Error checkShapes();
  llvm::Error makeDestinations();
  llvm::Error runGroup(int64_t group);
  llvm::Error runRow(const EpiloguePlace &at, llvm::ArrayRef<Real> acc);
  llvm::Error checkGradient();
  void runGradientRow(const EpiloguePlace &at, llvm::ArrayRef<Real> dy);
  /// y as `type`, within the groups of the product.
  llvm::Expected<ScaledValue>
  quantizeResult(const gsg::ScaledOperand &out, gsg::QuantizerAttr quantizer,
                 mlir::Value globalScale, mlir::Value seed,
                 bool isTransposed = false, gsg::HadamardAttr hadamard = {});
  llvm::Error appendCopies(std::vector<Value> &results);

  int64_t rowsOf(int64_t group) const {
    return kind == GroupingKind::RaggedRows || kind == GroupingKind::Masked
               ? groups.ranges[static_cast<size_t>(group)].size
               : rowsPerGroup;
  }
  int64_t firstRow(int64_t group) const {
    return kind == GroupingKind::RaggedRows
               ? groups.ranges[static_cast<size_t>(group)].begin
               : group * rowsPerGroup;
  }

  Evaluator &evaluator;
  gsg::MatmulOp op;
  GroupingKind kind = GroupingKind::Dense;
  /// One of these two.
  ScaledValue lhs;
  std::optional<Tensor> plainLhs;
  llvm::SmallVector<int64_t> lhsShape;
  std::vector<ScaledValue> rhs;
  ResolvedGroups groups;
  int64_t numGroups = 1, rowsPerGroup = 0, totalRows = 0;
  int64_t columns = 0, outputColumns = 0;
  llvm::SmallVector<int64_t> rowShape;
  std::optional<PairedColumns> pairs;
  /// Of gradient_of; the columns of its pairs are those of y.
  std::optional<ActivationParams> gradient;
  PairedColumns gradientPairs;
  std::optional<Epilogue> epilogue;
  std::optional<ProductRunner> product;
  /// Results; y holds f32 numbers where the result is quantised.
  Tensor preact, y, amax, probGradient;
  gsg::ScaledType quantized;
  /// The interval of the current group's amax.
  double amaxLow = 0, amaxValue = 0, amaxHigh = 0;
};

llvm::Error MatmulEvaluation::readOperands() {
  kind = op.getGrouping().getKind();
  if (op.getLhs().size() != 1)
    return makeError("expected one lhs, but got " +
                     llvm::Twine(op.getLhs().size()));
  // matmul_c41
  if (op.getOuterGate())
    return makeError("expected no outer_gate: addend and preact_outs in the "
                     "gate layout of the weights; leave out "
                     "gsg-assign-scale-layout");
  for (const gsg::ScaledOperand &operand : gsg::getScaledOperands(
           op.getLhs(), op.getLhsScales(), op.getLhsTypesAttr())) {
    if (!operand.type) {
      plainLhs = evaluator.tensor(operand.data);
      lhsShape.assign(plainLhs->shape().begin(), plainLhs->shape().end());
      continue;
    }
    llvm::Expected<ScaledValue> value = evaluator.scaled(operand);
    if (!value)
      return value.takeError();
    lhs = std::move(*value);
    lhsShape.assign(lhs.type.getShape().begin(), lhs.type.getShape().end());
  }
  for (const gsg::ScaledOperand &operand : gsg::getScaledOperands(
           op.getRhs(), op.getRhsScales(), op.getRhsTypesAttr())) {
    llvm::Expected<ScaledValue> value = evaluator.linearWeights(operand);
    if (!value)
      return value.takeError();
    rhs.push_back(std::move(*value));
  }
  llvm::Expected<ResolvedGroups> resolved =
      evaluator.resolve(op.getGrouping(), op.getGroups(), lhsShape);
  if (!resolved)
    return resolved.takeError();
  groups = std::move(*resolved);
  return llvm::Error::success();
}

llvm::Error MatmulEvaluation::checkShapes() {
  auto rank = static_cast<int64_t>(lhsShape.size());
  bool batchedLhs =
      kind == GroupingKind::Batched || kind == GroupingKind::Masked;
  // matmul_c2
  if (rank != (batchedLhs ? 3 : 2))
    return makeError("expected lhs of rank " + llvm::Twine(batchedLhs ? 3 : 2) +
                     ", but got rank " + llvm::Twine(rank));
  switch (kind) {
  case GroupingKind::Dense:
    numGroups = 1;
    break;
  case GroupingKind::Batched:
    numGroups = lhsShape[0];
    break;
  case GroupingKind::RaggedRows:
  case GroupingKind::Masked:
  case GroupingKind::RaggedK:
    numGroups = static_cast<int64_t>(groups.ranges.size());
    break;
  }
  // grouping_c5
  if (kind == GroupingKind::Masked && numGroups != lhsShape[0])
    return makeError("expected " + llvm::Twine(lhsShape[0]) +
                     " row counts, but got " + llvm::Twine(numGroups));
  bool sharedRhs = kind == GroupingKind::Dense || kind == GroupingKind::RaggedK;
  int64_t expected = !sharedRhs && op.hasDiscreteRhs() ? numGroups : 1;
  // matmul_c3
  if (static_cast<int64_t>(rhs.size()) != expected)
    return makeError("expected " + llvm::Twine(expected) +
                     " rhs operands, but got " + llvm::Twine(rhs.size()));
  int64_t k = lhsShape.back();
  for (const ScaledValue &value : rhs) {
    int64_t rhsRank = value.type.getRank();
    bool stacked = !sharedRhs && !op.hasDiscreteRhs();
    // matmul_c3
    if (rhsRank != (stacked ? 3 : 2))
      return makeError("expected rhs of rank " + llvm::Twine(stacked ? 3 : 2) +
                       ", but got rank " + llvm::Twine(rhsRank));
    // matmul_c8
    if (stacked && value.type.getDimSize(0) != numGroups)
      return makeError("expected weights of " + llvm::Twine(numGroups) +
                       " groups, but got " +
                       llvm::Twine(value.type.getDimSize(0)));
    // matmul_c7
    if (value.type.getDimSize(rhsRank - 1) != k)
      return makeError("expected K of rhs to be " + llvm::Twine(k) +
                       ", but got " +
                       llvm::Twine(value.type.getDimSize(rhsRank - 1)));
    int64_t n = value.type.getDimSize(rhsRank - 2);
    // matmul_c4
    if (&value != &rhs.front() && n != columns)
      return makeError("expected N of rhs to be " + llvm::Twine(columns) +
                       ", but got " + llvm::Twine(n));
    columns = n;
  }
  // matmul_c1
  if (rhs.empty())
    return makeError("expected at least one rhs");
  outputColumns = columns;
  gsg::ActivationAttr activation = op.getActivationOrIdentity();
  if (activation.isPaired()) {
    llvm::Expected<PairedColumns> found =
        pairColumns(activation.getGate(), columns);
    if (!found)
      return found.takeError();
    pairs = std::move(*found);
    outputColumns = columns / 2;
  }
  rowsPerGroup =
      kind == GroupingKind::RaggedRows ? 0 : lhsShape[lhsShape.size() - 2];
  totalRows =
      kind == GroupingKind::RaggedRows ? lhsShape[0] : numGroups * rowsPerGroup;
  if (kind == GroupingKind::RaggedRows || kind == GroupingKind::Dense)
    rowShape = {totalRows};
  else
    rowShape = {numGroups, rowsPerGroup};
  return checkGradient();
}

llvm::Error MatmulEvaluation::checkGradient() {
  gsg::ActivationAttr of = op.getGradientOfAttr();
  if (!of)
    return llvm::Error::success();
  gradient = makeActivation(of, gsg::MathMode::Strict);
  if (of.isPaired()) {
    outputColumns = 2 * columns;
    llvm::Expected<PairedColumns> found =
        pairColumns(of.getGate(), outputColumns);
    if (!found)
      return found.takeError();
    gradientPairs = std::move(*found);
  }
  llvm::SmallVector<int64_t> shape = rowShape;
  // matmul_c14, matmul_c49
  for (mlir::Value factors : {op.getProb(), op.getProbOut()})
    if (factors &&
        evaluator.tensor(factors).shape() != llvm::ArrayRef<int64_t>(shape))
      return makeError("expected one factor for each of " +
                       llvm::Twine(totalRows) + " rows, but got " +
                       evaluator.tensor(factors).describe());
  shape.push_back(outputColumns);
  // matmul_c48
  if (const Tensor &z = evaluator.tensor(op.getPreact());
      z.shape() != llvm::ArrayRef<int64_t>(shape))
    return makeError("expected preact of " + llvm::Twine(totalRows) +
                     " rows and " + llvm::Twine(outputColumns) +
                     " columns, but got " + z.describe());
  return llvm::Error::success();
}

llvm::Error MatmulEvaluation::makeDestinations() {
  auto start = [&](mlir::Value v, int64_t width,
                   llvm::StringRef what) -> llvm::Expected<Tensor> {
    llvm::SmallVector<int64_t> shape = rowShape;
    shape.push_back(width);
    Tensor out = evaluator.tensor(v);
    // matmul_c25, matmul_c30
    if (out.shape() != llvm::ArrayRef<int64_t>(shape))
      return makeError("expected " + what + " of " + llvm::Twine(totalRows) +
                       " rows and " + llvm::Twine(width) +
                       " columns, but got " + out.describe());
    return op.getTail() == gsg::TailMode::Zero
               ? Tensor::zeros(out.element(), shape)
               : out;
  };
  if (op.getPreactOut()) {
    llvm::Expected<Tensor> t = start(op.getPreactOut(), columns, "preact_outs");
    if (!t)
      return t.takeError();
    preact = std::move(*t);
  }
  quantized = op.getQuantizer() ? op.getQuantizedType() : gsg::ScaledType();
  llvm::SmallVector<int64_t> shape = rowShape;
  shape.push_back(outputColumns);
  if (op.getQuantizer()) {
    if (!quantized)
      return makeError("expected the scaled type of the quantised result");
    // matmul_c27
    if (quantized.getRank() != static_cast<int64_t>(shape.size()))
      return makeError("expected a quantised result of rank " +
                       llvm::Twine(shape.size()));
    // matmul_c29
    if (int64_t block = quantized.getBlockSize();
        quantized.isKMajor() && outputColumns % block != 0)
      return makeError(
          "expected quantised columns to be a multiple of the "
          "block size " +
          llvm::Twine(block) +
          ", but got N_out = " + llvm::Twine(outputColumns) + " (nearest: " +
          llvm::Twine(llvm::divideCeil(outputColumns, block) * block) + ")");
    quantized = quantized.withShape(shape);
    llvm::Expected<Tensor> t = evaluator.allocate(Element::F32, shape);
    if (!t)
      return t.takeError();
    y = std::move(*t);
  } else if (!op.getOut()) {
    // matmul_c33
    if (!op.getCopies())
      return makeError("expected a destination");
    llvm::Expected<Tensor> t = evaluator.allocate(Element::F32, shape);
    if (!t)
      return t.takeError();
    y = std::move(*t);
  } else {
    llvm::Expected<Tensor> t = start(op.getOut(), outputColumns, "outs");
    if (!t)
      return t.takeError();
    y = std::move(*t);
  }
  if (op.getProbOut()) {
    probGradient = evaluator.tensor(op.getProbOut());
    if (op.getTail() == gsg::TailMode::Zero)
      probGradient = Tensor::zeros(Element::F32, rowShape);
  }
  if (op.getAmaxOut()) {
    amax = Tensor::zeros(Element::F32, {numGroups});
    // matmul_c31
    if (evaluator.tensor(op.getAmaxOut()).numElements() != numGroups)
      return makeError("expected amax_outs of " + llvm::Twine(numGroups) +
                       " entries, but got " +
                       evaluator.tensor(op.getAmaxOut()).describe());
  }
  return llvm::Error::success();
}

void MatmulEvaluation::runGradientRow(const EpiloguePlace &at,
                                      llvm::ArrayRef<Real> dy) {
  const Tensor &stored = evaluator.tensor(op.getPreact());
  std::vector<Real> z(static_cast<size_t>(outputColumns)), dz(z);
  int64_t first = at.row * outputColumns;
  for (auto [c, value] : llvm::enumerate(z))
    value = stored.real(first + static_cast<int64_t>(c));
  std::optional<Real> prob;
  if (op.getProb())
    prob = evaluator.tensor(op.getProb()).real(at.row);
  Real sum = computeGradientOfRow(*gradient, gradientPairs, z, dy, prob, dz);
  if (op.getProbOut())
    probGradient.setReal(at.row, sum);
  for (auto [c, value] : llvm::enumerate(dz))
    y.setReal(first + static_cast<int64_t>(c),
              y.element() == Element::F32 ? value
                                          : convert(y.element(), value));
}

llvm::Error MatmulEvaluation::runRow(const EpiloguePlace &at,
                                     llvm::ArrayRef<Real> acc) {
  std::vector<Real> z(static_cast<size_t>(columns));
  for (int64_t n = 0; n < columns; ++n) {
    auto i = static_cast<size_t>(n);
    z[i] = epilogue->preActivation(at, acc[i], n);
    if (op.getPreactOut())
      preact.setReal(at.row * columns + n, convert(preact.element(), z[i]));
  }
  if (gradient) {
    runGradientRow(at, z);
    return llvm::Error::success();
  }
  for (int64_t c = 0; c < outputColumns; ++c) {
    auto i = static_cast<size_t>(c);
    Real first = pairs ? z[static_cast<size_t>(pairs->gate[i])] : z[i];
    Real second = pairs ? z[static_cast<size_t>(pairs->up[i])] : Real();
    llvm::Expected<Real> value =
        epilogue->result(evaluator, at, first, second, c);
    if (!value)
      return value.takeError();
    double magnitude = std::fabs(value->value);
    if (std::isnan(magnitude) || std::isnan(amaxValue)) {
      amaxLow = amaxValue = amaxHigh = std::nan("");
    } else {
      amaxLow = std::max(amaxLow, magnitude - value->bound);
      amaxValue = std::max(amaxValue, magnitude);
      amaxHigh = std::max(amaxHigh, magnitude + value->bound);
    }
    y.setReal(at.row * outputColumns + c, y.element() == Element::F32
                                              ? *value
                                              : convert(y.element(), *value));
  }
  return llvm::Error::success();
}

llvm::Error MatmulEvaluation::runGroup(int64_t group) {
  int64_t rows = rowsOf(group);
  bool batchedLhs =
      kind == GroupingKind::Batched || kind == GroupingKind::Masked;
  bool stackedRhs = rhs.front().type.getRank() == 3;
  ProductRunner::Side left{
      &lhs, batchedLhs ? group : 0,
      kind == GroupingKind::RaggedRows ? firstRow(group) : 0, rows, group};
  if (plainLhs) {
    left.plain = &*plainLhs;
    left.plainColumns = kind == GroupingKind::RaggedK
                            ? groups.ranges[static_cast<size_t>(group)]
                            : GroupRange{0, lhsShape.back()};
  }
  ProductRunner::Side right{
      &rhs[rhs.size() == 1 ? 0 : static_cast<size_t>(group)],
      stackedRhs ? group : 0, 0, columns,
      kind == GroupingKind::RaggedK ? group : 0};
  amaxLow = amaxValue = amaxHigh = 0;
  llvm::Error error =
      product->run(left, right, pairs ? &*pairs : nullptr,
                   [&](int64_t m, llvm::ArrayRef<Real> acc) {
                     return runRow({group, firstRow(group) + m, m}, acc);
                   });
  if (error)
    return error;
  if (op.getAmaxOut())
    amax.setReal(group, {amaxValue, std::isnan(amaxValue)
                                        ? 0.0
                                        : std::max(amaxHigh - amaxValue,
                                                   amaxValue - amaxLow)});
  return llvm::Error::success();
}

llvm::Expected<ScaledValue> MatmulEvaluation::quantizeResult(
    const gsg::ScaledOperand &out, gsg::QuantizerAttr quantizer,
    mlir::Value globalScale, mlir::Value seed, bool isTransposed,
    gsg::HadamardAttr hadamard) {
  // The groups of the result; with ragged K each has a matrix of its own.
  ResolvedGroups resultGroups = groups;
  if (kind == GroupingKind::RaggedK)
    resultGroups = {GroupingKind::Batched, {}};
  else if (kind == GroupingKind::RaggedRows && isTransposed)
    resultGroups.kind = GroupingKind::RaggedK;
  llvm::Expected<ScaledValue> target =
      evaluator.allocateScaled(out.type, resultGroups);
  if (!target)
    return target.takeError();
  if (out.data) {
    llvm::Expected<ScaledValue> stored = makeScaled(
        out.type, evaluator.tensor(out.data), evaluator.tensor(out.scales));
    if (!stored)
      return stored.takeError();
    stored->groups = target->groups;
    if (op.getTail() == gsg::TailMode::Zero) {
      stored->data =
          Tensor::zeros(stored->data.element(), stored->data.shape());
      stored->scales =
          Tensor::zeros(stored->scales.element(), stored->scales.shape());
    }
    target = std::move(stored);
  }
  target->hasScalesOutside = true;
  if (llvm::Error error =
          evaluator.quantizeInto(y, *target, resultGroups, quantizer,
                                 globalScale, seed, isTransposed, hadamard))
    return error;
  return target;
}

llvm::Error MatmulEvaluation::appendCopies(std::vector<Value> &results) {
  std::vector<Value> scales;
  for (gsg::ProductCopy copy : op.getCopyList()) {
    llvm::SmallVector<int64_t> shape = rowShape;
    shape.push_back(outputColumns);
    // copies_c5
    if (int64_t block = copy.out.type.getBlockSize();
        copy.hasBlocksAlongColumns() && outputColumns % block != 0)
      return makeError("expected columns of a copy to be a multiple of the "
                       "block size " +
                       llvm::Twine(block) +
                       ", but got N_out = " + llvm::Twine(outputColumns));
    if (copy.attr.getTransposed())
      std::swap(shape[shape.size() - 2], shape.back());
    // copies_c2
    for (auto [known, extent] :
         llvm::zip_equal(copy.out.type.getShape(), shape))
      if (!mlir::ShapedType::isDynamic(known) && known != extent)
        return makeError("expected an extent of a copy to be " +
                         llvm::Twine(extent) + ", but got " +
                         llvm::Twine(known));
    copy.out.type = copy.out.type.withShape(shape);
    llvm::Expected<ScaledValue> value = quantizeResult(
        copy.out, copy.attr.getQuantizer(), copy.globalScale, copy.seed,
        copy.attr.getTransposed(), copy.attr.getHadamard());
    if (!value)
      return value.takeError();
    if (!copy.out.data) {
      results.emplace_back(std::move(*value));
      continue;
    }
    results.emplace_back(value->data);
    scales.emplace_back(value->scales);
  }
  llvm::append_range(results, scales);
  return llvm::Error::success();
}

llvm::Error MatmulEvaluation::run() {
  if (llvm::Error error = readOperands())
    return error;
  if (llvm::Error error = checkShapes())
    return error;
  if (llvm::Error error = makeDestinations())
    return error;
  const Tensor *destination =
      op.getOut() && !quantized ? &evaluator.tensor(op.getOut()) : nullptr;
  llvm::Expected<Epilogue> made = Epilogue::create(
      op,
      {numGroups, totalRows,
       kind == GroupingKind::RaggedRows ? 0 : rowsPerGroup, columns,
       outputColumns},
      [&](mlir::Value v) -> const Value & { return evaluator.value(v); },
      destination);
  if (!made)
    return made.takeError();
  epilogue = std::move(*made);
  std::shared_ptr<const GroupMap> lhsMap;
  if (!plainLhs) {
    llvm::Expected<std::shared_ptr<const GroupMap>> found =
        evaluator.scaleMap(lhs.type, groups);
    if (!found)
      return found.takeError();
    lhsMap = *found;
  }
  // Weights share the groups along K only.
  std::shared_ptr<const GroupMap> rhsMap;
  if (kind == GroupingKind::RaggedK) {
    llvm::Expected<std::shared_ptr<const GroupMap>> found =
        evaluator.scaleMap(rhs.front().type, groups);
    if (!found)
      return found.takeError();
    rhsMap = *found;
  }
  llvm::Expected<ProductRunner> runner = ProductRunner::create(
      evaluator.options, plainLhs ? nullptr : &lhs, lhsMap, rhs, rhsMap);
  if (!runner)
    return runner.takeError();
  product = std::move(*runner);
  for (int64_t g = 0; g < numGroups; ++g)
    if (llvm::Error error = runGroup(g))
      return error;
  std::vector<Value> results;
  if (op.getPreactOut())
    results.emplace_back(std::move(preact));
  if (quantized) {
    llvm::Expected<ScaledValue> value =
        quantizeResult({op.getOut(), op.getOutScales(), quantized},
                       *op.getQuantizer(), op.getGlobalScale(), op.getSeed());
    if (!value)
      return value.takeError();
    if (op.getOut()) {
      results.emplace_back(value->data);
      results.emplace_back(value->scales);
    } else {
      results.emplace_back(std::move(*value));
    }
  } else if (op.getOut()) {
    results.emplace_back(y);
  }
  if (op.getAmaxOut())
    results.emplace_back(std::move(amax));
  if (op.getProbOut())
    results.emplace_back(std::move(probGradient));
  if (llvm::Error error = appendCopies(results))
    return error;
  if (op->getNumResults() != results.size())
    return makeError("expected tensors, but got memrefs");
  evaluator.setResults(op, std::move(results));
  return llvm::Error::success();
}

llvm::Error Evaluator::evaluateMatmul(gsg::MatmulOp op) {
  if (llvm::Error error = MatmulEvaluation(*this, op).run())
    return errorAt(op, llvm::toString(std::move(error)));
  return llvm::Error::success();
}

} // namespace nvfp4::reference
