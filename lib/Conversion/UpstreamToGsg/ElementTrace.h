//===- ElementTrace.h - What an element is the product of -------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Follows one element of a tensor back to the codes, scales and other numbers
// that it is the product of, and accounts for the bits that the product needs.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_LIB_CONVERSION_UPSTREAMTOGSG_ELEMENTTRACE_H
#define NVFP4_LIB_CONVERSION_UPSTREAMTOGSG_ELEMENTTRACE_H

#include "Element.h"

namespace nvfp4::gsg {

/// What an element is multiplied by: an element of a tensor, or a scalar.
struct Factor {
  mlir::Value source;
  /// One index for each dimension of `source`.
  Indices indices;
  /// What the bits mean. `source` holds it, or i8 of the same bits, or, with
  /// `nibble`, i8 of two.
  mlir::Type type;
  /// 0 for the low four bits of a byte, 1 for the high ones; null if `source`
  /// holds whole elements.
  mlir::AffineExpr nibble;
  /// The element is divided by it.
  bool isDivisor = false;
  /// The operation that computes the element, if traces do not follow it.
  mlir::Operation *computedBy = nullptr;

  /// Applies `function` to each index.
  void
  mapIndices(llvm::function_ref<mlir::AffineExpr(mlir::AffineExpr)> function);
  /// True for the types of codes and scales.
  bool isNarrow() const;
  /// True for bf16 and f16, the types of rows without scales.
  bool isHalf() const;
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
  ExpressionRef expert;
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

/// `, which ... computes` if something computes one of `factors`.
std::string describeStop(llvm::ArrayRef<Factor> factors);

/// Why a factor that is neither code nor scale is refused.
std::string refuseFurtherFactor(llvm::ArrayRef<Factor> factors);

/// Traces elements; keeps the reason of the first failure.
class ElementTrace : public ElementWalker {
public:
  /// `allowPlain`: products in f32 with numbers of any size are not rounding
  /// errors to this trace.
  /// `allowHalves`: f4E2M1FN is followed into halves of bytes.
  ElementTrace(mlir::MLIRContext *context, bool allowPlain, Slices behind,
               bool allowLookups, bool allowHalves)
      : ElementWalker(context, behind, allowLookups), allowPlain(allowPlain),
        allowHalves(allowHalves) {}

  /// The product that the element is. Nothing if it is none, or not exactly:
  /// see `getReason`.
  std::optional<Product> trace(Element element);

  /// Why an intermediate value is not the exact product; empty if each is.
  const std::string &getReason() const { return reason; }
  /// What made numbers like any others of codes and scales; empty if nothing
  /// did.
  const std::string &getLoss() const { return loss; }

private:
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
    /// The smallest and the greatest number in a type of `typeWidth` bits;
    /// nothing if that is not known.
    std::optional<std::pair<int64_t, int64_t>>
    getRange(unsigned typeWidth) const;
    bool isNibble() const { return width == 4 && isExact && !offset; }
  };

  /// Elements that alternate: of the first part where `half` is 0.
  struct Halves {
    std::array<Element, 2> parts;
    mlir::AffineExpr half;
  };

  std::optional<Product> traceOperand(const Element &element, unsigned i) {
    return trace(getOperand(element, i));
  }
  std::optional<Product> traceComputed(const Element &element);
  std::optional<Product> traceMasked(const Element &select);
  /// What an operation that is no arithmetic makes of other tensors.
  std::optional<Product> traceMoved(const Element &element);
  std::optional<Product> traceInterleaved(const Element &element);
  /// Codes and scales that are decoded from bytes, in one of several ways.
  std::optional<Product> traceDecoded(const Element &element);
  std::optional<Product> traceTable(const Element &element);
  std::optional<Product> traceBitcast(const Element &element);
  std::optional<Product> tracePower(const Element &element);
  /// 1 where a row belongs to a group and 0 elsewhere.
  std::optional<Product> traceOneHot(const Element &element);
  std::optional<Bits> traceBits(const Element &element);
  std::optional<Bits> traceBitsOf(const Element &element, mlir::Operation *op);
  std::optional<Bits> traceInterleavedBits(const Element &element);
  std::optional<Halves> enterHalves(const Element &element);
  /// The constant value of a comparison of bits with constants; nothing if it
  /// is not known.
  std::optional<bool> isKnown(const Element &condition);
  std::optional<RowMask> traceMask(const Element &condition);
  std::optional<RowMask> traceRange(const Element &condition);
  std::optional<RowMask> traceChoice(const Element &condition);
  /// The tensor and the index of an element of a vector of integers.
  std::optional<std::pair<mlir::Value, mlir::AffineExpr>>
  traceOffset(Element element);
  /// Keeps that `element`, which is no product, is computed of codes or scales.
  void noteLoss(const Element &element);
  Product measure(mlir::Type type) const;
  Product leaf(mlir::Value source, Indices indices, mlir::Type type) const;
  Product leaf(const Bits &bits, mlir::Type type) const;
  std::optional<Product> fit(std::optional<Product> product, mlir::Type type);
  std::nullopt_t fail(std::string text) {
    if (reason.empty())
      reason = std::move(text);
    return std::nullopt;
  }

  bool allowPlain;
  bool allowHalves;
  std::string reason;
  std::string loss;
  bool isNotingLoss = false;
};

/// `type` as text of a diagnostic.
std::string print(mlir::Type type);

} // namespace nvfp4::gsg

#endif // NVFP4_LIB_CONVERSION_UPSTREAMTOGSG_ELEMENTTRACE_H
