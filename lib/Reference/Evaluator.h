//===- Evaluator.h - One run of the interpreter -----------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The state of a run and one method per operation; each family of operations
// has a file of its own.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_LIB_REFERENCE_EVALUATOR_H
#define NVFP4_LIB_REFERENCE_EVALUATOR_H

#include "Groups.h"

#include "nvfp4/Dialect/GroupedScaledGemm/IR/Exchange.h"
#include "nvfp4/Reference/InterpreterOptions.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/DenseMap.h"

namespace nvfp4::reference {

class Evaluator {
public:
  Evaluator(mlir::ModuleOp module, const InterpreterOptions &options)
      : module(module), options(options) {}

  llvm::Expected<std::vector<Value>> call(mlir::func::FuncOp function,
                                          std::vector<Value> args);

  /// Evaluates a region of scalar operations (an epilogue) and returns the
  /// operand of its terminator.
  llvm::Expected<Scalar> runScalarBlock(mlir::Block &block,
                                        llvm::ArrayRef<Scalar> args);

private:
  using Frame = llvm::DenseMap<mlir::Value, Value>;

  // Running code: Interpreter.cpp.
  llvm::Error runBlock(mlir::Block &block, std::vector<Value> &results);
  llvm::Error step(mlir::Operation *op);
  llvm::Error evaluate(mlir::Operation *op);
  llvm::Error at(mlir::Operation *op, llvm::Error error);

  // Reading operands and writing results.
  const Value &value(mlir::Value v) { return frame->find(v)->second; }
  const Scalar &scalar(mlir::Value v) { return std::get<Scalar>(value(v)); }
  const Tensor &tensor(mlir::Value v) { return std::get<Tensor>(value(v)); }
  int64_t integer(mlir::Value v) { return scalar(v).integer; }
  void set(mlir::Value v, Value result) {
    frame->insert_or_assign(v, std::move(result));
  }
  /// Binds the tensors that an op wrote to its results, which may be absent.
  void setResults(mlir::Operation *op, std::vector<Value> results);
  /// The operand in value or in storage form.
  llvm::Expected<ScaledValue> scaled(const gsg::ScaledOperand &operand);
  llvm::Expected<ScaledValue> scaled(mlir::Value data, mlir::Value scales,
                                     mlir::ArrayAttr types);
  /// The same for weights, which are brought back from the layouts of sm_90a.
  llvm::Expected<ScaledValue> linearWeights(const gsg::ScaledOperand &operand);
  /// Element `index` of an optional operand that is a scalar or a tensor; a
  /// tensor of one element serves every index, unless `isPerRow`.
  llvm::Expected<Real> entry(mlir::Value v, int64_t index, int64_t count,
                             llvm::StringRef what, bool isPerRow = false);
  llvm::Expected<Tensor> allocate(Element element,
                                  llvm::ArrayRef<int64_t> shape);

  // Control flow: Control.cpp.
  llvm::Error evaluateFor(mlir::Operation *op);
  llvm::Error evaluateIf(mlir::Operation *op);
  llvm::Error evaluateCall(mlir::Operation *op);

  // Scalars and element-wise operations: Arithmetic.cpp, ElementWise.cpp.
  llvm::Error evaluateConstant(mlir::Operation *op);
  llvm::Error evaluateElementWise(mlir::Operation *op);

  // Tensors: TensorOps.cpp. Fails to match with std::nullopt.
  llvm::Error evaluateLinalgMatmul(mlir::linalg::MatmulOp op);
  std::optional<llvm::Error> evaluateTensorOp(mlir::Operation *op);

  // Loops around scalars: Structured.cpp.
  llvm::Error evaluateStructured(mlir::linalg::LinalgOp op);
  llvm::Error evaluateGenerate(mlir::tensor::GenerateOp op);
  llvm::Error evaluateApply(mlir::affine::AffineApplyOp op);

