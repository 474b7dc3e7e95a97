//===- CheckForm.cpp - What a verifier would check --------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Nothing has verified operations of dialects that are not there: the number of
// operands, results and regions, and numbers of dimensions.
//
//===----------------------------------------------------------------------===//

#include "HloOp.h"

#include "mlir/IR/TypeUtilities.h"

#include "llvm/ADT/SmallBitVector.h"

using namespace mlir;
using namespace nvfp4::hlo;

using List = ArrayRef<int64_t>;

/// True for different numbers of dimensions of a tensor of this rank.
static bool areDims(List dims, int64_t rank) {
  llvm::SmallBitVector seen(rank);
  return llvm::all_of(dims, [&](int64_t dim) {
    bool isNew = dim >= 0 && dim < rank && !seen.test(dim);
    if (isNew)
      seen.set(dim);
    return isNew;
  });
}

static bool isDim(int64_t dim, int64_t rank) { return dim >= 0 && dim < rank; }

/// True if `sizes` are not negative and not above the extents.
static bool fitInto(List sizes, List extents) {
  return sizes.size() == extents.size() &&
         llvm::all_of(llvm::zip_equal(sizes, extents), [](auto pair) {
           return std::get<0>(pair) >= 0 &&
                  std::get<0>(pair) <= std::get<1>(pair);
         });
}

static bool arePositive(List list) {
  return llvm::all_of(list, [](int64_t value) { return value > 0; });
}

namespace {

/// The types of an operation whose operands and results are tensors.
class FormCheck {
public:
  explicit FormCheck(Operation *op) : op(op), hlo(op, op->getOperands()) {}

  bool check() const;

private:
  List shape(unsigned i) const {
    return cast<RankedTensorType>(op->getOperand(i).getType()).getShape();
  }
  List result(unsigned i = 0) const {
    return cast<RankedTensorType>(op->getResult(i).getType()).getShape();
  }
  int64_t rank(unsigned i) const { return shape(i).size(); }
  int64_t resultRank() const { return result().size(); }
  bool has(unsigned operands, unsigned results = 1,
           unsigned regions = 0) const {
    return op->getNumOperands() == operands && op->getNumResults() == results &&
           op->getNumRegions() == regions &&
           llvm::all_of(op->getRegions(),
                        [](Region &region) { return !region.empty(); });
  }
  /// Operands of one shape, then one scalar for each.
  bool isReduction() const {
    unsigned count = op->getNumResults();
    if (count == 0 || !has(2 * count, count, 1))
      return false;
    for (unsigned i = 0; i < count; ++i)
      if (shape(i) != shape(0) || rank(count + i) != 0 ||
          result(i) != result(0))
        return false;
    return true;
  }
  bool isBroadcast() const;
  bool isWindow() const;
  bool isDot() const;
  bool isBitcast() const;
  bool isReduce() const;
  /// `sizes`: the extents of `source` that a window may have.
  bool isIndexed(StringRef numbers, List loops, List source, List sizes,
                 List indices, StringRef windowField, StringRef noWindowField,
                 StringRef batchField, StringRef indicesBatchField,
                 StringRef indexedField) const;

  Operation *op;
  HloOp hlo;
};

} // namespace

bool FormCheck::isBroadcast() const {
  SmallVector<int64_t> dims = hlo.getIntegers("broadcast_dimensions");
  if (!has(1) || dims.size() != shape(0).size() || !areDims(dims, resultRank()))
    return false;
  return llvm::all_of(llvm::zip_equal(dims, shape(0)), [&](auto pair) {
    auto [dim, extent] = pair;
    return extent == 1 || extent == result()[dim];
  });
}

bool FormCheck::isWindow() const {
  size_t dims = isReduction() ? rank(0) : 0;
  auto fits = [&](StringRef name, size_t count, bool isOptional) {
    SmallVector<int64_t> list = hlo.getIntegers(name);
    return (isOptional && list.empty()) || list.size() == count;
  };
  return dims && result().size() == dims &&
         fits("window_dimensions", dims, false) &&
         fits("window_strides", dims, true) &&
         fits("window_dilations", dims, true) &&
         fits("padding", 2 * dims, true) &&
         arePositive(hlo.getIntegers("window_dimensions")) &&
         arePositive(hlo.getIntegers("window_strides")) &&
         arePositive(hlo.getIntegers("window_dilations"));
}

