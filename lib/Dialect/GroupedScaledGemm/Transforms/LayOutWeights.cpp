//===- LayOutWeights.cpp - gsg-lay-out-weights ------------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Arguments that calls hand on are one weight, which changes its type in every
// function or in none. What was done to it is a function of its own, for the
// caller who has the weights of a checkpoint.
//
//===----------------------------------------------------------------------===//

#include "nvfp4/Dialect/GroupedScaledGemm/IR/GroupedScaledGemm.h"
#include "nvfp4/Dialect/GroupedScaledGemm/IR/GroupingForm.h"
#include "nvfp4/Dialect/GroupedScaledGemm/Transforms/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/SymbolTable.h"
#include "llvm/ADT/SetVector.h"

namespace nvfp4::gsg {
#define GEN_PASS_DEF_LAYOUTWEIGHTSPASS
#include "nvfp4/Dialect/GroupedScaledGemm/Transforms/Passes.h.inc"
} // namespace nvfp4::gsg

using namespace mlir;
using namespace nvfp4::gsg;

namespace {

/// Arguments that are one value, and the products that it is the weights of.
struct Weight {
  llvm::SetVector<Value> arguments;
  llvm::SetVector<Operation *> products;
  /// Why it stays linear; empty if it does not.
  std::string obstacle;
  ScaledType type;
  /// Where gate and up rows are, and where they will be; null if they stay.
  GateAttr from, to;

  void refuse(const Twine &why) {
    if (obstacle.empty())
      obstacle = why.str();
  }
};

} // namespace

static func::FuncOp getFunction(Value argument) {
  auto blockArgument = dyn_cast<BlockArgument>(argument);
  if (!blockArgument || !blockArgument.getOwner()->isEntryBlock())
    return {};
  return dyn_cast<func::FuncOp>(blockArgument.getOwner()->getParentOp());
}

/// Adds what the argument is elsewhere: in functions that are called with it,
/// and in those that call this one.
static void followArgument(Weight &weight, Value argument, ModuleOp module,
                           SymbolTable &symbols) {
  func::FuncOp function = getFunction(argument);
  unsigned number = cast<BlockArgument>(argument).getArgNumber();
  for (OpOperand &use : argument.getUses()) {
    if (auto product = dyn_cast<MatmulOp>(use.getOwner())) {
      bool isWeights = product.getRhs().size() == 1 &&
                       product.getRhs()[0] == argument &&
                       !llvm::is_contained(product.getLhs(), argument);
      if (!isWeights)
        weight.refuse("it is more than the only weights of a product");
      weight.products.insert(product);
      continue;
    }
    auto call = dyn_cast<func::CallOp>(use.getOwner());
    auto callee =
        call ? symbols.lookup<func::FuncOp>(call.getCallee()) : func::FuncOp();
    if (!callee || callee.isExternal()) {
      weight.refuse("it is used by " +
                    use.getOwner()->getName().getStringRef());
      continue;
    }
    weight.arguments.insert(callee.getArgument(use.getOperandNumber()));
  }
  std::optional<SymbolTable::UseRange> uses =
      SymbolTable::getSymbolUses(function, module);
  if (!uses)
    return weight.refuse("the uses of its function are not known");
  for (SymbolTable::SymbolUse use : *uses) {
    auto call = dyn_cast<func::CallOp>(use.getUser());
    if (!call || !getFunction(call.getOperand(number)))
      return weight.refuse("a caller passes what is no argument of its own");
    weight.arguments.insert(call.getOperand(number));
  }
}

/// Runs of up to 32 rows that split N, as kernels for sm_90a have them.
static GateAttr getRuns(GateAttr gate, int64_t n) {
  int64_t q = gate.getGranularity();
  if (q > 0 && q <= 32 && llvm::isPowerOf2_64(q))
    return gate;
  q = 32;
  while (q > 1 && n % (2 * q) != 0)
    q /= 2;
  return GateAttr::get(gate.getContext(), q, gate.getOrder());
}

/// Decides on the layout, or says what is in its way.
static void chooseLayout(Weight &weight) {
  auto type = cast<ScaledType>(weight.arguments.front().getType());
  int64_t rank = type.getRank();
  if (type.getLayout() != ScaleLayout::Linear ||
      type.getGroupStart() != GroupStart::Whole || !type.isKMajor() || rank < 2)
    return weight.refuse("it is no linear matrix with blocks along K");
  int64_t n = type.getDimSize(rank - 2), k = type.getDimSize(rank - 1);
  if (ShapedType::isDynamic(n) || ShapedType::isDynamic(k) || !n || !k)
    return weight.refuse("N and K are not known");
  for (auto [i, op] : llvm::enumerate(weight.products)) {
    auto product = cast<MatmulOp>(op);
    if (getForm(product.getGrouping()).cutsK())
      return weight.refuse("its groups are along K");
    Type rows = product.getLhs()[0].getType();
    bool isF16 = !isa<ScaledType>(rows) && getElementTypeOrSelf(rows).isF16();
    ScaledType laid = type.withLayout(
        isF16 ? ScaleLayout::WgmmaF16 : ScaleLayout::Wgmma, GroupStart::Whole);
    GateAttr from = product.getActivationOrIdentity().getGate();
    GateAttr to = from ? getRuns(from, n) : from;
    if (i == 0) {
      weight.type = laid;
      weight.from = from;
      weight.to = to;
    }
    if (laid != weight.type || from != weight.from)
      return weight.refuse("its products want different layouts");
    bool hasColumns = product.getBias() || product.getAddend() ||
                      product.getPreactOut() || !product.getColumn().empty();
    if (from != to && (hasColumns || product.getOuterGate()))
      return weight.refuse("its product has other operands with columns of "
                           "gate and up; bring all of them to runs of 32 by "
                           "relayout_gate first");
  }
}

