//===- XlaFfi.cpp - Calls by XLA's convention -------------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One handler for all stages of a custom call. Functions on device memory load
// their kernels when XLA initialises the call, and put work in XLA's stream,
// which may capture it.
//
//===----------------------------------------------------------------------===//

#include "../DeviceFunction.h"
#include "../Error.h"
#include "Artefact.h"
#include "GivenResults.h"
#include "XlaArguments.h"

#include <cstdlib>
#include <string_view>

using namespace nvfp4::runtime;

namespace {
/// One call of the handler, whose errors are those of XLA.
class Call {
public:
  Call(const xla::CallFrame &frame, const nvfp4_function &function)
      : frame(frame), function(function) {}

  xla::Error *run();

private:
  xla::Error *fail(nvfp4_status status) const;
  xla::Error *findPlace(DLDevice &place) const;
  xla::Error *initialize();
  xla::Error *runOnHost();
  xla::Error *runOnDevice();
  nvfp4_status runWith(const xla::Arguments &arguments, void *workspace,
                       uint64_t bytes, void *stream) const;

  const xla::CallFrame &frame;
  const nvfp4_function &function;
};
} // namespace

static xla::Error *makeError(const xla::Api &api, nvfp4_status status) {
  xla::ErrorCreate arguments{};
  arguments.head.size = sizeof arguments;
  arguments.message = nvfp4_last_error();
  switch (status) {
  case NVFP4_INVALID_ARGUMENT:
  case NVFP4_INVALID_DATA:
    arguments.code = xla::Code::kInvalidArgument;
    break;
  case NVFP4_OUT_OF_MEMORY:
    arguments.code = xla::Code::kResourceExhausted;
    break;
  case NVFP4_UNSUPPORTED:
    arguments.code = xla::Code::kUnimplemented;
    break;
  case NVFP4_BAD_ARTEFACT:
    arguments.code = xla::Code::kFailedPrecondition;
    break;
  default:
    arguments.code = xla::Code::kInternal;
  }
  return api.errorCreate(&arguments);
}

xla::Error *Call::fail(nvfp4_status status) const {
  return status == NVFP4_OK ? nullptr : makeError(*frame.api, status);
}

/// The device of the call: a GPU, or one of the simulator where NVFP4_DEVICE
/// names it.
xla::Error *Call::findPlace(DLDevice &place) const {
  if (frame.api->head.size < sizeof(xla::Api))
    return fail(::nvfp4::runtime::fail(
        NVFP4_UNSUPPORTED,
        "expected XLA's interface for custom calls of version 0.3 or later, "
        "which tells the device"));
  xla::DeviceOrdinalGet arguments{};
  arguments.head.size = sizeof arguments;
  arguments.context = frame.context;
  if (xla::Error *error = frame.api->deviceOrdinalGet(&arguments))
    return error;
  const char *name = std::getenv("NVFP4_DEVICE");
  bool isSimulated = name && std::string_view(name).starts_with("sim");
  place = {isSimulated ? kDLExtDev : kDLCUDA, arguments.ordinal};
  return nullptr;
}

/// The time for what must not happen while a stream captures. Without it the
/// first execution does the same.
xla::Error *Call::initialize() {
  DLDevice place{};
  if (!function.module->metadata.isOnDevice)
    return nullptr;
  if (xla::Error *error = findPlace(place)) {
    xla::ErrorDestroy arguments{{sizeof arguments, nullptr}, error};
    frame.api->errorDestroy(&arguments);
    return nullptr;
  }
  return fail(loadKernels(function, place, nullptr));
}

xla::Error *Call::runOnHost() {
  xla::Arguments arguments(function);
  nvfp4_status status = arguments.read(frame, {kDLCPU, 0});
  if (status == NVFP4_OK)
    status =
        callOnHost(function, arguments.getTensors(),
                   arguments.getTensors() + function.metadata.arguments.size());
  return fail(status);
}

nvfp4_status Call::runWith(const xla::Arguments &arguments, void *workspace,
                           uint64_t bytes, void *stream) const {
  size_t count = function.metadata.arguments.size();
  std::vector<DLTensor> results;
  for (size_t i = 0; i < function.metadata.results.size(); ++i)
    results.push_back(*arguments.getTensors()[count + i]);
  std::vector<DLTensor *> pointers;
  for (DLTensor &result : results)
    pointers.push_back(&result);
  return nvfp4_function_run(&function, arguments.getTensors(), count,
                            pointers.data(), pointers.size(), workspace, bytes,
                            stream);
}

