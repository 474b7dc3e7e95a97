//===- Launch.cpp - launches of the stand-in driver -------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A launch runs to its end, or becomes work of a graph. A fault is reported
// like on hardware: the launch itself succeeds, and every later call returns
// the error.
//
//===----------------------------------------------------------------------===//

#include "State.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <utility>

using namespace nvfp4;
using namespace nvfp4::simcuda;
using cuda::Result;
using cuda::Stream;
using FunctionHandle = cuda::Function;

/// The error that hardware gives for what ended a run.
static Result resultOf(sim::ReportKind kind) {
  switch (kind) {
  case sim::ReportKind::OutOfBounds:
    return cuda::IllegalAddress;
  case sim::ReportKind::Misaligned:
    return cuda::MisalignedAddress;
  case sim::ReportKind::Deadlock:
  case sim::ReportKind::Livelock:
  case sim::ReportKind::InstructionLimit:
    return cuda::LaunchTimeout;
  case sim::ReportKind::IllegalOperand:
  case sim::ReportKind::IllegalDescriptor:
    return cuda::IllegalInstruction;
  default:
    return cuda::LaunchFailed;
  }
}

/// Lays out the parameters as the kernel declares them.
static Result packParameters(State &s, const SimFunction &function,
                             void **parameters, void **extra,
                             std::vector<uint8_t> &bytes) {
  const sim::Function &parsed = *function.kernel->function;
  bytes.assign(parsed.parameterBytes, 0);
  if (extra) {
    const uint8_t *buffer = nullptr;
    size_t size = 0;
    for (void **item = extra; *item; item += 2) {
      if (reinterpret_cast<uintptr_t>(*item) == 1)
        buffer = static_cast<const uint8_t *>(item[1]);
      else if (reinterpret_cast<uintptr_t>(*item) == 2)
        size = *static_cast<size_t *>(item[1]);
    }
    if (!buffer || size < bytes.size())
      return s.fail(cuda::InvalidValue, "expected a buffer of " +
                                            std::to_string(bytes.size()) +
                                            " bytes of parameters, but got " +
                                            std::to_string(size));
    std::copy_n(buffer, bytes.size(), bytes.begin());
    return cuda::Success;
  }
  if (!parameters && !parsed.parameters.empty())
    return s.fail(cuda::InvalidValue,
                  "expected " + std::to_string(parsed.parameters.size()) +
                      " parameters, but got none");
  for (size_t i = 0; i < parsed.parameters.size(); ++i) {
    const sim::Symbol &symbol =
        function.kernel->module->symbols[parsed.parameters[i]];
    if (!parameters[i])
      return s.fail(cuda::InvalidValue,
                    "parameter " + std::to_string(i) + " is null");
    std::memcpy(&bytes[symbol.offset], parameters[i], symbol.size);
  }
  return cuda::Success;
}

/// For `nvfp4-sim exec`.
static void printFindings(State &s, const std::string &text) {
  if (s.printErrors)
    std::fputs(text.c_str(), stderr);
  s.mark('f');
}

/// Writes what the options ask for behind a launch.
static void writeFiles(State &s) {
  bool isWritten = !s.trace || s.trace->flush();
  if (s.timeline) {
    std::ofstream picture(s.timelineFile);
    s.timeline->write(picture);
    isWritten &= bool(picture.flush());
  }
  if (isWritten)
    return;
  std::fprintf(stderr, "nvfp4-sim: error: cannot write the %s\n",
               s.timeline ? "timeline or the trace" : "trace");
  s.mark('w');
}

