# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Finds Debian's LLVM/MLIR 22.1 and defines nvfp4_mlir, the one place where
# MLIR and LLVM get linked: always the shared libraries.
find_package(MLIR 22.1 REQUIRED CONFIG
  HINTS /usr/lib/llvm-22/lib/cmake/mlir)
message(STATUS "MLIR ${LLVM_PACKAGE_VERSION} in ${MLIR_DIR}")
list(APPEND CMAKE_MODULE_PATH "${MLIR_CMAKE_DIR}" "${LLVM_CMAKE_DIR}")
include(TableGen)
include(AddLLVM)
include(AddMLIR)
set(MLIR_BINARY_DIR ${PROJECT_BINARY_DIR})
# mlir_tablegen() searches the directories of the calling scope.
include_directories(SYSTEM ${MLIR_INCLUDE_DIRS})
include_directories(${PROJECT_SOURCE_DIR}/include)
# Generated code is not held to our warnings.
include_directories(SYSTEM ${PROJECT_BINARY_DIR}/include)

add_library(nvfp4_mlir INTERFACE)
add_library(NVFP4::mlir ALIAS nvfp4_mlir)
set_target_properties(nvfp4_mlir PROPERTIES EXPORT_NAME mlir)
target_include_directories(nvfp4_mlir SYSTEM INTERFACE
  ${MLIR_INCLUDE_DIRS} ${LLVM_INCLUDE_DIRS})
separate_arguments(_nvfp4_llvm_defs NATIVE_COMMAND "${LLVM_DEFINITIONS}")
target_compile_options(nvfp4_mlir INTERFACE ${_nvfp4_llvm_defs} -fno-exceptions)
target_link_libraries(nvfp4_mlir INTERFACE MLIR LLVM)
