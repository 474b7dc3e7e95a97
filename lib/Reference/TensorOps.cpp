//===- TensorOps.cpp - Upstream operations on whole tensors -----*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The tensor dialect, linalg.fill and linalg.matmul. A new tensor holds garbage
// that shows.
//
//===----------------------------------------------------------------------===//

#include "Evaluator.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/TypeSwitch.h"

namespace nvfp4::reference {
namespace {

using llvm::Error;
using llvm::SmallVector;

/// Row-major strides of a shape.
SmallVector<int64_t> stridesOf(llvm::ArrayRef<int64_t> shape) {
  SmallVector<int64_t> strides(shape.size(), 1);
  for (size_t i = shape.size(); i-- > 1;)
    strides[i - 1] = strides[i] * shape[i];
  return strides;
}

/// Calls `fn(sliceIndex, tensorIndex, run)` for contiguous runs of the slice.
template <typename Fn>
void forEachRun(llvm::ArrayRef<int64_t> tensorShape,
                llvm::ArrayRef<int64_t> offsets, llvm::ArrayRef<int64_t> sizes,
                llvm::ArrayRef<int64_t> steps, Fn fn) {
  int64_t total = 1;
  for (int64_t size : sizes)
    total *= size;
  if (total == 0)
    return;
  SmallVector<int64_t> strides = stridesOf(tensorShape);
  size_t rank = sizes.size();
  int64_t run = rank != 0 && steps.back() == 1 ? sizes.back() : 1;
  for (int64_t i = 0; i < total; i += run) {
    int64_t rest = i, target = 0;
    for (size_t d = rank; d-- > 0;) {
      target += (offsets[d] + rest % sizes[d] * steps[d]) * strides[d];
      rest /= sizes[d];
    }
    fn(i, target, run);
  }
}

/// The offsets, sizes and strides of a slice, with dynamic ones filled in.
struct Slice {
  SmallVector<int64_t> offsets, sizes, steps;
};

template <typename OpTy, typename Read> Slice readSlice(OpTy op, Read integer) {
  auto fill = [&](llvm::ArrayRef<int64_t> fixed, mlir::ValueRange dynamic) {
    SmallVector<int64_t> values(fixed);
    size_t next = 0;
    for (int64_t &v : values)
      if (mlir::ShapedType::isDynamic(v))
        v = integer(dynamic[next++]);
    return values;
  };
  return {fill(op.getStaticOffsets(), op.getOffsets()),
          fill(op.getStaticSizes(), op.getSizes()),
          fill(op.getStaticStrides(), op.getStrides())};
}

Error checkSlice(mlir::Operation *op, const Slice &slice,
                 llvm::ArrayRef<int64_t> shape) {
  for (size_t d = 0; d < shape.size(); ++d) {
    int64_t offset = slice.offsets[d], size = slice.sizes[d];
    int64_t step = slice.steps[d];
    bool inside = offset >= 0 && size >= 0 && step >= 1 && offset <= shape[d];
    if (inside && size > 0)
      inside =
          (size - 1) <= (shape[d] - 1 - offset) / step && offset < shape[d];
    if (!inside)
      return errorAt(op, "expected a slice within dimension " + llvm::Twine(d) +
                             " of size " + llvm::Twine(shape[d]) +
                             ", but got offset " + llvm::Twine(offset) +
                             ", size " + llvm::Twine(size) + ", stride " +
                             llvm::Twine(step));
  }
  return Error::success();
}

} // namespace

/// out += a * b in f32, one multiplication and one addition a step, in the
/// order of the loops that `convert-linalg-to-loops` makes.
Error Evaluator::evaluateLinalgMatmul(mlir::linalg::MatmulOp op) {
  if (op->getNumResults() != 1)
    return errorAt(op, "expected tensors, but got memrefs");
  const Tensor &a = tensor(op.getInputs()[0]);
  const Tensor &b = tensor(op.getInputs()[1]);
  Tensor out = tensor(op.getOutputs()[0]);
  if (!isFloat(a.element()) || !isFloat(b.element()) ||
      out.element() != Element::F32)
    return errorAt(op, "expected real operands and an f32 result");

  // Positions of m, n and k in the shapes of the operands.
  SmallVector<mlir::AffineMap> maps = op.getIndexingMapsArray();
  auto position = [&](int operand, unsigned dim) -> std::optional<unsigned> {
    return maps[operand].getResultPosition(
        mlir::getAffineDimExpr(dim, op.getContext()));
  };
  std::optional<unsigned> am = position(0, 0), ak = position(0, 2);
  std::optional<unsigned> bn = position(1, 1), bk = position(1, 2);
  if (a.rank() != 2 || b.rank() != 2 || !am || !ak || !bn || !bk)
    return errorAt(op, "expected matrices indexed by (m, k) and (n, k)");
  int64_t rows = out.dim(0), columns = out.dim(1), depth = a.dim(*ak);
  if (a.dim(*am) != rows || b.dim(*bn) != columns || b.dim(*bk) != depth)
    return errorAt(op, "expected equal extents of M, N and K");

  auto strides = [](const Tensor &t, unsigned outer) {
    return std::pair<int64_t, int64_t>(outer == 0 ? t.dim(1) : 1,
                                       outer == 0 ? 1 : t.dim(1));
  };
  auto [aRow, aStep] = strides(a, *am);
  auto [bRow, bStep] = strides(b, *bn);
  for (int64_t m = 0; m < rows; ++m) {
    for (int64_t n = 0; n < columns; ++n) {
      Real sum = out.real(m * columns + n);
      for (int64_t k = 0; k < depth; ++k)
        sum = add(Element::F32, sum,
                  multiply(Element::F32, a.real(m * aRow + k * aStep),
                           b.real(n * bRow + k * bStep)));
      out.setReal(m * columns + n, sum);
    }
  }
  set(op->getResult(0), std::move(out));
  return Error::success();
}

std::optional<Error> Evaluator::evaluateTensorOp(mlir::Operation *op) {
  using namespace mlir;
  auto read = [&](mlir::Value v) { return integer(v); };

  // The row-major index of `indices`, or an error.
  auto indexOf = [&](const Tensor &t,
                     mlir::ValueRange indices) -> llvm::Expected<int64_t> {
    int64_t index = 0;
    for (auto [d, v] : llvm::enumerate(indices)) {
      int64_t i = integer(v);
      if (i < 0 || i >= t.shape()[d])
        return errorAt(op, "expected index " + Twine(d) + " in [0, " +
                               Twine(t.shape()[d]) + "), but got " + Twine(i));
      index = index * t.shape()[d] + i;
    }
    return index;
  };

  // A new tensor of the result type with the dynamic extents of `dynamic`.
  auto make = [&](mlir::Type type,
                  mlir::ValueRange dynamic) -> llvm::Expected<Tensor> {
    auto shaped = cast<RankedTensorType>(type);
    SmallVector<int64_t> shape(shaped.getShape());
    size_t next = 0;
    for (int64_t &size : shape)
      if (ShapedType::isDynamic(size))
        size = next < dynamic.size() ? integer(dynamic[next++]) : 0;
    std::optional<Element> element = elementOf(shaped.getElementType());
    if (!element)
      return errorAt(op, "expected an element type that is interpreted");
    llvm::Expected<Tensor> made = allocate(*element, shape);
    if (!made)
      return errorAt(op, llvm::toString(made.takeError()));
    return made;
  };

  auto give = [&](llvm::Expected<Tensor> t) -> Error {
    if (!t)
      return t.takeError();
    set(op->getResult(0), std::move(*t));
    return Error::success();
  };

  auto fill = [&](llvm::Expected<Tensor> t, const Scalar &with) -> Error {
    if (!t)
      return t.takeError();
    for (int64_t i = 0; i < t->numElements(); ++i)
      t->set(i, with);
    return give(std::move(t));
  };

  auto reshape = [&](const Tensor &t, llvm::ArrayRef<int64_t> shape) -> Error {
    auto type = cast<RankedTensorType>(op->getResult(0).getType());
    int64_t count = 1;
    for (size_t d = 0; d < shape.size(); ++d) {
      if (!type.isDynamicDim(static_cast<unsigned>(d)) &&
          type.getDimSize(static_cast<unsigned>(d)) != shape[d])
        return errorAt(op,
                       "expected dimension " + Twine(d) + " of size " +
                           Twine(type.getDimSize(static_cast<unsigned>(d))) +
                           ", but got " + Twine(shape[d]));
      count *= shape[d];
    }
    if (count != t.numElements())
      return errorAt(op, "expected " + Twine(count) + " elements, but got " +
                             Twine(t.numElements()));
    return give(t.reshaped(shape));
  };

  return llvm::TypeSwitch<Operation *, std::optional<Error>>(op)
      .Case<tensor::EmptyOp>(
          [&](auto o) { return give(make(o.getType(), o.getDynamicSizes())); })
      .Case<tensor::SplatOp>([&](auto o) {
        return fill(make(o.getType(), o.getDynamicSizes()),
                    scalar(o.getInput()));
      })
      .Case<linalg::FillOp>([&](linalg::FillOp o) -> Error {
        if (o->getNumResults() != 1)
          return errorAt(op, "expected tensors, but got memrefs");
        Tensor t = tensor(o.getOutputs()[0]);
        return fill(Tensor::unwritten(t.element(), t.shape()),
                    scalar(o.getInputs()[0]));
      })
      .Case<linalg::MatmulOp>([&](auto o) { return evaluateLinalgMatmul(o); })
      .Case<tensor::DimOp>([&](auto o) -> Error {
        const Tensor &t = tensor(o.getSource());
        int64_t d = integer(o.getIndex());
        if (d < 0 || d >= t.rank())
          return errorAt(op, "expected a dimension in [0, " + Twine(t.rank()) +
                                 "), but got " + Twine(d));
        set(op->getResult(0), Scalar::ofInteger(Element::Index, t.dim(d)));
        return Error::success();
      })
      .Case<tensor::CastOp>([&](auto o) -> Error {
        const Tensor &t = tensor(o.getSource());
        auto type = dyn_cast<RankedTensorType>(o.getType());
        if (!type)
          return errorAt(op, "expected a ranked tensor");
        return reshape(t, t.shape());
      })
      .Case<tensor::ExtractOp>([&](auto o) -> Error {
        const Tensor &t = tensor(o.getTensor());
        llvm::Expected<int64_t> i = indexOf(t, o.getIndices());
        if (!i)
          return i.takeError();
        set(op->getResult(0), t.at(*i));
        return Error::success();
      })
      .Case<tensor::InsertOp>([&](auto o) -> Error {
        Tensor t = tensor(o.getDest());
        llvm::Expected<int64_t> i = indexOf(t, o.getIndices());
        if (!i)
          return i.takeError();
        t.set(*i, scalar(o.getScalar()));
        return give(std::move(t));
      })
      .Case<tensor::FromElementsOp>([&](auto o) -> Error {
        llvm::Expected<Tensor> t = make(o.getType(), {});
        if (!t)
          return t.takeError();
        for (auto [i, v] : llvm::enumerate(o.getElements()))
          t->set(static_cast<int64_t>(i), scalar(v));
        return give(std::move(t));
      })
      .Case<tensor::ExtractSliceOp>([&](tensor::ExtractSliceOp o) -> Error {
        const Tensor &t = tensor(o.getSource());
        Slice slice = readSlice(o, read);
        if (Error error = checkSlice(op, slice, t.shape()))
          return error;
        Tensor result = Tensor::unwritten(t.element(), slice.sizes);
        forEachRun(t.shape(), slice.offsets, slice.sizes, slice.steps,
                   [&](int64_t to, int64_t from, int64_t n) {
                     result.copyElements(to, t, from, n);
                   });
        // A rank-reduced result drops extents of one.
        llvm::SmallBitVector dropped = o.getDroppedDims();
        SmallVector<int64_t> shape;
        for (size_t d = 0; d < slice.sizes.size(); ++d)
          if (!dropped.test(static_cast<unsigned>(d)))
            shape.push_back(slice.sizes[d]);
        return give(result.reshaped(shape));
      })
      .Case<tensor::InsertSliceOp>([&](tensor::InsertSliceOp o) -> Error {
        Tensor t = tensor(o.getDest());
        const Tensor &source = tensor(o.getSource());
        Slice slice = readSlice(o, read);
        if (Error error = checkSlice(op, slice, t.shape()))
          return error;
        int64_t count = 1;
        for (int64_t size : slice.sizes)
          count *= size;
        if (count != source.numElements())
          return errorAt(op, "expected a source of " + Twine(count) +
                                 " elements, but got " + source.describe());
        forEachRun(t.shape(), slice.offsets, slice.sizes, slice.steps,
                   [&](int64_t from, int64_t to, int64_t n) {
                     t.copyElements(to, source, from, n);
                   });
        return give(std::move(t));
      })
      .Case<tensor::ExpandShapeOp>([&](tensor::ExpandShapeOp o) -> Error {
        SmallVector<int64_t> shape(o.getStaticOutputShape());
        size_t next = 0;
        for (int64_t &size : shape)
          if (ShapedType::isDynamic(size))
            size = integer(o.getOutputShape()[next++]);
        return reshape(tensor(o.getSrc()), shape);
      })
      .Case<tensor::CollapseShapeOp>([&](tensor::CollapseShapeOp o) -> Error {
        const Tensor &t = tensor(o.getSrc());
        SmallVector<int64_t> shape;
        for (const auto &group : o.getReassociationIndices()) {
          int64_t size = 1;
          for (int64_t d : group)
            size *= t.dim(d);
          shape.push_back(size);
        }
        return reshape(t, shape);
      })
      .Default([](Operation *) { return std::nullopt; });
}

} // namespace nvfp4::reference
