//===- KernelEmitter.cpp - emission of one kernel ---------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Functions, attributes and sizes; the bodies are in the files that
// KernelEmitter.h lists.
//
//===----------------------------------------------------------------------===//

#include "KernelEmitter.h"

#include "nvfp4/Conversion/GsgToCpu/Kernel/DeclareKernels.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace nvfp4::gsg::arithmetic;
using namespace nvfp4::gsg::cpu;

KernelEmitter::KernelEmitter(ModuleOp module, const KernelSpec &spec)
    : module(module), spec(spec), plan(spec), builder(module.getContext()),
      kb(builder, module.getLoc()), isa(IsaEmitter::create(spec.isa)) {}

LLVM::LLVMFuncOp KernelEmitter::declareFunction(StringRef suffix,
                                                ArrayRef<Type> args) {
  MLIRContext *context = module.getContext();
  builder.setInsertionPointToEnd(module.getBody());
  auto type =
      LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(context), args);
  auto func = LLVM::LLVMFuncOp::create(builder, module.getLoc(),
                                       spec.name() + suffix.str(), type,
                                       LLVM::Linkage::Internal);
  // The attributes also replace the defaults of the code generator, so that
  // every kernel of a module is compiled for its own instruction set.
  func.setTargetCpu("x86-64");
  StringRef features = isa->targetFeatures();
  func.setTargetFeaturesAttr(LLVM::TargetFeaturesAttr::get(
      context, features.empty() ? StringRef("+sse2") : features));
  func.setNoInline(true);
  for (auto [index, arg] : llvm::enumerate(args))
    if (arg == kb.ptr) {
      func.setArgAttr(index, LLVM::LLVMDialect::getNoCaptureAttrName(),
                      builder.getUnitAttr());
    }
  return func;
}

LLVM::LLVMFuncOp KernelEmitter::beginFunction(StringRef suffix,
                                              ArrayRef<Type> args) {
  LLVM::LLVMFuncOp func = declareFunction(suffix, args);
  builder.setInsertionPointToStart(func.addEntryBlock(builder));
  return func;
}

SmallVector<Type> KernelEmitter::prepareRowsTypes() const {
  return {kb.ptr, kb.ptr, kb.ptr, kb.ptr, kb.i64,
          kb.i64, kb.i64, kb.i64, kb.ptr};
}

SmallVector<Type> KernelEmitter::gemmTileTypes() const {
  return {kb.ptr, kb.i64, kb.i64, kb.ptr, kb.ptr, kb.ptr, kb.ptr,
          kb.i64, kb.i64, kb.i64, kb.ptr, kb.ptr, kb.ptr, kb.ptr};
}

SmallVector<int64_t> KernelEmitter::fusedVariants() const {
  if (plan.usesTiles() || spec.scaleWeights)
    return {};
  bool isAVX512 = spec.isa >= Isa::AVX512VNNI;
  // Only AVX-512 decodes f32 fast enough.
  if (plan.usesFloats() &&
      (!isAVX512 || spec.weight != format::ElementKind::E2M1))
    return {};
  SmallVector<int64_t> variants(plan.getRowVariants());
  if (isAVX512 && !plan.usesFloats())
    for (int64_t tail : plan.getRowVariants())
      variants.push_back(plan.getTileRows() + tail);
  return variants;
}

LLVM::LLVMFuncOp KernelEmitter::beginRows(int64_t rows, Source source) {
  SmallVector<Type> types = {kb.ptr, kb.i64, kb.ptr, kb.ptr, kb.ptr};
  StringRef suffix = "_panel_rows_";
  if (source == Source::Memory) {
    types.append({kb.ptr, kb.i64, kb.ptr, kb.i64, kb.ptr});
    suffix = "_fused_rows_";
  } else if (source == Source::PanelAndFetch) {
    types.append({kb.ptr, kb.ptr, kb.i64});
    suffix = "_fetching_rows_";
  }
  return beginFunction((suffix + Twine(rows)).str(), types);
}

LLVM::LLVMFuncOp KernelEmitter::emitRows(int64_t rows, Source source) {
  return plan.usesIntegers()        ? emitIntegerRows(rows, source)
         : plan.usesPairs()         ? emitPairRows(rows, source)
         : source == Source::Memory ? emitFusedFloatRows(rows)
                                    : emitFloatRows(rows);
}

void KernelEmitter::endFunction() {
  LLVM::ReturnOp::create(builder, module.getLoc(), ValueRange());
}