bool FormCheck::isDot() const {
  constexpr StringLiteral kNumbers = "dot_dimension_numbers";
  if (!has(2))
    return false;
  SmallVector<int64_t> lhs =
                           hlo.getIntegers(kNumbers, "lhs_batching_dimensions"),
                       rhs =
                           hlo.getIntegers(kNumbers, "rhs_batching_dimensions");
  size_t numBatch = lhs.size();
  if (rhs.size() != numBatch)
    return false;
  llvm::append_range(lhs,
                     hlo.getIntegers(kNumbers, "lhs_contracting_dimensions"));
  llvm::append_range(rhs,
                     hlo.getIntegers(kNumbers, "rhs_contracting_dimensions"));
  if (lhs.size() != rhs.size() || !areDims(lhs, rank(0)) ||
      !areDims(rhs, rank(1)))
    return false;
  size_t free = rank(0) - lhs.size() + rank(1) - rhs.size();
  return result().size() == numBatch + free &&
         llvm::all_of(llvm::zip_equal(lhs, rhs), [&](auto pair) {
           return shape(0)[std::get<0>(pair)] == shape(1)[std::get<1>(pair)];
         });
}

/// Elements of one width, or a last dimension of the parts of the wider ones.
bool FormCheck::isBitcast() const {
  if (!has(1))
    return false;
  int64_t from = getElementTypeOrSelf(op->getOperand(0).getType())
                     .getIntOrFloatBitWidth(),
          to = getElementTypeOrSelf(op->getResult(0).getType())
                   .getIntOrFloatBitWidth();
  if (from == to)
    return shape(0) == result();
  List whole = from > to ? shape(0) : result(),
       parts = from > to ? result() : shape(0);
  return !parts.empty() && parts.drop_back() == whole &&
         parts.back() * std::min(from, to) == std::max(from, to);
}

bool FormCheck::isReduce() const {
  SmallVector<int64_t> dims = hlo.getIntegers("dimensions");
  if (!isReduction() || !areDims(dims, rank(0)))
    return false;
  SmallVector<int64_t> kept;
  for (auto [dim, extent] : llvm::enumerate(shape(0)))
    if (!llvm::is_contained(dims, dim))
      kept.push_back(extent);
  return result() == List(kept);
}

bool FormCheck::isIndexed(StringRef numbers, List loops, List source,
                          List sizes, List indices, StringRef windowField,
                          StringRef noWindowField, StringRef batchField,
                          StringRef indicesBatchField,
                          StringRef indexedField) const {
  SmallVector<int64_t> window = hlo.getIntegers(numbers, windowField),
                       noWindow = hlo.getIntegers(numbers, noWindowField),
                       batch = hlo.getIntegers(numbers, batchField),
                       indicesBatch =
                           hlo.getIntegers(numbers, indicesBatchField),
                       indexed = hlo.getIntegers(numbers, indexedField);
  int64_t vectorDim = hlo.getInteger(numbers, "index_vector_dim", 0);
  int64_t indicesRank = indices.size();
  if (vectorDim < 0 || vectorDim > indicesRank)
    return false;
  bool isVector = vectorDim < indicesRank;
  size_t numIndexed = isVector ? indices[vectorDim] : 1;
  SmallVector<int64_t> without(noWindow);
  llvm::append_range(without, batch);
  if (!areDims(window, loops.size()) || !areDims(without, source.size()) ||
      !areDims(indexed, source.size()) || !areDims(indicesBatch, indicesRank) ||
      llvm::is_contained(indicesBatch, vectorDim) ||
      indicesBatch.size() != batch.size() || indexed.size() != numIndexed ||
      window.size() + without.size() != source.size())
    return false;
  // Extents of a window, those of the other loops, and of matrices of a batch.
  SmallVector<int64_t> extents, most, others, vectors(indices);
  for (int64_t loop : window)
    extents.push_back(loops[loop]);
  for (auto [dim, size] : llvm::enumerate(sizes))
    if (!llvm::is_contained(without, dim))
      most.push_back(size);
  for (auto [loop, extent] : llvm::enumerate(loops))
    if (!llvm::is_contained(window, loop))
      others.push_back(extent);
  if (isVector)
    vectors.erase(vectors.begin() + vectorDim);
  return fitInto(extents, most) && others == vectors &&
         llvm::all_of(llvm::zip_equal(batch, indicesBatch), [&](auto pair) {
           return source[std::get<0>(pair)] == indices[std::get<1>(pair)];
         });
}

