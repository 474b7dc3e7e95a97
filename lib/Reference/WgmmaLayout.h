//===- WgmmaLayout.h - Weights laid out for sm_90a --------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The layouts `wgmma` and `wgmma_f16`, bit by bit, as docs/Rationale/Hopper.md
// describes them: nothing here is shared with what lays weights out.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_LIB_REFERENCE_WGMMALAYOUT_H
#define NVFP4_LIB_REFERENCE_WGMMALAYOUT_H

#include "nvfp4/Reference/Value.h"

namespace nvfp4::reference {

/// Linear weights as `layout`, Wgmma or WgmmaF16; the data keep
/// relayout_weights_c4, or this fails.
llvm::Expected<ScaledValue> codeWeights(const ScaledValue &linear,
                                        gsg::ScaleLayout layout);

/// Such weights as linear ones; the bytes keep
/// relayout_weights_c5, or this fails.
llvm::Expected<ScaledValue> readCodedWeights(const ScaledValue &coded);

} // namespace nvfp4::reference

#endif // NVFP4_LIB_REFERENCE_WGMMALAYOUT_H
