//===- Stream.cpp - streams and events of the stand-in driver ---*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// All work is complete when the call that adds it returns, which satisfies
// every order that streams and events can ask for. Graphs and captures are not
// offered.
//
//===----------------------------------------------------------------------===//

#include "State.h"

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
  if (!s->streams.erase(reinterpret_cast<SimStream *>(stream)))
    return s->fail(cuda::InvalidHandle, "expected a stream");
  // Another stream may come to lie at the same address.
  if (auto left = s->findings.extract(stream))
    s->findings[nullptr] += left.mapped();
  return cuda::Success;
} catch (...) {
  return caught();
}

/// Checks a stream; sticky errors come first.
static Result check(Stream stream) {
  Entry s;
  if (s.error)
    return s.error;
  return s->isStream(stream)
             ? cuda::Success
             : s->fail(cuda::InvalidHandle, "expected a stream");
}

NVFP4_SIM_API Result cuStreamSynchronize(Stream stream) try {
  return check(stream);
} catch (...) {
  return caught();
}
NVFP4_SIM_API Result cuStreamQuery(Stream stream) try {
  return check(stream);
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
NVFP4_SIM_API Result cuStreamIsCapturing(Stream stream, int *status) try {
  *status = 0;
  return check(stream);
} catch (...) {
  return caught();
}
NVFP4_SIM_API Result cuStreamBeginCapture_v2(Stream, int) try {
  Entry s;
  return s->fail(cuda::StreamCaptureUnsupported,
                 "the simulator does not capture streams");
} catch (...) {
  return caught();
}
NVFP4_SIM_API Result cuLaunchHostFunc(Stream stream, void (*function)(void *),
                                      void *data) try {
  if (Result error = check(stream))
    return error;
  function(data);
  return cuda::Success;
} catch (...) {
  return caught();
}
NVFP4_SIM_API Result cuStreamAddCallback(Stream stream,
                                         void (*function)(Stream, Result,
                                                          void *),
                                         void *data, unsigned) try {
  if (Result error = check(stream))
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
  found->recorded = true;
  found->stream = stream;
  found->time = secondsNow(*s);
  return cuda::Success;
} catch (...) {
  return caught();
}
NVFP4_SIM_API Result cuEventRecordWithFlags(Event event, Stream stream,
                                            unsigned) {
  return cuEventRecord(event, stream);
}

NVFP4_SIM_API Result cuEventSynchronize(Event event) try {
  Entry s;
  if (s.error)
    return s.error;
  return s->find(event) ? cuda::Success
                        : s->fail(cuda::InvalidHandle, "expected an event");
} catch (...) {
  return caught();
}
NVFP4_SIM_API Result cuEventQuery(Event event) {
  return cuEventSynchronize(event);
}
NVFP4_SIM_API Result cuStreamWaitEvent(Stream stream, Event event,
                                       unsigned) try {
  if (Result error = cuEventSynchronize(event))
    return error;
  return check(stream);
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
  *milliseconds = static_cast<float>((to->time - from->time) * 1e3);
  return cuda::Success;
} catch (...) {
  return caught();
}
NVFP4_SIM_API Result cuEventElapsedTime(float *milliseconds, Event start,
                                        Event end) {
  return cuEventElapsedTime_v2(milliseconds, start, end);
}
