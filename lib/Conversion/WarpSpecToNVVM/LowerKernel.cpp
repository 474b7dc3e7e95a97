//===- LowerKernel.cpp - Kernels to functions -------------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A kernel with its parameters, and the types of values that its operations
// pass to each other.
//
//===----------------------------------------------------------------------===//

#include "AddressBuilder.h"
#include "KernelPattern.h"

#include "mlir/Conversion/LLVMCommon/MemRefBuilder.h"
#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/SCF/Transforms/Patterns.h"

using namespace mlir;
using namespace nvfp4::warpspec;

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

static LLVM::LLVMPointerType getGlobalPointer(MLIRContext *context) {
  return LLVM::LLVMPointerType::get(context,
                                    static_cast<unsigned>(Space::Global));
}

/// A pointer to contiguous memory, as the memref that the descriptor upstream
/// expects is of. A dynamic first size is not known here and never bounds
/// anything.
static Value buildMemRef(OpBuilder &b, MemRefType type, ValueRange inputs,
                         Location loc) {
  if (inputs.size() != 1 ||
      inputs.front().getType() != getGlobalPointer(b.getContext()))
    return {};
  LLVMTypeConverter converter(b.getContext());
  auto descriptor =
      MemRefDescriptor::poison(b, loc, converter.convertType(type));
  descriptor.setAllocatedPtr(b, loc, inputs.front());
  descriptor.setAlignedPtr(b, loc, inputs.front());
  descriptor.setConstantOffset(b, loc, 0);
  int64_t stride = 1;
  for (int64_t dim = type.getRank() - 1; dim >= 0; --dim) {
    int64_t size = type.getDimSize(dim);
    descriptor.setConstantStride(b, loc, dim, stride);
    descriptor.setConstantSize(b, loc, dim,
                               ShapedType::isDynamic(size)
                                   ? std::numeric_limits<int64_t>::max()
                                   : size);
    if (dim > 0)
      stride *= size;
  }
  Value structure = descriptor;
  return UnrealizedConversionCastOp::create(b, loc, type, structure)
      .getResult(0);
}

static Value buildCast(OpBuilder &b, Type type, ValueRange inputs,
                       Location loc) {
  return UnrealizedConversionCastOp::create(b, loc, type, inputs).getResult(0);
}

void nvfp4::warpspec::populateWarpSpecToNVVMTypeConversions(
    TypeConverter &converter) {
  converter.addConversion([](Type type) { return type; });
  converter.addConversion([](MemRefType type) -> Type {
    if (isSmem(type) || isTmem(type))
      return IntegerType::get(type.getContext(), 32);
    return type;
  });
  converter.addConversion(
      [](FillType type) { return IntegerType::get(type.getContext(), 32); });
  converter.addConversion(
      [](DrainType type) { return IntegerType::get(type.getContext(), 32); });
  converter.addConversion(
      [](PipelineType type, SmallVectorImpl<Type> &types) -> LogicalResult {
        types.append(type.getSlots().size(),
                     IntegerType::get(type.getContext(), 32));
        return success();
      });
  converter.addConversion([](TensorMapType type) {
    return LLVM::LLVMPointerType::get(type.getContext());
  });
  // Between families of operations that are converted one after the other.
  converter.addSourceMaterialization(buildCast);
  converter.addTargetMaterialization(buildCast);
  converter.addSourceMaterialization(buildMemRef);
}

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

/// Declares the shared memory of kernels in the module of `kernel`.
static void declareSharedMemory(KernelOp kernel, OpBuilder &b) {
  auto module = kernel->getParentOfType<gpu::GPUModuleOp>();
  if (module.lookupSymbol(kSharedMemory))
    return;
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(module.getBody());
  auto type = LLVM::LLVMArrayType::get(b.getI8Type(), 0);
  LLVM::GlobalOp::create(b, module.getLoc(), type, /*isConstant=*/false,
                         LLVM::Linkage::External, kSharedMemory, Attribute(),
                         /*alignment=*/1024,
                         static_cast<unsigned>(Space::Shared));
}

/// Some block waits for what another one stores.
static bool awaitsBlocks(KernelOp kernel) {
  return kernel.walk([](AwaitOp) { return WalkResult::interrupt(); })
      .wasInterrupted();
}

