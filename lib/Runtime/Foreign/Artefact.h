//===- Artefact.h - Artefacts that other systems load -----------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Another system opens the shared object, so that the first call of one of its
// functions makes the module.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_LIB_RUNTIME_FOREIGN_ARTEFACT_H
#define NVFP4_LIB_RUNTIME_FOREIGN_ARTEFACT_H

#include "../Module.h"
#include "nvfp4/Runtime/nvfp4_exports.h"

namespace nvfp4::runtime {

/// The function `name` of `artefact`.
nvfp4_status findFunction(nvfp4_artefact *artefact, const char *name,
                          const nvfp4_function *&function);

/// Loads the kernels of the function's module on the device, unless they are
/// loaded. `stream` is that of the call, which must not capture then.
nvfp4_status loadKernels(const nvfp4_function &function, DLDevice place,
                         void *stream);

/// Whether a stream of the device captures; a null stream never does.
nvfp4_status isStreamCapturing(DLDevice place, void *stream, bool &isCapturing);

} // namespace nvfp4::runtime

#endif // NVFP4_LIB_RUNTIME_FOREIGN_ARTEFACT_H
