//===- Registry.cpp - what programs register with the runtime ---*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Handles of fat binaries are addresses of entries here.
//
//===----------------------------------------------------------------------===//

#include "Registry.h"

#include "../PerThread.h"

#include <cstdio>
#include <cstring>
#include <deque>
#include <iterator>
#include <map>
#include <mutex>
#include <span>
#include <string>
#include <vector>

using namespace nvfp4;
using namespace nvfp4::simcuda;

namespace {

/// A fat binary, and its module on each device where it has been loaded.
struct Binary {
  struct Loaded {
    cuda::Module module = nullptr;
    Error error = cuda::Success;
  };
  const void *image = nullptr;
  std::map<int, Loaded> loaded;
};

struct Kernel {
  Binary *binary = nullptr;
  std::string name;
  /// By device.
  std::map<int, cuda::Function> functions;
};

struct Variable {
  Binary *binary = nullptr;
  std::string name;
  /// For managed variables: where the program looks for the pointer.
  void **managed = nullptr;
};

struct Registry {
  std::recursive_mutex mutex;
  std::deque<Binary> binaries;
  std::map<const void *, Kernel> kernels;
  std::map<const void *, Variable> variables;
};

Registry &registry() {
  // Never destroyed: programs unregister from destructors.
  static Registry &single = *new Registry;
  return single;
}

/// The device of the calling thread.
int currentDevice() {
  cuda::Device device = 0;
  return cuCtxGetDevice(&device) ? 0 : device;
}

/// The binary's module on a device, which is the current one.
Error load(Binary &binary, int device, cuda::Module &module) {
  Binary::Loaded &loaded = binary.loaded[device];
  if (!loaded.module && !loaded.error)
    loaded.error = cuModuleLoadData(&loaded.module, binary.image);
  module = loaded.module;
  return loaded.error;
}

} // namespace

static thread_local Error lastError = cuda::Success;

Error simcuda::remember(Error error) {
  if (error)
    lastError = error;
  return error;
}

Error simcuda::startDriver() {
  static const Error error = [] {
    Error result = cuInit(0);
    cuda::Context context = nullptr;
    return result ? result : cuDevicePrimaryCtxRetain(&context, 0);
  }();
  return error;
}

Error simcuda::functionOf(const void *hostFunction, cuda::Function &function) {
  Registry &r = registry();
  std::lock_guard<std::recursive_mutex> lock(r.mutex);
  auto found = r.kernels.find(hostFunction);
  if (found == r.kernels.end())
    return cuda::InvalidDeviceFunction;
  Kernel &kernel = found->second;
  int device = currentDevice();
  cuda::Function &known = kernel.functions[device];
  if (!known) {
    cuda::Module module = nullptr;
    if (Error error = load(*kernel.binary, device, module))
      return error;
    if (Error error = cuModuleGetFunction(&known, module, kernel.name.c_str()))
      return error == cuda::NotFound ? cuda::InvalidDeviceFunction : error;
  }
  function = known;
  return cuda::Success;
}

Error simcuda::variableOf(const void *hostVariable,
                          cuda::DevicePointer &address, size_t &bytes) {
  Registry &r = registry();
  std::lock_guard<std::recursive_mutex> lock(r.mutex);
  auto found = r.variables.find(hostVariable);
  if (found == r.variables.end())
    return cuda::InvalidSymbol;
  cuda::Module module = nullptr;
  if (Error error = load(*found->second.binary, currentDevice(), module))
    return error;
  return cuModuleGetGlobal_v2(&address, &bytes, module,
                              found->second.name.c_str());
}

//===- Start-up code
//-------------------------------------------------------===//

