//===- Parser.h - the grammar of PTX 7.8 to 9.0 -----------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reads a module: directives, variables with initialisers, functions and
// kernels, nested scopes with their own registers and labels, guards, vectors,
// memory operands, `.loc`. Debug sections are skipped.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_SIMULATOR_PTX_PARSER_H
#define NVFP4_SIMULATOR_PTX_PARSER_H

#include "nvfp4/Simulator/Ptx/Ast.h"

#include <memory>

namespace nvfp4::sim {

/// Parses `text`. Returns null when `diagnostics` has errors.
std::unique_ptr<Module> parseModule(std::string text, std::string fileName,
                                    Diagnostics &diagnostics);

} // namespace nvfp4::sim

#endif // NVFP4_SIMULATOR_PTX_PARSER_H
