# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Target tidy: clang-tidy over the compiled sources of lib/ and tools/.
find_program(NVFP4_RUN_CLANG_TIDY NAMES run-clang-tidy-22 run-clang-tidy)
find_program(NVFP4_CLANG_TIDY NAMES clang-tidy-22 clang-tidy)
if(NVFP4_RUN_CLANG_TIDY AND NVFP4_CLANG_TIDY)
  get_property(_nvfp4_tidy_after GLOBAL PROPERTY NVFP4_LIBRARIES)
  add_custom_target(tidy
    COMMAND ${NVFP4_RUN_CLANG_TIDY} -quiet -p ${PROJECT_BINARY_DIR}
      -clang-tidy-binary ${NVFP4_CLANG_TIDY}
      "^${PROJECT_SOURCE_DIR}/(lib|tools)/"
    # Generated headers must exist first.
    DEPENDS ${_nvfp4_tidy_after}
    WORKING_DIRECTORY ${PROJECT_SOURCE_DIR} USES_TERMINAL VERBATIM)
endif()
