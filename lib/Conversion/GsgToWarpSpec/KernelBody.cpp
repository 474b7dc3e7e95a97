//===- KernelBody.cpp - Buffers, pipelines and groups of a kernel ---------===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The frame around the roles, and where a group lies.
//
//===----------------------------------------------------------------------===//

#include "KernelBody.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace nvfp4;
using namespace nvfp4::gsg;
using namespace nvfp4::gsg::sm100;
using namespace nvfp4::warpspec;

KernelBody::KernelBody(Launch &launch, const KernelPlan &plan,
                       KernelParameters parameters, MatmulOp op)
    : plan(plan), parameters(std::move(parameters)), op(op),
      kernel(launch.getKernel()), b(launch.device), loc(op.getLoc()),
      firstResult(this->parameters.out) {}

void KernelBody::build() {
  MLIRContext *context = b.getContext();
  auto shared = [&](ArrayRef<int64_t> slot, Type element, unsigned swizzle) {
    SmallVector<int64_t> shape{plan.stages};
    shape.append(slot.begin(), slot.end());
    return allocateShared(shape, element, swizzle);
  };
  auto columns = [&](int64_t depth, int64_t count, Type element) {
    SmallVector<int64_t> shape{kTmemLanes, count};
    if (depth)
      shape.insert(shape.begin(), depth);
    return TmemAllocOp::create(b, loc,
                               MemRefType::get(shape, element,
                                               MemRefLayoutAttrInterface(),
                                               TmemAttr::get(context)),
                               IntegerAttr())
        .getResult();
  };
  auto rowOf = [&](const OperandPlan &side) {
    return side.element.isInteger(8) ? KernelPlan::kRowBytes : plan.k;
  };
  constexpr unsigned swizzle = KernelPlan::kRowBytes;
  const OperandPlan &onM = plan.getMOperand(), &onN = plan.getNOperand();
  Value mTile = shared({plan.m / plan.ctas, rowOf(onM)}, onM.element, swizzle);
  Value nTile = shared({plan.n / plan.ctas, rowOf(onN)}, onN.element, swizzle);
  auto atoms = [&](int64_t count) {
    return shared({count, kScaleAtomBytes}, b.getI8Type(), 0);
  };
  Value mAtoms = atoms(plan.getMStageAtoms());
  Value nAtoms = atoms(plan.getNStageAtoms());
  if (!plan.sharedColumns)
    accumulators =
        makePipeline(columns(plan.accumulators, plan.n, b.getF32Type()),
                     plan.accumulators, Agent::TensorCore, Agent::Threads);
  else
    buildSharedAccumulators();
  int64_t buffers = plan.scaleBuffers > 1 ? plan.scaleBuffers : 0;
  int64_t mColumns = 4 * plan.scaleAtoms;
  mScales = columns(buffers, mColumns, b.getI32Type());
  nScales = columns(buffers, mColumns * plan.getNAtoms(), b.getI32Type());
  input = makePipeline({mTile, nTile, mAtoms, nAtoms}, plan.stages, Agent::Tma,
                       Agent::TensorCore);
  if (buffers)
    scaleColumns = makePipeline({mScales, nScales}, buffers, Agent::TensorCore,
                                Agent::TensorCore);
  if (plan.swap) {
    Value turned =
        allocateShared({1, plan.getChunkRows(), kTurnedRow}, b.getF32Type(), 0);
    transposed = makePipeline(turned, 1, Agent::Threads, Agent::Threads);
  }
  if (plan.staged) {
    Type element = cast<MemRefType>(parameters.out.getType()).getElementType();
    int64_t bytes = plan.resultColumns * element.getIntOrFloatBitWidth() / 8;
    Value boxes = allocateShared({2, kTmemLanes, plan.resultColumns}, element,
                                 static_cast<unsigned>(bytes));
    staging = makePipeline(boxes, 2, Agent::Threads, Agent::Tma);
  }
  if (plan.ctas > 1) {
    kernel.setCluster(static_cast<int32_t>(plan.ctas));
    kernel.setPair(true);
    rank = NVVM::ClusterId::create(b, loc, b.getI32Type());
  }

  buildRoles({{"load", 1, 0, [&] { buildLoadRole(); }},
              {"mma", 1, 0, [&] { buildMmaRole(); }},
              {"epilogue", 4, 0, [&] { buildEpilogueRole(); }}});
}

