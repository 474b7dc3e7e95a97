//===- Module.cpp - modules and functions of the stand-in driver *- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An image is PTX text, or a fat binary from which the PTX of the highest
// architecture that the device runs is taken.
//
//===----------------------------------------------------------------------===//

#include "../FatBinary.h"
#include "State.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <sstream>

using namespace nvfp4;
using namespace nvfp4::simcuda;
using cuda::DevicePointer;
using cuda::Result;
using ModuleHandle = cuda::Module;
using FunctionHandle = cuda::Function;

/// The first word after `.target`, for example sm_100a.
static std::string targetOf(const std::string &text) {
  size_t at = text.find(".target");
  if (at == std::string::npos)
    return {};
  std::istringstream rest(text.substr(at + 7, 64));
  std::string target;
  rest >> target;
  return target.substr(0, target.find(','));
}

/// Whether a device runs PTX for `target`: a letter binds it to the family.
static bool runs(unsigned architecture, const std::string &target) {
  if (target.rfind("sm_", 0) != 0)
    return false;
  unsigned number = 0;
  size_t at = 3;
  for (; at < target.size() && std::isdigit(target[at]); ++at)
    number = number * 10 + static_cast<unsigned>(target[at] - '0');
  bool bound = at < target.size();
  return bound ? number == architecture : number <= architecture;
}

/// The simulated devices, the newest last.
static constexpr unsigned architectures[] = {90, 100};

/// Whether the device runs PTX for `target`: without --arch it is whichever of
/// the simulated ones does.
static bool runs(const State &s, const std::string &target) {
  if (s.architectureGiven)
    return runs(s.architecture, target);
  return std::any_of(
      std::begin(architectures), std::end(architectures),
      [&](unsigned architecture) { return runs(architecture, target); });
}

/// The target that `s` runs, and another simulated device that runs PTX for one
/// of `targets`, if there is one.
static std::string explainTargets(const State &s,
                                  const std::vector<std::string> &targets) {
  std::string text = "expected PTX for ";
  for (unsigned architecture : architectures)
    if (!s.architectureGiven || architecture == s.architecture)
      text += "sm_" + std::to_string(architecture) + "a, ";
  text.replace(text.size() - 2, 2, " or an older generic target, but got ");
  for (const std::string &target : targets)
    text += (&target == &targets.front() ? "" : ", ") + target;
  for (unsigned other : architectures)
    for (const std::string &target : targets)
      if (runs(other, target))
        return text + "; the option --arch sm_" + std::to_string(other) +
               "a chooses a device that runs it";
  return text + ", which no simulated device runs; compile for sm_90a or "
                "sm_100a";
}

Result simcuda::loadPtx(State &s, std::string text, SimModule *&module) {
  std::string name = "module" + std::to_string(++s.modulesLoaded) + ".ptx";
  if (!s.savePtx.empty()) {
    name = s.savePtx + "/" + name;
    std::ofstream file(name, std::ios::binary);
    file << text;
    if (!file)
      return s.fail(cuda::FileNotFound, "cannot write '" + name + "'");
  }
  std::string target = targetOf(text);
  if (!target.empty() && !runs(s, target))
    return s.fail(cuda::NoBinaryForGpu, explainTargets(s, {target}));
  sim::Diagnostics diagnostics(name);
  auto program = sim::Program::load(std::move(text), name, diagnostics);
  if (!program)
    return s.fail(cuda::InvalidPtx, diagnostics.str());
  auto loaded = std::make_unique<SimModule>();
  loaded->device = &s.current();
  loaded->program = std::move(program);
  module = loaded.get();
  s.modules.emplace(module, std::move(loaded));
  return cuda::Success;
}

