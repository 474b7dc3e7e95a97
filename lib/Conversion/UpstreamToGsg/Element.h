//===- Element.h - Where an element of a tensor comes from ------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Follows one element of a tensor, at indices that are affine expressions of
// loops, back to the arithmetic that computes it. Reshapes, transpositions,
// broadcasts and bodies of linalg become arithmetic on indices, so that all
// spellings of a computation look the same.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_LIB_CONVERSION_UPSTREAMTOGSG_ELEMENT_H
#define NVFP4_LIB_CONVERSION_UPSTREAMTOGSG_ELEMENT_H

#include "Expression.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

namespace nvfp4::gsg {

/// Symbols of indices are slices, and then numbers that are looked up.
inline constexpr unsigned kMaxSlices = 64;
inline constexpr unsigned kMaxLookups = 8;
inline constexpr unsigned kMaxSymbols = kMaxSlices + kMaxLookups;

/// A dimension of a `tensor.extract_slice`: an index `d0 + s0` is element d0 of
/// slice 0.
struct Slice {
  mlir::OpFoldResult offset, size;
};

/// An element, or a scalar, next to what computes it.
struct Element {
  /// A tensor, whose element at `indices` it is; or a scalar, which with
  /// `owner` is in the body of that operation, whose loops `indices` are.
  mlir::Value value;
  mutable mlir::linalg::LinalgOp owner;
  Indices indices;
  /// The last tensor on the way here, and the place in it; null if there was
  /// none.
  mlir::Value tensor;
  Indices place;

  /// The operation of arith, math, or in a body of linalg or tensor that
  /// computes it; null if it is read from `tensor`, a constant, or a scalar
  /// from outside.
  mlir::Operation *getOp() const;
  /// Type of the element.
  mlir::Type getType() const {
    return mlir::getElementTypeOrSelf(value.getType());
  }
};

/// Which slices of tensors are looked behind.
enum class Slices {
  /// None but those that a product asks for.
  OfProducts,
  /// All.
  All,
};

/// Walks from elements to what computes them. All elements that it gives are
/// behind all that only moves them.
class ElementWalker {
public:
  /// `allowLookups`: elements that are looked up are those of what they are
  /// looked up in; else of a tensor like any other.
  ElementWalker(mlir::MLIRContext *context, Slices behind, bool allowLookups)
      : context(context), behind(behind), allowLookups(allowLookups) {}

  /// The scalar `value` in the body of `op` with loop i at `loops[i]`.
  Element getScalar(mlir::Value value, mlir::linalg::LinalgOp op,
                    llvm::ArrayRef<mlir::AffineExpr> loops);
  /// The element of `tensor` at `indices`.
  Element getElement(mlir::Value tensor, Indices indices);
  /// Operand `i` of what computes `element`.
  Element getOperand(const Element &element, unsigned i);

  /// The value of an integer or index as an affine expression; null if it is
  /// none, or is computed in less than `minWidth` bits.
  mlir::AffineExpr getAffine(const Element &element, unsigned minWidth = 0);
  /// The integer as an expression of elements; null if it is none.
  ExpressionRef getNumber(const Element &element);

  /// What the symbols of indices mean.
  llvm::ArrayRef<Slice> getSlices() const { return slices; }
  /// The symbols from kMaxSlices on.
  llvm::ArrayRef<ExpressionRef> getLookups() const { return lookups; }

protected:
  /// The element of the source of a slice that has `element`; nothing if that
  /// is no slice, or one that skips elements.
  std::optional<Element> enterSlice(const Element &element);
  /// False if too much has been looked at. The graphs of dequantisation have
  /// some ten operations; values that are used more than once make more of
  /// them.
  bool countStep() { return ++steps < kMaxSteps; }

  mlir::MLIRContext *context;

private:
  /// Takes `element` to what computes it.
  void settle(Element &element);
  /// Follows movements of whole elements of tensors.
  bool peel(mlir::Value &tensor, Indices &indices);
  bool peelSlice(mlir::tensor::ExtractSliceOp op, mlir::Value &tensor,
                 Indices &indices);
  /// Goes on to the tensor that a scalar is looked up in.
  bool enterLookup(Element &element);
  /// The same of the slices that a tensor consists of.
  bool enterGather(mlir::tensor::GatherOp gather, mlir::Value &tensor,
                   Indices &indices);
  ExpressionRef getComputedNumber(const Element &element);
  /// The symbol that stands for `number`; null if it is the same everywhere.
  mlir::AffineExpr getLookup(ExpressionRef number);

  Slices behind;
  bool allowLookups;
  llvm::SmallVector<Slice> slices;
  llvm::SmallVector<ExpressionRef> lookups;
  static constexpr unsigned kMaxSteps = 1000;
  unsigned steps = 0;
};

/// Simplifies an expression over any number of dimensions and slices.
mlir::AffineExpr simplify(mlir::AffineExpr expr);

/// Simplifies an expression of which dimension i is in `[0, extents[i])`.
/// Dynamic extents, and those of dimensions after the last, have no bound.
mlir::AffineExpr simplify(mlir::AffineExpr expr,
                          llvm::ArrayRef<int64_t> extents);

/// True if the number of elements of a tensor of this type fits i64, as well as
/// that of each part of its dimensions. Indices then do not overflow.
bool isCountable(mlir::Type type);

/// Why another tensor is refused.
inline constexpr char kUncountable[] =
    "expected tensors of fewer than 2^63 elements, but got {0}";

/// True if the loops of `op` are those of its first result, in any order.
bool isElementwise(mlir::linalg::LinalgOp op);

} // namespace nvfp4::gsg

#endif // NVFP4_LIB_CONVERSION_UPSTREAMTOGSG_ELEMENT_H
