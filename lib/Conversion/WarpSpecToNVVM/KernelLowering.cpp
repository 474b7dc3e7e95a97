//===- KernelLowering.cpp - The frame of a kernel's lowering ----*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Function, parameters and types around what the Lower*.cpp files rewrite.
//
//===----------------------------------------------------------------------===//

#include "KernelLowering.h"

#include "mlir/Conversion/LLVMCommon/MemRefBuilder.h"
#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace nvfp4::warpspec;

KernelLowering::KernelLowering(KernelOp kernel, LLVM::GlobalOp shared)
    : kernel(kernel), shared(shared), rewriter(kernel.getContext()),
      loc(kernel.getLoc()) {}

LogicalResult KernelLowering::run() {
  if (kernel.getRoles())
    return kernel.emitOpError("expected no roles; run warpspec-lower-roles");
  if (!kernel.getThreads() || !kernel.getSharedBytes())
    return kernel.emitOpError(
        "expected threads and shared_bytes, which warpspec-lower-roles and "
        "warpspec-plan-memory make, the former of `roles`");
  if (failed(verifyPlanned(kernel)) || failed(collect()))
    return failure();
  rewriter.setInsertionPointToStart(&kernel.getBody().front());
  Value pointer = LLVM::AddressOfOp::create(rewriter, loc, shared);
  sharedBase = LLVM::PtrToIntOp::create(rewriter, loc, getI32(), pointer);
  if (failed(lowerBody()))
    return failure();
  createFunction();
  return success();
}

/// What the dialect can say and this conversion does not do.
static LogicalResult checkSupported(Operation *op) {
  if (auto load = dyn_cast<TmaLoadRowsOp>(op)) {
    auto first = dyn_cast<BlockArgument>(load.getMaps().front());
    for (auto [i, map] : llvm::enumerate(load.getMaps())) {
      auto next = dyn_cast<BlockArgument>(map);
      if (!first || !next || !isa<KernelOp>(next.getOwner()->getParentOp()) ||
          next.getArgNumber() != first.getArgNumber() + i)
        return op->emitOpError("expected maps that are parameters of the "
                               "kernel, one after the other");
    }
  }
  if (auto acquire = dyn_cast<AcquireOp>(op);
      acquire && !acquire.getIssuer() &&
      getPipelineOp(acquire.getPipeline()).getConsumer() == Agent::Tma)
    return op->emitOpError("expected an issuer, the thread whose bulk groups "
                           "are waited for; run warpspec-lower-roles");
  return success();
}

LogicalResult KernelLowering::collect() {
  WalkResult walk = kernel.walk([&](Operation *op) {
    if (isa<WarpSpecDialect>(op->getDialect()))
      operandTypes[op].assign(op->operand_type_begin(), op->operand_type_end());
    if (failed(checkSupported(op)))
      return WalkResult::interrupt();
    if (auto pipeline = dyn_cast<PipelineOp>(op))
      for (auto [buffer, type] : llvm::zip_equal(
               pipeline.getBuffers(), pipeline.getType().getSlots())) {
        auto slot = cast<MemRefType>(type);
        int64_t size =
            isSmem(slot) ? getSharedBytes(slot) : getTmemColumns(slot);
        if (auto alloc = buffer.getDefiningOp<TmemAllocOp>())
          size = alloc.getSlotStride();
        strides[op].push_back(size);
      }
    if (isa<CommitOp, ReleaseOp>(op)) {
      pipelines[op] = getPipelineOf(op->getOperand(0));
    } else if (auto agent = dyn_cast<AgentOpInterface>(op)) {
      if (Value fill = agent.getCountedFill()) {
        Operation *opener = getOpener(fill);
        if (!opener) {
          op->emitOpError("expected a fill that an acquire made");
          return WalkResult::interrupt();
        }
        if (opener->getBlock() != op->getBlock()) {
          op->emitOpError("expected to be in the block of its acquire, which "
                          "expects a constant number of bytes");
          return WalkResult::interrupt();
        }
        pipelines[op] = getPipelineOf(fill);
        if (Value count = agent.getTransactionCount())
          countedBytes[opener].push_back({count, agent.getTransactionBytes()});
        else
          bytes[opener] += agent.getTransactionBytes();
      }
    }
    return WalkResult::advance();
  });
  return failure(walk.wasInterrupted());
}

