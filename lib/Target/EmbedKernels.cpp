//===- EmbedKernels.cpp - Kernels as constants of the host's code ---------===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// PTX and fat binaries are bytes, so they are constants like others.
//
//===----------------------------------------------------------------------===//

#include "nvfp4/Dialect/WarpSpec/IR/WarpSpec.h"
#include "nvfp4/Runtime/nvfp4_device.h"
#include "nvfp4/Target/GpuTarget.h"
#include "nvfp4/Target/KernelEntry.h"
#include "nvfp4/Target/Passes.h"
#include "nvfp4/Target/Versions.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/IR/Threading.h"

namespace nvfp4::target {
#define GEN_PASS_DEF_EMBEDKERNELSPASS
#include "nvfp4/Target/Passes.h.inc"
} // namespace nvfp4::target

using namespace mlir;
using namespace nvfp4::target;
using nvfp4::warpspec::KernelInfoOp;

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
static int32_t getLaunchFlags(LLVM::LLVMFuncOp kernel, KernelInfoOp info) {
  if (info && info.getCooperative())
    return NVFP4_LAUNCH_COOPERATIVE;
  bool awaitsLaunch = false;
  kernel.walk([&](NVVM::GriddepcontrolOp control) {
    awaitsLaunch |= control.getKind() == NVVM::GridDepActionKind::wait;
  });
  return awaitsLaunch ? NVFP4_LAUNCH_PROGRAMMATIC : 0;
}

/// The facts of the launch of `kernel`, or null.
static KernelInfoOp findInfo(LLVM::LLVMFuncOp kernel) {
  auto module = cast<gpu::GPUModuleOp>(kernel->getParentOp());
  for (auto info : module.getOps<KernelInfoOp>())
    if (info.getKernel() == kernel.getSymName())
      return info;
  return {};
}

/// Blocks of a cluster.
static int32_t getClusterSize(LLVM::LLVMFuncOp kernel) {
  auto cluster = kernel->getAttrOfType<DenseI32ArrayAttr>("nvvm.cluster_dim");
  int32_t size = 1;
  if (cluster)
    for (int32_t extent : cluster.asArrayRef())
      size *= extent;
  return size;
}

/// Gives the global `name` of type `type` the value that `build` returns.
static LLVM::GlobalOp
defineAs(ModuleOp module, StringRef name, Type type, LLVM::Linkage linkage,
         function_ref<Value(OpBuilder &, Location)> build) {
  if (Operation *declared = module.lookupSymbol(name))
    declared->erase();
  OpBuilder b = OpBuilder::atBlockBegin(module.getBody());
  Location loc = module.getLoc();
  auto global = LLVM::GlobalOp::create(b, loc, type, /*isConstant=*/true,
                                       linkage, name, Attribute());
  b.setInsertionPointToStart(&global.getInitializerRegion().emplaceBlock());
  LLVM::ReturnOp::create(b, loc, build(b, loc));
  return global;
}

/// The bytes of `text` and a zero.
static void defineText(ModuleOp module, StringRef name, StringRef text) {
  OpBuilder b = OpBuilder::atBlockBegin(module.getBody());
  std::string bytes = (text + StringRef("\0", 1)).str();
  Type type = LLVM::LLVMArrayType::get(b.getI8Type(), bytes.size());
  LLVM::GlobalOp::create(b, module.getLoc(), type, /*isConstant=*/true,
                         LLVM::Linkage::Internal, name, b.getStringAttr(bytes));
}

static Value addressOf(OpBuilder &b, Location loc, StringRef name) {
  return LLVM::AddressOfOp::create(
      b, loc, LLVM::LLVMPointerType::get(b.getContext()), name);
}

namespace {
struct EmbedKernels : nvfp4::target::impl::EmbedKernelsPassBase<EmbedKernels> {
  using EmbedKernelsPassBase::EmbedKernelsPassBase;

  /// A text of PTX, or the fat binary of it.
  struct Image {
    gpu::GPUModuleOp module;
    SmallVector<std::string> kernels;
    std::string code;
  };

  /// The images that code of the host refers to, each with its kernels. A
  /// module whose image is declared has one of all kernels last.
  FailureOr<SmallVector<Image>> makeImages(gpu::GPUModuleOp module,
                                           const GpuTarget &gpu) {
    FailureOr<SmallVector<KernelPtx>> parts = emitKernels(module, gpu);
    if (failed(parts))
      return failure();
    SmallVector<Image> images;
    auto hasEntry = [&](StringRef kernel) {
      return getOperation().lookupSymbol(
                 getKernelEntryName(module.getName(), kernel)) != nullptr;
    };
    bool isDeclared = getOperation().lookupSymbol(getImageName(module));
    std::string all = isDeclared ? joinPtx(*parts) : std::string();
    for (KernelPtx &part : *parts)
      if (llvm::any_of(part.kernels, hasEntry))
        images.push_back(
            {module, std::move(part.kernels), std::move(part.text)});
    if (isDeclared)
      images.push_back({module, {}, std::move(all)});
    return images;
  }

  static std::string getImageName(gpu::GPUModuleOp module) {
    return (module.getName() + "_image").str();
  }

  /// Defines the constants of `image`.
  void defineImage(const Image &image) {
    if (image.kernels.empty()) {
      std::string bytes = (image.code + StringRef("\0", 1)).str();
      Builder builder(&getContext());
      Type type = LLVM::LLVMArrayType::get(builder.getI8Type(), bytes.size());
      define(getOperation(), getImageName(image.module), type,
             builder.getStringAttr(bytes));
      return;
    }
    gpu::GPUModuleOp module = image.module;
    std::string name =
        getKernelEntryName(module.getName(), image.kernels.front()) + "_image";
    defineText(getOperation(), name, image.code);
    for (StringRef kernel : image.kernels)
      if (auto function = module.lookupSymbol<LLVM::LLVMFuncOp>(kernel))
        defineEntry(function, module.getName(), name);
  }

