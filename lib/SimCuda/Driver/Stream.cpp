//===- Stream.cpp - streams and events of the stand-in driver ---*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// All work is complete when the call that adds it returns, which satisfies
// every order that streams and events can ask for. What is captured waits for
// its graph (Graph.cpp), and where devices run together what is pending waits
// for a call that does (Together.cpp).
//
//===----------------------------------------------------------------------===//

#include "State.h"

#include <algorithm>

using namespace nvfp4;
using namespace nvfp4::simcuda;
using cuda::Event;
using cuda::Result;
using cuda::Stream;

NVFP4_SIM_API Result cuStreamCreate(Stream *stream, unsigned flags) try {
  Entry s;
  if (s.error)
    return s.error;
  auto created = std::make_unique<SimStream>();
  created->device = &s->current();
  created->flags = flags;
  SimStream *key = created.get();
  s->streams.emplace(key, std::move(created));
  *stream = reinterpret_cast<Stream>(key);
  return cuda::Success;
} catch (...) {
  return caught();
}
NVFP4_SIM_API Result cuStreamCreateWithPriority(Stream *stream, unsigned flags,
                                                int) {
  return cuStreamCreate(stream, flags);
}

NVFP4_SIM_API Result cuStreamDestroy_v2(Stream stream) try {
  Entry s;
  if (s.error)
    return s.error;
  SimStream *found = s->find(stream);
  if (!found)
    return s->fail(cuda::InvalidHandle, "expected a stream");
  if (found->capture)
    found->capture->isInvalid = true;
  if (Result error = s->finishPending())
    return error;
  // Another stream may come to lie at the same address.
  auto &findings = found->device->findings;
  if (auto left = findings.extract(stream))
    findings[nullptr] += left.mapped();
  s->streams.erase(found);
  return cuda::Success;
} catch (...) {
  return caught();
}

/// Checks a stream; sticky errors come first. `what` is a call that a stream
/// that captures forbids.
static Result check(Stream stream, const char *what = nullptr) {
  Entry s;
  if (s.error)
    return s.error;
  if (!s->isStream(stream))
    return s->fail(cuda::InvalidHandle, "expected a stream");
  if (!what)
    return cuda::Success;
  if (Result error = s->forbidOnCapturing(stream, what))
    return error;
  return s->finishPending();
}

NVFP4_SIM_API Result cuStreamSynchronize(Stream stream) try {
  return check(stream, "cuStreamSynchronize");
} catch (...) {
  return caught();
}
NVFP4_SIM_API Result cuStreamQuery(Stream stream) try {
  return check(stream, "cuStreamQuery");
} catch (...) {
  return caught();
}
NVFP4_SIM_API Result cuStreamGetPriority(Stream stream, int *priority) try {
  *priority = 0;
  return check(stream);
} catch (...) {
  return caught();
}
NVFP4_SIM_API Result cuStreamGetFlags(Stream stream, unsigned *flags) try {
  *flags = 0;
  return check(stream);
} catch (...) {
  return caught();
}
/// Whether a function of the host is work of a graph, or pending.
static bool isLater(Stream stream) {
  Entry s(false);
  SimStream *found = s->find(stream);
  return (found && found->capture) || s->runsTogether();
}

NVFP4_SIM_API Result cuLaunchHostFunc(Stream stream, void (*function)(void *),
                                      void *data) try {
  if (Result error = check(stream))
    return error;
  if (isLater(stream)) {
    Entry s;
    return s->enqueue(stream, [=](State &, Stream) {
      function(data);
      return cuda::Success;
    });
  }
  // It may wait for other threads, which need the state.
  function(data);
  return cuda::Success;
} catch (...) {
  return caught();
}
NVFP4_SIM_API Result cuStreamAddCallback(Stream stream,
                                         void (*function)(Stream, Result,
                                                          void *),
                                         void *data, unsigned) try {
  if (Result error = check(stream, "cuStreamAddCallback"))
    return error;
  function(stream, cuda::Success, data);
  return cuda::Success;
} catch (...) {
  return caught();
}

//===- Events
//--------------------------------------------------------------===//

NVFP4_SIM_API Result cuEventCreate(Event *event, unsigned flags) try {
  Entry s;
  if (s.error)
    return s.error;
  auto created = std::make_unique<SimEvent>();
  created->device = &s->current();
  created->flags = flags;
  SimEvent *key = created.get();
  s->events.emplace(key, std::move(created));
  *event = reinterpret_cast<Event>(key);
  return cuda::Success;
} catch (...) {
  return caught();
}

