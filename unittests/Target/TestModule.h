//===- TestModule.h - Modules from text -------------------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Modules from text with the diagnostics they cause, for the tests of this
// folder.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_UNITTESTS_TARGET_TESTMODULE_H
#define NVFP4_UNITTESTS_TARGET_TESTMODULE_H

#include "nvfp4/Target/LLVMIR.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"

#include <string>

#if defined(__SANITIZE_ADDRESS__)
#define NVFP4_TEST_HAS_ASAN 1
#elif defined(__has_feature)
#define NVFP4_TEST_HAS_ASAN __has_feature(address_sanitizer)
#else
#define NVFP4_TEST_HAS_ASAN 0
#endif

namespace nvfp4::test {

/// A module of the LLVM dialect and the diagnostics that it caused.
struct TestModule {
  explicit TestModule(llvm::StringRef text) {
    mlir::DialectRegistry registry;
    registry.insert<mlir::LLVM::LLVMDialect>();
    target::registerTranslations(registry);
    context.appendDialectRegistry(registry);
    context.allowUnregisteredDialects();
    context.getDiagEngine().registerHandler([this](mlir::Diagnostic &d) {
      messages += d.str() + "\n";
      return mlir::success();
    });
    module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
  }

  mlir::MLIRContext context;
  std::string messages;
  mlir::OwningOpRef<mlir::ModuleOp> module;
};

inline constexpr llvm::StringLiteral kTwice = R"(
  llvm.func @twice(%x: i32) -> i32 {
    %y = llvm.add %x, %x : i32
    llvm.return %y : i32
  })";

/// AVX-512 code in a function that does not ask for AVX-512.
inline constexpr llvm::StringLiteral kNeedsAVX512 = R"(
  llvm.func @dot(%p: !llvm.ptr) {
    %i = llvm.load %p : !llvm.ptr -> vector<16xi32>
    %j = llvm.load %p : !llvm.ptr -> vector<64xi8>
    %r = llvm.call_intrinsic "llvm.x86.avx512.vpdpbusd.512"(%i, %j, %j)
        : (vector<16xi32>, vector<64xi8>, vector<64xi8>) -> vector<16xi32>
    llvm.store %r, %p : vector<16xi32>, !llvm.ptr
    llvm.return
  })";

} // namespace nvfp4::test

#endif // NVFP4_UNITTESTS_TARGET_TESTMODULE_H
