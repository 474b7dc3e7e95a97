/*===- BrokenArtefact.c - A description without the code
 * ---------------------------------*- C -*-===
 *
 * Part of the NVFP4 project, under the Apache License v2.0 with LLVM
 * Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 *===------------------------------------------------------------------------===
 */

const char nvfp4_metadata[] =
    "{\"version\":6,\"device\":\"cpu\",\"functions\":["
    "{\"name\":\"absent\",\"arguments\":[],\"results\":[]}]}";
