# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Warnings, linker, ccache, assertions and sanitizers for every target.
find_program(NVFP4_CCACHE ccache)
if(NVFP4_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_C_COMPILER_LAUNCHER ${NVFP4_CCACHE})
  # What ccache asks for where a precompiled header is used; no source of ours
  # looks at the time or defines what changes a header of MLIR.
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env
    CCACHE_SLOPPINESS=pch_defines,time_macros ${NVFP4_CCACHE})
endif()

add_compile_options(-Wall -Wextra)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND
   CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  # "text" + std::to_string(x) is warned of wherever it is inlined far enough
  # (GCC bug 105329, mended in 13): the one warning that says nothing about us.
  add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-Wno-restrict>)
endif()
if(NVFP4_ENABLE_WERROR)
  add_compile_options(-Werror)
endif()
# Undefined symbols are link errors in shared objects too (sanitizer runtimes
# leave theirs undefined on purpose).
if(NOT NVFP4_ENABLE_SANITIZERS)
  add_link_options(-Wl,-z,defs)
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  add_link_options(-fuse-ld=lld)
endif()
if(NVFP4_ENABLE_ASSERTIONS)
  string(REPLACE "-DNDEBUG" "" CMAKE_CXX_FLAGS_RELEASE "${CMAKE_CXX_FLAGS_RELEASE}")
  string(REPLACE "-DNDEBUG" "" CMAKE_CXX_FLAGS_RELWITHDEBINFO
    "${CMAKE_CXX_FLAGS_RELWITHDEBINFO}")
endif()
if(NVFP4_ENABLE_SANITIZERS)
  # MLIR's shared libraries are built without instrumentation; vptr checks need
  # type information on both sides and are left out. So do checks of functions:
  # those that we generate have no type before their first instruction, and what
  # is there may be no memory.
  add_compile_options(-fsanitize=address,undefined -fno-sanitize=vptr,function
    -fno-sanitize-recover=undefined -fno-omit-frame-pointer)
  add_link_options(-fsanitize=address,undefined -fno-sanitize=vptr,function)
endif()
if(NVFP4_ENABLE_FUZZERS)
  # Coverage in every library; only the fuzzers link libFuzzer's main.
  add_compile_options(-fsanitize=fuzzer-no-link)
endif()
# Numerics are defined to the bit: no contraction, no fast math.
add_compile_options(-ffp-contract=off)
