//===- Control.cpp - Calls, loops and conditions ----------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// func.call, scf.for and scf.if.
//
//===----------------------------------------------------------------------===//

#include "Evaluator.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

namespace nvfp4::reference {

llvm::Error Evaluator::evaluateCall(mlir::Operation *op) {
  auto call = mlir::cast<mlir::func::CallOp>(op);
  auto callee = module.lookupSymbol<mlir::func::FuncOp>(call.getCallee());
  if (!callee)
    return errorAt(op, "expected a function called '" + call.getCallee() + "'");
  std::vector<Value> args;
  for (mlir::Value operand : call.getOperands())
    args.push_back(value(operand));
  llvm::Expected<std::vector<Value>> results =
      this->call(callee, std::move(args));
  if (!results)
    return results.takeError();
  setResults(op, std::move(*results));
  return llvm::Error::success();
}

llvm::Error Evaluator::evaluateFor(mlir::Operation *op) {
  auto loop = mlir::cast<mlir::scf::ForOp>(op);
  Element element = scalar(loop.getLowerBound()).element;
  int64_t lower = integer(loop.getLowerBound());
  int64_t upper = integer(loop.getUpperBound());
  int64_t stride = integer(loop.getStep());
  if (stride <= 0)
    return errorAt(op,
                   "expected a positive step, but got " + llvm::Twine(stride));
  std::vector<Value> carried;
  for (mlir::Value init : loop.getInitArgs())
    carried.push_back(value(init));
  for (int64_t i = lower; i < upper;) {
    set(loop.getInductionVar(), Scalar::ofInteger(element, i));
    for (auto [argument, current] :
         llvm::zip(loop.getRegionIterArgs(), carried))
      set(argument, std::move(current));
    carried.clear();
    if (llvm::Error error = runBlock(*loop.getBody(), carried))
      return error;
    if (upper - i <= stride)
      break;
    i += stride;
  }
  setResults(op, std::move(carried));
  return llvm::Error::success();
}

llvm::Error Evaluator::evaluateIf(mlir::Operation *op) {
  auto branch = mlir::cast<mlir::scf::IfOp>(op);
  const Scalar &condition = scalar(branch.getCondition());
  if (condition.ambiguous)
    return errorAt(op, "expected a condition that rounding errors cannot "
                       "change, but both branches are possible");
  mlir::Region &region =
      condition.integer != 0 ? branch.getThenRegion() : branch.getElseRegion();
  if (region.empty())
    return llvm::Error::success();
  std::vector<Value> results;
  if (llvm::Error error = runBlock(region.front(), results))
    return error;
  setResults(op, std::move(results));
  return llvm::Error::success();
}

} // namespace nvfp4::reference