NVFP4_SIM_API Result cuEventDestroy_v2(Event event) try {
  Entry s;
  if (s.error)
    return s.error;
  if (!s->events.erase(reinterpret_cast<SimEvent *>(event)))
    return s->fail(cuda::InvalidHandle, "expected an event");
  return cuda::Success;
} catch (...) {
  return caught();
}

NVFP4_SIM_API Result cuEventRecord(Event event, Stream stream) try {
  Entry s;
  if (s.error)
    return s.error;
  SimEvent *found = s->find(event);
  if (!found || !s->isStream(stream))
    return s->fail(cuda::InvalidHandle, "expected an event and a stream");
  SimStream *from = s->find(stream);
  found->recorded = true;
  found->stream = stream;
  found->device = &s->deviceOf(stream);
  found->time = secondsNow(*s);
  found->capture = from ? from->capture : nullptr;
  found->progress = found->capture ? from->progress : SimProgress();
  found->isDone = nullptr;
  if (found->capture || !s->runsTogether())
    return cuda::Success;
  found->isDone = std::make_shared<bool>(false);
  return s->enqueue(stream, [found, done = found->isDone](State &s, Stream) {
    *done = true;
    // It may be gone, or recorded again.
    if (s.events.count(found) && found->isDone == done)
      found->time = secondsNow(s);
    return cuda::Success;
  });
} catch (...) {
  return caught();
}
NVFP4_SIM_API Result cuEventRecordWithFlags(Event event, Stream stream,
                                            unsigned) {
  return cuEventRecord(event, stream);
}

/// Checks an event that is waited for or asked about.
static Result checkEvent(Event event, const char *what) {
  Entry s;
  if (s.error)
    return s.error;
  SimEvent *found = s->find(event);
  if (!found)
    return s->fail(cuda::InvalidHandle, "expected an event");
  SimCapture *capture = found->getCapture();
  if (!capture)
    return s->finishPending();
  capture->isInvalid = true;
  return s->fail(cuda::CapturedEvent, std::string(what) +
                                          " is not permitted on an event of a "
                                          "capture");
}

NVFP4_SIM_API Result cuEventSynchronize(Event event) try {
  return checkEvent(event, "cuEventSynchronize");
} catch (...) {
  return caught();
}
NVFP4_SIM_API Result cuEventQuery(Event event) try {
  return checkEvent(event, "cuEventQuery");
} catch (...) {
  return caught();
}

/// The stream captures too if the event belongs to a capture.
NVFP4_SIM_API Result cuStreamWaitEvent(Stream stream, Event event,
                                       unsigned) try {
  Entry s;
  if (s.error)
    return s.error;
  SimEvent *found = s->find(event);
  if (!found || !s->isStream(stream))
    return s->fail(cuda::InvalidHandle, "expected an event and a stream");
  SimStream *waits = s->find(stream);
  SimCapture *capture = found->getCapture();
  if (!capture) {
    if (!waits || !waits->capture || !found->recorded) {
      if (found->isDone && !*found->isDone)
        s->deviceOf(stream).pending.push_back(
            {stream, [](State &, Stream) { return cuda::Success; },
             found->isDone});
      return cuda::Success;
    }
    waits->capture->isInvalid = true;
    return s->fail(cuda::StreamCaptureIsolation,
                   "expected an event of the capture, but got one of work that "
                   "is not captured");
  }
  if (!waits || (waits->capture && waits->capture.get() != capture)) {
    capture->isInvalid = true;
    return s->fail(cuda::StreamCaptureIsolation,
                   "expected a stream of the event's capture");
  }
  waits->capture = found->capture;
  for (auto [key, place] : found->progress)
    waits->progress[key] = std::max(waits->progress[key], place);
  return cuda::Success;
} catch (...) {
  return caught();
}

NVFP4_SIM_API Result cuEventElapsedTime_v2(float *milliseconds, Event start,
                                           Event end) try {
  Entry s;
  if (s.error)
    return s.error;
  SimEvent *from = s->find(start);
  SimEvent *to = s->find(end);
  if (!milliseconds || !from || !to || !from->recorded || !to->recorded ||
      ((from->flags | to->flags) & cuda::eventDisableTiming))
    return s->fail(cuda::InvalidHandle,
                   "expected two recorded events with timing");
  if (Result error = s->finishPending())
    return error;
  *milliseconds = static_cast<float>((to->time - from->time) * 1e3);
  return cuda::Success;
} catch (...) {
  return caught();
}
NVFP4_SIM_API Result cuEventElapsedTime(float *milliseconds, Event start,
                                        Event end) {
  return cuEventElapsedTime_v2(milliseconds, start, end);
}
