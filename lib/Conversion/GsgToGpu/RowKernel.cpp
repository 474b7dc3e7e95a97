//===- RowKernel.cpp - Kernels by rows of their result ----------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Blocks of 128 threads: the pieces of a row lie along y, which CUDA limits to
// 65,535; rows lie along x, of which there may be 2^31 - 1.
//
//===----------------------------------------------------------------------===//

#include "RowKernel.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace nvfp4::gsg;
using namespace nvfp4::gsg::togpu;

static constexpr int64_t kThreads = 128;
static constexpr int64_t kVectorBytes = 16;

Value togpu::getMatrix(LoopBuilder &b, Value memref) {
  auto type = cast<MemRefType>(memref.getType());
  if (type.getRank() == 2)
    return memref;
  SmallVector<ReassociationIndices> groups;
  if (type.getRank() == 1) {
    auto target =
        MemRefType::get({1, type.getDimSize(0)}, type.getElementType(),
                        AffineMap(), type.getMemorySpace());
    groups.push_back({0, 1});
    SmallVector<OpFoldResult> sizes{b.builder.getIndexAttr(1)};
    if (type.isDynamicDim(0))
      sizes.push_back(b.dim(memref, 0));
    else
      sizes.push_back(b.builder.getIndexAttr(type.getDimSize(0)));
    return memref::ExpandShapeOp::create(b.builder, b.loc, target, memref,
                                         groups, sizes);
  }
  groups.resize(2);
  for (int64_t d = 0; d + 1 < type.getRank(); ++d)
    groups[0].push_back(d);
  groups[1].push_back(type.getRank() - 1);
  return memref::CollapseShapeOp::create(b.builder, b.loc, memref, groups);
}

int64_t togpu::countLanes(ValueRange matrices, int64_t columns) {
  if (ShapedType::isDynamic(columns))
    return 1;
  int64_t lanes = kVectorBytes;
  for (Value matrix : matrices) {
    auto type = cast<MemRefType>(matrix.getType());
    if (!type.getLayout().isIdentity())
      return 1;
    lanes = std::min(lanes,
                     kVectorBytes * 8 / int64_t(type.getElementTypeBitWidth()));
  }
  while (columns % lanes)
    lanes /= 2;
  return lanes;
}

void togpu::launchRows(LoopBuilder &b, StringRef name, Value out, int64_t lanes,
                       function_ref<void(Value row, Value column)> body,
                       bool startEarly) {
  OpBuilder &builder = b.builder;
  Location loc = b.loc;
  Value one = b.index(1), threads = b.index(kThreads);
  Value pieces = arith::CeilDivUIOp::create(builder, loc, b.dim(out, 1),
                                            b.index(kThreads * lanes));
  auto launch = gpu::LaunchOp::create(builder, loc, b.dim(out, 0), pieces, one,
                                      threads, one, one);
  nameKernel(launch, name);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(&launch.getBody().front());
  if (startEarly)
    beginKernel(b);
  Value row = launch.getBlockIds().x;
  Value thread =
      b.add(b.mul(launch.getBlockIds().y, threads), launch.getThreadIds().x);
  Value column = lanes > 1 ? b.mul(thread, b.index(lanes)) : thread;
  b.ifThen(b.cmp(arith::CmpIPredicate::ult, column, b.dim(out, 1)),
           [&] { body(row, column); });
  gpu::TerminatorOp::create(builder, loc);
}

void togpu::launchBlocks(LoopBuilder &b, StringRef name, Value blocks,
                         int64_t threads, ArrayRef<int64_t> shared,
                         function_ref<void(const BlockCode &)> body,
                         Type element) {
  auto space = gpu::AddressSpaceAttr::get(b.builder.getContext(),
                                          gpu::AddressSpace::Workgroup);
  SmallVector<Type> buffers;
  for (int64_t count : shared)
    buffers.push_back(
        MemRefType::get(count, element ? element : b.i32, AffineMap(), space));
  Value one = b.index(1);
  auto launch = gpu::LaunchOp::create(
      b.builder, b.loc, blocks, one, one, b.index(threads), one, one,
      /*dynamicSharedMemorySize=*/Value(), /*asyncTokenType=*/Type(),
      /*asyncDependencies=*/ValueRange(), buffers);
  nameKernel(launch, name);
  OpBuilder::InsertionGuard guard(b.builder);
  b.builder.setInsertionPointToStart(&launch.getBody().front());
  beginKernel(b);
  SmallVector<Value> arrays(launch.getWorkgroupAttributions());
  body({launch.getBlockIds().x, launch.getThreadIds().x, arrays});
  gpu::TerminatorOp::create(b.builder, b.loc);
}

