//===- ScaledContraction.cpp - A contraction that is a product --*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Which loops are batch, rows, columns and K, which factors belong to which
// operand, and which format codes and scales are in.
//
//===----------------------------------------------------------------------===//

#include "ScaledContraction.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace nvfp4::gsg;

namespace {

/// Kinds of loops, and the dimensions that stand for them.
enum Dim : unsigned { Batch, Row, Column, Depth, NumDims };

class Matcher {
public:
  /// `groups`: the loop whose step `op` is, or null.
  Matcher(linalg::LinalgOp op, const GroupLoop *groups,
          const RaiseOptions &options, std::string &reason)
      : op(op), groups(groups), options(options), reason(reason),
        context(op.getContext()) {}

  std::optional<ScaledContraction> match();

private:
  template <typename... Args>
  std::nullopt_t fail(const char *format, Args &&...args) {
    reason = llvm::formatv(false, format, std::forward<Args>(args)...).str();
    return std::nullopt;
  }
  AffineExpr dim(unsigned position) {
    return getAffineDimExpr(position, context);
  }
  AffineExpr zero() { return getAffineConstantExpr(0, context); }

  std::optional<Product> traceProduct();
  bool takeMask(const RowMask &mask);
  bool splitFactors(const Product &product);
  bool groupLoops();
  size_t countRepeats(ArrayRef<unsigned> outLoops);
  bool assignScales();
  void substitute(Factor &factor);
  bool leaveLoop();
  bool leaveLoop(Factor &factor, bool isOfRows);
  void leaveLoopByElement(Factor &factor);
  std::pair<SmallVector<int64_t>, SmallVector<AffineExpr>> getMatrix(Dim row);
  std::optional<RaisedOperand> describeRows();
  std::optional<RaisedOperand> describe(const Factor &code, const Factor &scale,
                                        Dim row);
  std::optional<int64_t> findBlock(const Factor &scale);

  linalg::LinalgOp op;
  const GroupLoop *groups;
  const RaiseOptions &options;
  std::string &reason;
  MLIRContext *context;

  /// Without scales for the rows, codes[0] are the rows.
  SmallVector<Factor> codes, scales, globals;
  SmallVector<Slice> slices;
  bool hasPlainRows = false;
  /// Of a sum over groups with masked rows.
  std::optional<RowMask> mask;
  /// The rows are those of every matrix of a batch.
  bool isRepeated = false;
  SmallVector<unsigned> loops[NumDims];
  int64_t extents[NumDims];
  /// Each loop in terms of the four dimensions.
  SmallVector<AffineExpr> replacements;
};

bool uses(const Factor &factor, unsigned loop) {
  return llvm::any_of(factor.indices, [&](AffineExpr index) {
    return index.isFunctionOfDim(loop);
  });
}

bool usesAny(const Factor &factor, ArrayRef<unsigned> loops) {
  return llvm::any_of(loops, [&](unsigned loop) { return uses(factor, loop); });
}

/// The value of an index where dimension `position` is `value` and all others
/// are zero.
int64_t evaluate(AffineExpr index, unsigned numDims, unsigned position,
                 int64_t value) {
  MLIRContext *context = index.getContext();
  SmallVector<AffineExpr> point(numDims, getAffineConstantExpr(0, context));
  point[position] = getAffineConstantExpr(value, context);
  SmallVector<AffineExpr> starts(kMaxSlices, getAffineConstantExpr(0, context));
  auto constant = dyn_cast<AffineConstantExpr>(
      simplify(index.replaceDimsAndSymbols(point, starts)));
  return constant ? constant.getValue() : -1;
}

bool changes(const Factor &factor, unsigned numDims, unsigned position,
             int64_t value) {
  auto differs = [&](AffineExpr index) {
    return evaluate(index, numDims, position, 0) !=
           evaluate(index, numDims, position, value);
  };
  return llvm::any_of(factor.indices, differs) ||
         (factor.nibble && differs(factor.nibble));
}

std::string print(Type type) {
  std::string text;
  llvm::raw_string_ostream(text) << type;
  return text;
}

} // namespace

