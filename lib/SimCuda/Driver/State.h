//===- State.h - what the stand-in driver holds -----------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One process has one device: its memory, loaded modules and options. Every
// entry point locks the state, since the simulator runs one launch at a time;
// host threads take turns. The text of the last error is the thread's, reports
// are the stream's.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_LIB_SIMCUDA_DRIVER_STATE_H
#define NVFP4_LIB_SIMCUDA_DRIVER_STATE_H

#include "Api.h"

#include "nvfp4/Simulator/Async/TensorMap.h"
#include "nvfp4/Simulator/Machine/Timeline.h"
#include "nvfp4/Simulator/Simulator.h"

#include <fstream>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace nvfp4::simcuda {

struct SimModule;

/// Bytes of device memory that programs may allocate.
constexpr uint64_t memoryLimit = uint64_t{8} << 30;

/// A kernel with what has been set on it.
struct SimFunction {
  SimModule *module = nullptr;
  const sim::Kernel *kernel = nullptr;
  /// Dynamic shared memory that launches may ask for.
  uint32_t maximumDynamicShared = 48 * 1024;
  bool nonPortableCluster = false;
};

/// A loaded module.
struct SimModule {
  std::unique_ptr<sim::Program> program;
  std::map<std::string, std::unique_ptr<SimFunction>> functions;
};

/// A stream: work on it is complete when the call that adds it returns.
struct SimStream {
  unsigned flags = 0;
};

/// An event: when it was recorded, in seconds.
struct SimEvent {
  unsigned flags = 0;
  bool recorded = false;
  cuda::Stream stream = nullptr;
  double time = 0;
};

struct State {
  std::mutex mutex;
  bool initialized = false;
  unsigned contextUsers = 0;
  sim::DeviceMemory memory;
  sim::RunOptions options;
  /// Compute capability that is told, 100 or 90. Only if --arch gave it, PTX
  /// for the other is refused.
  unsigned architecture = 100;
  bool architectureGiven = false;
  uint64_t memoryUsed = 0;
  uint64_t launches = 0;
  /// Of all launches, in the model of cycles.
  uint64_t cycles = 0;
  /// An error that ends the life of the context.
  cuda::Result sticky = cuda::Success;
  std::string stickyMessage;
  /// Reports of complete launches that nobody has asked for yet.
  std::map<cuda::Stream, std::string> findings;
  /// Set by `nvfp4-sim exec`: print errors and reports as they arise.
  bool printErrors = false;
  bool printStatistics = false;
  bool warnedOfTables = false;
  /// Where `nvfp4-sim exec` looks for marks.
  std::string findingsFile;
  bool hasRunKernel = false;
  std::unique_ptr<std::ofstream> trace;
  /// The picture is written again after each launch.
  std::unique_ptr<sim::Timeline> timeline;
  std::string timelineFile;
  /// Folder that loaded PTX is written to, so that reports can be looked up.
  std::string savePtx;
  unsigned modulesLoaded = 0;
  std::string optionsError;

  std::map<SimModule *, std::unique_ptr<SimModule>> modules;
  std::map<SimFunction *, SimModule *> functions;
  std::map<SimStream *, std::unique_ptr<SimStream>> streams;
  std::map<SimEvent *, std::unique_ptr<SimEvent>> events;
  /// Memory of the host that the driver allocated, by address.
  std::map<void *, uint64_t> hostAllocations;
  /// Memory of the device, by address.
  std::map<uint64_t, uint64_t> deviceAllocations;

  /// Leaves a mark for `nvfp4-sim exec`: `k` a kernel has run, `f` there are
  /// findings, `w` a file could not be written.
  void mark(char what) const;
  /// Stores why this thread's call fails, and returns `result`.
  cuda::Result fail(cuda::Result result, std::string text);
  SimModule *find(cuda::Module module);
  SimFunction *find(cuda::Function function);
  bool isStream(cuda::Stream stream) const;
  SimEvent *find(cuda::Event event);
};

/// The state of this process, with the options of NVFP4_SIM_OPTIONS.
State &state();

/// Why the last call of this thread that failed did so.
std::string &lastMessage();

/// Within a handler: what an entry point returns, for exceptions must not reach
/// callers that are written in C.
cuda::Result caught() noexcept;

/// Locks the state for the length of an entry point. Converts to the error
/// that the entry point must return at once: not initialised, or sticky.
class Entry {
public:
  explicit Entry(bool needsContext = true);
  State *operator->() const { return &s; }
  State &operator*() const { return s; }
  cuda::Result error = cuda::Success;

private:
  State &s;
  std::unique_lock<std::mutex> lock;
};

/// Kilohertz that the device tells.
constexpr int clockRate = 1'000'000;
/// Seconds of a steady clock, or in the model of cycles of all launches.
double secondsNow(const State &state);

/// Loads PTX text, a fat binary or its wrapper. `size` is 0 when unknown.
cuda::Result loadImage(State &s, const void *image, SimModule *&module);

/// Loads PTX text.
cuda::Result loadPtx(State &s, std::string text, SimModule *&module);

/// Creates or finds the function object of a kernel.
cuda::Result functionOf(State &s, SimModule &module, const char *name,
                        SimFunction *&function);

} // namespace nvfp4::simcuda

#endif // NVFP4_LIB_SIMCUDA_DRIVER_STATE_H
