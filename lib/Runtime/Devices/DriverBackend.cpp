//===- DriverBackend.cpp - the devices cuda and sim -------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Calls of the driver within the device's primary context, which is made
// current for each call unless the thread has entered the device. Errors carry
// the driver's text and, on the simulator, its explanation.
//
//===----------------------------------------------------------------------===//

#include "../Error.h"
#include "Backend.h"
#include "DriverApi.h"

#include <map>
#include <mutex>
#include <vector>

using namespace nvfp4;
using namespace nvfp4::runtime;

namespace {

cuda::Stream streamOf(nvfp4_stream *stream) {
  return reinterpret_cast<cuda::Stream>(stream);
}
cuda::Event eventOf(nvfp4_event *event) {
  return reinterpret_cast<cuda::Event>(event);
}
cuda::DevicePointer addressOf(const void *pointer) {
  return reinterpret_cast<cuda::DevicePointer>(pointer);
}

nvfp4_status statusOf(cuda::Result result) {
  switch (result) {
  case cuda::InvalidValue:
  case cuda::InvalidHandle:
  case cuda::InvalidClusterSize:
  case cuda::CooperativeLaunchTooLarge:
    return NVFP4_INVALID_ARGUMENT;
  case cuda::NotFound:
  case cuda::FileNotFound:
    return NVFP4_NOT_FOUND;
  case cuda::InvalidImage:
  case cuda::InvalidPtx:
  case cuda::NoBinaryForGpu:
  case cuda::UnsupportedPtxVersion:
    return NVFP4_BAD_ARTEFACT;
  case cuda::OutOfMemory:
    return NVFP4_OUT_OF_MEMORY;
  case cuda::NoDevice:
  case cuda::InvalidDevice:
  case cuda::NotSupported:
  case cuda::StubLibrary:
    return NVFP4_UNSUPPORTED;
  default:
    return NVFP4_DEVICE_ERROR;
  }
}

class DriverBackend;

class DriverKernel final : public nvfp4_kernel {
public:
  DriverKernel(DriverBackend &device, cuda::Function function)
      : device(device), function(function) {}
  nvfp4_status prepare(const nvfp4_launch &launch) override;
  nvfp4_status launch(const nvfp4_launch &launch,
                      void *const *arguments) override;

private:
  DriverBackend &device;
  cuda::Function function;
  nvfp4_status failTooLarge(cuda::LaunchConfig config, uint64_t clusterSize,
                            nvfp4_status status);

  std::mutex mutex;
  /// The largest limits that launches have asked for so far.
  uint32_t sharedAllowed = 48 * 1024;
  bool largeClusterAllowed = false;
};

class DriverModule final : public nvfp4_device_module {
public:
  DriverModule(DriverBackend &device, cuda::Module module)
      : device(device), module(module) {}
  ~DriverModule() override;
  nvfp4_status kernel(const char *name, nvfp4_kernel *&kernel) override;
  nvfp4_status variable(const char *name, void *&pointer,
                        size_t &bytes) override;

private:
  DriverBackend &device;
  cuda::Module module;
  std::mutex mutex;
  std::map<std::string, std::unique_ptr<DriverKernel>> kernels;
};

class DriverBackend final : public nvfp4_device {
public:
  DriverBackend(const DriverApi &api, std::string_view kind, int ordinal)
      : api(api), kind(kind), ordinal(ordinal) {}
  ~DriverBackend() override {
    if (context)
      api.primaryRelease(device);
  }

  /// Starts the driver and takes the primary context.
  nvfp4_status open() {
    if (nvfp4_status status = report(api.init(0), "cuInit"))
      return status;
    int count = 0;
    if (nvfp4_status status =
            report(api.deviceGetCount(&count), "cuDeviceGetCount"))
      return status;
    if (ordinal >= count)
      return fail(NVFP4_UNSUPPORTED, "expected a device number below " +
                                         std::to_string(count) + ", but got " +
                                         kind + ":" + std::to_string(ordinal));
    if (nvfp4_status status =
            report(api.deviceGet(&device, ordinal), "cuDeviceGet"))
      return status;
    char text[256] = {};
    if (nvfp4_status status =
            report(api.deviceGetName(text, sizeof text - 1, device),
                   "cuDeviceGetName"))
      return status;
    name = text;
    return report(api.primaryRetain(&context, device),
                  "cuDevicePrimaryCtxRetain");
  }

