# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Documents generated from the .td files, compared with the committed ones by
# scripts/generate-docs: target nvfp4-docs writes
#   build/docs/Dialects/<Dialect>.md   from include/nvfp4/Dialect/<Dialect>/IR/<Dialect>Ops.td
#   build/docs/Passes.md               from every *Passes.td, by file name
set(NVFP4_DOCS_DIR ${PROJECT_BINARY_DIR}/docs)
set(_nvfp4_include ${PROJECT_SOURCE_DIR}/include)
set(_nvfp4_tblgen ${MLIR_TABLEGEN_EXE} -I ${_nvfp4_include} -I ${MLIR_INCLUDE_DIRS})
set(_nvfp4_docs)

file(GLOB_RECURSE _nvfp4_tds CONFIGURE_DEPENDS ${_nvfp4_include}/nvfp4/*.td)

file(GLOB _dialects CONFIGURE_DEPENDS ${_nvfp4_include}/nvfp4/Dialect/*/IR)
foreach(folder ${_dialects})
  cmake_path(GET folder PARENT_PATH dialect)
  cmake_path(GET dialect FILENAME dialect)
  set(td ${folder}/${dialect}Ops.td)
  if(NOT EXISTS ${td})
    continue()
  endif()
  # The name of the dialect, needed where a file includes a second dialect.
  file(STRINGS ${folder}/${dialect}Dialect.td name_line
    REGEX "^ *let name = \"" LIMIT_COUNT 1)
  string(REGEX REPLACE ".*\"(.*)\".*" "\\1" name "${name_line}")
  set(doc ${NVFP4_DOCS_DIR}/Dialects/${dialect}.md)
  add_custom_command(OUTPUT ${doc}
    COMMAND ${CMAKE_COMMAND} -E make_directory ${NVFP4_DOCS_DIR}/Dialects
    COMMAND ${_nvfp4_tblgen} -gen-dialect-doc -dialect=${name} ${td} -o ${doc}
    DEPENDS ${_nvfp4_tds} VERBATIM)
  list(APPEND _nvfp4_docs ${doc})
endforeach()

set(_passes ${_nvfp4_tds})
list(FILTER _passes INCLUDE REGEX "Passes\\.td$")
list(SORT _passes)
if(_passes)
  set(doc ${NVFP4_DOCS_DIR}/Passes.md)
  set(commands)
  set(parts)
  foreach(td ${_passes})
    cmake_path(RELATIVE_PATH td BASE_DIRECTORY ${_nvfp4_include} OUTPUT_VARIABLE part)
    string(REPLACE "/" "_" part ${part})
    set(part ${NVFP4_DOCS_DIR}/parts/${part}.md)
    list(APPEND commands COMMAND ${_nvfp4_tblgen} -gen-pass-doc ${td} -o ${part})
    list(APPEND parts ${part})
  endforeach()
  add_custom_command(OUTPUT ${doc}
    COMMAND ${CMAKE_COMMAND} -E make_directory ${NVFP4_DOCS_DIR}/parts
    ${commands}
    COMMAND ${CMAKE_COMMAND} -E cat ${parts} > ${doc}
    DEPENDS ${_nvfp4_tds} VERBATIM)
  list(APPEND _nvfp4_docs ${doc})
endif()

add_custom_target(nvfp4-docs DEPENDS ${_nvfp4_docs})
