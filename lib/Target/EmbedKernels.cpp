//===- EmbedKernels.cpp - Kernels as constants of the host's code ---------===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// PTX is text, so it is a constant like another.
//
//===----------------------------------------------------------------------===//

#include "nvfp4/Runtime/nvfp4_device.h"
#include "nvfp4/Target/GpuTarget.h"
#include "nvfp4/Target/Passes.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

namespace nvfp4::target {
#define GEN_PASS_DEF_EMBEDKERNELSPASS
#include "nvfp4/Target/Passes.h.inc"
} // namespace nvfp4::target

using namespace mlir;
using namespace nvfp4::target;

/// Gives the declared constant `name`, if there is one, a value.
static void define(ModuleOp module, StringRef name, Type type,
                   Attribute value) {
  auto global = module.lookupSymbol<LLVM::GlobalOp>(name);
  if (!global)
    return;
  global.setGlobalTypeAttr(TypeAttr::get(type));
  global.setValueAttr(value);
  global.setLinkage(LLVM::Linkage::Internal);
}

/// What the kernel asks of its launch: one that says so needs all of its blocks
/// at once; else one that waits for the launch before may begin before that has
/// ended.
static int32_t getLaunchFlags(LLVM::LLVMFuncOp kernel) {
  if (kernel->hasAttr("nvfp4.cooperative"))
    return NVFP4_LAUNCH_COOPERATIVE;
  bool awaitsLaunch = false;
  kernel.walk([&](NVVM::GriddepcontrolOp control) {
    awaitsLaunch |= control.getKind() == NVVM::GridDepActionKind::wait;
  });
  return awaitsLaunch ? NVFP4_LAUNCH_PROGRAMMATIC : 0;
}

namespace {
struct EmbedKernels : nvfp4::target::impl::EmbedKernelsPassBase<EmbedKernels> {
  using EmbedKernelsPassBase::EmbedKernelsPassBase;

  LogicalResult embed(gpu::GPUModuleOp kernels, const GpuTarget &gpu) {
    FailureOr<std::string> ptx = emitPtx(kernels, gpu);
    if (failed(ptx))
      return failure();
    OpBuilder builder(&getContext());
    ptx->push_back('\0');
    Type text = LLVM::LLVMArrayType::get(builder.getI8Type(), ptx->size());
    Type i32 = builder.getI32Type();
    define(getOperation(), (kernels.getName() + "_image").str(), text,
           builder.getStringAttr(*ptx));
    for (auto kernel : kernels.getOps<LLVM::LLVMFuncOp>()) {
      auto threads = kernel->getAttrOfType<DenseI32ArrayAttr>("nvvm.reqntid");
      auto shared = kernel->getAttrOfType<IntegerAttr>("nvfp4.shared_bytes");
      std::string name = kernel.getSymName().str();
      if (!threads || !shared) {
        for (StringRef what : {"_threads", "_shared_bytes", "_flags"})
          if (getOperation().lookupSymbol(name + what.str()))
            return kernel.emitOpError("expected nvvm.reqntid and "
                                      "nvfp4.shared_bytes, as the module "
                                      "declares @")
                   << name << what;
        continue;
      }
      define(getOperation(), name + "_threads", i32,
             builder.getI32IntegerAttr(threads[0]));
      define(getOperation(), name + "_shared_bytes", i32,
             builder.getI32IntegerAttr(shared.getInt()));
      define(getOperation(), name + "_flags", i32,
             builder.getI32IntegerAttr(getLaunchFlags(kernel)));
    }
    kernels.erase();
    return success();
  }

  void runOnOperation() override {
    llvm::Expected<GpuTarget> gpu = GpuTarget::forName(target);
    if (!gpu) {
      getOperation().emitError(llvm::toString(gpu.takeError()));
      return signalPassFailure();
    }
    for (auto kernels :
         llvm::make_early_inc_range(getOperation().getOps<gpu::GPUModuleOp>()))
      if (failed(embed(kernels, *gpu)))
        return signalPassFailure();
  }
};
} // namespace
