# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# nvfp4_bundled: the libraries of the Python package for machines that have none
# of LLVM. The objects are those of the libraries in lib/, linked once more, into
# bundled/: with MLIR, LLVM and the C++ library inside, and stripped. A process
# must not have them and the shared MLIR, or the dialects would be there twice.
find_library(NVFP4_ZLIB_ARCHIVE libz.a)
find_library(NVFP4_ZSTD_ARCHIVE libzstd.a)
if(NOT NVFP4_ZLIB_ARCHIVE OR NOT NVFP4_ZSTD_ARCHIVE)
  # scripts/build-wheel installs them and configures again.
  message(STATUS "No target nvfp4_bundled: libz.a and libzstd.a are not there")
  return()
endif()

# Code is generated for x86-64 and NVPTX. One file of MLIR starts all targets of
# LLVM, which would take more room than all the rest: the others start nothing.
set(_nvfp4_starts "/* Initialisers of targets that are not linked. */\n")
set(_nvfp4_others)
foreach(target ${LLVM_TARGETS_TO_BUILD})
  if(NOT target MATCHES "^(X86|NVPTX)$")
    list(APPEND _nvfp4_others ${target})
    foreach(part TargetInfo Target TargetMC AsmPrinter AsmParser Disassembler)
      string(APPEND _nvfp4_starts
        "void LLVMInitialize${target}${part}(void) {}\n")
    endforeach()
  endif()
endforeach()
set(_nvfp4_others_file ${PROJECT_BINARY_DIR}/OtherTargets.c)
file(CONFIGURE OUTPUT ${_nvfp4_others_file} CONTENT "${_nvfp4_starts}")
list(JOIN _nvfp4_others "|" _nvfp4_others)

file(GLOB _nvfp4_archives CONFIGURE_DEPENDS
  ${LLVM_LIBRARY_DIR}/libMLIR*.a ${LLVM_LIBRARY_DIR}/libLLVM*.a)
# The C interface of MLIR is a whole archive of NVFP4Compiler as it is.
list(FILTER _nvfp4_archives EXCLUDE REGEX
  "libMLIRCAPIIR\\.a|libLLVM(${_nvfp4_others})[A-Z][A-Za-z0-9]*\\.a")
target_link_libraries(nvfp4_mlir_archives INTERFACE ${_nvfp4_archives}
  ${NVFP4_ZLIB_ARCHIVE} ${NVFP4_ZSTD_ARCHIVE})

# A library of lib/ as a bundled one.
function(nvfp4_bundle name)
  set(bundled ${name}Bundled)
  add_library(${bundled} SHARED EXCLUDE_FROM_ALL $<TARGET_OBJECTS:${name}> ${ARGN})
  foreach(property LINK_OPTIONS LINK_DEPENDS LINK_LIBRARIES OUTPUT_NAME)
    get_target_property(value ${name} ${property})
    # Headers alone, and known in their folder alone.
    list(FILTER value EXCLUDE REGEX nlohmann_json)
    if(value)
      set_target_properties(${bundled} PROPERTIES ${property} "${value}")
    elseif(property STREQUAL "OUTPUT_NAME")
      set_target_properties(${bundled} PROPERTIES OUTPUT_NAME ${name})
    endif()
  endforeach()
  set_target_properties(${bundled} PROPERTIES
    LINKER_LANGUAGE CXX SOVERSION 0 NVFP4_BUNDLES_MLIR ON
    LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bundled
    BUILD_WITH_INSTALL_RPATH ON INSTALL_RPATH "$ORIGIN"
    INSTALL_RPATH_USE_LINK_PATH OFF)
  target_link_options(${bundled} PRIVATE
    -static-libstdc++ -Wl,--exclude-libs,libstdc++.a
    -Wl,--gc-sections -Wl,-O2 -Wl,--strip-all)
  add_dependencies(nvfp4_bundled ${bundled})
endfunction()

add_custom_target(nvfp4_bundled)
nvfp4_bundle(NVFP4Compiler ${_nvfp4_others_file}
  ${PROJECT_SOURCE_DIR}/cmake/Bundle/OlderLibc.c)
nvfp4_bundle(NVFP4Runtime)
nvfp4_bundle(NVFP4SimDriver)
