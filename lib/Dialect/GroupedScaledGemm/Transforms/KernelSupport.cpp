//===- KernelSupport.cpp - Products that have kernels -----------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One function for each part of a product: what kernels leave out of it, and
// the nearest form that they have, or an empty text.
//
//===----------------------------------------------------------------------===//

#include "nvfp4/Dialect/GroupedScaledGemm/Transforms/KernelSupport.h"

#include "nvfp4/Dialect/GroupedScaledGemm/IR/OneLaunch.h"
#include "nvfp4/KernelTarget/Alternatives.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

#include "llvm/Support/raw_ostream.h"

#include <algorithm>

using namespace mlir;
using namespace nvfp4::gsg;

static bool isIdentity(Value memref) {
  auto type = memref ? dyn_cast<MemRefType>(memref.getType()) : MemRefType();
  return !type || type.getLayout().isIdentity();
}

/// Numbers that PTX computes with.
static bool isNumber(Type type) {
  return type.isF16() || type.isBF16() || type.isF32() || type.isF64() ||
         type.isIndex() ||
         (type.isInteger() && type.getIntOrFloatBitWidth() <= 64);
}

/// PTX has it. Three operations of arith need a library on a GPU.
static bool hasPtx(Operation &op) {
  return isa<arith::ArithDialect>(op.getDialect()) &&
         !isa<arith::RemFOp, arith::MaxNumFOp, arith::MinNumFOp>(op) &&
         llvm::all_of(op.getOperandTypes(), isNumber) &&
         llvm::all_of(op.getResultTypes(), isNumber) &&
         (op.hasTrait<OpTrait::ConstantLike>() ||
          op.hasTrait<OpTrait::Vectorizable>());
}

/// Operations of math that nvfp4-expand-math knows, on f32.
static bool isKnownMath(Operation &op) {
  return isa<math::AbsFOp, math::CeilOp, math::ErfOp, math::ExpOp, math::Exp2Op,
             math::FloorOp, math::FmaOp, math::LogOp, math::RsqrtOp,
             math::SqrtOp, math::TanhOp>(op) &&
         llvm::all_of(op.getOperandTypes(),
                      [](Type type) { return type.isF32(); });
}

bool nvfp4::gsg::runsInKernels(Operation &op) {
  return hasPtx(op) || isKnownMath(op);
}

/// That dimension `d` of `memref` is not known to be at most `most`; else
/// empty.
static std::string findUnboundedDim(Value memref, int64_t d, int64_t most,
                                    StringRef what) {
  int64_t extent = cast<MemRefType>(memref.getType()).getDimSize(d);
  if (!ShapedType::isDynamic(extent) && extent <= most)
    return "";
  return ("expected " + what + " to be known and at most " + Twine(most) +
          " for its kernel, but got " +
          (ShapedType::isDynamic(extent) ? "?" : std::to_string(extent)))
      .str();
}