  nvfp4_status enter() override {
    if (nvfp4_status status =
            report(api.contextPush(context), "cuCtxPushCurrent"))
      return status;
    entered.push_back(this);
    return NVFP4_OK;
  }
  void leave() override {
    entered.pop_back();
    cuda::Context previous = nullptr;
    api.contextPop(&previous);
  }

  nvfp4_status query(nvfp4_device_info &info) override {
    info = {};
    info.kind = kind.c_str();
    info.name = name.c_str();
    info.ordinal = ordinal;
    int major = 0, minor = 0, shared = 0;
    auto attribute = [&](int which, int &value) {
      return report(api.deviceGetAttribute(&value, which, device),
                    "cuDeviceGetAttribute");
    };
    for (auto [which, value] :
         {std::pair(cuda::ComputeCapabilityMajor, &major),
          std::pair(cuda::ComputeCapabilityMinor, &minor),
          std::pair(cuda::MultiprocessorCount, &info.multiprocessors),
          std::pair(cuda::MaxSharedMemoryPerBlockOptin, &shared)})
      if (nvfp4_status status = attribute(which, *value))
        return status;
    info.architecture = major * 10 + minor;
    info.shared_memory = static_cast<size_t>(shared);
    return report(api.deviceTotalMem(&info.memory, device), "cuDeviceTotalMem");
  }

  nvfp4_status synchronize() override {
    return synchronized([&] { return api.contextSynchronize(); },
                        "cuCtxSynchronize", nullptr, nullptr);
  }

  nvfp4_status createStream(nvfp4_stream *&stream) override {
    cuda::Stream created = nullptr;
    nvfp4_status status = call(
        [&] { return api.streamCreate(&created, cuda::streamNonBlocking); },
        "cuStreamCreate");
    if (!status)
      stream = reinterpret_cast<nvfp4_stream *>(created);
    return status;
  }
  nvfp4_status destroyStream(nvfp4_stream *stream) override {
    return call([&] { return api.streamDestroy(streamOf(stream)); },
                "cuStreamDestroy");
  }
  nvfp4_status synchronizeStream(nvfp4_stream *stream) override {
    cuda::Stream handle = streamOf(stream);
    return synchronized([&] { return api.streamSynchronize(handle); },
                        "cuStreamSynchronize", &handle, nullptr);
  }
  nvfp4_status waitEvent(nvfp4_stream *stream, nvfp4_event *event) override {
    return call(
        [&] {
          return api.streamWaitEvent(streamOf(stream), eventOf(event), 0);
        },
        "cuStreamWaitEvent");
  }
  nvfp4_status createEvent(bool timing, nvfp4_event *&event) override {
    cuda::Event created = nullptr;
    nvfp4_status status = call(
        [&] {
          return api.eventCreate(&created,
                                 timing ? 0 : cuda::eventDisableTiming);
        },
        "cuEventCreate");
    if (!status)
      event = reinterpret_cast<nvfp4_event *>(created);
    return status;
  }
  nvfp4_status destroyEvent(nvfp4_event *event) override {
    return call([&] { return api.eventDestroy(eventOf(event)); },
                "cuEventDestroy");
  }
  nvfp4_status recordEvent(nvfp4_event *event, nvfp4_stream *stream) override {
    return call(
        [&] { return api.eventRecord(eventOf(event), streamOf(stream)); },
        "cuEventRecord");
  }
  nvfp4_status synchronizeEvent(nvfp4_event *event) override {
    return synchronized([&] { return api.eventSynchronize(eventOf(event)); },
                        "cuEventSynchronize", nullptr, eventOf(event));
  }
  nvfp4_status elapsed(nvfp4_event *start, nvfp4_event *end,
                       float &milliseconds) override {
    return call(
        [&] {
          return api.eventElapsedTime(&milliseconds, eventOf(start),
                                      eventOf(end));
        },
        "cuEventElapsedTime");
  }

