//===- consumer.cpp - a user of the installed package -----------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Rounds a few numbers to E2M1 through the installed headers.
//
//===----------------------------------------------------------------------===//

#include "nvfp4/Format/E2M1.h"

#include <cstdio>
#include <initializer_list>

int main() {
  for (float value : {0.2f, 2.4f, -5.1f, 100.0f})
    std::printf("%g\n",
                nvfp4::format::decodeE2M1(nvfp4::format::encodeE2M1(value)));
}