/// The function that makes the weight of what checkpoints have.
static func::FuncOp makeFunction(const Weight &weight) {
  auto product = cast<MatmulOp>(weight.products.front());
  Type linear = weight.arguments.front().getType();
  Location loc = product.getLoc();
  StringRef of = product->getParentOfType<func::FuncOp>().getName();
  auto function = func::FuncOp::create(
      loc, ("lay_out_" + of).str(),
      FunctionType::get(product->getContext(), linear, weight.type));
  OpBuilder b(product->getContext());
  b.setInsertionPointToEnd(function.addEntryBlock());
  Value value = function.getArgument(0);
  if (weight.from != weight.to)
    value = RelayoutGateOp::create(b, loc, linear, value, Value(), ArrayAttr(),
                                   weight.from, weight.to, Value(), Value(),
                                   ArrayAttr())
                ->getResult(0);
  value =
      RelayoutWeightsOp::create(b, loc, TypeRange(weight.type), value, Value(),
                                ArrayAttr(), Value(), Value(), ArrayAttr())
          ->getResult(0);
  func::ReturnOp::create(b, loc, value);
  return function;
}

static void applyLayout(const Weight &weight) {
  for (Value argument : weight.arguments) {
    argument.setType(weight.type);
    func::FuncOp function = getFunction(argument);
    function.setType(FunctionType::get(function.getContext(),
                                       function.front().getArgumentTypes(),
                                       function.getResultTypes()));
  }
  if (weight.from == weight.to)
    return;
  for (Operation *op : weight.products) {
    auto product = cast<MatmulOp>(op);
    ActivationAttr activation = product.getActivationOrIdentity();
    product.setActivationAttr(
        ActivationAttr::get(op->getContext(), activation.getKind(), weight.to,
                            activation.getAlpha(), activation.getBeta(),
                            activation.getLimit(), activation.getRoundBf16()));
  }
}

namespace {
struct LayOutWeights : nvfp4::gsg::impl::LayOutWeightsPassBase<LayOutWeights> {
  using LayOutWeightsPassBase::LayOutWeightsPassBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    if (functionsOnly && withoutFunctions) {
      module.emitError("expected functions-only or without-functions, but got "
                       "both");
      return signalPassFailure();
    }
    SymbolTable symbols(module);
    SmallVector<Weight> weights;
    DenseSet<Value> seen;
    for (auto function : module.getOps<func::FuncOp>()) {
      if (function.isExternal())
        continue;
      for (BlockArgument argument : function.getArguments()) {
        if (!isa<ScaledType>(argument.getType()) || seen.contains(argument))
          continue;
        Weight weight;
        weight.arguments.insert(argument);
        // The set grows while it is walked.
        for (size_t i = 0; i < weight.arguments.size(); ++i) {
          seen.insert(weight.arguments[i]);
          followArgument(weight, weight.arguments[i], module, symbols);
        }
        weights.push_back(std::move(weight));
      }
    }
    // Users are found in no order of their own.
    DenseMap<Operation *, size_t> order;
    module.walk([&](MatmulOp op) { order[op] = order.size(); });
    SmallVector<func::FuncOp> made;
    for (Weight &weight : weights) {
      bool isWeights = llvm::any_of(weight.products, [&](Operation *op) {
        return llvm::any_of(cast<MatmulOp>(op).getRhs(), [&](Value rhs) {
          return weight.arguments.contains(rhs);
        });
      });
      if (!isWeights)
        continue;
      SmallVector<Operation *> products = weight.products.takeVector();
      llvm::sort(products, [&](Operation *a, Operation *b) {
        return order[a] < order[b];
      });
      weight.products.insert(products.begin(), products.end());
      if (weight.obstacle.empty())
        chooseLayout(weight);
      if (!weight.obstacle.empty()) {
        weight.products.front()->emitRemark("weights not laid out: ")
            << weight.obstacle;
        continue;
      }
      made.push_back(makeFunction(weight));
      applyLayout(weight);
    }
    for (func::FuncOp function : made) {
      if (withoutFunctions)
        function.erase();
      else
        symbols.insert(function);
    }
    if (!functionsOnly)
      return;
    for (Operation &op : llvm::make_early_inc_range(module.getOps()))
      if (!llvm::is_contained(made, &op))
        op.erase();
  }
};
} // namespace
