//===- Launch.cpp - Parameters of a kernel, on both sides -------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Calls of nvfp4_launch.h before the product, arguments of the kernel beside
// them.
//
//===----------------------------------------------------------------------===//

#include "Launch.h"
#include "nvfp4/Conversion/GsgToRuntimeChecks/CheckModule.h"
#include "nvfp4/Runtime/nvfp4_launch.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/BuiltinOps.h"

using namespace mlir;
using namespace nvfp4;
using namespace nvfp4::gsg;
using namespace nvfp4::gsg::kernels;

Launch::Launch(ModuleOp module, Operation *op)
    : host(op), device(op->getContext()), math(host, op->getLoc()),
      module(module), loc(op->getLoc()) {
  constexpr StringLiteral moduleName = "nvfp4_kernels";
  auto kernels = module.lookupSymbol<gpu::GPUModuleOp>(moduleName);
  if (!kernels) {
    OpBuilder end = OpBuilder::atBlockEnd(module.getBody());
    kernels = gpu::GPUModuleOp::create(end, module.getLoc(), moduleName);
  }
  std::string name;
  // Products that share a kernel have a place of their own.
  for (unsigned number = 0; name.empty() || kernels.lookupSymbol(name) ||
                            module.lookupSymbol(name + "_where");
       ++number)
    name = "nvfp4_gemm_" + std::to_string(number);
  device.setInsertionPointToEnd(kernels.getBody());
  kernel =
      warpspec::KernelOp::create(device, loc, name, {}, {}, false, {}, {}, {});
  device.setInsertionPointToStart(&kernel.getBody().emplaceBlock());
  warpspec::KernelOp::ensureTerminator(kernel.getBody(), device, loc);
  device.setInsertionPoint(kernel.getBody().front().getTerminator());

  auto pointer = LLVM::LLVMPointerType::get(host.getContext());
  Value where = text(name + "_where", checks::describePlace(op));
  Value image = later((moduleName + "_image").str(),
                      LLVM::LLVMArrayType::get(host.getI8Type(), 0));
  entry = text(name + "_name", name);
  task = call("nvfp4_task_begin", {where, image, entry}, pointer);
}

Value Launch::text(StringRef name, StringRef text) {
  OpBuilder globals = OpBuilder::atBlockBegin(module.getBody());
  std::string bytes = text.str();
  bytes.push_back('\0');
  auto type = LLVM::LLVMArrayType::get(globals.getI8Type(), bytes.size());
  auto global = LLVM::GlobalOp::create(globals, loc, type, /*isConstant=*/true,
                                       LLVM::Linkage::Internal, name,
                                       globals.getStringAttr(bytes));
  return LLVM::AddressOfOp::create(host, loc, global);
}

Value Launch::later(StringRef name, Type type) {
  auto global = module.lookupSymbol<LLVM::GlobalOp>(name);
  if (!global) {
    OpBuilder globals = OpBuilder::atBlockBegin(module.getBody());
    global = LLVM::GlobalOp::create(globals, loc, type, /*isConstant=*/true,
                                    LLVM::Linkage::External, name, Attribute());
  }
  return LLVM::AddressOfOp::create(host, loc, global);
}

Value Launch::call(StringRef name, ArrayRef<Value> arguments, Type result) {
  auto function = module.lookupSymbol<LLVM::LLVMFuncOp>(name);
  if (!function) {
    OpBuilder end = OpBuilder::atBlockEnd(module.getBody());
    Type returned =
        result ? result : LLVM::LLVMVoidType::get(module.getContext());
    auto type = LLVM::LLVMFunctionType::get(
        returned, llvm::to_vector(ValueRange(arguments).getTypes()));
    function = LLVM::LLVMFuncOp::create(end, module.getLoc(), name, type);
  }
  auto made = LLVM::CallOp::create(host, loc, function, arguments);
  return result ? made.getResult() : Value();
}

Value Launch::addArgument(Type type) {
  if (inTable) {
    rowMaps.push_back(type);
    return {};
  }
  return kernel.getBody().addArgument(type, loc);
}

