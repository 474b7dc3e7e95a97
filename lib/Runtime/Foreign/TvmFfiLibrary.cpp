//===- TvmFfiLibrary.cpp - What calls need of tvm-ffi -----------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Found once. Weak symbols would not do: those of a library that is opened
// before tvm-ffi stay null for good.
//
//===----------------------------------------------------------------------===//

#include "TvmFfiLibrary.h"

#include "../Error.h"

#include <dlfcn.h>

#include <atomic>
#include <cstring>
#include <mutex>

using namespace nvfp4::runtime;
using namespace nvfp4::runtime::tvm;

/// Where the library's functions are: its package opens it for all, a program
/// may have opened it for itself.
static void *openLibrary() {
  if (dlsym(RTLD_DEFAULT, "TVMFFIErrorSetRaisedFromCStr"))
    return RTLD_DEFAULT;
  return dlopen("libtvm_ffi.so", RTLD_LAZY | RTLD_NOLOAD);
}

static bool fill(Library &library) {
  void *handle = openLibrary();
  std::string missing;
  auto find = [&](auto &field, const char *name) {
    field = reinterpret_cast<std::remove_reference_t<decltype(field)>>(
        dlsym(handle, name));
    if (!field && missing.empty())
      missing = name;
  };
  find(library.errorSetRaisedFromCStr, "TVMFFIErrorSetRaisedFromCStr");
  find(library.objectDecRef, "TVMFFIObjectDecRef");
  find(library.functionGetGlobal, "TVMFFIFunctionGetGlobal");
  find(library.functionCall, "TVMFFIFunctionCall");
  find(library.stringFromByteArray, "TVMFFIStringFromByteArray");
  find(library.tensorFromDLPack, "TVMFFITensorFromDLPack");
  find(library.envGetStream, "TVMFFIEnvGetStream");
  find(library.envTensorAlloc, "TVMFFIEnvTensorAlloc");
  find(library.envGetDLPackManagedTensorAllocator,
       "TVMFFIEnvGetDLPackManagedTensorAllocator");
  if (missing.empty())
    return true;
  std::string text = "expected libtvm_ffi in this process, of version 0.1.4 or "
                     "later, but it has no function " +
                     missing;
  if (library.errorSetRaisedFromCStr)
    library.errorSetRaisedFromCStr("RuntimeError", text.c_str());
  fail(NVFP4_UNSUPPORTED, std::move(text));
  return false;
}

const Library *nvfp4::runtime::tvm::findLibrary() {
  static std::mutex &mutex = *new std::mutex;
  static Library library;
  static std::atomic<bool> isFilled{false};
  if (!isFilled.load(std::memory_order_acquire)) {
    std::lock_guard<std::mutex> lock(mutex);
    // It may be loaded later.
    if (!isFilled && !fill(library))
      return nullptr;
    isFilled.store(true, std::memory_order_release);
  }
  return &library;
}

bool nvfp4::runtime::tvm::callGlobal(const Library &library, const char *name,
                                     Any *arguments, int32_t count,
                                     Any &result) {
  Bytes bytes = {name, std::strlen(name)};
  void *function = nullptr;
  if (library.functionGetGlobal(&bytes, &function))
    return false;
  if (!function) {
    std::string text =
        "expected tvm-ffi's function " + std::string(name) + ", but got none";
    library.errorSetRaisedFromCStr("RuntimeError", text.c_str());
    return false;
  }
  Reference owned(library, function);
  return !library.functionCall(function, arguments, count, &result);
}
