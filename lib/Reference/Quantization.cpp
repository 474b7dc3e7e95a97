//===- Quantization.cpp - quantize and dequantize ---------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Walks tensors block by block. Blocks never reach beyond a group, and the last
// block of a line may be short. Stochastic rounding numbers elements by their
// row-major index in the logical tensor (of the transposed matrix when blocks
// run along dimension -2).
//
//===----------------------------------------------------------------------===//

#include "BlockQuantizer.h"
#include "Evaluator.h"

#include <algorithm>
#include <array>

namespace nvfp4::reference {
namespace {

/// The index of the group entry of scales and the number of entries.
int64_t groupCount(const ScaledAddress &address, const ResolvedGroups &groups) {
  if (groups.kind == gsg::GroupingKind::Dense)
    return 1;
  if (groups.kind == gsg::GroupingKind::Batched)
    return address.batches();
  return static_cast<int64_t>(groups.ranges.size());
}

/// The row-major index of element k of a line in the logical tensor, or in its
/// transpose.
int64_t logicalIndex(const ScaledAddress &address, gsg::ScaledType type,
                     int64_t batch, int64_t line, int64_t k,
                     bool transposed = false) {
  int64_t matrix = address.lines() * address.length();
  return type.isKMajor() != transposed
             ? batch * matrix + line * address.length() + k
             : batch * matrix + k * address.lines() + line;
}

/// Transforms the runs of the first `count` elements; behind them are zeros.
void transformRuns(llvm::MutableArrayRef<Real> x, int64_t count,
                   gsg::HadamardAttr hadamard) {
  for (int64_t k = 0; k < count; k += 16) {
    llvm::MutableArrayRef<Real> run = x.slice(static_cast<size_t>(k), 16);
    for (int64_t i = count - k; i < 16; ++i)
      run[static_cast<size_t>(i)] = {};
    transformHadamard(run, hadamard.getNormalized(), hadamard.getSignMask());
  }
}

} // namespace

llvm::Error Evaluator::quantizeInto(const Tensor &source, ScaledValue &target,
                                    const ResolvedGroups &groups,
                                    gsg::QuantizerAttr attr,
                                    mlir::Value globalScale, mlir::Value seed,
                                    bool transposed, gsg::HadamardAttr hadamard,
                                    bool perRow) {
  uint64_t seedValue = seed ? static_cast<uint64_t>(integer(seed)) : 0;
  llvm::Expected<BlockQuantizer> quantizer =
      BlockQuantizer::create(attr, target.type.getFormat(), seedValue);
  if (!quantizer)
    return quantizer.takeError();
  llvm::Expected<ScaledAddress> address =
      ScaledAddress::create(target.type, target.scales.shape(), target.groups);
  if (!address)
    return address.takeError();
  bool fp4 = target.type.isFP4();
  int64_t block = address->blockSize();
  int64_t entries = perRow ? address->batches() * address->lines()
                           : groupCount(*address, groups);
  llvm::MutableArrayRef<uint8_t> codes = target.data.mutableBytes();
  llvm::MutableArrayRef<uint8_t> scales = target.scales.mutableBytes();
  std::vector<double> bounds(codes.size() * (fp4 ? 2 : 1));
  bool anyBound = false;

  std::array<Real, 32> x;
  std::array<uint8_t, 32> found;
  std::array<double, 32> slack;
  auto load = [&](int64_t batch, int64_t line, const GroupPiece &piece,
                  int64_t b) {
    int64_t count = std::min(block, piece.range.size - b * block);
    for (int64_t k = 0; k < count; ++k)
      x[static_cast<size_t>(k)] = source.real(
          logicalIndex(*address, target.type, batch, line,
                       piece.range.begin + b * block + k, transposed));
    if (hadamard)
      transformRuns(x, count, hadamard);
    return static_cast<size_t>(count);
  };

  for (int64_t batch = 0; batch < address->batches(); ++batch) {
    // The maxima of the current square of lines, in two-dimensional mode.
    llvm::SmallVector<AmaxInterval> squares;
    int64_t squareGroup = -1, squareBegin = 0;
    for (int64_t line = 0; line < address->lines(); ++line) {
      for (const GroupPiece &piece : piecesOf(*address, groups, batch, line)) {
        if (globalScale) {
          llvm::Expected<Real> scale =
              entry(globalScale,
                    perRow ? batch * address->lines() + line : piece.group,
                    entries, "global_scale", perRow);
          if (!scale)
            return scale.takeError();
          if (llvm::Error error = quantizer->setGlobalScale(*scale))
            return error;
        }
        int64_t blocks =
            format::scaleColumns(address->format(), piece.range.size);
        if (quantizer->isTwoD() &&
            (squareGroup != piece.group || line >= squareBegin + block ||
             squares.empty())) {
          squareGroup = piece.group;
          squareBegin = line;
          squares.assign(static_cast<size_t>(blocks), {});
          for (int64_t i = line; i < std::min(line + block, address->lines());
               ++i)
            for (const GroupPiece &other : piecesOf(*address, groups, batch, i))
              if (other.group == piece.group)
                for (int64_t b = 0; b < blocks; ++b)
                  for (size_t k = 0, n = load(batch, i, other, b); k < n; ++k)
                    squares[static_cast<size_t>(b)].include(
                        x[k], quantizer->ignoresNaN());
        }
        for (int64_t b = 0; b < blocks; ++b) {
          size_t n = load(batch, line, piece, b);
          int64_t first = piece.range.begin + b * block;
          uint64_t element = static_cast<uint64_t>(
              (batch * address->lines() + line) * address->length() + first);
          uint8_t scale = quantizer->quantize(
              {x.data(), n}, {found.data(), n}, {slack.data(), n}, element,
              quantizer->isTwoD() ? &squares[static_cast<size_t>(b)] : nullptr);
          scales[static_cast<size_t>(
              address->scale(batch, line, piece.group, b))] = scale;
          for (size_t k = 0; k < n; ++k) {
            int64_t index =
                address->code(batch, line, first + static_cast<int64_t>(k));
            writeCode(codes, fp4, index, found[k]);
            bounds[static_cast<size_t>(index)] = slack[k];
            anyBound |= slack[k] != 0;
          }
        }
      }
    }
  }
  target.data.setCodeBounds(anyBound ? std::move(bounds)
                                     : std::vector<double>());
  return llvm::Error::success();
}

llvm::Error Evaluator::evaluateQuantize(gsg::QuantizeOp op) {
  auto fail = [&](llvm::Error error) {
    return errorAt(op, llvm::toString(std::move(error)));
  };
  const Tensor &input = tensor(op.getInput());
  gsg::ScaledType type = op.getScaledResultType();
  if (!type || op->getNumResults() == 0)
    return errorAt(op, "expected a scaled type and tensors");
  llvm::SmallVector<int64_t> shape(input.shape());
  if (op.getTransposed())
    std::swap(shape[shape.size() - 2], shape.back());
  type = type.withShape(shape);
  llvm::Expected<ResolvedGroups> groups =
      resolve(op.getGrouping(), op.getGroups(), shape);
  if (!groups)
    return fail(groups.takeError());
  llvm::Expected<ScaledValue> target = allocateScaled(type, *groups);
  if (!target)
    return fail(target.takeError());
  bool storageForm = static_cast<bool>(op.getOut());
  if (storageForm) {
    // Rows outside every group keep what the destinations hold.
    // quantize_c2
    llvm::Expected<ScaledValue> out =
        makeScaled(type, tensor(op.getOut()), tensor(op.getOutScales()));
    if (!out)
      return fail(out.takeError());
    out->groups = target->groups;
    target = std::move(out);
  }
  target->hasScalesOutside = true;
  if (llvm::Error error = quantizeInto(
          input, *target, *groups, op.getQuantizer(), op.getGlobalScale(),
          op.getSeed(), op.getTransposed(),
          op.getHadamard().value_or(gsg::HadamardAttr()), op.getPerRow()))
    return fail(std::move(error));
  if (storageForm)
    setResults(op, {target->data, target->scales});
  else
    setResults(op, {std::move(*target)});
  return llvm::Error::success();
}

llvm::Error Evaluator::evaluateAmax(gsg::AmaxOp op) {
  if (op->getNumResults() != 1)
    return errorAt(op, "expected tensors, but got memrefs");
  const Tensor &input = tensor(op.getInput());
  Tensor out = tensor(op.getOut());
  // amax_c2
  if (out.shape() != input.shape().drop_back(2))
    return errorAt(op, "expected a destination of a number of each matrix, but "
                       "got " +
                           out.describe());
  int64_t rank = input.rank();
  int64_t lines = input.dim(rank - 2), length = input.dim(rank - 1);
  int64_t alongStep = 1, lineStep = length;
  if (op.getTransposed()) {
    std::swap(lines, length);
    std::swap(alongStep, lineStep);
  }
  for (int64_t batch = 0; batch < out.numElements(); ++batch) {
    AmaxInterval amax;
    bool isNaN = false;
    for (int64_t line = 0; line < lines; ++line)
      for (int64_t k = 0; k < length; k += 16) {
        std::array<Real, 16> x;
        int64_t count = std::min<int64_t>(16, length - k);
        int64_t first = batch * lines * length + line * lineStep;
        for (int64_t i = 0; i < count; ++i)
          x[static_cast<size_t>(i)] = input.real(first + (k + i) * alongStep);
        if (gsg::HadamardAttr attr =
                op.getHadamard().value_or(gsg::HadamardAttr()))
          transformRuns(x, count, attr);
        for (int64_t i = 0; i < count; ++i) {
          isNaN |= std::isnan(x[static_cast<size_t>(i)].value);
          amax.include(x[static_cast<size_t>(i)], /*ignoreNaN=*/true);
        }
      }
    Real found{amax.value,
               std::max(amax.high - amax.value, amax.value - amax.low)};
    if (isNaN)
      found = {std::nan(""), 0.0};
    out.setReal(batch, found);
  }
  setResults(op, {std::move(out)});
  return llvm::Error::success();
}

llvm::Error Evaluator::evaluateDequantize(gsg::DequantizeOp op) {
  auto fail = [&](llvm::Error error) {
    return errorAt(op, llvm::toString(std::move(error)));
  };
  llvm::Expected<ScaledValue> input =
      scaled(op.getInput(), op.getInputScales(), op.getInputTypesAttr());
  if (!input)
    return fail(input.takeError());
  gsg::ScaledType type = input->type;
  Tensor out = tensor(op.getOut());
  // dequantize_c1
  if (out.shape() != type.getShape())
    return errorAt(op, "expected a destination of the shape of the input, but "
                       "got " +
                           out.describe());
  llvm::Expected<ResolvedGroups> groups =
      resolve(op.getGrouping(), op.getGroups(), type.getShape());
  if (!groups)
    return fail(groups.takeError());
  llvm::Expected<std::shared_ptr<const GroupMap>> map = scaleMap(type, *groups);
  if (!map)
    return fail(map.takeError());
  // Without groups, those that made the value say where its scales lie.
  if (!*map && type.getGroupStart() != gsg::GroupStart::Whole)
    map = input->groups;
  llvm::Expected<ScaledAddress> address =
      ScaledAddress::create(type, input->scales.shape(), *map);
  if (!address)
    return fail(address.takeError());
  format::BlockFormat kind = address->format();
  int64_t entries = groupCount(*address, *groups);
  llvm::ArrayRef<double> bounds = input->data.codeBounds();
  ResolvedGroups shown = *groups;
  if (shown.kind == gsg::GroupingKind::Dense && *map) {
    shown.kind = gsg::GroupingKind::RaggedRows;
    shown.ranges = (*map)->ranges;
    entries = 1;
  }
  for (int64_t batch = 0; batch < address->batches(); ++batch)
    for (int64_t line = 0; line < address->lines(); ++line)
      for (const GroupPiece &piece : piecesOf(*address, shown, batch, line)) {
        Real global{1.0, 0.0};
        if (op.getGlobalScale()) {
          llvm::Expected<Real> given =
              op.getPerRow()
                  ? entry(op.getGlobalScale(), batch * address->lines() + line,
                          address->batches() * address->lines(), "global_scale",
                          /*isPerRow=*/true)
                  : entry(op.getGlobalScale(), entries == 1 ? 0 : piece.group,
                          entries, "global_scale");
          if (!given)
            return fail(given.takeError());
          global = *given;
        }
        for (int64_t k = 0; k < piece.range.size; ++k) {
          int64_t at = piece.range.begin + k;
          int64_t index = address->code(batch, line, at);
          uint8_t byte =
              input->scales.bytes()[static_cast<size_t>(address->scale(
                  batch, line, piece.group, k / address->blockSize()))];
          if (format::scaleKind(kind) == format::ScaleKind::UE4M3 &&
              !format::isValidUE4M3(byte))
            return errorAt(op, "expected UE4M3 scales with the sign bit clear, "
                               "but got byte " +
                                   llvm::Twine(static_cast<int>(byte)) +
                                   " for line " + llvm::Twine(line));
          double value = format::dequantize(
              kind, readCode(input->data.bytes(), type.isFP4(), index), byte);
          double bound =
              bounds.empty() ? 0.0 : bounds[static_cast<size_t>(index)];
          // Value times scale is exact; then one rounding to f32 and one to
          // the type of the result.
          Real r = op.getGlobalScale()
                       ? multiply(Element::F32, {value, bound}, global)
                       : finish(Element::F32, {value, bound});
          if (out.element() != Element::F32)
            r = convert(out.element(), r);
          out.setReal(logicalIndex(*address, type, batch, line, at), r);
        }
      }
  setResults(op, {std::move(out)});
  return llvm::Error::success();
}

} // namespace nvfp4::reference