xla::Error *Call::runOnDevice() {
  DLDevice place{};
  if (xla::Error *error = findPlace(place))
    return error;
  xla::StreamGet stream{{sizeof stream, nullptr}, frame.context, nullptr};
  if (xla::Error *error = frame.api->streamGet(&stream))
    return error;
  xla::Arguments arguments(function);
  CallNeeds needs;
  nvfp4_status status = arguments.read(frame, place);
  if (status == NVFP4_OK)
    status = loadKernels(function, place, stream.stream);
  if (status == NVFP4_OK)
    status = measureCall(function, arguments.getTensors(), needs);
  if (status != NVFP4_OK)
    return fail(status);

  constexpr uint64_t alignment = 256;
  if (const DLTensor *given = arguments.getWorkspace()) {
    // XLA aligns buffers to less.
    auto address = reinterpret_cast<uintptr_t>(given->data);
    uint64_t unused = (alignment - address % alignment) % alignment;
    bool isBytes = given->ndim == 1 && given->dtype.bits == 8;
    uint64_t bytes = isBytes ? static_cast<uint64_t>(given->shape[0]) : 0;
    if (needs.workspace && bytes < needs.workspace + unused)
      return fail(::nvfp4::runtime::fail(
          NVFP4_INVALID_ARGUMENT,
          "workspace of '" + function.metadata.name +
              "': expected a result of rank 1 of " +
              std::to_string(needs.workspace + alignment - 1) +
              " bytes (u8) or more, but got " + std::to_string(bytes)));
    void *data =
        needs.workspace ? static_cast<char *>(given->data) + unused : nullptr;
    return fail(runWith(arguments, data, needs.workspace, stream.stream));
  }
  if (!needs.workspace)
    return fail(runWith(arguments, nullptr, 0, stream.stream));
  // A graph would keep the address of memory that XLA gives to others.
  bool isCapturing = false;
  if ((status = isStreamCapturing(place, stream.stream, isCapturing)))
    return fail(status);
  if (isCapturing)
    return fail(::nvfp4::runtime::fail(
        NVFP4_INVALID_ARGUMENT,
        "workspace of '" + function.metadata.name +
            "': expected it as a further result, of " +
            std::to_string(needs.workspace + alignment - 1) +
            " bytes, since the stream captures"));
  xla::MemoryAllocate room{{sizeof room, nullptr},
                           frame.context,
                           needs.workspace,
                           alignment,
                           nullptr};
  if (xla::Error *error = frame.api->memoryAllocate(&room))
    return error;
  status = runWith(arguments, room.data, needs.workspace, stream.stream);
  xla::Error *error = fail(status);
  // The stream orders what the memory is used for next.
  xla::MemoryFree release{
      {sizeof release, nullptr}, frame.context, needs.workspace, room.data};
  xla::Error *second = frame.api->memoryFree(&release);
  return error ? error : second;
}

xla::Error *Call::run() {
  if (frame.stage == xla::Stage::kInitialize)
    return initialize();
  if (frame.stage != xla::Stage::kExecute)
    return nullptr;
  return function.module->metadata.isOnDevice ? runOnDevice() : runOnHost();
}

/// Whether XLA only asks what the handler is; the answer.
static bool tellMetadata(const xla::CallFrame &frame, bool isOnDevice) {
  for (xla::Extension *each = frame.head.extensions; each; each = each->next) {
    if (each->kind != xla::kMetadataExtension)
      continue;
    xla::Metadata &metadata =
        *reinterpret_cast<xla::MetadataExtension *>(each)->metadata;
    metadata.version.major = xla::kMajor;
    metadata.version.minor = xla::kMinor;
    metadata.traits = isOnDevice ? xla::kCommandBufferCompatible : 0;
    return true;
  }
  return false;
}

extern "C" void *nvfp4_xla_call(nvfp4_artefact *artefact, const char *name,
                                void *call) {
  const auto &frame = *static_cast<const xla::CallFrame *>(call);
  const nvfp4_function *function = nullptr;
  nvfp4_status status = NVFP4_OK;
  try {
    status = findFunction(artefact, name, function);
    if (tellMetadata(frame, status == NVFP4_OK &&
                                function->module->metadata.isOnDevice))
      return nullptr;
    if (status == NVFP4_OK)
      return Call(frame, *function).run();
  } catch (...) {
    status = failWithException();
  }
  return makeError(*frame.api, status);
}