//===----------------------------------------------------------------------===//
// The frame, for every target
//===----------------------------------------------------------------------===//

Value KernelBody::allocateShared(ArrayRef<int64_t> shape, Type element,
                                 unsigned swizzle) {
  auto type = MemRefType::get(shape, element, MemRefLayoutAttrInterface(),
                              SmemAttr::get(b.getContext(), swizzle));
  return SmemAllocOp::create(b, loc, type, IntegerAttr());
}

Value KernelBody::makePipeline(ValueRange buffers, int64_t depth,
                               Agent producer, Agent consumer) {
  return PipelineOp::create(b, loc, buffers, depth, producer, consumer,
                            IntegerAttr());
}

void KernelBody::buildRoles(ArrayRef<Role> roles) {
  SmallVector<StringRef> names;
  SmallVector<int32_t> warps, registers;
  for (const Role &role : roles) {
    names.push_back(role.name);
    warps.push_back(static_cast<int32_t>(role.warps));
    registers.push_back(static_cast<int32_t>(role.registers));
  }
  // A launch that overlaps the one before waits here, after its barriers and
  // tensor memory are there, and lets the next begin. Others have nothing to
  // wait for.
  for (auto kind : {NVVM::GridDepActionKind::wait,
                    NVVM::GridDepActionKind::launch_dependents})
    NVVM::GriddepcontrolOp::create(b, loc, kind);
  auto built = RolesOp::create(b, loc, b.getStrArrayAttr(names), warps,
                               registers, static_cast<unsigned>(roles.size()));
  OpBuilder::InsertionGuard guard(b);
  for (auto [role, region] : llvm::zip_equal(roles, built.getBodies())) {
    b.setInsertionPointToStart(&region.emplaceBlock());
    RolesOp::ensureTerminator(region, b, loc);
    b.setInsertionPoint(region.front().getTerminator());
    role.build();
  }
}

void KernelBody::buildSharedAccumulators() {
  // The first, what both have, the second.
  int64_t own = plan.n - plan.sharedColumns;
  auto build = [&](int64_t depth, int64_t count, int64_t column,
                   IntegerAttr stride) -> Value {
    auto type = MemRefType::get({depth, kTmemLanes, count}, b.getF32Type(),
                                MemRefLayoutAttrInterface(),
                                TmemAttr::get(b.getContext()));
    Value buffer = TmemAllocOp::create(
        b, loc, type, b.getI32IntegerAttr(static_cast<int32_t>(column)),
        stride);
    return makePipeline(buffer, depth, Agent::TensorCore, Agent::Threads);
  };
  accumulators =
      build(2, own, 0, b.getI32IntegerAttr(static_cast<int32_t>(plan.n)));
  sharedColumns = build(1, plan.sharedColumns, own, IntegerAttr());
}

void KernelBody::forEachTile(TileFn body, bool isEpilogue) {
  forEachTile(plan.getTileRows(), plan.getTileColumns(), Value(), body,
              isEpilogue);
}