/// Checks limits that hardware checks when the launch is made.
static Result checkLaunch(State &s, const SimFunction &function,
                          const sim::LaunchConfig &config) {
  if (config.dynamicShared > function.maximumDynamicShared)
    return s.fail(cuda::InvalidValue,
                  "expected at most " +
                      std::to_string(function.maximumDynamicShared) +
                      " bytes of dynamic shared memory, but got " +
                      std::to_string(config.dynamicShared) +
                      " (the attribute MaxDynamicSharedMemorySize allows "
                      "more)");
  uint64_t cluster = 1;
  for (unsigned i = 0; i < 3; ++i) {
    cluster *= config.cluster[i];
    if (config.cluster[i] == 0 || config.grid[i] % config.cluster[i])
      return s.fail(cuda::InvalidClusterSize,
                    "expected a grid that is a multiple of the cluster, but "
                    "got " +
                        std::to_string(config.grid[i]) + " and " +
                        std::to_string(config.cluster[i]));
  }
  uint64_t most = function.nonPortableCluster ? 16 : 8;
  if (cluster > most)
    return s.fail(cuda::InvalidClusterSize,
                  "expected at most " + std::to_string(most) +
                      " CTAs in a cluster, but got " + std::to_string(cluster));
  return cuda::Success;
}

/// Blocks that a multiprocessor holds at once, as far as their threads and
/// shared memory say; the simulator knows no registers.
static uint64_t getBlocksPerMultiprocessor(const SimFunction &function,
                                           uint64_t threads,
                                           uint64_t dynamicShared) {
  uint64_t shared =
      function.kernel->function->sharedBytes + dynamicShared + 1024;
  return std::min({uint64_t{32}, 2048 / std::max<uint64_t>(1, threads),
                   228 * 1024 / shared});
}

/// All blocks of a cooperative launch are resident at the same time, which
/// `options` are made to say; %nsmid, which need not be the number of SMs, may
/// be larger then.
static Result allowCooperative(State &s, const SimFunction &function,
                               const sim::LaunchConfig &config,
                               sim::RunOptions &options) {
  uint64_t blocks = 1, threads = 1, cluster = 1;
  for (unsigned i = 0; i < 3; ++i) {
    blocks *= config.grid[i];
    threads *= config.block[i];
    cluster *= config.cluster[i];
  }
  uint64_t each =
      getBlocksPerMultiprocessor(function, threads, config.dynamicShared);
  uint64_t places = each * s.options.residentCtas / cluster * cluster;
  // The launch itself refuses blocks that fit nowhere.
  if (each == 0 || blocks <= places) {
    options.residentCtas =
        static_cast<unsigned>(std::max<uint64_t>(options.residentCtas, blocks));
    return cuda::Success;
  }
  return s.fail(cuda::CooperativeLaunchTooLarge,
                "expected at most " + std::to_string(places) +
                    " blocks in a cooperative launch, " + std::to_string(each) +
                    " on each of " + std::to_string(s.options.residentCtas) +
                    " multiprocessors, but got " + std::to_string(blocks));
}

void simcuda::concludeLaunch(State &s, const SimTogether::Started &started,
                             const sim::RunResult &run) {
  const sim::Kernel &kernel = *started.launch.function->kernel;
  SimDevice &device = *started.device;
  if (s.together)
    writeFiles(s);
  bool isIllegal = !run.reports.empty() && run.reports.all().back().kind ==
                                               sim::ReportKind::IllegalLaunch;
  if (!isIllegal && !std::exchange(s.hasRunKernel, true))
    s.mark('k');
  if (s.printStatistics)
    std::fprintf(
        stderr,
        "nvfp4-sim: launch %llu of %s: %llu warp instructions, %llu "
        "mma, %llu tensor loads, %.3f s\n",
        static_cast<unsigned long long>(s.launches),
        sim::readableName(kernel.name).c_str(),
        static_cast<unsigned long long>(run.statistics.warpInstructions),
        static_cast<unsigned long long>(run.statistics.mmas),
        static_cast<unsigned long long>(run.statistics.tmaLoads),
        run.statistics.seconds);
  if (started.options.delays == sim::DelayMode::Cycles && !isIllegal)
    std::fprintf(stderr, "nvfp4-sim: %s\n",
                 sim::describeCycles(kernel, run.statistics).c_str());
  if (run.reports.empty())
    return;
  std::string text = "kernel " + sim::readableName(kernel.name) + ", seed " +
                     std::to_string(started.options.seed) + ":\n" +
                     run.reports.str(kernel);
  if (run.completed) {
    printFindings(s, text);
    device.findings[started.stream] += text;
    return;
  }
  sim::ReportKind kind = run.reports.all().back().kind;
  printFindings(s, text);
  device.stickyMessage = std::move(text);
  device.sticky = resultOf(kind);
}

