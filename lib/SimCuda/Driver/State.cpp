//===- State.cpp - what the stand-in driver holds ---------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Options come from the environment, so that unchanged programs can be given
// them.
//
//===----------------------------------------------------------------------===//

#include "State.h"

#include "../PerThread.h"

#include "nvfp4/Simulator/RunOptions.h"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <set>
#include <sstream>

using namespace nvfp4;
using namespace nvfp4::simcuda;

/// Sets an option that is the device's rather than a run's; `name` is one.
static std::string setDeviceOption(State &s, const std::string &name,
                                   const std::string &value) {
  if (name == "--arch") {
    s.architectureGiven = true;
    if (value == "sm_100a")
      s.architecture = 100;
    else if (value == "sm_90a")
      s.architecture = 90;
    else
      return sim::badOptionValue(name, value, "sm_100a or sm_90a");
    return {};
  }
  if (name == "--devices") {
    if (value.size() != 1 || value[0] < '1' ||
        value[0] > static_cast<char>('0' + sim::deviceLimit))
      return sim::badOptionValue(name, value,
                                 "a number from 1 to " +
                                     std::to_string(sim::deviceLimit));
    while (s.devices.size() < static_cast<size_t>(value[0] - '0'))
      s.devices.push_back(std::make_unique<SimDevice>(s.devices.size()));
    return {};
  }
  if (name == "--trace") {
    s.trace = std::make_unique<std::ofstream>(value);
    if (!*s.trace)
      return "cannot write '" + value + "'";
    s.options.trace = s.trace.get();
    return {};
  }
  if (name == "--timeline") {
    s.timelineFile = value;
    s.timeline = std::make_unique<sim::Timeline>();
    s.options.timeline = s.timeline.get();
    return {};
  }
  s.savePtx = value;
  return {};
}

static std::string parseOptions(State &s, const char *text) {
  std::istringstream words(text);
  std::string name;
  std::set<std::string> given;
  while (words >> name) {
    std::string value;
    size_t equals = name.find('=');
    bool inlineValue = equals != std::string::npos;
    if (inlineValue) {
      value = name.substr(equals + 1);
      name.resize(equals);
    }
    if (name == "--stats") {
      if (!value.empty())
        return sim::badOptionValue(name, value, "no value");
      s.printStatistics = true;
      continue;
    }
    sim::RunOptionKind kind = sim::runOptionKind(name);
    if (kind == sim::RunOptionKind::Unknown && name != "--arch" &&
        name != "--devices" && name != "--trace" && name != "--timeline" &&
        name != "--save-ptx")
      return sim::unknownOption(name, {"--arch", "--devices", "--trace",
                                       "--timeline", "--save-ptx", "--stats"});
    if (inlineValue) {
      // It is empty where nothing follows the sign.
    } else if (kind != sim::RunOptionKind::Flag && !(words >> value)) {
      return "expected a value after " + name;
    }
    std::string error = kind == sim::RunOptionKind::Unknown
                            ? setDeviceOption(s, name, value)
                            : sim::setRunOption(name, value, s.options);
    if (!error.empty())
      return error;
    given.insert(name);
  }
  return sim::checkTogether(given);
}

State &simcuda::state() {
  // Never destroyed: destructors of the program may still call in.
  static State &single = *[] {
    auto *s = new State;
    s->devices.push_back(std::make_unique<SimDevice>(0));
    if (const char *file = std::getenv("NVFP4_SIM_FINDINGS")) {
      s->printErrors = true;
      s->findingsFile = file;
    }
    if (const char *text = std::getenv("NVFP4_SIM_OPTIONS"))
      s->optionsError = parseOptions(*s, text);
    return s;
  }();
  return single;
}

std::string &simcuda::lastMessage() {
  struct Message;
  return perThread<Message, std::string>();
}

std::string simcuda::hex(uint64_t value) {
  char text[24];
  std::snprintf(text, sizeof text, "0x%llx",
                static_cast<unsigned long long>(value));
  return text;
}

cuda::Result simcuda::caught() noexcept {
  try {
    throw;
  } catch (const std::bad_alloc &) {
    lastMessage() = "out of memory"; // short enough to need none
    return cuda::OutOfMemory;
  } catch (...) {
    lastMessage() = "unknown error";
    return cuda::Unknown;
  }
}

