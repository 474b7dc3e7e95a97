//===- Launch.cpp - Parameters of a kernel, on both sides -------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Copies, tensor maps and the launch before the product, arguments of the
// kernel beside them. What is staged is in LaunchStaging.cpp.
//
//===----------------------------------------------------------------------===//

#include "Launch.h"
#include "nvfp4/Dialect/DeviceMemory.h"
#include "nvfp4/Dialect/GroupedScaledGemm/Transforms/KernelSupport.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/BuiltinOps.h"

using namespace mlir;
using namespace nvfp4;
using namespace nvfp4::gsg;
using namespace nvfp4::gsg::kernels;

/// The location of `op`, which also says its name.
static Location nameLocation(Operation *op) {
  return NameLoc::get(
      StringAttr::get(op->getContext(), op->getName().getStringRef()),
      op->getLoc());
}

Launch::Launch(ModuleOp module, Operation *op)
    : host(op), device(op->getContext()), math(host, nameLocation(op)),
      module(module), loc(nameLocation(op)) {
  auto kernels = module.lookupSymbol<gpu::GPUModuleOp>(kKernelModule);
  if (!kernels) {
    OpBuilder end = OpBuilder::atBlockEnd(module.getBody());
    kernels = gpu::GPUModuleOp::create(end, module.getLoc(), kKernelModule);
  }
  std::string name;
  for (unsigned number = 0; name.empty() || kernels.lookupSymbol(name);
       ++number)
    name = "nvfp4_gemm_" + std::to_string(number);
  device.setInsertionPointToEnd(kernels.getBody());
  kernel = warpspec::KernelOp::create(device, op->getLoc(), name, {}, {}, false,
                                      {}, {}, {});
  device.setInsertionPointToStart(&kernel.getBody().emplaceBlock());
  warpspec::KernelOp::ensureTerminator(kernel.getBody(), device, loc);
  device.setInsertionPoint(kernel.getBody().front().getTerminator());
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

static int64_t getElementBytes(Type element) {
  return element.getIntOrFloatBitWidth() / 8;
}

Value Launch::allocate(HostNumber rows, HostNumber rowBytes, Type element) {
  return allocate({rows, math.ceilDiv(rowBytes, getElementBytes(element))},
                  element);
}

Value Launch::allocate(ArrayRef<HostNumber> extents, Type element) {
  SmallVector<int64_t> shape;
  SmallVector<Value> sizes;
  for (HostNumber extent : extents) {
    // Nothing has an address if it has no bytes.
    extent = math.atLeastOne(extent);
    shape.push_back(extent.known.value_or(ShapedType::kDynamic));
    if (!extent.known)
      sizes.push_back(math.toIndex(extent));
  }
  MemRefType type = getDenseMemory(MemRefType::get(shape, element), true);
  Value memory = gpu::AllocOp::create(host, loc, type, /*asyncToken=*/Type(),
                                      /*asyncDependencies=*/ValueRange(), sizes,
                                      /*symbolOperands=*/ValueRange())
                     .getMemref();
  allocations.push_back(memory);
  return memory;
}

void Launch::clear(Value memory) {
  Type element = cast<MemRefType>(memory.getType()).getElementType();
  TypedAttr bits = host.getZeroAttr(element);
  // A scale of UE8M0 is never zero, but its bits may be.
  if (auto type = dyn_cast<FloatType>(element))
    bits = FloatAttr::get(type, APFloat(type.getFloatSemantics(),
                                        APInt::getZero(type.getWidth())));
  Value zero = arith::ConstantOp::create(host, loc, bits);
  gpu::MemsetOp::create(host, loc, /*asyncToken=*/Type(),
                        /*asyncDependencies=*/ValueRange(), memory, zero);
}

void Launch::copyRows(Value memref, Value staged, HostNumber first,
                      HostNumber rows, HostNumber rowBytes, bool isBack) {
  Type element = cast<MemRefType>(memref.getType()).getElementType();
  HostNumber values = math.ceilDiv(rowBytes, getElementBytes(element));
  /// `rows` rows of `values`, one every so many.
  auto view = [&](Value memory, HostNumber offset, HostNumber stride) -> Value {
    auto known = [](HostNumber number) {
      return number.known.value_or(ShapedType::kDynamic);
    };
    auto type =
        MemRefType::get({known(rows), known(values)}, element,
                        StridedLayoutAttr::get(host.getContext(), known(offset),
                                               {known(stride), 1}),
                        cast<MemRefType>(memory.getType()).getMemorySpace());
    return memref::ReinterpretCastOp::create(
        host, loc, type, memory, math.toFoldResult(offset),
        {math.toFoldResult(rows), math.toFoldResult(values)},
        {math.toFoldResult(stride), host.getIndexAttr(1)});
  };
  HostNumber pitch = math.dim(staged, 1);
  Value whole = view(memref, math.constant(0), values);
  Value part = view(staged, math.mul(first, pitch), pitch);
  gpu::MemcpyOp::create(host, loc, /*asyncToken=*/Type(),
                        /*asyncDependencies=*/ValueRange(),
                        isBack ? whole : part, isBack ? part : whole);
}

/// Rows that begin at multiples of `alignment`, at least one.
static HostNumber getPitch(HostMath &math, HostNumber rowBytes,
                           int64_t alignment) {
  return math.mul(math.ceilDiv(math.atLeastOne(rowBytes), alignment),
                  math.constant(alignment));
}

/// Whether rows are known to need no padding. Rows of no bytes have zeros in
/// it.
static bool areAligned(HostNumber rowBytes, int64_t alignment) {
  return alignment == 1 || (rowBytes.known && *rowBytes.known > 0 &&
                            *rowBytes.known % alignment == 0);
}

Buffer Launch::addBuffer(Value memref, HostNumber rows, HostNumber rowBytes,
                         int64_t alignment, int access) {
  HostNumber pitch = getPitch(math, rowBytes, alignment);
  if (access & Odd) {
    Value staged = allocate(rows, pitch, host.getI8Type());
    warpspec::StageOddValuesOp::create(host, loc, memref, staged);
    return {staged, rows, rowBytes, pitch};
  }
  if (areAligned(rowBytes, alignment)) {
    if (access & Zero)
      clear(memref);
    return {memref, rows, rowBytes, pitch};
  }
  Type element = cast<MemRefType>(memref.getType()).getElementType();
  Value staged = allocate(rows, pitch, element);
  clear(staged);
  // What is written in part keeps the rest, so it is copied there as well.
  if (!(access & Zero))
    copyRows(memref, staged, math.constant(0), rows, rowBytes,
             /*isBack=*/false);
  if (access & Write)
    results.push_back({memref, staged, rows, rowBytes});
  return {staged, rows, rowBytes, pitch};
}

Buffer Launch::addScratch(HostNumber rows, int64_t rowBytes) {
  HostNumber bytes = math.constant(rowBytes);
  Value memory = allocate(rows, bytes, host.getI8Type());
  clear(memory);
  return {memory, rows, bytes, bytes};
}

//===----------------------------------------------------------------------===//
// Parameters
//===----------------------------------------------------------------------===//

Value Launch::addParameter(Value value, Type type, bool isWritten) {
  if (isWritten)
    written.push_back(static_cast<int32_t>(parameters.size()));
  parameters.push_back(value);
  return kernel.getBody().addArgument(type, kernel.getLoc());
}

Value Launch::addPointer(Value memref, int access, Type element) {
  if (access & Zero)
    clear(memref);
  if (!element)
    element = cast<MemRefType>(memref.getType()).getElementType();
  return addPointerTo({memref, {}, {}, {}}, element, access);
}

Value Launch::addPointerTo(const Buffer &buffer, Type element, int access) {
  return addParameter(buffer.memory,
                      MemRefType::get({ShapedType::kDynamic}, element,
                                      AffineMap(), host.getI64IntegerAttr(1)),
                      access & Write);
}

Value Launch::addNumber(HostNumber number) {
  if (number.known)
    return arith::ConstantIntOp::create(device, loc, *number.known, 32);
  return addParameter(math.toIndex(number), host.getI32Type());
}

Value Launch::addLong(Value value) {
  Type i32 = host.getI32Type(), i64 = host.getI64Type();
  auto pass = [&](Value part) -> Value {
    Value word = arith::TruncIOp::create(host, loc, i32, part);
    return arith::ExtUIOp::create(device, loc, i64, addParameter(word, i32));
  };
  Value low = pass(value);
  Value shift = arith::ConstantIntOp::create(host, loc, 32, 64);
  Value high = pass(arith::ShRUIOp::create(host, loc, value, shift));
  shift = arith::ConstantIntOp::create(device, loc, 32, 64);
  high = arith::ShLIOp::create(device, loc, high, shift);
  return arith::OrIOp::create(device, loc, high, low);
}

Value Launch::addAddress(Value value) {
  return addParameter(value, host.getI64Type());
}

Value Launch::addFloat(Value value) {
  return addParameter(value, host.getF32Type());
}

//===----------------------------------------------------------------------===//
// Tensor maps
//===----------------------------------------------------------------------===//

Value Launch::addMap(const Buffer &buffer, warpspec::TensorMapType type,
                     ArrayRef<HostNumber> sizes, ArrayRef<HostNumber> strides,
                     ValueRange box) {
  auto fold = [&](ArrayRef<HostNumber> numbers) {
    return llvm::map_to_vector(numbers, [&](const HostNumber &number) {
      return math.toFoldResult(number);
    });
  };
  Value map = warpspec::EncodeTensorMapOp::create(
      host, loc, type, buffer.memory, fold(sizes), fold(strides), box);
  if (!inTable)
    return addParameter(map, type);
  tableValues.push_back(map);
  rowMaps.push_back(type);
  return {};
}

Value Launch::addMatrixMap(const Buffer &buffer, int64_t boxRows, Type element,
                           int64_t rowValues, int64_t boxBytes) {
  // TMA pads whole runs of 128 values: those behind a row's end are zeros.
  bool isPadded = isa<Float4E2M1FNType>(element);
  HostNumber values =
      isPadded ? math.mul(buffer.pitch, math.constant(2)) : buffer.rowBytes;
  auto type = warpspec::TensorMapType::get(
      host.getContext(), {boxRows, rowValues}, element, boxBytes);
  return addMap(buffer, type, {buffer.rows, values}, {buffer.pitch});
}

Value Launch::addScaleMap(const Buffer &buffer, int64_t atoms, int64_t rows) {
  constexpr int64_t atomBytes = warpspec::kScaleAtomBytes;
  auto type = warpspec::TensorMapType::get(
      host.getContext(), {atoms, rows, atomBytes / 2}, host.getI16Type(), 0);
  // A matrix is a stack of its columns of atoms, so that a box holds whole
  // atoms one after the other.
  return addMap(buffer, type,
                {math.ceilDiv(buffer.pitch, atomBytes), buffer.rows,
                 math.constant(atomBytes / 2)},
                {math.constant(atomBytes), buffer.pitch});
}

Value Launch::addTokenMapOf(const Buffer &buffer, Type element, int64_t rows,
                            int64_t blocks, ValueRange box) {
  constexpr int64_t blockValues = 64, blockBytes = 128;
  auto type = warpspec::TensorMapType::get(
      host.getContext(), {blocks, rows, blockValues}, element, blockBytes);
  return addMap(buffer, type,
                {math.ceilDiv(buffer.pitch, blockBytes), buffer.rows,
                 math.constant(blockValues)},
                {math.constant(blockBytes), buffer.pitch}, box);
}

SmallVector<Value> Launch::addTokenMaps(const Buffer &buffer, Type element,
                                        int64_t most, int64_t blocks) {
  SmallVector<Value> maps;
  for (int64_t rows = 8; rows <= most; rows += 8)
    maps.push_back(addTokenMap(buffer, element, rows, blocks));
  return maps;
}

void Launch::addTokenMap(const Buffer &buffer, Type element, HostNumber rows,
                         int64_t blocks) {
  assert(inTable && "parameters have a family of maps");
  addTokenMapOf(buffer, element, ShapedType::kDynamic, blocks,
                math.toIndex(rows));
}

//===----------------------------------------------------------------------===//
// Tables of problems
//===----------------------------------------------------------------------===//

void Launch::beginTableRow() {
  inTable = true;
  rowMaps.clear();
  ++tableRows;
}

void Launch::addTableNumber(HostNumber number) {
  tableValues.push_back(math.toIndex(number));
}

void Launch::addTablePointer(Value memory) { tableValues.push_back(memory); }

Launch::Table Launch::endTable() {
  inTable = false;
  constexpr int64_t entryBytes = 4 * Table::kEntryWords;
  auto entries = static_cast<int64_t>(rowMaps.size()) + 1;
  Value table = allocate(math.constant(tableRows * entries),
                         math.constant(entryBytes), host.getI8Type());
  if (tableRows > 0)
    warpspec::WriteTableOp::create(host, loc, /*asyncToken=*/Type(),
                                   /*asyncDependencies=*/ValueRange(), table,
                                   static_cast<uint32_t>(tableRows),
                                   tableValues);
  auto global = host.getI64IntegerAttr(1);
  auto add = [&](ArrayRef<int64_t> shape, Type element) {
    return addParameter(table,
                        MemRefType::get(shape, element, AffineMap(), global));
  };
  return {add({ShapedType::kDynamic, entryBytes}, host.getI8Type()),
          add({ShapedType::kDynamic}, host.getI32Type()), rowMaps};
}

//===----------------------------------------------------------------------===//
// The launch
//===----------------------------------------------------------------------===//

static bool areEqual(warpspec::KernelOp a, warpspec::KernelOp b) {
  auto getAttributes = [](warpspec::KernelOp kernel) {
    NamedAttrList attributes(kernel->getAttrs());
    attributes.erase(kernel.getSymNameAttrName());
    return attributes.getDictionary(kernel.getContext());
  };
  return getAttributes(a) == getAttributes(b) &&
         OperationEquivalence::isRegionEquivalentTo(
             &a.getBody(), &b.getBody(), OperationEquivalence::IgnoreLocations);
}

void Launch::shareEqualKernel() {
  auto kernels = cast<gpu::GPUModuleOp>(kernel->getParentOp());
  for (auto other : kernels.getOps<warpspec::KernelOp>()) {
    if (other == kernel || !areEqual(other, kernel))
      continue;
    kernel.erase();
    kernel = other;
    return;
  }
}

void Launch::run(HostNumber tiles) {
  auto kernels = cast<gpu::GPUModuleOp>(kernel->getParentOp());
  auto symbol = SymbolRefAttr::get(
      kernels.getNameAttr(), FlatSymbolRefAttr::get(kernel.getSymNameAttr()));
  warpspec::LaunchOp::create(host, loc, /*asyncToken=*/Type(),
                             /*asyncDependencies=*/ValueRange(), symbol,
                             math.toIndex(tiles), parameters, written);
  for (const Result &result : results)
    copyRows(result.memref, result.staged, math.constant(0), result.rows,
             result.rowBytes, /*isBack=*/true);
  for (Value memory : allocations)
    gpu::DeallocOp::create(host, loc, /*asyncToken=*/Type(),
                           /*asyncDependencies=*/ValueRange(), memory);
}