/// Runs `launch` to its end in `stream`, or starts it where launches of several
/// devices run together.
static Result run(State &s, const SimLaunch &launch, Stream stream) {
  if (!s.functions.count(launch.function))
    return s.fail(cuda::InvalidHandle,
                  "the module of a kernel of the graph is unloaded");
  SimDevice &device = *launch.function->module->device;
  const sim::Kernel &kernel = *launch.function->kernel;
  sim::Program &program = *launch.function->module->program;
  SimTogether::Started started{launch, stream, &device, s.options};
  sim::RunOptions &options = started.options;
  if (Result error =
          launch.isCooperative
              ? allowCooperative(s, *launch.function, launch.config, options)
              : cuda::Success)
    return error;
  // Launches of one program differ in their delays.
  options.seed += s.launches++;
  if (s.together) {
    program.start(s.together->system, kernel, launch.config, device.memory,
                  options);
    s.together->started.push_back(std::move(started));
    device.isBusy = true;
    return cuda::Success;
  }
  sim::RunResult run =
      program.launch(kernel, launch.config, device.memory, options);
  s.cycles += run.statistics.ticks;
  writeFiles(s);
  if (!run.reports.empty() &&
      run.reports.all().back().kind == sim::ReportKind::IllegalLaunch)
    return s.fail(cuda::InvalidValue, run.reports.all().back().message);
  concludeLaunch(s, started, run);
  return cuda::Success;
}

NVFP4_SIM_API Result cuLaunchKernelEx(const cuda::LaunchConfig *launch,
                                      FunctionHandle handle, void **parameters,
                                      void **extra) try {
  Entry s;
  if (s.error)
    return s.error;
  SimFunction *function = s->find(handle);
  if (!function || !launch)
    return s->fail(cuda::InvalidHandle, "expected a function");
  if (!s->isStream(launch->stream))
    return s->fail(cuda::InvalidHandle, "expected a stream");
  if (&s->deviceOf(launch->stream) != function->module->device)
    return s->fail(cuda::InvalidHandle,
                   "expected a function and a stream of one context");
  const sim::Kernel &kernel = *function->kernel;
  SimLaunch made{function, {}};
  sim::LaunchConfig &config = made.config;
  std::copy_n(launch->grid, 3, config.grid.begin());
  std::copy_n(launch->block, 3, config.block.begin());
  config.dynamicShared = launch->sharedBytes;
  if (kernel.function->requiredCluster[0])
    config.cluster = kernel.function->requiredCluster;
  for (uint32_t i = 0; i < launch->numAttributes; ++i) {
    const cuda::LaunchAttribute &attribute = launch->attributes[i];
    if (attribute.id == cuda::AttributeClusterDimension)
      std::copy_n(attribute.value.cluster, 3, config.cluster.begin());
    if (attribute.id == cuda::AttributeCooperative)
      made.isCooperative = attribute.value.flag != 0;
    if (attribute.id == cuda::AttributeProgrammaticStreamSerialization)
      config.programmatic = attribute.value.flag != 0;
  }
  if (Result error = checkLaunch(*s, *function, config))
    return error;
  // A graph is told now, too, not when it is launched.
  if (sim::RunOptions ignored = s->options; made.isCooperative)
    if (Result error = allowCooperative(*s, *function, config, ignored))
      return error;
  if (Result error =
          packParameters(*s, *function, parameters, extra, config.parameters))
    return error;
  return s->enqueue(launch->stream, [made](State &s, Stream stream) {
    return run(s, made, stream);
  });
} catch (...) {
  return caught();
}

