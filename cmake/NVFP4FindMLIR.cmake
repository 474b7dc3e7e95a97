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
# nvfp4_mlir_archives: the same as static libraries, for what NVFP4Bundle makes.
add_library(nvfp4_mlir_archives INTERFACE)
set(bundles $<BOOL:$<TARGET_PROPERTY:NVFP4_BUNDLES_MLIR>>)
target_link_libraries(nvfp4_mlir INTERFACE
  $<$<NOT:${bundles}>:MLIR> $<$<NOT:${bundles}>:LLVM>
  $<BUILD_INTERFACE:$<${bundles}:nvfp4_mlir_archives>>)

# nvfp4_mlir_pch: upstream's headers that most libraries of the compiler include,
# parsed once. Every source still includes what it uses: a build with
# NVFP4_ENABLE_PCH off (the preset gcc) shows what is missing.
if(NVFP4_ENABLE_PCH)
  file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/nvfp4_mlir_pch.cpp CONTENT "")
  add_library(nvfp4_mlir_pch OBJECT ${PROJECT_BINARY_DIR}/nvfp4_mlir_pch.cpp)
  target_link_libraries(nvfp4_mlir_pch PRIVATE nvfp4_mlir)
  # Without the time of day, so that two builds of the same headers are equal
  # and ccache knows what was compiled with them.
  if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    target_compile_options(nvfp4_mlir_pch PRIVATE
      "SHELL:-Xclang -fno-pch-timestamp")
  endif()
  target_precompile_headers(nvfp4_mlir_pch PRIVATE
    <mlir/Dialect/Affine/IR/AffineOps.h>
    <mlir/Dialect/Arith/IR/Arith.h>
    <mlir/Dialect/Arith/Utils/Utils.h>
    <mlir/Dialect/Func/IR/FuncOps.h>
    <mlir/Dialect/GPU/IR/GPUDialect.h>
    <mlir/Dialect/LLVMIR/LLVMDialect.h>
    <mlir/Dialect/LLVMIR/NVVMDialect.h>
    <mlir/Dialect/Linalg/IR/Linalg.h>
    <mlir/Dialect/Math/IR/Math.h>
    <mlir/Dialect/MemRef/IR/MemRef.h>
    <mlir/Dialect/SCF/IR/SCF.h>
    <mlir/Dialect/Tensor/IR/Tensor.h>
    <mlir/Dialect/Vector/IR/VectorOps.h>
    <mlir/IR/BuiltinOps.h>
    <mlir/IR/DialectImplementation.h>
    <mlir/IR/Matchers.h>
    <mlir/IR/PatternMatch.h>
    <mlir/Pass/Pass.h>
    <mlir/Pass/PassManager.h>
    <mlir/Transforms/DialectConversion.h>
    <mlir/Transforms/GreedyPatternRewriteDriver.h>)
endif()