  /// Defines what the launches of `kernels` are to know, and erases these.
  LogicalResult defineFacts(gpu::GPUModuleOp kernels) {
    Type i32 = IntegerType::get(&getContext(), 32);
    OpBuilder builder(&getContext());
    for (auto kernel : kernels.getOps<LLVM::LLVMFuncOp>()) {
      auto threads = kernel->getAttrOfType<DenseI32ArrayAttr>("nvvm.reqntid");
      KernelInfoOp info = findInfo(kernel);
      std::string name = kernel.getSymName().str();
      if (!threads || !info) {
        for (StringRef what : {"_threads", "_shared_bytes", "_flags"})
          if (getOperation().lookupSymbol(name + what.str()))
            return kernel.emitOpError("expected nvvm.reqntid and "
                                      "warpspec.kernel_info, as the module "
                                      "declares @")
                   << name << what;
        continue;
      }
      define(getOperation(), name + "_threads", i32,
             builder.getI32IntegerAttr(threads[0]));
      define(getOperation(), name + "_shared_bytes", i32,
             builder.getI32IntegerAttr(info.getSharedBytes()));
      define(getOperation(), name + "_flags", i32,
             builder.getI32IntegerAttr(getLaunchFlags(kernel, info)));
    }
    kernels.erase();
    return success();
  }

  /// Defines the entry of `kernel` if code refers to it.
  void defineEntry(LLVM::LLVMFuncOp kernel, StringRef module, StringRef image) {
    std::string name = getKernelEntryName(module, kernel.getSymName());
    if (!getOperation().lookupSymbol(name))
      return;
    auto threads = kernel->getAttrOfType<DenseI32ArrayAttr>("nvvm.reqntid");
    KernelInfoOp info = findInfo(kernel);
    MLIRContext *context = &getContext();
    Type pointer = LLVM::LLVMPointerType::get(context);
    Type i32 = IntegerType::get(context, 32);
    Type type = LLVM::LLVMStructType::getLiteral(
        context, {pointer, pointer, i32, i32, i32, i32});
    std::string text = name + "_name";
    // The fields of nvfp4_kernel_entry.
    defineAs(getOperation(), name, type, LLVM::Linkage::Internal,
             [&](OpBuilder &b, Location loc) {
               auto number = [&](int64_t value) -> Value {
                 return LLVM::ConstantOp::create(b, loc, i32,
                                                 b.getI32IntegerAttr(value));
               };
               Value fields[] = {addressOf(b, loc, image),
                                 addressOf(b, loc, text),
                                 number(threads ? threads[0] : 0),
                                 number(info ? info.getSharedBytes() : 0),
                                 number(getClusterSize(kernel)),
                                 number(getLaunchFlags(kernel, info))};
               Value entry = LLVM::UndefOp::create(b, loc, type);
               for (auto [index, field] : llvm::enumerate(fields))
                 entry = LLVM::InsertValueOp::create(
                     b, loc, entry, field, static_cast<int64_t>(index));
               return entry;
             });
    defineText(getOperation(), text, kernel.getSymName());
    entries.push_back(name);
  }

  /// Lists the entries for the runtime.
  void defineList() {
    if (entries.empty())
      return;
    Type pointer = LLVM::LLVMPointerType::get(&getContext());
    Type type = LLVM::LLVMArrayType::get(pointer, entries.size() + 1);
    defineAs(getOperation(), kKernelList, type, LLVM::Linkage::External,
             [&](OpBuilder &b, Location loc) {
               Value list = LLVM::UndefOp::create(b, loc, type);
               int64_t index = 0;
               for (const std::string &name : entries)
                 list = LLVM::InsertValueOp::create(
                     b, loc, list, addressOf(b, loc, name), index++);
               Value null = LLVM::ZeroOp::create(b, loc, pointer);
               return LLVM::InsertValueOp::create(b, loc, list, null, index)
                   .getResult();
             });
  }

  /// Replaces each PTX by a fat binary, several at once.
  LogicalResult assembleImages(MutableArrayRef<Image> images,
                               const GpuTarget &gpu) {
    return failableParallelForEach(
        &getContext(), images, [&](Image &image) -> LogicalResult {
          llvm::Expected<std::string> code = assembleFatBinary(image.code, gpu);
          if (!code)
            return getOperation().emitError(llvm::toString(code.takeError()));
          image.code = std::move(*code);
          return success();
        });
  }

  SmallVector<std::string> entries;

  void runOnOperation() override {
    entries.clear();
    llvm::Expected<GpuTarget> gpu = GpuTarget::forName(target);
    if (!gpu) {
      getOperation().emitError(llvm::toString(gpu.takeError()));
      return signalPassFailure();
    }
    SmallVector<gpu::GPUModuleOp> modules(
        getOperation().getOps<gpu::GPUModuleOp>());
    SmallVector<Image> images;
    for (gpu::GPUModuleOp kernels : modules) {
      FailureOr<SmallVector<Image>> own = makeImages(kernels, *gpu);
      if (failed(own))
        return signalPassFailure();
      llvm::move(*own, std::back_inserter(images));
    }
    if (assemble && failed(assembleImages(images, *gpu)))
      return signalPassFailure();
    for (const Image &image : images)
      defineImage(image);
    for (gpu::GPUModuleOp kernels : modules)
      if (failed(defineFacts(kernels)))
        return signalPassFailure();
    defineList();
  }
};
} // namespace