std::string nvfp4::gsg::explainNoDeviceCode(Operation *op) {
  if (isa<MatmulOp, MatmulListOp, PermuteOp, CombineOp, QuantizeOp, SumRowsOp,
          AmaxOp, DequantizeOp, RelayoutScalesOp, RelayoutGateOp, OneLaunchOp>(
          op))
    return "";
  if (auto sort = dyn_cast<SortTokensOp>(op)) {
    if (!llvm::all_of(op->getOperands(), isIdentity))
      return "expected operands without gaps for its kernel";
    // A block counts the entries of each expert in 32 KiB of shared memory.
    return findUnboundedDim(sort.getEndsOut(), 0, 8192,
                            "the number of experts");
  }
  if (auto route = dyn_cast<RouteOp>(op)) {
    // Each lane of a warp has the keys of 32 experts in registers, and a slot.
    std::string experts =
        findUnboundedDim(route.getLogits(), 1, 1024, "the number of experts");
    return !experts.empty() ? experts
                            : findUnboundedDim(route.getWeightsOut(), 1, 32,
                                               "the number of slots");
  }
  if (auto relayout = dyn_cast<RelayoutWeightsOp>(op)) {
    if (relayout.getInputType().isCoded())
      return "expected packing, from linear to wgmma, for its kernel";
    return llvm::all_of(op->getOperands(), isIdentity)
               ? ""
               : "expected operands without gaps for its kernel";
  }
  if (!isa<GluOp, GluBackwardOp, HadamardOp>(op))
    return "expected an operation with GPU code";
  // Rows are those of a matrix.
  auto backward = dyn_cast<GluBackwardOp>(op);
  bool isMatrix = llvm::all_of(op->getOperands(), [&](Value operand) {
    auto type = dyn_cast<MemRefType>(operand.getType());
    bool isFactor = backward && (operand == backward.getProb() ||
                                 operand == backward.getProbOut());
    return type && ((type.getRank() == 2 && !isFactor) || isIdentity(operand));
  });
  return isMatrix ? ""
                  : "expected operands of rank 2 or without gaps for its "
                    "kernel";
}

std::string nvfp4::gsg::explainSeparateResult(MatmulOp op) {
  QuantizerAttr quantizer = op.getQuantizerAttr();
  if (!quantizer)
    return "";
  ScaledType type = op.getQuantizedType();
  if (quantizer.getTwoD())
    return "squares of rows and columns share a scale";
  if (!type.isKMajor())
    return "its blocks lie along rows, but its values do not";
  if (type.getLayout() == ScaleLayout::Blocked8x4)
    return "its scales are in blocked_8x4";
  if (type.getGroupStart() == GroupStart::Compact)
    return "its scales start compact";
  return "";
}

std::string nvfp4::gsg::explainSeparateCopy(MatmulOp op,
                                            const ProductCopy &copy) {
  ScaledType type = copy.out.type;
  if (copy.attr.getQuantizer().getTwoD())
    return "squares of rows and columns share a scale";
  if (!copy.attr.getTransposed())
    return "a kernel stores rows once, and transposed copies beside them";
  if (!type.isKMajor())
    return "it is transposed, but its blocks lie along columns of the product";
  if (type.getLayout() == ScaleLayout::Blocked8x4)
    return "its scales are in blocked_8x4";
  if (type.getGroupStart() != GroupStart::Whole)
    return "its scales start compact, so that groups begin within blocks";
  // Threads have 16 pairs of shorter runs at a time; halves become runs of 32
  // where these split N.
  GateAttr gate = op.getActivationOrIdentity().getGate();
  int64_t n = op.getN(), q = gate ? gate.getGranularity() : 32;
  bool splitsN = !ShapedType::isDynamic(n) && n % 64 == 0;
  if (type.getBlockSize() > 16 && q < 32 && !(q == 0 && splitsN))
    return "its blocks are of 32 rows, and pairs are not known to be in runs "
           "of 32";
  return "";
}

int64_t nvfp4::gsg::getRowBlock(MatmulOp op) {
  int64_t block = 1;
  for (const ProductCopy &copy : op.getCopyList())
    block = std::max<int64_t>(block, copy.out.type.getBlockSize());
  return block;
}

static std::string findUnsupportedResult(MatmulOp op) {
  std::string reason = explainSeparateResult(op);
  for (const ProductCopy &copy : op.getCopyList()) {
    if (reason.empty())
      reason = explainSeparateCopy(op, copy);
    if (reason.empty() && !op.getOut() && !op.getQuantizerAttr())
      reason = "a kernel stores rows beside transposed copies";
  }
  if (!reason.empty())
    return "this quantised result: " + reason +
           "; run gsg-separate-quantization after one-shot-bufferize";
  GateAttr gate = op.getActivationOrIdentity().getGate();
  bool hasWideBlocks =
      getRowBlock(op) > 16 ||
      (op.getQuantizerAttr() && op.getQuantizedType().getBlockSize() > 16);
  if (gate && gate.getGranularity() < 32 && hasWideBlocks)
    return "blocks of 32 of pairs in runs shorter than 32; use gate = <32, "
           "...>";
  return "";
}

