//===- KernelTargets.cpp - The targets of this compiler --------------*- C++
//-*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One row for each GPU. docs/HowTo/target.md says what else a new one needs.
//
//===----------------------------------------------------------------------===//

#include "nvfp4/Strategy/KernelTargets.h"

#include "nvfp4/Strategy/Tcgen05/Target.h"
#include "nvfp4/Strategy/Wgmma/Target.h"

using namespace nvfp4::strategy;

// In the order in which messages list them.
static bool registerRows() {
  static const WgmmaTarget wgmma[] = {
      {{.name = "sm_90a", .computeCapability = 90, .isSimulated = true}}};
  static const Tcgen05Target tcgen05[] = {
      {{.name = "sm_100a", .computeCapability = 100, .isSimulated = true},
       kB200},
      {{.name = "sm_103a", .computeCapability = 103, .isSimulated = false},
       kB300},
      // One PTX for all devices of the family.
      {{.name = "sm_100f", .computeCapability = 0, .isSimulated = true},
       kB200}};
  for (const KernelTarget &target : wgmma)
    registerKernelTarget(target);
  for (const KernelTarget &target : tcgen05)
    registerKernelTarget(target);
  return true;
}

void nvfp4::strategy::registerKernelTargets() {
  static const bool once = registerRows();
  static_cast<void>(once);
}
