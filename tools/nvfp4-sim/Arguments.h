//===- Arguments.h - kernel arguments of nvfp4-sim --------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Turns the items of --args into device memory, tensor maps and a parameter
// buffer, and writes results back to files.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_TOOLS_NVFP4_SIM_ARGUMENTS_H
#define NVFP4_TOOLS_NVFP4_SIM_ARGUMENTS_H

#include "nvfp4/Simulator/Async/TensorMap.h"
#include "nvfp4/Simulator/Simulator.h"
#include "nvfp4/TensorIO/Tensor.h"

#include <optional>

namespace nvfp4::simtool {

/// One array in device memory.
struct Array {
  tensorio::Tensor contents;
  /// The contents are uploaded; otherwise the memory starts uninitialised.
  bool upload = true;
  /// Where to write the result; empty for inputs.
  std::string outputFile;
  uint64_t address = 0;
};

/// One kernel argument, or a member of one.
struct Argument {
  enum class Kind {
    Scalar,
    Bytes,
    Pointer,
    Map,
    Struct,
    Peers
  } kind = Kind::Scalar;
  /// Of a scalar, or as they are given.
  std::vector<uint8_t> bytes;
  std::optional<Array> array;
  sim::TensorMapSpec map;
  /// Of a structure.
  std::vector<Argument> members;
  /// The addresses of the arrays on all devices; null behind them.
  std::vector<uint64_t> peers;
};

/// Parses all items of `text`, where {rank} stands for the number of the device
/// and {devices} for that of devices. Returns an error message, or an empty
/// string.
std::string parseArguments(std::string text, unsigned rank, unsigned devices,
                           std::vector<Argument> &arguments);

/// The arrays of all arguments that are written to files.
std::vector<const Array *> outputsOf(const std::vector<Argument> &arguments);

/// The memory and arguments that a device gets.
struct DeviceArguments {
  std::vector<Argument> arguments;
  sim::DeviceMemory *memory = nullptr;
  /// The parameter buffer.
  std::vector<uint8_t> parameters;
};

/// Places the arrays in the memory of each device and fills the parameters as
/// `kernel` declares them. Returns an error message, or an empty string.
std::string placeArguments(std::vector<DeviceArguments> &devices,
                           const sim::Kernel &kernel);

} // namespace nvfp4::simtool

#endif // NVFP4_TOOLS_NVFP4_SIM_ARGUMENTS_H
