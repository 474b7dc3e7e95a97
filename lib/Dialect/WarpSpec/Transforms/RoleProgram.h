//===- RoleProgram.h - Roles as sequences of hand-over events ---*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the checker runs: for each role a tree of loops, branches and hand-over
// events, unrolled for a choice of trip counts.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_LIB_DIALECT_WARPSPEC_TRANSFORMS_ROLEPROGRAM_H
#define NVFP4_LIB_DIALECT_WARPSPEC_TRANSFORMS_ROLEPROGRAM_H

#include "nvfp4/Dialect/WarpSpec/IR/WarpSpec.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringMap.h"

namespace nvfp4::warpspec {

enum class EventKind { Acquire, Commit, Wait, Release, DrainAll };
inline constexpr unsigned kEventKinds = 5;

/// One hand-over in the course of a role.
struct Event {
  EventKind kind;
  mlir::Operation *op;
  /// Number of the pipeline among those of the kernel.
  unsigned pipeline;
};

/// A choice that the program makes at run time: how often a loop runs, or
/// whether a condition holds (0 or 1). Loops and branches of different roles
/// with the same key always choose alike.
struct Choice {
  std::string key;
  bool isCondition;
};

using Assignment = llvm::StringMap<int>;

/// The hand-over program of one role.
class RoleProgram {
public:
  RoleProgram(mlir::Region &role, llvm::ArrayRef<PipelineOp> pipelines);

  /// Choices in the order in which they are met.
  llvm::ArrayRef<Choice> getChoices() const { return choices; }

  /// The first `limit` events for an assignment of every choice; false if there
  /// are more.
  bool unroll(const Assignment &assignment, size_t limit,
              llvm::SmallVectorImpl<Event> &events) const;

  /// True if the role fills (`kind` Acquire) or drains (`kind` Wait) a
  /// pipeline.
  bool uses(unsigned pipeline, EventKind kind) const;

private:
  struct Node {
    /// An event, or a loop or branch over `children` (and `others`).
    std::optional<Event> event;
    /// Constant trip count, or -1.
    int64_t count = -1;
    std::string key;
    bool isCondition = false;
    std::vector<Node> children, others;
  };

  std::vector<Node> build(mlir::Block &block);
  Node buildLoop(SlotLoopOpInterface op);
  void addChoice(const Node &node);
  static bool unroll(llvm::ArrayRef<Node> nodes, const Assignment &assignment,
                     size_t limit, llvm::SmallVectorImpl<Event> &events);

  llvm::ArrayRef<PipelineOp> pipelines;
  // Before the nodes, whose construction fills it.
  llvm::SmallVector<Choice> choices;
  std::vector<Node> nodes;
};

/// Text that is equal for values of different roles that are always equal:
/// expressions of kernel values, constants, and indices of loops and tiles.
std::string getKey(mlir::Value value);
/// The same for how often a loop runs.
std::string getLoopKey(mlir::Operation *op);

} // namespace nvfp4::warpspec

#endif // NVFP4_LIB_DIALECT_WARPSPEC_TRANSFORMS_ROLEPROGRAM_H
