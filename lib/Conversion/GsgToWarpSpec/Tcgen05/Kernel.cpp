//===- Kernel.cpp - The roles of a kernel for tcgen05 -----------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Buffers and pipelines, and the frame around the roles.
//
//===----------------------------------------------------------------------===//

#include "Kernel.h"
#include "../Common/ProductChecks.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;
using namespace nvfp4;
using namespace nvfp4::gsg;
using namespace nvfp4::gsg::kernels;
using namespace nvfp4::gsg::tcgen05;
using namespace nvfp4::warpspec;

/// Memory of `columns` columns of tensor memory, `depth` times if it is not 0.
static Value allocateColumns(const KernelContext &c, int64_t depth,
                             int64_t columns, Type element,
                             IntegerAttr column = {}, IntegerAttr stride = {}) {
  SmallVector<int64_t> shape{kTmemLanes, columns};
  if (depth)
    shape.insert(shape.begin(), depth);
  auto type = MemRefType::get(shape, element, MemRefLayoutAttrInterface(),
                              TmemAttr::get(c.b.getContext()));
  return TmemAllocOp::create(c.b, c.loc, type, column, stride);
}

/// Two accumulators with columns in common: the first, what both have, the
/// second.
static void allocateSharedAccumulators(const KernelContext &c, const Plan &plan,
                                       Buffers &buffers) {
  int64_t own = plan.n - plan.sharedColumns;
  auto make = [&](int64_t depth, int64_t count, int64_t column,
                  IntegerAttr stride) {
    Value buffer = allocateColumns(
        c, depth, count, c.b.getF32Type(),
        c.b.getI32IntegerAttr(static_cast<int32_t>(column)), stride);
    return makePipeline(c, buffer, depth, Agent::TensorCore, Agent::Threads);
  };
  buffers.accumulators =
      make(2, own, 0, c.b.getI32IntegerAttr(static_cast<int32_t>(plan.n)));
  buffers.sharedColumns = make(1, plan.sharedColumns, own, IntegerAttr());
}

/// Stages of scaled operands, and columns for their scales.
static void allocateScaledInput(const KernelContext &c, const Plan &plan,
                                Buffers &buffers) {
  OpBuilder &b = c.b;
  auto shared = [&](ArrayRef<int64_t> slot, Type element, unsigned swizzle) {
    SmallVector<int64_t> shape{plan.stages};
    shape.append(slot.begin(), slot.end());
    return allocateShared(c, shape, element, swizzle);
  };
  auto tile = [&](const OperandPlan &side, int64_t rows) {
    int64_t values = side.element.isInteger(8) ? side.rowBytes : plan.k;
    return shared({rows / plan.ctas, values}, side.element,
                  static_cast<unsigned>(side.rowBytes));
  };
  Value mTile = tile(plan.getMOperand(), plan.m);
  Value nTile = tile(plan.getNOperand(), plan.n);
  auto atoms = [&](int64_t count) {
    return shared({count, kScaleAtomBytes}, b.getI8Type(), 0);
  };
  Value mAtoms = atoms(plan.getMStageAtoms());
  Value nAtoms = atoms(plan.getNStageAtoms());
  int64_t depth = plan.scaleBuffers > 1 ? plan.scaleBuffers : 0;
  int64_t mColumns = 4 * plan.scaleAtoms;
  buffers.mScales = allocateColumns(c, depth, mColumns, b.getI32Type());
  buffers.nScales =
      allocateColumns(c, depth, mColumns * plan.getNAtoms(), b.getI32Type());
  buffers.input = makePipeline(c, {mTile, nTile, mAtoms, nAtoms}, plan.stages,
                               Agent::Tma, Agent::TensorCore);
  if (depth)
    buffers.scaleColumns =
        makePipeline(c, {buffers.mScales, buffers.nScales}, depth,
                     Agent::TensorCore, Agent::TensorCore);
}

