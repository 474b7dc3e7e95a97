# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Wrappers that keep the CMakeLists of the tree to one idea a line.

# nvfp4_add_library(<name> <sources>... [LINK <libs>...])
# A library that links no MLIR (Format, Strategy, TensorIO, Runtime, Simulator).
function(nvfp4_add_library name)
  cmake_parse_arguments(ARG "SHARED" "" "LINK" ${ARGN})
  if(ARG_SHARED)
    add_library(${name} SHARED ${ARG_UNPARSED_ARGUMENTS})
  else()
    add_library(${name} STATIC ${ARG_UNPARSED_ARGUMENTS})
  endif()
  add_library(NVFP4::${name} ALIAS ${name})
  target_include_directories(${name} PUBLIC
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
    $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  target_include_directories(${name} SYSTEM PUBLIC
    $<BUILD_INTERFACE:${PROJECT_BINARY_DIR}/include>)
  target_link_libraries(${name} PUBLIC ${ARG_LINK})
  set_property(GLOBAL APPEND PROPERTY NVFP4_LIBRARIES ${name})
endfunction()

# nvfp4_precompile_mlir(<name>...)
# Targets whose sources include MLIR read its headers precompiled. An executable
# gets the code model of a library, since headers are compiled for one only.
function(nvfp4_precompile_mlir)
  if(NOT NVFP4_ENABLE_PCH)
    return()
  endif()
  foreach(name ${ARGN})
    target_precompile_headers(${name} REUSE_FROM nvfp4_mlir_pch)
    get_target_property(type ${name} TYPE)
    if(type STREQUAL "EXECUTABLE")
      set_target_properties(${name} PROPERTIES POSITION_INDEPENDENT_CODE OFF)
      target_compile_options(${name} PRIVATE -fPIC)
    endif()
  endforeach()
endfunction()

# nvfp4_add_mlir_library(<name> <sources>... [DEPENDS <tablegen>...] [LINK <libs>...])
# A library of the compiler. MLIR comes in as the shared library only; its
# headers come in precompiled, since parsing them is most of the compile time.
function(nvfp4_add_mlir_library name)
  cmake_parse_arguments(ARG "" "" "DEPENDS;LINK" ${ARGN})
  nvfp4_add_library(${name} ${ARG_UNPARSED_ARGUMENTS} LINK NVFP4::mlir ${ARG_LINK})
  nvfp4_precompile_mlir(${name})
  if(ARG_DEPENDS)
    add_dependencies(${name} ${ARG_DEPENDS})
  endif()
  set_property(GLOBAL APPEND PROPERTY NVFP4_MLIR_LIBRARIES ${name})
endfunction()

# nvfp4_export_only(<name> <symbol pattern>...)
# A shared library of the compiler that shows the symbols of the patterns and no
# others: a program that links the static libraries as well keeps its own copy
# of the dialects.
function(nvfp4_export_only name)
  set(patterns ${ARGN})
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # Identities of types without one of their own (traits) are static variables
    # of inline functions, which MLIR keys by the compiler's spelling of the type.
    # g++ spells some otherwise than clang++, which Debian's MLIR is built with,
    # so the variables themselves must be one in the whole process.
    foreach(variable _ZZN4mlir _ZGVZN4mlir)
      list(APPEND patterns "${variable}6detail14TypeIDResolver*resolveTypeIDEvE2id")
    endforeach()
  else()
    target_compile_options(${name} PRIVATE -fvisibility=hidden)
  endif()
  list(JOIN patterns "; " patterns)
  set(script ${CMAKE_CURRENT_BINARY_DIR}/exports.map)
  file(CONFIGURE OUTPUT ${script} CONTENT "{ global: ${patterns}; local: *; };\n")
  target_link_options(${name} PRIVATE -Wl,--version-script=${script})
  set_target_properties(${name} PROPERTIES LINK_DEPENDS ${script})
endfunction()

# nvfp4_add_tool(<name> <sources>... [LINK <libs>...])
function(nvfp4_add_tool name)
  cmake_parse_arguments(ARG "" "" "LINK" ${ARGN})
  add_executable(${name} ${ARG_UNPARSED_ARGUMENTS})
  target_link_libraries(${name} PRIVATE ${ARG_LINK})
  install(TARGETS ${name} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
  set_property(GLOBAL APPEND PROPERTY NVFP4_TOOLS ${name})
endfunction()

# nvfp4_add_unittest(<name> <sources>... [LINK <libs>...])
# A GoogleTest executable below bin/unittests, run by check-nvfp4-unit.
function(nvfp4_add_unittest name)
  cmake_parse_arguments(ARG "" "" "LINK" ${ARGN})
  add_executable(${name} ${ARG_UNPARSED_ARGUMENTS})
  target_link_libraries(${name} PRIVATE ${ARG_LINK} GTest::gtest GTest::gtest_main)
  set_target_properties(${name} PROPERTIES
    RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin/unittests)
  add_test(NAME ${name} COMMAND ${name} --gtest_brief=1)
  set_property(GLOBAL APPEND PROPERTY NVFP4_UNITTESTS ${name})
endfunction()

# nvfp4_add_fuzzer(<name> <sources>... [LINK <libs>...] [DICTIONARY <file>]
#                  [CORPUS <script argument>])
# A libFuzzer executable below bin/fuzz. The target fuzz-<name> runs it for
# NVFP4_FUZZ_SECONDS on seeds that test/Fuzz/make-corpus.py writes for CORPUS;
# check-nvfp4-fuzz runs all of them one after another.
function(nvfp4_add_fuzzer name)
  cmake_parse_arguments(ARG "" "DICTIONARY;CORPUS" "LINK" ${ARGN})
  add_executable(${name} ${ARG_UNPARSED_ARGUMENTS})
  target_link_libraries(${name} PRIVATE ${ARG_LINK})
  target_link_options(${name} PRIVATE -fsanitize=fuzzer)
  set_target_properties(${name} PROPERTIES
    RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin/fuzz)
  set(dictionary)
  if(ARG_DICTIONARY)
    set(dictionary -dict=${CMAKE_CURRENT_SOURCE_DIR}/${ARG_DICTIONARY})
  endif()
  set(work ${PROJECT_BINARY_DIR}/fuzz/${name})
  add_custom_target(fuzz-${name}
    COMMAND ${CMAKE_COMMAND} -E make_directory ${work}/corpus ${work}/seeds
    COMMAND ${Python3_EXECUTABLE} ${PROJECT_SOURCE_DIR}/test/Fuzz/make-corpus.py
      ${ARG_CORPUS} ${work}/seeds
    COMMAND ${name} -max_total_time=${NVFP4_FUZZ_SECONDS} -timeout=10
      -rss_limit_mb=4096 -print_final_stats=1 -artifact_prefix=${work}/
      ${dictionary} ${work}/corpus ${work}/seeds
    DEPENDS ${name} USES_TERMINAL)
  if(NOT TARGET check-nvfp4-fuzz)
    add_custom_target(check-nvfp4-fuzz)
  endif()
  add_dependencies(check-nvfp4-fuzz fuzz-${name})
endfunction()
