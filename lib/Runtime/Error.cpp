//===- Error.cpp - Status codes with a message ------------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The message of the last failure, one for each thread, and the pieces of
// messages that several files form.
//
//===----------------------------------------------------------------------===//

#include "Error.h"

#include "ElementType.h"

#include <exception>
#include <new>
#include <stdexcept>

using namespace nvfp4::runtime;

static thread_local std::string lastError;

extern "C" const char *nvfp4_last_error(void) { return lastError.c_str(); }

nvfp4_status nvfp4::runtime::fail(nvfp4_status status, std::string message) {
  lastError = std::move(message);
  return status;
}

nvfp4_status nvfp4::runtime::failWithException() noexcept {
  // Short enough to need no memory.
  constexpr const char *outOfMemory = "out of memory";
  try {
    throw;
  } catch (const std::bad_alloc &) {
    lastError = outOfMemory;
    return NVFP4_OUT_OF_MEMORY;
  } catch (const std::length_error &) {
    // More elements than a container may have.
    lastError = outOfMemory;
    return NVFP4_OUT_OF_MEMORY;
  } catch (const std::exception &exception) {
    try {
      lastError = std::string("unexpected exception: ") + exception.what();
    } catch (...) {
      lastError = outOfMemory;
    }
  } catch (...) {
    lastError = "unknown error";
  }
  return NVFP4_DEVICE_ERROR;
}

std::string nvfp4::runtime::formatShape(std::span<const int64_t> shape) {
  std::string text = "[";
  for (size_t i = 0; i < shape.size(); ++i) {
    text += i ? ", " : "";
    text += shape[i] < 0 ? "?" : std::to_string(shape[i]);
  }
  return text + "]";
}

std::string nvfp4::runtime::formatType(DLDataType type) {
  if (const char *name = nameOf(type))
    return name;
  return "DLPack type (code " + std::to_string(type.code) + ", bits " +
         std::to_string(type.bits) + ", lanes " + std::to_string(type.lanes) +
         ")";
}