void KernelBody::forEachTile(int64_t rows, int64_t columns, Value ring,
                             TileFn body, bool isEpilogue, Value steps,
                             bool inParts) {
  OpBuilder::InsertionGuard guard(b);
  Type i32Type = b.getI32Type();
  bool takesTurns = isEpilogue && plan.sharedColumns != 0;
  bool isCounted = isEpilogue && plan.splitK > 1;
  SmallVector<Value> inits;
  if (takesTurns)
    inits.push_back(i32(0));
  Value workers;
  if (isCounted) {
    // Worker w of W has the tiles w, w + W, ...
    inits.push_back(div(NVVM::BlockIdXOp::create(b, loc, i32Type), plan.ctas));
    workers = div(NVVM::GridDimXOp::create(b, loc, i32Type), plan.ctas);
  }
  auto loop = ForEachTileOp::create(b, loc, TypeRange(ValueRange(inits)),
                                    TileOrder::MFastest, parameters.groups,
                                    ring, steps, inParts, inits);
  Block &extents = loop.getExtents().emplaceBlock();
  b.setInsertionPointToStart(&extents);
  Value g = extents.addArgument(i32Type, loc);
  enterProblem(g);
  GroupPlace group = getGroup(g);
  // Parts of a tile follow each other.
  SmallVector<Value> yielded{mul(ceilDiv(group.rows, rows), plan.splitK),
                             ceilDiv(parameters.columns, columns)};
  if (ring)
    yielded.push_back(getTileCost(group));
  warpspec::YieldOp::create(b, loc, yielded);
  Block &tile = loop.getBody().emplaceBlock();
  SmallVector<Type> types(loop.getNumTileArguments() + inits.size(), i32Type);
  tile.addArguments(types, SmallVector<Location>(types.size(), loc));
  b.setInsertionPointToStart(&tile);
  enterProblem(tile.getArgument(0));
  if (takesTurns)
    turn = tile.getArgument(3);
  if (isCounted)
    number = tile.getArguments().back();
  if (steps)
    cut = {tile.getArgument(3), tile.getArgument(4)};
  if (inParts)
    partsBefore = tile.getArgument(5);
  Value m = tile.getArgument(1);
  if (plan.splitK > 1) {
    part = arith::RemUIOp::create(b, loc, m, i32(plan.splitK));
    m = div(m, plan.splitK);
  }
  body(tile.getArgument(0), m, tile.getArgument(2));
  SmallVector<Value> next;
  if (takesTurns)
    next.push_back(arith::XOrIOp::create(b, loc, turn, i32(1)));
  if (isCounted)
    next.push_back(add(number, workers));
  warpspec::YieldOp::create(b, loc, next);
}

void KernelBody::fillStages(Value steps,
                            function_ref<void(Value k, AcquireOp fill)> body) {
  fillStages(i32(0), steps, body);
}

void KernelBody::fillStages(Value from, Value to,
                            function_ref<void(Value k, AcquireOp fill)> body) {
  auto loop = scf::ForOp::create(b, loc, from, to, i32(1));
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  auto fill =
      AcquireOp::create(b, loc, input, Value(), Value(), Value(), Value());
  body(loop.getInductionVar(), fill);
  CommitOp::create(b, loc, fill.getToken());
}

Value KernelBody::addOwn(Value start, int64_t extent) {
  return rank ? add(start, mul(rank, extent)) : start;
}

//===----------------------------------------------------------------------===//
// Groups
//===----------------------------------------------------------------------===//

Value KernelBody::loadOffset(Value at) {
  Value offset =
      memref::LoadOp::create(b, loc, parameters.offsets, toIndex(at));
  // Nothing outside the operand is touched, whatever the offsets are.
  Value extent = parameters.depth ? parameters.depth : parameters.rows;
  if (offset.getType().isInteger(64)) {
    Value most = arith::ExtSIOp::create(b, loc, b.getI64Type(), extent);
    Value zero = arith::ConstantIntOp::create(b, loc, 0, 64);
    offset = arith::MaxSIOp::create(b, loc, zero, offset);
    offset = arith::MinSIOp::create(b, loc, offset, most);
    return arith::TruncIOp::create(b, loc, b.getI32Type(), offset);
  }
  return clamp(offset, i32(0), extent);
}

std::pair<mlir::Value, mlir::Value> KernelBody::getRange(Value g) {
  GroupingAttr grouping = op.getGrouping();
  Value begin, end;
  if (grouping.getOffsets() == OffsetsKind::Starts) {
    begin = loadOffset(g);
    end = loadOffset(add(g, i32(1)));
  } else {
    // The end of the group before, rounded up.
    Value isFirst =
        arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, g, i32(0));
    Value before = loadOffset(
        arith::SelectOp::create(b, loc, isFirst, i32(0), sub(g, i32(1))));
    Value start =
        mul(ceilDiv(before, grouping.getAlign()), grouping.getAlign());
    begin = arith::SelectOp::create(b, loc, isFirst, i32(0), start);
    end = loadOffset(g);
  }
  return {begin, arith::MaxSIOp::create(b, loc, sub(end, begin), i32(0))};
}

