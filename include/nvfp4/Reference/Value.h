//===- Value.h - What the interpreter computes with -------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Scalars, tensors and scaled tensors. Real tensors hold f64 values with error
// bounds; i16 to i64 and index hold int64; 8-bit types hold their bytes, so
// that quantised data stays as it is stored.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_REFERENCE_VALUE_H
#define NVFP4_REFERENCE_VALUE_H

#include "nvfp4/Dialect/GroupedScaledGemm/IR/GroupedScaledGemm.h"
#include "nvfp4/Reference/Real.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/Error.h"

#include <memory>
#include <variant>
#include <vector>

namespace nvfp4::reference {

/// An element of a tensor, or an SSA value of a scalar type.
struct Scalar {
  Element element = Element::I64;
  /// The number, for floating point types.
  Real real;
  /// The number, for integer types.
  int64_t integer = 0;
  /// For i1: a correct implementation may decide otherwise.
  bool ambiguous = false;

  static Scalar ofReal(Element e, Real r) { return {e, r, 0, false}; }
  static Scalar ofInteger(Element e, int64_t i) { return {e, {}, i, false}; }
};

/// A dense row-major tensor. Copies share storage until one is written.
class Tensor {
public:
  Tensor();
  /// A tensor of garbage: NaN marked as unwritten, integers 0x5a5a..., bytes
  /// 0x7f.
  static Tensor unwritten(Element element, llvm::ArrayRef<int64_t> shape);
  /// A tensor of zeros.
  static Tensor zeros(Element element, llvm::ArrayRef<int64_t> shape);
  /// F64, F32, F16 or BF16. `values` must be representable in `element`;
  /// `bounds` is empty (all zero) or as long.
  static Tensor ofReals(Element element, llvm::ArrayRef<int64_t> shape,
                        std::vector<double> values,
                        std::vector<double> bounds = {});
  /// I16, I32, I64 or Index.
  static Tensor ofIntegers(Element element, llvm::ArrayRef<int64_t> shape,
                           std::vector<int64_t> values);
  /// An 8-bit type or I1.
  static Tensor ofBytes(Element element, llvm::ArrayRef<int64_t> shape,
                        std::vector<uint8_t> bytes);

  Element element() const { return type; }
  llvm::ArrayRef<int64_t> shape() const { return dims; }
  int64_t rank() const { return static_cast<int64_t>(dims.size()); }
  int64_t dim(int64_t i) const { return dims[static_cast<size_t>(i)]; }
  int64_t numElements() const { return count; }
  /// `tensor<2x3xf32>`, for messages.
  std::string describe() const;

  /// Any element, by row-major index.
  Scalar at(int64_t index) const;
  /// Writes an element of the type of the tensor.
  void set(int64_t index, const Scalar &scalar);
  /// Floating point elements, 8-bit ones decoded.
  Real real(int64_t index) const;
  /// Integer elements, sign extended (i1: 0 or 1).
  int64_t integer(int64_t index) const;
  /// Writes a floating point element, a value of its type, and its bound. Eight
  /// bits have no bound and are rounded.
  void setReal(int64_t index, Real r);

  /// The stored bytes of an 8-bit tensor.
  llvm::ArrayRef<uint8_t> bytes() const { return data->bytes; }
  llvm::MutableArrayRef<uint8_t> mutableBytes();
  /// The stored values of a real tensor.
  llvm::ArrayRef<double> reals() const { return data->reals; }

  /// For values of a scaled tensor: the bound of the dequantised value of each
  /// code, two entries per byte for FP4 and one for FP8. For i1: not zero where
  /// a correct implementation may decide otherwise. Empty: all zero.
  llvm::ArrayRef<double> codeBounds() const { return data->bounds; }
  void setCodeBounds(std::vector<double> bounds);

  /// The same elements with another shape of as many.
  Tensor reshaped(llvm::ArrayRef<int64_t> shape) const;
  /// Copies the elements of `from` at `source` to `target`, bounds included.
  /// Both tensors have the same element type.
  void copyElements(int64_t target, const Tensor &from, int64_t source,
                    int64_t n);

private:
  struct Data {
    std::vector<double> reals;
    std::vector<double> bounds;
    std::vector<int64_t> integers;
    std::vector<uint8_t> bytes;
  };
  Data &write();

  Element type = Element::F32;
  llvm::SmallVector<int64_t, 4> dims;
  int64_t count = 0;
  std::shared_ptr<Data> data;
};

/// A range of a ragged dimension.
struct GroupRange {
  int64_t begin = 0;
  int64_t size = 0;
};

/// Groups of rows or of columns along K that share one tensor, and where the
/// scales of each start (in rows or in scale columns of the scale matrix).
struct GroupMap {
  bool alongK = false;
  llvm::SmallVector<GroupRange> ranges;
  llvm::SmallVector<int64_t> scaleStarts;
};

/// A value of type `!grouped_scaled_gemm.scaled`.
struct ScaledValue {
  /// The type; its shape is static.
  gsg::ScaledType type;
  /// i8 or FP8 values in storage shape.
  Tensor data;
  /// Scales in storage shape.
  Tensor scales;
  /// How groups lie in the scales, when a grouped op made this value.
  std::shared_ptr<const GroupMap> groups;
  /// Scales of lines outside every group have a fixed value if they start with
  /// their lines; the values of these lines always have one.
  bool hasScalesOutside = false;
};

/// Pairs values and scales as `type` says. Dynamic extents of `type` are taken
/// from `data`; fails when a shape or an element type does not fit.
llvm::Expected<ScaledValue> makeScaled(gsg::ScaledType type, Tensor data,
                                       Tensor scales);

/// Anything that an SSA value can hold.
using Value = std::variant<Scalar, Tensor, ScaledValue>;

/// The number of elements of `shape`, or an error when it is negative or needs
/// more than `maxBytes` bytes of the interpreter's memory.
llvm::Expected<int64_t>
checkedCount(Element element, llvm::ArrayRef<int64_t> shape, int64_t maxBytes);

/// An error with a message.
llvm::Error makeError(const llvm::Twine &message);

} // namespace nvfp4::reference

#endif // NVFP4_REFERENCE_VALUE_H