/// Stages of unscaled rows and of codes, and columns for decoded weights.
static void allocateDecodedInput(const KernelContext &c, const Plan &plan,
                                 Buffers &buffers) {
  Type i8 = c.b.getI8Type();
  const OperandPlan &weights = plan.b, &rows = plan.a;
  Value codes = allocateShared(c, {plan.stages, plan.m, weights.rowBytes}, i8,
                               static_cast<unsigned>(weights.rowBytes));
  Value tile = allocateShared(
      c, {plan.stages, plan.getRowBlocks(), plan.n, Plan::kBlockValues},
      rows.element, static_cast<unsigned>(rows.rowBytes));
  Value atoms = allocateShared(
      c, {plan.stages, plan.getMStageAtoms(), kScaleAtomBytes}, i8, 0);
  Value decoded = allocateColumns(c, plan.scaleBuffers,
                                  plan.getDecodedColumns(), c.b.getI32Type());
  if (plan.splits) {
    Value part = allocateShared(
        c, {1, plan.getRowBlocks(), plan.n, Plan::kBlockValues},
        plan.getMultiplicand(), static_cast<unsigned>(rows.rowBytes));
    buffers.codes = makePipeline(c, {codes, atoms, tile}, plan.stages,
                                 Agent::Tma, Agent::Threads);
    buffers.input = makePipeline(c, part, 1, Agent::Threads, Agent::TensorCore);
  } else {
    buffers.codes = makePipeline(c, {codes, atoms}, plan.stages, Agent::Tma,
                                 Agent::Threads);
    buffers.input =
        makePipeline(c, tile, plan.stages, Agent::Tma, Agent::TensorCore);
  }
  buffers.decoded = makePipeline(c, decoded, plan.scaleBuffers, Agent::Threads,
                                 Agent::TensorCore);
}

static Buffers allocateBuffers(const KernelContext &c, const Plan &plan) {
  OpBuilder &b = c.b;
  Buffers buffers;
  if (!plan.sharedColumns)
    buffers.accumulators = makePipeline(
        c, allocateColumns(c, plan.accumulators, plan.n, b.getF32Type()),
        plan.accumulators, Agent::TensorCore, Agent::Threads);
  else
    allocateSharedAccumulators(c, plan, buffers);
  if (plan.decodes)
    allocateDecodedInput(c, plan, buffers);
  else
    allocateScaledInput(c, plan, buffers);
  if (plan.swap) {
    Value transposed = allocateShared(
        c, {1, plan.getChunkRows(), kTransposedRow}, b.getF32Type(), 0);
    buffers.transposed =
        makePipeline(c, transposed, 1, Agent::Threads, Agent::Threads);
  }
  if (plan.staged) {
    auto result = cast<MemRefType>(c.parameters.result.memref.getType());
    Type element = result.getElementType();
    int64_t bytes = plan.resultColumns * element.getIntOrFloatBitWidth() / 8;
    Value boxes = allocateShared(c, {2, kTmemLanes, plan.resultColumns},
                                 element, static_cast<unsigned>(bytes));
    buffers.staging = makePipeline(c, boxes, 2, Agent::Threads, Agent::Tma);
  }
  return buffers;
}

void Kernel::forEachTile(bool isEpilogue,
                         function_ref<void(const TileState &tile)> body) const {
  TileLoop tiles{.rows = plan.getTileRows(), .columns = plan.getTileColumns()};
  tiles.splitK = plan.splitK;
  tiles.ctas = plan.ctas;
  tiles.hasParity = isEpilogue && plan.sharedColumns != 0;
  tiles.isCounted = isEpilogue && plan.splitK > 1;
  kernels::forEachTile(*this, tiles, body);
}

void tcgen05::buildKernel(Launch &launch, const Plan &plan,
                          const Parameters &parameters, MatmulOp op) {
  KernelContext context(launch, op, parameters.common, plan.k);
  Buffers buffers = allocateBuffers(context, plan);
  Value rank;
  if (plan.ctas > 1) {
    auto kernel = context.getKernel();
    kernel.setCluster(static_cast<int32_t>(plan.ctas));
    kernel.setPair(true);
    rank =
        NVVM::ClusterId::create(context.b, context.loc, context.b.getI32Type());
  }
  Kernel kernel(context, plan, parameters.maps, buffers, rank);
  auto buildEpilogue = [&] {
    emitDataChecks(kernel, kTmemLanes);
    buildEpilogueRole(kernel);
  };
  auto buildLoad = [&] { buildLoadRole(kernel); };
  auto buildMma = [&] { buildMmaRole(kernel); };
  if (!plan.decodes)
    return buildRoles(context, {{"load", 1, 0, buildLoad},
                                {"mma", 1, 0, buildMma},
                                {"epilogue", 4, 0, buildEpilogue}});
  // So many threads leave each 128 registers, which is too few for epilogues
  // in f64. The other roles need less.
  buildRoles(context,
             {{"load", 1, 80, buildLoad},
              {"mma", 1, 80, buildMma},
              {"decode", kDecodeWarps, 96, [&] { buildDecodeRole(kernel); }},
              {"epilogue", 4, 232, buildEpilogue}});
}