GroupPlace KernelBody::getGroup(Value g) {
  GroupPlace place;
  GroupingKind kind = op.getGrouping().getKind();
  switch (kind) {
  case GroupingKind::Dense:
    return {i32(0), parameters.rows, i32(0), {}, {}};
  case GroupingKind::Batched:
  case GroupingKind::Masked:
    place.start = mul(g, parameters.rows);
    place.rows = kind == GroupingKind::Masked ? loadOffset(g) : parameters.rows;
    place.scaleAtom = mul(g, ceilDiv(parameters.rows, 128));
    return place;
  case GroupingKind::RaggedRows:
  case GroupingKind::RaggedK:
    break;
  }
  auto [begin, size] = getRange(g);
  if (kind == GroupingKind::RaggedK) {
    // Groups begin at stages of their own (see nvfp4_task_groups).
    place.start = mul(g, parameters.rows);
    place.rows = parameters.rows;
    place.firstStep = add(div(begin, plan.k), g);
    place.steps = ceilDiv(size, plan.k);
    return place;
  }
  place.start = begin;
  place.rows = size;
  Value room = place.start;
  if (parameters.startsByGroup)
    room = add(room, mul(g, 127));
  place.scaleAtom = div(room, 128);
  return place;
}

OperandPlace KernelBody::getOperands(Value g) {
  auto [step, steps] = getPartSteps(parameters.steps);
  if (parameters.problems) {
    Value zero = i32(0);
    return {zero, zero, zero, zero, step, steps};
  }
  GroupPlace group = getGroup(g);
  if (group.steps) {
    Value zero = i32(0);
    // An empty group has a stage of zeros.
    steps = arith::MaxSIOp::create(b, loc, group.steps, i32(1));
    return {zero, zero, zero, zero, group.firstStep, steps};
  }
  return {group.start,
          mul(g, parameters.columns),
          group.scaleAtom,
          mul(g, ceilDiv(parameters.columns, 128)),
          step,
          steps};
}

std::pair<mlir::Value, mlir::Value> KernelBody::getPartSteps(Value steps) {
  if (!part)
    return {Value(), steps};
  Value each = ceilDiv(steps, plan.splitK);
  Value first = mul(part, each);
  return {first, clamp(sub(steps, first), i32(1), each)};
}

mlir::Value KernelBody::getSteps(Value g) {
  return op.getGrouping().getKind() == GroupingKind::RaggedK
             ? getOperands(g).steps
             : getPartSteps(parameters.steps).second;
}

//===----------------------------------------------------------------------===//
// Building
//===----------------------------------------------------------------------===//

Value KernelBody::i32(int64_t value) {
  return arith::ConstantIntOp::create(b, loc, value, 32);
}
Value KernelBody::add(Value a, Value other) {
  return arith::AddIOp::create(b, loc, a, other);
}
Value KernelBody::sub(Value a, Value other) {
  return arith::SubIOp::create(b, loc, a, other);
}
Value KernelBody::mul(Value a, Value other) {
  return arith::MulIOp::create(b, loc, a, other);
}
Value KernelBody::div(Value a, int64_t by) {
  return by == 1 ? a : Value(arith::DivUIOp::create(b, loc, a, i32(by)));
}
Value KernelBody::ceilDiv(Value a, int64_t by) {
  return by == 1 ? a : div(add(a, i32(by - 1)), by);
}
Value KernelBody::clamp(Value a, Value low, Value high) {
  return arith::MinSIOp::create(b, loc, arith::MaxSIOp::create(b, loc, a, low),
                                high);
}
Value KernelBody::less(Value a, Value other) {
  return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt, a, other);
}
Value KernelBody::toIndex(Value value) {
  return arith::IndexCastOp::create(b, loc, b.getIndexType(), value);
}
Value KernelBody::index(int64_t value) {
  return arith::ConstantIndexOp::create(b, loc, value);
}
Value KernelBody::flatten(Value row, Value stride, Value column) {
  Value start = arith::MulIOp::create(b, loc, toIndex(row), toIndex(stride));
  return arith::AddIOp::create(b, loc, start, toIndex(column));
}
Value KernelBody::broadcast(Value scalar, Value like) {
  return vector::BroadcastOp::create(b, loc, like.getType(), scalar);
}
