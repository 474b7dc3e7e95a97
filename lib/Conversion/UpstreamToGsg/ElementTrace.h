//===- ElementTrace.h - What an element is the product of -------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Follows one element of a tensor, at indices that are affine expressions of
// loops, back to the tensors that it is the product of. Reshapes,
// transpositions and broadcasts become arithmetic on indices, so that all
// spellings of a dequantisation look the same.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_LIB_CONVERSION_UPSTREAMTOGSG_ELEMENTTRACE_H
#define NVFP4_LIB_CONVERSION_UPSTREAMTOGSG_ELEMENTTRACE_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/AffineExpr.h"

namespace mlir::tosa {
class CastFromBlockScaledOp;
} // namespace mlir::tosa

namespace nvfp4::gsg {

/// What an element is multiplied by: an element of a tensor, or a scalar.
struct Factor {
  mlir::Value source;
  /// One index for each dimension of `source`.
  llvm::SmallVector<mlir::AffineExpr> indices;
  /// What the bits mean. `source` holds it, or i8 of the same bits, or, with
  /// `nibble`, i8 of two.
  mlir::Type type;
  /// 0 for the low four bits of a byte, 1 for the high ones; null if `source`
  /// holds whole elements.
  mlir::AffineExpr nibble;
  /// The element is divided by it.
  bool isDivisor = false;

  /// True for the types of codes and scales.
  bool isNarrow() const;
  /// True for bf16 and f16, the types of rows without scales.
  bool isHalf() const;
};

/// Symbols of indices are slices, and then numbers that are looked up.
inline constexpr unsigned kMaxSlices = 64;
inline constexpr unsigned kMaxLookups = 8;
inline constexpr unsigned kMaxSymbols = kMaxSlices + kMaxLookups;

/// A dimension of a `tensor.extract_slice`: an index `d0 + s0` is element d0 of
/// slice 0.
struct Slice {
  mlir::OpFoldResult offset, size;
};

/// An integer that is computed from elements of tensors, such as the expert of
/// a token.
struct Number {
  /// What computes it from `operands`; null for a leaf.
  mlir::Operation *op = nullptr;
  std::vector<Number> operands;
  /// Leaves: a constant, an index, or what `source` has at `indices`.
  mlir::Attribute constant;
  mlir::AffineExpr index;
  mlir::Value source;
  llvm::SmallVector<mlir::AffineExpr> indices;

  /// Calls `function` on each affine expression.
  void walk(llvm::function_ref<void(mlir::AffineExpr &)> function);
  /// True if it depends on the loop.
  bool uses(unsigned loop) const;
  /// True if `function` is true of all values that it is read from.
  bool allSources(llvm::function_ref<bool(mlir::Value)> function) const;
  bool operator==(const Number &other) const;
};

/// A product counts where `row` is a row of group `group` and is zero
/// elsewhere.
struct RowMask {
  /// One-dimensional offsets: of G groups the ends, or with `areStarts` the
  /// starts and the end of the last.
  mlir::Value offsets;
  bool areStarts = false;
  mlir::AffineExpr row, group;
  /// Or, without offsets and `row`, the group of a row. Neither is known of a
  /// product of two masks.
  std::optional<Number> expert;
};

/// A product of factors, and what a type needs to hold every value of it.
struct Product {
  llvm::SmallVector<Factor> factors;
  std::optional<RowMask> mask;
  /// Bits of the significand.
  unsigned bits = 1;
  /// Values are multiples of 2^unit and below 2^limit.
  int unit = 0;
  int limit = 1;
  /// True if a factor is a scale in E8M0, whose range is that of f32.
  bool hasPowerScale = false;
  /// True if a factor is a number whose products are not accounted for.
  bool hasPlain = false;
  /// True if numbers other than codes and scales became ones of fewer bits.
  bool isRounded = false;

  bool isNarrow() const;
};

/// Why a factor that is neither code nor scale is refused.
inline constexpr char kFurtherFactor[] =
    "expected products of codes, block scales and rows of bf16 or f16 alone, "
    "but got a further factor; move-global-scales takes one that is one number "
    "a matrix";

/// Why a tensor is refused.
inline constexpr char kUncountable[] =
    "expected tensors of fewer than 2^63 elements, but got {0}";

/// Which slices of tensors a trace looks behind.
enum class Slices {
  /// Those of values that are computed of codes and scales.
  OfProducts,
  /// All.
  All,
};

/// Traces elements; keeps the reason of the first failure.
class ElementTrace {
public:
  /// `allowPlain`: products in f32 with numbers of any size are not rounding
  /// errors to this trace.
  /// `allowLookups`: elements that are looked up are those of what they are
  /// looked up in; else of a tensor like any other.
  /// `allowHalves`: f4E2M1FN is followed into halves of bytes.
  ElementTrace(mlir::MLIRContext *context, bool allowPlain, Slices behind,
               bool allowLookups, bool allowHalves)
      : context(context), allowPlain(allowPlain), behind(behind),
        allowLookups(allowLookups), allowHalves(allowHalves) {}

  /// The element that a scalar in the body of `op` is, with loop i of `op` at
  /// `loops[i]`. Nothing if it is no product, or not exactly: see `reason`.
  std::optional<Product> traceScalar(mlir::Value value,
                                     mlir::linalg::LinalgOp op,
                                     llvm::ArrayRef<mlir::AffineExpr> loops);

  /// Why an intermediate value is not the exact product; empty if each is.
  const std::string &getReason() const { return reason; }
  /// What made numbers like any others of codes and scales; empty if nothing
  /// did.
  const std::string &getLoss() const { return loss; }