/// What multiplied fragments has been lowered with what used the results.
static void eraseUsers(RewriterBase &rewriter, Value fragment) {
  for (Operation *user : llvm::make_early_inc_range(fragment.getUsers())) {
    eraseUsers(rewriter, user->getResult(0));
    rewriter.eraseOp(user);
  }
}

LogicalResult KernelLowering::lowerBody() {
  SmallVector<Operation *> ops;
  kernel.getBody().walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (isa<WarpSpecDialect>(op->getDialect()))
      ops.push_back(op);
  });
  for (Operation *op : ops) {
    rewriter.setInsertionPoint(op);
    loc = op->getLoc();
    if (auto stage = dyn_cast<StageFragmentOp>(op)) {
      if (failed(lowerFragment(stage)))
        return failure();
      continue;
    }
    if (auto store = dyn_cast<StoreFragmentOp>(op)) {
      if (failed(lowerFragment(store)))
        return failure();
      continue;
    }
    if (auto sum = dyn_cast<AddFragmentsOp>(op)) {
      if (failed(lowerFragment(sum)))
        return failure();
      continue;
    }
    bool known =
        llvm::TypeSwitch<Operation *, bool>(op)
            .Case<AcquireOp, WaitOp, CommitOp, ReleaseOp, TryAcquireOp,
                  TryWaitOp, DrainAllOp, InitBarriersOp, SmemAllocOp,
                  TmemAllocOp, TmemJoinOp, TmemSliceOp, PipelineOp, SmemLoadOp,
                  SmemStoreOp, PublishOp, AwaitOp, TensorMapOp, TmaLoadOp,
                  TmaLoadRowsOp, BulkLoadOp, TmaStoreOp, CopyScalesOp,
                  MmaScaledOp, MmaDecodedOp, TmemLoadOp, TmemStoreOp,
                  TmemWaitOp, FenceOp, ReserveTmemOp, ReleaseTmemOp>(
                [&](auto known) {
                  lower(known);
                  return true;
                })
            .Case([](EndOp) { return true; })
            .Default([](Operation *) { return false; });
    if (!known)
      return op->emitOpError("expected an operation that kernels have after "
                             "warpspec-lower-roles");
  }
  for (MmaDecodedOp product : products) {
    eraseUsers(rewriter, product.getResult());
    rewriter.eraseOp(product);
  }
  // Kept until now: every acquire and wait asks its pipeline.
  for (PipelineOp pipeline :
       llvm::make_early_inc_range(kernel.getOps<PipelineOp>()))
    rewriter.eraseOp(pipeline);
  return success();
}

//===----------------------------------------------------------------------===//
// Function
//===----------------------------------------------------------------------===//

Type KernelLowering::convertType(Type type) {
  if (isa<FillType, DrainType, PipelineType>(type) || isSmem(type) ||
      isTmem(type))
    return getI32();
  if (isa<TensorMapType>(type))
    return LLVM::LLVMPointerType::get(type.getContext());
  return type;
}

void KernelLowering::convertTypes(Operation *root) {
  root->walk([&](Operation *op) {
    for (OpResult result : op->getResults())
      result.setType(convertType(result.getType()));
    for (Region &region : op->getRegions())
      for (Block &block : region)
        for (BlockArgument arg : block.getArguments())
          arg.setType(convertType(arg.getType()));
  });
}

void KernelLowering::createFunction() {
  MLIRContext *context = kernel.getContext();
  loc = kernel.getLoc();
  Block &body = kernel.getBody().front();
  SmallVector<Type> before(body.getArgumentTypes());
  SmallVector<Type> types;
  for (Type type : before)
    types.push_back(isa<MemRefType>(type)
                        ? LLVM::LLVMPointerType::get(context, 1)
                        : convertType(type));
  rewriter.setInsertionPoint(kernel);
  auto function = LLVM::LLVMFuncOp::create(
      rewriter, loc, kernel.getSymName(),
      LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(context), types));
  function->setAttr(gpu::GPUDialect::getKernelFuncAttrName(),
                    rewriter.getUnitAttr());
  function->setAttr("nvvm.kernel", rewriter.getUnitAttr());
  int32_t threads = *kernel.getThreads();
  function->setAttr("nvvm.reqntid",
                    rewriter.getDenseI32ArrayAttr({threads, 1, 1}));
  function->setAttr("nvvm.minctasm", rewriter.getI32IntegerAttr(1));
  if (int32_t cluster = kernel.getCluster().value_or(1); cluster > 1)
    function->setAttr("nvvm.cluster_dim",
                      rewriter.getDenseI32ArrayAttr({cluster, 1, 1}));
  function->setAttr("nvfp4.shared_bytes",
                    rewriter.getI32IntegerAttr(*kernel.getSharedBytes()));
  if (awaitsBlocks)
    function->setAttr("nvfp4.cooperative", rewriter.getUnitAttr());
  function.getBody().takeBody(kernel.getBody());
  convertTypes(function);
  for (auto [number, type] : llvm::enumerate(before))
    lowerParameter(function, number, type);
  Operation *end = function.getBody().front().getTerminator();
  rewriter.setInsertionPoint(end);
  rewriter.replaceOpWithNewOp<LLVM::ReturnOp>(end, ValueRange());
  rewriter.eraseOp(kernel);
}

