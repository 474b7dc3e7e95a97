//===- Module.cpp - Loading artefacts ---------------------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Opens an artefact, or takes the symbols of one in this process, reads its
// description and finds the entry of each function.
//
//===----------------------------------------------------------------------===//

#include "Module.h"

#include "Error.h"
#include "ObjectFile.h"

#include <dlfcn.h>

#include <cstring>

using namespace nvfp4::runtime;

nvfp4_module::~nvfp4_module() {
  if (library)
    dlclose(library);
}

/// Fills in all but the library.
static nvfp4_status
initialize(nvfp4_module &module,
           void *(*lookup)(const char *symbol, void *context), void *context) {
  auto *text = static_cast<const char *>(lookup("nvfp4_metadata", context));
  if (!text)
    return fail(NVFP4_BAD_ARTEFACT,
                "no symbol nvfp4_metadata; expected a module that "
                "nvfp4-compile made");
  if (nvfp4_status status = parseMetadata(text, module.metadata))
    return status;
  Device *device = Device::find(module.metadata.device);
  if (!device)
    return NVFP4_UNSUPPORTED;
  module.kernels.set(
      static_cast<const nvfp4_kernel_entry *const *>(
          lookup("nvfp4_kernels", context)),
      module.metadata.isOnDevice ? module.metadata.functions.size() : 0);
  for (FunctionMetadata &metadata : module.metadata.functions) {
    std::string symbol = "nvfp4_entry_" + metadata.name;
    void *entry = lookup(symbol.c_str(), context);
    if (!entry)
      return fail(NVFP4_BAD_ARTEFACT, "no symbol " + symbol +
                                          ", which the module's description "
                                          "promises");
    nvfp4_function &function = module.functions.emplace_back();
    function.metadata = metadata;
    function.entry = reinterpret_cast<void (*)(void **)>(entry);
    function.device = device;
    function.module = &module;
    function.xlaHandler =
        lookup(("nvfp4_xla_ffi_" + metadata.name).c_str(), context);
  }
  return NVFP4_OK;
}

extern "C" nvfp4_status
nvfp4_module_from_symbols(void *(*lookup)(const char *, void *), void *context,
                          nvfp4_module **module) try {
  if (!lookup || !module)
    return fail(NVFP4_INVALID_ARGUMENT, "expected no null pointer");
  auto result = std::make_unique<nvfp4_module>();
  if (nvfp4_status status = initialize(*result, lookup, context))
    return status;
  *module = result.release();
  return NVFP4_OK;
} catch (...) {
  return failWithException();
}

/// Why `file` was not loaded, for which the linker says `problem`. A symbol
/// that the runtime no longer has is a sign of another version: that is said
/// instead, if it is so.
static nvfp4_status failToLoad(const char *path, const std::string &file,
                               const std::string &problem) {
  std::string text;
  if (void *library = dlopen(file.c_str(), RTLD_LAZY | RTLD_LOCAL)) {
    if (auto *found =
            static_cast<const char *>(dlsym(library, "nvfp4_metadata")))
      text = found;
    dlclose(library);
  }
  ModuleMetadata metadata;
  if (nvfp4_status status =
          text.empty() ? NVFP4_OK : parseMetadata(text.c_str(), metadata))
    return fail(status, "'" + std::string(path) + "': " + nvfp4_last_error());
  return fail(NVFP4_NOT_FOUND,
              "could not load '" + std::string(path) + "': " + problem);
}

extern "C" nvfp4_status nvfp4_module_load(const char *path,
                                          nvfp4_module **module) try {
  if (!path || !module)
    return fail(NVFP4_INVALID_ARGUMENT, "expected no null pointer");
  // Without a slash the dynamic linker would search its own folders.
  std::string file = std::strchr(path, '/') ? path : "./" + std::string(path);
  if (std::string problem = problemOfObjectFile(file); !problem.empty())
    return fail(NVFP4_BAD_ARTEFACT,
                "could not load '" + std::string(path) + "': " + problem);
  void *library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library)
    return failToLoad(path, file, dlerror());
  auto result = std::make_unique<nvfp4_module>();
  result->library = library;
  auto lookup = [](const char *symbol, void *handle) {
    return dlsym(handle, symbol);
  };
  if (nvfp4_status status = initialize(*result, lookup, library))
    return fail(status, "'" + std::string(path) + "': " + nvfp4_last_error());
  *module = result.release();
  return NVFP4_OK;
} catch (...) {
  return failWithException();
}

extern "C" void nvfp4_module_release(nvfp4_module *module) { delete module; }

extern "C" const char *nvfp4_module_metadata(const nvfp4_module *module) {
  return module ? module->metadata.text.c_str() : "";
}

extern "C" size_t nvfp4_module_num_functions(const nvfp4_module *module) {
  return module ? module->functions.size() : 0;
}

extern "C" const nvfp4_function *
nvfp4_module_function_at(const nvfp4_module *module, size_t index) {
  return index < nvfp4_module_num_functions(module) ? &module->functions[index]
                                                    : nullptr;
}

extern "C" nvfp4_status
nvfp4_module_function(const nvfp4_module *module, const char *name,
                      const nvfp4_function **function) try {
  if (!module || !name || !function)
    return fail(NVFP4_INVALID_ARGUMENT, "expected no null pointer");
  std::string names;
  for (const nvfp4_function &candidate : module->functions) {
    if (candidate.metadata.name == name) {
      *function = &candidate;
      return NVFP4_OK;
    }
    names += (names.empty() ? "" : ", ") + candidate.metadata.name;
  }
  return fail(NVFP4_NOT_FOUND,
              names.empty() ? "expected a module with functions, but got none"
                            : "expected one of the functions " + names +
                                  ", but got '" + std::string(name) + "'");
} catch (...) {
  return failWithException();
}
