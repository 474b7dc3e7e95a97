//===- Compile.cpp - Modules to text and files, in C ------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What nvfp4-compile does, without files: the stages of a pipeline, what is
// emitted of a module, and the choice of a strategy explained. Each works on a
// copy of the module.
//
//===----------------------------------------------------------------------===//

#include "Diagnostics.h"

#include "nvfp4/Target/LLVMIR.h"

#include "mlir/CAPI/IR.h"
#include "mlir/CAPI/Support.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassInstrumentation.h"
#include "mlir/Pass/PassManager.h"

using namespace mlir;
using namespace nvfp4;
using namespace nvfp4::capi;

Nvfp4CompileOptions nvfp4CompileOptionsGetDefault(void) {
  auto literal = [](StringRef text) {
    return MlirStringRef{text.data(), text.size()};
  };
  return {literal("cpu"),         literal("native"),
          /*optLevel=*/3,         /*threads=*/true,
          /*runtimeChecks=*/true, /*versions=*/4,    literal("host"),
          /*assemble=*/false};
}

/// A copy to work on, or null after a diagnostic.
static OwningOpRef<ModuleOp> copyModule(MlirModule module,
                                        Nvfp4DiagnosticSink sink) {
  if (!module.ptr) {
    reportError(sink, "expected a module, but got null");
    return nullptr;
  }
  return OwningOpRef<ModuleOp>(unwrap(module).clone());
}

namespace {
/// Hands the module over after each of its passes.
struct StagePrinter : PassInstrumentation {
  StagePrinter(Nvfp4StageCallback callback, void *userData)
      : callback(callback), userData(userData) {}

  void runAfterPass(Pass *pass, Operation *op) override {
    StringRef name = pass->getArgument();
    if (op->getParentOp() || name.empty())
      return;
    std::string text;
    llvm::raw_string_ostream os(text);
    op->print(os);
    callback({name.data(), name.size()}, {text.data(), text.size()}, userData);
  }

  Nvfp4StageCallback callback;
  void *userData;
};
} // namespace

MlirLogicalResult nvfp4ModulePrintStages(MlirModule module,
                                         Nvfp4CompileOptions options,
                                         Nvfp4StageCallback callback,
                                         void *userData,
                                         Nvfp4DiagnosticSink sink) {
  OwningOpRef<ModuleOp> copy = copyModule(module, sink);
  if (!copy || !callback)
    return {0};
  auto code = getOptions(options, sink);
  if (!code)
    return {0};
  code->kernels = tools::CodeOptions::Kernels::Emitted;
  DiagnosticScope scope(copy->getContext(), sink);
  return wrap(tools::lowerToLLVM(*copy, *code, [&](PassManager &pm) {
    pm.addInstrumentation(std::make_unique<StagePrinter>(callback, userData));
  }));
}

/// The text or bytes of `kind`, or nothing after a diagnostic.
static FailureOr<std::string> emit(ModuleOp module,
                                   const tools::CodeOptions &options,
                                   StringRef kind, Nvfp4DiagnosticSink sink) {
  if (kind == "ptx" || kind == "cubin") {
    if (options.target == "cpu") {
      reportError(sink,
                  "expected a GPU as target for '" + kind + "', but got cpu");
      return failure();
    }
    return tools::emitKernelCode(module, options, kind);
  }
  std::optional<target::EmitKind> machine;
  if (kind == "llvm")
    machine = target::EmitKind::LLVM;
  else if (kind == "asm")
    machine = target::EmitKind::Assembly;
  else if (kind == "obj")
    machine = target::EmitKind::Object;
  if (!machine && kind != "mlir") {
    reportError(sink, "expected mlir, llvm, asm, obj, ptx or cubin, but got '" +
                          kind + "'");
    return failure();
  }
  tools::CodeOptions code = options;
  if (!machine || kind == "llvm")
    code.kernels = tools::CodeOptions::Kernels::Emitted;
  if (failed(tools::lowerToLLVM(module, code)))
    return failure();
  std::string text;
  if (!machine) {
    llvm::raw_string_ostream os(text);
    module.print(os);
    os << "\n";
    return text;
  }
  SmallVector<char, 0> bytes;
  llvm::raw_svector_ostream os(bytes);
  if (failed(target::emitModule(module, tools::getNativeTarget(options),
                                *machine, os)))
    return failure();
  return os.str().str();
}

MlirLogicalResult nvfp4ModuleEmit(MlirModule module,
                                  Nvfp4CompileOptions options,
                                  MlirStringRef kind,
                                  MlirStringCallback callback, void *userData,
                                  Nvfp4DiagnosticSink sink) {
  OwningOpRef<ModuleOp> copy = copyModule(module, sink);
  if (!copy || !callback)
    return {0};
  DiagnosticScope scope(copy->getContext(), sink);
  auto code = getOptions(options, sink);
  if (!code)
    return {0};
  FailureOr<std::string> text = emit(*copy, *code, toString(kind), sink);
  if (failed(text))
    return {0};
  callback({text->data(), text->size()}, userData);
  return {1};
}

MlirLogicalResult nvfp4ModuleEmitSharedObject(MlirModule module,
                                              Nvfp4CompileOptions options,
                                              MlirStringRef path,
                                              Nvfp4DiagnosticSink sink) {
  OwningOpRef<ModuleOp> copy = copyModule(module, sink);
  if (!copy)
    return {0};
  DiagnosticScope scope(copy->getContext(), sink);
  auto code = getOptions(options, sink);
  if (!code || failed(tools::checkFunctions(*copy, *code, "the module")) ||
      failed(tools::lowerToLLVM(*copy, *code)))
    return {0};
  return wrap(tools::emitSharedObject(*copy, *code, toString(path).str()));
}

MlirLogicalResult nvfp4ModuleExplain(MlirModule module, MlirStringRef target,
                                     Nvfp4DiagnosticSink sink) {
  OwningOpRef<ModuleOp> copy = copyModule(module, sink);
  if (!copy)
    return {0};
  DiagnosticScope scope(copy->getContext(), sink);
  tools::CodeOptions options;
  options.target = toString(target).str();
  return wrap(tools::explainStrategies(*copy, options));
}
