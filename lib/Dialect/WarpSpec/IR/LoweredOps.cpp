//===- LoweredOps.cpp - What only passes write ------------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Verifiers of the operations that passes make from pipelines.
//
//===----------------------------------------------------------------------===//

#include "nvfp4/Dialect/WarpSpec/IR/WarpSpec.h"

#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace nvfp4::warpspec;

LogicalResult FenceOp::verify() {
  if (!(*this)->getParentOfType<KernelOp>())
    return emitOpError(
        "expected to be inside a kernel, whose agents it orders");
  return success();
}

LogicalResult TmemWaitOp::verify() {
  for (Type type : getValues().getTypes()) {
    Type element = cast<VectorType>(type).getElementType();
    if (!element.isIntOrFloat() || element.getIntOrFloatBitWidth() != 32)
      return emitOpError("expected vectors of 32-bit elements, as tmem_load "
                         "gives, but got ")
             << type;
  }
  return success();
}

LogicalResult RoleBarrierOp::verify() {
  if (!(*this)->getParentOfType<RolesOp>())
    return emitOpError("expected to be inside a role");
  return success();
}

LogicalResult InitBarriersOp::verify() {
  if (static_cast<int32_t>(getOffset()) % 8 != 0 ||
      static_cast<int32_t>(getDepth()) < 1 ||
      static_cast<int32_t>(getCount()) < 1)
    return emitOpError(
        "expected an offset that is a multiple of 8, and a depth "
        "and a count of at least 1");
  return success();
}

/// A power of two in [32, 512].
static LogicalResult verifyColumns(Operation *op, int32_t columns) {
  if (columns < 32 || columns > 512 || !llvm::isPowerOf2_32(columns))
    return op->emitOpError(
               "expected a power of two in [32, 512] as columns, but "
               "got ")
           << columns;
  return success();
}
LogicalResult ReserveTmemOp::verify() {
  return verifyColumns(*this, getColumns());
}
LogicalResult ReleaseTmemOp::verify() {
  return verifyColumns(*this, getColumns());
}

LogicalResult KernelInfoOp::verify() {
  if (static_cast<int32_t>(getSharedBytes()) > kSharedBytesLimit)
    return emitOpError("expected at most ")
           << kSharedBytesLimit << " bytes of shared memory, but got "
           << getSharedBytes();
  for (auto other :
       (*this)->getParentOfType<gpu::GPUModuleOp>().getOps<KernelInfoOp>())
    if (other != *this && other.getKernel() == getKernel())
      return emitOpError("expected one of a kernel, but got two of @")
             << getKernel();
  return success();
}

LogicalResult
KernelInfoOp::verifySymbolUses(SymbolTableCollection &symbolTable) {
  Operation *kernel =
      symbolTable.lookupNearestSymbolFrom(*this, getKernelAttr());
  if (!isa_and_nonnull<FunctionOpInterface>(kernel))
    return emitOpError("expected the name of a function of the module, but got "
                       "@")
           << getKernel();
  return success();
}
