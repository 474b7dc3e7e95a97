//===- Plugin.cpp - The compiler inside a stock mlir-opt --------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The two entry points that a driver built on MlirOptMain looks for in a
// dialect plugin and in a pass plugin: one library is both.
//
//===----------------------------------------------------------------------===//

#include "nvfp4/InitAll.h"

#include "mlir/Tools/Plugins/DialectPlugin.h"
#include "mlir/Tools/Plugins/PassPlugin.h"

static void registerPassesOnce() {
  [[maybe_unused]] static const bool registered =
      (nvfp4::registerAllPasses(), true);
}

extern "C" LLVM_ATTRIBUTE_VISIBILITY_DEFAULT ::mlir::DialectPluginLibraryInfo
mlirGetDialectPluginInfo() {
  return {MLIR_PLUGIN_API_VERSION, "NVFP4", NVFP4_VERSION,
          [](mlir::DialectRegistry *registry) {
            nvfp4::registerAllDialects(*registry);
          }};
}

extern "C" LLVM_ATTRIBUTE_VISIBILITY_DEFAULT ::mlir::PassPluginLibraryInfo
mlirGetPassPluginInfo() {
  return {MLIR_PLUGIN_API_VERSION, "NVFP4", NVFP4_VERSION, registerPassesOnce};
}
