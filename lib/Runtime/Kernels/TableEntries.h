/*===- TableEntries.h - Entries that one launch writes --------------*- C -*-===
 *
 * Part of the NVFP4 project, under the Apache License v2.0 with LLVM
 * Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 *===------------------------------------------------------------------------===
 *
 * Shared by the kernel nvfp4_write_table and the code that launches it.
 *
 *===------------------------------------------------------------------------===
 */

#ifndef NVFP4_LIB_RUNTIME_KERNELS_TABLEENTRIES_H
#define NVFP4_LIB_RUNTIME_KERNELS_TABLEENTRIES_H

/* Of 128 bytes: with the two parameters before them they fill the 4096 bytes
 * that every driver allows. */
#define NVFP4_TABLE_ENTRIES 31

#endif /* NVFP4_LIB_RUNTIME_KERNELS_TABLEENTRIES_H */
