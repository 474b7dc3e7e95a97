//===- Graph.cpp - captures and graphs of the stand-in driver ---*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A graph is the work that streams were given while they captured, in that
// order. As on hardware, addresses and parameters are those of the capture, and
// a call that a capture forbids ends it with an error.
//
//===----------------------------------------------------------------------===//

#include "../PerThread.h"
#include "State.h"

#include <algorithm>

using namespace nvfp4;
using namespace nvfp4::simcuda;
using cuda::Graph;
using cuda::GraphExec;
using cuda::Result;
using cuda::Stream;

/// The capture mode of the calling thread.
static int32_t &threadMode() {
  struct Mode;
  return perThread<Mode, int32_t>();
}

/// Null and CU_STREAM_LEGACY, which wait for every blocking stream.
static bool isLegacy(Stream stream) {
  return reinterpret_cast<uintptr_t>(stream) <= 1;
}

static Result endCapture(State &s, SimCapture &capture, Result result,
                         std::string text) {
  capture.isInvalid = true;
  return s.fail(result, std::move(text));
}

/// The capture that the legacy stream would have to wait for.
static SimCapture *findBlockingCapture(State &s) {
  for (auto &[key, stream] : s.streams)
    if (stream->capture && !(stream->flags & cuda::streamNonBlocking))
      return stream->capture.get();
  return nullptr;
}

/// An error if work in `stream` would wait for what is being captured.
static Result checkLegacy(State &s, Stream stream) {
  SimCapture *capture = isLegacy(stream) ? findBlockingCapture(s) : nullptr;
  if (!capture)
    return cuda::Success;
  return endCapture(s, *capture, cuda::StreamCaptureImplicit,
                    "the default stream waits for blocking streams, of which "
                    "one captures");
}

Result State::enqueue(Stream stream, SimWork work) {
  if (Result error = checkLegacy(*this, stream))
    return error;
  SimStream *found = find(stream);
  if (!found || !found->capture) {
    if (!runsTogether())
      return work(*this, stream);
    deviceOf(stream).pending.push_back({stream, std::move(work), nullptr});
    return cuda::Success;
  }
  SimCapture &capture = *found->capture;
  if (capture.isInvalid)
    return fail(cuda::StreamCaptureInvalidated,
                "the capture has failed before");
  capture.work.push_back(std::move(work));
  found->progress[found] = capture.work.size();
  return cuda::Success;
}

Result State::forbidInCapture(const char *what) {
  if (threadMode() == cuda::CaptureRelaxed)
    return cuda::Success;
  for (const auto &capture : captures) {
    bool isForbidden = capture->mode == cuda::CaptureGlobal ||
                       (capture->mode == cuda::CaptureThreadLocal &&
                        capture->thread == std::this_thread::get_id());
    if (isForbidden)
      return endCapture(*this, *capture, cuda::StreamCaptureUnsupported,
                        std::string(what) +
                            " is not permitted while a stream captures");
  }
  return cuda::Success;
}

Result State::forbidOnCapturing(Stream stream, const char *what) {
  if (Result error = checkLegacy(*this, stream))
    return error;
  SimStream *found = find(stream);
  if (!found || !found->capture)
    return cuda::Success;
  return endCapture(*this, *found->capture, cuda::StreamCaptureUnsupported,
                    std::string(what) +
                        " is not permitted on a stream that captures");
}

NVFP4_SIM_API Result cuThreadExchangeStreamCaptureMode(int32_t *mode) try {
  Entry s(false);
  if (!mode || *mode < cuda::CaptureGlobal || *mode > cuda::CaptureRelaxed)
    return s->fail(cuda::InvalidValue, "expected a capture mode of 0 to 2");
  std::swap(*mode, threadMode());
  return cuda::Success;
} catch (...) {
  return caught();
}

NVFP4_SIM_API Result cuStreamBeginCapture_v2(Stream stream, int32_t mode) try {
  Entry s;
  if (s.error)
    return s.error;
  SimStream *found = s->find(stream);
  if (!found)
    return s->fail(cuda::StreamCaptureUnsupported,
                   "expected a stream to capture, but got the default stream");
  if (found->capture || mode < cuda::CaptureGlobal ||
      mode > cuda::CaptureRelaxed)
    return s->fail(cuda::InvalidValue,
                   "expected a stream that does not capture, and a mode of 0 "
                   "to 2");
  auto capture = std::make_shared<SimCapture>();
  capture->origin = found;
  capture->mode = mode;
  capture->thread = std::this_thread::get_id();
  s->captures.push_back(capture);
  found->capture = std::move(capture);
  found->progress.clear();
  return cuda::Success;
} catch (...) {
  return caught();
}