static std::string findUnsupportedRegion(MatmulOp op) {
  if (op.getActivationOrIdentity().getKind() != ActivationKind::Custom)
    return "";
  for (Operation &inner : op.getEpilogue().front().without_terminator())
    if (!isa<GroupedScaledGemmDialect>(inner.getDialect()) &&
        !runsInKernels(inner))
      return "'" + inner.getName().getStringRef().str() +
             "' in an epilogue region; use " + kOperationsOfKernels.str();
  return "";
}

static std::string findUnsupportedOperands(Operation *op) {
  if (llvm::all_of(op->getOperands(), isIdentity))
    return "";
  return "operands that are not contiguous; copy them first";
}

std::string nvfp4::gsg::listGateRuns(int64_t least, int64_t most) {
  std::vector<std::string> runs;
  for (int64_t run = least; run <= most; run *= 2)
    runs.push_back(std::to_string(run));
  return strategy::joinAlternatives(runs);
}

/// Pairs whose halves no thread has together, for kernels that have one gate
/// layout; for others the tile decides.
static std::string findUnsupportedGate(MatmulOp op,
                                       const KernelTarget &target) {
  GateAttr gate = op.getActivationOrIdentity().getGate();
  if (!gate || target.getFeatures().outerGate)
    return "";
  std::string assign =
      "run gsg-assign-scale-layout{target=" + std::string(target.getName()) +
      "} after one-shot-bufferize";
  if (op.getOuterGate())
    return "addend and preact_outs in another gate layout than the weights; " +
           assign;
  int64_t q = gate.getGranularity(), most = target.getFeatures().longestGateRun;
  if (q > 0 && q <= most && most % q == 0)
    return "";
  std::string runs = "runs of " + listGateRuns(1, most);
  std::string text = "the gate layout ";
  llvm::raw_string_ostream(text) << gate;
  if (op.getRhsType().isCoded())
    return text +
           " of weights that relayout_weights has laid out; bring "
           "weights, bias, addend and preact_outs to " +
           runs + " by grouped_scaled_gemm.relayout_gate first";
  if (!op.getAddend() && !op.getPreactOut())
    return text + "; " + assign;
  return text +
         " with addend or preact_outs; bring weights, bias, addend and "
         "preact_outs to " +
         runs + " by grouped_scaled_gemm.relayout_gate";
}

FailureOr<const KernelTarget *> nvfp4::gsg::getKernelTarget(Operation *op,
                                                            StringRef name) {
  // target_c3: the target has kernels.
  if (const KernelTarget *target = strategy::findKernelTarget(name))
    return target;
  return op->emitError("expected target ")
         << strategy::listGpus() << ", but got '" << name << "'";
}

InFlightDiagnostic nvfp4::gsg::refuseKernel(Operation *op,
                                            const KernelTarget &target,
                                            const Twine &what) {
  return op->emitOpError("kernels for ")
         << target.getFamilyName() << " do not support " << what;
}

std::string nvfp4::gsg::findUnsupportedByKernels(MatmulOp op,
                                                 const KernelTarget &target) {
  if (op.getGradientOf())
    return "gradient_of; run gsg-decompose-gradient first";
  if (std::string what = findUnsupportedResult(op); !what.empty())
    return what;
  if (op.getTail() == TailMode::Zero && op.getBeta() && !op.getAddend())
    return "tail = zero with a destination that is read; give it as addend";
  if (std::string what = findUnsupportedRegion(op); !what.empty())
    return what;
  if (std::string what = findUnsupportedOperands(op); !what.empty())
    return what;
  return findUnsupportedGate(op, target);
}

std::string nvfp4::gsg::findUnsupportedByKernels(MatmulListOp op) {
  return findUnsupportedOperands(op);
}
