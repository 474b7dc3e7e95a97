//===- Storage.cpp - In and out of the scaled type --------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// make_scaled, split_scaled, relayout_scales, relayout_gate,
// relayout_weights, and what ops that produce scaled values share.
//
//===----------------------------------------------------------------------===//

#include "Activation.h"
#include "Evaluator.h"
#include "WgmmaLayout.h"
#include "nvfp4/Dialect/GroupedScaledGemm/IR/FormatEnums.h"

#include "llvm/Support/ErrorHandling.h"

#include <limits>

namespace nvfp4::reference {

/// The content of scales that belong to no value.
static uint8_t paddingByte(gsg::ScaledType type) {
  return format::paddingScale(format::scaleKind(toFormat(type.getFormat())));
}

llvm::Expected<ResolvedGroups>
Evaluator::resolve(std::optional<gsg::GroupingAttr> grouping,
                   mlir::Value groups, llvm::ArrayRef<int64_t> shape) {
  ResolvedGroups resolved;
  if (!grouping) {
    resolved.kind = shape.size() > 2 ? gsg::GroupingKind::Batched
                                     : gsg::GroupingKind::Dense;
    return resolved;
  }
  resolved.kind = grouping->getKind();
  if (!grouping->hasGroupsOperand())
    return resolved;
  // grouping_c3
  if (!groups)
    return makeError("expected a groups operand for " +
                     gsg::stringifyGroupingKind(resolved.kind));
  size_t rank = shape.size();
  int64_t extent = resolved.kind == gsg::GroupingKind::RaggedK
                       ? shape[rank - 1]
                       : shape[rank - 2];
  llvm::Expected<llvm::SmallVector<GroupRange>> ranges =
      resolveGroups(*grouping, tensor(groups), extent);
  if (!ranges)
    return ranges.takeError();
  // grouping_c5
  if (resolved.kind == gsg::GroupingKind::Masked && rank > 2 &&
      shape[0] != static_cast<int64_t>(ranges->size()))
    return makeError("expected " + llvm::Twine(shape[0]) +
                     " row counts, but got " + llvm::Twine(ranges->size()));
  resolved.ranges = std::move(*ranges);
  return resolved;
}

llvm::Expected<std::shared_ptr<const GroupMap>>
Evaluator::scaleMap(gsg::ScaledType type, const ResolvedGroups &groups) {
  switch (groups.kind) {
  case gsg::GroupingKind::RaggedRows:
    return mapGroups(type, type.getRank() - 2, groups.ranges);
  case gsg::GroupingKind::RaggedK:
    return mapGroups(type, type.getRank() - 1, groups.ranges);
  case gsg::GroupingKind::Dense:
  case gsg::GroupingKind::Batched:
  case gsg::GroupingKind::Masked:
    return std::shared_ptr<const GroupMap>();
  }
  llvm_unreachable("covered switch");
}

llvm::Expected<ScaledValue>
Evaluator::allocateScaled(gsg::ScaledType type, const ResolvedGroups &groups) {
  llvm::Expected<std::shared_ptr<const GroupMap>> map = scaleMap(type, groups);
  if (!map)
    return map.takeError();
  llvm::SmallVector<int64_t> dataShape = type.getDataShape();
  llvm::SmallVector<int64_t> scaleShape = scaleShapeFor(type, map->get());
  Element dataElement = *elementOf(type.getDataElementType());
  Element scaleElement = *elementOf(type.getScaleElementType());
  for (auto [element, shape] :
       {std::pair<Element, llvm::ArrayRef<int64_t>>{dataElement, dataShape},
        {scaleElement, scaleShape}})
    if (llvm::Expected<int64_t> count =
            checkedCount(element, shape, options.maxTensorBytes);
        !count)
      return count.takeError();
  ScaledValue result{type, Tensor::zeros(dataElement, dataShape),
                     Tensor::zeros(scaleElement, scaleShape), *map};
  for (uint8_t &byte : result.scales.mutableBytes())
    byte = paddingByte(type);
  return result;
}

llvm::Error Evaluator::evaluateMakeScaled(gsg::MakeScaledOp op) {
  llvm::Expected<ScaledValue> made =
      makeScaled(op.getType(), tensor(op.getData()), tensor(op.getScales()));
  if (!made)
    return errorAt(op, llvm::toString(made.takeError()));
  set(op.getResult(), std::move(*made));
  return llvm::Error::success();
}

/// The same bytes under the element type of `type`.
static Tensor asType(Tensor tensor, mlir::Type type) {
  std::optional<Element> element = elementOf(mlir::getElementTypeOrSelf(type));
  if (!element || *element == tensor.element())
    return tensor;
  Tensor result =
      Tensor::ofBytes(*element, tensor.shape(), tensor.bytes().vec());
  result.setCodeBounds(tensor.codeBounds().vec());
  return result;
}

llvm::Error Evaluator::evaluateSplitScaled(gsg::SplitScaledOp op) {
  const auto &input = std::get<ScaledValue>(value(op.getInput()));
  set(op.getData(), asType(input.data, op.getData().getType()));
  set(op.getScales(), asType(input.scales, op.getScales().getType()));
  return llvm::Error::success();
}

/// Bounds of the codes of `input` as the operand of masked groups: of rows in
/// none there is no bound, because their scales are unspecified.
static std::vector<double> unspecifiedOutside(const ScaledAddress &address,
                                              const ResolvedGroups &groups,
                                              const ScaledValue &input) {
  std::vector<double> bounds = input.data.codeBounds().vec();
  size_t perByte = input.type.isFP4() ? 2 : 1;
  bounds.resize(input.data.bytes().size() * perByte);
  for (int64_t batch = 0; batch < address.batches(); ++batch)
    for (int64_t line = 0; line < address.lines(); ++line) {
      // Rows of a group are the first of its matrix.
      llvm::SmallVector<GroupPiece> pieces =
          piecesOf(address, groups, batch, line);
      int64_t k = pieces.empty() ? 0 : pieces.front().range.size;
      for (; k < address.length(); ++k)
        bounds[static_cast<size_t>(address.code(batch, line, k))] =
            std::numeric_limits<double>::infinity();
    }
  return bounds;
}

llvm::Error Evaluator::evaluateRelayoutScales(gsg::RelayoutScalesOp op) {
  auto fail = [&](llvm::Error error) {
    return errorAt(op, llvm::toString(std::move(error)));
  };
  llvm::Expected<ScaledValue> input =
      scaled(op.getInput(), op.getInputScales(), op.getInputTypesAttr());
  if (!input)
    return fail(input.takeError());
  gsg::ScaledType declared = op.getResultType();
  gsg::ScaledType type =
      input->type.withLayout(declared.getLayout(), declared.getGroupStart());
  llvm::Expected<ResolvedGroups> groups =
      resolve(op.getGrouping(), op.getGroups(), type.getShape());
  if (!groups)
    return fail(groups.takeError());
  llvm::Expected<ScaledValue> result = allocateScaled(type, *groups);
  if (!result)
    return fail(result.takeError());
  result->data = input->data;
  if (op.getOutScales()) {
    // The destination may be larger than what is needed; all of it is written.
    const Tensor &out = tensor(op.getOutScales());
    Tensor scales = Tensor::zeros(result->scales.element(), out.shape());
    for (uint8_t &byte : scales.mutableBytes())
      byte = paddingByte(type);
    result->scales = std::move(scales);
  }
  llvm::Expected<std::shared_ptr<const GroupMap>> from =
      scaleMap(input->type, *groups);
  if (!from)
    return fail(from.takeError());
  llvm::Expected<ScaledAddress> source =
      ScaledAddress::create(input->type, input->scales.shape(), *from);
  if (!source)
    return fail(source.takeError());
  llvm::Expected<ScaledAddress> target =
      ScaledAddress::create(type, result->scales.shape(), result->groups);
  if (!target)
    return fail(target.takeError());
  llvm::MutableArrayRef<uint8_t> out = result->scales.mutableBytes();
  for (int64_t batch = 0; batch < source->batches(); ++batch)
    for (int64_t line = 0; line < source->lines(); ++line)
      for (const GroupPiece &piece : piecesOf(*source, *groups, batch, line)) {
        int64_t blocks =
            format::scaleColumns(source->format(), piece.range.size);
        for (int64_t b = 0; b < blocks; ++b)
          out[static_cast<size_t>(target->scale(batch, line, piece.group, b))] =
              input->scales.bytes()[static_cast<size_t>(
                  source->scale(batch, line, piece.group, b))];
      }
  if (groups->kind == gsg::GroupingKind::Masked)
    result->data.setCodeBounds(unspecifiedOutside(*target, *groups, *input));
  if (op->getNumResults() == 0)
    return errorAt(op, "expected tensors, but got memrefs");
  mlir::Type resultType = op.getResult().getType();
  if (mlir::isa<gsg::ScaledType>(resultType))
    set(op.getResult(), std::move(*result));
  else
    set(op.getResult(), asType(result->scales, resultType));
  return llvm::Error::success();
}

llvm::Error Evaluator::evaluateRelayoutWeights(gsg::RelayoutWeightsOp op) {
  llvm::Expected<ScaledValue> input =
      scaled(op.getInput(), op.getInputScales(), op.getInputTypesAttr());
  if (!input)
    return errorAt(op, llvm::toString(input.takeError()));
  gsg::ScaledType to = op.getResultType();
  llvm::Expected<ScaledValue> result = to.isCoded()
                                           ? codeWeights(*input, to.getLayout())
                                           : readCodedWeights(*input);
  if (!result)
    return errorAt(op, llvm::toString(result.takeError()));
  if (op->getNumResults() == 0)
    return errorAt(op, "expected tensors, but got memrefs");
  if (mlir::isa<gsg::ScaledType>(op->getResult(0).getType()))
    setResults(op, {std::move(*result)});
  else
    setResults(op, {asType(result->data, op->getResult(0).getType()),
                    asType(result->scales, op->getResult(1).getType())});
  return llvm::Error::success();
}

/// Permutes dimension `dim` of a tensor by `source`.
static Tensor permuteDim(const Tensor &t, int64_t dim,
                         llvm::ArrayRef<int64_t> source) {
  Tensor result = Tensor::unwritten(t.element(), t.shape());
  int64_t outer = 1, inner = 1, size = t.dim(dim);
  for (int64_t d = 0; d < dim; ++d)
    outer *= t.dim(d);
  for (int64_t d = dim + 1; d < t.rank(); ++d)
    inner *= t.dim(d);
  for (int64_t o = 0; o < outer; ++o)
    for (int64_t i = 0; i < size; ++i)
      result.copyElements((o * size + i) * inner, t,
                          (o * size + source[static_cast<size_t>(i)]) * inner,
                          inner);
  return result;
}

llvm::Error Evaluator::evaluateRelayoutGate(gsg::RelayoutGateOp op) {
  auto fail = [&](llvm::Error error) {
    return errorAt(op, llvm::toString(std::move(error)));
  };
  /// source[row] of the result for `rows` rows.
  auto permutation =
      [&](int64_t rows) -> llvm::Expected<llvm::SmallVector<int64_t>> {
    llvm::Expected<PairedColumns> from = pairColumns(op.getFrom(), rows);
    if (!from)
      return from.takeError();
    llvm::Expected<PairedColumns> to = pairColumns(op.getTo(), rows);
    if (!to)
      return to.takeError();
    llvm::SmallVector<int64_t> source(static_cast<size_t>(rows));
    for (size_t c = 0; c < from->gate.size(); ++c) {
      source[static_cast<size_t>(to->gate[c])] = from->gate[c];
      source[static_cast<size_t>(to->up[c])] = from->up[c];
    }
    return source;
  };
  bool valueForm = mlir::isa<gsg::ScaledType>(op.getInput().getType());
  if (!valueForm && !op.getInputScales()) {
    const Tensor &plain = tensor(op.getInput());
    auto source = permutation(plain.dim(plain.rank() - 1));
    if (!source)
      return fail(source.takeError());
    // relayout_gate_c5
    if (tensor(op.getOut()).shape() != plain.shape())
      return errorAt(op, "expected a destination of the shape of the input, "
                         "but got " +
                             tensor(op.getOut()).describe());
    setResults(op, {permuteDim(plain, plain.rank() - 1, *source)});
    return llvm::Error::success();
  }
  llvm::Expected<ScaledValue> input =
      scaled(op.getInput(), op.getInputScales(), op.getInputTypesAttr());
  if (!input)
    return fail(input.takeError());
  int64_t rank = input->type.getRank();
  // relayout_gate_c1
  if (rank < 2 || !input->type.isKMajor())
    return errorAt(op, "expected a weight of rank 2 or 3 with blocks along the "
                       "last dimension");
  auto source = permutation(input->type.getDimSize(rank - 2));
  if (!source)
    return fail(source.takeError());
  llvm::Expected<ScaledAddress> address =
      ScaledAddress::create(input->type, input->scales.shape(), nullptr);
  if (!address)
    return fail(address.takeError());
  ScaledValue result = *input;
  result.data = permuteDim(input->data, rank - 2, *source);
  llvm::MutableArrayRef<uint8_t> out = result.scales.mutableBytes();
  int64_t blocks = format::scaleColumns(address->format(), address->length());
  for (int64_t batch = 0; batch < address->batches(); ++batch)
    for (int64_t line = 0; line < address->lines(); ++line)
      for (int64_t b = 0; b < blocks; ++b)
        out[static_cast<size_t>(address->scale(batch, line, 0, b))] =
            input->scales.bytes()[static_cast<size_t>(address->scale(
                batch, (*source)[static_cast<size_t>(line)], 0, b))];
  if (valueForm)
    setResults(op, {std::move(result)});
  else
    setResults(op, {result.data, result.scales});
  return llvm::Error::success();
}

} // namespace nvfp4::reference