Value Launch::getAddress(Value memref) {
  Value index =
      memref::ExtractAlignedPointerAsIndexOp::create(host, loc, memref);
  Value word = arith::IndexCastOp::create(host, loc, host.getI64Type(), index);
  return LLVM::IntToPtrOp::create(
      host, loc, LLVM::LLVMPointerType::get(host.getContext()), word);
}

Value Launch::addBuffer(Value memref, HostNumber rows, HostNumber rowBytes,
                        int64_t alignment, int access) {
  return call("nvfp4_task_buffer",
              {task, getAddress(memref), math.toI64(rows), math.toI64(rowBytes),
               math.toI64(math.constant(alignment)), math.i32(access)},
              host.getI32Type());
}

Value Launch::addParts(ValueRange memrefs, HostNumber rows, HostNumber rowBytes,
                       int64_t alignment) {
  if (memrefs.size() == 1)
    return addBuffer(memrefs.front(), rows, rowBytes, alignment, Read);
  auto i64 = [&](int64_t value) { return math.toI64(math.constant(value)); };
  Value buffer = call("nvfp4_task_parts",
                      {task, i64(static_cast<int64_t>(memrefs.size())),
                       math.toI64(rows), math.toI64(rowBytes), i64(alignment)},
                      host.getI32Type());
  fillParts(buffer, memrefs);
  return buffer;
}

Value Launch::addScaleParts(ValueRange memrefs, HostNumber rows,
                            HostNumber rowBytes, HostNumber columns) {
  if (columns.known && *columns.known % 4 == 0)
    return addParts(memrefs, rows, rowBytes, warpspec::kScaleAtomBytes);
  Value buffer = call(
      "nvfp4_task_scales",
      {task, math.toI64(math.constant(static_cast<int64_t>(memrefs.size()))),
       math.toI64(rows), math.toI64(rowBytes), math.toI64(columns)},
      host.getI32Type());
  fillParts(buffer, memrefs);
  return buffer;
}

void Launch::fillParts(Value buffer, ValueRange memrefs) {
  for (auto [number, memref] : llvm::enumerate(memrefs))
    call("nvfp4_task_part",
         {task, buffer, math.toI64(math.constant(static_cast<int64_t>(number))),
          getAddress(memref)});
}

Value Launch::addScratch(HostNumber rows, int64_t rowBytes) {
  Value nothing = LLVM::ZeroOp::create(
      host, loc, LLVM::LLVMPointerType::get(host.getContext()));
  return call("nvfp4_task_buffer",
              {task, nothing, math.toI64(rows),
               math.toI64(math.constant(rowBytes)),
               math.toI64(math.constant(16)), math.i32(Zero)},
              host.getI32Type());
}

Value Launch::addPointer(Value memref, int access, Type element) {
  auto type = cast<MemRefType>(memref.getType());
  HostNumber bytes = math.constant(type.getElementTypeBitWidth() / 8);
  for (int64_t d = 0; d < type.getRank(); ++d)
    bytes = math.mul(bytes, math.dim(memref, d));
  Value buffer = addBuffer(memref, math.constant(1), bytes, 16, access);
  return addPointerTo(buffer, element ? element : type.getElementType());
}

Value Launch::addPointerTo(Value buffer, Type element) {
  call("nvfp4_task_pointer", {task, buffer});
  return addArgument(MemRefType::get({ShapedType::kDynamic}, element,
                                     AffineMap(), host.getI64IntegerAttr(1)));
}

Value Launch::addNumber(HostNumber number) {
  if (number.known)
    return arith::ConstantIntOp::create(device, loc, *number.known, 32);
  call("nvfp4_task_extent", {task, math.toI64(number)});
  return addArgument(host.getI32Type());
}

Value Launch::addLong(Value value) {
  Type i32 = host.getI32Type(), i64 = host.getI64Type();
  auto pass = [&](Value part) -> Value {
    Value word = arith::TruncIOp::create(host, loc, i32, part);
    call("nvfp4_task_i32", {task, word});
    return arith::ExtUIOp::create(device, loc, i64, addArgument(i32));
  };
  Value low = pass(value);
  Value shift = arith::ConstantIntOp::create(host, loc, 32, 64);
  Value high = pass(arith::ShRUIOp::create(host, loc, value, shift));
  shift = arith::ConstantIntOp::create(device, loc, 32, 64);
  high = arith::ShLIOp::create(device, loc, high, shift);
  return arith::OrIOp::create(device, loc, high, low);
}