/// What is added to the destination in each step.
std::optional<Product> Matcher::traceProduct() {
  if (!op.hasPureTensorSemantics() || op.getNumDpsInits() != 1 ||
      op.getNumReductionLoops() == 0 ||
      op.getNumReductionLoops() + op.getNumParallelLoops() != op.getNumLoops())
    return std::nullopt;
  Block *body = op.getBlock();
  auto add =
      body->getTerminator()->getOperand(0).getDefiningOp<arith::AddFOp>();
  if (!add)
    return std::nullopt;
  BlockArgument sum = op.getMatchingBlockArgument(op.getDpsInitOperand(0));
  Value term = add.getLhs() == sum   ? add.getRhs()
               : add.getRhs() == sum ? add.getLhs()
                                     : Value();
  if (!term)
    return std::nullopt;
  SmallVector<AffineExpr> dims;
  for (unsigned i = 0; i < op.getNumLoops(); ++i)
    dims.push_back(dim(i));
  ElementTrace trace(context, options.moveGlobalScales,
                     groups ? Slices::All : Slices::OfProducts);
  std::optional<Product> product = trace.traceScalar(term, op, dims);
  slices.assign(trace.getSlices().begin(), trace.getSlices().end());
  if (!product)
    reason = trace.getReason();
  if (!product || !product->isNarrow())
    return std::nullopt;
  if (!add.getType().isF32())
    return fail("expected a sum in f32, but got {0}", print(add.getType()));
  return product;
}

/// A sum over groups, in each of which the rows of others are zero.
bool Matcher::takeMask(const RowMask &rowMask) {
  op.getReductionDims(loops[Depth]);
  unsigned *group = llvm::find_if(
      loops[Depth], [&](unsigned loop) { return rowMask.group == dim(loop); });
  auto row = dyn_cast<AffineDimExpr>(rowMask.row);
  if (!rowMask.offsets || group == loops[Depth].end() ||
      loops[Depth].size() < 2 || !row ||
      llvm::is_contained(loops[Depth], row.getPosition()))
    return fail("expected a mask of rows that is summed over its groups"),
           false;
  int64_t count = op.getStaticLoopRanges()[*group] + rowMask.areStarts;
  auto type = cast<RankedTensorType>(rowMask.offsets.getType());
  if (type.getRank() != 1 || type.getDimSize(0) != count ||
      !(type.getElementType().isInteger(32) ||
        type.getElementType().isInteger(64)))
    return fail("expected offsets in {0} integers of 32 or 64 bits, but got "
                "{1}",
                count, print(type)),
           false;
  loops[Batch].push_back(*group);
  loops[Depth].erase(group);
  mask = rowMask;
  return true;
}

bool Matcher::splitFactors(const Product &product) {
  if (!product.mask)
    op.getReductionDims(loops[Depth]);
  else if (!takeMask(*product.mask))
    return false;
  ArrayRef<unsigned> reductions = loops[Depth];
  SmallVector<Factor> rows;
  for (const Factor &factor : product.factors) {
    bool isScale = isa<Float8E8M0FNUType>(factor.type) ||
                   (isa<Float8E4M3FNType>(factor.type) &&
                    !changes(factor, op.getNumLoops(), reductions.back(), 1));
    bool isRows = factor.isHalf() && usesAny(factor, reductions);
    SmallVector<Factor> &kind = isRows               ? rows
                                : !factor.isNarrow() ? globals
                                : isScale            ? scales
                                                     : codes;
    kind.push_back(factor);
  }
  for (const Factor &factor : globals) {
    if (usesAny(factor, reductions) || codes.size() + rows.size() < 2)
      return fail("expected two block-scaled operands, or one beside rows of "
                  "bf16 or f16, but got one of {0}",
                  print(factor.type)),
             false;
    if (!options.moveGlobalScales)
      return fail(kFurtherFactor), false;
  }
  if (codes.size() == 2 && scales.size() == 2 && rows.empty())
    return true;
  if (!rows.empty() && product.isRounded)
    return fail("expected rows of bf16 or f16 as they are, but got rounded "
                "ones"),
           false;
  hasPlainRows = codes.size() == 1 && scales.size() == 1 && rows.size() == 1;
  if (hasPlainRows) {
    codes.insert(codes.begin(), rows.front());
    return true;
  }
  if (codes.size() > 2)
    return fail("expected scales that 16 or 32 neighbours along K share, but "
                "got one that changes at each"),
           false;
  fail("expected codes and one block scale for each of two operands, or for "
       "one beside rows of bf16 or f16, but got {0} of codes and {1} of scales",
       codes.size(), scales.size());
  return false;
}

