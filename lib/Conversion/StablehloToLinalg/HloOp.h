//===- HloOp.h - Operations of dialects that are not there ------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The dialects of StableHLO and CHLO need not be registered: an operation is
// known by its name, and an attribute of theirs by its text.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_LIB_CONVERSION_STABLEHLOTOLINALG_HLOOP_H
#define NVFP4_LIB_CONVERSION_STABLEHLOTOLINALG_HLOOP_H

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

#include "llvm/ADT/StringMap.h"
#include "llvm/Support/FormatVariadic.h"

namespace nvfp4::hlo {

using LocBuilder = mlir::ImplicitLocOpBuilder;

/// `type`, or its elements, without a sign, as arith has them.
mlir::Type getSignless(mlir::Type type);

/// An operation of StableHLO or CHLO, and its operands without signs.
class HloOp {
public:
  HloOp(mlir::Operation *op, mlir::ValueRange operands)
      : op(op), operands(operands) {}

  mlir::Operation *getOperation() const { return op; }
  llvm::StringRef getName() const { return op->getName().getStringRef(); }
  mlir::Value getOperand(unsigned i) const { return operands[i]; }
  mlir::ValueRange getOperands() const { return operands; }
  mlir::RankedTensorType getOperandType(unsigned i) const;
  /// The type of result `i` without sign.
  mlir::RankedTensorType getType(unsigned i = 0) const;
  /// True if the elements of operand `i` are integers without a sign bit.
  bool isUnsigned(unsigned i) const;
  bool isResultUnsigned() const;
  /// The value that all elements of operand `i` are known to be, or null.
  mlir::TypedAttr getSplat(unsigned i) const;

  /// A list of integers; empty if there is no such attribute.
  llvm::SmallVector<int64_t> getIntegers(llvm::StringRef name) const;
  int64_t getInteger(llvm::StringRef name, int64_t otherwise) const;
  /// The last word of an enumeration, such as LT; empty if there is none.
  llvm::StringRef getWord(llvm::StringRef name, std::string &text) const;
  /// Field `field` of an attribute that is a list of fields.
  llvm::SmallVector<int64_t> getIntegers(llvm::StringRef name,
                                         llvm::StringRef field) const;
  int64_t getInteger(llvm::StringRef name, llvm::StringRef field,
                     int64_t otherwise) const;

  /// Emits an error at the operation; no results.
  template <typename... Args>
  llvm::SmallVector<mlir::Value> fail(const char *format,
                                      Args &&...args) const {
    op->emitError(
        llvm::formatv(false, format, std::forward<Args>(args)...).str());
    return {};
  }

private:
  std::string getText(llvm::StringRef name) const;

  mlir::Operation *op;
  mlir::ValueRange operands;
};

/// Emits the operations that compute the results of `op`, of which there are
/// some; no values after an error.
using Conversion = llvm::SmallVector<mlir::Value> (*)(const HloOp &op,
                                                      LocBuilder &b);
using ConversionTable = llvm::StringMap<Conversion>;

/// Integers in an array or in a tensor; none if `value` is neither.
llvm::SmallVector<int64_t> readIntegers(mlir::Attribute value);

/// True for a `stablehlo.composite` that is a `chlo.ragged_dot`.
bool isRaggedComposite(mlir::Operation *op);

/// Converts composites, too, which have the numbers of dimensions in an
/// attribute of their own.
llvm::SmallVector<mlir::Value> convertRaggedDot(const HloOp &op, LocBuilder &b);

/// Adds the operations that compute an element from one of each operand.
void addElementwise(ConversionTable &table);
/// Adds those that put elements elsewhere, constants and iota.
void addShapes(ConversionTable &table);
/// Adds sums and products.
void addReductions(ConversionTable &table);
/// Adds those that read or write elements at computed places, and orders.
void addIndices(ConversionTable &table);

/// Bits that compare as integers as numbers do in the total order: -NaN, -inf,
/// ..., -0, +0, ..., inf, NaN.
mlir::Value makeOrderedBits(LocBuilder &b, mlir::Value value);

/// How many operands elementwise operation `name` has; 0 for any other.
unsigned getNumElementOperands(llvm::StringRef name);

/// False if operands, results, regions or numbers of dimensions are not those
/// of the operation, all of which are tensors of static shape.
bool hasForm(mlir::Operation *op);

/// Emits elementwise operation `op` on scalars; null if it is not one that has
/// these types.
mlir::Value emitElement(LocBuilder &b, const HloOp &op,
                        mlir::ValueRange scalars);

/// Emits a region that returns `numResults` values on scalars in place of
/// tensors of rank 0; no values after an error at `op`.
llvm::SmallVector<mlir::Value> emitBody(LocBuilder &b, const HloOp &op,
                                        mlir::Region &region,
                                        mlir::ValueRange scalars,
                                        unsigned numResults);

/// A `linalg.generic` that computes each element of `types` from those of
/// `inputs`, with the identity as maps of the results. `body` makes an element
/// of each.
using ElementBody = llvm::function_ref<llvm::SmallVector<mlir::Value>(
    LocBuilder &, mlir::ValueRange)>;
llvm::SmallVector<mlir::Value>
makeElements(LocBuilder &b, mlir::ValueRange inputs,
             llvm::ArrayRef<mlir::AffineMap> maps,
             llvm::ArrayRef<mlir::RankedTensorType> types, ElementBody body);

/// `value` with its elements in the same order in another static shape.
mlir::Value reshape(LocBuilder &b, mlir::Value value,
                    llvm::ArrayRef<int64_t> shape);

/// A tensor all of whose elements are `scalar`.
mlir::Value fill(LocBuilder &b, mlir::RankedTensorType type,
                 mlir::Value scalar);

/// The only element of a tensor of rank 0.
mlir::Value getScalar(LocBuilder &b, mlir::Value value);

/// `value`, an integer or index, as `type`.
mlir::Value castIndex(LocBuilder &b, mlir::Value value, mlir::Type type,
                      bool isUnsigned = false);

} // namespace nvfp4::hlo

#endif // NVFP4_LIB_CONVERSION_STABLEHLOTOLINALG_HLOOP_H
