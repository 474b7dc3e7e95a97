/*===- OlderArtefact.c - What an earlier compiler made -----------*- C -*-===*
 *
 * Part of the NVFP4 project, under the Apache License v2.0 with LLVM
 * Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 *===------------------------------------------------------------------------===
 *
 * It calls a function that the runtime had then.
 *
 *===------------------------------------------------------------------------===
 */

const char nvfp4_metadata[] =
    "{\"version\":1,\"device\":\"cpu\",\"functions\":["
    "{\"name\":\"old\",\"arguments\":[],\"results\":[]}]}";

void nvfp4_task_of_version_1(void);

void nvfp4_entry_old(void **arguments) {
  (void)arguments;
  nvfp4_task_of_version_1();
}
