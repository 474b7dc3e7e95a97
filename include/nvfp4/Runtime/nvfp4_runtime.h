/*===- nvfp4_runtime.h - Calling compiled modules -------------------*- C -*-===
 *
 * Part of the NVFP4 project, under the Apache License v2.0 with LLVM
 * Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 *===------------------------------------------------------------------------===
 *
 * Plain C interface to artefacts of nvfp4-compile: load one, ask what its
 * functions take, call them with DLPack tensors. Needs neither MLIR nor LLVM.
 *
 * Functions return a status; nvfp4_last_error() then says what was expected
 * and what was found. A null pointer where none is allowed is an error of
 * functions that return a status; of a null object the others say that it has
 * no name, no metadata (the empty text) and no functions, arguments or results.
 * Objects may be used by several threads at once, except
 * that none may use one while it is released.
 *
 *===------------------------------------------------------------------------===
 */

#ifndef NVFP4_RUNTIME_NVFP4_RUNTIME_H
#define NVFP4_RUNTIME_NVFP4_RUNTIME_H

#include <dlpack/dlpack.h>

#include <stddef.h>
#include <stdint.h>

#ifndef NVFP4_API
#define NVFP4_API __attribute__((visibility("default")))
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* Type codes that DLPack 1.1 gives to the 8-bit floats; one lane, 8 bits.
 * Where a function takes one of them, 8-bit integers are accepted as well. */
enum {
  NVFP4_DL_FLOAT8_E4M3FN = 10,
  NVFP4_DL_FLOAT8_E5M2 = 12,
  NVFP4_DL_FLOAT8_E8M0FNU = 14,
  /* FP4, 4 bits: a lane is a value, the first of two in the low half of a byte.
   * Packed values of scaled tensors may be bytes (8-bit integers), pairs (two
   * lanes; the shape is that of the bytes) or values (one lane; the last extent
   * counts values, and is even). */
  NVFP4_DL_FLOAT4_E2M1FN = 17,
  /* DLPack's code of truth values. */
  NVFP4_DL_BOOL = 6
};

typedef enum nvfp4_status {
  NVFP4_OK = 0,
  /* An argument is not what the function takes. */
  NVFP4_INVALID_ARGUMENT = 1,
  /* No such file, module or function. */
  NVFP4_NOT_FOUND = 2,
  /* The file is no artefact, or one of another version. */
  NVFP4_BAD_ARTEFACT = 3,
  NVFP4_OUT_OF_MEMORY = 4,
  /* This build or this machine cannot do it. */
  NVFP4_UNSUPPORTED = 5,
  /* The device's driver refused, a kernel failed, or the simulator reported
   * something. */
  NVFP4_DEVICE_ERROR = 6,
  /* Group offsets, indices or extents break a constraint of the program. */
  NVFP4_INVALID_DATA = 7
} nvfp4_status;

/* Why the last call of this thread that returned a status other than NVFP4_OK
 * failed: one line, valid until the next such call. Never null. */
NVFP4_API const char *nvfp4_last_error(void);

/*===- The machine -------------------------------------------------------===*/

/* The fastest instruction set of this CPU that code may use: 0 generic, 1 AVX2,
 * 2 AVX-512 with VBMI and VNNI, 3 with BF16, 4 AMX, for which the system is
 * asked. On Intel's CPUs 3 is no faster than 2 and only given where
 * NVFP4_CPU_ISA in the environment (a name of those below) asks for it; that
 * lowers it otherwise. Another name gives 0, and makes calls by
 * nvfp4_function_call fail. */
NVFP4_API int nvfp4_cpu_isa(void);

/* The same in `isa`, with an error where NVFP4_CPU_ISA holds another name. */
NVFP4_API nvfp4_status nvfp4_choose_cpu_isa(int *isa);

/* "generic", "avx2", "avx512vnni", "avx512bf16", "amx"; or null. */
NVFP4_API const char *nvfp4_cpu_isa_name(int isa);

/* Sets how many threads calls use from now on, at most 4096; 0 goes back to the
 * default: the environment variable NVFP4_NUM_THREADS, or else what OpenMP
 * chooses. */
NVFP4_API nvfp4_status nvfp4_set_num_threads(int count);

/* How many threads a call would use; 0 if it would fail, since one of the
 * variables holds no number that nvfp4_set_num_threads takes. */
NVFP4_API int nvfp4_num_threads(void);

/*===- Modules -----------------------------------------------------------===*/

typedef struct nvfp4_module nvfp4_module;
typedef struct nvfp4_function nvfp4_function;

/* Loads a shared object that nvfp4-compile made. */
NVFP4_API nvfp4_status nvfp4_module_load(const char *path,
                                         nvfp4_module **module);

