//===- TilePermission.h - leave to use tiles of AMX -------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Linux saves the tile registers of a process only after it has asked for them.
// Shared by the compiler, which runs what it compiles, and the runtime.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_RUNTIME_TILEPERMISSION_H
#define NVFP4_RUNTIME_TILEPERMISSION_H

#if defined(__x86_64__) && defined(__linux__)
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace nvfp4::runtime {

/// Asks for tile registers for all threads of the process, present and future;
/// false where the system refuses or knows no tiles. The CPU has to have them.
inline bool requestTiles() {
#if defined(__x86_64__) && defined(__linux__)
  // ARCH_REQ_XCOMP_PERM and XFEATURE_XTILEDATA of the kernel's interface.
  constexpr long request = 0x1023, tileData = 18;
  return syscall(SYS_arch_prctl, request, tileData) == 0;
#else
  return false;
#endif
}

} // namespace nvfp4::runtime

#endif // NVFP4_RUNTIME_TILEPERMISSION_H
