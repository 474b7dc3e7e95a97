//===- Simulator.cpp - load PTX, launch kernels -----------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Ties the front end, the decoder and the machine together, and places the
// module's variables in device memory.
//
//===----------------------------------------------------------------------===//

#include "nvfp4/Simulator/Simulator.h"

#include "nvfp4/Simulator/Check/Checker.h"
#include "nvfp4/Simulator/Decode/Decoder.h"
#include "nvfp4/Simulator/Machine/Machine.h"
#include "nvfp4/Simulator/Machine/System.h"
#include "nvfp4/Simulator/Ptx/Parser.h"

#include <cstring>

namespace nvfp4::sim {

std::unique_ptr<Program> Program::load(std::string text, std::string fileName,
                                       Diagnostics &diagnostics) {
  auto program = std::make_unique<Program>();
  program->parsed =
      parseModule(std::move(text), std::move(fileName), diagnostics);
  if (!program->parsed)
    return nullptr;
  for (const Function &function : program->parsed->functions) {
    if (!function.isEntry)
      continue;
    auto kernel = decodeKernel(*program->parsed, function, diagnostics);
    if (kernel)
      program->decoded.push_back(std::move(kernel));
  }
  if (diagnostics.hasErrors())
    return nullptr;
  return program;
}

const Kernel *Program::kernel(std::string_view name) const {
  if (name.empty())
    return decoded.size() == 1 ? decoded.front().get() : nullptr;
  for (const auto &kernel : decoded)
    if (kernel->name == name)
      return kernel.get();
  return nullptr;
}

const Program::Image &Program::imageIn(DeviceMemory &memory) {
  auto [entry, inserted] = images.try_emplace(&memory);
  Image &image = entry->second;
  if (!inserted)
    return image;
  const Module &module = *parsed;
  if (module.globalBytes)
    image.globalAddress = memory.allocate(module.globalBytes, "module globals");
  if (module.constBytes)
    image.constAddress = memory.allocate(module.constBytes, "module constants");
  auto addressOf = [&](const Symbol &symbol) {
    return symbol.offset + (symbol.space == StateSpace::Const
                                ? image.constAddress
                                : image.globalAddress);
  };
  for (const Symbol &symbol : module.symbols) {
    if (symbol.space != StateSpace::Global && symbol.space != StateSpace::Const)
      continue;
    // Variables without an initialiser start as zeros.
    std::vector<uint8_t> bytes = symbol.initial;
    bytes.resize(symbol.size, 0);
    for (const Relocation &relocation : symbol.relocations) {
      const Symbol &target = module.symbols[relocation.symbol];
      uint64_t value = addressOf(target) + relocation.addend;
      if (relocation.offset + relocation.bytes <= bytes.size())
        std::memcpy(&bytes[relocation.offset], &value, relocation.bytes);
    }
    if (!bytes.empty())
      memory.write(addressOf(symbol), bytes.data(), bytes.size());
  }
  return image;
}

uint64_t Program::variableAddress(std::string_view name, DeviceMemory &memory) {
  for (const Symbol &symbol : parsed->symbols) {
    if (symbol.name != name)
      continue;
    const Image &image = imageIn(memory);
    if (symbol.space == StateSpace::Global)
      return image.globalAddress + symbol.offset;
    if (symbol.space == StateSpace::Const)
      return image.constAddress + symbol.offset;
  }
  return 0;
}

void Program::removeFrom(DeviceMemory &memory) {
  auto found = images.find(&memory);
  if (found == images.end())
    return;
  memory.free(found->second.globalAddress);
  memory.free(found->second.constAddress);
  images.erase(found);
}

RunResult Program::launch(const Kernel &kernel, const LaunchConfig &config,
                          DeviceMemory &memory, const RunOptions &options) {
  // Delays of its accesses to peers are a system's.
  if (memory.hasPeers()) {
    System system(options);
    start(system, kernel, config, memory, options);
    system.run();
    return std::move(system.takeResults().front());
  }
  const Image &image = imageIn(memory);
  Machine machine(kernel, config, memory,
                  {image.globalAddress, image.constAddress}, options);
  return machine.run();
}

void Program::start(System &system, const Kernel &kernel, LaunchConfig config,
                    DeviceMemory &memory, const RunOptions &options) {
  const Image &image = imageIn(memory);
  system.start(kernel, std::move(config), memory,
               {image.globalAddress, image.constAddress}, options);
}

} // namespace nvfp4::sim
