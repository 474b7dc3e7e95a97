//===- SharedLayout.h - static shared memory of kernels -------------*- C++
//-*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every kernel has a static shared block of its own: what other kernels of the
// module declare takes no room in it.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_SIMULATOR_PTX_SHAREDLAYOUT_H
#define NVFP4_SIMULATOR_PTX_SHAREDLAYOUT_H

#include "nvfp4/Simulator/Ptx/Ast.h"

namespace nvfp4::sim {

/// Places, for each kernel of `module`, the shared variables that it declares
/// and those that it or a function it calls refers to. Calls are expanded
/// before (inlineCalls).
void layOutShared(Module &module);

} // namespace nvfp4::sim

#endif // NVFP4_SIMULATOR_PTX_SHAREDLAYOUT_H