/* Makes a module of code that is in this process already, such as that of a
 * JIT compiler. `lookup` is called with symbol names during this call only and
 * returns null for unknown ones; the code must outlive the module. */
NVFP4_API nvfp4_status
nvfp4_module_from_symbols(void *(*lookup)(const char *symbol, void *context),
                          void *context, nvfp4_module **module);

/* Ends the life of the module, its functions and the code. Results of calls
 * stay valid. Null is allowed. */
NVFP4_API void nvfp4_module_release(nvfp4_module *module);

/* The JSON text that describes the module. */
NVFP4_API const char *nvfp4_module_metadata(const nvfp4_module *module);

NVFP4_API size_t nvfp4_module_num_functions(const nvfp4_module *module);

/* The function at `index`, or null past the end. */
NVFP4_API const nvfp4_function *
nvfp4_module_function_at(const nvfp4_module *module, size_t index);

/* The function called `name`. A miss lists the names. */
NVFP4_API nvfp4_status nvfp4_module_function(const nvfp4_module *module,
                                             const char *name,
                                             const nvfp4_function **function);

/*===- Functions ---------------------------------------------------------===*/

typedef enum nvfp4_role {
  NVFP4_ROLE_PLAIN = 0,
  /* Packed values, or scales, of a block-scaled tensor. */
  NVFP4_ROLE_VALUES = 1,
  NVFP4_ROLE_SCALES = 2
} nvfp4_role;

/* One argument or result. Pointers live as long as the module. */
typedef struct nvfp4_value_info {
  DLDataType dtype;
  /* `f32`, `i8`, `f8E4M3FN`, ... */
  const char *element_type;
  /* Nonzero for a scalar, which is passed as a tensor of rank 0. */
  int is_scalar;
  int32_t ndim;
  /* -1 where any extent is accepted. */
  const int64_t *shape;
  /* Nonzero if the function writes to the tensor passed as this argument. */
  int is_mutable;
  nvfp4_role role;
  /* The block-scaled type that this is a part of, or null, as MLIR prints it:
   * nvfp4_function_argument_scaled gives its parameters. */
  const char *scaled_type;
} nvfp4_value_info;

/* The type of a block-scaled tensor. Words are those of the dialect; pointers
 * live as long as the module. */
typedef struct nvfp4_scaled_info {
  /* The type as MLIR prints it. */
  const char *text;
  /* The rank and the logical extents, -1 where any extent is accepted. */
  int32_t ndim;
  const int64_t *shape;
  /* `nvfp4`, `mxfp8_e4m3`, ... */
  const char *format;
  /* How scales lie in memory: `linear`, `blocked`, ... */
  const char *layout;
  /* Where the scales of each group start: `whole`, `compact`, ... */
  const char *starts;
  /* The dimension that blocks lie along, in [0, ndim). */
  int32_t axis;
} nvfp4_scaled_info;

NVFP4_API const char *nvfp4_function_name(const nvfp4_function *function);
NVFP4_API size_t nvfp4_function_num_arguments(const nvfp4_function *function);
NVFP4_API size_t nvfp4_function_num_results(const nvfp4_function *function);
NVFP4_API nvfp4_status nvfp4_function_argument(const nvfp4_function *function,
                                               size_t index,
                                               nvfp4_value_info *info);
NVFP4_API nvfp4_status nvfp4_function_result(const nvfp4_function *function,
                                             size_t index,
                                             nvfp4_value_info *info);

/* The block-scaled type that an argument or a result is the values or scales
 * of; NVFP4_INVALID_ARGUMENT for one of NVFP4_ROLE_PLAIN. */
NVFP4_API nvfp4_status nvfp4_function_argument_scaled(
    const nvfp4_function *function, size_t index, nvfp4_scaled_info *info);
NVFP4_API nvfp4_status nvfp4_function_result_scaled(
    const nvfp4_function *function, size_t index, nvfp4_scaled_info *info);

/* The handler by which XLA calls the function (XLA_FFI_Handler), which lives as
 * long as the code; null if the artefact was compiled before there were any. */
NVFP4_API void *nvfp4_function_xla_handler(const nvfp4_function *function);

/* Checks one tensor against argument `index`: device, element type, rank,
 * shape, layout (row-major without gaps) and alignment. */
NVFP4_API nvfp4_status nvfp4_function_check(const nvfp4_function *function,
                                            size_t index,
                                            const DLTensor *tensor);

/* Calls the function. Scalars are tensors of rank 0. Every argument is checked
 * before the function runs. The function checks what its arguments hold: an
 * operation whose data break a constraint does not run, and the call fails with
 * NVFP4_INVALID_DATA. Each result is a new tensor that its deleter frees;
 * `results` has room for num_results of them, and on failure nothing is stored
 * there. `stream` orders work on devices that have streams and is null for the
 * CPU, where the call returns when the results are complete. */
