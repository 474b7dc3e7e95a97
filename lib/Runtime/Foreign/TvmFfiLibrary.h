//===- TvmFfiLibrary.h - What calls need of tvm-ffi -------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The part of tvm-ffi's stable C interface that calls use, declared from its
// public description: values, the head of objects, and functions. These are
// looked up in the process, where whoever calls by this convention has loaded
// libtvm_ffi, so that nothing links to it.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_LIB_RUNTIME_FOREIGN_TVMFFILIBRARY_H
#define NVFP4_LIB_RUNTIME_FOREIGN_TVMFFILIBRARY_H

#include <dlpack/dlpack.h>

#include <cstddef>
#include <cstdint>
#include <utility>

namespace nvfp4::runtime::tvm {

/// Kinds of values. Those from kFirstObject on are reference-counted.
enum Kind : int32_t {
  kNone = 0,
  kInt = 1,
  kBool = 2,
  kFloat = 3,
  kDLTensor = 7,
  /// A pointer to the pointer to an object that the callee may take.
  kMovedObject = 10,
  kFirstObject = 64,
  kTensor = 70,
  kArray = 71,
  kList = 75,
};

/// An argument or a result.
struct Any {
  int32_t kind;
  /// The length of small strings, otherwise 0.
  uint32_t length;
  union {
    int64_t integer;
    double real;
    void *pointer;
  };
};
static_assert(sizeof(Any) == 16 && offsetof(Any, integer) == 8);

/// The head of an object.
struct Object {
  uint64_t references;
  int32_t kind;
  uint32_t unused;
  void (*deleter)(void *self, int flags);
};
static_assert(sizeof(Object) == 24);

/// A tensor: the head and the description of its memory.
struct Tensor {
  Object head;
  DLTensor tensor;
};

struct Bytes {
  const char *data;
  size_t size;
};

/// Functions of libtvm_ffi, by their names without the prefix TVMFFI. All of
/// those that return an int give 0, or another number after an error was
/// raised.
struct Library {
  void (*errorSetRaisedFromCStr)(const char *kind, const char *message);
  int (*objectDecRef)(void *object);
  int (*functionGetGlobal)(const Bytes *name, void **function);
  int (*functionCall)(void *function, Any *arguments, int32_t count,
                      Any *result);
  int (*stringFromByteArray)(const Bytes *bytes, Any *text);
  int (*tensorFromDLPack)(DLManagedTensor *tensor, int32_t alignment,
                          int32_t contiguous, void **object);
  void *(*envGetStream)(int32_t deviceType, int32_t deviceId);
  int (*envTensorAlloc)(DLTensor *prototype, void **object);
  void *(*envGetDLPackManagedTensorAllocator)();
};

/// The library of this process, or null if it has none or one that lacks a
/// function; nvfp4_last_error() then says so.
const Library *findLibrary();

/// Calls tvm-ffi's global function `name`; false after an error was raised.
bool callGlobal(const Library &library, const char *name, Any *arguments,
                int32_t count, Any &result);

/// A reference to an object, given back at the end.
class Reference {
public:
  Reference(const Library &library, void *object)
      : library(&library), object(object) {}
  Reference(Reference &&other) noexcept
      : library(other.library), object(other.release()) {}
  Reference &operator=(Reference &&) = delete;
  ~Reference() {
    if (object)
      library->objectDecRef(object);
  }
  /// Of a tensor.
  DLTensor &getTensor() const { return static_cast<Tensor *>(object)->tensor; }
  /// Leaves the reference to the caller.
  void *release() { return std::exchange(object, nullptr); }

private:
  const Library *library;
  void *object;
};

} // namespace nvfp4::runtime::tvm

#endif // NVFP4_LIB_RUNTIME_FOREIGN_TVMFFILIBRARY_H
