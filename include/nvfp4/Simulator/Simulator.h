//===- Simulator.h - load PTX, launch kernels -------------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The library's entry point:
//
//   Diagnostics diagnostics("kernel.ptx");
//   auto program = Program::load(text, "kernel.ptx", diagnostics);
//   DeviceMemory memory;
//   const Kernel *kernel = program->kernel("name", diagnostics);
//   RunResult result = program->launch(*kernel, config, memory, options);
//
// Several devices run together in a System (Machine/System.h):
//
//   DeviceMemory first(0), second(1);
//   first.enablePeer(second);
//   second.enablePeer(first);
//   System system(options);
//   program->start(system, *kernel, config, first, options);
//   program->start(system, *kernel, config, second, options);
//   system.run();
//   std::vector<RunResult> results = system.takeResults();
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_SIMULATOR_SIMULATOR_H
#define NVFP4_SIMULATOR_SIMULATOR_H

#include "nvfp4/Simulator/Machine/Launch.h"
#include "nvfp4/Simulator/Machine/Memory.h"
#include "nvfp4/Simulator/Ptx/Diagnostic.h"

#include <memory>
#include <string>
#include <string_view>

namespace nvfp4::sim {

class System;

/// A loaded PTX module and its decoded kernels.
class Program {
public:
  /// Parses `text` and decodes all kernels in it. Returns null with errors in
  /// `diagnostics`, which name file and line.
  static std::unique_ptr<Program> load(std::string text, std::string fileName,
                                       Diagnostics &diagnostics);

  /// The kernel named `name`, or the only one when `name` is empty; null when
  /// there is none.
  const Kernel *kernel(std::string_view name) const;
  const std::vector<std::unique_ptr<Kernel>> &kernels() const {
    return decoded;
  }
  const Module &module() const { return *parsed; }

  /// Runs a kernel to its end or to its first fatal error. The module's
  /// variables live in `memory` from the first launch there on.
  RunResult launch(const Kernel &kernel, const LaunchConfig &config,
                   DeviceMemory &memory, const RunOptions &options);

  /// Adds a kernel to those of a system of devices.
  void start(System &system, const Kernel &kernel, LaunchConfig config,
             DeviceMemory &memory, const RunOptions &options);

  /// The device address of a module variable, placed on demand; 0 when there
  /// is no such variable.
  uint64_t variableAddress(std::string_view name, DeviceMemory &memory);

  /// Removes the module's variables from `memory`.
  void removeFrom(DeviceMemory &memory);

private:
  struct Image {
    uint64_t globalAddress = 0;
    uint64_t constAddress = 0;
  };
  const Image &imageIn(DeviceMemory &memory);

  std::unique_ptr<Module> parsed;
  std::vector<std::unique_ptr<Kernel>> decoded;
  std::map<DeviceMemory *, Image> images;
};

} // namespace nvfp4::sim

#endif // NVFP4_SIMULATOR_SIMULATOR_H
