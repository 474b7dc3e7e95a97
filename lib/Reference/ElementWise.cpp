//===- ElementWise.cpp - Scalar operations on tensors -----------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// arith.constant, and arith and math applied to scalars, to tensors element by
// element, and in epilogue regions.
//
//===----------------------------------------------------------------------===//

#include "Evaluator.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/BuiltinAttributes.h"

namespace nvfp4::reference {
namespace {

/// The scalar of an attribute of a scalar type.
std::optional<Scalar> scalarOf(mlir::Attribute attr) {
  if (auto number = mlir::dyn_cast<mlir::FloatAttr>(attr)) {
    std::optional<Element> element = elementOf(number.getType());
    if (!element)
      return std::nullopt;
    return Scalar::ofReal(*element, {number.getValueAsDouble(), 0.0});
  }
  if (auto number = mlir::dyn_cast<mlir::IntegerAttr>(attr)) {
    std::optional<Element> element = elementOf(number.getType());
    if (!element)
      return std::nullopt;
    int64_t value = *element == Element::I1
                        ? static_cast<int64_t>(number.getValue().getZExtValue())
                        : number.getValue().getSExtValue();
    return Scalar::ofInteger(*element, value);
  }
  return std::nullopt;
}

} // namespace

llvm::Error Evaluator::evaluateConstant(mlir::Operation *op) {
  mlir::Attribute attr = mlir::cast<mlir::arith::ConstantOp>(op).getValue();
  mlir::Value result = op->getResult(0);
  if (std::optional<Scalar> one = scalarOf(attr)) {
    set(result, *one);
    return llvm::Error::success();
  }
  auto elements = mlir::dyn_cast<mlir::DenseElementsAttr>(attr);
  auto type = mlir::dyn_cast<mlir::RankedTensorType>(result.getType());
  std::optional<Element> element =
      type ? elementOf(type.getElementType()) : std::nullopt;
  if (!elements || !element)
    return errorAt(op, "expected a scalar or a dense tensor of a type that is "
                       "interpreted");
  llvm::Expected<Tensor> tensor = allocate(*element, type.getShape());
  if (!tensor)
    return errorAt(op, llvm::toString(tensor.takeError()));
  int64_t i = 0;
  // i8 tensors hold bytes; 8-bit floats are copied by their bits.
  if (mlir::isa<mlir::FloatType>(type.getElementType())) {
    for (const llvm::APFloat &x : elements.getValues<llvm::APFloat>()) {
      if (isByte(*element)) {
        tensor->mutableBytes()[static_cast<size_t>(i++)] =
            static_cast<uint8_t>(x.bitcastToAPInt().getZExtValue());
        continue;
      }
      llvm::APFloat wide = x;
      bool lost = false;
      wide.convert(llvm::APFloat::IEEEdouble(),
                   llvm::APFloat::rmNearestTiesToEven, &lost);
      tensor->setReal(i++, {wide.convertToDouble(), 0.0});
    }
  } else {
    for (const llvm::APInt &x : elements.getValues<llvm::APInt>())
      tensor->set(i++, Scalar::ofInteger(*element, x.getSExtValue()));
  }
  set(result, std::move(*tensor));
  return llvm::Error::success();
}

llvm::Error Evaluator::evaluateElementWise(mlir::Operation *op) {
  auto type =
      mlir::dyn_cast<mlir::RankedTensorType>(op->getResult(0).getType());
  llvm::SmallVector<Scalar> operands;
  std::string error;
  if (!type) {
    for (mlir::Value operand : op->getOperands()) {
      const auto *one = std::get_if<Scalar>(&value(operand));
      if (!one)
        return errorAt(op, "expected scalar operands");
      operands.push_back(*one);
    }
    std::optional<Scalar> result = evaluateScalarOp(op, operands, error);
    if (!result)
      return errorAt(op, error);
    set(op->getResult(0), *result);
    return llvm::Error::success();
  }
  std::optional<Element> element = elementOf(type.getElementType());
  if (!element)
    return errorAt(op, "expected an element type that is interpreted");
  llvm::ArrayRef<int64_t> shape;
  for (mlir::Value operand : op->getOperands())
    if (const auto *tensor = std::get_if<Tensor>(&value(operand))) {
      if (!shape.empty() && tensor->shape() != shape)
        return errorAt(op, "expected operands of one shape");
      shape = tensor->shape();
    }
  llvm::Expected<Tensor> result = allocate(*element, shape);
  if (!result)
    return errorAt(op, llvm::toString(result.takeError()));
  for (int64_t i = 0; i < result->numElements(); ++i) {
    operands.clear();
    // The condition of a select may be a scalar.
    for (mlir::Value operand : op->getOperands()) {
      const Value &v = value(operand);
      if (const auto *tensor = std::get_if<Tensor>(&v))
        operands.push_back(tensor->at(i));
      else
        operands.push_back(std::get<Scalar>(v));
    }
    std::optional<Scalar> one = evaluateScalarOp(op, operands, error);
    if (!one)
      return errorAt(op, error);
    result->set(i, *one);
  }
  set(op->getResult(0), std::move(*result));
  return llvm::Error::success();
}

llvm::Expected<Scalar> Evaluator::runScalarBlock(mlir::Block &block,
                                                 llvm::ArrayRef<Scalar> args) {
  for (auto [argument, given] : llvm::zip(block.getArguments(), args))
    set(argument, given);
  std::vector<Value> results;
  if (llvm::Error error = runBlock(block, results))
    return error;
  if (results.size() != 1 || !std::holds_alternative<Scalar>(results.front()))
    return errorAt(block.getTerminator(), "expected one scalar");
  return std::get<Scalar>(results.front());
}

} // namespace nvfp4::reference