// Without memory for what a program registers it cannot go on, and nobody takes
// an error: noexcept ends it.
NVFP4_SIM_API void **__cudaRegisterFatBinary(void *image) noexcept {
  Registry &r = registry();
  std::lock_guard<std::recursive_mutex> lock(r.mutex);
  r.binaries.emplace_back().image = image;
  nvfp4_sim_note_image(image);
  return reinterpret_cast<void **>(&r.binaries.back());
}
NVFP4_SIM_API void __cudaRegisterFatBinaryEnd(void **) {}
NVFP4_SIM_API void __cudaUnregisterFatBinary(void **) {}
NVFP4_SIM_API char __cudaInitModule(void **) { return 0; }

NVFP4_SIM_API void __cudaRegisterFunction(void **binary, const char *host,
                                          char *, const char *name, int, void *,
                                          void *, void *, void *,
                                          int *) noexcept {
  Registry &r = registry();
  std::lock_guard<std::recursive_mutex> lock(r.mutex);
  Kernel &kernel = r.kernels[host];
  kernel.binary = reinterpret_cast<Binary *>(binary);
  kernel.name = name;
  kernel.functions.clear();
}

NVFP4_SIM_API void __cudaRegisterVar(void **binary, char *host, char *,
                                     const char *name, int, size_t, int,
                                     int) noexcept {
  Registry &r = registry();
  std::lock_guard<std::recursive_mutex> lock(r.mutex);
  Variable &variable = r.variables[host];
  variable.binary = reinterpret_cast<Binary *>(binary);
  variable.name = name;
}

NVFP4_SIM_API void __cudaRegisterManagedVar(void **, void **, char *,
                                            const char *name, int, size_t, int,
                                            int) {
  std::fprintf(stderr,
               "nvfp4-sim: managed variable '%s' is not supported; allocate "
               "it with cudaMallocManaged\n",
               name);
}

//===- Launches
//------------------------------------------------------------===//

namespace {
struct Dim3 {
  unsigned x, y, z;
};
struct Configuration {
  Dim3 grid, block;
  size_t shared;
  cuda::Stream stream;
};
std::vector<Configuration> &configurations() {
  return perThread<Configuration, std::vector<Configuration>>();
}
} // namespace

NVFP4_SIM_API unsigned __cudaPushCallConfiguration(Dim3 grid, Dim3 block,
                                                   size_t shared,
                                                   cuda::Stream stream) try {
  configurations().push_back({grid, block, shared, stream});
  return 0;
} catch (...) {
  return static_cast<unsigned>(remember(cuda::OutOfMemory));
}

NVFP4_SIM_API Error __cudaPopCallConfiguration(Dim3 *grid, Dim3 *block,
                                               size_t *shared, void *stream) {
  if (configurations().empty())
    return remember(cuda::MissingConfiguration);
  const Configuration &last = configurations().back();
  *grid = last.grid;
  *block = last.block;
  *shared = last.shared;
  *static_cast<cuda::Stream *>(stream) = last.stream;
  configurations().pop_back();
  return cuda::Success;
}

static Error launch(const void *kernel, Dim3 grid, Dim3 block, void **arguments,
                    size_t shared, cuda::Stream stream,
                    std::span<cuda::LaunchAttribute> attributes) {
  return viaDriver([&]() -> Error {
    cuda::Function function = nullptr;
    if (Error error = functionOf(kernel, function))
      return error;
    if (shared > UINT32_MAX)
      return cuda::InvalidValue;
    cuda::LaunchConfig config = {{grid.x, grid.y, grid.z},
                                 {block.x, block.y, block.z},
                                 static_cast<uint32_t>(shared),
                                 stream,
                                 attributes.data(),
                                 static_cast<uint32_t>(attributes.size())};
    return cuLaunchKernelEx(&config, function, arguments, nullptr);
  });
}

NVFP4_SIM_API Error cudaLaunchKernel(const void *kernel, Dim3 grid, Dim3 block,
                                     void **arguments, size_t shared,
                                     cuda::Stream stream) {
  return launch(kernel, grid, block, arguments, shared, stream, {});
}
NVFP4_SIM_API Error cudaLaunchCooperativeKernel(const void *kernel, Dim3 grid,
                                                Dim3 block, void **arguments,
                                                size_t shared,
                                                cuda::Stream stream) {
  cuda::LaunchAttribute cooperative = {};
  cooperative.id = cuda::AttributeCooperative;
  cooperative.value.flag = 1;
  return launch(kernel, grid, block, arguments, shared, stream,
                {&cooperative, 1});
}

