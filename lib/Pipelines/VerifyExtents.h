//===- VerifyExtents.h - Types that no machine can hold ---------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_LIB_PIPELINES_VERIFYEXTENTS_H
#define NVFP4_LIB_PIPELINES_VERIFYEXTENTS_H

#include <memory>

namespace mlir {
class Pass;
} // namespace mlir

namespace nvfp4 {

/// Fails on a tensor, memref or scaled type of which the static extents alone
/// make more than 2^46 bytes. Changes nothing.
std::unique_ptr<mlir::Pass> createVerifyExtentsPass();

} // namespace nvfp4

#endif // NVFP4_LIB_PIPELINES_VERIFYEXTENTS_H