bool FormCheck::check() const {
  StringRef name = hlo.getName();
  if (unsigned count = getNumElementOperands(name))
    return has(count) && llvm::all_of(op->getOperandTypes(), [&](Type type) {
             List operand = cast<RankedTensorType>(type).getShape();
             return operand.empty() || operand == result();
           });
  name.consume_front("stablehlo.");
  if (name == "composite")
    return op->getNumResults() && op->getNumRegions() == 0 &&
           (!isRaggedComposite(op) || has(3));
  if (name == "constant") {
    auto value = op->getAttrOfType<TypedAttr>("value");
    return has(0) && value && value.getType() == op->getResult(0).getType();
  }
  if (name == "iota")
    return has(0) && isDim(hlo.getInteger("iota_dimension", -1), resultRank());
  if (name == "broadcast_in_dim")
    return isBroadcast();
  if (name == "reshape")
    return has(1) && ShapedType::getNumElements(shape(0)) ==
                         ShapedType::getNumElements(result());
  if (name == "bitcast_convert")
    return isBitcast();
  if (name == "transpose") {
    SmallVector<int64_t> order = hlo.getIntegers("permutation");
    return has(1) && resultRank() == rank(0) &&
           order.size() == shape(0).size() && areDims(order, rank(0));
  }
  if (name == "slice")
    return has(1) && resultRank() == rank(0) &&
           fitInto(hlo.getIntegers("start_indices"), shape(0)) &&
           fitInto(hlo.getIntegers("limit_indices"), shape(0)) &&
           hlo.getIntegers("strides").size() == shape(0).size() &&
           arePositive(hlo.getIntegers("strides"));
  if (name == "concatenate")
    return op->getNumOperands() && op->getNumResults() == 1 &&
           isDim(hlo.getInteger("dimension", -1), resultRank()) &&
           llvm::all_of(op->getOperandTypes(), [&](Type type) {
             return cast<RankedTensorType>(type).getRank() == resultRank();
           });
  if (name == "pad")
    return has(2) && rank(1) == 0 && resultRank() == rank(0) &&
           hlo.getIntegers("edge_padding_low").size() == shape(0).size() &&
           hlo.getIntegers("edge_padding_high").size() == shape(0).size();
  if (name == "dynamic_slice" || name == "dynamic_update_slice") {
    unsigned first = name == "dynamic_slice" ? 1 : 2;
    if (op->getNumOperands() < first || op->getNumResults() != 1 ||
        op->getNumOperands() != first + rank(0) ||
        !fitInto(first == 1 ? result() : shape(1), shape(0)))
      return false;
    return llvm::all_of(llvm::drop_begin(op->getOperandTypes(), first),
                        [](Type type) {
                          return cast<RankedTensorType>(type).getRank() == 0 &&
                                 isa<IntegerType>(getElementTypeOrSelf(type));
                        });
  }
  if (name == "optimization_barrier")
    return op->getNumOperands() &&
           op->getOperandTypes() == op->getResultTypes();
  if (name == "dot_general")
    return isDot();
  if (name == "chlo.ragged_dot")
    return has(3);
  if (name == "reduce")
    return isReduce();
  if (name == "reduce_window")
    return isWindow();
  if (name == "gather")
    return has(2) && fitInto(hlo.getIntegers("slice_sizes"), shape(0)) &&
           isIndexed("dimension_numbers", result(), shape(0),
                     hlo.getIntegers("slice_sizes"), shape(1), "offset_dims",
                     "collapsed_slice_dims", "operand_batching_dims",
                     "start_indices_batching_dims", "start_index_map");
  if (name == "scatter")
    return has(3, 1, 1) &&
           isIndexed("scatter_dimension_numbers", shape(2), shape(0), shape(0),
                     shape(1), "update_window_dims", "inserted_window_dims",
                     "input_batching_dims", "scatter_indices_batching_dims",
                     "scatter_dims_to_operand_dims");
  if (name == "sort") {
    int64_t dim = hlo.getInteger("dimension", -1);
    unsigned count = op->getNumOperands();
    return count && has(count, count, 1) && dim >= -rank(0) && dim < rank(0) &&
           op->getOperandTypes() == op->getResultTypes() &&
           llvm::all_of(
               op->getOperandTypes(),
               [&](Type type) {
                 return cast<RankedTensorType>(type).getShape() == shape(0);
               });
  }
  if (name == "chlo.top_k")
    return has(1, 2) && rank(0) && fitInto(result(), shape(0)) &&
           result(1) == result();
  return op->getNumResults() > 0;
}

bool nvfp4::hlo::hasForm(Operation *op) { return FormCheck(op).check(); }