  nvfp4_status allocate(size_t bytes, void *&pointer) override {
    cuda::DevicePointer address = 0;
    nvfp4_status status =
        call([&] { return api.memAlloc(&address, bytes); }, "cuMemAlloc");
    if (!status)
      pointer = reinterpret_cast<void *>(address);
    return status;
  }
  nvfp4_status free(void *pointer) override {
    return call([&] { return api.memFree(addressOf(pointer)); }, "cuMemFree");
  }
  nvfp4_status copy(void *target, const void *source, size_t bytes,
                    nvfp4_stream *stream) override {
    nvfp4_status status = call(
        [&] {
          return api.memcpyAsync(addressOf(target), addressOf(source), bytes,
                                 streamOf(stream));
        },
        "cuMemcpyAsync");
    return status || stream ? status : synchronizeStream(nullptr);
  }
  nvfp4_status copyRows(const RowCopy &copy, nvfp4_stream *stream) override {
    cuda::DevicePointer target = addressOf(copy.target),
                        source = addressOf(copy.source);
    if (!copy.hasGaps())
      return call(
          [&] {
            size_t bytes = copy.rows * copy.bytes;
            return copy.isOnDevice ? api.memcpyDtoDAsync(target, source, bytes,
                                                         streamOf(stream))
                                   : api.memcpyAsync(target, source, bytes,
                                                     streamOf(stream));
          },
          copy.isOnDevice ? "cuMemcpyDtoDAsync" : "cuMemcpyAsync");
    cuda::Copy2D rows{};
    rows.sourceType = rows.targetType =
        copy.isOnDevice ? cuda::MemoryDevice : cuda::MemoryUnified;
    rows.sourceDevice = source;
    rows.targetDevice = target;
    rows.sourcePitch = copy.sourcePitch;
    rows.targetPitch = copy.targetPitch;
    rows.widthInBytes = copy.bytes;
    rows.height = copy.rows;
    return call([&] { return api.memcpy2DAsync(&rows, streamOf(stream)); },
                "cuMemcpy2DAsync");
  }
  nvfp4_status isCapturing(nvfp4_stream *stream, bool &capturing) override {
    int32_t state = cuda::CaptureNone;
    nvfp4_status status =
        call([&] { return api.streamIsCapturing(streamOf(stream), &state); },
             "cuStreamIsCapturing");
    capturing = state != cuda::CaptureNone;
    return status;
  }
  nvfp4_status fill(void *target, uint32_t value, unsigned width, size_t count,
                    nvfp4_stream *stream) override {
    return call(
        [&] {
          cuda::DevicePointer to = addressOf(target);
          cuda::Stream in = streamOf(stream);
          return width == 1
                     ? api.memset8(to, static_cast<uint8_t>(value), count, in)
                 : width == 2
                     ? api.memset16(to, static_cast<uint16_t>(value), count, in)
                     : api.memset32(to, value, count, in);
        },
        "cuMemsetD8Async, cuMemsetD16Async or cuMemsetD32Async");
  }
  nvfp4_status registerHost(void *pointer, size_t bytes) override {
    return call([&] { return api.hostRegister(pointer, bytes, 0); },
                "cuMemHostRegister");
  }
  nvfp4_status unregisterHost(void *pointer) override {
    return call([&] { return api.hostUnregister(pointer); },
                "cuMemHostUnregister");
  }
  nvfp4_status allocateHost(size_t bytes, void *&pointer) override {
    // Unified addressing: the address is the same on the device.
    constexpr unsigned isMapped = 2;
    return call([&] { return api.hostAlloc(&pointer, bytes, isMapped); },
                "cuMemHostAlloc");
  }
  nvfp4_status freeHost(void *pointer) override {
    return call([&] { return api.hostFree(pointer); }, "cuMemFreeHost");
  }

  nvfp4_status loadModule(const void *image,
                          nvfp4_device_module *&module) override {
    constexpr int errorLog = 5, errorLogSize = 6;
    char log[4096] = {};
    int options[] = {errorLog, errorLogSize};
    void *values[] = {log, reinterpret_cast<void *>(sizeof log)};
    cuda::Module loaded = nullptr;
    nvfp4_status status = call(
        [&] { return api.moduleLoadData(&loaded, image, 2, options, values); },
        "cuModuleLoadDataEx", log);
    if (!status)
      module = new DriverModule(*this, loaded);
    return status;
  }

  nvfp4_status encodeTensorMap(const nvfp4_tensor_map_spec &spec,
                               void *map) override {
    uint32_t elementStride[5];
    for (unsigned d = 0; d < 5; ++d)
      elementStride[d] = spec.element_stride[d] ? spec.element_stride[d] : 1;
    return call(
        [&] {
          return api.tensorMapEncodeTiled(
              static_cast<cuda::TensorMap *>(map), spec.type, spec.rank,
              spec.address, spec.size, spec.stride, spec.box, elementStride, 0,
              spec.swizzle, spec.l2_promotion, spec.fill_nan != 0);
        },
        "cuTensorMapEncodeTiled");
  }