Result simcuda::loadImage(State &s, const void *image, SimModule *&module) {
  if (!image)
    return s.fail(cuda::InvalidValue, "expected an image, but got null");
  if (!isFatBinary(image)) {
    if (!*static_cast<const char *>(image))
      return s.fail(cuda::InvalidPtx,
                    "expected PTX text, but got an empty string");
    if (std::strncmp(static_cast<const char *>(image), "\177ELF", 4) == 0)
      return s.fail(cuda::NoBinaryForGpu,
                    "expected PTX text or a fat binary with PTX, but got "
                    "machine code");
    return loadPtx(s, static_cast<const char *>(image), module);
  }
  FatBinary binary;
  std::string error = readFatBinary(image, binary);
  if (!error.empty())
    return s.fail(cuda::InvalidImage, error);
  const FatBinary::Ptx *best = nullptr;
  std::pair<bool, unsigned> bestOrder;
  std::vector<std::string> targets;
  for (const FatBinary::Ptx &ptx : binary.ptx) {
    std::string target = targetOf(ptx.text);
    targets.push_back(target);
    if (!runs(s, target))
      continue;
    // The requested target of the device goes before its possible ones.
    std::pair order(runs(s.architecture, target), ptx.architecture);
    if (!best || order >= bestOrder) {
      best = &ptx;
      bestOrder = order;
    }
  }
  if (best)
    return loadPtx(s, best->text, module);
  std::string device = std::to_string(s.architecture) + "a";
  if (binary.ptx.empty())
    return s.fail(
        cuda::NoBinaryForGpu,
        "expected PTX in the fat binary, but got " +
            std::to_string(binary.machineCode) +
            " entries of machine code: build with nvcc -gencode arch=compute_" +
            device + ",code=compute_" + device);
  return s.fail(cuda::NoBinaryForGpu, explainTargets(s, targets));
}

Result simcuda::functionOf(State &s, SimModule &module, const char *name,
                           SimFunction *&function) {
  auto &slot = module.functions[name];
  if (!slot) {
    const sim::Kernel *kernel = *name ? module.program->kernel(name) : nullptr;
    if (!kernel) {
      module.functions.erase(name);
      std::string names;
      for (const auto &known : module.program->kernels())
        names += (names.empty() ? "" : ", ") + known->name;
      return s.fail(cuda::NotFound, "expected one of the kernels " + names +
                                        ", but got '" + name + "'");
    }
    slot = std::make_unique<SimFunction>();
    slot->module = &module;
    slot->kernel = kernel;
    s.functions[slot.get()] = &module;
  }
  function = slot.get();
  return cuda::Success;
}

/// The module behind a handle, for calls that look up `name` in it.
static Result findModule(Entry &s, ModuleHandle module, const char *name,
                         SimModule *&found) {
  if (s.error)
    return s.error;
  found = s->find(module);
  return found && name ? cuda::Success
                       : s->fail(cuda::InvalidHandle,
                                 "expected a loaded module and a name");
}

/// The function behind a handle, and for getters a place for what is asked.
static Result findFunction(Entry &s, FunctionHandle function,
                           SimFunction *&found, const void *place) {
  if (s.error)
    return s.error;
  found = s->find(function);
  return found && place
             ? cuda::Success
             : s->fail(cuda::InvalidHandle,
                       "expected a function and a place for the result");
}

NVFP4_SIM_API Result cuModuleLoadData(ModuleHandle *module,
                                      const void *image) try {
  Entry s("cuModuleLoad");
  if (s.error)
    return s.error;
  SimModule *loaded = nullptr;
  Result result = loadImage(*s, image, loaded);
  if (module)
    *module = reinterpret_cast<ModuleHandle>(loaded);
  return result;
} catch (...) {
  return caught();
}
NVFP4_SIM_API Result cuModuleLoadFatBinary(ModuleHandle *module,
                                           const void *image) {
  return cuModuleLoadData(module, image);
}

NVFP4_SIM_API Result cuModuleLoadDataEx(ModuleHandle *module, const void *image,
                                        unsigned numOptions, int *options,
                                        void **values) try {
  constexpr int errorLog = 5, errorLogSize = 6;
  Result result = cuModuleLoadData(module, image);
  char *log = nullptr;
  size_t size = 0;
  for (unsigned i = 0; i < numOptions; ++i) {
    if (options[i] == errorLog)
      log = static_cast<char *>(values[i]);
    else if (options[i] == errorLogSize)
      size = reinterpret_cast<size_t>(values[i]) & 0xffffffff;
  }
  if (result && log && size)
    std::snprintf(log, size, "%s", lastMessage().c_str());
  return result;
} catch (...) {
  return caught();
}