Kernels KernelEmitter::emit(LLVM::Linkage linkage) {
  stageWeights = emitStageStep(spec.weight);
  bool sameStage = KernelPlan::getStepBytes(spec.activation) ==
                   KernelPlan::getStepBytes(spec.weight);
  if (spec.rows == PlainRows::None)
    stageActivations =
        sameStage ? stageWeights : emitStageStep(spec.activation);
  scalePanel = groupScalePanel =
      emitScalePanel("_scale_panel", plan.getSetColumns());
  if (plan.getGroups() > 1 && !fusedVariants().empty())
    groupScalePanel = emitScalePanel("_group_scales", plan.getLanes());
  weightPanel = emitWeightPanel();
  if (plan.usesTiles())
    for (int tiles : {1, 2})
      for (bool fetches : {false, true})
        tileRows[tiles - 1][fetches] = emitTileRows(tiles, fetches);
  else
    for (int64_t rows : plan.getRowVariants())
      panelRows.push_back(emitRows(rows, Source::Panel));
  if (plan.usesIntegers() || plan.usesPairs())
    panelRowsFetching = emitRows(plan.getTileRows(), Source::PanelAndFetch);
  if (plan.usesPairs())
    exactRows = emitExactRows();
  for (int64_t rows : fusedVariants())
    fusedRows.push_back(emitRows(rows, Source::Memory));
  Kernels kernels{emitPrepareRows(), emitGemmTile()};
  kernels.prepareRows.setLinkage(linkage);
  kernels.gemmTile.setLinkage(linkage);
  return kernels;
}

Kernels KernelEmitter::declare() {
  Kernels kernels{declareFunction("_prepare_rows", prepareRowsTypes()),
                  declareFunction("_gemm_tile", gemmTileTypes())};
  for (LLVM::LLVMFuncOp func : {kernels.prepareRows, kernels.gemmTile}) {
    func.setLinkage(LLVM::Linkage::External);
    func.setVisibility_(LLVM::Visibility::Hidden);
  }
  return kernels;
}

Kernels nvfp4::gsg::cpu::getOrEmitKernels(ModuleOp module,
                                          const KernelSpec &spec,
                                          LLVM::Linkage linkage) {
  Kernels kernels{
      module.lookupSymbol<LLVM::LLVMFuncOp>(spec.name() + "_prepare_rows"),
      module.lookupSymbol<LLVM::LLVMFuncOp>(spec.name() + "_gemm_tile")};
  if (kernels.prepareRows && kernels.gemmTile)
    return kernels;
  loadKernelDialects(*module.getContext());
  KernelEmitter emitter(module, spec);
  bool isDeclared = module->hasAttr(kDeclareKernels) && isCompiledAhead(spec);
  return isDeclared ? emitter.declare() : emitter.emit(linkage);
}

void nvfp4::gsg::cpu::loadKernelDialects(MLIRContext &context) {
  context.loadDialect<arith::ArithDialect, LLVM::LLVMDialect, math::MathDialect,
                      scf::SCFDialect, vector::VectorDialect>();
}

Value nvfp4::gsg::cpu::buildPaddedRows(OpBuilder &builder, Location loc,
                                       const KernelPlan &plan, Value rows) {
  KernelBuilder kb(builder, loc);
  // Tile heights are powers of two and so are all row variants.
  Value tail = kb.bitAnd(rows, plan.getTileRows() - 1);
  Value padded = kb.i64Constant(0);
  int64_t below = 0;
  for (int64_t variant : plan.getRowVariants()) {
    padded = kb.select(kb.cmp(arith::CmpIPredicate::sgt, tail, below),
                       kb.i64Constant(variant), padded);
    below = variant;
  }
  return kb.add(kb.sub(rows, tail), padded);
}

Value nvfp4::gsg::cpu::buildPreparedOffset(OpBuilder &builder, Location loc,
                                           const KernelPlan &plan, Value row,
                                           Value k) {
  KernelBuilder kb(builder, loc);
  return buildPreparedOffset(builder, loc, row, k,
                             kb.i64Constant(plan.getPreparedStepBytes()));
}

Value nvfp4::gsg::cpu::buildPreparedOffset(OpBuilder &builder, Location loc,
                                           Value row, Value k,
                                           Value stepBytes) {
  KernelBuilder kb(builder, loc);
  return kb.mul(kb.mul(row, kb.ceilShift(k, 5)), stepBytes);
}
