//===- CodedWeights.cpp - Weights for kernels that decode them --*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Re-laid out on the host, matrix by matrix, then copied; or copied as they are
// where relayout_weights has done that.
//
//===----------------------------------------------------------------------===//

#include "Task.h"

using namespace nvfp4;
using namespace nvfp4::runtime;

int64_t CodedShape::getBytes() const {
  format::wgmma::Coding coding{format::elementKind(format),
                               format::scaleKind(format), type};
  int64_t strips =
      (rows + format::wgmma::kBlockRows - 1) / format::wgmma::kBlockRows;
  return strips * getBlocks() * coding.blockBytes();
}

extern "C" int32_t nvfp4_task_coded_weights(nvfp4_task *task, int32_t format,
                                            int32_t type, int64_t parts,
                                            int64_t matrices, int64_t rows,
                                            int64_t columns) {
  int32_t number = -1;
  guarded(task, [&] {
    CodedShape shape{static_cast<format::BlockFormat>(format),
                     static_cast<format::wgmma::Multiplicand>(type), rows,
                     columns, task->groups.getStages(columns)};
    int64_t bytes = shape.getBytes();
    number = task->addBuffer(
        {nullptr, parts * matrices, bytes, bytes, NVFP4_TASK_READ});
    Buffer &buffer = task->buffers[number];
    buffer.partRows = matrices;
    buffer.coded = shape;
    buffer.factors.resize(static_cast<size_t>(parts * matrices));
  });
  return number;
}

extern "C" void nvfp4_task_coded_part(nvfp4_task *task, int32_t number,
                                      int64_t part, const void *values,
                                      const void *scales, int64_t scaleColumns,
                                      int32_t isCompact) {
  guarded(task, [&] {
    Buffer &buffer = task->buffers[number];
    const CodedShape &shape = buffer.coded;
    std::vector<uint8_t> coded(static_cast<size_t>(buffer.rowBytes));
    auto segments =
        task->groups.getSegments(shape.columns, format::blockSize(shape.format),
                                 scaleColumns, isCompact != 0);
    for (int64_t i = 0; i < buffer.partRows && !task->failed; ++i) {
      int64_t row = i * shape.rows;
      format::wgmma::Matrix matrix{
          shape.format,
          static_cast<const uint8_t *>(values) +
              row * format::rowBytes(shape.format, shape.columns),
          static_cast<const uint8_t *>(scales) + row * scaleColumns,
          shape.rows,
          shape.columns,
          scaleColumns};
      int64_t at = part * buffer.partRows + i;
      std::string error = format::wgmma::encode(
          matrix, shape.type, segments, shape.getBlocks(), coded.data(),
          buffer.factors[static_cast<size_t>(at)]);
      if (!error.empty()) {
        task->fail(error);
        return;
      }
      task->copyIn(buffer, reinterpret_cast<const char *>(coded.data()), at, 1);
    }
  });
}

extern "C" void nvfp4_task_precoded_part(nvfp4_task *task, int32_t number,
                                         int64_t part, const void *blocks,
                                         const float *factors) {
  guarded(task, [&] {
    Buffer &buffer = task->buffers[number];
    format::ScaleKind kind = format::scaleKind(buffer.coded.format);
    for (int64_t i = 0; i < buffer.partRows; ++i) {
      // Kernels take it for granted.
      std::string error = format::wgmma::checkFactor(kind, factors[i]);
      if (!error.empty()) {
        task->fail(error);
        return;
      }
      buffer.factors[static_cast<size_t>(part * buffer.partRows + i)] =
          factors[i];
    }
    if (!task->failed)
      task->copyIn(buffer, static_cast<const char *>(blocks),
                   part * buffer.partRows, buffer.partRows);
  });
}

extern "C" void nvfp4_task_coded_factors(nvfp4_task *task, int32_t number) {
  guarded(task, [&] {
    std::vector<float> factors = task->buffers[number].factors;
    if (factors.empty())
      factors.push_back(1);
    auto bytes = static_cast<int64_t>(factors.size() * sizeof(float));
    int32_t copy = task->addBuffer({nullptr, 1, bytes, bytes, NVFP4_TASK_READ});
    const Buffer &buffer = task->buffers[copy];
    if (!task->failed &&
        task->copyIn(buffer, reinterpret_cast<const char *>(factors.data()), 0,
                     1))
      task->add(buffer.memory);
  });
}
