//===- Executable.cpp - Code in this process, in C --------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A module compiled by ORC and described to the runtime, through which it is
// called.
//
//===----------------------------------------------------------------------===//

#include "Diagnostics.h"

#include "nvfp4/Runtime/nvfp4_runtime.h"
#include "nvfp4/Target/Jit.h"

#include "mlir/CAPI/IR.h"

using namespace mlir;
using namespace nvfp4;
using namespace nvfp4::capi;

namespace {
/// The object behind an Nvfp4Executable.
struct Executable {
  ~Executable() { nvfp4_module_release(module); }
  std::unique_ptr<target::Jit> jit;
  nvfp4_module *module = nullptr;
};
} // namespace

Nvfp4Executable nvfp4ExecutableCreate(MlirModule module,
                                      Nvfp4CompileOptions options,
                                      Nvfp4DiagnosticSink sink) {
  if (!module.ptr) {
    reportError(sink, "expected a module, but got null");
    return {nullptr};
  }
  OwningOpRef<ModuleOp> copy(unwrap(module).clone());
  DiagnosticScope scope(copy->getContext(), sink);
  auto code = getOptions(options, sink);
  if (!code || failed(tools::checkFunctions(*copy, *code, "the module")))
    return {nullptr};
  auto result = std::make_unique<Executable>();
  result->jit = tools::createJit(*copy, *code);
  if (!result->jit)
    return {nullptr};
  auto lookup = [](const char *symbol, void *jit) {
    return static_cast<target::Jit *>(jit)->lookup(symbol);
  };
  if (nvfp4_module_from_symbols(lookup, result->jit.get(), &result->module)) {
    reportError(sink, nvfp4_last_error());
    return {nullptr};
  }
  return {result.release()};
}

void nvfp4ExecutableDestroy(Nvfp4Executable executable) {
  delete static_cast<Executable *>(executable.ptr);
}

struct nvfp4_module *nvfp4ExecutableGetModule(Nvfp4Executable executable) {
  auto *self = static_cast<Executable *>(executable.ptr);
  return self ? self->module : nullptr;
}
