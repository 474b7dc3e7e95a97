/*===- nvfp4-c/Reference.h - C API of the interpreter ---------------*- C -*-===
 *
 * Part of the NVFP4 project, under the Apache License v2.0 with LLVM
 * Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 *===------------------------------------------------------------------------===
 *
 * The exact meaning of a module on tensors, without compiling it: products in
 * exact arithmetic, and a derived bound on how far any correct target may be
 * from them. Slow; for functions on tensors, not on memrefs.
 *
 * Arguments are DLPack tensors of the CPU, row-major, in the order and of the
 * types of nvfp4_function_argument: a block-scaled argument is two, values and
 * scales. 8-bit integers do for 8-bit floats.
 *
 *===------------------------------------------------------------------------===
 */

#ifndef NVFP4_C_REFERENCE_H
#define NVFP4_C_REFERENCE_H

#include "nvfp4-c/Compiler.h"

#include <dlpack/dlpack.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Interprets the public function `function`, or the only one where that is
 * empty. Each of the `numResults` results is a new tensor that its deleter
 * frees; on failure nothing is stored. */
NVFP4_COMPILER_API MlirLogicalResult nvfp4ModuleInterpret(
    MlirModule module, MlirStringRef function, const DLTensor *const *arguments,
    size_t numArguments, DLManagedTensor **results, size_t numResults,
    Nvfp4DiagnosticSink sink);

/* How many results nvfp4ModuleInterpret returns, or -1 after a diagnostic. */
NVFP4_COMPILER_API int64_t nvfp4ModuleGetNumResults(MlirModule module,
                                                    MlirStringRef function,
                                                    Nvfp4DiagnosticSink sink);

/* Compares `results`, what `target` (cpu, sm_90a, sm_100a, sm_103a or sm_100f)
 * returned for `arguments`, with the interpreter's; targets add in different
 * ways, and so their bounds differ. `callback` gets a line for each: how many
 * were compared and the largest error as a part of its bound. Fails if one is
 * beyond its bound, or, with `exact`, differs at all. `sampledRows` compares as
 * many rows of each group and as many columns; 0: all. */
NVFP4_COMPILER_API MlirLogicalResult nvfp4ModuleCheck(
    MlirModule module, MlirStringRef function, MlirStringRef target,
    const DLTensor *const *arguments, size_t numArguments,
    const DLTensor *const *results, size_t numResults, bool exact,
    int64_t sampledRows, MlirStringCallback callback, void *userData,
    Nvfp4DiagnosticSink sink);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* NVFP4_C_REFERENCE_H */