NVFP4_SIM_API Result cuStreamEndCapture(Stream stream, Graph *graph) try {
  Entry s;
  if (s.error)
    return s.error;
  SimStream *found = s->find(stream);
  if (!graph || !found || !found->capture)
    return s->fail(cuda::InvalidValue,
                   "expected a stream that captures and a place for the graph");
  *graph = nullptr;
  std::shared_ptr<SimCapture> capture = found->capture;
  if (capture->origin != found)
    return s->fail(cuda::StreamCaptureUnmatched,
                   "expected the stream in which the capture began");
  if (capture->mode != cuda::CaptureRelaxed &&
      capture->thread != std::this_thread::get_id())
    return s->fail(cuda::StreamCaptureWrongThread,
                   "expected the thread that began the capture");
  capture->hasEnded = true;
  std::erase(s->captures, capture);
  SimProgress known = found->progress;
  bool isJoined = true;
  for (auto &[key, other] : s->streams) {
    if (other->capture != capture)
      continue;
    isJoined &= known[key] >= other->progress[key];
    other->capture = nullptr;
    other->progress.clear();
  }
  if (capture->isInvalid)
    return s->fail(cuda::StreamCaptureInvalidated, "the capture has failed");
  if (!isJoined)
    return s->fail(cuda::StreamCaptureUnjoined,
                   "expected the stream to wait for all others that captured "
                   "with it");
  auto created = std::make_unique<SimGraph>();
  created->work = std::move(capture->work);
  SimGraph *key = created.get();
  s->graphs.emplace(key, std::move(created));
  *graph = reinterpret_cast<Graph>(key);
  return cuda::Success;
} catch (...) {
  return caught();
}

NVFP4_SIM_API Result cuStreamIsCapturing(Stream stream, int32_t *status) try {
  Entry s;
  if (s.error)
    return s.error;
  if (!s->isStream(stream) || !status)
    return s->fail(cuda::InvalidHandle,
                   "expected a stream and a place for its state");
  if (Result error = checkLegacy(*s, stream))
    return error;
  SimStream *found = s->find(stream);
  *status = !found || !found->capture   ? cuda::CaptureNone
            : found->capture->isInvalid ? cuda::CaptureInvalidated
                                        : cuda::CaptureActive;
  return cuda::Success;
} catch (...) {
  return caught();
}

/// The graph behind either kind of handle: an executable one is a copy.
static SimGraph *findGraph(State &s, void *handle) {
  auto *key = static_cast<SimGraph *>(handle);
  return s.graphs.count(key) ? key : nullptr;
}

static Result destroyGraph(void *handle) {
  Entry s;
  if (s.error)
    return s.error;
  return s->graphs.erase(static_cast<SimGraph *>(handle))
             ? cuda::Success
             : s->fail(cuda::InvalidHandle, "expected a graph");
}

NVFP4_SIM_API Result cuGraphInstantiateWithFlags(GraphExec *executable,
                                                 Graph graph, uint64_t) try {
  Entry s("cuGraphInstantiate");
  if (s.error)
    return s.error;
  SimGraph *found = findGraph(*s, graph);
  if (!executable || !found)
    return s->fail(cuda::InvalidHandle,
                   "expected a graph and a place for what can be launched");
  auto copy = std::make_unique<SimGraph>(*found);
  SimGraph *key = copy.get();
  s->graphs.emplace(key, std::move(copy));
  *executable = reinterpret_cast<GraphExec>(key);
  return cuda::Success;
} catch (...) {
  return caught();
}

NVFP4_SIM_API Result cuGraphLaunch(GraphExec executable, Stream stream) try {
  Entry s;
  if (s.error)
    return s.error;
  SimGraph *found = findGraph(*s, executable);
  if (!found || !s->isStream(stream))
    return s->fail(cuda::InvalidHandle, "expected a graph and a stream");
  if (s->runsTogether()) {
    // Other devices may have to run beside a part of it.
    for (const SimWork &each : found->work)
      if (Result error = s->enqueue(stream, each))
        return error;
    return cuda::Success;
  }
  return s->enqueue(stream, [work = found->work](State &s, Stream stream) {
    for (const SimWork &each : work)
      if (Result error = each(s, stream))
        return error;
    return cuda::Success;
  });
} catch (...) {
  return caught();
}

/// Counts the pieces of work; `nodes` gets no handles.
NVFP4_SIM_API Result cuGraphGetNodes(Graph graph, void **nodes,
                                     size_t *count) try {
  Entry s;
  if (s.error)
    return s.error;
  SimGraph *found = findGraph(*s, graph);
  if (!found || !count || nodes)
    return s->fail(cuda::InvalidValue,
                   "expected a graph, no room for nodes and a place for their "
                   "number");
  *count = found->work.size();
  return cuda::Success;
} catch (...) {
  return caught();
}

NVFP4_SIM_API Result cuGraphDestroy(Graph graph) try {
  return destroyGraph(graph);
} catch (...) {
  return caught();
}
NVFP4_SIM_API Result cuGraphExecDestroy(GraphExec executable) try {
  return destroyGraph(executable);
} catch (...) {
  return caught();
}