Value Launch::addFloat(Value value) {
  call("nvfp4_task_f32", {task, value});
  return addArgument(host.getF32Type());
}

Value Launch::addMatrixMap(Value buffer, int32_t type, int64_t boxRows,
                           Type element, int64_t rowValues, int64_t boxBytes) {
  call("nvfp4_task_matrix_map",
       {task, buffer, math.i32(type), math.i32(boxRows), math.i32(boxBytes)});
  return addArgument(warpspec::TensorMapType::get(
      host.getContext(), {boxRows, rowValues}, element, boxBytes));
}

Value Launch::addScaleMap(Value buffer, int64_t atoms, int64_t rows) {
  call("nvfp4_task_scale_map", {task, buffer, math.i32(atoms), math.i32(rows)});
  return addArgument(warpspec::TensorMapType::get(
      host.getContext(), {atoms, rows, 256}, host.getI16Type(), 0));
}

void Launch::setGroups(GroupingAttr grouping, Value offsets, int64_t stage) {
  if (!offsets)
    return;
  bool isStarts = grouping.getOffsets() == OffsetsKind::Starts;
  int32_t kind = 0;
  switch (grouping.getKind()) {
  case GroupingKind::Dense:
  case GroupingKind::Batched:
    return;
  case GroupingKind::Masked:
    kind = NVFP4_TASK_COUNTS;
    break;
  case GroupingKind::RaggedRows:
    kind = isStarts ? NVFP4_TASK_ROW_STARTS : NVFP4_TASK_ROW_ENDS;
    break;
  case GroupingKind::RaggedK:
    kind = isStarts ? NVFP4_TASK_K_STARTS : NVFP4_TASK_K_ENDS;
    break;
  }
  int64_t bits = cast<MemRefType>(offsets.getType()).getElementTypeBitWidth();
  call("nvfp4_task_groups", {task, math.i32(kind), getAddress(offsets),
                             math.i32(bits), math.toI64(math.dim(offsets, 0)),
                             math.toI64(math.constant(grouping.getAlign())),
                             math.toI64(math.constant(stage))});
}

std::pair<Value, Value> Launch::getScaleColumns(const ScaledOperand &operand) {
  int64_t last = cast<MemRefType>(operand.scales.getType()).getRank() - 1;
  return {math.toI64(math.dim(operand.scales, last)),
          math.i32(operand.type.getGroupStart() != GroupStart::Whole)};
}

Value Launch::addValuesOfK(const ScaledOperand &operand, HostNumber columns) {
  return call("nvfp4_task_k_values",
              {task, getAddress(operand.data),
               math.toI64(math.dim(operand.data, 0)), math.toI64(columns),
               math.i32(operand.type.isFP4() ? 4 : 8)},
              host.getI32Type());
}

Value Launch::addScalesOfK(const ScaledOperand &operand, HostNumber columns) {
  auto [scaleColumns, isCompact] = getScaleColumns(operand);
  Value block = math.toI64(math.constant(operand.type.getBlockSize()));
  return call("nvfp4_task_k_scales",
              {task, getAddress(operand.scales),
               math.toI64(math.dim(operand.data, 0)), math.toI64(columns),
               scaleColumns, block, isCompact},
              host.getI32Type());
}

Value Launch::addTokens(const ScaledOperand &rows, HostNumber columns) {
  auto type = cast<MemRefType>(rows.data.getType());
  int64_t rank = type.getRank();
  HostNumber matrices = rank == 3 ? math.dim(rows.data, 0) : math.constant(1);
  int64_t format = -1;
  Value scales = LLVM::ZeroOp::create(
      host, loc, LLVM::LLVMPointerType::get(host.getContext()));
  Value scaleColumns = math.toI64(math.constant(0)), isCompact = math.i32(0);
  if (rows.scales) {
    format = static_cast<int64_t>(rows.type.getFormat());
    scales = getAddress(rows.scales);
    std::tie(scaleColumns, isCompact) = getScaleColumns(rows);
  }
  return call("nvfp4_task_tokens",
              {task, math.i32(format), getAddress(rows.data), scales,
               scaleColumns, isCompact, math.toI64(matrices),
               math.toI64(math.dim(rows.data, rank - 2)), math.toI64(columns)},
              host.getI32Type());
}

