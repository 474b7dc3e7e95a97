//===- Interpreter.cpp - Executes the dialect in exact arithmetic ---------===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Entry, binding of arguments, and the dispatch of operations. Values are
// copied, so that no output shares memory with an operand (dest_c3).
//
//===----------------------------------------------------------------------===//

#include "nvfp4/Reference/Interpreter.h"

#include "Evaluator.h"
#include "WgmmaLayout.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/raw_ostream.h"

namespace nvfp4::reference {
namespace {

llvm::Error argumentError(size_t index, const llvm::Twine &message) {
  return makeError("argument " + llvm::Twine(index) + ": " + message);
}

/// Checks a tensor against its type.
llvm::Error checkTensor(mlir::RankedTensorType type, const Tensor &tensor) {
  bool fits = elementOf(type.getElementType()) == tensor.element() &&
              type.getRank() == tensor.rank();
  for (int64_t i = 0; fits && i < type.getRank(); ++i)
    fits = type.isDynamicDim(i) || type.getDimSize(i) == tensor.dim(i);
  if (fits)
    return llvm::Error::success();
  std::string text;
  llvm::raw_string_ostream(text) << type;
  return makeError("expected " + text + ", but got " + tensor.describe());
}

llvm::Error checkArgument(mlir::Type type, const Value &value) {
  if (auto tensorType = mlir::dyn_cast<mlir::RankedTensorType>(type)) {
    if (const auto *tensor = std::get_if<Tensor>(&value))
      return checkTensor(tensorType, *tensor);
  } else if (std::optional<Element> element = elementOf(type)) {
    if (const auto *scalar = std::get_if<Scalar>(&value))
      if (scalar->element == *element)
        return llvm::Error::success();
  }
  std::string text;
  llvm::raw_string_ostream(text) << type;
  return makeError("expected a value of type " + text);
}

/// Makes one value per argument of the function from the caller's values.
llvm::Expected<std::vector<Value>> bindArguments(mlir::func::FuncOp function,
                                                 llvm::ArrayRef<Value> given) {
  std::vector<Value> args;
  size_t next = 0;
  for (auto [index, type] : llvm::enumerate(function.getArgumentTypes())) {
    if (next == given.size())
      return makeError("expected more than " + llvm::Twine(given.size()) +
                       " values for the " +
                       llvm::Twine(function.getNumArguments()) +
                       " arguments of '" + function.getName() +
                       "' (a scaled tensor counts two)");
    auto scaledType = mlir::dyn_cast<gsg::ScaledType>(type);
    if (!scaledType) {
      if (llvm::Error error = checkArgument(type, given[next]))
        return argumentError(index, llvm::toString(std::move(error)));
      args.push_back(given[next++]);
      continue;
    }
    const auto *whole = std::get_if<ScaledValue>(&given[next]);
    const auto *data = std::get_if<Tensor>(&given[next]);
    const Tensor *scales = nullptr;
    if (data && next + 1 < given.size())
      scales = std::get_if<Tensor>(&given[next + 1]);
    if (!whole && !scales)
      return argumentError(index, "expected a scaled value or two tensors");
    llvm::Expected<ScaledValue> bound =
        whole ? makeScaled(scaledType, whole->data, whole->scales)
              : makeScaled(scaledType, *data, *scales);
    if (!bound)
      return argumentError(index, llvm::toString(bound.takeError()));
    if (whole)
      bound->groups = whole->groups;
    args.emplace_back(std::move(*bound));
    next += whole ? 1 : 2;
  }
  if (next != given.size())
    return makeError("expected " + llvm::Twine(next) +
                     " values for the arguments of '" + function.getName() +
                     "', but got " + llvm::Twine(given.size()));
  return args;
}

} // namespace

llvm::Error errorAt(mlir::Operation *op, const llvm::Twine &message) {
  std::string text;
  llvm::raw_string_ostream os(text);
  os << op->getLoc() << ": '" << op->getName() << "' op " << message;
  return makeError(text);
}

llvm::Expected<std::vector<Value>>
Interpreter::run(llvm::StringRef function, llvm::ArrayRef<Value> args) {
  auto callee = module.lookupSymbol<mlir::func::FuncOp>(function);
  if (!callee)
    return makeError("expected a function called '" + function +
                     "' in the module, but there is none");
  if (callee.isExternal())
    return makeError("expected function '" + function + "' to have a body");
  llvm::Expected<std::vector<Value>> bound = bindArguments(callee, args);
  if (!bound)
    return bound.takeError();
  return Evaluator(module, options).call(callee, std::move(*bound));
}

llvm::Expected<std::vector<Value>> Evaluator::call(mlir::func::FuncOp function,
                                                   std::vector<Value> args) {
  if (depth >= options.maxCallDepth)
    return errorAt(function, "expected calls to nest at most " +
                                 llvm::Twine(options.maxCallDepth) + " deep");
  if (function.isExternal())
    return errorAt(function, "expected a body");
  if (!function.getBody().hasOneBlock())
    return errorAt(function, "expected one block, because only structured "
                             "control flow is interpreted");
  Frame local;
  for (auto [argument, value] : llvm::zip(function.getArguments(), args))
    local.insert_or_assign(argument, std::move(value));
  args.clear();
  Frame *caller = frame;
  frame = &local;
  ++depth;
  std::vector<Value> results;
  llvm::Error error = runBlock(function.getBody().front(), results);
  --depth;
  frame = caller;
  if (error)
    return error;
  return results;
}

llvm::Error Evaluator::runBlock(mlir::Block &block,
                                std::vector<Value> &results) {
  for (mlir::Operation &op : block) {
    if (++steps > options.maxSteps)
      return errorAt(&op, "expected the program to end within " +
                              llvm::Twine(options.maxSteps) + " operations");
    if (op.hasTrait<mlir::OpTrait::IsTerminator>()) {
      results.clear();
      for (mlir::Value operand : op.getOperands())
        results.push_back(value(operand));
      return llvm::Error::success();
    }
    if (llvm::Error error = evaluate(&op))
      return error;
  }
  return llvm::Error::success();
}

llvm::Error Evaluator::evaluate(mlir::Operation *op) {
  if (op->getName().getStringRef() == "arith.constant")
    return evaluateConstant(op);
  if (isScalarOp(op))
    return evaluateElementWise(op);
  if (std::optional<llvm::Error> error = evaluateTensorOp(op))
    return std::move(*error);
  using mlir::Operation;
  return llvm::TypeSwitch<Operation *, llvm::Error>(op)
      .Case<mlir::scf::ForOp>([&](Operation *o) { return evaluateFor(o); })
      .Case<mlir::scf::IfOp>([&](Operation *o) { return evaluateIf(o); })
      .Case<mlir::func::CallOp>([&](Operation *o) { return evaluateCall(o); })
      .Case<mlir::affine::AffineApplyOp>(
          [&](auto o) { return evaluateApply(o); })
      .Case<mlir::tensor::GenerateOp>(
          [&](auto o) { return evaluateGenerate(o); })
      .Case<mlir::linalg::IndexOp>([&](auto o) {
        set(o, Scalar::ofInteger(Element::Index, loops[o.getDim()]));
        return llvm::Error::success();
      })
      .Case<mlir::linalg::LinalgOp>(
          [&](auto o) { return evaluateStructured(o); })
      .Case<gsg::MakeScaledOp>([&](auto o) { return evaluateMakeScaled(o); })
      .Case<gsg::SplitScaledOp>([&](auto o) { return evaluateSplitScaled(o); })
      .Case<gsg::RelayoutScalesOp>(
          [&](auto o) { return evaluateRelayoutScales(o); })
      .Case<gsg::RelayoutWeightsOp>(
          [&](auto o) { return evaluateRelayoutWeights(o); })
      .Case<gsg::RelayoutGateOp>(
          [&](auto o) { return evaluateRelayoutGate(o); })
      .Case<gsg::QuantizeOp>([&](auto o) { return evaluateQuantize(o); })
      .Case<gsg::DequantizeOp>([&](auto o) { return evaluateDequantize(o); })
      .Case<gsg::HadamardOp>([&](auto o) { return evaluateHadamard(o); })
      .Case<gsg::MatmulOp>([&](auto o) { return evaluateMatmul(o); })
      .Case<gsg::MatmulListOp>([&](auto o) { return evaluateMatmulList(o); })
      .Case<gsg::GluOp>([&](auto o) { return evaluateGlu(o); })
      .Case<gsg::GluBackwardOp>([&](auto o) { return evaluateGluBackward(o); })
      .Case<gsg::AmaxOp>([&](auto o) { return evaluateAmax(o); })
      .Case<gsg::SumRowsOp>([&](auto o) { return evaluateSumRows(o); })
      .Case<gsg::RouteOp>([&](auto o) { return evaluateRoute(o); })
      .Case<gsg::SortTokensOp>([&](auto o) { return evaluateSortTokens(o); })
      .Case<gsg::PermuteOp>([&](auto o) { return evaluatePermute(o); })
      .Case<gsg::CombineOp>([&](auto o) { return evaluateCombine(o); })
      .Case<gsg::ExchangeRowsOp>(
          [&](auto o) { return evaluateExchangeRows(o); })
      .Case<gsg::ReturnRowsOp>([&](auto o) { return evaluateReturnRows(o); })
      .Case<gsg::ExpertParallelOp>(
          [&](auto o) { return evaluateExpertParallel(o); })
      .Default([&](Operation *o) {
        return errorAt(o, "is not interpreted; the reference knows func, scf, "
                          "arith, math, tensor, linalg, affine.apply and "
                          "grouped_scaled_gemm");
      });
}

void Evaluator::setResults(mlir::Operation *op, std::vector<Value> results) {
  for (auto [result, written] : llvm::zip(op->getResults(), results))
    set(result, std::move(written));
}

llvm::Expected<ScaledValue>
Evaluator::scaled(const gsg::ScaledOperand &operand) {
  if (!operand.isStorageForm()) {
    if (const auto *whole = std::get_if<ScaledValue>(&value(operand.data)))
      return *whole;
    return makeError("expected a scaled value, or values with scales");
  }
  llvm::Expected<ScaledValue> made =
      makeScaled(operand.type, tensor(operand.data), tensor(operand.scales));
  return made;
}

llvm::Expected<ScaledValue>
Evaluator::scaled(mlir::Value data, mlir::Value scales, mlir::ArrayAttr types) {
  return scaled(
      gsg::getScaledOperands(
          data, scales ? mlir::ValueRange(scales) : mlir::ValueRange(), types)
          .front());
}

llvm::Expected<ScaledValue>
Evaluator::linearWeights(const gsg::ScaledOperand &operand) {
  llvm::Expected<ScaledValue> value = scaled(operand);
  if (!value || !value->type.isCoded())
    return value;
  return readCodedWeights(*value);
}

llvm::Expected<Real> Evaluator::entry(mlir::Value v, int64_t index,
                                      int64_t count, llvm::StringRef what,
                                      bool isPerRow) {
  if (const auto *one = std::get_if<Scalar>(&value(v)))
    return one->real;
  const Tensor &many = tensor(v);
  if (!isPerRow && many.numElements() == 1)
    return many.real(0);
  // quantize_c3, quantize_c9, dequantize_c2, dequantize_c3, matmul_c28,
  // copies_c3
  if (many.numElements() != count)
    return makeError("expected " + llvm::Twine(count) + " entries of " + what +
                     ", but got " + llvm::Twine(many.numElements()));
  return many.real(index);
}

llvm::Expected<Tensor> Evaluator::allocate(Element element,
                                           llvm::ArrayRef<int64_t> shape) {
  llvm::Expected<int64_t> count =
      checkedCount(element, shape, options.maxTensorBytes);
  if (!count)
    return count.takeError();
  return Tensor::unwritten(element, shape);
}

} // namespace nvfp4::reference
