//===- Structured.cpp - Loops around scalars --------------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Operations that run a region of scalar operations for each element: those of
// linalg in the order of their loops, tensor.generate, and affine.apply, which
// computes indices.
//
//===----------------------------------------------------------------------===//

#include "Evaluator.h"

#include "llvm/Support/SaveAndRestore.h"

namespace nvfp4::reference {

using llvm::Error;
using llvm::SmallVector;

/// Steps to the next of all indices below `extents`; false past the last.
static bool advance(llvm::MutableArrayRef<int64_t> indices,
                    llvm::ArrayRef<int64_t> extents) {
  for (size_t d = indices.size(); d-- > 0;) {
    if (++indices[d] < extents[d])
      return true;
    indices[d] = 0;
  }
  return false;
}

/// The row-major position of `indices`, or nothing if they leave the tensor.
static std::optional<int64_t> positionOf(const Tensor &tensor,
                                         llvm::ArrayRef<int64_t> indices) {
  int64_t position = 0;
  for (auto [index, extent] : llvm::zip_equal(indices, tensor.shape())) {
    if (index < 0 || index >= extent)
      return std::nullopt;
    position = position * extent + index;
  }
  return position;
}

Error Evaluator::evaluateStructured(mlir::linalg::LinalgOp op) {
  mlir::Block *body = op.getBlock();
  mlir::AffineMap toLoops = op.getShapesToLoopsMap();
  if (!op.hasPureTensorSemantics() || !body || !toLoops)
    return errorAt(op, "expected an operation on tensors whose loops follow "
                       "from their shapes");
  SmallVector<int64_t> shapes;
  for (mlir::OpOperand &operand : op->getOpOperands())
    if (const auto *from = std::get_if<Tensor>(&value(operand.get())))
      llvm::append_range(shapes, from->shape());
  SmallVector<int64_t> extents = toLoops.compose(shapes);
  for (mlir::OpOperand &operand : op->getOpOperands()) {
    const auto *from = std::get_if<Tensor>(&value(operand.get()));
    mlir::AffineMap map = op.getMatchingIndexingMap(&operand);
    for (unsigned d = 0; from && d < map.getNumResults(); ++d)
      if (auto loop = mlir::dyn_cast<mlir::AffineDimExpr>(map.getResult(d));
          loop && from->dim(d) != extents[loop.getPosition()])
        return errorAt(
            op, "expected operand " + llvm::Twine(operand.getOperandNumber()) +
                    " of extent " + llvm::Twine(extents[loop.getPosition()]) +
                    " in dimension " + llvm::Twine(d) + ", but got " +
                    from->describe());
  }
  std::vector<Value> results;
  for (mlir::Value init : op.getDpsInits())
    results.push_back(tensor(init));

  SmallVector<int64_t> indices(extents.size(), 0);
  llvm::SaveAndRestore current(loops, llvm::ArrayRef<int64_t>(indices));
  if (llvm::is_contained(extents, 0)) {
    setResults(op, std::move(results));
    return Error::success();
  }
  unsigned inputs = op.getNumDpsInputs();
  SmallVector<int64_t> positions(op->getNumOperands(), 0);
  do {
    for (mlir::OpOperand &operand : op->getOpOperands()) {
      unsigned number = operand.getOperandNumber();
      const Value &given =
          number < inputs ? value(operand.get()) : results[number - inputs];
      mlir::BlockArgument argument = op.getMatchingBlockArgument(&operand);
      const auto *from = std::get_if<Tensor>(&given);
      if (!from) {
        set(argument, given);
        continue;
      }
      std::optional<int64_t> position = positionOf(
          *from, op.getMatchingIndexingMap(&operand).compose(indices));
      if (!position)
        return errorAt(op, "expected operand " + llvm::Twine(number) +
                               " to have an element for each step, but got " +
                               from->describe());
      positions[number] = *position;
      set(argument, from->at(*position));
    }
    std::vector<Value> yielded;
    if (Error error = runBlock(*body, yielded))
      return error;
    for (auto [i, scalar] : llvm::enumerate(yielded))
      std::get<Tensor>(results[i])
          .set(positions[inputs + i], std::get<Scalar>(scalar));
  } while (advance(indices, extents));
  setResults(op, std::move(results));
  return Error::success();
}

Error Evaluator::evaluateGenerate(mlir::tensor::GenerateOp op) {
  auto type = op.getType();
  SmallVector<int64_t> shape(type.getShape());
  size_t next = 0;
  for (int64_t &extent : shape)
    if (mlir::ShapedType::isDynamic(extent))
      extent = integer(op.getDynamicExtents()[next++]);
  std::optional<Element> element = elementOf(type.getElementType());
  if (!element)
    return errorAt(op, "expected an element type that is interpreted");
  llvm::Expected<Tensor> result = allocate(*element, shape);
  if (!result)
    return errorAt(op, llvm::toString(result.takeError()));
  SmallVector<int64_t> indices(shape.size(), 0);
  for (int64_t i = 0; i < result->numElements(); ++i) {
    SmallVector<Scalar> arguments;
    for (int64_t index : indices)
      arguments.push_back(Scalar::ofInteger(Element::Index, index));
    llvm::Expected<Scalar> one =
        runScalarBlock(op.getBody().front(), arguments);
    if (!one)
      return one.takeError();
    result->set(i, *one);
    advance(indices, shape);
  }
  set(op, std::move(*result));
  return Error::success();
}

Error Evaluator::evaluateApply(mlir::affine::AffineApplyOp op) {
  mlir::Builder builder(op.getContext());
  SmallVector<mlir::Attribute> operands, results;
  for (mlir::Value operand : op.getMapOperands())
    operands.push_back(builder.getIndexAttr(integer(operand)));
  // Fails for a division by zero.
  if (failed(op.getAffineMap().constantFold(operands, results)))
    return errorAt(op, "expected a defined index");
  set(op, Scalar::ofInteger(
              Element::Index,
              mlir::cast<mlir::IntegerAttr>(results.front()).getInt()));
  return Error::success();
}

} // namespace nvfp4::reference