  /// Calls `function` in the device's context and turns its result into a
  /// status; `log` is text that the driver wrote.
  template <typename Callable>
  nvfp4_status call(Callable function, const char *what,
                    const char *log = nullptr) {
    return inContext([&] { return report(function(), what, log); });
  }

  const DriverApi &api;

private:
  nvfp4_status report(cuda::Result result, const char *what,
                      const char *log = nullptr) {
    if (result == cuda::Success)
      return NVFP4_OK;
    const char *errorName = nullptr;
    const char *text = nullptr;
    api.getErrorName(result, &errorName);
    api.getErrorString(result, &text);
    std::string message =
        std::string(what) + ": " + (text ? text : "unknown error") + " (" +
        (errorName ? errorName : std::to_string(result)) + ")";
    if (api.simMessage)
      message += ": " + std::string(api.simMessage());
    else if (log && *log)
      message += ": " + std::string(log);
    return fail(statusOf(result), std::move(message));
  }

  /// The result of `function`, called with the device's context current.
  template <typename Callable> nvfp4_status inContext(Callable function) {
    if (!entered.empty() && entered.back() == this)
      return function();
    if (nvfp4_status status = enter())
      return status;
    nvfp4_status status = function();
    leave();
    return status;
  }

  /// A call that waits; reports of the simulator on what it waited for make it
  /// fail.
  template <typename Callable>
  nvfp4_status synchronized(Callable function, const char *what,
                            const cuda::Stream *stream, cuda::Event event) {
    return inContext([&] {
      nvfp4_status status = report(function(), what);
      const char *findings =
          api.simTakeFindings ? api.simTakeFindings(stream, event) : nullptr;
      if (!findings)
        return status;
      if (!status)
        return fail(NVFP4_DEVICE_ERROR, findings);
      return fail(status, std::string(nvfp4_last_error()) + "\n" + findings);
    });
  }

  /// Devices that the thread has entered, whose contexts are current.
  static thread_local std::vector<const DriverBackend *> entered;

