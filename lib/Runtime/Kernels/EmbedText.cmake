# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Writes OUTPUT, C++ that defines kRuntimeKernels as the text of INPUT.
file(READ ${INPUT} text)
file(WRITE ${OUTPUT} "#include \"Kernels/RuntimeKernels.h\"\n
const char *const nvfp4::runtime::kRuntimeKernels = R\"ptx(${text})ptx\";\n")