/// How many of the first loops of a result are over matrices of weights that
/// have their rows in common: weights, rows, weights. Puts the rows first.
size_t Matcher::countRepeats(ArrayRef<unsigned> outLoops) {
  if (groups || mask)
    return 0;
  SmallVector<bool> owners;
  SmallVector<size_t> starts;
  for (auto [i, loop] : llvm::enumerate(outLoops)) {
    bool second = uses(codes[1], loop);
    if (second == uses(codes[0], loop))
      return 0;
    if (owners.empty() || owners.back() != second)
      starts.push_back(i);
    owners.push_back(second);
  }
  if (starts.size() != 3 || (hasPlainRows && !owners.front()))
    return 0;
  if (!owners.front())
    std::swap(codes[0], codes[1]);
  return starts[1];
}

/// Rows are those of the operand whose loop comes first in the result.
bool Matcher::groupLoops() {
  AffineMap out = op.getMatchingIndexingMap(op.getDpsInitOperand(0));
  if (!out.isProjectedPermutation() ||
      out.getNumResults() != op.getNumParallelLoops())
    return fail("expected a result with one dimension for each parallel loop"),
           false;
  Dim last = Batch;
  bool isOrdered = true;
  SmallVector<unsigned> outLoops;
  for (AffineExpr expr : out.getResults())
    outLoops.push_back(cast<AffineDimExpr>(expr).getPosition());
  size_t repeats = countRepeats(outLoops);
  isRepeated = repeats > 0;
  for (unsigned loop : ArrayRef(outLoops).take_front(repeats))
    loops[Batch].push_back(loop);
  for (unsigned loop : ArrayRef(outLoops).drop_front(repeats)) {
    bool first = uses(codes[0], loop), second = uses(codes[1], loop);
    if (mask && first && second)
      return fail("expected a mask of rows of one product, but got a batch"),
             false;
    if (!first && !second)
      return fail("expected parallel loops over rows of an operand, but got "
                  "one that repeats the product"),
             false;
    if (second && !first && loops[Row].empty() && !hasPlainRows &&
        !isRepeated) {
      std::swap(codes[0], codes[1]);
      std::swap(first, second);
    }
    Dim kind = first && second ? Batch : first ? Row : Column;
    isOrdered &= kind >= last;
    last = kind;
    loops[kind].push_back(loop);
  }
  if (!isOrdered)
    return fail("expected a result of batch, rows and columns in this order"),
           false;
  if (mask && (loops[Row].size() != 1 || mask->row != dim(loops[Row][0])))
    return fail("expected a mask of the rows of the result"), false;

  SmallVector<int64_t> ranges = op.getStaticLoopRanges();
  replacements.assign(op.getNumLoops(), zero());
  for (unsigned kind = 0; kind < NumDims; ++kind) {
    int64_t inner = 1;
    for (unsigned loop : llvm::reverse(loops[kind])) {
      bool isOuter = loop == loops[kind].front();
      if (ShapedType::isDynamic(ranges[loop]) && (!isOuter || kind == Depth))
        return fail("expected extents that are known, except of the outermost "
                    "loops over batch, rows and columns"),
               false;
      AffineExpr index = dim(kind).floorDiv(inner);
      replacements[loop] = simplify(isOuter ? index : index % ranges[loop]);
      extents[kind] = ShapedType::isDynamic(ranges[loop])
                          ? ShapedType::kDynamic
                          : inner * ranges[loop];
      inner *= isOuter ? 1 : ranges[loop];
    }
    if (loops[kind].empty())
      extents[kind] = 1;
  }
  return true;
}

/// Puts the scale of codes[0] first.
bool Matcher::assignScales() {
  auto belongsTo = [&](const Factor &scale, Dim mine, Dim other) {
    return !usesAny(scale, loops[other]) &&
           (usesAny(scale, loops[mine]) || loops[mine].empty());
  };
  if (hasPlainRows) {
    if (belongsTo(scales[0], Column, Row))
      return true;
  } else {
    if (!belongsTo(scales[0], Row, Column))
      std::swap(scales[0], scales[1]);
    if (belongsTo(scales[0], Row, Column) && belongsTo(scales[1], Column, Row))
      return true;
  }
  fail("expected scales of their own for the rows of each operand");
  return false;
}

void Matcher::substitute(Factor &factor) {
  for (AffineExpr &index : factor.indices)
    index = simplify(index.replaceDims(replacements));
  if (factor.nibble)
    factor.nibble = simplify(factor.nibble.replaceDims(replacements));
}

