/*===- nvfp4-c/Compiler.h - C API of the compiler -------------------*- C -*-===
 *
 * Part of the NVFP4 project, under the Apache License v2.0 with LLVM
 * Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 *===------------------------------------------------------------------------===
 *
 * From MLIR text to code that runs, in plain C: parse a module, print it at any
 * stage of a pipeline, compile it into this process or into a shared object.
 * What is compiled is called through nvfp4/Runtime/nvfp4_runtime.h.
 *
 * Handles are MLIR's and follow its conventions: small structs passed by value,
 * null if `ptr` is null, owned by the caller where a function says so. No input
 * makes a function print, exit or crash: what is wrong arrives as diagnostics,
 * and the function returns a failure or a null handle. A context and what lives
 * in it may be used by one thread at a time.
 *
 *===------------------------------------------------------------------------===
 */

#ifndef NVFP4_C_COMPILER_H
#define NVFP4_C_COMPILER_H

#include <mlir-c/IR.h>
#include <mlir-c/Support.h>

#ifdef __cplusplus
extern "C" {
#endif

#define NVFP4_COMPILER_API __attribute__((visibility("default")))

/* Of nvfp4/Runtime/nvfp4_runtime.h. */
struct nvfp4_module;

/*===- Diagnostics -------------------------------------------------------===*/

typedef enum Nvfp4Severity {
  Nvfp4SeverityError = 0,
  Nvfp4SeverityWarning = 1,
  /* Belongs to the diagnostic before it. */
  Nvfp4SeverityNote = 2,
  Nvfp4SeverityRemark = 3
} Nvfp4Severity;

/* One diagnostic; strings live during the callback only. `file` is empty and
 * `line` and `column` are 0 where no place in a text is known. */
typedef struct Nvfp4Diagnostic {
  Nvfp4Severity severity;
  MlirStringRef message;
  MlirStringRef file;
  int64_t line;
  int64_t column;
} Nvfp4Diagnostic;

typedef void (*Nvfp4DiagnosticCallback)(const Nvfp4Diagnostic *diagnostic,
                                        void *userData);

/* Where the diagnostics of one call go. A null callback drops them. */
typedef struct Nvfp4DiagnosticSink {
  Nvfp4DiagnosticCallback callback;
  void *userData;
} Nvfp4DiagnosticSink;

/*===- Modules -----------------------------------------------------------===*/

/* A context that knows every dialect of this project and of MLIR and starts no
 * threads. Owned by the caller. */
NVFP4_COMPILER_API MlirContext nvfp4ContextCreate(void);

/* Ends a context; modules and executables of it must be gone. Null is
 * allowed. */
NVFP4_COMPILER_API void nvfp4ContextDestroy(MlirContext context);

/* Parses and verifies `text`, UTF-8 or bytecode, as one module. `name` stands
 * for the file in locations. Null after diagnostics; owned by the caller. */
NVFP4_COMPILER_API MlirModule nvfp4ModuleParse(MlirContext context,
                                               MlirStringRef text,
                                               MlirStringRef name,
                                               Nvfp4DiagnosticSink sink);

/* A copy, owned by the caller. Null for null. */
NVFP4_COMPILER_API MlirModule nvfp4ModuleClone(MlirModule module);

/* Null is allowed. */
NVFP4_COMPILER_API void nvfp4ModuleDestroy(MlirModule module);

/* Prints the module to the callback, which may be called several times. */
NVFP4_COMPILER_API void nvfp4ModulePrint(MlirModule module,
                                         MlirStringCallback callback,
                                         void *userData);

/* Runs a pipeline in MLIR's syntax, `builtin.module(gsg-fuse-epilogue,cse)` or
 * `gsg-to-cpu{threads=false}`, in place. After a failure the module is good for
 * nothing but being destroyed. */
NVFP4_COMPILER_API MlirLogicalResult nvfp4ModuleRunPipeline(
    MlirModule module, MlirStringRef pipeline, Nvfp4DiagnosticSink sink);

/*===- Compilation -------------------------------------------------------===*/

/* What code is made for. Start from nvfp4CompileOptionsGetDefault. */
typedef struct Nvfp4CompileOptions {
  /* `cpu`, or a GPU for products: `sm_90a`, `sm_100a`, `sm_103a`, `sm_100f`. */
  MlirStringRef target;
  /* Instruction sets of code for the host: `native`, or `generic`, `avx2`,
   * `avx512vnni`, `avx512bf16`, `amx`, several of which are separated by commas
   * and chosen among at run time. */
  MlirStringRef isa;
  /* 0 to 3. */
  unsigned optLevel;
  /* Parallel loops run on OpenMP threads. */
  bool threads;
  /* Offsets, indices and dynamic extents are checked where the code runs. */
  bool runtimeChecks;
  /* Kernels for few and for many rows of a product whose rows are known only
   * where the code runs: at most so many, 1 or more. */
  int64_t versions;
  /* Where arguments and results of functions for a GPU are: `host`, or `device`
   * for nvfp4_function_run, which copies nothing. */
  MlirStringRef memory;
  /* Code for GPUs holds machine code by NVIDIA's ptxas beside the PTX, so that
   * drivers need not assemble it when it is loaded. */
  bool assemble;
} Nvfp4CompileOptions;

/* CPU, native, optimised at level 3, with threads and checks, 4 versions,
 * memory of the host, PTX alone. */
NVFP4_COMPILER_API Nvfp4CompileOptions nvfp4CompileOptionsGetDefault(void);

/* Takes the module after a pass of the pipeline, by the name of the pass. */
typedef void (*Nvfp4StageCallback)(MlirStringRef pass, MlirStringRef text,
                                   void *userData);

/* Prints a copy of the module after each pass on its way to the LLVM dialect.
 * On failure the passes that succeeded have been printed. */
NVFP4_COMPILER_API MlirLogicalResult nvfp4ModulePrintStages(
    MlirModule module, Nvfp4CompileOptions options, Nvfp4StageCallback callback,
    void *userData, Nvfp4DiagnosticSink sink);

/* Compiles a copy of the module to text or bytes: `mlir` (LLVM dialect),
 * `llvm`, `asm`, `obj`; for GPUs also `ptx`, and with NVIDIA's ptxas `cubin`,
 * of the kernels alone. */
NVFP4_COMPILER_API MlirLogicalResult nvfp4ModuleEmit(
    MlirModule module, Nvfp4CompileOptions options, MlirStringRef kind,
    MlirStringCallback callback, void *userData, Nvfp4DiagnosticSink sink);

/* Compiles a copy of the module to a shared object for nvfp4_module_load. */
NVFP4_COMPILER_API MlirLogicalResult
nvfp4ModuleEmitSharedObject(MlirModule module, Nvfp4CompileOptions options,
                            MlirStringRef path, Nvfp4DiagnosticSink sink);

/* Says as a remark at each product which strategies the cost model considers
 * for a GPU, their predicted times, and why each lost. A product that gets no
 * kernel is an error, and there are no remarks then. */
NVFP4_COMPILER_API MlirLogicalResult nvfp4ModuleExplain(
    MlirModule module, MlirStringRef target, Nvfp4DiagnosticSink sink);

/* Code in this process. */
typedef struct Nvfp4Executable {
  void *ptr;
} Nvfp4Executable;

/* Compiles a copy of the module into this process. Null after diagnostics;
 * owned by the caller, and independent of the module and its context. */
NVFP4_COMPILER_API Nvfp4Executable nvfp4ExecutableCreate(
    MlirModule module, Nvfp4CompileOptions options, Nvfp4DiagnosticSink sink);

/* Ends the code, the module of the runtime and its functions. Null is
 * allowed. */
NVFP4_COMPILER_API void nvfp4ExecutableDestroy(Nvfp4Executable executable);

/* The functions, for nvfp4_module_function. Owned by the executable. */
NVFP4_COMPILER_API struct nvfp4_module *
nvfp4ExecutableGetModule(Nvfp4Executable executable);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* NVFP4_C_COMPILER_H */
