//===- Session.cpp - the runs of one nvfp4-sim command ----------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every seed starts from freshly placed memory, so runs do not see each other.
//
//===----------------------------------------------------------------------===//

#include "Session.h"

#include "Arguments.h"

#include "nvfp4/Simulator/Machine/Explorer.h"
#include "nvfp4/Simulator/Machine/System.h"
#include "nvfp4/Simulator/Machine/Timeline.h"
#include "nvfp4/TensorIO/Npy.h"
#include "nvfp4/TensorIO/OutputFile.h"

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <optional>
#include <set>
#include <sstream>

namespace nvfp4::simtool {
namespace {

std::string kernelNames(const sim::Program &program) {
  std::string names;
  for (const auto &kernel : program.kernels())
    names += (names.empty() ? "" : ", ") + sim::readableName(kernel->name);
  return names;
}

int misuse(const std::string &message) {
  std::fprintf(stderr, "nvfp4-sim: error: %s\n", message.c_str());
  return 2;
}

void list(const sim::Program &program) {
  for (const auto &kernel : program.kernels()) {
    std::string name = sim::readableName(kernel->name);
    if (name != kernel->name)
      name += " (" + kernel->name + ")";
    std::printf("%s: %zu instructions, %zu registers in %zu planes\n",
                name.c_str(), kernel->code.size(), kernel->virtualRegisters,
                kernel->allocatedPlanes);
    for (int32_t index : kernel->function->parameters) {
      const sim::Symbol &symbol = program.module().symbols[index];
      std::printf("  %s: %llu bytes at %llu\n", symbol.name.c_str(),
                  static_cast<unsigned long long>(symbol.size),
                  static_cast<unsigned long long>(symbol.offset));
    }
  }
}

void printStatistics(uint64_t seed, const sim::RunStatistics &s) {
  std::printf("seed %llu: %llu warp instructions, %llu thread instructions, "
              "%llu tensor loads (%llu bytes), %llu stores, %llu mma, %llu cp, "
              "%llu commits, %llu ticks, %.3f s\n",
              static_cast<unsigned long long>(seed),
              static_cast<unsigned long long>(s.warpInstructions),
              static_cast<unsigned long long>(s.threadInstructions),
              static_cast<unsigned long long>(s.tmaLoads),
              static_cast<unsigned long long>(s.tmaBytes),
              static_cast<unsigned long long>(s.tmaStores),
              static_cast<unsigned long long>(s.mmas),
              static_cast<unsigned long long>(s.tmemCopies),
              static_cast<unsigned long long>(s.commits),
              static_cast<unsigned long long>(s.ticks), s.seconds);
}

using Results = std::vector<std::vector<uint8_t>>;

/// The contents of all output arrays.
Results collect(const std::vector<DeviceArguments> &devices) {
  Results results;
  for (const DeviceArguments &device : devices)
    for (const Array *array : outputsOf(device.arguments)) {
      std::vector<uint8_t> bytes(array->contents.sizeInBytes());
      device.memory->read(array->address, bytes.data(), bytes.size());
      results.push_back(std::move(bytes));
    }
  return results;
}

std::vector<const Array *>
outputsOf(const std::vector<DeviceArguments> &devices) {
  std::vector<const Array *> all;
  for (const DeviceArguments &device : devices)
    for (const Array *array : outputsOf(device.arguments))
      all.push_back(array);
  return all;
}

/// Parses the arguments of each device.
std::string parse(const Options &options,
                  std::vector<DeviceArguments> &devices) {
  std::set<std::string> files;
  for (unsigned rank = 0; rank < options.devices; ++rank) {
    DeviceArguments &device = devices.emplace_back();
    if (std::string error = parseArguments(options.arguments, rank,
                                           options.devices, device.arguments);
        !error.empty())
      return error;
    for (const Array *array : outputsOf(device.arguments))
      if (!files.insert(array->outputFile).second && rank > 0)
        return "expected {rank} in the name of an output that each device "
               "writes, but got '" +
               array->outputFile + "'";
  }
  return {};
}

/// The memories of the devices; each reaches all others.
std::vector<std::unique_ptr<sim::DeviceMemory>> makeMemories(unsigned count) {
  std::vector<std::unique_ptr<sim::DeviceMemory>> memories;
  for (unsigned rank = 0; rank < count; ++rank)
    memories.push_back(std::make_unique<sim::DeviceMemory>(rank));
  for (auto &memory : memories)
    for (auto &peer : memories)
      if (memory != peer)
        memory->enablePeer(*peer);
  return memories;
}

/// Runs the kernel on all devices; one result each.
std::vector<sim::RunResult> run(sim::Program &program,
                                const sim::Kernel &kernel,
                                const Options &options,
                                std::vector<DeviceArguments> &devices) {
  sim::LaunchConfig launch = options.launch;
  if (devices.size() == 1) {
    launch.parameters = devices[0].parameters;
    std::vector<sim::RunResult> results;
    results.push_back(
        program.launch(kernel, launch, *devices[0].memory, options.run));
    return results;
  }
  sim::System system(options.run);
  for (DeviceArguments &device : devices) {
    launch.parameters = device.parameters;
    program.start(system, kernel, launch, *device.memory, options.run);
  }
  system.run();
  return system.takeResults();
}

std::string save(const std::vector<DeviceArguments> &devices,
                 const Results &results) {
  size_t next = 0;
  for (const Array *array : outputsOf(devices)) {
    const tensorio::Tensor &like = array->contents;
    auto tensor = tensorio::Tensor::copyOf(
        like.dtype(), {like.shape().begin(), like.shape().end()},
        std::as_bytes(std::span(results[next++])));
    if (!tensor)
      return tensor.message();
    if (auto status = tensorio::writeNpy(array->outputFile, *tensor); !status)
      return status.message();
  }
  return {};
}

/// Puts `text` in place of what is there.
tensorio::Status write(const std::string &path, const std::string &text) {
  auto file = tensorio::OutputFile::create(path);
  if (!file)
    return file.takeError();
  if (tensorio::Status status = file->write(text); !status)
    return status;
  return file->commit();
}

constexpr size_t kLargestText = size_t(256) << 20;

} // namespace

int runSession(Options &options) {
  std::error_code ignored;
  if (std::filesystem::is_directory(options.ptxFile, ignored))
    return misuse("expected a PTX file, but '" + options.ptxFile +
                  "' is a folder");
  std::ifstream file(options.ptxFile, std::ios::binary);
  if (!file)
    return misuse("cannot read '" + options.ptxFile + "'");
  // A device may have no end.
  std::string text, chunk(1 << 20, '\0');
  while (file) {
    file.read(chunk.data(), static_cast<std::streamsize>(chunk.size()));
    text.append(chunk, 0, static_cast<size_t>(file.gcount()));
    if (text.size() > kLargestText)
      return misuse("expected at most 256 MiB of PTX, but '" + options.ptxFile +
                    "' has more");
  }
  size_t slash = options.ptxFile.rfind('/');
  std::string name = slash == std::string::npos
                         ? options.ptxFile
                         : options.ptxFile.substr(slash + 1);
  sim::Diagnostics diagnostics(options.ptxFile);
  auto program = sim::Program::load(text, name, diagnostics);
  if (!program) {
    std::fputs(diagnostics.str().c_str(), stderr);
    return 1;
  }
  if (program->kernels().empty()) {
    std::fprintf(stderr,
                 "%s: error: expected PTX with a kernel (.entry), but there is "
                 "none\n",
                 options.ptxFile.c_str());
    return 1;
  }
  if (options.list) {
    list(*program);
    return 0;
  }
  const sim::Kernel *kernel = program->kernel(options.kernel);
  if (!kernel)
    return misuse(
        "expected --kernel of " + kernelNames(*program) + ", but got " +
        (options.kernel.empty() ? "none" : "'" + options.kernel + "'"));
  if (!options.blockGiven && kernel->function->requiredThreads[0])
    options.launch.block = kernel->function->requiredThreads;
  if (kernel->function->requiredCluster[0])
    options.launch.cluster = kernel->function->requiredCluster;
  std::vector<DeviceArguments> devices;
  if (std::string error = parse(options, devices); !error.empty())
    return misuse(error);
  std::ofstream trace;
  if (!options.traceFile.empty()) {
    trace.open(options.traceFile);
    if (!trace)
      return misuse("cannot write '" + options.traceFile + "'");
    options.run.trace = &trace;
  }

  sim::Timeline timeline;
  if (!options.timelineFile.empty())
    options.run.timeline = &timeline;

  Results first;
  int status = 0;
  uint64_t ignoredFindings = 0;
  uint64_t firstSeed = options.run.seed;
  std::optional<sim::Explorer> explorer;
  if (options.schedules) {
    explorer.emplace(options.schedules);
    options.run.explorer = &*explorer;
    options.run.check = true;
  }
  auto nameOf = [&](unsigned number) {
    return explorer ? "schedule " + std::to_string(number + 1)
                    : "seed " + std::to_string(firstSeed + number);
  };
  for (unsigned i = 0; explorer ? explorer->nextRun() : i < options.seeds;
       ++i) {
    auto memories = makeMemories(options.devices);
    for (unsigned rank = 0; rank < options.devices; ++rank)
      devices[rank].memory = memories[rank].get();
    if (std::string error = placeArguments(devices, *kernel); !error.empty())
      return misuse(error);
    options.run.seed = firstSeed + (explorer ? 0 : i);
    std::vector<sim::RunResult> runs = run(*program, *kernel, options, devices);
    if (explorer && explorer->isRedundant())
      continue;
    if (options.run.timeline) {
      std::ostringstream picture;
      timeline.write(picture);
      if (auto written = write(options.timelineFile, picture.str()); !written)
        return misuse(written.message());
      options.run.timeline = nullptr;
    }
    if (options.run.trace && !trace.flush())
      return misuse("cannot write '" + options.traceFile + "'");
    std::string reports;
    bool completed = true;
    for (const sim::RunResult &result : runs) {
      if (options.statistics)
        printStatistics(options.run.seed, result.statistics);
      ignoredFindings += result.ignoredFindings;
      reports += result.reports.str(*kernel);
      completed &= result.completed;
    }
    if (!reports.empty() || !completed) {
      std::printf("%s:\n%s", nameOf(i).c_str(), reports.c_str());
      status = 1;
    }
    // What a fault has ended has no results.
    if (!completed && i == 0)
      return status;
    if (!completed)
      break;
    if (options.run.delays == sim::DelayMode::Cycles)
      for (const sim::RunResult &result : runs)
        std::printf("%s\n",
                    sim::describeCycles(*kernel, result.statistics).c_str());
    Results results = collect(devices);
    if (i == 0) {
      first = std::move(results);
    } else if (!options.allowDifferences && results != first) {
      std::printf("%s: results differ from those of %s\n", nameOf(i).c_str(),
                  nameOf(0).c_str());
      status = 1;
    }
    if (status)
      break;
  }
  if (std::string error = save(devices, first); !error.empty())
    return misuse(error);
  if (explorer && explorer->hasDiverged()) {
    std::printf("the program does not do the same after the same choices: "
                "nothing is known of its other schedules\n");
    return 1;
  }
  if (status)
    return status;
  std::string ran =
      std::to_string(options.seeds) + (options.seeds == 1 ? " run" : " runs");
  if (explorer)
    ran = explorer->isComplete()
              ? "all " + std::to_string(explorer->runs()) + " schedules"
              : "the first " + std::to_string(explorer->runs()) + " schedules";
  if (ignoredFindings)
    std::printf("%s: %s, no findings but %llu ignored\n",
                sim::readableName(kernel->name).c_str(), ran.c_str(),
                static_cast<unsigned long long>(ignoredFindings));
  else
    std::printf("%s: %s, no findings\n",
                sim::readableName(kernel->name).c_str(), ran.c_str());
  return 0;
}

} // namespace nvfp4::simtool
