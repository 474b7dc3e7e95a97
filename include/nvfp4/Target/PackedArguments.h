//===- PackedArguments.h - Arguments that become bytes ----------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Which arguments nvfp4-pack-entry-points changes, for messages that name it.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_TARGET_PACKEDARGUMENTS_H
#define NVFP4_TARGET_PACKEDARGUMENTS_H

#include "mlir/IR/Types.h"

namespace nvfp4::target {

/// True for ranked tensors of f4E2M1FN with a dimension to pack, and without an
/// encoding.
bool canPackArgument(mlir::Type type);

} // namespace nvfp4::target

#endif // NVFP4_TARGET_PACKEDARGUMENTS_H
