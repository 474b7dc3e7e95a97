//===- ConvertWarpSpecToNVVM.cpp - The pass convert-warpspec-to-nvvm ------===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelLowering.h"
#include "nvfp4/Conversion/WarpSpecToNVVM/WarpSpecToNVVM.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

namespace nvfp4::warpspec {
#define GEN_PASS_DEF_CONVERTWARPSPECTONVVMPASS
#include "nvfp4/Conversion/WarpSpecToNVVM/Passes.h.inc"
} // namespace nvfp4::warpspec

using namespace mlir;
using namespace nvfp4::warpspec;

namespace {
/// The array of dynamic shared memory that all kernels of a module share.
LLVM::GlobalOp getSharedMemory(gpu::GPUModuleOp module) {
  constexpr StringLiteral name = "nvfp4_smem";
  if (auto global = module.lookupSymbol<LLVM::GlobalOp>(name))
    return global;
  OpBuilder builder = OpBuilder::atBlockBegin(module.getBody());
  auto type = LLVM::LLVMArrayType::get(builder.getI8Type(), 0);
  return LLVM::GlobalOp::create(builder, module.getLoc(), type,
                                /*isConstant=*/false, LLVM::Linkage::External,
                                name, Attribute(), /*alignment=*/1024,
                                /*addrSpace=*/3);
}

struct ConvertWarpSpecToNVVM
    : nvfp4::warpspec::impl::ConvertWarpSpecToNVVMPassBase<
          ConvertWarpSpecToNVVM> {
  bool canScheduleOn(RegisteredOperationName name) const override {
    return name.getStringRef() != KernelOp::getOperationName();
  }

  void runOnOperation() override {
    SmallVector<KernelOp> kernels;
    getOperation()->walk([&](KernelOp kernel) { kernels.push_back(kernel); });
    for (KernelOp kernel : kernels) {
      auto module = dyn_cast<gpu::GPUModuleOp>(kernel->getParentOp());
      if (!module) {
        kernel.emitOpError("expected to be in a gpu.module, of which PTX is "
                           "made");
        return signalPassFailure();
      }
      if (failed(KernelLowering(kernel, getSharedMemory(module)).run()))
        return signalPassFailure();
    }
  }
};
} // namespace