NVFP4_API nvfp4_status nvfp4_function_call(const nvfp4_function *function,
                                           const DLTensor *const *arguments,
                                           size_t num_arguments,
                                           DLManagedTensor **results,
                                           size_t num_results, void *stream);

/* The same call, whose kernels run on `device`, a name as nvfp4_device_open
 * takes it, whatever other calls at the same time do. It is opened when a call
 * first names it, and stays open. Null stands for the device of
 * nvfp4_launch_set_device, or else for NVFP4_DEVICE, or else for `cuda`. */
NVFP4_API nvfp4_status nvfp4_function_call_on(const char *device,
                                              const nvfp4_function *function,
                                              const DLTensor *const *arguments,
                                              size_t num_arguments,
                                              DLManagedTensor **results,
                                              size_t num_results, void *stream);

/*===- Functions on device memory ----------------------------------------===*/

/* Functions that were compiled with --memory=device take tensors of a GPU, of
 * DLPack's device kDLCUDA, or of the simulator's devices, kDLExtDev. Data are
 * aligned to 16 bytes, and rows follow each other without gaps. Scalars are the
 * host's. nvfp4_function_call takes the same functions with tensors of the
 * host, which it copies there and back. */

/* Loads the kernels of the function's module on `device`, so that
 * nvfp4_function_run need not. Not while a stream of the thread captures. */
NVFP4_API nvfp4_status nvfp4_function_prepare(const nvfp4_function *function,
                                              DLDevice device);

/* How many bytes of device memory a call with arguments of these shapes needs
 * beside its arguments and results. `data` of tensors is not looked at and may
 * be null; scalars must have a value. What rows belong to which group does not
 * matter. The device need not be there. */
NVFP4_API nvfp4_status nvfp4_function_workspace(
    const nvfp4_function *function, const DLTensor *const *arguments,
    size_t num_arguments, size_t *bytes);

/* The shapes of the results of such a call: `shapes[i]` has room for as many
 * extents as result i has dimensions. */
NVFP4_API nvfp4_status nvfp4_function_result_shapes(
    const nvfp4_function *function, const DLTensor *const *arguments,
    size_t num_arguments, int64_t *const *shapes, size_t num_results);

/* Puts the work of a call in `stream`, a CUstream (null is the default stream)
 * of the device that all tensors are on, and returns. `results` are tensors of
 * the caller with the shapes above, which the work writes. `workspace` is
 * device memory at a multiple of 256 bytes that belongs to the call until the
 * work is done, for as many bytes as nvfp4_function_workspace says.
 *
 * Nothing is allocated, waited for, read back or copied from the host, so that
 * a CUDA graph can capture the call; data may change between launches of the
 * graph, addresses and shapes may not. Several threads may run one function at
 * a time, each with a workspace of its own.
 *
 * Data of the device that break a constraint of the program (group offsets,
 * indices, factors) make no kernel touch memory outside of its operands. The
 * results are unspecified, and nvfp4_function_take_violation tells it. With
 * NVFP4_CHECK=sync in the environment this function waits for the work and
 * fails itself, with NVFP4_INVALID_DATA or NVFP4_DEVICE_ERROR; it then refuses
 * streams that capture. */
NVFP4_API nvfp4_status nvfp4_function_run(const nvfp4_function *function,
                                          const DLTensor *const *arguments,
                                          size_t num_arguments,
                                          DLTensor *const *results,
                                          size_t num_results, void *workspace,
                                          size_t bytes, void *stream);

/* NVFP4_INVALID_DATA if kernels of nvfp4_function_run on `device`, or of graphs
 * that captured it, have found data of this function that break a constraint
 * since the last such question; nvfp4_last_error() then names the operation,
 * the constraint, the value seen and the nearest legal one of the violation
 * that was recorded first. Reads memory of the host, so that it neither waits
 * nor disturbs a capture: work that is not done may still find something. Calls
 * under NVFP4_CHECK=sync and of nvfp4_function_call report their own. The
 * function must have been prepared. */
NVFP4_API nvfp4_status
nvfp4_function_take_violation(const nvfp4_function *function, DLDevice device);

/* For code with checks that is called in another way: NVFP4_INVALID_DATA if one
 * failed outside of nvfp4_function_call, on any thread, since the last such
 * question; nvfp4_last_error() then tells the first. */
NVFP4_API nvfp4_status nvfp4_take_violation(void);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* NVFP4_RUNTIME_NVFP4_RUNTIME_H */