/// Since CUDA 13 programs ask for a handle once; the address itself will do.
NVFP4_SIM_API Error __cudaGetKernel(const void **handle, const void *kernel) {
  *handle = kernel;
  return cuda::Success;
}
NVFP4_SIM_API Error __cudaLaunchKernel(const void *handle, Dim3 grid,
                                       Dim3 block, void **arguments,
                                       size_t shared, cuda::Stream stream) {
  return cudaLaunchKernel(handle, grid, block, arguments, shared, stream);
}

namespace {
/// cudaLaunchConfig_t, whose shared memory has 64 bits.
struct RuntimeLaunchConfig {
  Dim3 grid, block;
  size_t shared;
  cuda::Stream stream;
  cuda::LaunchAttribute *attributes;
  unsigned numAttributes;
};
static_assert(sizeof(RuntimeLaunchConfig) == 56);

cuda::LaunchConfig driverConfig(const RuntimeLaunchConfig &config) {
  return {{config.grid.x, config.grid.y, config.grid.z},
          {config.block.x, config.block.y, config.block.z},
          static_cast<uint32_t>(config.shared),
          config.stream,
          config.attributes,
          config.numAttributes};
}
} // namespace

NVFP4_SIM_API Error cudaLaunchKernelExC(const RuntimeLaunchConfig *config,
                                        const void *kernel, void **arguments) {
  return viaDriver([&]() -> Error {
    cuda::Function function = nullptr;
    if (Error error = functionOf(kernel, function))
      return error;
    if (config->shared > UINT32_MAX)
      return cuda::InvalidValue;
    cuda::LaunchConfig converted = driverConfig(*config);
    return cuLaunchKernelEx(&converted, function, arguments, nullptr);
  });
}

//===- Attributes and occupancy
//--------------------------------------------===//

NVFP4_SIM_API Error cudaFuncSetAttribute(const void *kernel, int attribute,
                                         int value) {
  return viaDriver([&]() -> Error {
    cuda::Function function = nullptr;
    if (Error error = functionOf(kernel, function))
      return error;
    return cuFuncSetAttribute(function, attribute, value);
  });
}
NVFP4_SIM_API Error cudaFuncSetCacheConfig(const void *, int) {
  return cuda::Success;
}

NVFP4_SIM_API Error cudaFuncGetAttributes(void *attributes,
                                          const void *kernel) {
  return viaDriver([&]() -> Error {
    cuda::Function function = nullptr;
    if (Error error = functionOf(kernel, function))
      return error;
    // cudaFuncAttributes: three sizes, then integers; what the driver counts
    // from 0 in another order.
    struct {
      size_t shared, constant, local;
      int values[13];
      int reserved[16];
    } result = {};
    static_assert(sizeof result == 144);
    auto get = [&](int attribute) {
      int value = 0;
      cuFuncGetAttribute(&value, attribute, function);
      return value;
    };
    result.shared = static_cast<size_t>(get(1));
    result.constant = static_cast<size_t>(get(2));
    result.local = static_cast<size_t>(get(3));
    static constexpr int order[] = {0,  4,  5,  6,  7,  8, 9,
                                    10, 11, 12, 13, 15, 14};
    for (size_t i = 0; i < std::size(order); ++i)
      result.values[i] = get(order[i]);
    std::memcpy(attributes, &result, sizeof result);
    return cuda::Success;
  });
}

