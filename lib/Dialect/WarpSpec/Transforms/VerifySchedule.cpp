//===- VerifySchedule.cpp - The pass warpspec-verify-schedule ---*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Runs the checks in the order of their labels; later ones rely on earlier
// ones.
//
//===----------------------------------------------------------------------===//

#include "EachKernel.h"
#include "ScheduleChecks.h"
#include "nvfp4/Dialect/WarpSpec/Transforms/Passes.h"

namespace nvfp4::warpspec {
#define GEN_PASS_DEF_VERIFYSCHEDULEPASS
#include "nvfp4/Dialect/WarpSpec/Transforms/Passes.h.inc"
} // namespace nvfp4::warpspec

using namespace mlir;
using namespace nvfp4::warpspec;

namespace {
struct VerifySchedule
    : nvfp4::warpspec::impl::VerifySchedulePassBase<VerifySchedule> {
  void runOnOperation() override {
    markAllAnalysesPreserved();
    if (failed(forEachKernel(getOperation(), verify)))
      signalPassFailure();
  }

  static LogicalResult verify(KernelOp kernel) {
    RolesOp roles = kernel.getRoles();
    if (roles && (failed(verifyClosing(roles)) || failed(verifySpans(roles)) ||
                  failed(verifyReady(roles)) || failed(verifyRing(roles)) ||
                  failed(verifyFlow(roles)) || failed(verifyAliasing(roles)) ||
                  failed(verifyJoins(roles)) || failed(verifyPair(kernel))))
      return failure();
    return success(succeeded(verifyAccesses(kernel)) &&
                   succeeded(verifyResources(kernel)) &&
                   succeeded(verifyPlaces(kernel)));
  }
};
} // namespace
