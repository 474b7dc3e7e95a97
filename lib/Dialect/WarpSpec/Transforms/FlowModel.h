//===- FlowModel.h - Roles as processes -------------------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Roles block only on acquire, wait and drain_all and are otherwise
// deterministic: what has happened so far is a number of events of each role.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_LIB_DIALECT_WARPSPEC_TRANSFORMS_FLOWMODEL_H
#define NVFP4_LIB_DIALECT_WARPSPEC_TRANSFORMS_FLOWMODEL_H

#include "RoleProgram.h"

#include <array>

namespace nvfp4::warpspec {

/// Hand-over of one role so far, by pipeline and kind.
class Counts {
public:
  explicit Counts(size_t pipelines = 0) : of(pipelines) {}

  unsigned &operator()(unsigned pipeline, EventKind kind) {
    return of[pipeline][static_cast<int>(kind)];
  }
  unsigned operator()(unsigned pipeline, EventKind kind) const {
    return of[pipeline][static_cast<int>(kind)];
  }

private:
  llvm::SmallVector<std::array<unsigned, kEventKinds>, 0> of;
};

/// The roles of a kernel and when each may take its next step.
class FlowModel {
public:
  explicit FlowModel(RolesOp roles);
  FlowModel(const FlowModel &) = delete;

  unsigned countRoles() const { return programs.size(); }
  HandOver getProtocol(unsigned pipeline) const;

  /// What the roles that have done `opens` at all have done least often of
  /// `closes`: the other side waits for it.
  unsigned getLeast(llvm::ArrayRef<Counts> counts, unsigned pipeline,
                    EventKind opens, EventKind closes) const;

  /// True if `role` does not wait at `event`.
  bool canRun(llvm::ArrayRef<Counts> counts, unsigned role,
              const Event &event) const;

  /// True if `role` has events of `kind` on the pipeline.
  bool uses(unsigned role, unsigned pipeline, EventKind kind) const {
    return used[role](pipeline, kind) != 0;
  }

  RolesOp roles;
  llvm::SmallVector<PipelineOp> pipelines;
  std::vector<RoleProgram> programs;

private:
  /// Not 0 for what a role does at all.
  std::vector<Counts> used;
};

} // namespace nvfp4::warpspec

#endif // NVFP4_LIB_DIALECT_WARPSPEC_TRANSFORMS_FLOWMODEL_H
