//===- Candidate.cpp - A tile with what is known of it ----------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Names for machines to read; StrategyExplain.cpp has those for people.
//
//===----------------------------------------------------------------------===//

#include "nvfp4/KernelTarget/Candidate.h"

using namespace nvfp4::strategy;

const char *nvfp4::strategy::stringify(Limit limit) {
  switch (limit) {
  case Limit::Fixed:
    return "fixed";
  case Limit::DRAM:
    return "dram";
  case Limit::Fill:
    return "fill";
  case Limit::Product:
    return "mma";
  case Limit::Epilogue:
    return "epilogue";
  case Limit::TileNumber:
    return "tile number";
  case Limit::Decode:
    return "decode";
  }
  return "";
}