NVFP4_SIM_API Result cuModuleLoad(ModuleHandle *module, const char *path) try {
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  if (!file) {
    Entry s;
    return s->fail(cuda::FileNotFound,
                   "cannot read '" + std::string(path) + "'");
  }
  return cuModuleLoadData(module, text.str().c_str());
} catch (...) {
  return caught();
}

NVFP4_SIM_API Result cuModuleUnload(ModuleHandle module) try {
  Entry s("cuModuleUnload");
  if (s.error)
    return s.error;
  if (Result error = s->finishPending())
    return error;
  SimModule *found = s->find(module);
  if (!found)
    return s->fail(cuda::InvalidHandle, "expected a loaded module");
  for (auto &[name, function] : found->functions)
    s->functions.erase(function.get());
  found->program->removeFrom(found->device->memory);
  s->modules.erase(found);
  return cuda::Success;
} catch (...) {
  return caught();
}

NVFP4_SIM_API Result cuModuleGetFunction(FunctionHandle *function,
                                         ModuleHandle module,
                                         const char *name) try {
  Entry s;
  SimModule *found = nullptr;
  if (Result error = findModule(s, module, name, found))
    return error;
  SimFunction *result = nullptr;
  Result error = functionOf(*s, *found, name, result);
  *function = reinterpret_cast<FunctionHandle>(result);
  return error;
} catch (...) {
  return caught();
}

NVFP4_SIM_API Result cuModuleGetGlobal_v2(DevicePointer *address, size_t *bytes,
                                          ModuleHandle module,
                                          const char *name) try {
  Entry s;
  SimModule *found = nullptr;
  if (Result error = findModule(s, module, name, found))
    return error;
  uint64_t value = found->program->variableAddress(name, found->device->memory);
  if (!value)
    return s->fail(cuda::NotFound,
                   "the module has no variable '" + std::string(name) + "'");
  if (address)
    *address = value;
  for (const sim::Symbol &symbol : found->program->module().symbols)
    if (bytes && symbol.name == name)
      *bytes = symbol.size;
  return cuda::Success;
} catch (...) {
  return caught();
}

//===- Libraries: the same with other names
//---------------------------------===//

NVFP4_SIM_API Result cuLibraryLoadData(ModuleHandle *library, const void *image,
                                       int *, void **, unsigned, int *, void **,
                                       unsigned) {
  return cuModuleLoadData(library, image);
}
NVFP4_SIM_API Result cuLibraryLoadFromFile(ModuleHandle *library,
                                           const char *path, int *, void **,
                                           unsigned, int *, void **, unsigned) {
  return cuModuleLoad(library, path);
}
NVFP4_SIM_API Result cuLibraryUnload(ModuleHandle library) {
  return cuModuleUnload(library);
}
NVFP4_SIM_API Result cuLibraryGetKernel(FunctionHandle *kernel,
                                        ModuleHandle library,
                                        const char *name) {
  return cuModuleGetFunction(kernel, library, name);
}
NVFP4_SIM_API Result cuLibraryGetModule(ModuleHandle *module,
                                        ModuleHandle library) {
  *module = library;
  return cuda::Success;
}
NVFP4_SIM_API Result cuLibraryGetGlobal(DevicePointer *address, size_t *bytes,
                                        ModuleHandle library,
                                        const char *name) {
  return cuModuleGetGlobal_v2(address, bytes, library, name);
}
NVFP4_SIM_API Result cuKernelGetFunction(FunctionHandle *function,
                                         FunctionHandle kernel) {
  *function = kernel;
  return cuda::Success;
}
NVFP4_SIM_API Result cuKernelSetAttribute(int attribute, int value,
                                          FunctionHandle kernel, int) {
  return cuFuncSetAttribute(kernel, attribute, value);
}
NVFP4_SIM_API Result cuKernelGetAttribute(int *value, int attribute,
                                          FunctionHandle kernel, int) {
  return cuFuncGetAttribute(value, attribute, kernel);
}

//===- Attributes
//----------------------------------------------------------===//