void KernelLowering::lowerParameter(LLVM::LLVMFuncOp function, unsigned number,
                                    Type type) {
  MLIRContext *context = function.getContext();
  BlockArgument arg = function.getBody().getArgument(number);
  if (isa<TensorMapType>(type)) {
    auto bytes = LLVM::LLVMArrayType::get(rewriter.getI8Type(), 128);
    function.setArgAttr(number, "llvm.byval", TypeAttr::get(bytes));
    function.setArgAttr(number, "llvm.align", rewriter.getI64IntegerAttr(64));
    function.setArgAttr(number, "nvvm.grid_constant", rewriter.getUnitAttr());
    return;
  }
  auto memref = dyn_cast<MemRefType>(type);
  if (!memref)
    return;
  // A pointer to contiguous memory, as the descriptor that upstream expects. A
  // dynamic first size is not known here and never bounds anything.
  arg.setType(LLVM::LLVMPointerType::get(context, 1));
  rewriter.setInsertionPointToStart(&function.getBody().front());
  LLVMTypeConverter converter(context);
  auto descriptor =
      MemRefDescriptor::poison(rewriter, loc, converter.convertType(memref));
  descriptor.setAllocatedPtr(rewriter, loc, arg);
  descriptor.setAlignedPtr(rewriter, loc, arg);
  descriptor.setConstantOffset(rewriter, loc, 0);
  int64_t stride = 1;
  for (int64_t dim = memref.getRank() - 1; dim >= 0; --dim) {
    int64_t size = memref.getDimSize(dim);
    descriptor.setConstantStride(rewriter, loc, dim, stride);
    descriptor.setConstantSize(rewriter, loc, dim,
                               ShapedType::isDynamic(size)
                                   ? std::numeric_limits<int64_t>::max()
                                   : size);
    if (dim > 0)
      stride *= size;
  }
  Value structure = descriptor;
  auto cast =
      UnrealizedConversionCastOp::create(rewriter, loc, memref, structure);
  arg.replaceUsesWithIf(cast.getResult(0), [&](OpOperand &use) {
    return !isa<LLVM::InsertValueOp>(use.getOwner());
  });
}

//===----------------------------------------------------------------------===//
// Building
//===----------------------------------------------------------------------===//

Value KernelLowering::constant(int64_t value) {
  return arith::ConstantIntOp::create(rewriter, loc, value, 32);
}
Value KernelLowering::constant64(uint64_t value) {
  return arith::ConstantOp::create(
      rewriter, loc, rewriter.getI64IntegerAttr(static_cast<int64_t>(value)));
}
Value KernelLowering::add(Value a, Value b) {
  return arith::AddIOp::create(rewriter, loc, getI32(), a, b);
}
Value KernelLowering::add(Value a, int64_t b) {
  return b == 0 ? a : add(a, constant(b));
}
Value KernelLowering::multiply(Value a, int64_t b) {
  return arith::MulIOp::create(rewriter, loc, getI32(), a, constant(b));
}
MemRefType KernelLowering::getBufferType(OpOperand &operand) {
  return cast<MemRefType>(
      operandTypes.lookup(operand.getOwner())[operand.getOperandNumber()]);
}
Value KernelLowering::getShared(Value address) {
  return LLVM::IntToPtrOp::create(
      rewriter, loc, LLVM::LLVMPointerType::get(kernel.getContext(), 3),
      address);
}
Value KernelLowering::getTensor(Value address) {
  return LLVM::IntToPtrOp::create(
      rewriter, loc, LLVM::LLVMPointerType::get(kernel.getContext(), 6),
      address);
}