namespace {
struct KernelLowering : KernelPattern<KernelOp> {
  using KernelPattern::KernelPattern;
  LogicalResult
  matchAndRewrite(KernelOp kernel, OpAdaptor,
                  ConversionPatternRewriter &rewriter) const override {
    if (!isa<gpu::GPUModuleOp>(kernel->getParentOp()))
      return rewriter.notifyMatchFailure(kernel, "not in a gpu.module");
    declareSharedMemory(kernel, rewriter);
    MLIRContext *context = kernel.getContext();
    Block &body = kernel.getBody().front();
    TypeConverter::SignatureConversion signature(body.getNumArguments());
    for (auto [number, type] : llvm::enumerate(body.getArgumentTypes()))
      signature.addInputs(number, isa<MemRefType>(type)
                                      ? getGlobalPointer(context)
                                      : typeConverter->convertType(type));
    KernelInfoOp::create(rewriter, kernel.getLoc(), kernel.getSymName(),
                         *kernel.getSharedBytes(), awaitsBlocks(kernel));
    auto function = LLVM::LLVMFuncOp::create(
        rewriter, kernel.getLoc(), kernel.getSymName(),
        LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(context),
                                    signature.getConvertedTypes()));
    setAttributes(kernel, function, rewriter);
    for (auto [number, type] : llvm::enumerate(body.getArgumentTypes()))
      if (isa<TensorMapType>(type))
        passByValue(function, number, rewriter);
    rewriter.inlineRegionBefore(kernel.getBody(), function.getBody(),
                                function.getBody().end());
    rewriter.applySignatureConversion(&function.getBody().front(), signature,
                                      typeConverter);
    rewriter.eraseOp(kernel);
    return success();
  }

private:
  static void setAttributes(KernelOp kernel, LLVM::LLVMFuncOp function,
                            Builder &b) {
    function->setAttr(gpu::GPUDialect::getKernelFuncAttrName(),
                      b.getUnitAttr());
    function->setAttr("nvvm.kernel", b.getUnitAttr());
    int32_t threads = *kernel.getThreads();
    function->setAttr("nvvm.reqntid", b.getDenseI32ArrayAttr({threads, 1, 1}));
    function->setAttr("nvvm.minctasm", b.getI32IntegerAttr(1));
    if (int32_t cluster = kernel.getCluster().value_or(1); cluster > 1)
      function->setAttr("nvvm.cluster_dim",
                        b.getDenseI32ArrayAttr({cluster, 1, 1}));
  }

  /// Parameter `number` is a tensor map, 128 bytes by value.
  static void passByValue(LLVM::LLVMFuncOp function, unsigned number,
                          Builder &b) {
    auto bytes = LLVM::LLVMArrayType::get(b.getI8Type(), 128);
    function.setArgAttr(number, "llvm.byval", TypeAttr::get(bytes));
    function.setArgAttr(number, "llvm.align", b.getI64IntegerAttr(64));
    function.setArgAttr(number, "nvvm.grid_constant", b.getUnitAttr());
  }
};

struct EndLowering : KernelPattern<EndOp> {
  using KernelPattern::KernelPattern;
  LogicalResult
  matchAndRewrite(EndOp op, OpAdaptor,
                  ConversionPatternRewriter &rewriter) const override {
    rewriter.replaceOpWithNewOp<LLVM::ReturnOp>(op, ValueRange());
    return success();
  }
};

/// An operation of another dialect, without regions or successors, that passes
/// on values of ours.
struct PassOnConversion : ConversionPattern {
  PassOnConversion(const TypeConverter &converter, MLIRContext *context)
      : ConversionPattern(converter, MatchAnyOpTypeTag(), /*benefit=*/0,
                          context) {}
  LogicalResult
  matchAndRewrite(Operation *op, ArrayRef<Value> operands,
                  ConversionPatternRewriter &rewriter) const override {
    if (isa<WarpSpecDialect>(op->getDialect()) || op->getNumRegions() != 0 ||
        op->getNumSuccessors() != 0)
      return failure();
    FailureOr<Operation *> converted =
        convertOpResultTypes(op, operands, *typeConverter, rewriter);
    if (failed(converted))
      return failure();
    rewriter.replaceOp(op, *converted);
    return success();
  }
};
} // namespace

void nvfp4::warpspec::populateKernelToNVVMPatterns(
    const TypeConverter &converter, const KernelAnalysis &kernels,
    RewritePatternSet &patterns) {
  patterns.add<KernelLowering, EndLowering>(converter, patterns.getContext(),
                                            kernels);
  patterns.add<PassOnConversion>(converter, patterns.getContext());
  scf::populateSCFStructuralTypeConversions(converter, patterns);
}

void nvfp4::warpspec::populateWarpSpecToNVVMConversionPatterns(
    const TypeConverter &converter, const KernelAnalysis &kernels,
    RewritePatternSet &patterns) {
  populateKernelToNVVMPatterns(converter, kernels, patterns);
  populateMemoryToNVVMPatterns(converter, kernels, patterns);
  populateTmaToNVVMPatterns(converter, kernels, patterns);
  populateHandOverToNVVMPatterns(converter, kernels, patterns);
  populateTensorCoreToNVVMPatterns(converter, kernels, patterns);
  populateDecodeCodesToNVVMPatterns(converter, kernels, patterns);
  populateDecodedToNVVMPatterns(converter, kernels, patterns);
  populateFragmentToNVVMPatterns(converter, kernels, patterns);
}

void nvfp4::warpspec::configureWarpSpecToNVVMConversionTarget(
    const TypeConverter &converter, ConversionTarget &target) {
  target.addIllegalDialect<WarpSpecDialect>();
  target.addLegalOp<KernelInfoOp>();
  target.addLegalDialect<LLVM::LLVMDialect, NVVM::NVVMDialect>();
  scf::populateSCFStructuralTypeConversionTarget(converter, target);
  target.markUnknownOpDynamicallyLegal(
      [&](Operation *op) { return converter.isLegal(op); });
}