NVFP4_SIM_API Result cuFuncSetAttribute(FunctionHandle function, int attribute,
                                        int value) try {
  Entry s;
  SimFunction *found = nullptr;
  if (Result error = findFunction(s, function, found, &value))
    return error;
  if (attribute == cuda::MaxDynamicSharedSizeBytes) {
    int most =
        227 * 1024 - static_cast<int>(found->kernel->function->sharedBytes);
    if (value < 0 || value > most)
      return s->fail(cuda::InvalidValue,
                     "expected 0 to " + std::to_string(most) +
                         " bytes of dynamic shared memory, but got " +
                         std::to_string(value));
    found->maximumDynamicShared = static_cast<uint32_t>(value);
  } else if (attribute == cuda::NonPortableClusterSizeAllowed) {
    found->nonPortableCluster = value != 0;
  }
  return cuda::Success;
} catch (...) {
  return caught();
}

NVFP4_SIM_API Result cuFuncGetAttribute(int *value, int attribute,
                                        FunctionHandle function) try {
  Entry s;
  SimFunction *found = nullptr;
  if (Result error = findFunction(s, function, found, value))
    return error;
  const sim::Function &parsed = *found->kernel->function;
  auto product = [](const std::array<uint32_t, 3> &a) {
    return static_cast<int>(a[0] * a[1] * a[2]);
  };
  *value = 0;
  switch (attribute) {
  case 0: // threads of a block
    *value = parsed.requiredThreads[0]  ? product(parsed.requiredThreads)
             : parsed.maximumThreads[0] ? product(parsed.maximumThreads)
                                        : 1024;
    break;
  case 1: // static shared, constant and local memory
    *value = static_cast<int>(parsed.sharedBytes);
    break;
  case 2:
    *value = static_cast<int>(found->kernel->module->constBytes);
    break;
  case 3:
    *value = static_cast<int>(parsed.localBytes);
    break;
  case 4: // registers: as many as the text leaves live at once
    *value =
        static_cast<int>(std::min<size_t>(255, found->kernel->allocatedPlanes));
    break;
  case 5: // versions of PTX and of the binary
  case 6:
    *value = static_cast<int>(state().architecture);
    break;
  case cuda::MaxDynamicSharedSizeBytes:
    *value = static_cast<int>(found->maximumDynamicShared);
    break;
  case 10: // cluster size must be set, required sizes
    *value = parsed.requiredCluster[0] != 0;
    break;
  case 11:
  case 12:
  case 13:
    *value = static_cast<int>(parsed.requiredCluster[attribute - 11]);
    break;
  case cuda::NonPortableClusterSizeAllowed:
    *value = found->nonPortableCluster;
    break;
  default:
    break;
  }
  return cuda::Success;
} catch (...) {
  return caught();
}

NVFP4_SIM_API Result cuFuncSetCacheConfig(FunctionHandle, int) {
  return cuda::Success;
}
NVFP4_SIM_API Result cuFuncGetModule(ModuleHandle *module,
                                     FunctionHandle function) try {
  Entry s;
  SimFunction *found = nullptr;
  if (Result error = findFunction(s, function, found, module))
    return error;
  *module = reinterpret_cast<ModuleHandle>(found->module);
  return cuda::Success;
} catch (...) {
  return caught();
}
NVFP4_SIM_API Result cuFuncGetName(const char **name,
                                   FunctionHandle function) try {
  Entry s;
  SimFunction *found = nullptr;
  if (Result error = findFunction(s, function, found, name))
    return error;
  *name = found->kernel->name.c_str();
  return cuda::Success;
} catch (...) {
  return caught();
}

NVFP4_SIM_API void nvfp4_sim_note_image(const void *image) try {
  Entry s(false);
  FatBinary binary;
  if (s->architectureGiven || !readFatBinary(image, binary).empty())
    return; // loading it reports what is wrong
  bool needsOther = false;
  for (const FatBinary::Ptx &ptx : binary.ptx) {
    if (runs(s->architecture, targetOf(ptx.text)))
      return;
    needsOther |= targetOf(ptx.text) == "sm_90a";
  }
  if (needsOther)
    s->architecture = 90;
} catch (...) {
  // Loading the image tells.
}
