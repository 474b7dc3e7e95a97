//===- Workspace.h - Places in the workspace of a call ----------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Device memory that a call allocates is a part of one workspace. Work of a
// call is ordered in one stream, so that memory may be used again as soon as it
// is freed on the host. Equal sequences of calls give equal places: a call that
// only measures needs as much as one that runs.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_LIB_RUNTIME_FRAME_WORKSPACE_H
#define NVFP4_LIB_RUNTIME_FRAME_WORKSPACE_H

#include <cstdint>
#include <vector>

namespace nvfp4::runtime {

/// Offsets in a workspace, multiples of 256 bytes.
class Workspace {
public:
  static constexpr uint64_t kAlignment = 256;

  /// The first place with room for `bytes`.
  uint64_t allocate(uint64_t bytes);
  /// False if nothing that is allocated begins at `offset`.
  bool free(uint64_t offset);
  /// How many bytes have been in use at most.
  uint64_t getPeak() const { return peak; }

private:
  struct Piece {
    uint64_t begin, end;
  };
  /// In use, by place.
  std::vector<Piece> pieces;
  uint64_t peak = 0;
};

} // namespace nvfp4::runtime

#endif // NVFP4_LIB_RUNTIME_FRAME_WORKSPACE_H
