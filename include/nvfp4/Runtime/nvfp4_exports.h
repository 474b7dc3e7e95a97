/*===- nvfp4_exports.h - Functions of artefacts for other systems ---*- C -*-===
 *
 * Part of the NVFP4 project, under the Apache License v2.0 with LLVM
 * Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 *===------------------------------------------------------------------------===
 *
 * An artefact exports each of its functions by the conventions of other
 * systems (nvfp4-export-functions). The code of these symbols calls the
 * functions below. The first such call keeps the artefact loaded until the
 * process ends. docs/Runtime.md says what callers may pass.
 *
 *===------------------------------------------------------------------------===
 */

#ifndef NVFP4_RUNTIME_NVFP4_EXPORTS_H
#define NVFP4_RUNTIME_NVFP4_EXPORTS_H

#include "nvfp4/Runtime/nvfp4_runtime.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What an artefact tells the runtime of itself: the symbols that
 * nvfp4_module_from_symbols asks for. */
typedef struct nvfp4_artefact {
  /* The runtime's; null at first. */
  void *module;
  /* The last name is null. */
  struct {
    const char *name;
    void *address;
  } symbols[];
} nvfp4_artefact;

/* tvm-ffi: `arguments` points to `count` values of type TVMFFIAny, `result` to
 * one that is None. 0, or -1 after the error was raised in libtvm_ffi. */
NVFP4_API int32_t nvfp4_tvm_ffi_call(nvfp4_artefact *artefact,
                                     const char *function, void *self,
                                     const void *arguments, int32_t count,
                                     void *result);

/* The same with a result that is a text: the signature of the function. */
NVFP4_API int32_t nvfp4_tvm_ffi_doc(nvfp4_artefact *artefact,
                                    const char *function, void *self,
                                    const void *arguments, int32_t count,
                                    void *result);

/* XLA: a handler of custom calls. `frame` is an XLA_FFI_CallFrame, the result
 * an XLA_FFI_Error or null. */
NVFP4_API void *nvfp4_xla_call(nvfp4_artefact *artefact, const char *function,
                               void *frame);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* NVFP4_RUNTIME_NVFP4_EXPORTS_H */