Value Launch::addCodedWeights(ArrayRef<ScaledOperand> weights, bool isF16,
                              HostNumber matrices, HostNumber rows,
                              HostNumber columns, Value &factors) {
  auto i64 = [&](int64_t value) { return math.toI64(math.constant(value)); };
  BlockFormat format = weights.front().type.getFormat();
  Value buffer =
      call("nvfp4_task_coded_weights",
           {task, math.i32(static_cast<int64_t>(format)), math.i32(isF16),
            i64(static_cast<int64_t>(weights.size())), math.toI64(matrices),
            math.toI64(rows), math.toI64(columns)},
           host.getI32Type());
  for (auto [i, part] : llvm::enumerate(weights)) {
    if (part.type.isCoded()) {
      call("nvfp4_task_precoded_part",
           {task, buffer, i64(static_cast<int64_t>(i)), getAddress(part.data),
            getAddress(part.scales)});
      continue;
    }
    auto [scaleColumns, isCompact] = getScaleColumns(part);
    call("nvfp4_task_coded_part",
         {task, buffer, i64(static_cast<int64_t>(i)), getAddress(part.data),
          getAddress(part.scales), scaleColumns, isCompact});
  }
  auto pointTo = [&](Type element) {
    return addArgument(MemRefType::get({ShapedType::kDynamic}, element,
                                       AffineMap(), host.getI64IntegerAttr(1)));
  };
  call("nvfp4_task_pointer", {task, buffer});
  Value bytes = pointTo(host.getI8Type());
  if (format != BlockFormat::NVFP4) {
    call("nvfp4_task_coded_factors", {task, buffer});
    factors = pointTo(host.getF32Type());
  }
  return bytes;
}

SmallVector<Value> Launch::addTokenMaps(Value buffer, Type element,
                                        int64_t most, int64_t blocks) {
  SmallVector<Value> maps;
  for (int64_t rows = 8; rows <= most; rows += 8) {
    call("nvfp4_task_token_map",
         {task, buffer, math.i32(rows), math.i32(blocks)});
    maps.push_back(addArgument(warpspec::TensorMapType::get(
        host.getContext(), {blocks, rows, 64}, element, 128)));
  }
  return maps;
}

void Launch::beginTableRow() {
  inTable = true;
  rowMaps.clear();
  call("nvfp4_task_table_row", {task});
}

void Launch::addTableNumber(HostNumber number) {
  call("nvfp4_task_extent", {task, math.toI64(number)});
}

void Launch::addTablePointer(Value buffer) {
  call("nvfp4_task_pointer", {task, buffer});
}

Launch::Table Launch::endTable() {
  inTable = false;
  Value buffer = call("nvfp4_task_table_end", {task}, host.getI32Type());
  auto global = host.getI64IntegerAttr(1);
  auto add = [&](ArrayRef<int64_t> shape, Type element) {
    call("nvfp4_task_pointer", {task, buffer});
    return addArgument(MemRefType::get(shape, element, AffineMap(), global));
  };
  return {add({ShapedType::kDynamic, 128}, host.getI8Type()),
          add({ShapedType::kDynamic}, host.getI32Type()), rowMaps};
}

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
    // A kernel that stood in the module before has no name to launch it by.
    std::string otherName = (other.getSymName() + "_name").str();
    if (other == kernel || !module.lookupSymbol(otherName) ||
        !areEqual(other, kernel))
      continue;
    auto name = entry.getDefiningOp<LLVM::AddressOfOp>();
    module.lookupSymbol(name.getGlobalName())->erase();
    name.setGlobalName(otherName);
    kernel.erase();
    kernel = other;
    return;
  }
}

void Launch::run(HostNumber blocks) {
  auto load = [&](StringRef what) -> Value {
    return LLVM::LoadOp::create(
        host, loc, host.getI32Type(),
        later((kernel.getSymName() + what).str(), host.getI32Type()));
  };
  Value threads = load("_threads");
  Value shared = load("_shared_bytes");
  Value flags = load("_flags");
  call("nvfp4_task_run", {task, math.toI64(blocks), threads, shared,
                          math.i32(kernel.getCluster().value_or(1)), flags});
}