NVFP4_SIM_API Error cudaOccupancyMaxActiveBlocksPerMultiprocessor(
    int *blocks, const void *kernel, int blockSize, size_t shared) {
  return viaDriver([&]() -> Error {
    cuda::Function function = nullptr;
    if (Error error = functionOf(kernel, function))
      return error;
    return cuOccupancyMaxActiveBlocksPerMultiprocessor(blocks, function,
                                                       blockSize, shared);
  });
}
NVFP4_SIM_API Error cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
    int *blocks, const void *kernel, int blockSize, size_t shared, unsigned) {
  return cudaOccupancyMaxActiveBlocksPerMultiprocessor(blocks, kernel,
                                                       blockSize, shared);
}
NVFP4_SIM_API Error cudaOccupancyMaxActiveClusters(
    int *clusters, const void *kernel, const RuntimeLaunchConfig *config) {
  return viaDriver([&]() -> Error {
    cuda::Function function = nullptr;
    if (Error error = functionOf(kernel, function))
      return error;
    cuda::LaunchConfig converted = driverConfig(*config);
    return cuOccupancyMaxActiveClusters(clusters, function, &converted);
  });
}

//===- Variables
//-----------------------------------------------------------===//

NVFP4_SIM_API Error cudaGetSymbolAddress(void **pointer, const void *symbol) {
  return viaDriver([&]() -> Error {
    cuda::DevicePointer address = 0;
    size_t bytes = 0;
    Error error = variableOf(symbol, address, bytes);
    *pointer = reinterpret_cast<void *>(address);
    return error;
  });
}
NVFP4_SIM_API Error cudaGetSymbolSize(size_t *size, const void *symbol) {
  return viaDriver([&]() -> Error {
    cuda::DevicePointer address = 0;
    return variableOf(symbol, address, *size);
  });
}

/// Copies to or from bytes of a variable, whichever side it is.
static Error copySymbol(const void *symbol, void *to, const void *from,
                        size_t count, size_t offset) {
  return viaDriver([&]() -> Error {
    cuda::DevicePointer address = 0;
    size_t bytes = 0;
    if (Error error = variableOf(symbol, address, bytes))
      return error;
    if (offset > bytes || count > bytes - offset)
      return cuda::InvalidValue;
    return to ? cuMemcpy(reinterpret_cast<uint64_t>(to), address + offset,
                         count)
              : cuMemcpy(address + offset, reinterpret_cast<uint64_t>(from),
                         count);
  });
}
NVFP4_SIM_API Error cudaMemcpyToSymbol(const void *symbol, const void *from,
                                       size_t count, size_t offset, int) {
  return copySymbol(symbol, nullptr, from, count, offset);
}
NVFP4_SIM_API Error cudaMemcpyToSymbolAsync(const void *symbol,
                                            const void *from, size_t count,
                                            size_t offset, int, cuda::Stream) {
  return copySymbol(symbol, nullptr, from, count, offset);
}
NVFP4_SIM_API Error cudaMemcpyFromSymbol(void *to, const void *symbol,
                                         size_t count, size_t offset, int) {
  return copySymbol(symbol, to, nullptr, count, offset);
}
NVFP4_SIM_API Error cudaMemcpyFromSymbolAsync(void *to, const void *symbol,
                                              size_t count, size_t offset, int,
                                              cuda::Stream) {
  return copySymbol(symbol, to, nullptr, count, offset);
}

//===- Errors
//--------------------------------------------------------------===//

NVFP4_SIM_API Error cudaGetLastError() {
  // Errors of kernels stay.
  Error error = lastError;
  lastError = cuda::Success;
  return error ? error : startDriver() ? startDriver() : cuCtxSynchronize();
}
NVFP4_SIM_API Error cudaPeekAtLastError() {
  return lastError ? lastError : cuCtxSynchronize();
}
NVFP4_SIM_API const char *cudaGetErrorString(Error error) {
  const ResultText *text = textOf(error);
  return text ? text->text : "unrecognized error code";
}
NVFP4_SIM_API const char *cudaGetErrorName(Error error) {
  const ResultText *text = textOf(error);
  return text ? text->runtimeName : "unrecognized error code";
}