  std::string kind;
  std::string name;
  int ordinal;
  cuda::Device device = 0;
  cuda::Context context = nullptr;
};

thread_local std::vector<const DriverBackend *> DriverBackend::entered;

DriverModule::~DriverModule() {
  // Nobody is left to hear of an error.
  device.call([&] { return device.api.moduleUnload(module); },
              "cuModuleUnload");
}

nvfp4_status DriverModule::kernel(const char *name, nvfp4_kernel *&kernel) {
  std::lock_guard<std::mutex> lock(mutex);
  auto &slot = kernels[name];
  if (!slot) {
    cuda::Function function = nullptr;
    if (nvfp4_status status = device.call(
            [&] {
              return device.api.moduleGetFunction(&function, module, name);
            },
            "cuModuleGetFunction")) {
      kernels.erase(name);
      return status;
    }
    slot = std::make_unique<DriverKernel>(device, function);
  }
  kernel = slot.get();
  return NVFP4_OK;
}

nvfp4_status DriverModule::variable(const char *name, void *&pointer,
                                    size_t &bytes) {
  cuda::DevicePointer address = 0;
  nvfp4_status status = device.call(
      [&] {
        return device.api.moduleGetGlobal(&address, &bytes, module, name);
      },
      "cuModuleGetGlobal");
  pointer = reinterpret_cast<void *>(address);
  return status;
}

/// Raises the limits that the launch goes past.
nvfp4_status DriverKernel::prepare(const nvfp4_launch &launch) {
  std::lock_guard<std::mutex> lock(mutex);
  if (launch.shared_memory > sharedAllowed) {
    if (nvfp4_status status = device.call(
            [&] {
              return device.api.functionSetAttribute(
                  function, cuda::MaxDynamicSharedSizeBytes,
                  static_cast<int>(launch.shared_memory));
            },
            "cuFuncSetAttribute"))
      return status;
    sharedAllowed = launch.shared_memory;
  }
  const uint32_t *cluster = launch.cluster;
  if (uint64_t{cluster[0]} * cluster[1] * cluster[2] > 8 &&
      !largeClusterAllowed) {
    if (nvfp4_status status = device.call(
            [&] {
              return device.api.functionSetAttribute(
                  function, cuda::NonPortableClusterSizeAllowed, 1);
            },
            "cuFuncSetAttribute"))
      return status;
    largeClusterAllowed = true;
  }
  return NVFP4_OK;
}

/// Replaces the bare error of a cooperative launch whose blocks do not all fit
/// by one that says how many do; `clusterSize` is 0 without clusters, else the
/// first attribute holds them.
nvfp4_status DriverKernel::failTooLarge(cuda::LaunchConfig config,
                                        uint64_t clusterSize,
                                        nvfp4_status status) {
  uint64_t blocks = uint64_t{config.grid[0]} * config.grid[1] * config.grid[2];
  uint32_t threads = config.block[0] * config.block[1] * config.block[2];
  std::string error = nvfp4_last_error();
  nvfp4_device_info info = {};
  int found = 0;
  config.numAttributes = 1;
  auto ask = [&] {
    return clusterSize
               ? device.api.occupancyMaxActiveClusters(&found, function,
                                                       &config)
               : device.api.occupancyMaxActiveBlocks(&found, function,
                                                     static_cast<int>(threads),
                                                     config.sharedBytes);
  };
  bool isKnown =
      !device.call(ask, "cuOccupancyMaxActive") && !device.query(info);
  auto count = static_cast<uint64_t>(found);
  auto multiprocessors = static_cast<uint64_t>(info.multiprocessors);
  uint64_t most = count * (clusterSize ? clusterSize : multiprocessors);
  // Something else that the driver counts: its own text it is.
  if (!isKnown || blocks <= most)
    return fail(status, std::move(error));
  return fail(status,
              "cuLaunchKernelEx: expected at most " + std::to_string(most) +
                  " blocks in a cooperative launch, " + std::to_string(count) +
                  (clusterSize
                       ? " clusters of " + std::to_string(clusterSize)
                       : " on each of " + std::to_string(multiprocessors) +
                             " multiprocessors") +
                  ", but got " + std::to_string(blocks) +
                  " (CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE)");
}

nvfp4_status DriverKernel::launch(const nvfp4_launch &launch,
                                  void *const *arguments) {
  if (nvfp4_status status = prepare(launch))
    return status;
  const uint32_t *cluster = launch.cluster;
  bool hasCluster = cluster[0] || cluster[1] || cluster[2];
  cuda::LaunchAttribute attributes[2] = {};
  cuda::LaunchConfig config = {};
  for (unsigned i = 0; i < 3; ++i) {
    config.grid[i] = launch.grid[i];
    config.block[i] = launch.block[i];
  }
  config.sharedBytes = launch.shared_memory;
  config.stream = streamOf(launch.stream);
  config.attributes = attributes;
  if (hasCluster) {
    cuda::LaunchAttribute &attribute = attributes[config.numAttributes++];
    attribute.id = cuda::AttributeClusterDimension;
    for (unsigned i = 0; i < 3; ++i)
      attribute.value.cluster[i] = cluster[i];
  }
  if (launch.flags) {
    cuda::LaunchAttribute &attribute = attributes[config.numAttributes++];
    attribute.id = launch.flags == NVFP4_LAUNCH_COOPERATIVE
                       ? cuda::AttributeCooperative
                       : cuda::AttributeProgrammaticStreamSerialization;
    attribute.value.flag = 1;
  }
  cuda::Result result = cuda::Success;
  nvfp4_status status = device.call(
      [&] {
        return result = device.api.launchKernel(
                   &config, function, const_cast<void **>(arguments), nullptr);
      },
      "cuLaunchKernelEx");
  if (result != cuda::CooperativeLaunchTooLarge)
    return status;
  uint64_t size = uint64_t{cluster[0]} * cluster[1] * cluster[2];
  return failTooLarge(config, size, status);
}

} // namespace

std::unique_ptr<nvfp4_device>
nvfp4::runtime::makeDriverBackend(std::string_view kind, int ordinal,
                                  nvfp4_status &status) {
  std::string error;
  const DriverApi *api = DriverApi::get(kind, error);
  if (!api) {
    status = fail(NVFP4_UNSUPPORTED, std::move(error));
    return nullptr;
  }
  auto backend = std::make_unique<DriverBackend>(*api, kind, ordinal);
  status = backend->open();
  return status ? nullptr : std::move(backend);
}