  // The dialect.
  llvm::Expected<ResolvedGroups>
  resolve(std::optional<gsg::GroupingAttr> grouping, mlir::Value groups,
          llvm::ArrayRef<int64_t> shape);
  llvm::Error evaluateMakeScaled(gsg::MakeScaledOp op);
  llvm::Error evaluateSplitScaled(gsg::SplitScaledOp op);
  llvm::Error evaluateRelayoutScales(gsg::RelayoutScalesOp op);
  llvm::Error evaluateRelayoutGate(gsg::RelayoutGateOp op);
  llvm::Error evaluateRelayoutWeights(gsg::RelayoutWeightsOp op);
  llvm::Error evaluateQuantize(gsg::QuantizeOp op);
  llvm::Error evaluateDequantize(gsg::DequantizeOp op);
  llvm::Error evaluateHadamard(gsg::HadamardOp op);
  llvm::Error evaluateAmax(gsg::AmaxOp op);
  llvm::Error evaluateMatmul(gsg::MatmulOp op);
  llvm::Error evaluateMatmulList(gsg::MatmulListOp op);
  llvm::Error evaluateGlu(gsg::GluOp op);
  llvm::Error evaluateGluBackward(gsg::GluBackwardOp op);
  llvm::Error evaluateSumRows(gsg::SumRowsOp op);
  llvm::Error evaluateRoute(gsg::RouteOp op);
  llvm::Error evaluateSortTokens(gsg::SortTokensOp op);
  llvm::Error evaluatePermute(gsg::PermuteOp op);
  llvm::Error evaluateCombine(gsg::CombineOp op);

  // Experts on several ranks: Exchange.cpp.
  llvm::Error evaluateExchangeRows(gsg::ExchangeRowsOp op);
  llvm::Error evaluateReturnRows(gsg::ReturnRowsOp op);
  llvm::Error evaluateExpertParallel(gsg::ExpertParallelOp op);
  /// The rows that the body yields for (expert, slot) pairs of a rank.
  llvm::Expected<Tensor>
  runRank(gsg::ExpertParallelOp op,
          llvm::ArrayRef<std::pair<int64_t, int64_t>> slots);

  /// Quantises `source`, whose elements are f32 numbers, as `type`. `target`
  /// holds what rows outside every group keep. `transposed` exchanges the last
  /// two dimensions of `source`; `perRow`: `globalScale` has one number a row.
  llvm::Error quantizeInto(const Tensor &source, ScaledValue &target,
                           const ResolvedGroups &groups,
                           gsg::QuantizerAttr quantizer,
                           mlir::Value globalScale, mlir::Value seed,
                           bool transposed = false,
                           gsg::HadamardAttr hadamard = {},
                           bool perRow = false);
  /// A scaled value of zeros of `type` for groups of `groups`.
  llvm::Expected<ScaledValue> allocateScaled(gsg::ScaledType type,
                                             const ResolvedGroups &groups);
  /// The map of the scales of `type` for `groups`, or null where they do not
  /// share a tensor.
  llvm::Expected<std::shared_ptr<const GroupMap>>
  scaleMap(gsg::ScaledType type, const ResolvedGroups &groups);

  friend class MatmulEvaluation;

  mlir::ModuleOp module;
  const InterpreterOptions &options;
  Frame *frame = nullptr;
  /// The loop indices of the structured operation whose body runs.
  llvm::ArrayRef<int64_t> loops;
  int64_t steps = 0;
  int depth = 0;
};

/// Evaluates a scalar operation of arith or math; nothing if it is none.
std::optional<Scalar> evaluateScalarOp(mlir::Operation *op,
                                       llvm::ArrayRef<Scalar> operands,
                                       std::string &error);
/// True for the operations of evaluateScalarOp.
bool isScalarOp(mlir::Operation *op);

/// An error that names the operation and its location.
llvm::Error errorAt(mlir::Operation *op, const llvm::Twine &message);

} // namespace nvfp4::reference

#endif // NVFP4_LIB_REFERENCE_EVALUATOR_H
