//===- State.h - what the stand-in driver holds -----------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The devices of a process, what programs have made on them, and options. Every
// entry point locks the state, since the simulator runs one launch at a time;
// host threads take turns. The text of the last error and the current context
// are the thread's, reports are the stream's.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_LIB_SIMCUDA_DRIVER_STATE_H
#define NVFP4_LIB_SIMCUDA_DRIVER_STATE_H

#include "Api.h"

#include "nvfp4/Simulator/Async/TensorMap.h"
#include "nvfp4/Simulator/Machine/System.h"
#include "nvfp4/Simulator/Machine/Timeline.h"
#include "nvfp4/Simulator/Simulator.h"

#include <deque>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace nvfp4::simcuda {

struct SimModule;
struct State;

/// Bytes of device memory that programs may allocate.
constexpr uint64_t memoryLimit = uint64_t{8} << 30;

/// Work of a stream, done while the state is locked. The stream is the one that
/// it is done in, of a graph the one in which that is launched.
using SimWork = std::function<cuda::Result(State &, cuda::Stream)>;

/// Work that is done when a call waits for it, on devices that run together.
struct SimPending {
  cuda::Stream stream = nullptr;
  SimWork work;
  /// An event that has to be recorded before; may be null.
  std::shared_ptr<const bool> after;
};

/// A device with its primary context, the only one that it has.
struct SimDevice {
  explicit SimDevice(unsigned ordinal) : ordinal(ordinal), memory(ordinal) {}

  unsigned ordinal;
  sim::DeviceMemory memory;
  uint64_t memoryUsed = 0;
  /// Bytes of memory that programs have allocated, by address.
  std::map<uint64_t, uint64_t> allocations;
  /// How often the context is retained.
  unsigned users = 0;
  /// An error that ends the life of the context.
  cuda::Result sticky = cuda::Success;
  std::string stickyMessage;
  /// Reports of complete launches that nobody has asked for yet.
  std::map<cuda::Stream, std::string> findings;
  /// In the order of the calls, of all streams. While it runs a launch that is
  /// taken from here, `isBusy`.
  std::deque<SimPending> pending;
  bool isBusy = false;
};

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
  SimDevice *device = nullptr;
  std::unique_ptr<sim::Program> program;
  std::map<std::string, std::unique_ptr<SimFunction>> functions;
};

/// A launch whose limits have been checked, with the values of its parameters.
struct SimLaunch {
  SimFunction *function = nullptr;
  sim::LaunchConfig config;
  bool isCooperative = false;
};

/// Launches of several devices at the same time, while they run.
struct SimTogether {
  explicit SimTogether(const sim::RunOptions &options) : system(options) {}
  struct Started {
    SimLaunch launch;
    cuda::Stream stream;
    SimDevice *device;
    sim::RunOptions options;
  };
  sim::System system;
  std::vector<Started> started;
};

/// Work that streams put in a graph instead of doing it.
struct SimCapture {
  struct SimStream *origin = nullptr;
  int32_t mode = cuda::CaptureGlobal;
  std::thread::id thread;
  bool isInvalid = false, hasEnded = false;
  /// In the order in which it was added, which every dependence agrees with.
  std::vector<SimWork> work;
};

/// How many pieces of work of each stream of a capture are known to be done
/// before what follows.
using SimProgress = std::map<struct SimStream *, size_t>;

/// A stream: work on it is complete when the call that adds it returns, unless
/// it is captured.
struct SimStream {
  SimDevice *device = nullptr;
  unsigned flags = 0;
  std::shared_ptr<SimCapture> capture;
  /// Progress of the capture; the stream's own entry is its last work.
  SimProgress progress;
};

/// An event: when it was recorded, in seconds, or where in a capture.
struct SimEvent {
  SimDevice *device = nullptr;
  unsigned flags = 0;
  bool recorded = false;
  cuda::Stream stream = nullptr;
  double time = 0;
  /// Set when pending work up to the last record is done; may be null.
  std::shared_ptr<bool> isDone;
  std::shared_ptr<SimCapture> capture;
  SimProgress progress;

  /// That the event belongs to and that has not ended, or null.
  SimCapture *getCapture() const {
    return capture && !capture->hasEnded ? capture.get() : nullptr;
  }
};

/// The work of a capture that has ended.
struct SimGraph {
  std::vector<SimWork> work;
};