/// How many neighbours along K share a scale, by doubling.
std::optional<int64_t> Matcher::findBlock(const Factor &scale) {
  for (int64_t k = 1; k < extents[Depth]; k *= 2)
    if (changes(scale, NumDims, Depth, k))
      return k;
  return extents[Depth];
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
Matcher::getMatrix(Dim row) {
  SmallVector<int64_t> shape = {extents[row], extents[Depth]};
  SmallVector<AffineExpr> target = {loops[row].empty() ? zero() : dim(row),
                                    dim(Depth)};
  bool isShared = groups || mask || isRepeated;
  if (isShared ? row == Column : !loops[Batch].empty()) {
    shape.insert(shape.begin(), extents[Batch]);
    target.insert(target.begin(), dim(Batch));
  }
  return {shape, target};
}

std::optional<RaisedOperand> Matcher::describeRows() {
  auto [shape, target] = getMatrix(Row);
  const Factor &rows = codes[0];
  std::optional<Arrangement> data =
      planArrangement(rows, slices, shape, target);
  if (!data)
    return fail("expected a matrix of rows and K, transposed or in parts, but "
                "got {0}",
                print(rows.source.getType()));
  RaisedOperand result;
  result.data = *data;
  return result;
}

std::optional<RaisedOperand> Matcher::describe(const Factor &code,
                                               const Factor &scale, Dim row) {
  int64_t block = *findBlock(scale);
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
    if (code.nibble != simplify(dim(Depth) % 2))
      return fail("expected the even index of K in the low nibble");
    shape.back() = depth / 2;
    target.back() = dim(Depth).floorDiv(2);
  }
  std::optional<Arrangement> data =
      planArrangement(code, slices, shape, target);
  if (!data)
    return fail("expected codes that are a matrix of rows and K, transposed or "
                "in parts, but got {0}",
                print(code.source.getType()));
  shape.back() = llvm::divideCeil(depth, block);
  target.back() = dim(Depth).floorDiv(block);
  if (shape.back() == 1)
    target.back() = zero();
  std::optional<Arrangement> arranged =
      planArrangement(scale, slices, shape, target);
  if (!arranged)
    return fail("expected scales that are a matrix of rows and blocks, "
                "transposed or in parts, but got {0}",
                print(scale.source.getType()));
  result.data = *data;
  result.scales = *arranged;
  return result;
}

/// What a step of the loop reads as an element is one of the tensor, with the
/// number of the group.
void Matcher::leaveLoopByElement(Factor &factor) {
  auto extract = factor.source.getDefiningOp<tensor::ExtractOp>();
  if (!extract || !factor.indices.empty() ||
      groups->loop.isDefinedOutsideOfLoop(factor.source))
    return;
  factor.source = extract.getTensor();
  for (Value index : extract.getIndices()) {
    std::optional<int64_t> constant = getConstantIntValue(index);
    // Anything else is refused below, as an index of no slice.
    factor.indices.push_back(
        constant ? getAffineConstantExpr(*constant, context)
                 : dim(groups->isNumber(index) ? unsigned(Batch) : Depth));
  }
}

/// Indices of a slice of this step become those of the whole tensor.
bool Matcher::leaveLoop(Factor &factor, bool isOfRows) {
  bool hasRows = false, hasGroup = false;
  for (AffineExpr &index : factor.indices) {
    auto split = splitSlice(index, slices.size());
    if (!split)
      return false;
    auto [slice, within] = *split;
    if (slice < 0)
      continue;
    if (isOfRows && groups->isRows(slices[slice]) && within == dim(Row)) {
      index = within;
      hasRows = true;
    } else if (!isOfRows && groups->isGroup(slices[slice]) &&
               within == zero()) {
      index = dim(Batch);
      hasGroup = true;
    } else {
      return false;
    }
  }
  return groups->loop.isDefinedOutsideOfLoop(factor.source) &&
         (isOfRows ? hasRows : hasGroup);
}

/// Rows are those of all groups, and weights one matrix for each.
bool Matcher::leaveLoop() {
  if (!loops[Batch].empty() || loops[Row].size() != 1)
    return false;
  auto type =
      cast<RankedTensorType>(groups->loop.getResult(groups->result).getType());
  extents[Row] = type.getDimSize(0);
  extents[Batch] = groups->count;
  for (Factor &factor : globals) {
    leaveLoopByElement(factor);
    // One number for all groups needs no slice.
    bool isShared = llvm::all_of(factor.indices, [&](AffineExpr index) {
      return isa<AffineConstantExpr>(index) || index == dim(Batch);
    });
    if (isShared ? !groups->loop.isDefinedOutsideOfLoop(factor.source)
                 : !leaveLoop(factor, /*isOfRows=*/false))
      return false;
  }
  return leaveLoop(codes[0], /*isOfRows=*/true) &&
         (hasPlainRows || leaveLoop(scales[0], /*isOfRows=*/true)) &&
         leaveLoop(codes[1], /*isOfRows=*/false) &&
         leaveLoop(scales.back(), /*isOfRows=*/false);
}

