# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Installation and the CMake package: every library made with
# nvfp4_add_library, the headers and .td files, and NVFP4Config.cmake.
include(CMakePackageConfigHelpers)
set(_nvfp4_package ${CMAKE_INSTALL_LIBDIR}/cmake/NVFP4)

get_property(_nvfp4_libraries GLOBAL PROPERTY NVFP4_LIBRARIES)
install(TARGETS nvfp4_mlir ${_nvfp4_libraries} EXPORT NVFP4Targets
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
  RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/ ${PROJECT_BINARY_DIR}/include/
  DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
  FILES_MATCHING PATTERN "*.h" PATTERN "*.td" PATTERN "*.inc"
  PATTERN "CMakeFiles" EXCLUDE)
install(EXPORT NVFP4Targets NAMESPACE NVFP4:: DESTINATION ${_nvfp4_package})

configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/NVFP4Config.cmake.in
  ${PROJECT_BINARY_DIR}/cmake/NVFP4Config.cmake
  INSTALL_DESTINATION ${_nvfp4_package})
write_basic_package_version_file(
  ${PROJECT_BINARY_DIR}/cmake/NVFP4ConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES
  ${PROJECT_BINARY_DIR}/cmake/NVFP4Config.cmake
  ${PROJECT_BINARY_DIR}/cmake/NVFP4ConfigVersion.cmake
  DESTINATION ${_nvfp4_package})
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})