void togpu::forRange(LoopBuilder &b, Value from, Value to, Value step,
                     function_ref<void(Value)> body) {
  auto loop = scf::ForOp::create(b.builder, b.loc, from, to, step);
  OpBuilder::InsertionGuard guard(b.builder);
  b.builder.setInsertionPointToStart(loop.getBody());
  body(loop.getInductionVar());
}

SmallVector<Value>
togpu::branchValues(LoopBuilder &b, Value condition,
                    function_ref<SmallVector<Value>()> thenValues,
                    function_ref<SmallVector<Value>()> elseValues) {
  auto build = [&](function_ref<SmallVector<Value>()> values) {
    return [&b, values](OpBuilder &, Location) {
      scf::YieldOp::create(b.builder, b.loc, values());
    };
  };
  return SmallVector<Value>(scf::IfOp::create(b.builder, b.loc, condition,
                                              build(thenValues),
                                              build(elseValues))
                                .getResults());
}

Type togpu::getLaneType(Type element, int64_t lanes) {
  return lanes == 1 ? element : VectorType::get({lanes}, element);
}

/// Bytes of a vector, and what its address is a multiple of.
static llvm::MaybeAlign getAlignment(Type element, int64_t lanes) {
  int64_t bytes = element.getIntOrFloatBitWidth() / 8 * lanes;
  return llvm::Align(std::min(bytes, kVectorBytes));
}

/// The matrix by generic pointers: the patterns of vectors know no spaces of
/// gpu. LLVM finds the space again.
static Value forgetSpace(LoopBuilder &b, Value matrix) {
  auto type = cast<MemRefType>(matrix.getType());
  auto generic =
      MemRefType::get(type.getShape(), type.getElementType(), type.getLayout());
  return memref::MemorySpaceCastOp::create(b.builder, b.loc, generic, matrix);
}

Value togpu::loadLanes(LoopBuilder &b, Value matrix, Value row, Value column,
                       int64_t lanes) {
  if (lanes == 1)
    return b.load(matrix, {row, column});
  Type element = cast<MemRefType>(matrix.getType()).getElementType();
  return vector::LoadOp::create(
      b.builder, b.loc, VectorType::get({lanes}, element),
      forgetSpace(b, matrix), ValueRange{row, column}, /*nontemporal=*/false,
      getAlignment(element, lanes));
}

void togpu::storeLanes(LoopBuilder &b, Value value, Value matrix, Value row,
                       Value column) {
  auto type = dyn_cast<VectorType>(value.getType());
  if (!type)
    return b.store(value, matrix, {row, column});
  vector::StoreOp::create(
      b.builder, b.loc, value, forgetSpace(b, matrix), ValueRange{row, column},
      /*nontemporal=*/false,
      getAlignment(type.getElementType(), type.getNumElements()));
}

std::pair<Value, Value> togpu::splitF64(LoopBuilder &b, Value value) {
  Value parts = vector::BitCastOp::create(
      b.builder, b.loc, VectorType::get(2, b.i32),
      vector::FromElementsOp::create(b.builder, b.loc,
                                     VectorType::get(1, b.f64), value));
  auto half = [&](int64_t i) -> Value {
    return vector::ExtractOp::create(b.builder, b.loc, parts, i);
  };
  return {half(0), half(1)};
}

Value togpu::joinF64(LoopBuilder &b, Value low, Value high) {
  Value parts = vector::FromElementsOp::create(
      b.builder, b.loc, VectorType::get(2, b.i32), ValueRange{low, high});
  Value wide = vector::BitCastOp::create(b.builder, b.loc,
                                         VectorType::get(1, b.f64), parts);
  return vector::ExtractOp::create(b.builder, b.loc, wide, 0);
}

Value togpu::addOverWarp(LoopBuilder &b, Value sum, int64_t share) {
  constexpr int32_t warp = 32;
  for (int32_t distance = warp / 2; distance >= share; distance /= 2) {
    auto [low, high] = splitF64(b, sum);
    auto exchange = [&](Value half) -> Value {
      return gpu::ShuffleOp::create(b.builder, b.loc, half, distance, warp,
                                    gpu::ShuffleMode::XOR)
          .getShuffleResult();
    };
    Value otherLow = exchange(low);
    sum = b.addF(sum, joinF64(b, otherLow, exchange(high)));
  }
  return sum;
}
