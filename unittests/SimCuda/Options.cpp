//===- Options.cpp - options of the devices of these tests ------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The driver reads them when it is first called.
//
//===----------------------------------------------------------------------===//

#include <cstdlib>

[[maybe_unused]] static const int isSet =
    setenv("NVFP4_SIM_OPTIONS", "--devices 2 --max-idle 200000", 1);
