/*===- nvfp4-c/TensorIO.h - C API of checkpoints --------------------*- C -*-===
 *
 * Part of the NVFP4 project, under the Apache License v2.0 with LLVM
 * Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 *===------------------------------------------------------------------------===
 *
 * Reads and writes safetensors files: one, or the shards of a checkpoint. A
 * file is checked in full when it is opened, and its tensors stay in it:
 * nothing is copied. What is wrong arrives as one diagnostic without a place.
 *
 *===------------------------------------------------------------------------===
 */

#ifndef NVFP4_C_TENSORIO_H
#define NVFP4_C_TENSORIO_H

#include "nvfp4-c/Compiler.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The largest rank of a tensor. */
#define NVFP4_MAX_RANK 64

/* A tensor in memory, row-major and little-endian, of any alignment. */
typedef struct Nvfp4TensorView {
  MlirStringRef name;
  /* `bool`, `u8`, `i8`, `u16`, `i16`, `u32`, `i32`, `u64`, `i64`, `f16`,
   * `bf16`, `f32`, `f64`, `f8_e4m3fn`, `f8_e5m2` or `f8_e8m0fnu`. Two values of
   * 4 bits are a `u8`. */
  MlirStringRef dtype;
  size_t rank;
  int64_t shape[NVFP4_MAX_RANK];
  const void *data;
  /* In bytes. */
  size_t size;
} Nvfp4TensorView;

/* An open checkpoint, which any number of threads may read. */
typedef struct Nvfp4Checkpoint {
  void *ptr;
} Nvfp4Checkpoint;

/* Opens a `.safetensors` file, an index (`*.index.json`), or a directory with
 * `model.safetensors.index.json`, `model.safetensors` or other files that end
 * with `.safetensors`. Null after a diagnostic; owned by the caller. */
NVFP4_COMPILER_API Nvfp4Checkpoint
nvfp4CheckpointOpen(MlirStringRef path, Nvfp4DiagnosticSink sink);

/* Closes the files. Null is allowed. */
NVFP4_COMPILER_API void nvfp4CheckpointDestroy(Nvfp4Checkpoint checkpoint);

/* How many tensors there are; 0 for null. */
NVFP4_COMPILER_API size_t
nvfp4CheckpointGetNumTensors(Nvfp4Checkpoint checkpoint);

/* Name `index` of the sorted names, which lives as long as the checkpoint;
 * empty where there are not as many. */
NVFP4_COMPILER_API MlirStringRef
nvfp4CheckpointGetName(Nvfp4Checkpoint checkpoint, size_t index);

/* The tensor called `name`, whose data live as long as the checkpoint. Fails if
 * there is none, or if it has a type that is not listed above. */
NVFP4_COMPILER_API MlirLogicalResult
nvfp4CheckpointGetTensor(Nvfp4Checkpoint checkpoint, MlirStringRef name,
                         Nvfp4TensorView *tensor, Nvfp4DiagnosticSink sink);

/* Writes tensors and `numMetadata` pairs of a key and a value, one after the
 * other, to a `.safetensors` file, which appears whole or not at all. Names
 * differ from each other and from `__metadata__`. A link keeps pointing where
 * it did, and what is no regular file is written to, not replaced. */
NVFP4_COMPILER_API MlirLogicalResult
nvfp4SafetensorsWrite(MlirStringRef path, const Nvfp4TensorView *tensors,
                      size_t numTensors, const MlirStringRef *metadata,
                      size_t numMetadata, Nvfp4DiagnosticSink sink);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* NVFP4_C_TENSORIO_H */