struct State {
  std::mutex mutex;
  bool initialized = false;
  /// At least one.
  std::vector<std::unique_ptr<SimDevice>> devices;
  sim::RunOptions options;
  /// Compute capability that is told, 100 or 90. Only if --arch gave it, PTX
  /// for the other is refused.
  unsigned architecture = 100;
  bool architectureGiven = false;
  uint64_t launches = 0;
  /// The sum over all launches, in the model of cycles.
  uint64_t cycles = 0;
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
  std::map<SimGraph *, std::unique_ptr<SimGraph>> graphs;
  /// Memory of the host that the driver allocated, by address. Every device
  /// reaches it.
  std::map<void *, uint64_t> hostAllocations;
  /// While pending work is being done.
  std::unique_ptr<SimTogether> together;
  /// The captures that have not ended.
  std::vector<std::shared_ptr<SimCapture>> captures;

  /// Leaves a mark for `nvfp4-sim exec`: `k` a kernel has run, `f` there are
  /// findings, `w` a file could not be written.
  void mark(char what) const;
  /// Stores why this thread's call fails, and returns `result`.
  cuda::Result fail(cuda::Result result, std::string text);
  SimModule *find(cuda::Module module);
  SimFunction *find(cuda::Function function);
  bool isStream(cuda::Stream stream) const;
  /// Null for the default streams, which are no objects.
  SimStream *find(cuda::Stream stream);
  SimEvent *find(cuda::Event event);
  SimDevice *find(cuda::Context context);
  /// The device of the calling thread's current context.
  SimDevice &current();
  /// The device whose memory has this address, or else the current one, which
  /// reaches mapped memory of the host.
  SimDevice &deviceOf(uint64_t address);
  SimDevice &deviceOf(cuda::Stream stream);

  /// Whether a device reaches the memory of another: kernels may wait for those
  /// of other devices then, and work is done together when a call waits.
  bool runsTogether() const;
  /// Does all pending work; the first error of it.
  cuda::Result finishPending();
  /// Does `work` of a stream, or adds it to what the stream captures, or to
  /// what is pending.
  cuda::Result enqueue(cuda::Stream stream, SimWork work);
  /// An error if a capture forbids `what`, which it ends: a call that waits, or
  /// one that is not ordered in a stream.
  cuda::Result forbidInCapture(const char *what);
  /// The same of a call that waits for `stream`, or asks about it.
  cuda::Result forbidOnCapturing(cuda::Stream stream, const char *what);
};

/// The state of this process, with the options of NVFP4_SIM_OPTIONS.
State &state();

/// Why the last call of this thread that failed did so.
std::string &lastMessage();

/// An address as in messages.
std::string hex(uint64_t value);

/// Within a handler: what an entry point returns, for exceptions must not reach
/// callers that are written in C.
cuda::Result caught() noexcept;

/// The contexts that the calling thread has pushed, the current one last.
std::vector<SimDevice *> &currentContexts();

/// Locks the state for the length of an entry point. `error` is what the entry
/// point must return at once: not initialised, or sticky.
class Entry {
public:
  explicit Entry(bool needsContext = true);
  /// The same, and an error if a capture forbids the call `what`.
  explicit Entry(const char *what);
  State *operator->() const { return &s; }
  State &operator*() const { return s; }
  cuda::Result error = cuda::Success;

private:
  State &s;
  std::unique_lock<std::mutex> lock;
};

/// The version that the driver tells. Above 13.1: kernel libraries edit the
/// tensor maps of older drivers.
constexpr int driverVersion = 13020;

/// An error unless there is a device of this number.
cuda::Result checkDevice(State &s, cuda::Device device);

/// Kilohertz that the device tells.
constexpr int clockRate = 1'000'000;
/// Seconds of a steady clock, or in the model of cycles of all launches.
double secondsNow(const State &state);

/// Tells of the end of a launch: reports, statistics, and the error of a fault.
void concludeLaunch(State &s, const SimTogether::Started &started,
                    const sim::RunResult &run);

/// Loads PTX text, a fat binary or its wrapper. `size` is 0 when unknown.
cuda::Result loadImage(State &s, const void *image, SimModule *&module);

/// Loads PTX text.
cuda::Result loadPtx(State &s, std::string text, SimModule *&module);

/// Creates or finds the function object of a kernel.
cuda::Result functionOf(State &s, SimModule &module, const char *name,
                        SimFunction *&function);

} // namespace nvfp4::simcuda

#endif // NVFP4_LIB_SIMCUDA_DRIVER_STATE_H