NVFP4_SIM_API Result cuLaunchKernel(FunctionHandle function, unsigned gridX,
                                    unsigned gridY, unsigned gridZ,
                                    unsigned blockX, unsigned blockY,
                                    unsigned blockZ, unsigned sharedBytes,
                                    Stream stream, void **parameters,
                                    void **extra) {
  cuda::LaunchConfig config = {{gridX, gridY, gridZ},
                               {blockX, blockY, blockZ},
                               sharedBytes,
                               stream,
                               nullptr,
                               0};
  return cuLaunchKernelEx(&config, function, parameters, extra);
}
NVFP4_SIM_API Result cuLaunchCooperativeKernel(
    FunctionHandle function, unsigned gridX, unsigned gridY, unsigned gridZ,
    unsigned blockX, unsigned blockY, unsigned blockZ, unsigned sharedBytes,
    Stream stream, void **parameters) {
  cuda::LaunchAttribute cooperative = {};
  cooperative.id = cuda::AttributeCooperative;
  cooperative.value.flag = 1;
  cuda::LaunchConfig config = {{gridX, gridY, gridZ}, {blockX, blockY, blockZ},
                               sharedBytes,           stream,
                               &cooperative,          1};
  return cuLaunchKernelEx(&config, function, parameters, nullptr);
}

//===- Occupancy
//-----------------------------------------------------------===//

NVFP4_SIM_API Result cuOccupancyMaxActiveBlocksPerMultiprocessor(
    int *blocks, FunctionHandle handle, int blockSize,
    size_t dynamicShared) try {
  Entry s;
  if (s.error)
    return s.error;
  SimFunction *function = s->find(handle);
  if (!function || !blocks || blockSize < 1 || blockSize > 1024)
    return s->fail(cuda::InvalidValue,
                   "expected a function and 1 to 1024 threads, but got " +
                       std::to_string(blockSize));
  *blocks = static_cast<int>(getBlocksPerMultiprocessor(
      *function, static_cast<uint64_t>(blockSize), dynamicShared));
  return cuda::Success;
} catch (...) {
  return caught();
}
NVFP4_SIM_API Result cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
    int *blocks, FunctionHandle function, int blockSize, size_t dynamicShared,
    unsigned) {
  return cuOccupancyMaxActiveBlocksPerMultiprocessor(blocks, function,
                                                     blockSize, dynamicShared);
}
NVFP4_SIM_API Result
cuOccupancyMaxActiveClusters(int *clusters, FunctionHandle handle,
                             const cuda::LaunchConfig *config) try {
  Entry s;
  if (s.error)
    return s.error;
  SimFunction *function = s->find(handle);
  if (!function || !clusters || !config)
    return s->fail(cuda::InvalidValue, "expected a function");
  uint64_t size = 1, threads = 1;
  for (unsigned i = 0; i < 3; ++i)
    threads *= config->block[i];
  for (uint32_t i = 0; i < config->numAttributes; ++i) {
    const cuda::LaunchAttribute &attribute = config->attributes[i];
    if (attribute.id == cuda::AttributeClusterDimension)
      size = uint64_t{attribute.value.cluster[0]} * attribute.value.cluster[1] *
             attribute.value.cluster[2];
  }
  uint64_t places =
      getBlocksPerMultiprocessor(*function, threads, config->sharedBytes) *
      s->options.residentCtas;
  *clusters = static_cast<int>(places / std::max<uint64_t>(1, size));
  return cuda::Success;
} catch (...) {
  return caught();
}
NVFP4_SIM_API Result cuOccupancyMaxPotentialClusterSize(
    int *size, FunctionHandle handle, const cuda::LaunchConfig *) try {
  Entry s;
  SimFunction *function = s->find(handle);
  if (!function || !size)
    return s->fail(cuda::InvalidValue, "expected a function");
  *size = function->nonPortableCluster ? 16 : 8;
  return cuda::Success;
} catch (...) {
  return caught();
}
