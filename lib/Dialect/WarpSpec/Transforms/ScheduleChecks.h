//===- ScheduleChecks.h - Checks of warpspec-verify-schedule ----*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_LIB_DIALECT_WARPSPEC_TRANSFORMS_SCHEDULECHECKS_H
#define NVFP4_LIB_DIALECT_WARPSPEC_TRANSFORMS_SCHEDULECHECKS_H

#include "nvfp4/Dialect/WarpSpec/IR/WarpSpec.h"

namespace nvfp4::warpspec {

/// V1: every token is closed exactly once on every path.
mlir::LogicalResult verifyClosing(RolesOp roles);

/// V2: buffers of a slot are accessed while it is open, by the agent that
/// opened it.
mlir::LogicalResult verifySpans(RolesOp roles);

/// V2: a wait is skipped only if a try of the same slot has succeeded.
mlir::LogicalResult verifyReady(RolesOp roles);

/// V3: tile loops that share a ring agree on it, and nothing else uses it.
mlir::LogicalResult verifyRing(RolesOp roles);

/// V3 and V4: balance and deadlock, by running the roles as processes for
/// several trip counts. Warns of what is left unchecked.
mlir::LogicalResult verifyFlow(RolesOp roles);

/// V5: slots that share memory are never open at the same time. Warns of what
/// is left unchecked.
mlir::LogicalResult verifyAliasing(RolesOp roles);

/// V5: joined columns are neighbours, where both buffers have a place.
mlir::LogicalResult verifyJoins(RolesOp roles);

/// True for a role whose tensor core works for both blocks of a pair: it runs
/// in the even one.
bool isLeading(mlir::Region &role);

/// V3: in a pair, leading roles have operations of the tensor core only; V4:
/// they take no tiles from a ring.
mlir::LogicalResult verifyPair(KernelOp kernel);

/// V5: what has a place has it to itself, but for buffers of pipelines; V6: it
/// ends within the memory of the kernel.
mlir::LogicalResult verifyPlaces(KernelOp kernel);

/// V2: waits are for loads of tensor memory; V6: constant indices are within
/// buffers of shared memory.
mlir::LogicalResult verifyAccesses(KernelOp kernel);

/// V6: warps, registers, shared memory and columns fit.
mlir::LogicalResult verifyResources(KernelOp kernel);

/// Every use of a slot has its stage and phase, which cannot be counted without
/// roles. Fails with a diagnostic that names the pass.
mlir::LogicalResult verifyStages(RolesOp roles);

/// The allocation that a buffer is part of; null if it is unknown.
mlir::Operation *getAllocation(mlir::Value buffer);

} // namespace nvfp4::warpspec

#endif // NVFP4_LIB_DIALECT_WARPSPEC_TRANSFORMS_SCHEDULECHECKS_H