void State::mark(char what) const {
  if (!findingsFile.empty())
    std::ofstream(findingsFile, std::ios::app) << what;
}

cuda::Result State::fail(cuda::Result result, std::string text) {
  std::string &message = lastMessage();
  message = std::move(text);
  if (printErrors && result != cuda::NotReady && result != cuda::NotFound)
    std::fprintf(stderr, "nvfp4-sim: error %d: %s\n", static_cast<int>(result),
                 message.c_str());
  return result;
}

SimModule *State::find(cuda::Module module) {
  auto *key = reinterpret_cast<SimModule *>(module);
  return modules.count(key) ? key : nullptr;
}

SimFunction *State::find(cuda::Function function) {
  auto *key = reinterpret_cast<SimFunction *>(function);
  return functions.count(key) ? key : nullptr;
}

bool State::isStream(cuda::Stream stream) const {
  // Null, CU_STREAM_LEGACY and CU_STREAM_PER_THREAD.
  return reinterpret_cast<uintptr_t>(stream) <= 2 ||
         streams.count(reinterpret_cast<SimStream *>(stream));
}

SimStream *State::find(cuda::Stream stream) {
  auto *key = reinterpret_cast<SimStream *>(stream);
  return streams.count(key) ? key : nullptr;
}

SimDevice *State::find(cuda::Context context) {
  for (const auto &device : devices)
    if (reinterpret_cast<cuda::Context>(device.get()) == context)
      return device.get();
  return nullptr;
}

std::vector<SimDevice *> &simcuda::currentContexts() {
  struct Contexts;
  return perThread<Contexts, std::vector<SimDevice *>>();
}

SimDevice &State::current() {
  // Programs of the runtime API, and those that care for no context, have the
  // first device's.
  std::vector<SimDevice *> &contexts = currentContexts();
  return contexts.empty() || !contexts.back() ? *devices.front()
                                              : *contexts.back();
}

SimDevice &State::deviceOf(uint64_t address) {
  uint64_t number = (address - sim::globalBase) / sim::deviceSpan;
  return number < devices.size() ? *devices[number] : current();
}

SimDevice &State::deviceOf(cuda::Stream stream) {
  SimStream *found = find(stream);
  return found ? *found->device : current();
}

SimEvent *State::find(cuda::Event event) {
  auto *key = reinterpret_cast<SimEvent *>(event);
  return events.count(key) ? key : nullptr;
}

Entry::Entry(bool needsContext) : s(state()), lock(s.mutex) {
  if (!needsContext)
    return;
  if (!s.initialized)
    error = s.fail(cuda::NotInitialized, "expected cuInit to be called first");
  else if ((error = s.current().sticky))
    lastMessage() = s.current().stickyMessage;
}

Entry::Entry(const char *what) : Entry() {
  if (!error)
    error = s.forbidInCapture(what);
}

double simcuda::secondsNow(const State &state) {
  if (state.options.delays == sim::DelayMode::Cycles)
    return static_cast<double>(
               state.cycles +
               (state.together ? state.together->system.latest() : 0)) /
           (clockRate * 1e3);
  return std::chrono::duration<double>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

/// For callers in other libraries: why this thread's last call failed.
NVFP4_SIM_API const char *nvfp4_sim_message(void) {
  return lastMessage().c_str();
}

/// Reports since the last call: of launches in `*stream`, of those in the
/// stream that `event` was recorded in, or of all of the current context when
/// both are null. Null when there are none.
NVFP4_SIM_API const char *nvfp4_sim_take_findings(const cuda::Stream *stream,
                                                  cuda::Event event) try {
  struct Taken;
  std::string &taken = perThread<Taken, std::string>();
  taken.clear();
  Entry s(false);
  SimDevice *device = &s->current();
  if (SimEvent *found = event ? s->find(event) : nullptr) {
    stream = &found->stream;
    device = found->device;
  }
  if (stream) {
    if (SimStream *found = s->find(*stream))
      device = found->device;
    if (auto found = device->findings.extract(*stream))
      taken = std::move(found.mapped());
  } else {
    for (const auto &[of, text] : device->findings)
      taken += text;
    device->findings.clear();
  }
  return taken.empty() ? nullptr : taken.c_str();
} catch (...) {
  return "out of memory for the reports";
}