  /// What the symbols of indices mean.
  llvm::ArrayRef<Slice> getSlices() const { return slices; }
  /// The symbols from kMaxSlices on.
  llvm::ArrayRef<Number> getLookups() const { return lookups; }

private:
  using Indices = llvm::SmallVector<mlir::AffineExpr>;

  /// An element of the tensor `value`, or with `owner` a scalar in its body,
  /// where `indices` are its loops.
  struct Scalar {
    mlir::Value value;
    mutable mlir::linalg::LinalgOp owner;
    Indices indices;

    /// What computes it here; null for a leaf.
    mlir::Operation *getComputation() const;
    Scalar operand(mlir::Operation *op, unsigned i) const {
      return {op->getOperand(i), owner, indices};
    }
  };

  /// Bits `shift` and up of a byte. The low `width` bits of the value are
  /// those; its others are zero if it is exact. `offset` has been added.
  struct Bits {
    mlir::Value source;
    Indices indices;
    mlir::AffineExpr shift;
    unsigned width = 8;
    bool isExact = true;
    int64_t offset = 0;

    bool isByte() const;
    bool isNibble() const { return width == 4 && isExact && !offset; }
  };

  using OperandTrace = llvm::function_ref<std::optional<Product>(mlir::Value)>;

  std::optional<Product> traceTensor(mlir::Value tensor, Indices indices);
  std::optional<Product> traceArith(mlir::Operation *op, OperandTrace operand);
  /// Keeps that `op`, which no product is made of, computes with codes or
  /// scales.
  void noteLoss(mlir::Operation *op, OperandTrace operand);
  std::optional<Product> traceComputed(const Scalar &scalar,
                                       OperandTrace operand);
  std::optional<Product> traceMasked(const Scalar &select,
                                     OperandTrace operand);
  std::optional<Product> traceCast(mlir::tosa::CastFromBlockScaledOp op,
                                   llvm::ArrayRef<mlir::AffineExpr> indices);
  std::optional<Product> traceInterleaved(mlir::Operation *op,
                                          llvm::ArrayRef<mlir::AffineExpr>);
  /// Codes and scales that are decoded from bytes, in one of several ways.
  std::optional<Product> traceDecoded(const Scalar &scalar);
  std::optional<Product> traceTable(const Scalar &scalar);
  std::optional<Product> traceBitcast(const Scalar &scalar);
  std::optional<Product> tracePower(const Scalar &scalar);
  /// 1 where a row belongs to a group and 0 elsewhere.
  std::optional<Product> traceOneHot(const Scalar &scalar);
  std::optional<Product> leaf(const Bits &bits, mlir::Type type);
  std::optional<Bits> traceBits(Scalar scalar);
  std::optional<Bits> traceBitsOf(const Scalar &scalar, mlir::Operation *op);
  std::optional<RowMask> traceMask(Scalar condition);
  std::optional<RowMask> traceRange(const Scalar &condition);
  std::optional<RowMask> traceChoice(const Scalar &condition);
  /// The tensor and the index of an element of a vector of integers.
  std::optional<std::pair<mlir::Value, mlir::AffineExpr>>
  traceOffset(Scalar scalar);
  /// True if `starts` is zero and then `ends` but for the last.
  bool areStartsOf(mlir::Value starts, mlir::Value ends);
  /// Follows a scalar through tensors to what computes it. `element` becomes
  /// the last tensor on the way.
  void settle(Scalar &scalar, Scalar *element = nullptr);
  /// Goes on to the tensor that a scalar is looked up in.
  bool enterLookup(Scalar &scalar);
  /// The same of the slices that a tensor consists of.
  bool enterGather(mlir::Value &tensor, Indices &indices);
  std::optional<Number> traceNumber(Scalar scalar);
  std::optional<Number> traceNumberOf(const Scalar &scalar);
  /// The symbol that stands for `number`; null if it is the same everywhere.
  mlir::AffineExpr getLookup(Number number);
  /// Indices of the source of a slice at which it has `indices`; nothing if it
  /// skips elements.
  std::optional<Indices> enterSlice(mlir::tensor::ExtractSliceOp op,
                                    llvm::ArrayRef<mlir::AffineExpr> indices);
  /// Follows movements of whole elements.
  void peel(mlir::Value &tensor, Indices &indices);
  bool peelOnce(mlir::Value &tensor, Indices &indices);
  Product measure(mlir::Type type) const;
  std::optional<Product> leaf(mlir::Value source, Indices indices,
                              mlir::Type type);
  std::optional<Product> fit(std::optional<Product> product, mlir::Type type);
  /// Null if it is computed in less than `minWidth` bits.
  mlir::AffineExpr getAffine(Scalar scalar, unsigned minWidth = 0);

  mlir::MLIRContext *context;
  bool allowPlain;
  Slices behind;
  bool allowLookups;
  bool allowHalves;
  llvm::SmallVector<Slice> slices;
  llvm::SmallVector<Number> lookups;
  std::string reason;
  std::string loss;
  bool isNotingLoss = false;
  bool isBetweenHalves = false;
  /// Bounds the work on graphs that use values more than once. Those of
  /// dequantisation have some ten operations.
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

/// True if the loops of `op` are those of its first result, in any order.
bool isElementwise(mlir::linalg::LinalgOp op);

/// The indices of the loops of `op`, which is elementwise, at an element of its
/// result.
llvm::SmallVector<mlir::AffineExpr>
getLoops(mlir::linalg::LinalgOp op, llvm::ArrayRef<mlir::AffineExpr> indices);

/// The results of `map` where its dimensions are `loops`.
llvm::SmallVector<mlir::AffineExpr>
mapIndices(mlir::AffineMap map, llvm::ArrayRef<mlir::AffineExpr> loops);

} // namespace nvfp4::gsg

#endif // NVFP4_LIB_CONVERSION_UPSTREAMTOGSG_ELEMENTTRACE_H
