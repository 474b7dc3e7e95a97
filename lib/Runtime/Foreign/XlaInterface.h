//===- XlaInterface.h - What calls need of XLA's FFI ------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The part of XLA's C interface for custom calls, version 0.3, that handlers
// use, declared from its public description. XLA hands over a table of its
// functions with each call, so that nothing is linked. Every structure begins
// with its size, by which either side knows what the other has.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_LIB_RUNTIME_FOREIGN_XLAINTERFACE_H
#define NVFP4_LIB_RUNTIME_FOREIGN_XLAINTERFACE_H

#include <cstddef>
#include <cstdint>

namespace nvfp4::runtime::xla {

/// The version that handlers say they are written for.
inline constexpr int kMajor = 0, kMinor = 3;

/// XLA's own object.
struct Error;
struct Context;

enum class Code : int32_t {
  kInvalidArgument = 3,
  kResourceExhausted = 8,
  kFailedPrecondition = 9,
  kUnimplemented = 12,
  kInternal = 13,
};

enum class Stage : int32_t {
  kInstantiate = 0,
  kPrepare = 1,
  kInitialize = 2,
  kExecute = 3,
};

/// What follows the size in a structure.
struct Extension {
  size_t size;
  int32_t kind;
  Extension *next;
};
inline constexpr int32_t kMetadataExtension = 1;

struct Head {
  size_t size;
  Extension *extensions;
};

struct Version {
  Head head;
  int32_t major;
  int32_t minor;
};

struct Metadata {
  size_t size;
  Version version;
  uint32_t traits;
  int64_t stateType;
};
/// The handler launches the same work whenever it is called, so that XLA may
/// capture it in a graph.
inline constexpr uint32_t kCommandBufferCompatible = 1;

struct MetadataExtension {
  Extension base;
  Metadata *metadata;
};

/// An argument or a result: dense and row-major. Packed types count values.
struct Buffer {
  Head head;
  int32_t type;
  void *data;
  int64_t rank;
  int64_t *extents;
};

/// Arguments or results.
struct Buffers {
  Head head;
  int64_t count;
  int32_t *kinds;
  Buffer **buffers;
};

struct Text {
  const char *data;
  size_t size;
};

struct ScalarAttribute {
  int32_t type;
  void *value;
};
inline constexpr int32_t kScalarAttribute = 3;

struct Attributes {
  Head head;
  int64_t count;
  int32_t *kinds;
  Text **names;
  void **values;
};

struct ErrorCreate {
  Head head;
  const char *message;
  Code code;
};
struct ErrorMessage {
  Head head;
  Error *error;
  const char *message;
};
struct ErrorDestroy {
  Head head;
  Error *error;
};
struct StreamGet {
  Head head;
  Context *context;
  void *stream;
};
struct MemoryAllocate {
  Head head;
  Context *context;
  size_t bytes;
  size_t alignment;
  void *data;
};
struct MemoryFree {
  Head head;
  Context *context;
  size_t bytes;
  void *data;
};
struct DeviceOrdinalGet {
  Head head;
  Context *context;
  int32_t ordinal;
};

/// XLA's functions. Those that are not used have no type.
struct Api {
  Head head;
  Version version;
  const void *internal;
  Error *(*errorCreate)(ErrorCreate *);
  void (*errorMessage)(ErrorMessage *);
  void (*errorDestroy)(ErrorDestroy *);
  void *handlerRegister;
  Error *(*streamGet)(StreamGet *);
  void *typeRegister;
  void *contextGet;
  void *stateSet;
  void *stateGet;
  Error *(*memoryAllocate)(MemoryAllocate *);
  Error *(*memoryFree)(MemoryFree *);
  void *threadPool[2];
  void *future[3];
  void *runIdGet;
  Error *(*deviceOrdinalGet)(DeviceOrdinalGet *);
};

struct CallFrame {
  Head head;
  const Api *api;
  Context *context;
  Stage stage;
  Buffers arguments;
  Buffers results;
  Attributes attributes;
  void *future;
};

} // namespace nvfp4::runtime::xla

#endif // NVFP4_LIB_RUNTIME_FOREIGN_XLAINTERFACE_H