/// True if the destination is zero before the sum.
static bool isZeroFilled(Value value) {
  if (auto fill = value.getDefiningOp<linalg::FillOp>())
    return matchPattern(fill.value(), m_AnyZeroFloat());
  return matchPattern(value, m_AnyZeroFloat());
}

std::optional<ScaledContraction> Matcher::match() {
  std::optional<Product> product = traceProduct();
  if (!product || !splitFactors(*product) || !groupLoops() || !assignScales())
    return std::nullopt;
  for (Factor &factor : llvm::concat<Factor>(codes, scales, globals))
    substitute(factor);
  if (groups && !leaveLoop())
    return fail("expected slices of the rows of a group and of one matrix of "
                "weights a group, of tensors outside the loop");
  for (const Factor &factor : globals)
    if (uses(factor, Row) || uses(factor, Column) || uses(factor, Depth) ||
        llvm::any_of(factor.indices, [&](AffineExpr index) {
          auto split = splitSlice(index, slices.size());
          return !split || split->first >= 0;
        }))
      return fail("expected further factors to be one number a matrix, but got "
                  "one of {0}",
                  print(factor.source.getType()));

  ScaledContraction result;
  std::optional<RaisedOperand> lhs =
      hasPlainRows ? describeRows() : describe(codes[0], scales[0], Row);
  std::optional<RaisedOperand> rhs =
      lhs ? describe(codes[1], scales.back(), Column) : std::nullopt;
  if (!lhs || !rhs)
    return std::nullopt;
  if (lhs->type && (lhs->type.getBlockSize() != rhs->type.getBlockSize() ||
                    lhs->scaleType != rhs->scaleType))
    return fail("expected one block size and one type of scales, but got {0} "
                "and {1}",
                print(lhs->type), print(rhs->type));
  if (isRepeated) {
    if (ShapedType::isDynamic(extents[Batch]))
      return fail("expected a known number of matrices that share their rows");
    lhs->repeat = extents[Batch];
    if (lhs->type)
      lhs->type = ScaledType::get(
          context, {extents[Batch], extents[Row], extents[Depth]},
          lhs->type.getFormat());
  }
  result.lhs = *lhs;
  result.rhs = *rhs;
  result.kind = groups || mask         ? GroupingKind::RaggedRows
                : loops[Batch].empty() ? GroupingKind::Dense
                                       : GroupingKind::Batched;
  if (mask) {
    result.offsets = mask->offsets;
    result.offsetsKind =
        mask->areStarts ? OffsetsKind::Starts : OffsetsKind::Ends;
  }
  result.count = extents[Batch];
  if (result.kind == GroupingKind::Batched)
    result.outShape.push_back(extents[Batch]);
  llvm::append_values(result.outShape, extents[Row], extents[Column]);
  ArrayRef<int64_t> inner = ArrayRef(result.outShape).drop_front();
  ArrayRef<int64_t> own =
      cast<RankedTensorType>(op.getDpsInitOperand(0)->get().getType())
          .getShape();
  if (own.size() != result.outShape.size() && ShapedType::isDynamicShape(inner))
    return fail("expected a result whose inner extents are known");
  result.globals = std::move(globals);
  result.readsDestination = !isZeroFilled(op.getDpsInitOperand(0)->get());
  if (groups && result.readsDestination != groups->readsDestination)
    return fail("expected sums that start from zero or from the destination");
  return result;
}

std::optional<ScaledContraction>
nvfp4::gsg::matchContraction(linalg::LinalgOp op, const RaiseOptions &options,
                             std::string &reason) {
  reason.clear();
  return Matcher(op, /*groups=*/nullptr, options, reason).match();
}

std::optional<ScaledContraction>
nvfp4::gsg::matchContraction(const GroupLoop &groups,
                             const RaiseOptions &options, std::string &reason) {
  reason.clear();
  return Matcher(groups.contraction, &groups, options, reason).match();
}
