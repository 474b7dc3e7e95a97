//===- TensorIO.cpp - Checkpoints in C --------------------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The readers and the writer of TensorIO behind structs of C.
//
//===----------------------------------------------------------------------===//

#include "nvfp4-c/TensorIO.h"

#include "Diagnostics.h"

#include "nvfp4/TensorIO/Checkpoint.h"

#include <algorithm>

using namespace nvfp4;
using namespace nvfp4::capi;
using tensorio::Error;
using tensorio::Expected;
using tensorio::NamedTensor;
using tensorio::Tensor;

static_assert(NVFP4_MAX_RANK == tensorio::maxRank);

namespace {
/// The object behind an Nvfp4Checkpoint.
struct OpenCheckpoint {
  tensorio::Checkpoint checkpoint;
  std::vector<std::string> names;
};
} // namespace

static const OpenCheckpoint *unwrap(Nvfp4Checkpoint checkpoint) {
  return static_cast<const OpenCheckpoint *>(checkpoint.ptr);
}

static MlirStringRef toC(std::string_view text) {
  return {text.data(), text.size()};
}

/// A path for the system, which ends names at their first zero.
static Expected<std::string> toPath(MlirStringRef path) {
  std::string text = toString(path).str();
  if (text.find('\0') != std::string::npos)
    return Error{"expected a path without a zero byte, but got one after '" +
                 text.substr(0, text.find('\0')) + "'"};
  return text;
}

Nvfp4Checkpoint nvfp4CheckpointOpen(MlirStringRef path,
                                    Nvfp4DiagnosticSink sink) {
  auto text = toPath(path);
  if (!text) {
    reportError(sink, text.message());
    return {nullptr};
  }
  auto checkpoint = tensorio::Checkpoint::open(*text);
  if (!checkpoint) {
    reportError(sink, checkpoint.message());
    return {nullptr};
  }
  std::vector<std::string> names = checkpoint->names();
  return {new OpenCheckpoint{*std::move(checkpoint), std::move(names)}};
}

void nvfp4CheckpointDestroy(Nvfp4Checkpoint checkpoint) {
  delete unwrap(checkpoint);
}

size_t nvfp4CheckpointGetNumTensors(Nvfp4Checkpoint checkpoint) {
  return checkpoint.ptr ? unwrap(checkpoint)->names.size() : 0;
}

MlirStringRef nvfp4CheckpointGetName(Nvfp4Checkpoint checkpoint, size_t index) {
  if (index >= nvfp4CheckpointGetNumTensors(checkpoint))
    return {"", 0};
  return toC(unwrap(checkpoint)->names[index]);
}

MlirLogicalResult nvfp4CheckpointGetTensor(Nvfp4Checkpoint checkpoint,
                                           MlirStringRef name,
                                           Nvfp4TensorView *tensor,
                                           Nvfp4DiagnosticSink sink) {
  if (!checkpoint.ptr || !tensor)
    return reportError(sink, "expected a checkpoint and room for a tensor, but "
                             "got null");
  const OpenCheckpoint &open = *unwrap(checkpoint);
  auto found = open.checkpoint.tensor(toString(name).str());
  if (!found)
    return reportError(sink, found.message());
  auto entry =
      std::lower_bound(open.names.begin(), open.names.end(), toString(name));
  *tensor = {toC(*entry),   toC(tensorio::dtypeName(found->dtype())),
             found->rank(), {},
             found->data(), found->sizeInBytes()};
  std::copy(found->shape().begin(), found->shape().end(), tensor->shape);
  return {1};
}

/// A view of `tensor`, whose memory outlives it.
static Expected<NamedTensor> toTensor(const Nvfp4TensorView &tensor) {
  std::string name = toString(tensor.name).str();
  auto fail = [&](const std::string &message) {
    return Error{"tensor '" + name + "': " + message};
  };
  auto dtype = tensorio::parseDType(toString(tensor.dtype).str());
  if (!dtype)
    return fail("expected a type among " + tensorio::listDTypeNames() +
                ", but got '" + toString(tensor.dtype).str() + "'");
  if (tensor.rank > tensorio::maxRank)
    return fail("expected a rank of at most " +
                std::to_string(tensorio::maxRank) + ", but got " +
                std::to_string(tensor.rank));
  if (tensor.size && !tensor.data)
    return fail("expected data, but got null");
  auto view = Tensor::view(
      *dtype, {tensor.shape, tensor.shape + tensor.rank},
      {static_cast<const std::byte *>(tensor.data), tensor.size}, nullptr);
  if (!view)
    return fail(view.message());
  return NamedTensor{std::move(name), *std::move(view)};
}

MlirLogicalResult
nvfp4SafetensorsWrite(MlirStringRef path, const Nvfp4TensorView *tensors,
                      size_t numTensors, const MlirStringRef *metadata,
                      size_t numMetadata, Nvfp4DiagnosticSink sink) {
  if ((numTensors && !tensors) || (numMetadata && !metadata))
    return reportError(sink, "expected tensors and metadata, but got null");
  auto text = toPath(path);
  if (!text)
    return reportError(sink, text.message());
  std::vector<NamedTensor> named;
  for (size_t i = 0; i < numTensors; ++i) {
    auto tensor = toTensor(tensors[i]);
    if (!tensor)
      return reportError(sink, tensor.message());
    named.push_back(*std::move(tensor));
  }
  tensorio::SafetensorsMetadata pairs;
  for (size_t i = 0; i < numMetadata; ++i)
    pairs[toString(metadata[2 * i]).str()] =
        toString(metadata[2 * i + 1]).str();
  tensorio::Status status = tensorio::writeSafetensors(*text, named, pairs);
  return status ? MlirLogicalResult{1} : reportError(sink, status.message());
}
