//===- HostCalls.h - Calls of the runtime by patterns -----------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the patterns of convert-gpu-host-to-llvm have in common.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_LIB_CONVERSION_GPUHOSTTOLLVM_HOSTCALLS_H
#define NVFP4_LIB_CONVERSION_GPUHOSTTOLLVM_HOSTCALLS_H

#include "nvfp4/Conversion/GpuHostToLLVM/GpuHostToLLVM.h"
#include "nvfp4/Dialect/WarpSpec/IR/WarpSpec.h"

#include "mlir/Conversion/LLVMCommon/Pattern.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"

namespace nvfp4 {

/// Builds what a pattern replaces `op` by: values of the LLVM dialect and calls
/// of functions of nvfp4_kernels.h.
class HostCalls {
public:
  HostCalls(mlir::ConversionPatternRewriter &rewriter, mlir::Operation *op,
            gsg::checks::CheckModule &texts)
      : b(rewriter), op(op), loc(op->getLoc()), texts(texts) {}

  mlir::Type pointer() {
    return mlir::LLVM::LLVMPointerType::get(b.getContext());
  }
  mlir::Value i32(int64_t value);
  mlir::Value i64(int64_t value);
  /// A size: the constant, or an index that is an i64 by now.
  mlir::Value i64(mlir::OpFoldResult size, mlir::Value dynamic);
  /// "file:line:column: operation": of the operation that this one was made
  /// for, where its location is named.
  mlir::Value where();
  /// Calls `name` and returns its result, null if there is none.
  mlir::Value call(llvm::StringRef name, mlir::Type result,
                   mlir::ValueRange arguments);
  /// Room for `bytes` in the frame of the function, or of the body of the
  /// innermost parallel loop, once however often the operation runs.
  mlir::Value room(int64_t bytes, int64_t alignment);
  void store(mlir::Value value, mlir::Value base, int64_t offset);
  /// An array of `values`, all of one type of `bytes`.
  mlir::Value array(mlir::ValueRange values, int64_t bytes);
  /// The address of the first element of a memref.
  mlir::Value address(mlir::Type memref, mlir::Value descriptor,
                      const mlir::LLVMTypeConverter &converter);
  /// A value as a parameter of a kernel: addresses of memrefs, i32 of indices.
  mlir::Value parameter(mlir::Type type, mlir::Value converted,
                        const mlir::LLVMTypeConverter &converter);
  /// The table entry of a kernel.
  mlir::Value entry(mlir::SymbolRefAttr kernel);

  mlir::ConversionPatternRewriter &b;

private:
  mlir::Operation *op;
  mlir::Location loc;
  gsg::checks::CheckModule &texts;
};

/// A pattern that has the texts of the module.
template <typename Op>
class HostPattern : public mlir::ConvertOpToLLVMPattern<Op> {
public:
  HostPattern(const mlir::LLVMTypeConverter &converter,
              gsg::checks::CheckModule &texts, mlir::PatternBenefit benefit = 1)
      : mlir::ConvertOpToLLVMPattern<Op>(converter, benefit), texts(texts) {}

protected:
  HostCalls calls(mlir::ConversionPatternRewriter &rewriter, Op op) const {
    return HostCalls(rewriter, op, texts);
  }

  gsg::checks::CheckModule &texts;
};

/// The stream of an asynchronous operation with one dependency, as
/// gpu-async-region makes them; null after a match failure.
template <typename Op, typename Adaptor>
mlir::Value getStream(Op op, Adaptor adaptor,
                      mlir::ConversionPatternRewriter &rewriter) {
  if (op.getAsyncToken() && adaptor.getAsyncDependencies().size() == 1)
    return adaptor.getAsyncDependencies().front();
  (void)rewriter.notifyMatchFailure(
      op, "expected an asynchronous operation with one dependency; run "
          "gpu-async-region first");
  return {};
}

/// An error if the copy is none of rows, which are all that is copied.
llvm::LogicalResult verifyCopy(mlir::gpu::MemcpyOp op);

void populateCopyPatterns(const mlir::LLVMTypeConverter &converter,
                          mlir::RewritePatternSet &patterns,
                          gsg::checks::CheckModule &texts);
void populateDataCheckPatterns(const mlir::LLVMTypeConverter &converter,
                               mlir::RewritePatternSet &patterns,
                               gsg::checks::CheckModule &texts);
void populateLaunchPatterns(const mlir::LLVMTypeConverter &converter,
                            mlir::RewritePatternSet &patterns,
                            gsg::checks::CheckModule &texts);
void populateStagingPatterns(const mlir::LLVMTypeConverter &converter,
                             mlir::RewritePatternSet &patterns,
                             gsg::checks::CheckModule &texts);
void populateTensorMapPatterns(const mlir::LLVMTypeConverter &converter,
                               mlir::RewritePatternSet &patterns,
                               gsg::checks::CheckModule &texts);

} // namespace nvfp4

#endif // NVFP4_LIB_CONVERSION_GPUHOSTTOLLVM_HOSTCALLS_H
